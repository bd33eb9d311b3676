"""Make each case of the documents in a folder a test: its `conftest.py` imports `pytest_collect_file`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.cases import Case, cases_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect documents."""
    if file_path.suffix != ".md" or file_path.name == "README.md":
        return None
    return DocumentFile.from_parent(parent, path=file_path)


class DocumentFile(pytest.File):
    """A document."""

    def collect(self) -> Iterator[CaseItem]:
        parts: dict[Any, str] = {}
        for case in cases_of(self.path):
            yield CaseItem.from_parent(self, name=case.name, case=case, parts=parts)


class CaseItem(pytest.Item):
    """A case; with `--update-cases` what is expected becomes what is."""

    def __init__(self, *, case: Case, parts: dict[Any, str], **more: Any) -> None:
        super().__init__(**more)
        self.case, self.parts = case, parts

    def runtest(self) -> None:
        now = self.case.run()
        if self.config.getoption("--update-cases"):
            self.parts |= now
            self.path.write_text(self.case.document.text_with(self.parts), "utf-8")
            return
        if difference := self.case.differences(now):
            pytest.fail(f"{difference}\n\n`pytest --update-cases {self.nodeid!r}` writes this", pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.case.name
