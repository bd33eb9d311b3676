"""What commands cost, counted, not timed: modules that are imported, files that are opened, folders that are listed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from prowess.catalog import discover
from prowess.host import host_names, load_host
from skills import skill

TOP = Path(__file__).parent.parent
HEAVY = (
    *("asyncio", "click", "email", "http", "importlib.metadata", "importlib.resources", "logging", "multiprocessing"),
    *("pathlib", "pickle", "pkg_resources", "pydantic", "random", "rich", "secrets", "select", "selectors", "shutil"),
    *("signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "typer", "unittest", "uuid", "xml"),
    *("urllib.request", "zipfile"),
    *("ast", "bz2", "copy", "dataclasses", "datetime", "decimal", "difflib", "dis", "inspect", "linecache", "lzma"),
    *("string", "textwrap", "tokenize", "tomllib", "typing", "unicodedata", "urllib", "weakref", "yaml"),
)
"""Modules that no command that looks at healthy, plain skills may load. Each costs up to ten milliseconds."""


def modules(code: str, *arguments: str, cwd: Path | None = None) -> set[str]:
    """Run code in a new interpreter and return the modules it loaded beyond those of an empty one."""
    script = "import sys\nbefore = set(sys.modules)\n" + code + "\nprint('\\n' + ' '.join(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, *arguments], capture_output=True, text=True, check=True, cwd=cwd
    )
    return set(done.stdout.rsplit("\n", 2)[-2].split())


def command(project: Path, *arguments: str) -> set[str]:
    where = ["--cwd", str(project), "--home", str(project.parent)] if arguments[0] != "--version" else []
    return modules("from prowess.cli import main; code = main(); assert code in (0, 1), code", *arguments, *where)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    skill(tmp_path / "project/.agents/skills/pdf")
    return tmp_path / "project"


COMMANDS = [
    pytest.param(["list", "--host", "prowess", "--json"], id="list-json"),
    pytest.param(["list", "--host", "prowess"], id="list"),
    pytest.param(["why", "pdf"], id="why"),
    pytest.param(["why", "pdf", "--json"], id="why-json"),
    pytest.param(["prompt"], id="prompt"),
    pytest.param(["prompt", "--json"], id="prompt-json"),
    pytest.param(["check"], id="check"),
    pytest.param(["check", "--json"], id="check-json"),
    pytest.param(["hosts"], id="hosts"),
    pytest.param(["hosts", "codex"], id="hosts-codex"),
    pytest.param(["--version"], id="version"),
]


def test_import_prowess_imports_nothing_but_itself() -> None:
    """The names of its face are loaded on first use."""
    assert modules("import prowess") == {"prowess"}


@pytest.mark.parametrize("arguments", COMMANDS)
def test_no_command_loads_what_is_heavy(arguments: list[str], project: Path) -> None:
    """Nor anything of a framework."""
    loaded = command(project, *arguments)
    assert {name for name in loaded if name in HEAVY or name.split(".")[0] in HEAVY} == set()


@pytest.mark.parametrize("arguments", COMMANDS)
def test_each_command_loads_only_what_it_uses(arguments: list[str], project: Path) -> None:
    """JSON for JSON, hashes for digests, no YAML where front matter is plain, no command but the chosen one."""
    loaded = command(project, *arguments)
    name = arguments[0]
    assert {module for module in loaded if module.startswith("prowess.cli.")} <= {
        "prowess.cli.common",
        "prowess.cli.formats",
        f"prowess.cli.{name}",
    }
    assert ("json" in loaded) == ("--json" in arguments)
    assert ("hashlib" in loaded) == (name == "why")
    assert ("prowess.prompt" in loaded) == (name == "prompt")
    assert ("prowess.check" in loaded) == (name == "check")


def test_the_version_costs_next_to_nothing(project: Path) -> None:
    """Not even a parser of arguments."""
    loaded = command(project, "--version")
    assert {name for name in loaded if name.startswith("prowess")} == {"prowess", "prowess.cli"}
    assert not loaded & {"argparse", "dataclasses", "inspect"}


def test_no_yaml_is_loaded_before_a_skill_is_read(tmp_path: Path) -> None:
    """An empty project needs none."""
    (tmp_path / "project").mkdir()
    assert "yaml" not in command(tmp_path / "project", "list", "--host", "prowess", "--json")
    assert "yaml" not in command(tmp_path / "project", "prompt")


def test_the_spine_loads_no_framework_of_any_extra() -> None:
    """All of it at once."""
    loaded = modules("import prowess.catalog, prowess.prompt, prowess.check, prowess.fix, prowess.scaffold")
    assert {name for name in loaded if name.split(".")[0] in HEAVY} == set()


def test_no_module_of_the_spine_asks_for_typing() -> None:
    """What only type checkers read is imported for them alone; and no format is loaded before something is in it."""
    spine = sorted(path.stem for path in (TOP / "src/prowess").glob("*.py") if not path.stem.startswith("__"))
    loaded = modules("".join(f"import prowess.{name}\n" for name in spine))
    assert {f"prowess.{name}" for name in spine} <= loaded
    assert loaded & {"dataclasses", "inspect", "typing", "tomllib", "datetime", "yaml", "json", "hashlib"} == set()


class Count:
    """Counts what the system is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, below: Path) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.below = str(below)
        for name in ("open", "scandir", "listdir", "stat", "lstat", "readlink"):
            monkeypatch.setattr(os, name, self.counting(name, getattr(os, name)))

    def counting(self, name: str, real: Any) -> Any:
        def call(path: Any = ".", *rest: Any, **named: Any) -> Any:
            text = os.fspath(path) if not isinstance(path, int) else ""
            if isinstance(text, str) and text.startswith(self.below):
                self.calls[name, text] += 1
            return real(path, *rest, **named)

        return call

    def of(self, name: str) -> int:
        return sum(count for (call, _), count in self.calls.items() if call == name)


