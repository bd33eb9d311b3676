"""A catalog that was stored in the cache is loaded unchanged, and invalid results are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import prowess.catalog._cache
import prowess.catalog._cache_sections
import prowess.catalog._code_fingerprint
from prowess.catalog import Catalog, catalog_output, discover
from prowess.catalog._cache import Cache, CachedResult
from prowess.catalog._cached_catalog import CachedCatalog
from prowess.catalog._catalog_columns import encode_columns
from prowess.catalog._code_fingerprint import code_fingerprint
from prowess.catalog._filesystem import Filesystem
from prowess.catalog._resolve import ResolvedSkills, resolve_skills
from prowess.hosts import load_host
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Skills of every state: active, shadowed, rejected, in a package, behind a link."""
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


def resolved(top: Path, host: str = "prowess") -> ResolvedSkills:
    return resolve_skills(
        load_host(host),
        cwd=str(top / "repo"),
        home=str(top / "home"),
        skill_dirs=(),
        env={},
        use_home_variables=False,
        role=None,
        client_args=(),
        filesystem=Filesystem(),
    )


def fail() -> ResolvedSkills:
    raise AssertionError("the disk was read")


class Parts:
    """The parts of a result, to be changed."""

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


def test_a_stored_catalog_is_loaded_unchanged(top: Path) -> None:
    """The disk is read only for what is not stored."""
    now = resolved(top)
    columns, extra = encode_columns(now, [])
    recalled = CachedCatalog(CachedResult([list(column) for column in columns], extra), "prowess", fail)
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
    with pytest.raises(AssertionError, match="the disk was read"):
        recalled.load_field(None, "settings")


def test_a_linked_root_costs_nothing_for_each_skill(tmp_path: Path) -> None:
    """Its real path is stored once, and those of its skills follow from it."""
    top = tmp_path.resolve()
    skill(top / "repo/shared/one")
    skill(top / "repo/shared/deep/two")
    (top / "repo/.agents").mkdir()
    (top / "repo/.agents/skills").symlink_to("../shared")
    now = resolved(top)
    columns, extra = encode_columns(now, [])
    assert extra == b""
    recalled = CachedCatalog(CachedResult([list(column) for column in columns], extra), "prowess", fail)
    real = [str(top / "repo/shared" / name / "SKILL.md") for name in ("deep/two", "one")]
    assert [entry.real for entry in recalled.skills()] == [entry.real for entry in now.skills] == real
    assert recalled.searched_columns()[0] == real


def test_skills_in_the_same_state_share_their_attributes(tmp_path: Path) -> None:
    """A thousand skills of a folder that is not trusted take little more than one."""
    top = tmp_path.resolve()
    for name in ("more", "most"):
        skill(top / f"repo/.agents/skills/{name}")
    now = resolved(top, "pi")
    columns, extra = encode_columns(now, [])
    assert [*json.loads(extra)["odd"]] == ["0 1"]
    recalled = CachedCatalog(CachedResult([list(column) for column in columns], extra), "pi", fail).skills()
    assert [(entry.state, entry.reason) for entry in recalled] == [(entry.state, entry.reason) for entry in now.skills]
    assert {str(entry.state) for entry in recalled} == {"untrusted"}


def test_paths_are_stored_once(top: Path) -> None:
    """The skills' files are all files that were read, for most catalogs."""
    now = resolved(top)
    paths = [entry.path for entry in now.skills]
    columns, extra = encode_columns(now, paths)
    assert columns[2] == []
    recalled = CachedCatalog(CachedResult([list(column) for column in columns], extra, paths), "prowess", fail)
    assert [entry.path for entry in recalled.skills()] == paths
    with pytest.raises(ValueError, match="columns of different length"):
        CachedCatalog(CachedResult([list(column) for column in columns], extra, paths[1:]), "prowess", fail)


def test_an_empty_catalog_is_stored(tmp_path: Path) -> None:
    """As empty columns."""
    columns, extra = encode_columns(resolved(tmp_path), [])
    assert (columns, extra) == ([[], [], [], [], [], [], [], []], b"")
    assert CachedCatalog(CachedResult(columns, extra), "prowess", fail).skills() == ()


