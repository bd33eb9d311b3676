"""The observer, with a script instead of a client: it has the name of a host whose rules are simple."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clients._answers import load_answers, save_answers
from clients._cells import cells, differing, keep_undefined, merged
from clients._places import namespaces
from clients._probe import Answer, ClientError, Clients, Listed, Question, Shown
from clients._run import main, sentence
from clients._trees import HERE, Tree
from support.growth import ends
from support.processes import processes_end, processes_with, wait_until

CLIENT = "cursor"
SCRIPT = f"""\
#!{sys.executable}
import json, os, re, sys
from pathlib import Path
home = Path(os.environ["HOME"])
skills = []
for root in (Path.cwd() / ".cursor/skills", home / ".cursor/skills", Path("/etc/cursor-test/skills")):
    for file in sorted(root.glob("*/SKILL.md")):
        text = file.read_text()
        name = re.search("^name: (.*)$", text, re.M)[1]
        if name not in [skill["name"] for skill in skills]:
            description = re.search("^description: (.*)$", text, re.M)[1]
            skills.append({{"name": name, "path": str(file), "description": description}})
MODE = "plain"
if MODE == "random":
    count = Path(sys.argv[1])
    number = len(count.read_text()) if count.exists() else 0
    count.write_text("x" * (number + 1))
    skills = skills[number % 2:]
if MODE == "writes":
    for file in [*home.glob("**/SKILL.md"), *Path.cwd().glob("**/SKILL.md")]:
        file.write_text("---\\nname: gone\\ndescription: gone\\n---\\n")
if MODE == "hangs":
    import subprocess, time
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    time.sleep(600)
if MODE == "offline":
    import socket
    try:
        socket.create_connection(("192.0.2.1", 9), timeout=3)
    except OSError as error:
        skills.append({{"name": f"no network: {{error.strerror}}", "path": "/x", "description": "x"}})
print(json.dumps(skills))
"""
PROBE = '''\
"""A script instead of a client."""

import json

from clients._probe import Answer, Clients, Listed, Probe, Question, Shown


def ask(question: Question, clients: Clients) -> Answer:
    ended = clients.run([*clients.program("fake"), COUNT, *question.args], question)
    skills = json.loads(ended.stdout)
    return Answer(shown=[Shown(skill["name"], skill["description"], skill["path"]) for skill in skills])


PROBE = Probe(
    client="cursor", packages={"fake": "1.0"}, project=".cursor/skills", user=".cursor/skills", ask=ask, asks=ASKS
)
'''
TREES = '''\
from clients._trees import Tree, tree


@tree()
def plain(t: Tree) -> None:
    """One of the project and one of the user."""
    t.git()
    t.skill(t.P / "ours", "ours")
    t.skill(t.U / "mine", "mine")


@tree("codex")
def of_another_client(t: Tree) -> None:
    """Not for this one."""
    raise AssertionError
'''


class Setup:
    """A folder with a client, a probe and trees."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top, self.trees = top, top / "trees"
        (top / "installed/bin").mkdir(parents=True)
        (top / "installed/fake").mkdir()
        (top / "installed/fake/package.json").write_text('{"version": "1.0"}')
        (top / "probes").mkdir()
        self.trees.mkdir()
        (self.trees / "ours.py").write_text(TREES)
        self.client()
        monkeypatch.setenv("PROWESS_CLIENTS", str(top / "installed"))

    def client(self, mode: str = "plain", asks: int = 1, *, unsorted: bool = False) -> None:
        """Write the client, and its probe."""
        program = self.top / "installed/bin/fake"
        program.write_text(SCRIPT.replace('"plain"', f'"{mode}"'))
        program.chmod(0o755)
        probe = PROBE.replace("COUNT", repr(str(self.top / "count"))).replace("ASKS", f"{asks}, unsorted={unsorted}")
        (self.top / "probes/cursor.py").write_text(probe)

    def observe(self, *options: str) -> int:
        """Run the observer."""
        return main(["--probes", str(self.top / "probes"), "--trees", str(self.trees), *options])

    def answers(self) -> Any:
        """Return what it has recorded."""
        return json.loads((self.trees / f"answers/{CLIENT}.json").read_text())

    def change(self, old: str, new: str) -> None:
        """Change what is recorded."""
        file = self.trees / f"answers/{CLIENT}.json"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    return Setup(tmp_path, monkeypatch)


