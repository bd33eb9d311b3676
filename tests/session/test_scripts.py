"""A model runs the scripts of skills: contained, from bytes that the user trusts, in a folder of the conversation."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pytest

from prowess import Scripts, ScriptSpace, Session, UntrustedSkill
from prowess.catalog import discover
from prowess.errors import ConfigError
from prowess.session import FileAnswer
from support.files import write_file, write_files
from support.growth import END
from support.media import PNG
from support.sessions import SKILLS, discover_project, new_session
from support.skills import skill
from support.tool_calls import run_as_owner
from support.web_server import static_server
from support.wheels import point_to_tarballs, write_npm_package, write_wheel

if TYPE_CHECKING:
    from prowess.session import Trust

pytestmark = [
    pytest.mark.needs("bwrap"),
    pytest.mark.skipif(sys.platform != "linux", reason="the tests of other sandboxes are in tests/sandbox"),
]
HELLO = 'import sys\nprint("hello", sys.argv[1:], sys.stdin.read())\n'


@pytest.fixture
def folder(project: Path) -> Path:
    """A skill with scripts."""
    return write_scripts(project, "pdf", {"scripts/hello.py": HELLO})


def write_scripts(project: Path, name: str, files: dict[str, str], more: str = "") -> Path:
    return write_files(skill(project / SKILLS / name, more=more).parent, files)


def active(project: Path, trust: Trust | None = None, name: str = "pdf", *, allowed: bool = True) -> Session:
    """Return a session in which a skill is active, and trusted."""
    session = new_session(project, trust=trust)
    session.activate(name)
    if allowed and trust is not None:
        trust.allow(session.catalog.resolve(name))
    return session


def run(
    session: Session, script: str | None = "scripts/hello.py", scripts: bool | Scripts = True, **arguments: Any
) -> str:
    tools = {tool.name: tool for tool in session.tools(scripts=scripts)}
    return tools["run_skill_script"].call(**{"skill": "pdf", "script": script, **arguments})


def read(session: Session, path: str, scripts: bool | Scripts = True, **arguments: Any) -> str:
    tools = {tool.name: tool for tool in session.tools(scripts=scripts)}
    return tools["read_script_file"].call(path=path, **arguments)


# ── who may ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_application_can_ask_its_user(project: Path, folder: Path, trust: Trust) -> None:
    """Once for the same bytes, with a copy to review; nothing is added to the trust record."""
    asked: list[UntrustedSkill] = []

    def ask(untrusted: UntrustedSkill) -> bool:
        asked.append(untrusted)
        assert (Path(untrusted.folder) / untrusted.script).read_text() == HELLO
        return True

    scripts = Scripts(on_untrusted=ask)
    session = active(project, trust, allowed=False)
    assert run(session, scripts=scripts, args=["x"]).startswith("exit code 0")
    assert run(session, "./scripts/hello.py", scripts).startswith("exit code 0")
    (untrusted,) = asked
    assert (untrusted.entry.name, untrusted.script, untrusted.arguments) == ("pdf", "scripts/hello.py", ("x",))
    assert untrusted.script_digest == f"sha256:{hashlib.sha256(HELLO.encode()).hexdigest()}"
    assert "prowess trust" in untrusted.reason
    assert trust.all() == ()
    (folder / "more.txt").write_text("1")
    run(session, scripts=scripts)
    assert len(asked) == 2
    run(active(project, trust, allowed=False), scripts=scripts)
    assert len(asked) == 3  # another conversation


@pytest.mark.parametrize(
    ("answer", "runs", "asked"),
    [
        pytest.param(True, [True, False], ["scripts/hello.py", "scripts/other.py"], id="one-script"),
        pytest.param(False, [False, False], ["scripts/hello.py", "scripts/other.py"], id="no-script"),
        pytest.param("skill", [True, True], ["scripts/hello.py"], id="skill"),
    ],
)
def test_an_answer_is_for_one_script_or_for_the_skill(
    project: Path, folder: Path, trust: Trust, answer: Any, runs: list[bool], asked: list[str]
) -> None:
    """A user who allows `hello.py` has not seen `other.py`."""
    (folder / "scripts/other.py").write_text(HELLO)
    shown: list[str] = []

    def ask(untrusted: UntrustedSkill) -> Any:
        shown.append(untrusted.script)
        return answer if untrusted.script == "scripts/hello.py" else False

    session, scripts = active(project, trust, allowed=False), Scripts(on_untrusted=ask)
    for _ in range(2):
        texts = [run(session, script, scripts) for script in ("scripts/hello.py", "scripts/other.py")]
        assert [text.startswith("exit code 0") for text in texts] == runs
    assert shown == asked


def test_nothing_is_asked_about_a_script_that_the_skill_does_not_have(
    project: Path, folder: Path, trust: Trust
) -> None:
    def ask(untrusted: UntrustedSkill) -> bool:
        raise AssertionError(untrusted.script)

    for script in ("scripts/hallo.py", "scripts"):
        answer = run(active(project, trust, allowed=False), script, Scripts(on_untrusted=ask))
        assert answer.startswith("error: ")
        assert "cannot be asked" not in answer


@pytest.mark.parametrize("answer", [False, None, "yes", 1])
def test_only_true_allows(project: Path, folder: Path, trust: Trust, answer: Any) -> None:
    """What a careless function returns does not run anything; it is not asked again in a loop."""
    asked: list[UntrustedSkill] = []

    def ask(untrusted: UntrustedSkill) -> Any:
        asked.append(untrusted)
        return answer

    session, scripts = active(project, trust, allowed=False), Scripts(on_untrusted=ask)
    assert "is not trusted" in run(session, scripts=scripts)
    assert "is not trusted" in run(session, scripts=scripts)
    assert len(asked) == 1


def test_a_question_that_fails_is_a_refusal(project: Path, folder: Path, trust: Trust) -> None:
    """The conversation goes on."""

    def ask(_: UntrustedSkill) -> bool:
        raise RuntimeError("no window\x1b[2J")

    answer = run(active(project, trust, allowed=False), scripts=Scripts(on_untrusted=ask))
    assert answer.startswith("error: the user cannot be asked about `pdf`: no window\\x1b[2J")


def test_what_runs_is_what_was_asked_about(project: Path, folder: Path, trust: Trust) -> None:
    """A skill that changes while its user reads it runs as it was shown."""

    def ask(_: UntrustedSkill) -> bool:
        (folder / "scripts/hello.py").write_text("print('evil')\n")
        return True

    assert "hello" in run(active(project, trust, allowed=False), scripts=Scripts(on_untrusted=ask))


# ── what can run ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_javascript_runs_with_node(project: Path, trust: Trust) -> None:
    """The other programs are in the document `tests/cases/conversations/scripts.md`."""
    files = {
        "run.js": "console.log(process.argv[2])",
        "names.mjs": "export const required = ['title', 'nodes'];\n",
        "run.mjs": "import fs from 'node:fs'; import { required } from './names.mjs'; console.log(typeof fs, required)",
    }
    write_scripts(project, "pdf", files)
    session = active(project, trust)
    assert run(session, "run.js", args=["x"]) == "exit code 0\nstdout:\nx"
    assert run(session, "run.mjs") == "exit code 0\nstdout:\nobject [ 'title', 'nodes' ]"


@pytest.mark.parametrize(
    ("script", "text", "part"),
    [
        ("x.py", "import nosuchmodule.sub", "`nosuchmodule` is missing; which package has it is not known"),
        ("x.py", "import docx", "`docx` is missing: `pip install python-docx`"),
        ("x.sh", "nosuchprogram -v", "the program `nosuchprogram` is missing"),
    ],
)
def test_what_a_script_did_not_find_is_named(project: Path, trust: Trust, script: str, text: str, part: str) -> None:
    """So that the model can tell its user what to install."""
    write_scripts(project, "pdf", {script: text})
    assert part in run(active(project, trust), script)


PACKAGE = {
    "scripts/__init__.py": "",
    "scripts/base.py": "import json\nVALUE = json.dumps('base')\n",
    "scripts/loop.py": "import sys\nfrom .base import VALUE\nprint(VALUE, sys.argv[1:])\n",
    "scripts/tool/__main__.py": "print(__package__)\n",
}


def test_a_module_of_a_skill_runs_as_with_python_m(project: Path, trust: Trust) -> None:
    """What is in the working directory is not imported."""
    write_files(project, {"json.py": "print('planted')\n", "scripts/loop.py": "print('planted')\n"})
    write_scripts(project, "pdf", PACKAGE)
    session = active(project, trust)
    assert run(session, None, module="scripts.loop", args=["x"]) == "exit code 0\nstdout:\n\"base\" ['x']"
    assert run(session, None, module="scripts.tool") == "exit code 0\nstdout:\nscripts.tool"
    hint = "hint: it is a module of a package: call `run_skill_script` with `{}` and no `script`"
    assert run(session, "scripts/loop.py").splitlines()[-1] == hint.format('"module": "scripts.loop"')


def test_a_script_can_change_a_copy_of_a_file_of_its_skill(project: Path, trust: Trust) -> None:
    """`shutil.copy` copies permissions too; the skill itself stays as it is."""
    code = """