def column(at: int, row: int, text: str) -> Callable[[Parts], object]:
    return lambda parts: parts.columns[at].__setitem__(row, text)


def column_of(at: int, texts: list[str]) -> Callable[[Parts], object]:
    return lambda parts: parts.columns.__setitem__(at, texts)


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


INVALID: dict[str, Callable[[Parts], object]] = {
    "a column too few": lambda parts: parts.columns.pop(),
    "unknown rule of the host": column_of(6, ["colour"]),
    "a column too many": lambda parts: parts.columns.append([]),
    "no column": lambda parts: parts.columns.clear(),
    "a name too few": lambda parts: parts.columns[0].pop(),
    "a path too many": lambda parts: parts.columns[2].append("/x/SKILL.md"),
    "a scan root cut": lambda parts: parts.columns[5].pop(),
    "a scan root too few": lambda parts: parts.columns[5].__delitem__(slice(-4, None)),
    "no scan root": lambda parts: parts.columns[5].clear(),
    "scan root out of range": column(3, 0, "99"),
    "negative scan root": column(3, 0, "-1"),
    "scan root with blanks": column(3, 0, " 0"),
    "scan root that is not a number": column(3, 0, "x"),
    "scan root without a number": column(3, 0, ""),
    "unknown clean flag": lambda parts: parts.columns[4].__setitem__(parts.columns[4].index("1"), "2"),
    "extra is not JSON": extra(b"{"),
    "extra is not UTF-8": extra(b'{"odd": {}, "findings": ["\xff"]}'),
    "extra is deep": extra(b"[" * 200_000),
    "extra is deep and closed": extra(b'{"odd":' * 50_000 + b"1" + b"}" * 50_000),
    "extra is a list": extra([]),
    "extra is a number": extra(1),
    "extra is null": extra(None),
    "extra is a huge number": extra(b"9" * 10_000),
    "no odd": extra({"findings": []}),
    "no findings": extra({"odd": {}}),
    "a key too many": lambda parts: parts.extra.update(x=1),
    "odd is a list": extra({"odd": [], "findings": []}),
    "findings are a map": extra({"odd": {}, "findings": {}}),
    "skill out of range": moved("99"),
    "negative skill": moved("-1"),
    "skill that is not a number": moved("x"),
    "skill with a huge number": moved("9" * 5000),
    "a skill without attributes": lambda parts: parts.unusual.__setitem__("0", []),
    "an unknown attribute": rare(colour="red"),
    "an attribute that is never stored": rare(skill=None),
    "unknown state": rare(state="asleep"),
    "state of another type": rare(state=1),
    "state that is a list": rare(state=[]),
    "reason of another type": rare(reason=["x"]),
    "rule that is null": rare(rule=None),
    "real path that is null": rare(real=None),
    "alias of another type": rare(alias=True),
    "findings of another type": lambda parts: parts.any("findings").update(findings={"0": 1}),
    "empty findings": lambda parts: parts.any("findings").update(findings=[]),
    "missing findings": lambda parts: parts.any("findings").pop("findings"),
    "finding that is a text": lambda parts: parts.any("findings").update(findings=["x"]),
    "finding with a key too many": found(x=1),
    "finding with an unknown code": found(code="no-such-code"),
    "finding with a list for a code": found(code=[]),
    "finding with an unknown severity": found(severity="fatal"),
    "finding without severity": lambda parts: parts.any("findings")["findings"][0].pop("severity"),
    "finding on line 0": found(line=0),
    "finding on a line of text": found(line="1"),
    "finding on a boolean line": found(line=True),
    "finding in a fraction of a column": found(column=1.5),
    "finding without a message": found(message=None),
    "finding with a number for a path": found(path=1),
    "finding with a list for a hint": found(hint=[]),
    "general finding with an unknown code": general(code="x"),
    "general finding without severity": general(severity=None),
    "general finding with a key too many": general(x=1),
    "findings of a clean skill": lambda parts: parts.columns[4].__setitem__(
        int(next(at for at, row in parts.unusual.items() if "findings" in row)), "1"
    ),
    "a skill that is not clean without findings": lambda parts: parts.columns[4].__setitem__(
        parts.columns[4].index("1"), "0"
    ),
}


