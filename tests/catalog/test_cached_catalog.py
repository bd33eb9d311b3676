"""What a host saw, taken apart and put together, and what of it is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import prowess.catalog._cache
import prowess.catalog._cached_catalog
from prowess.catalog import discover
from prowess.catalog._cache import Cache, CachedResult
from prowess.catalog._cached_catalog import CachedCatalog, code_fingerprint
from prowess.catalog._catalog_columns import encode_columns
from prowess.catalog._filesystem import Filesystem
from prowess.catalog._precedence import ResolvedSkills, resolve_skills
from prowess.hosts import load_host
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """One skill that is plain, one that is hidden, one that is rejected, one of a package, one with a link."""
    top = tmp_path.resolve()
    (top / "repo/.git").mkdir(parents=True)
    skills = top / "repo/.agents/skills"
    skill(skills / "plain")
    skill(skills / "needs", more="compatibility: needs git\n")
    skill(skills / "Odd", '"ODD"')
    skill(skills / "broken", '"unclosed')
    skill(top / "repo/.claude/skills/plain", description="another")
    skill(top / "repo/.prowess/packages/p/skills/plain")
    skill(top / "repo/lib/inside")
    (skills / "in").symlink_to("../../lib/inside")
    (skills / "nowhere").symlink_to("absent")
    return top


def resolved(top: Path) -> ResolvedSkills:
    host = load_host("prowess")
    return resolve_skills(
        host,
        cwd=str(top / "repo"),
        home=str(top / "home"),
        skill_dirs=(),
        env={},
        use_home_variables=False,
        role=None,
        filesystem=Filesystem(),
    )


def nobody() -> ResolvedSkills:
    raise AssertionError("the disk was asked")


class Parts:
    """An answer, to be spoiled."""

    def __init__(self, top: Path) -> None:
        columns, extra = encode_columns(resolved(top), [])
        self.columns = [list(column) for column in columns]
        self.extra: Any = json.loads(extra)

    @property
    def unusual(self) -> dict[str, Any]:
        rows: dict[str, Any] = self.extra["odd"]
        return rows

    def any(self, key: str) -> dict[str, Any]:
        return next(row for row in self.unusual.values() if key in row)

    def cached(self) -> CachedResult:
        return CachedResult(
            self.columns, self.extra if isinstance(self.extra, bytes) else json.dumps(self.extra).encode()
        )


def test_what_was_taken_apart_is_put_together_the_same(top: Path) -> None:
    """Without a look at the disk, but for what is not kept."""
    now = resolved(top)
    columns, extra = encode_columns(now, [])
    recalled = CachedCatalog(CachedResult([list(column) for column in columns], extra), "prowess", nobody)
    skills = recalled.skills()
    names = [name for name in type(skills[0])._fields() if name not in ("findings", "skill")]
    assert [[getattr(entry, name) for name in names] for entry in skills] == [
        [getattr(entry, name) for name in names] for entry in now.skills
    ]
    assert {str(entry.state) for entry in skills} == {"active", "shadowed", "rejected"}
    assert recalled.findings == now.findings != ()
    assert recalled.load_field(None, "host") == now.host
    known = [entry for entry in skills if entry.folder in ("plain", "broken")]
    assert [entry.findings for entry in known] == [
        entry.findings for entry in now.skills if entry.folder in ("plain", "broken")
    ]
    assert [entry.requirements for entry in skills] == [entry.requirements for entry in now.skills]
    with pytest.raises(AssertionError, match="the disk was asked"):
        recalled.load_field(None, "settings")


def test_paths_that_are_those_of_the_files_are_kept_once(top: Path) -> None:
    """Both are the same list with most catalogs."""
    now = resolved(top)
    paths = [entry.path for entry in now.skills]
    columns, extra = encode_columns(now, paths)
    assert columns[2] == []
    recalled = CachedCatalog(CachedResult([list(column) for column in columns], extra, paths), "prowess", nobody)
    assert [entry.path for entry in recalled.skills()] == paths
    with pytest.raises(ValueError, match="columns of different length"):
        CachedCatalog(CachedResult([list(column) for column in columns], extra, paths[1:]), "prowess", nobody)


def test_nothing_at_all_is_an_answer_too(tmp_path: Path) -> None:
    """Six empty columns and no more."""
    columns, extra = encode_columns(resolved(tmp_path), [])
    assert (columns, extra) == ([[], [], [], [], [], [], []], b"")
    assert CachedCatalog(CachedResult(columns, extra), "prowess", nobody).skills() == ()


def column(at: int, row: int, text: str) -> Callable[[Parts], object]:
    return lambda parts: parts.columns[at].__setitem__(row, text)


def extra(value: Any) -> Callable[[Parts], object]:
    return lambda parts: setattr(parts, "extra", value)


def rare(**values: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.any("reason").update(values)


def found(**values: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.any("findings")["findings"][0].update(values)


def general(**values: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.extra["findings"][0].update(values)


def moved(to: str) -> Callable[[Parts], object]:
    return lambda parts: parts.unusual.__setitem__(to, parts.unusual.pop(next(iter(parts.unusual))))


SPOILT: dict[str, Callable[[Parts], object]] = {
    "a column too few": lambda parts: parts.columns.pop(),
    "a column too many": lambda parts: parts.columns.append([]),
    "no column": lambda parts: parts.columns.clear(),
    "a name too few": lambda parts: parts.columns[0].pop(),
    "a path too many": lambda parts: parts.columns[2].append("/x/SKILL.md"),
    "a place cut": lambda parts: parts.columns[5].pop(),
    "a place too few": lambda parts: parts.columns[5].__delitem__(slice(-3, None)),
    "no place": lambda parts: parts.columns[5].clear(),
    "place out of range": column(3, 0, "99"),
    "place below nothing": column(3, 0, "-1"),
    "place with blanks": column(3, 0, " 0"),
    "place of no number": column(3, 0, "x"),
    "place without number": column(3, 0, ""),
    "mark of no kind": lambda parts: parts.columns[4].__setitem__(parts.columns[4].index("1"), "2"),
    "more is no JSON": extra(b"{"),
    "more is not UTF-8": extra(b'{"odd": {}, "findings": ["\xff"]}'),
    "more is deep": extra(b"[" * 200_000),
    "more is deep and closed": extra(b'{"odd":' * 50_000 + b"1" + b"}" * 50_000),
    "more is a list": extra([]),
    "more is a number": extra(1),
    "more is null": extra(None),
    "more is a huge number": extra(b"9" * 10_000),
    "no odd": extra({"findings": []}),
    "no findings": extra({"odd": {}}),
    "a key too many": lambda parts: parts.extra.update(x=1),
    "odd is a list": extra({"odd": [], "findings": []}),
    "findings are a map": extra({"odd": {}, "findings": {}}),
    "skill out of range": moved("99"),
    "skill below nothing": moved("-1"),
    "skill of no number": moved("x"),
    "skill of a huge number": moved("9" * 5000),
    "a row that is none": lambda parts: parts.unusual.__setitem__("0", []),
    "an attribute of no kind": rare(colour="red"),
    "an attribute that is never kept": rare(skill=None),
    "state of no kind": rare(state="asleep"),
    "state of another type": rare(state=1),
    "state that is a list": rare(state=[]),
    "reason of another type": rare(reason=["x"]),
    "rule that is nothing": rare(rule=None),
    "real that is nothing": rare(real=None),
    "alias of another type": rare(alias=True),
    "findings of another type": lambda parts: parts.any("findings").update(findings={"0": 1}),
    "findings that are none": lambda parts: parts.any("findings").update(findings=[]),
    "findings gone": lambda parts: parts.any("findings").pop("findings"),
    "finding that is a text": lambda parts: parts.any("findings").update(findings=["x"]),
    "finding with a key too many": found(x=1),
    "finding of no code": found(code="no-such-code"),
    "finding with a list for a code": found(code=[]),
    "finding of no severity": found(severity="fatal"),
    "finding without severity": lambda parts: parts.any("findings")["findings"][0].pop("severity"),
    "finding on a line that is none": found(line=0),
    "finding on a line of text": found(line="1"),
    "finding on a line of truth": found(line=True),
    "finding in a fraction of a column": found(column=1.5),
    "finding without words": found(message=None),
    "finding with a number for a path": found(path=1),
    "finding with a list for a hint": found(hint=[]),
    "general finding of no code": general(code="x"),
    "general finding of no severity": general(severity=None),
    "general finding with a key too many": general(x=1),
    "findings of a clean skill": lambda parts: parts.columns[4].__setitem__(
        int(next(at for at, row in parts.unusual.items() if "findings" in row)), "1"
    ),
    "a skill that is not clean without findings": lambda parts: parts.columns[4].__setitem__(
        parts.columns[4].index("1"), "0"
    ),
}


@pytest.mark.parametrize("spoilt", [*SPOILT])
def test_an_answer_that_was_never_given_is_no_answer(
    top: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spoilt: str
) -> None:
    """Whatever is wrong with it shows when it is taken, so that the disk is asked instead."""
    parts = Parts(top)
    CachedCatalog(parts.cached(), "prowess", nobody).skills()
    SPOILT[spoilt](parts)
    monkeypatch.setattr(Cache, "load", lambda *_: parts.cached())
    monkeypatch.setattr(prowess.catalog._cache, "MAX_FILE_BYTES", 0)
    env = {"PROWESS_CACHE_DIR": str(tmp_path / "cache")}
    with pytest.raises(Exception, match=r".") as caught:
        CachedCatalog(parts.cached(), "prowess", nobody).skills()
    assert isinstance(caught.value, (ValueError, KeyError, TypeError, AttributeError, RecursionError))
    catalog = discover(top / "repo", home=top / "home", env=env)
    now = resolved(top)
    assert [entry.as_dict() for entry in catalog.skills] == [entry.as_dict() for entry in now.skills]
    assert catalog.findings == now.findings


def test_the_code_fingerprint_covers_source_files_python_and_pyyaml(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is taken when the module is imported: replaced files do not change the code that runs."""
    state = code_fingerprint()
    package = tmp_path / "package"
    for name in ("_internal", "catalog/any/depth", "hosts", "skill", "cli"):
        (package / name).mkdir(parents=True)
    monkeypatch.setattr(prowess.catalog._cached_catalog, "package_folder", lambda: str(package))
    fingerprint = prowess.catalog._cached_catalog._fingerprint_code
    states = {state, fingerprint()}
    deep = package / "catalog/any/depth/deep.py"
    for file in (package / "top.py", deep, package / "hosts/compiled.pyc"):
        file.write_text("1")
        states.add(fingerprint())
    os.utime(deep, ns=(1, 1))
    states.add(fingerprint())
    (package / "catalog/any/__pycache__").mkdir()
    (package / "catalog/any/__pycache__/deep.pyc").write_text("1")
    (package / "cli/list.py").write_text("1")
    assert fingerprint() in states, "compiled files and packages that discovery does not run change nothing"
    (tmp_path / "yaml").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    states.add(fingerprint())
    monkeypatch.setattr("sys.version", "4.0")
    states.add(fingerprint())
    assert len(states) == 8
    assert code_fingerprint() == state


def test_the_code_fingerprint_covers_every_module_that_discovery_loads(top: Path) -> None:
    """For every host, with skills that need YAML, a repair and a digest."""
    code = """
import sys
from prowess.catalog import discover
from prowess.hosts import host_names
for host in host_names():
    catalog = discover(sys.argv[1], host, home=sys.argv[1], cache=False)
    print([entry.as_dict() for entry in catalog.skills], catalog.settings, file=sys.stderr)
print(*(module.__spec__.origin for name, module in sys.modules.items() if name.startswith("prowess")), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code, str(top / "repo")], capture_output=True, text=True, check=True)
    files = done.stdout.split("\n")[:-1]
    assert len(files) > 30
    assert set(files) - set(code_fingerprint().split("\n")) == set()


def test_code_in_an_archive_has_no_fingerprint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So nothing is cached, and nothing fails."""
    (tmp_path / "archive.zip").write_text("x")
    package = str(tmp_path / "archive.zip/prowess")
    monkeypatch.setattr(prowess.catalog._cached_catalog, "package_folder", lambda: package)
    assert prowess.catalog._cached_catalog._fingerprint_code() == ""