import shutil
from pathlib import Path
source = Path(__file__).with_name("letter.txt")
shutil.copy(source, "letter.txt")
open("letter.txt", "a").write(" Ada")
print(open("letter.txt").read())
try:
    source.open("a")
except OSError as error:
    print(error.strerror)
"""
    write_scripts(project, "pdf", {"x.py": code, "letter.txt": "Dear"})
    assert run(active(project, trust), "x.py").splitlines()[:4] == [
        "exit code 0",
        "stdout:",
        "Dear Ada",
        "Read-only file system",
    ]


@pytest.mark.parametrize("module", ["", ".", "scripts", "scripts.nothing", "../x", "os", "scripts..loop", "-c"])
def test_only_a_module_of_the_skill_runs(project: Path, trust: Trust, module: str) -> None:
    write_scripts(project, "pdf", PACKAGE)
    assert run(active(project, trust), None, module=module).startswith("error: the skill has no module")


@pytest.mark.parametrize("given", [{"script": None}, {"script": "scripts/loop.py", "module": "scripts.loop"}])
def test_a_script_or_a_module_runs(project: Path, trust: Trust, given: dict[str, Any]) -> None:
    write_scripts(project, "pdf", PACKAGE)
    answer = run(active(project, trust), **given)
    assert answer == "error: `run_skill_script` takes a `script` or a `module`\nhint: give one of them"


def test_powershell_runs_a_script_if_it_is_installed(project: Path, trust: Trust, tmp_path: Path) -> None:
    write_scripts(project, "pdf", {"scripts/list.ps1": "Write-Output 1\n"})
    session = active(project, trust)
    missing = run(session, "scripts/list.ps1")
    assert missing.startswith("error: `scripts/list.ps1` needs `pwsh`, which is not installed\n")
    assert "https://learn.microsoft.com/powershell" in missing
    program = write_file(tmp_path / "powershell/pwsh", '#!/bin/sh\nexec cat "$1"\n')
    program.chmod(0o755)
    session = Session(discover_project(project), trust=trust, env={"PATH": str(program.parent)})
    session.activate("pdf")
    assert run(session, "scripts/list.ps1") == "exit code 0\nstdout:\nWrite-Output 1"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("echo 'gadget not found' >&2; exit 1", ""),
        ("echo 'orders.csv not found' >&2; exit 1", "hint: relative paths of the script start at "),
        ("echo 'Error: file does not exist: a.pdf'; exit 1", "hint: relative paths of the script start at "),
        ("echo 'Temporary failure in name resolution' >&2; exit 1", "hint: this script has no network: "),
    ],
)
def test_a_hint_fits_what_a_script_says(project: Path, trust: Trust, text: str, hint: str) -> None:
    write_scripts(project, "pdf", {"x.sh": text})
    last = run(active(project, trust), "x.sh").splitlines()[-1]
    assert last.startswith(hint or "gadget")


def test_a_required_variable_counts_if_the_application_gives_it(project: Path, trust: Trust) -> None:
    write_scripts(project, "pdf", {"x.sh": 'echo "key $SOME_KEY"'}, "requires:\n  env: [SOME_KEY]\n")
    assert "key 1234" in run(active(project, trust), "x.sh", Scripts(env={"SOME_KEY": "1234"}))


# ── contained ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_script_sees_its_skill_and_its_folder_and_nothing_else(project: Path, trust: Trust, tmp_path: Path) -> None:
    """No home, no variable of this process, no network, and it cannot change its skill."""
    (tmp_path / "secret.txt").write_text("secret")
    code = f"""