IGNORE = {".gitignore", ".ignore", ".fdignore"}
FLAT = [name for name in host_names() if name != "wink"]


@pytest.mark.parametrize("host", FLAT)
def test_a_flat_skill_costs_one_open_and_a_root_one_listing(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 skills: each SKILL.md is opened once, nothing else is listed, opened or asked for by skill."""
    roots = [root.path for root in load_host(host).roots if root.scope == "project" and root.path[0] not in "$~@/"]
    root = tmp_path / "repo" / roots[0]
    for number in range(200):
        skill(root / f"s{number:03}")
    (tmp_path / "home").mkdir()
    (tmp_path / "repo/.git").mkdir()
    load_host(host)
    count = Count(monkeypatch, root)
    catalog = discover(tmp_path / "repo", host=host, home=tmp_path / "home", env={"INFER_AGENT_SKILLS_ENABLED": "true"})
    monkeypatch.undo()
    assert catalog.counts["found"] == 200
    own = f"{root}/SKILL.md"
    skills = {path for call, path in count.calls if call == "open" and path.endswith("SKILL.md") and path != own}
    assert len(skills) == 200
    assert all(times == 1 for (call, _), times in count.calls.items() if call == "open")
    others = {path for call, path in count.calls if call == "open"} - skills - {own}
    # Codex reads a file beside SKILL.md, pi the ignore files of each folder.
    assert {os.path.basename(path) for path in others if "agents/openai.yaml" not in path} <= IGNORE
    listed = [path for call, path in count.calls if call in ("scandir", "listdir") and not path.startswith(f"{root}/")]
    assert listed == [str(root)]
    assert count.calls["scandir", str(root)] == 1
    assert count.of("readlink") == 0


def test_prowess_asks_nothing_but_open_of_a_skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No question is asked that the open itself answers; what is not descended into is not listed."""
    root = tmp_path / "repo/.agents/skills"
    for number in range(200):
        skill(root / f"s{number:03}")
    load_host("prowess")
    count = Count(monkeypatch, root)
    discover(tmp_path / "repo", home=tmp_path, env={})
    monkeypatch.undo()
    of_skills = Counter(call for call, path in count.calls.elements() if path.startswith(f"{root}/"))
    assert of_skills == {"open": 200}


def test_hosts_share_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one `Disk` a file is opened once for many hosts that read only its head."""
    from prowess.disk import Disk

    for number in range(20):
        skill(tmp_path / f"repo/.agents/skills/s{number:03}")
    count = Count(monkeypatch, tmp_path / "repo/.agents")
    disk = Disk()
    for host in ("prowess", "gemini-cli", "prowess", "initrunner"):
        assert discover(tmp_path / "repo", host=host, home=tmp_path / "home", env={}, disk=disk).counts["found"] == 20
    monkeypatch.undo()
    # Gemini CLI asks for a skill in the root itself, too.
    assert count.of("open") - count.calls["open", f"{tmp_path}/repo/.agents/skills/SKILL.md"] == 20
    assert count.of("scandir") == 1