def error_of(parts: Parts) -> Exception:
    """Return the error that a result causes."""
    with pytest.raises(Exception, match=r".") as caught:
        CachedCatalog(parts.cached(), "prowess", fail).skills()
    return caught.value


@pytest.mark.parametrize("change", [*INVALID])
def test_an_invalid_result_is_an_error(top: Path, change: str) -> None:
    """Every mistake is found when the result is loaded, not when an attribute is used."""
    parts = Parts(top)
    CachedCatalog(parts.cached(), "prowess", fail).skills()
    INVALID[change](parts)
    assert isinstance(error_of(parts), (ValueError, KeyError, TypeError, AttributeError, RecursionError))


def test_discover_reads_the_disk_if_the_result_is_invalid(
    top: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For one example of each type of error."""
    examples: dict[type[Exception], Parts] = {}
    for change in INVALID.values():
        parts = Parts(top)
        change(parts)
        examples.setdefault(type(error_of(parts)), parts)
    assert len(examples) > 3
    now = resolved(top)
    monkeypatch.setattr(prowess.catalog._cache_sections, "MAX_FILE_BYTES", 0)
    for parts in examples.values():
        monkeypatch.setattr(Cache, "load", lambda *_, parts=parts, **_named: parts.cached())
        catalog = discover(top / "repo", home=top / "home", env={"PROWESS_CACHE_DIR": str(tmp_path / "cache")})
        assert [entry.as_dict() for entry in catalog.skills] == [entry.as_dict() for entry in now.skills]
        assert catalog.findings == now.findings


def test_the_code_fingerprint_covers_source_files_python_and_pyyaml(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is taken when the module is imported: replaced files do not change the code that runs."""
    state = code_fingerprint()
    package = tmp_path / "package"
    for name in ("_internal", "catalog/any/depth", "hosts", "skill", "cli", "mcp", "mount"):
        (package / name).mkdir(parents=True)
    monkeypatch.setattr(prowess.catalog._code_fingerprint, "package_folder", lambda: str(package))
    fingerprint = prowess.catalog._code_fingerprint._fingerprint_code
    states = {state, fingerprint()}
    deep = package / "catalog/any/depth/deep.py"
    for file in (package / "top.py", deep, package / "hosts/compiled.pyc"):
        file.write_text("1")
        states.add(fingerprint())
    os.utime(deep, ns=(1, 1))
    states.add(fingerprint())
    (package / "catalog/any/__pycache__").mkdir()
    (package / "catalog/any/__pycache__/deep.pyc").write_text("1")
    (package / "mount/any.py").write_text("1")
    assert fingerprint() in states, "compiled files and packages that do not fill the cache change nothing"
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


def test_an_invalid_output_in_the_cache_is_made_again(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was written by hand, with a valid checksum."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(prowess.catalog._cache, "SETTLE_NS", 0)
    calls = []

    def make(catalog: Catalog) -> tuple[bytes, str]:
        calls.append(len(catalog.skills))
        return b"output\n", "note"

    def ask(purpose: str = "test") -> tuple[bytes, str]:
        return catalog_output(top / "repo", home=top / "home", purpose=purpose, make=make)

    time.sleep(0.02)
    assert [ask(), ask(), ask()] == [(b"output\n", "note")] * 3
    assert len(calls) == 2, "the first question stores the catalog, the second one the output"
    ask("another")
    assert len(calls) == 3
    store = Cache.store_derived
    invalid: tuple[list[list[str]], ...] = ([], [[]], [["note", "more"]])
    for columns in invalid:

        def store_invalid(self: Cache, query: Any, result: Any, _: Any, extra: bytes, columns: Any = columns) -> None:
            store(self, query, result, columns, extra)

        monkeypatch.setattr(Cache, "store_derived", store_invalid)
        assert [ask(f"{columns}"), ask(f"{columns}"), ask(f"{columns}")] == [(b"output\n", "note")] * 3
    assert len(calls) == 12


def test_code_in_an_archive_has_no_fingerprint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So nothing is cached, and nothing fails."""
    (tmp_path / "archive.zip").write_text("x")
    package = str(tmp_path / "archive.zip/prowess")
    monkeypatch.setattr(prowess.catalog._code_fingerprint, "package_folder", lambda: package)
    assert prowess.catalog._code_fingerprint._fingerprint_code() == ""
