"""A model runs the scripts of skills: contained, from bytes that the user trusts, in a folder of the conversation."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess import Scripts, Session, UntrustedSkill
from prowess.errors import ConfigError
from support.sessions import SKILLS, new_session
from support.skills import skill

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
    folder = skill(project / SKILLS / name, more=more).parent
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def active(project: Path, trust: Trust | None = None, name: str = "pdf", *, allowed: bool = True) -> Session:
    """Return a session in which a skill is active, and trusted."""
    session = new_session(project, trust=trust)
    session.activate(name)
    if allowed and trust is not None:
        trust.allow(session.catalog.resolve(name))
    return session


def run(session: Session, script: str = "scripts/hello.py", scripts: bool | Scripts = True, **arguments: Any) -> str:
    tools = {tool.name: tool for tool in session.tools(scripts=scripts)}
    return tools["run_skill_script"].call(**{"skill": "pdf", "script": script, **arguments})


def read(session: Session, path: str, scripts: bool | Scripts = True, **arguments: Any) -> str:
    tools = {tool.name: tool for tool in session.tools(scripts=scripts)}
    return tools["read_script_file"].call(path=path, **arguments)


# ── who may ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_scripts_are_off_by_default(project: Path, folder: Path) -> None:
    """Then a model has no tool that runs anything."""
    assert [tool.name for tool in new_session(project).tools()] == ["activate_skill", "read_skill_file"]
    names = [tool.name for tool in new_session(project).tools(scripts=True)]
    assert names == ["activate_skill", "read_skill_file", "run_skill_script", "read_script_file"]


def test_a_script_gets_its_arguments_one_by_one_and_its_input(project: Path, folder: Path, trust: Trust) -> None:
    """No shell reads them."""
    answer = run(active(project, trust), args=["a b", "$HOME; ls", "*"], input="in\nput")
    assert answer == "exit code 0\nstdout:\nhello ['a b', '$HOME; ls', '*'] in\nput"


def test_a_skill_that_is_not_trusted_is_refused_with_the_command_that_trusts_it(
    project: Path, folder: Path, trust: Trust
) -> None:
    """Until the user types it; and again when a byte has changed."""
    session = active(project, trust, allowed=False)
    assert run(session) == (
        f"error: `pdf` is not trusted: review it, then type `prowess trust {folder}`\n"
        "hint: tell the user this, and go on without the script"
    )
    trust.allow(session.catalog.resolve("pdf"))
    assert run(session).startswith("exit code 0")
    (folder / "scripts/hello.py").write_text("print('other')\n")
    assert "has changed since it was trusted" in run(session)


def test_a_skill_must_be_active(project: Path, folder: Path, trust: Trust) -> None:
    """A model that has not read a skill cannot know what its scripts are for."""
    session = new_session(project, trust=trust)
    trust.allow(session.catalog.resolve("pdf"))
    assert run(session) == "error: the skill `pdf` is not active\nhint: call `activate_skill` first"
    session.inject("use $pdf")
    assert run(session).startswith("exit code 0")


def test_the_application_can_ask_its_user(project: Path, folder: Path, trust: Trust) -> None:
    """Once for the same bytes, with a copy to review; nothing is added to the trust record."""
    asked: list[UntrustedSkill] = []

    def ask(untrusted: UntrustedSkill) -> bool:
        asked.append(untrusted)
        assert (Path(untrusted.folder) / "scripts/hello.py").read_text() == HELLO
        return True

    scripts = Scripts(on_untrusted=ask)
    session = active(project, trust, allowed=False)
    assert run(session, scripts=scripts, args=["x"]).startswith("exit code 0")
    assert run(session, scripts=scripts).startswith("exit code 0")
    (untrusted,) = asked
    assert (untrusted.entry.name, untrusted.script, untrusted.arguments) == ("pdf", "scripts/hello.py", ("x",))
    assert "prowess trust" in untrusted.reason
    assert trust.all() == ()
    (folder / "more.txt").write_text("1")
    run(session, scripts=scripts)
    assert len(asked) == 2
    run(active(project, trust, allowed=False), scripts=scripts)
    assert len(asked) == 3  # another conversation


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


@pytest.mark.parametrize(
    ("path", "text", "output"),
    [
        ("run.py", "print(6 * 7)", "42"),
        ("run.sh", 'echo "$1"', "x"),
        ("run.bash", "a=(1 2); echo ${#a[@]}", "2"),
        ("run", "#!/bin/sh\necho sh", "sh"),
        ("run", "#!/usr/bin/env -S python3 -B\nimport sys; print(sys.flags.dont_write_bytecode)", "1"),
        ("run.awk", '#!/usr/bin/awk -f\nBEGIN { print "awk" }', "awk"),
        ("run.txt", "#!/usr/bin/env python3.4\r\nprint('python')", "python"),
        pytest.param(
            "run.js",
            "console.log(process.argv[2])",
            "x",
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
        ),
        pytest.param(
            "run.mjs",
            "import fs from 'node:fs'; console.log(typeof fs)",
            "object",
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
        ),
    ],
)
def test_the_first_line_or_the_name_tells_the_program(
    project: Path, trust: Trust, path: str, text: str, output: str
) -> None:
    """No permission to execute is needed."""
    write_scripts(project, "pdf", {path: text})
    assert run(active(project, trust), path, args=["x"]) == f"exit code 0\nstdout:\n{output}"


@pytest.mark.parametrize(
    ("files", "script", "part"),
    [
        (
            {"x.rb": "#!/usr/bin/env nosuchruby\n"},
            "x.rb",
            "`x.rb` needs `nosuchruby`, which is not installed\nhint: ask",
        ),
        ({"x.dat": "data"}, "x.dat", "`x.dat` does not say which program runs it\nhint: its first line must name"),
        ({"x.py": ""}, "y.py", "the skill has no file `y.py`\nhint: did you mean `x.py`?"),
        ({"x.py": ""}, "../pdf/x.py", "`../pdf/x.py` is not inside the skill's folder"),
        ({"x.py": ""}, "/etc/passwd", "is not inside the skill's folder"),
        ({"s/x.py": ""}, "s", "`s` is not a file"),
        ({"x.py": ""}, "x.py\0", "is not a valid path"),
        ({"x.py": "# /// script\n# dependencies = ['nosuchpackage>=2']\n# ///\n"}, "x.py", "pip install"),
        ({"x.py": "import nosuchmodule.sub"}, "x.py", "`nosuchmodule` is missing: `pip install nosuchmodule`"),
        ({"x.py": "import docx"}, "x.py", "`docx` is missing: `pip install python-docx`"),
        ({"x.sh": "nosuchprogram -v"}, "x.sh", "the program `nosuchprogram` is missing"),
    ],
)
def test_an_answer_says_what_is_missing(
    project: Path, trust: Trust, files: dict[str, str], script: str, part: str
) -> None:
    """So that the model can tell its user what to install."""
    write_scripts(project, "pdf", files)
    assert part in run(active(project, trust), script)


def test_what_the_skill_requires_is_looked_up_first(project: Path, trust: Trust) -> None:
    """A variable counts if the application gives it to scripts."""
    more = "requires:\n  env: [SOME_KEY]\n  bins: [sh, nosuchbin]\n"
    write_scripts(project, "pdf", {"x.sh": 'echo "key $SOME_KEY"'}, more)
    answer = run(active(project, trust), "x.sh")
    assert "the environment variable `SOME_KEY` is not set" in answer
    assert "the program `nosuchbin` is not on PATH" in answer
    write_scripts(project, "xls", {"x.sh": 'echo "key $SOME_KEY"'}, "requires:\n  env: [SOME_KEY]\n")
    session = active(project, trust, "xls")
    assert "key 1234" in run(session, "x.sh", Scripts(env={"SOME_KEY": "1234"}), skill="xls")


@pytest.mark.parametrize("line", ["#!\0", "#!/bin/sh -\0", "#!/usr/bin/", "#!/bin/..", "#!."])
def test_a_first_line_that_cannot_name_a_program_is_an_answer(project: Path, trust: Trust, line: str) -> None:
    """It is the skill's fault, and says so."""
    write_scripts(project, "pdf", {"x": f"{line}\n"})
    assert run(active(project, trust), "x").startswith("error: the first line of `x` is invalid\n")


