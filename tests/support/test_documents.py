"""What reads case documents."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from support.cases import cases_of
from support.documents import write_files

if TYPE_CHECKING:
    from pathlib import Path

TREE = """\
a/SKILL.md
b.txt
    one

      two
c/
link -> a/SKILL.md
secret (0600)
    x
none (no newline)
    x
bytes (base64)
    AAE=
nothing (empty)
pipe (fifo)
repo/ (git)
"""


def test_a_tree_is_written_as_it_says(tmp_path: Path) -> None:
    write_files(tmp_path, TREE)
    assert (tmp_path / "a/SKILL.md").read_text() == "---\nname: a\ndescription: Does a. Use it for a.\n---\nDo it.\n"
    names = ("b.txt", "none", "bytes", "nothing", "secret")
    assert [(tmp_path / name).read_bytes() for name in names] == [b"one\n\n  two\n", b"x", b"\0\1", b"", b"x\n"]
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert os.readlink(tmp_path / "link") == "a/SKILL.md"
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "c").is_dir()
    assert (tmp_path / "repo/.git/HEAD").is_file()


DOCUMENT = """\
# Title

## Case

```tree
project/.agents/skills/a/SKILL.md
```

| skill | codex |
|---|---|

```console
$ prowess list --host nothing
```
"""


def test_what_is_expected_is_compared_and_written(tmp_path: Path) -> None:
    """All of it, so that a second update changes nothing."""
    path = tmp_path / "a.md"
    path.write_text(DOCUMENT)
    (case,) = cases_of(path)
    now = case.run()
    assert "+| `project/.agents/skills/a` | active |" in case.differences(now)
    path.write_text(case.document.text_with(now))
    (case,) = cases_of(path)
    assert case.differences(case.run()) == ""
    assert "error: unknown host `nothing`" in path.read_text()
    path.write_text(path.read_text().replace("active", "shadowed"))
    (case,) = cases_of(path)
    assert "-| `project/.agents/skills/a` | shadowed |" in case.differences(case.run())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# a\n```tree\nb", "line 2: the block has no end"),
        ("# a\n```yaml\n```", "line 2: unknown kind of block `yaml`"),
        ("# a\n## b\n| skill |\n## b\n| skill |\n", "two cases are called {'b'}"),
    ],
)
def test_a_mistake_in_a_document_is_an_error(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(text)
    with pytest.raises(ValueError, match=problem):
        cases_of(tmp_path / "a.md")