import os, socket
print(sorted(os.environ))
for path in {str(tmp_path / "secret.txt")!r}, {os.path.expanduser("~")!r} + "/.ssh":
    print(os.path.exists(path))
print(os.path.exists(os.path.join(os.path.dirname(__file__), "SKILL.md")))
for attempt in (lambda: open(__file__, "a"), lambda: socket.create_connection(("127.0.0.1", 9), 1)):
    try:
        attempt()
        print("worked")
    except OSError as error:
        print("refused")
"""
    write_scripts(project, "pdf", {"x.py": code})
    os.environ["PROWESS_TEST_SECRET"] = "1"
    try:
        lines = run(active(project, trust), "x.py").splitlines()
    finally:
        del os.environ["PROWESS_TEST_SECRET"]
    assert lines[2] == "['HOME', 'LANG', 'NODE_PATH', 'PATH', 'PWD', 'PYTHONDONTWRITEBYTECODE', 'PYTHONPATH', 'TMPDIR']"
    assert lines[3:] == ["False", "False", "True", "refused", "refused"]


def test_time_memory_and_output_are_limited(project: Path, trust: Trust) -> None:
    """Each limit is an answer, and the conversation goes on."""
    slow, large, much = "import time; time.sleep(60)", "x = bytearray(10**9)", "print('x' * 10**6)"
    write_scripts(project, "pdf", {"slow.py": slow, "large.py": large, "much.py": much})
    session, scripts = active(project, trust), Scripts(timeout=END, memory=200 * 1024**2, output=1000)
    assert run(session, "slow.py", Scripts(timeout=1)).startswith("stopped: it took longer than 1 seconds")
    assert "MemoryError" in run(session, "large.py", scripts)
    answer = run(session, "much.py", scripts)
    assert len(answer) < 1200
    assert "[the first 1,000 of 1,000,001 bytes" in answer


def test_without_a_sandbox_nothing_runs_unless_the_caller_says_so(
    project: Path, folder: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also a trusted script."""
    monkeypatch.setenv("PATH", str(tmp_path))
    session = active(project, trust)
    answer = run(session)
    assert answer.startswith("error: the script did not run: no sandbox available")
    assert "Scripts(sandbox='none')" in answer
    assert run(session, scripts=Scripts(sandbox="none")).startswith("exit code 0\nstdout:\nhello")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"args": ["x" * 100_001]}, "more than 1,000 arguments or 100,000 bytes of them"),
        ({"args": [""] * 1001}, "more than 1,000 arguments"),
        ({"input": "x" * 1_048_577}, "`input` is longer than 1,048,576 characters"),
    ],
)
def test_arguments_that_are_too_long_are_answers(
    project: Path, folder: Path, trust: Trust, arguments: dict[str, Any], part: str
) -> None:
    """A tool never raises."""
    assert part in run(active(project, trust), **arguments)


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────

WRITER = """
import pathlib, sys
for name in sys.argv[1:]:
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text of " + name)
"""


def test_only_files_that_scripts_wrote_can_be_read(project: Path, trust: Trust, tmp_path: Path) -> None:
    """Not the others of a folder that the application gave, and nothing through a link."""
    work = tmp_path / "work"
    write_file(work / "mine.txt", "mine")
    write_scripts(project, "pdf", {"w.py": WRITER, "l.py": "import os; os.symlink('mine.txt', 'link.txt')"})
    session, scripts = active(project, trust), Scripts(cwd=work)
    answer = run(session, "w.py", scripts, args=["a.txt"])
    assert "- a.txt" in answer
    assert (work / "a.txt").read_text() == "text of a.txt"
    assert read(session, "a.txt", scripts) == "text of a.txt"
    run(session, "l.py", scripts)
    for path in ("mine.txt", "link.txt", "../work/a.txt", "/etc/passwd"):
        assert read(session, path, scripts).startswith("error: ")
    (work / "a.txt").unlink()
    (work / "a.txt").symlink_to("mine.txt")
    assert "links are not followed" in read(session, "a.txt", scripts)


def test_a_script_cannot_change_skills_in_its_folder(project: Path, trust: Trust) -> None:
    """If the application lets scripts work in the project, its skills and its repository's files stay as they are."""
    code = f"open('made.txt', 'w'); open({SKILLS + '/xls/SKILL.md'!r}, 'a')"
    write_scripts(project, "pdf", {"x.py": code, "g.py": "open('.git/config', 'w')"})
    session, scripts = active(project, trust), Scripts(cwd=project)
    before = (project / SKILLS / "xls/SKILL.md").read_text()
    answer = run(session, "x.py", scripts)
    assert "Read-only file system" in answer
    assert "- made.txt (0 bytes)" in answer
    assert (project / SKILLS / "xls/SKILL.md").read_text() == before
    assert "Read-only file system" in run(session, "g.py", scripts)


def test_a_script_plants_nothing_in_the_folder_of_its_user(project: Path, trust: Trust, tmp_path: Path) -> None:
    """The answer says what was left out, where a copy is, and who can allow it."""
    code = """
import os, pathlib
for path in "report.md", "conftest.py", "sub/.git/config", "pyproject.toml":
    file = pathlib.Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x")
os.symlink("/etc", "etc")
os.mkfifo("pipe")
"""
    write_scripts(project, "pdf", {"x.py": code})
    work = tmp_path.resolve() / "work"
    work.mkdir()
    answer = run(active(project, trust), "x.py", Scripts(cwd=work, allow_paths=["pyproject.toml"]))
    head, copy = answer.rsplit("\n", 1)
    assert head == (
        "exit code 0\nno output\nfiles it wrote, which `read_script_file` reads:\n- pyproject.toml (1 bytes)\n"
        "- report.md (1 bytes)\n[removed, because other programs would run or obey it: `conftest.py` (pytest), "
        "`etc` (a link that leads out), `pipe` (a FIFO), `sub/.git` (git); the application can allow a path, with "
        "`Scripts(allow_paths=[...])`]"
    )
    assert re.fullmatch(r"\[for 30 days a copy of a part of it is kept in `.+\.tar`\]", copy)
    assert sorted(os.listdir(work)) == ["pyproject.toml", "report.md", "sub"]
    assert not os.listdir(work / "sub")