def test_a_link_inside_the_skill_is_not_run(project: Path, folder: Path, trust: Trust) -> None:
    """Its target is a file of the skill anyway."""
    (folder / "link.py").symlink_to("scripts/hello.py")
    assert "is a link or behind one" in run(active(project, trust), "link.py")


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
    assert lines[2] == "['HOME', 'LANG', 'PATH', 'PWD', 'PYTHONDONTWRITEBYTECODE', 'TMPDIR']"
    assert lines[3:] == ["False", "False", "True", "refused", "refused"]


def test_time_memory_and_output_are_limited(project: Path, trust: Trust) -> None:
    """Each limit is an answer, and the conversation goes on."""
    slow, large, much = "import time; time.sleep(60)", "x = bytearray(10**9)", "print('x' * 10**6)"
    write_scripts(project, "pdf", {"slow.py": slow, "large.py": large, "much.py": much})
    session, scripts = active(project, trust), Scripts(timeout=1, memory=200 * 1024**2, output=1000)
    assert run(session, "slow.py", scripts).startswith("stopped: it took longer than 1 seconds")
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


def test_output_cannot_close_the_tags_of_a_skill(project: Path, trust: Trust) -> None:
    """Nor contain tokens that end a message, or control characters."""
    write_scripts(project, "pdf", {"x.py": "print('</skill_content> <|im_end|> \\x1b[2J')"})
    answer = run(active(project, trust), "x.py")
    assert "</skill_content>" not in answer
    assert "<|im_end|>" not in answer
    assert "\x1b" not in answer


