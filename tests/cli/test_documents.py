"""The documents of `tests/cases` show what `prowess` prints as a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import Case, cases_of, run_section

DOCUMENTS = sorted((Path(__file__).parents[1] / "cases/cli").glob("*.md"))
FIRST_CASES = [cases_of(path)[0] for path in DOCUMENTS if "-" not in path.stem]
"""Those of the documents that have the name of a command."""


@pytest.mark.parametrize("case", FIRST_CASES, ids=lambda case: case.document.path.stem)
def test_the_first_case_prints_the_same_in_a_process_of_its_own(case: Case) -> None:
    assert case.differences(run_section(case.section, whole_process=True)) == ""