def test_the_folder_survives_a_session_that_is_saved_and_goes_with_the_options(project: Path, trust: Trust) -> None:
    """Frameworks make a session anew for each call."""
    write_scripts(project, "pdf", {"w.py": WRITER})
    scripts, session = Scripts(), active(project, trust)
    session.inject("on")
    run(session, "w.py", scripts, args=["a.txt"])
    again = Session.from_json(session.to_json(), session.catalog, trust=trust)
    assert read(again, "a.txt", scripts) == "text of a.txt"
    work = scripts.find_folder(session._ledger.conversation)
    assert work is not None
    path = work.path
    del work, scripts, session, again
    assert not os.path.exists(path)


FILL = """
import sys
for n in range(int(sys.argv[2])):
    open(sys.argv[1] + str(n), "wb").write(bytes(int(sys.argv[3])))
"""
CLOSE = "import os\nos.mkdir('d'); open('d/f', 'wb').write(bytes(10**6)); os.chmod('d', 0)"
SMALL = ScriptSpace(folder_size=1_000_000, folder_files=50)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr("prowess.session._work_folders._TEMPORARY", WeakSet())  # without those of other tests
    return folder


def folders_in(temporary: Path) -> list[list[str]]:
    """Return the names of the files of each conversation, those with most first."""
    found = [sorted(path.name for path in work.rglob("*")) for work in temporary.glob("prowess-scripts-*/work")]
    return sorted(found, key=len, reverse=True)


@pytest.mark.parametrize(
    ("count", "size"), [(200, 0), (100, 900), (5, 300_000), (1, 2_000_000)], ids=["many", "small", "few", "one"]
)
def test_what_a_script_writes_beyond_its_space_is_removed(
    project: Path, trust: Trust, temporary: Path, count: int, size: int
) -> None:
    """However fast it is; what earlier scripts wrote stays if that suffices, and later ones can write again."""
    write_scripts(project, "pdf", {"fill.py": FILL})
    session, scripts = active(project, trust), Scripts(space=SMALL)
    assert "a0 (100 bytes)" in run(session, "fill.py", scripts, args=["a", "1", "100"])
    answer = run(session, "fill.py", scripts, args=["b", str(count), str(size)])
    assert "what it wrote was removed: more than 1,000,000 bytes or 50 files" in answer
    assert folders_in(temporary) == [["a0"]]
    assert "- c0 (100 bytes)" in run(session, "fill.py", scripts, args=["c", "1", "100"])


def test_a_folder_that_grows_over_several_scripts_is_emptied(project: Path, trust: Trust, temporary: Path) -> None:
    """If what is new is not the reason."""
    write_scripts(project, "pdf", {"fill.py": FILL, "close.py": CLOSE})
    session, scripts = active(project, trust), Scripts(space=SMALL)
    run(session, "fill.py", scripts, args=["a", "2", "300000"])
    assert "what it wrote was removed" in run(session, "fill.py", scripts, args=["a", "2", "600000"])
    assert folders_in(temporary) == [[]]
    run(session, "close.py", scripts)
    assert folders_in(temporary) == [[]]


def test_all_conversations_have_space_together(project: Path, trust: Trust, temporary: Path) -> None:
    """Those that ran no script for the longest time make room; a folder without files stays."""
    write_scripts(project, "pdf", {"fill.py": FILL})
    scripts = Scripts(space=ScriptSpace(folder_files=30, total_files=99))
    sessions = [active(project, trust) for _ in range(6)]
    run(sessions[5], "fill.py", scripts, args=["a", "0", "0"])
    for number in (20, 25, 10, 15):
        session = sessions.pop(0)
        run(session, "fill.py", scripts, args=["a", str(number), "0"])
    assert sorted(map(len, folders_in(temporary))) == [0, 10, 15, 20, 25]
    assert run(sessions[0], "fill.py", scripts, args=["a", "29", "0"]).startswith("exit code 0")
    assert sorted(map(len, folders_in(temporary))) == [0, 10, 15, 25, 29]
    # Another object cannot remove them, and gets what is left.
    other = Scripts(space=ScriptSpace(folder_files=30, total_files=99))
    answer = run(sessions[1], "fill.py", other, args=["a", "25", "0"])
    assert "what it wrote was removed: more than 1,073,741,824 bytes or 20 files" in answer
    assert "the temporary folders of scripts are full" in run(
        sessions[1], "fill.py", Scripts(space=ScriptSpace(total_files=79)), args=["a", "1", "0"]
    )


def test_a_folder_is_removed_some_time_after_its_last_script(project: Path, trust: Trust, temporary: Path) -> None:
    """Also while the process goes on."""
    write_scripts(project, "pdf", {"fill.py": FILL})
    scripts = Scripts(space=ScriptSpace(keep=1e-9))
    first, second = active(project, trust), active(project, trust)
    run(first, "fill.py", scripts, args=["a", "1", "0"])
    run(first, "fill.py", scripts, args=["b", "1", "0"])
    assert folders_in(temporary) == [["a0", "b0"]]
    run(second, "fill.py", scripts, args=["c", "1", "0"])
    assert folders_in(temporary) == [["c0"]]
    assert read(first, "a0", scripts).startswith("error: no script of this conversation wrote `a0`")


def test_a_folder_that_was_removed_is_an_answer(project: Path, trust: Trust, tmp_path: Path) -> None:
    """It is not made again: the application gave it."""
    work = tmp_path / "work"
    work.mkdir()
    scripts = Scripts(cwd=work)
    write_scripts(project, "pdf", {"w.py": WRITER})
    session = active(project, trust)
    work.rmdir()
    assert run(session, "w.py", scripts).startswith("error: ")