needs_namespaces = pytest.mark.skipif(not namespaces(), reason="`unshare` does not work here")


@pytest.mark.slow
def test_answers_are_recorded_with_version_and_date_and_compared(
    setup: Setup, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second run finds no difference; a changed record is named with client, tree and variant."""
    assert setup.observe() == 0
    recorded = setup.answers()
    assert recorded["version"] == "1.0"
    assert recorded["date"] >= "2026-11-22"
    cells = recorded["trees"].pop("plain")
    assert recorded["trees"] == {}
    assert cells["ours"] == {
        "listed": False,
        "model": True,
        "name": "ours",
        "shown_len": len("Use for tests [[ours]]"),
        "order": 0,
        "rel": "repo/.cursor/skills/ours/SKILL.md",
    }
    assert setup.observe("--check") == 0
    setup.change('"name": "ours"', '"name": "other"')
    capsys.readouterr()
    assert setup.observe("--check") == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 1
    assert out[0].startswith('cursor plain "ours": recorded {')
    assert '"name": "other"' in out[0]
    assert '"name": "ours"' in out[0]
    assert setup.answers()["trees"]["plain"]["ours"]["name"] == "other"


@pytest.mark.slow
def test_a_difference_between_prowess_and_the_client_is_named(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    """The client has a rule that the host does not know."""
    script = setup.top / "installed/bin/fake"
    script.write_text(script.read_text().replace("*/SKILL.md", "o*/SKILL.md"))
    assert setup.observe("--check", "--json") == 1
    result = json.loads(capsys.readouterr().out)
    (problem,) = result["problems"]
    assert (problem["client"], problem["tree"], problem["variant"]) == (CLIENT, "plain", "mine")
    assert "does not know it" in problem["prowess"]
    asked = {"client": CLIENT, "version": "1.0", "trees": 1, "cells": 2, "differing": 1}
    assert result["asked"] == [asked]
    assert not (setup.trees / "answers").exists()


@pytest.mark.slow
def test_random_answers_are_undefined(setup: Setup) -> None:
    """Asked twice, the client gave two answers for one of them."""
    setup.client("random", asks=2)
    setup.observe()
    assert setup.answers()["trees"]["plain"]["ours"] == {
        "undefined": True,
        "rel": "repo/.cursor/skills/ours/SKILL.md",
    }
    assert setup.answers()["trees"]["plain"]["mine"]["name"] == "mine"


@pytest.mark.slow
def test_each_question_is_about_a_fresh_copy(setup: Setup) -> None:
    """A client that overwrites the skills changes nothing for the next question."""
    setup.client("writes", asks=3)
    assert setup.observe() == 0
    assert {cell["name"] for cell in setup.answers()["trees"]["plain"].values()} == {"ours", "mine"}


@pytest.mark.slow
@needs_namespaces
def test_built_trees_are_asked_about_where_they_are_and_stay_as_they_are(setup: Setup) -> None:
    """Their settings may contain their place; a client that writes gets a copy at that place."""
    (setup.trees / "ours.py").unlink()
    tree = Tree(setup.trees / "scenario", CLIENT, ".cursor/skills", ".cursor/skills")
    file = tree.skill(tree.P / "ours", "ours")
    (setup.trees / CLIENT).mkdir()
    for folder, name, up in ((setup.trees, "scenario", ""), (setup.trees / CLIENT, "for-one-client", "../")):
        paths = {"home": f"{up}scenario/home", "cwd": f"{up}scenario/repo"}
        variants = {"ours": f"{up}{file.relative_to(setup.trees)}"}
        (folder / "manifest.json").write_text(json.dumps({name: {**paths, "variants": variants}}))
    before = file.read_bytes()
    setup.client("writes", asks=2, unsorted=True)
    assert setup.observe() == 0
    assert file.read_bytes() == before
    assert setup.answers()["trees"].keys() == {"scenario", "for-one-client"}
    assert setup.answers()["trees"]["scenario"]["ours"]["name"] == "ours"
    assert "via" not in setup.answers()["trees"]["scenario"]["ours"]


@pytest.mark.slow
@needs_namespaces
def test_a_tree_can_have_files_in_etc(setup: Setup) -> None:
    """The client finds them there, beside those of the machine."""
    (setup.trees / "ours.py").write_text(
        TREES.partition("@tree()")[0]
        + '@tree()\ndef managed(t: Tree) -> None:\n    """One in /etc."""\n'
        + '    t.skill(t.etc / "cursor-test/skills/theirs", "theirs")\n'
    )
    setup.observe()
    assert setup.answers()["trees"]["managed"]["theirs"]["name"] == "theirs"


@pytest.mark.slow
@needs_namespaces
def test_clients_have_no_network(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the loopback address."""
    setup.client("offline")
    assert setup.observe() == 0
    assert 'a skill of no file of the tree: "no network: Network is unreachable"' in capsys.readouterr().out


@pytest.mark.slow
def test_a_client_that_is_missing_or_another_version_is_named(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    (setup.top / "installed/fake/package.json").write_text('{"version": "2.0"}')
    assert setup.observe("--check") == 1
    assert "cursor: fake is 2.0; its probe is for 1.0" in capsys.readouterr().out
    (setup.top / "installed/fake/package.json").unlink()
    assert setup.observe() == 1
    assert capsys.readouterr().out == "cursor: fake is not installed; its probe is for 1.0\n"


@pytest.mark.slow
def test_a_question_has_a_time_limit_and_leaves_no_processes(setup: Setup, tmp_path: Path) -> None:
    """Not even one in a session of its own."""
    setup.client("hangs")
    clients = Clients((setup.top / "installed",), seconds=0.5)
    for folder in ("home", "repo", "scratch"):
        (tmp_path / folder).mkdir()
    question = Question(home=tmp_path / "home", cwd=tmp_path / "repo", scratch=tmp_path / "scratch")
    with ends(), pytest.raises(ClientError, match=r"fake took more than 0\.5 seconds"):
        clients.run(clients.program("fake"), question)
    assert processes_with(str(tmp_path)) == []


def test_a_client_gets_the_variables_of_the_question_and_no_others(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-4711")
    program = setup.top / "installed/bin/fake"
    program.write_text(f"#!{sys.executable}\nimport json, os\nprint(json.dumps(dict(os.environ)))\n")
    (tmp_path / "scratch").mkdir()
    question = Question(home=tmp_path, cwd=tmp_path, scratch=tmp_path / "scratch", env={"OF_TREE": "1", "BOTH": "tree"})
    env = json.loads(Clients((setup.top / "installed",)).run([str(program)], question, {"BOTH": "probe"}).stdout)
    assert env["HOME"] == str(tmp_path)
    assert (env["OF_TREE"], env["BOTH"]) == ("1", "tree")
    assert "secret-4711" not in str(env)


@pytest.mark.slow
def test_a_worker_ends_with_the_observer(setup: Setup) -> None:
    """Even if that is killed."""
    setup.client("hangs")
    options = ["--probes", str(setup.top / "probes"), "--trees", str(setup.trees)]
    with subprocess.Popen(
        [sys.executable, str(HERE / "observe.py"), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        wait_until(lambda: any("sleep" in command(pid) for pid in processes_with(str(setup.top))))
        process.kill()
    assert processes_end(str(setup.top))


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def make_tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "tree", CLIENT, ".cursor/skills", ".cursor/skills")
    tree.skill(tree.P / "a", "first", name="dup")
    tree.skill(tree.U / "a", "second", name="dup")
    tree.skill(tree.U / "b", "third", name="other")
    return tree


def test_answers_are_matched_by_path_then_by_tag_then_by_name(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    tree.link(tree.P / "linked", tree.U / "b")
    answer = Answer(
        listed=[Listed("dup", description="Cut [[second]]", enabled=False), Listed("dup", str(tree.P / "a"))],
        shown=[Shown("dup", "x", path=str(tree.P / "a/SKILL.md"), alias="y"), Shown("plugin:other", "short")],
    )
    found, unknown = cells(tree, answer)
    assert unknown == []
    assert found["second"] | {"rel": "", "order": 0} == {
        "listed": True, "model": False, "name": "dup", "desc_len": 14, "enabled": False, "rel": "", "order": 0
    }  # fmt: skip
    assert (found["first"]["listed"], found["first"]["model"], found["first"]["alias"]) == (True, True, "y")
    assert (found["third"]["name"], found["third"]["shown_len"]) == ("plugin:other", 5)
    through_link, _ = cells(tree, Answer(shown=[Shown("other", "x", path=str(tree.P / "linked/SKILL.md"))]))
    assert through_link["third"]["via"] == "repo/.cursor/skills/linked/SKILL.md"


def test_files_of_one_name_are_distinguished_by_their_descriptions(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "cursor", ".cursor/skills", ".cursor/skills")
    tree.skill(tree.P / "dup", "project", name="dup", desc="of the project")
    tree.skill(tree.U / "dup", "user", name="dup", desc="of the user")
    found, unknown = cells(tree, Answer(listed=[Listed("dup", description="of the user")]))
    assert (list(found), unknown) == (["user"], [])
    found, _ = cells(tree, Answer(listed=[Listed("dup", description="of the us...")]))
    assert list(found) == ["project"]  # only the name is left to match


def test_a_skill_of_no_file_is_named(tmp_path: Path) -> None:
    """A bundled skill that the probe has not left out, or a file that the tree does not name."""
    assert cells(make_tree(tmp_path), Answer(shown=[Shown("bundled", "[[nothing]]")])) == ({}, ["bundled"])


def test_files_of_a_race_are_undefined(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    paths = [str(tree.variants[variant]) for variant in ("first", "second")]
    found, _ = cells(tree, Answer(shown=[Shown("dup", "x", path=paths[0])], undefined=paths))
    assert {variant: cell["undefined"] for variant, cell in found.items()} == {"first": True, "second": True}


def test_runs_that_agree_do_not_undo_a_recorded_race() -> None:
    cell = {"model": True, "name": "a", "shown_len": 1, "rel": "x"}
    race = {"undefined": True, "rel": "x"}
    assert merged([{"a": cell}, {}]) == {"a": race}
    assert merged([{"a": cell}, {"a": {**cell, "order": 7}}]) == {"a": cell}
    assert keep_undefined({"a": race}, {"a": cell}) == {"a": race}
    assert differing({"a": race}, {"a": race}) == {}
    assert differing({"a": cell}, {"a": race}) == {
        "a": ({"model": True, "name": "a", "shown_len": 1}, {"undefined": True})
    }
    assert differing({}, {"a": cell})["a"][0] is None
    short, shorter = {"a": {**cell, "shown_len": 100}}, {"a": {**cell, "shown_len": 95}}
    assert differing(short, shorter) != {}
    assert differing(short, shorter, levelled=True) == {}


def test_any_name_can_be_recorded(tmp_path: Path) -> None:
    """Half of a surrogate pair, and characters that are not shown; other letters stay readable."""
    names = ("a\ud800b", "\x1b\u202e\u2028", "café")
    cells = {name: {"model": True, "name": name} for name in names}
    save_answers(
        {"client": "c", "version": "1", "date": "d", "project": "p", "user": "u", "trees": {"t": cells}}, tmp_path
    )
    assert load_answers("c", tmp_path)["trees"]["t"] == cells
    assert "café" in (tmp_path / "c.json").read_text("utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json"]


def test_a_skill_cannot_forge_a_line() -> None:
    line = sentence({"client": "c", "tree": "t", "variant": "v", "recorded": None, "now": {"name": "x\nc t: \x1b[31m"}})
    assert line == r'c t "v": recorded not seen; now {"name": "x\nc t: \u001b[31m"}'


@pytest.mark.slow
def test_every_tree_can_be_built_for_every_client(tmp_path: Path) -> None:
    """Each has a line that says what it shows."""
    from clients._run import load_probes
    from clients._trees import all_trees

    for probe in load_probes().values():
        for source in all_trees().values():
            if source.is_for(probe.client) and source.origin != "JSON":
                assert source.about.endswith("."), source.name
                source.build(tmp_path / probe.client / source.name, probe.client, probe.project, probe.user)