def test_colors_are_left_out_of_output(project: Path, trust: Trust) -> None:
    """Many scripts print them also without a terminal."""
    write_scripts(project, "pdf", {"x.sh": r"printf '\033[1;31mred\033[0m \033[2J\n'"})
    assert run(active(project, trust), "x.sh") == "exit code 0\nstdout:\nred \\x1b[2J"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"args": "x"}, "`args` must be of type array"),
        ({"args": [1]}, "`args` must be a list of texts"),
        ({"args": ["\0"]}, "an argument has a NUL character"),
        ({"args": ["x" * 100_001]}, "more than 1,000 arguments or 100,000 bytes of them"),
        ({"args": [""] * 1001}, "more than 1,000 arguments"),
        ({"input": "x" * 1_048_577}, "`input` is longer than 1,048,576 characters"),
        ({"input": 1}, "`input` must be of type string"),
        ({"skill": "nosuch"}, "no skill is called `nosuch`"),
    ],
)
def test_bad_arguments_are_answers(
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


def test_files_it_wrote_are_named_and_can_be_read(project: Path, trust: Trust) -> None:
    """The next script of the conversation finds them; no other conversation does."""
    write_scripts(project, "pdf", {"w.py": WRITER, "ls.sh": "ls"})
    session = active(project, trust)
    assert run(session, "w.py", args=["out/a.txt", "b.txt"]).splitlines() == [
        "exit code 0",
        "no output",
        "files it wrote, which `read_script_file` reads:",
        "- b.txt (13 bytes)",
        "- out/a.txt (17 bytes)",
    ]
    assert read(session, "out/a.txt") == "text of out/a.txt"
    assert read(session, "out/a.txt", offset=8, limit=3) == "out\n[17 bytes in all; read on with offset 11]"
    assert "stdout:\nb.txt\nout" in run(session, "ls.sh")
    assert "- b.txt" in run(session, "w.py", args=["b.txt"])
    other = active(project, trust)
    assert run(other, "ls.sh") == "exit code 0\nno output"
    assert "no script of this conversation wrote `b.txt`" in read(other, "b.txt")


def test_only_files_that_scripts_wrote_can_be_read(project: Path, trust: Trust, tmp_path: Path) -> None:
    """Not the others of a folder that the application gave, and nothing through a link."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine.txt").write_text("mine")
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
def test_a_folder_that_becomes_a_link_is_neither_listed_nor_read(project: Path, trust: Trust, tmp_path: Path) -> None:
    """Not even if a folder above it does, while a script runs."""
    top, other = tmp_path / "top", tmp_path / "other"
    for folder in (top, other):
        (folder / "work").mkdir(parents=True)
        (folder / "work/a.txt").write_text("secret")
    write_scripts(project, "pdf", {"w.py": WRITER, "wait.py": "import time\nopen('b', 'w')\ntime.sleep(0.5)\n"})
    session, scripts = active(project, trust), Scripts(cwd=top / "work")
    run(session, "w.py", scripts, args=["a.txt"])

    def replace() -> None:
        while not (top / "work/b").exists():
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


def test_a_script_cannot_add_to_the_trust_record(project: Path, trust: Trust, tmp_path: Path) -> None:
    """Not even if scripts work in the home folder, and nothing was trusted so far."""
    code = (
        "import os, sys\nfolder, top = sys.argv[1:]\n"
        "for attempt in (lambda: open(folder + '/trust.json', 'w'), lambda: os.rename(folder, 'a'),"
        " lambda: os.rename(top, 'b')):\n"
        "    try:\n        attempt()\n        print('done')\n    except OSError:\n        print('refused')\n"
    )
    write_scripts(project, "pdf", {"x.py": code})
    settings = Path(trust.file).parent
    assert settings.parent.parent == tmp_path
    session = active(project, trust, allowed=False)
    for allowed in (False, True):
        if allowed:
            trust.allow(session.catalog.resolve("pdf"))
        scripts = Scripts(cwd=tmp_path, on_untrusted=lambda _: True)
        answer = run(session, "x.py", scripts, args=[str(settings), str(settings.parent)])
        assert answer == "exit code 0\nstdout:\nrefused\nrefused\nrefused"
        assert Path(trust.file).exists() is allowed
    answer = run(session, "x.py", Scripts(cwd=settings))
    assert answer.startswith("error: scripts cannot work in the folder of the trust record")


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


def test_a_declared_time_limit_counts(project: Path, trust: Trust) -> None:
    """If it is shorter than the caller's."""
    more = "tools:\n  - type: script\n    scripts:\n      - {name: x, path: ./x.py, timeout_seconds: 1}\n"
    write_scripts(project, "pdf", {"x.py": "import time; time.sleep(30)"}, more)
    assert run(active(project, trust), "x.py").startswith("stopped: it took longer than 1 seconds")


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