@pytest.mark.slow
def test_a_folder_that_becomes_a_link_is_neither_listed_nor_read(
    project: Path, trust: Trust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if a folder above it does, while a script runs."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    top, other = tmp_path / "top", tmp_path / "other"
    for folder in (top, other):
        write_file(folder / "work/a.txt", "secret")
    write_scripts(project, "pdf", {"w.py": WRITER, "wait.py": "import time\nopen('b', 'w')\ntime.sleep(0.5)\n"})
    session, scripts = active(project, trust), Scripts(cwd=top / "work")
    run(session, "w.py", scripts, args=["a.txt"])

    def replace() -> None:
        while not list(tmp_path.glob("prowess-layer-*/changes/b")):
            time.sleep(0.01)
        top.rename(tmp_path / "old")
        top.symlink_to(other)

    thread = threading.Thread(target=replace)
    thread.start()
    answer = run(session, "wait.py", scripts)
    thread.join()
    assert answer.startswith("error: the working folder was moved or removed")
    assert read(session, "a.txt", scripts).startswith("error: the working folder was moved or removed")


def test_a_file_that_is_gone_names_no_other_file(project: Path, trust: Trust, tmp_path: Path) -> None:
    """A hint with similar names would name other files of the application's folder."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "report-secret.txt").touch()
    write_scripts(project, "pdf", {"w.py": WRITER})
    session, scripts = active(project, trust), Scripts(cwd=work)
    run(session, "w.py", scripts, args=["report.txt"])
    (work / "report.txt").unlink()
    answer = read(session, "report.txt", scripts)
    assert answer.startswith("error: ")
    assert "secret" not in answer


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("config/prowess", "it is in the folder of the trust record"),
        ("config/prowess/more", "it is in the folder of the trust record"),
        ("config", "it contains the folder of the trust record"),
        (".", "it contains the folder of the trust record"),
        ("home", "it is your home"),
        ("home/.agents/skills/new", "it is in a folder of your skills"),
        ("home/.agents", "it contains a folder of your skills"),
        ("project/.agents/skills/pdf/more", "it is in the skill"),
        ("project/.agents/skills/xls/more", "it is in the skill `xls`"),
        ("link", "it contains the folder of the trust record"),
    ],
)
def test_scripts_do_not_work_where_prowess_keeps_what_it_trusts(
    folder: str, reason: str, project: Path, trust: Trust, tmp_path: Path
) -> None:
    """Nor in a folder that contains it."""
    write_scripts(project, "pdf", {"w.py": WRITER})
    (tmp_path / "config").mkdir()
    (tmp_path / "link").symlink_to("config")
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    session = active(project, trust)
    answer = run(session, "w.py", Scripts(cwd=tmp_path / folder), args=["a.txt"])
    assert answer.startswith(f"error: scripts cannot work in `{os.path.realpath(tmp_path / folder)}`: {reason}\n")
    assert not (tmp_path / folder / "a.txt").exists()


@pytest.mark.parametrize("variable", ["PROWESS_CONFIG_DIR", "PROWESS_DATA_DIR", "PROWESS_CACHE_DIR"])
def test_an_application_learns_at_once_that_scripts_cannot_work_in_a_folder(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a model runs the first one."""
    monkeypatch.setenv(variable, str(tmp_path / "work/own"))
    (tmp_path / "work").mkdir()
    with pytest.raises(ConfigError, match=r"scripts cannot work in .*: it contains "):
        Scripts(cwd=tmp_path / "work")


def test_the_names_of_written_files_are_a_bounded_part_of_the_answer(project: Path, trust: Trust) -> None:
    """A path can have 4,000 characters."""
    code = "import os\nfor n in range(60):\n    p = '/'.join([f'{n:0240}'] * 15)\n    os.makedirs(p)\n"
    code += "    open(p + '/f', 'w')\n"
    write_scripts(project, "pdf", {"x.py": code})
    answer = run(active(project, trust), "x.py")
    assert len(answer) < 10_000
    assert answer.endswith("- and 58 more")


def test_the_path_of_a_project_adds_no_line_and_no_tag(project: Path, trust: Trust, tmp_path: Path) -> None:
    """It is shown in place of the copy's path."""
    other = tmp_path / "a\n<skill_content>"
    project.rename(other)
    write_scripts(other, "pdf", {"x.py": "print(__file__)"})
    answer = run(active(other, trust), "x.py")
    assert answer.splitlines()[2].endswith("/pdf/x.py")
    assert "<skill_content>" not in answer


def test_conversations_run_at_once(project: Path, trust: Trust) -> None:
    """Each in its own folder."""
    write_scripts(project, "pdf", {"w.py": WRITER})
    scripts, answers = Scripts(), dict[int, str]()
    sessions = [active(project, trust) for _ in range(8)]

    def work(number: int) -> None:
        run(sessions[number], "w.py", scripts, args=[f"{number}.txt"])
        answers[number] = read(sessions[number], f"{number}.txt", scripts)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"text of {number}.txt" for number in range(8)}


# ── what the skill declares ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_declared_network_counts_unless_the_caller_forbids_it(project: Path, trust: Trust) -> None:
    """The hosts it names, through the proxy; an address of this machine is not public."""
    more = (
        "tools:\n  - type: script\n    network: true\n    allowed_domains: [example.com]\n"
        "    scripts:\n      - {name: x, path: x.py}\n"
    )
    write_scripts(project, "pdf", {"x.py": "import os; print('HTTPS_PROXY' in os.environ)"}, more)
    assert "True" in run(active(project, trust), "x.py")
    assert "False" in run(active(project, trust), "x.py", Scripts(network=False))


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"sandbox": "box"}, "unknown sandbox `box`"),
        ({"timeout": 0}, "`timeout` cannot be 0"),
        ({"memory": True}, "`memory` cannot be True"),
        ({"output": "1"}, "`output` cannot be '1'"),
        ({"cwd": "/nosuch"}, "the folder `/nosuch` does not exist"),
        ({"on_untrusted": True}, "`on_untrusted` is not a function"),
        ({"network": "no"}, "`network` cannot be 'no'"),
        ({"space": 10}, "`space` cannot be 10"),
        ({"space": ScriptSpace(total_files=0)}, "`total_files` cannot be 0"),
        ({"space": ScriptSpace(keep=True)}, "`keep` cannot be True"),
    ],
)
def test_invalid_options(options: dict[str, Any], part: str) -> None:
    """At once, not in the first call of a model."""
    with pytest.raises(ConfigError) as caught:
        Scripts(**options)
    assert part in str(caught.value)


def test_another_value_of_scripts_is_an_error(project: Path, folder: Path) -> None:
    """`1` or a string is a mistake."""
    with pytest.raises(ConfigError, match="`scripts` cannot be 'yes'"):
        new_session(project).tools(scripts="yes")  # type: ignore[arg-type]


