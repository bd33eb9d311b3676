"""The cost of commands, counted, not timed: imported modules, opened files, listed folders."""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

import prowess
from prowess.cache import Cache
from prowess.catalog import Catalog, discover
from prowess.cli._arguments import PLAIN_COMMANDS
from prowess.hosts import host_names, load_host
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable

TOP = Path(__file__).parent.parent
HEAVY = (
    *("asyncio", "click", "email", "http", "importlib.metadata", "importlib.resources", "logging", "multiprocessing"),
    *("pathlib", "pickle", "pkg_resources", "pydantic", "random", "rich", "secrets", "select", "selectors", "shutil"),
    *("signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "typer", "unittest", "uuid", "xml"),
    *("urllib.request", "zipfile"),
    *("ast", "bz2", "copy", "dataclasses", "datetime", "decimal", "difflib", "dis", "inspect", "linecache", "lzma"),
    *("string", "textwrap", "tokenize", "tomllib", "typing", "unicodedata", "urllib", "weakref", "yaml"),
)
"""Modules that no command may load for valid, plain skills. Each costs up to ten milliseconds."""


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
    pytest.param(["activate", "pdf"], id="activate"),
    pytest.param(["why", "pdf", "--host", "prowess"], id="why-host"),
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


def test_verify_loads_only_what_it_compares_with(project: Path) -> None:
    """Neither the sources of skills nor the store. `unicodedata` tells which names are one on other systems."""
    (project / "skills-lock.json").write_text('{"version": 1, "skills": {}}')
    loaded = command(project, "verify")
    assert loaded & set(HEAVY) <= {"unicodedata"}
    install = {"install._places", "install._verify"}
    lock = {"lock", "lock._files", "lock._folders", "lock._lock", "lock._os_errors", "lock._project"}
    found = {name.removeprefix("prowess.") for name in loaded if name.startswith(("prowess.install.", "prowess.lock"))}
    assert found == install | lock


def test_import_prowess_imports_nothing_but_itself() -> None:
    """Public names are loaded on first use."""
    assert modules("import prowess") == {"prowess"}


@pytest.mark.parametrize("arguments", COMMANDS)
def test_each_command_loads_only_what_it_uses(arguments: list[str], project: Path) -> None:
    """No heavy module, no framework, JSON for JSON, hashes for digests, and no other command."""
    loaded = command(project, *arguments)
    # Only the page of one agent is wrapped.
    wrapped = {"textwrap"} if arguments == ["hosts", "codex"] else set()
    assert {name for name in loaded if name in HEAVY or name.split(".")[0] in HEAVY} == wrapped
    name = arguments[0]
    is_why_all = name == "why" and "--host" not in arguments
    assert {module for module in loaded if module.startswith("prowess.cli.")} <= {
        "prowess.cli._arguments",
        "prowess.cli._commands",
        "prowess.cli._output",
        "prowess.cli.skills",
        f"prowess.cli.skills.{name}",
        *([] if name in PLAIN_COMMANDS else ["prowess.cli._parser"]),
        *(["prowess.cli.skills._host_table"] if name == "list" else []),
        *(["prowess.cli._losses"] if name in ("check", "list", "why") else []),
        *(["prowess.cli.skills._formats"] if name == "check" else []),
        *(["prowess.cli.skills._why_all"] if is_why_all else []),
        *(["prowess.cli._references"] if name in ("activate", "list", "why") else []),
    }
    assert ("argparse" in loaded) == (name not in (*PLAIN_COMMANDS, "--version"))
    # The settings of some agents are JSON, and `why` asks all agents.
    assert ("json" in loaded) == ("--json" in arguments) or is_why_all
    assert "hashlib" not in loaded  # the digest of a small skill needs no OpenSSL
    assert ("prowess.prompt._prompt" in loaded) == (name == "prompt")
    assert ("prowess.checks._check" in loaded) == (name == "check")


def test_testing_skills_loads_nothing_of_the_tests_of_adapters() -> None:
    """No server, no event loop."""
    loaded = modules("from prowess.testing import ScriptedModel, load_suite, run_tests")
    assert not loaded & {"asyncio", "http.server", "socketserver", "prowess.testing._adapter_suite"}


def test_removing_a_mounted_skill_loads_no_discovery(project: Path) -> None:
    """Only `mount` itself says who sees a skill."""
    home = ["--to", str(project.parent / "agent")]
    command(project, "mount", ".agents/skills/pdf", *home)
    loaded = command(project, "mount", "--remove", "pdf", *home)
    assert {module for module in loaded if module.startswith("prowess.cli.")} == {
        *("prowess.cli._arguments", "prowess.cli._commands", "prowess.cli._output", "prowess.cli._parser"),
        *("prowess.cli._files", "prowess.cli.agents", "prowess.cli.agents.mount"),
    }
    discovery = {
        "prowess.catalog._catalog",
        "prowess.catalog._precedence",
        "prowess.find._scan",
        "prowess.catalog._recorded_catalog",
        "prowess.catalog._evaluate",
    }
    assert loaded & discovery == set()
    # From Python 3.14 on, `ctypes` loads `threading`.
    assert loaded & (set(HEAVY) - {"signal", "threading", "unicodedata", "yaml"}) == set()


def test_the_version_loads_almost_nothing(project: Path) -> None:
    """Not even `argparse`."""
    loaded = command(project, "--version")
    assert {name for name in loaded if name.startswith("prowess")} == {"prowess", "prowess.cli"}
    assert not loaded & {"argparse", "dataclasses", "inspect"}


def test_the_entry_point_loads_no_module_of_the_standard_library_that_is_slow_to_load(project: Path) -> None:
    """Each of these takes longer to load than `prowess --version` takes to run."""
    code = "sys.argv = ['prowess', '--version']; import prowess.__main__"
    assert not modules(code) & {"contextlib", "collections", "enum", "functools", "re", "types"}


def test_no_yaml_is_loaded_before_a_skill_is_read(tmp_path: Path) -> None:
    """An empty project needs no YAML."""
    (tmp_path / "project").mkdir()
    assert "yaml" not in command(tmp_path / "project", "list", "--host", "prowess", "--json")
    assert "yaml" not in command(tmp_path / "project", "prompt")


def test_the_engine_loads_no_framework_of_any_extra() -> None:
    """All modules below the adapters together."""
    loaded = modules(
        "import prowess.catalog, prowess.prompt._prompt, prowess.checks._check; "
        "import prowess.skill._fix, prowess.cli.skills._new_skill"
    )
    assert {name for name in loaded if name.split(".")[0] in HEAVY} == set()


def test_no_module_of_the_engine_imports_typing() -> None:
    """Imports for type checkers only are not run, and parsers of formats and `http` are imported on first use."""
    heavy = (
        "__main__",
        "agent",
        "adapters",
        "cli",
        "evals",
        "install",
        "lock",
        "mcp",
        "net",
        "store",
        "testing",
        "trajectory",
    )
    names = [name for _, name, _ in pkgutil.walk_packages(prowess.__path__, "prowess.")]
    engine = {name for name in names if name.split(".")[1] not in heavy} - {"prowess._internal.threads"}  # for asyncio
    assert len(engine) > 30
    loaded = modules("".join(f"import {name}\n" for name in sorted(engine)))
    assert engine <= loaded
    assert loaded & {"dataclasses", "inspect", "typing", "tomllib", "datetime", "yaml", "json", "hashlib"} == set()


class Count:
    """Counts what the system is count_calls."""

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


@pytest.mark.slow
@pytest.mark.parametrize("host", FLAT)
def test_a_flat_skill_costs_one_open_and_a_root_one_listing(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 200 skills, each SKILL.md is opened once, and nothing else is listed, opened or read per skill."""
    roots = [root.path for root in load_host(host).roots if root.scope == "project" and root.path[:1] not in "$~@/"]
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
    # Codex reads a file beside SKILL.md, pi reads the ignore files of each folder.
    assert {os.path.basename(path) for path in others if "agents/openai.yaml" not in path} <= IGNORE
    listed = [path for call, path in count.calls if call in ("scandir", "listdir") and not path.startswith(f"{root}/")]
    assert listed == [str(root)]
    assert count.calls["scandir", str(root)] == 1
    assert count.of("readlink") == 0


def test_prowess_only_opens_each_skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no `stat` before the open, and folders that are not entered are not listed."""
    root = tmp_path / "repo/.agents/skills"
    for number in range(200):
        skill(root / f"s{number:03}")
    load_host("prowess")
    count = Count(monkeypatch, root)
    discover(tmp_path / "repo", home=tmp_path, env={})
    monkeypatch.undo()
    of_skills = Counter(call for call, path in count.calls.elements() if path.startswith(f"{root}/"))
    assert of_skills == {"open": 200}


def test_hosts_share_a_filesystem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is opened once for many hosts that read only its start."""
    from prowess.filesystem._filesystem import Filesystem

    for number in range(20):
        skill(tmp_path / f"repo/.agents/skills/s{number:03}")
    count = Count(monkeypatch, tmp_path / "repo/.agents")
    filesystem = Filesystem()
    for host in ("prowess", "gemini-cli", "prowess", "initrunner"):
        assert (
            discover(tmp_path / "repo", host=host, home=tmp_path / "home", env={}, filesystem=filesystem).counts[
                "found"
            ]
            == 20
        )
    monkeypatch.undo()
    # Gemini CLI also opens a skill in the root itself.
    assert count.of("open") - count.calls["open", f"{tmp_path}/repo/.agents/skills/SKILL.md"] == 20
    assert count.of("scandir") == 1


# ── the cost of one more skill ───────────────────────────────────────────────────────────────────────────────────────

FEW, MANY = 100, 300
"""Skills in two projects: costs that do not depend on the number of skills cancel out."""
SETTLE_SECONDS = 0.02
"""Seconds, instead of `_cache.SETTLE_NS`."""
MODES = ("uncached", "cold", "warm")


class GrowingProjects:
    """Two projects, and discovery in each without a cache, with an empty one, and with a filled one."""

    def __init__(self, top: Path, body: str = "") -> None:
        self.top = top
        (top / "home").mkdir(parents=True)
        for number in (FEW, MANY):
            for at in range(number):
                skill(self.repo(number) / f".agents/skills/s{at:03}", body=body)
        time.sleep(SETTLE_SECONDS * 2)
        self.caches = 0
        for mode in MODES:
            for number in (FEW, MANY):
                self.prepare(number, mode)  # loads modules and fills caches, such as that of `struct`

    def repo(self, number: int) -> Path:
        return self.top / f"repo-{number}"

    def prepare(self, number: int, mode: str) -> Callable[[], Catalog]:
        """Prepare a discovery; it runs once here, except with an empty cache."""
        env = {"PROWESS_NO_CACHE": "1"}
        if mode != "uncached":
            self.caches += 1
            cache = self.top / f"cache-{self.caches}"
            cache.mkdir(mode=0o700)
            env = {"PROWESS_CACHE_DIR": str(cache)}
        run = partial(discover, self.repo(number), home=self.top / "home", env=env)
        if mode != "cold":
            run()
        return run

    def cost_per_skill(self, mode: str, measure: Callable[[Callable[[], Catalog]], Counter[str]]) -> dict[str, float]:
        """Return the cost of one more skill."""
        few, many = (measure(self.prepare(number, mode)) for number in (FEW, MANY))
        return {name: (many[name] - few[name]) / (MANY - FEW) for name in many if many[name] != few[name]}


def settle_quickly(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("prowess.cache.Cache", partial(Cache, settle_ns=int(SETTLE_SECONDS * 1_000_000_000)))


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GrowingProjects:
    settle_quickly(monkeypatch)
    return GrowingProjects(tmp_path / "small")


CALLS = ("open", "read", "write", "close", "fstat", "stat", "lstat", "readlink", "scandir", "listdir")


def count_calls(run: Callable[[], Catalog]) -> Counter[str]:
    """Count system calls, and the bytes that are requested (`bytes at most`) and read."""
    counts: Counter[str] = Counter()

    def counting(name: str, real: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            answer = real(*given, **named)
            counts[name] += 1
            if name == "read":
                counts.update({"bytes at most": given[1], "bytes": len(answer)})
            return answer

        return call

    with pytest.MonkeyPatch.context() as patch:
        functions = [
            function
            for name, module in list(sys.modules.items())
            if name.startswith("prowess")
            for function in vars(module).values()
            if isinstance(function, FunctionType) and function.__defaults__
        ]
        for name in CALLS:
            real = getattr(os, name)
            patch.setattr(os, name, counting(name, real))
            # Some functions have the call as a default value.
            for function in functions:
                defaults = function.__defaults__ or ()
                if real in defaults:
                    new = tuple(counting(name, real) if value is real else value for value in defaults)
                    patch.setattr(function, "__defaults__", new)
        run()
    return counts


def count_objects(run: Callable[[], Catalog]) -> Counter[str]:
    """Count the objects of a catalog: containers, and the memory blocks of all objects."""
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        objects, blocks = len(gc.get_objects()), sys.getallocatedblocks()
        catalog = run()
        blocks, objects = sys.getallocatedblocks() - blocks, len(gc.get_objects()) - objects
        del catalog
    finally:
        if collecting:
            gc.enable()
    return Counter(objects=objects, blocks=blocks)


def peak_memory(run: Callable[[], Catalog]) -> Counter[str]:
    """Return the peak of memory during discovery, in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        catalog = run()
        _, peak = tracemalloc.get_traced_memory()
        del catalog
    finally:
        tracemalloc.stop()
    return Counter(peak=peak)


def measure_alone(top: Path, mode: str, measure: str) -> dict[str, float]:
    """Return the cost of one more skill, measured by a function of this module in a new interpreter.

    In this interpreter the threads of pytest-xdist make objects during a discovery, more of them on a busy machine.
    """
    here = Path(__file__)
    code = f"import sys; sys.path[:] = {[str(here.parent), *sys.path]}; import {here.stem} as cost; cost.print_cost()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(top), mode, measure],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    assert done.returncode == 0, done.stderr
    cost: dict[str, float] = json.loads(done.stdout)
    return cost


def print_cost() -> None:
    """Print the cost of one more skill as JSON; `measure_alone` calls this with its arguments."""
    top, mode, measure = sys.argv[1:]
    with pytest.MonkeyPatch.context() as patch:
        settle_quickly(patch)
        measures = {"count_objects": count_objects, "peak_memory": peak_memory}
        cost = GrowingProjects(Path(top)).cost_per_skill(mode, measures[measure])
    print(json.dumps(cost))


ONE_READ = {"open": 1, "fstat": 1, "read": 1, "close": 1}


@pytest.mark.parametrize("mode", ["uncached", "cold"])
def test_a_skill_that_is_read_costs_one_open_one_fstat_and_one_read(mode: str, projects: GrowingProjects) -> None:
    """Storing the result costs no further call: the fingerprint is of the open file."""
    cost = projects.cost_per_skill(mode, count_calls)
    assert cost.pop("bytes") < 80
    assert cost == {**ONE_READ, "bytes at most": 4096}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["uncached", "cold"])
def test_only_the_first_4096_bytes_of_a_long_skill_are_read(mode: str, projects: GrowingProjects) -> None:
    """Its front matter ends there; the body is not read."""
    long = GrowingProjects(projects.top / "long", "x" * 20_000)
    assert long.cost_per_skill(mode, count_calls) == {**ONE_READ, "bytes at most": 4096, "bytes": 4096}


def test_a_cached_skill_costs_one_lstat(projects: GrowingProjects) -> None:
    """No skill is opened; the cache file holds its name, description, path and fingerprint."""
    cost = projects.cost_per_skill("warm", count_calls)
    size = cost.pop("bytes")
    # The file may hold the path twice, as a file that was read and as a skill; the fingerprint is 48 bytes, and the
    # front matter and the other attributes, most of them numbers of texts that skills share, take less than 120.
    assert size <= 2 * len(str(projects.repo(MANY) / ".agents/skills/s000/SKILL.md")) + 48 + 120
    assert cost == {"lstat": 1, "bytes at most": size}


# Entry and its source, the reading with its FoundSkill, the fast fields; with an empty cache also the path and its
# fingerprint. From the cache: Entry and its source, with name, description and path.
OBJECTS = {"uncached": (6, 12), "cold": (6, 14), "warm": (2, 7)}
"""Containers, and memory blocks of all objects; the same in Python 3.11, 3.12 and 3.13."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_skill_is_made_of_few_objects(mode: str, tmp_path: Path) -> None:
    """One more object per skill fails this test; half a block is left for growing tables."""
    cost = measure_alone(tmp_path / "small", mode, "count_objects")
    objects, blocks = OBJECTS[mode]
    assert cost["objects"] <= objects
    assert cost["blocks"] < blocks + 0.5


# Measured 1,129, 1,864 and 628 bytes with paths of 58 characters; cold 2,479 with 116, since buffers double. While a
# result is written, its path is in memory as text, in rows, as bytes of the result and of the whole file; while one is
# loaded, as a file that was read and as a skill, each as bytes and as text.
PEAK = {"uncached": (1130, 1), "cold": (1170, 13), "warm": (430, 4)}


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_skill_takes_little_memory(mode: str, tmp_path: Path) -> None:
    """The peak, besides some copies of the path: ten thousand skills take 20 MB, not 40."""
    least, paths = PEAK[mode]
    top = tmp_path / "small"
    path = f"{top}/repo-{MANY}/.agents/skills/s000/SKILL.md"
    assert measure_alone(top, mode, "peak_memory")["peak"] < least + paths * len(path)


# ── modules of a cached command ──────────────────────────────────────────────────────────────────────────────────────

WARM = {
    *("prowess", "prowess._internal", "prowess._internal.file_status", "prowess._internal.files"),
    *("prowess._internal.lazy", "prowess._internal.text", "prowess._internal.user_dirs"),
    *(
        "prowess.cache",
        "prowess.catalog",
        "prowess.filesystem",
        "prowess.cache._recorded",
        "prowess.cache._files",
        "prowess.filesystem._question",
        "prowess._internal.frozen",
    ),
    *("prowess.cache._code_fingerprint", "prowess.catalog._discover"),
    "prowess.filesystem._fingerprints",
    *("prowess.cli", "prowess.cli._arguments", "prowess.cli._commands", "prowess.cli._output", "prowess.cli.skills"),
}
STANDARD_LIBRARY = {"__future__", "_operator", "_struct", "errno", "gc", "itertools", "operator", "struct", "zlib"}
"""What a cached command may load of it; each module takes a tenth of a millisecond at least."""


CATALOG = {
    *("prowess.catalog._recorded_catalog", "prowess.catalog._catalog", "prowess.catalog._entry"),
    *("prowess.errors", "prowess.cli._references"),
}
"""Modules of a command that looks for a name in a cached catalog."""
CACHED_MODULES = {
    "prompt": set[str](),
    "list": set[str](),
    "why": {
        "prowess._internal.variable_paths",
        "prowess.trajectory",
        "prowess.trajectory._places",
    },  # are there sessions?
    "activate": {
        *CATALOG,
        *("prowess._internal.patterns", "prowess._internal.special_tokens", "prowess.findings", "prowess.session"),
        *("prowess.session._activate_once", "prowess.session._activation", "prowess.session._lookup"),
        *("prowess.session._resources", "prowess.skill", "prowess.skill._fast", "prowess.skill._fences"),
        *("prowess.skill._frontmatter", "prowess.skill._repair", "prowess.skill._skill", "prowess.skill._yaml"),
    },
}
"""Modules of each cached command besides `WARM` and its own."""
FILES_OPENED = """
import os, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
"""


def modules_of_calls(arguments: list[str], top: Path) -> list[set[str]]:
    """Run a command three times in `top / "project"`, and return what each loaded; the last one lists files opened."""
    code = f"""
import os
os.environ["PROWESS_CACHE_DIR"] = {str(top / "cache")!r}
import prowess.cache._recorded
prowess.cache._recorded.SETTLE_NS = {int(SETTLE_SECONDS * 1_000_000_000)}
{FILES_OPENED}
from prowess.cli import main
assert main(sys.argv[1:]) == 0
text = "\\n".join(opened)
open({str(top / "opened")!r}, "w").write(text)
"""
    command = [*arguments, "--cwd", str(top / "project"), "--home", str(top / "home")]
    (top / "home").mkdir()
    time.sleep(SETTLE_SECONDS * 2)
    return [modules(code, *command) for _ in range(3)]


@pytest.mark.parametrize("arguments", [["list"], ["why", "pdf"]], ids=" ".join)
def test_a_cached_answer_about_all_agents_loads_only_who_they_are(arguments: list[str], tmp_path: Path) -> None:
    """Neither a host, nor a catalog, nor a regular expression: the second call prints what the first one stored."""
    skill(tmp_path / "project/.agents/skills/pdf", body="Run `pdf`.\n")
    cold, second, _ = modules_of_calls(arguments, tmp_path)
    assert "prowess.visibility._compare" in cold
    agents = {
        "prowess.filesystem._project",
        *(f"prowess.hosts{name}" for name in ("", "._detect", "._raw_values", "._tables")),
    }
    own = {"prowess.errors", *CACHED_MODULES["why"]} if arguments[0] == "why" else set()
    assert {name for name in second if name.startswith("prowess")} == WARM | agents | own | {
        f"prowess.cli.skills.{arguments[0]}"
    }
    assert not second & {"re", "json", "functools", "collections", "dataclasses"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["prompt"],
        ["prompt", "--host", "claude-code"],
        ["prompt", "--budget", "100t"],
        ["list", "--host", "prowess"],
        ["list", "--host", "codex"],
        ["why", "pdf", "--host", "prowess"],
        ["why", "pdf", "--host", "claude-code"],
        ["activate", "pdf"],
    ],
    ids=" ".join,
)
def test_a_cached_command_loads_only_what_it_uses(arguments: list[str], tmp_path: Path) -> None:
    """The second call of `prompt`, `list` and `why` loads neither the catalog nor what renders it."""
    root = ".claude/skills" if "claude-code" in arguments else ".agents/skills"
    skill(tmp_path / "project" / root / "pdf", body="Run `pdf`.\n")
    cold, second, third = modules_of_calls(arguments, tmp_path)
    assert "prowess.catalog._precedence" in cold
    assert "prowess.catalog._precedence" not in second
    name = arguments[0]
    assert ("prowess.catalog._recorded_catalog" in second) == (name == "activate")
    ours = {module for module in third if module.startswith("prowess")}
    assert ours == WARM | CACHED_MODULES[name] | {f"prowess.cli.skills.{name}"}
    opened = [path for path in (tmp_path / "opened").read_text().split("\n") if path.startswith(f"{tmp_path}/")]
    if name != "activate":
        # Another version may load a module of these itself before the first command.
        assert third - ours <= STANDARD_LIBRARY
        assert [os.path.dirname(path) for path in opened] == [str(tmp_path / "cache")]
    else:
        assert not third & {*HEAVY, "argparse", "contextlib", "hashlib", "json"}
        # The skill, for its body.
        assert [os.path.basename(path)[:8] for path in opened] == ["catalog-", "SKILL.md"]


# ── writes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

WRITES = """
import io, sys

class Counted(io.FileIO):
    writes = 0

    def write(self, data):
        self.writes += 1
        return super().write(data)

# As `python -u` makes them: each write of the program is one of the system.
out, err = (Counted(number, "wb", closefd=False) for number in (1, 2))
sys.stdout, sys.stderr = (io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in (out, err))
import prowess.cache._recorded
prowess.cache._recorded.SETTLE_NS = 20_000_000
from prowess.cli import main
main(sys.argv[1:])
open("writes", "w").write(f"{out.writes} {err.writes}")
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["prompt"],
        ["prompt", "--host", "cursor"],
        ["list", "--host", "codex"],
        ["list", "--host", "prowess"],
        ["why", "s00", "--host", "cursor"],
        ["activate", "s00"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("calls", [1, 3])
def test_a_command_writes_once_without_a_buffer(calls: int, arguments: list[str], tmp_path: Path) -> None:
    """With `python -u`, as in containers: once on stdout, and at most once on stderr; from the cache too."""
    for number in range(30):
        body = "a line\n" * 30
        skill(tmp_path / f".agents/skills/s{number:02}", description="a long description " * 50, body=body)
    command = [sys.executable, "-I", "-c", WRITES, *arguments, "--home", str(tmp_path)]
    time.sleep(SETTLE_SECONDS * 2)
    env = {**os.environ, "PROWESS_CACHE_DIR": str(tmp_path / "cache"), "NO_COLOR": "1"}
    for _ in range(calls):
        done = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path, env=env)
    assert done.stdout.count(b"\n") >= (5 if arguments[0] == "why" else 30)
    out, err = map(int, (tmp_path / "writes").read_text().split())
    assert out == 1
    assert err <= 1