# ── packages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, the only place from which packages come."""
    folder = tmp_path / "wheels"
    write_wheel(folder, "lifelines", "1.5", {"lifelines.py": "YEARS = 80\n"})
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def test_what_a_script_needs_is_installed_before_it_runs(project: Path, trust: Trust, wheels: Path) -> None:
    """By what it imports, its own comment, and the file beside it; Python that it starts has it too."""
    comment = "# /// script\n# dependencies = ['lifelines>=1']\n# ///\n"
    code = "import lifelines, os, subprocess, sys\nprint(lifelines.YEARS)\n"
    uv = "#!/usr/bin/env -S uv run --script\n"
    child = "subprocess.run(['python3', '-c', 'import lifelines; print(lifelines.YEARS + 1)'])\n"
    files = {"x.py": f"{code}sys.stdout.flush()\n{child}", "y.py": f"{comment}{code}", "uv": f"{uv}{comment}{code}"}
    write_scripts(project, "pdf", {**files, "z/requirements.txt": "lifelines\n", "z/z.py": code})
    session = active(project, trust)
    for script, lines in (("x.py", ["80", "81"]), ("y.py", ["80"]), ("z/z.py", ["80"]), ("uv", ["80"])):
        assert run(session, script).splitlines() == ["exit code 0", "stdout:", *lines]


def test_a_script_cannot_change_its_packages(project: Path, trust: Trust, wheels: Path) -> None:
    """They are those of other scripts too."""
    code = """
import lifelines, os
for path in (lifelines.__file__, os.path.dirname(lifelines.__file__) + "/new.py"):
    try:
        open(path, "a")
        print("changed")
    except OSError:
        print("refused")
"""
    write_scripts(project, "pdf", {"x.py": code})
    assert run(active(project, trust), "x.py").splitlines()[2:] == ["refused", "refused"]


@pytest.mark.parametrize(
    ("files", "parts"),
    [
        (
            {"x.py": "", "requirements.txt": "nosuch"},
            ["error: `x.py` cannot run: `nosuch` cannot be installed", "hint: "],
        ),
        ({"x.py": "import numpy_stl, pymoo\n"}, ["`numpy_stl` is missing", "[not installed for the script: `pymoo`"]),
        ({"x.py": "try:\n    import pymoo\nexcept ImportError:\n    print('without')\n"}, ["exit code 0", "without"]),
        (
            {"x.py": "print(1)", "requirements.txt": "-e .\n"},
            ["exit code 0", "`-e .` of requirements.txt is not installed"],
        ),
    ],
)
def test_what_cannot_be_installed_is_named(
    project: Path, trust: Trust, wheels: Path, files: dict[str, str], parts: list[str]
) -> None:
    """A script whose author says what it needs does not run without; an import may be one that it can do without."""
    write_scripts(project, "pdf", files)
    answer = run(active(project, trust), "x.py")
    assert [part for part in parts if part not in answer] == []


def test_nothing_is_installed_if_the_application_says_so(project: Path, trust: Trust, wheels: Path) -> None:
    write_scripts(project, "pdf", {"x.py": "import lifelines", "y.py": "", "requirements.txt": "lifelines"})
    session = active(project, trust)
    answer = run(session, "x.py", Scripts(packages="none"))
    assert answer.startswith("error: `x.py` cannot run: it needs `lifelines`, and nothing is installed here")
    with pytest.raises(ConfigError, match="`packages` cannot be 'all'"):
        Scripts(packages="all")


def test_nothing_is_installed_for_a_skill_that_is_not_trusted(project: Path, trust: Trust, wheels: Path) -> None:
    write_scripts(project, "pdf", {"x.py": "import lifelines"})
    assert "is not trusted" in run(active(project, trust, allowed=False), "x.py")
    assert not (wheels.parent / "cache/environments").exists()


@pytest.mark.parametrize("script", ["scripts/main.py", "scripts/main.mjs", "scripts/main.cjs"])
def test_modules_of_a_skill_are_found_from_its_folder(project: Path, trust: Trust, script: str) -> None:
    """As its author started it there."""
    if script.endswith("js") and shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    write_scripts(
        project,
        "pdf",
        {
            "scripts/main.py": "from scripts.helper import word\nprint(word)",
            "scripts/helper.py": "word = 'found'",
            "scripts/main.cjs": "console.log(require('lib/helper.cjs'))",
            "lib/helper.cjs": "module.exports = 'found'",
            "scripts/main.mjs": "import word from '../lib/helper.cjs'; console.log(word)",
        },
    )
    assert run(active(project, trust), script).splitlines()[2] == "found"


# ── the user's files ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_script_sees_the_files_of_the_project_and_changes_none(project: Path, trust: Trust) -> None:
    """What it writes, changes and removes is so for the scripts of this conversation alone."""
    write_files(project, {"orders.csv": "a,b\n", "data/old.txt": "old"})
    code = "import os\nprint(open('orders.csv').read().split(), sorted(os.listdir('.') + os.listdir('data')))\n"
    change = "open('orders.csv', 'a').write('c,d\\n')\nopen('data/new.txt', 'w').write('n')\n"
    change += "os.remove('data/old.txt')\n"
    write_scripts(project, "pdf", {"x.py": code + change, "y.py": code})
    before = sorted(project.rglob("*"))
    session, scripts = active(project, trust), Scripts()
    answer = run(session, "x.py", scripts).splitlines()
    assert answer[2] == "['a,b'] ['.agents', '.git', 'data', 'old.txt', 'orders.csv']"
    assert answer[4:] == ["- data/new.txt (1 bytes)", "- orders.csv (8 bytes)"]
    assert run(session, "y.py", scripts).splitlines()[2] == (
        "['a,b', 'c,d'] ['.agents', '.git', 'data', 'new.txt', 'orders.csv']"
    )
    assert read(session, "orders.csv", scripts) == "a,b\nc,d\n"
    other = active(project, trust)
    assert run(other, "y.py", scripts).splitlines()[2] == "['a,b'] ['.agents', '.git', 'data', 'old.txt', 'orders.csv']"
    assert sorted(project.rglob("*")) == before
    assert (project / "orders.csv").read_text() == "a,b\n"


def test_two_scripts_of_a_conversation_at_once_both_keep_what_they_write(project: Path, trust: Trust) -> None:
    """One waits for the other."""
    code = "import sys\nopen(sys.argv[1], 'w').write('x')\n"
    write_scripts(project, "pdf", {"x.py": code})
    session, scripts = active(project, trust), Scripts()
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda name=name: answers.append(run(session, "x.py", scripts, args=[name])))
        for name in ("one", "two", "three")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.splitlines()[0] for answer in answers] == ["exit code 0"] * 3
    assert [read(session, name, scripts) for name in ("one", "two", "three")] == ["x"] * 3


def test_a_folder_with_temporary_files_or_of_the_system_is_no_project(
    project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts would see the files of other conversations, or what only root may read."""
    line = f'echo secret > "$1"; cat $2; ls -d /proc/{os.getpid()} /etc/shadow; echo end'
    write_scripts(project, "pdf", {"x.sh": line})
    monkeypatch.setenv("TMPDIR", str(project / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (project / "tmp").mkdir()
    scripts = Scripts()
    run(active(project, trust), "x.sh", scripts, args=["own.txt", "own.txt"])
    assert list(project.glob("tmp/*/work/own.txt"))
    answer = run(active(project, trust), "x.sh", scripts, args=["other.txt", f"{project}/tmp/*/work/own.txt"])
    assert "stdout:\nend" in answer
    for folder in ("/etc", "/proc"):
        catalog = discover(folder, skill_dirs=[str(project / SKILLS)], home=project.parent, env={}, cache=False)
        session = Session(catalog, env={}, trust=trust)
        session.activate("pdf")
        trust.allow(catalog.resolve("pdf"))
        assert "stdout:\nsecret\nend" in run(session, "x.sh", args=["own.txt", "own.txt"])


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no folder in memory")
def test_a_project_in_memory_is_one_like_any_other(project: Path, trust: Trust) -> None:
    """Of `/dev`, only `/dev/shm` is for files."""
    write_scripts(project, "pdf", {"x.py": "import os\nprint(os.listdir())"})
    with TemporaryDirectory(dir="/dev/shm") as folder:
        write_files(Path(folder), {"orders.csv": "a,b\n"})
        catalog = discover(folder, skill_dirs=[str(project / SKILLS)], home=project.parent, env={}, cache=False)
        session = Session(catalog, env={}, trust=trust)
        session.activate("pdf")
        trust.allow(catalog.resolve("pdf"))
        assert run(session, "x.py").splitlines()[2] == "['orders.csv']"


@pytest.mark.parametrize("option", ["no project", "no layers", "home"])
def test_without_the_project_a_script_works_in_a_folder_of_its_own(
    project: Path, trust: Trust, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no layer can be made, it can read the files by their whole paths."""
    write_files(project, {"orders.csv": "a,b\n"})
    code = f"import os\nprint(os.listdir('.'), os.path.exists({str(project / 'orders.csv')!r}))\nopen('orders.csv')\n"
    write_scripts(project, "pdf", {"x.py": code})
    if option == "no layers":
        monkeypatch.setattr("prowess.guard._layers.has_mounts_inside", lambda _: True)
    catalog = discover(project, home=project if option == "home" else project.parent / "home", env={}, cache=False)
    session = Session(catalog, env={}, trust=trust)
    session.activate("pdf")
    trust.allow(session.catalog.resolve("pdf"))
    answer = run(session, "x.py", Scripts(project=option != "no project"))
    assert answer.splitlines()[2] == f"[] {option == 'no layers'}"
    assert "hint: relative paths of the script start at a folder of the conversation, which has only" in answer
    assert (f"the user's files are in `{project}`" in answer) == (option == "no layers")


def test_a_script_that_finds_no_file_is_answered_with_where_it_looked(project: Path, trust: Trust) -> None:
    write_scripts(project, "pdf", {"x.py": "import sys\nsys.exit('cannot read orders.csv: No such file or directory')"})
    hint = f"hint: relative paths of the script start at `{project}`; the application can show scripts another folder"
    assert hint in run(active(project, trust), "x.py")


# ── files that come out ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("cwd", [False, True])
def test_the_application_gets_the_files_that_scripts_wrote(project: Path, trust: Trust, cwd: bool) -> None:
    """Text and bytes, as they are now; links and what is gone are left out."""
    code = """
import os
open("one.bin", "wb").write(bytes(range(256)))
open("gone.txt", "w").write("x")
os.makedirs("a"); open("a/two.txt", "w").write("two")
os.symlink("/etc/passwd", "link.txt")
"""
    write_scripts(project, "pdf", {"x.py": code, "y.py": "import os\nos.remove('gone.txt')"})
    session, scripts = active(project, trust), Scripts(cwd=project if cwd else None)
    assert session.files() == ()
    run(session, "x.py", scripts)
    run(session, "y.py", scripts)
    files = {file.name: file for file in session.files()}
    assert {"a/two.txt", "one.bin"} <= set(files)
    assert not {"gone.txt", "link.txt"} & set(files)
    with files["one.bin"].open() as file:
        data = file.read()
    assert data == bytes(range(256))
    assert files["one.bin"].size == 256
    assert files["one.bin"].digest == f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.mark.needs("node")
@pytest.mark.parametrize("layers", [True, False], ids=["layer", "no layer"])
@pytest.mark.parametrize("cwd", [False, True], ids=["beside", "cwd"])
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_only_what_scripts_wrote_is_listed(
    project: Path, trust: Trust, sandbox: str, cwd: bool, layers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what Prowess writes to run them, in temporary files, or to undo what they may not write."""
    if not layers:
        monkeypatch.setattr("prowess.guard._layers.has_mounts_inside", lambda _: True)
    work = project.parent / "work"
    write_files(work, {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\thooksPath = .husky/_\n"})
    quiet_python = (
        "import json, os, tempfile\nimport base\nopen(os.path.join(tempfile.gettempdir(), 'a'), 'w').write('a')"
    )
    files = {
        "base.py": "VALUE = 1\n",
        "quiet.py": quiet_python,
        "quiet.mjs": "import fs from 'node:fs'; import os from 'node:os';\nfs.writeFileSync(os.tmpdir() + '/b', 'b')",
        "hook.sh": "mkdir -p .git .husky/_; { echo x > .git/config; echo x > .husky/_/pre-commit; } 2>/dev/null; true",
        "loud.py": "import base\nopen('python.txt', 'w').write('x')",
        "loud.js": "require('fs').writeFileSync('node.txt', 'x')",
    }
    write_scripts(project, "pdf", files)
    session, scripts = active(project, trust), Scripts(cwd=work if cwd else None, sandbox=sandbox)
    written = {"loud.py": ["python.txt"], "loud.js": ["node.txt"]}
    if not cwd:
        written["hook.sh"] = [".git/config", ".husky/_/pre-commit"]
    for script in ("quiet.py", "quiet.mjs", "hook.sh", "loud.py", "loud.js"):
        answer = run(session, script, scripts)
        assert answer.startswith("exit code 0")
        listed = re.findall(r"^- (.*) \(\d+ bytes\)$", answer, re.MULTILINE)
        assert listed == written.get(script, []), script
    assert sorted(file.name for file in session.files()) == sorted(name for names in written.values() for name in names)


def test_an_image_that_a_script_wrote_is_a_file_for_the_adapter(project: Path, trust: Trust) -> None:
    write_scripts(project, "pdf", {"x.py": f"open('map.png', 'wb').write({PNG!r})", "map.png": "of the skill"})
    session = active(project, trust)
    assert read(session, "map.png").startswith("error: no script of this conversation wrote `map.png`")
    run(session, "x.py")
    answer = read(session, "map.png")
    assert isinstance(answer, FileAnswer)
    assert answer.file.data == PNG
    assert read(session, "map.png", offset=1).startswith("error: `map.png` is not a text file")


def test_a_file_that_became_a_link_is_not_opened(project: Path, trust: Trust) -> None:
    """The folder is one that scripts write in."""
    write_scripts(project, "pdf", {"x.py": "open('one.txt', 'w').write('one')"})
    session, scripts = active(project, trust), Scripts(cwd=project)
    run(session, "x.py", scripts)
    (file,) = session.files()
    (project / "one.txt").unlink()
    (project / "one.txt").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="symbolic links"):
        file.open()
    assert session.files() == ()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_packages_of_node_are_installed_without_running_their_scripts(
    project: Path, trust: Trust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both kinds of modules find them."""
    mark = tmp_path / "ran"
    package = {"name": "shapes", "version": "1.5.0", "scripts": {"install": f"touch {mark}"}, "main": "i.js"}
    write_npm_package(tmp_path / "registry", package, {"i.js": "module.exports = 4"})
    code = {"x.mjs": "import area from 'shapes'; console.log(area)", "x.cjs": "console.log(require('shapes'))"}
    write_scripts(project, "pdf", {**code, "package.json": json.dumps({"dependencies": {"shapes": "^1.0.0"}})})
    session = active(project, trust)
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    with static_server(tmp_path / "registry") as server:
        monkeypatch.setenv("npm_config_registry", f"{server.url}/")
        point_to_tarballs(tmp_path / "registry", server.url)
        assert run(session, "x.mjs").splitlines()[:3] == ["exit code 0", "stdout:", "4"]
    assert run(session, "x.cjs").splitlines()[:3] == ["exit code 0", "stdout:", "4"]
    assert not mark.exists()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_lock_of_npm_says_which_versions_and_not_from_where(
    project: Path, trust: Trust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address of its author is not asked; the digest of a file counts."""
    mark = tmp_path / "ran"
    registry = tmp_path / "registry"
    package = {"name": "shapes", "version": "1.5.0", "scripts": {"install": f"touch {mark}"}, "main": "i.js"}
    write_npm_package(registry, package, {"i.js": "module.exports = 4"})
    about = json.loads((registry / "shapes").read_text())
    dist = about["versions"]["1.5.0"]["dist"]
    # The newest version in the range is another one.
    about["versions"]["1.9.0"] = {**about["versions"]["1.5.0"], "version": "1.9.0", "dist": {**dist, "tarball": "/no"}}
    (registry / "shapes").write_text(json.dumps({**about, "dist-tags": {"latest": "1.9.0"}}))
    row = {"version": "1.5.0", "integrity": dist["integrity"], "resolved": "http://127.0.0.1:9/shapes.tgz"}
    needs = {"dependencies": {"shapes": "^1.0.0"}}
    lock = {"lockfileVersion": 3, "packages": {"": needs, "node_modules/shapes": row}}
    files = {"x.cjs": "console.log(require('shapes'))", "package.json": json.dumps(needs)}
    write_scripts(project, "pdf", {**files, "package-lock.json": json.dumps(lock)})
    session = active(project, trust)
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    with static_server(registry) as server:
        monkeypatch.setenv("npm_config_registry", f"{server.url}/")
        point_to_tarballs(registry, server.url)
        assert run(session, "x.cjs").splitlines()[:3] == ["exit code 0", "stdout:", "4"]
        assert not mark.exists()
        row["integrity"] = "sha512-" + "A" * 86 + "=="
        write_scripts(project, "pdf", {**files, "package-lock.json": json.dumps(lock)})
        assert "EINTEGRITY" in run(active(project, trust), "x.cjs")


@pytest.mark.needs("git")
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_package_of_node_that_needs_a_repository_is_not_installed(
    project: Path, trust: Trust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git would use the user's keys."""
    write_files(tmp_path / "inner", {"package.json": '{"name": "inner", "version": "1.0.0"}'})
    run_as_owner(tmp_path / "inner", "git init -q; git add .; git commit -qm x")
    package = {"name": "shapes", "version": "1.5.0", "dependencies": {"inner": f"git+file://{tmp_path}/inner"}}
    write_npm_package(tmp_path / "registry", package, {"i.js": ""})
    needs = json.dumps({"dependencies": {"shapes": "^1.0.0"}})
    write_scripts(project, "pdf", {"x.cjs": "console.log(require('inner/package.json').name)", "package.json": needs})
    session = active(project, trust)
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    with static_server(tmp_path / "registry") as server:
        monkeypatch.setenv("npm_config_registry", f"{server.url}/")
        point_to_tarballs(tmp_path / "registry", server.url)
        answer = run(session, "x.cjs")
    assert "cannot be installed" in answer
    assert "a repository of git, which is never installed" in answer


def test_a_file_that_became_a_folder_leaves_nothing_open(project: Path, trust: Trust) -> None:
    write_scripts(project, "pdf", {"x.py": "open('one.txt', 'w').write('one')"})
    session = active(project, trust)
    run(session, "x.py", Scripts(cwd=project))
    (project / "one.txt").unlink()
    (project / "one.txt").mkdir()
    before = os.listdir("/proc/self/fd")
    assert session.files() == ()
    assert len(os.listdir("/proc/self/fd")) <= len(before)
