"""`prowess validate` and `prowess show ROLE`: what a role is made of, and all that keeps it from running."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import prowess.agent
from prowess.cli import main
from support.broken_roles import BROKEN, FLAT_ROLE, UNREADABLE
from support.skills import skill

SEEDS = Path(__file__).parent.parent / "roles"
GOOD = "name: a\nprompt: You help.\nmodel: openai:m\n"


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("INITRUNNER_SKILL_DIR", "PROWESS_SKILL_DIR", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path.resolve()


def typed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments])
    out, err = capsys.readouterr()
    return code, out, err


WRONG: dict[str, tuple[str, list[str]]] = {
    **{name: (text, []) for name, (text, _) in {**BROKEN, **UNREADABLE}.items()},
    "no skill": (FLAT_ROLE + "skills: [unknown, ./missing.md]\n", []),
    "no folder": (GOOD, ["--skill-dir", "nowhere"]),
    "needs": (FLAT_ROLE + "skills: [needs]\n", []),
    "bad tools of a skill": (FLAT_ROLE + "skills: [tools]\n", []),
    "no script": (FLAT_ROLE + "tools: [{type: script, scripts: [{name: s, path: s.sh}]}]\n", []),
    "no server": (FLAT_ROLE + "tools: [{type: mcp}]\n", []),
    "outside": (FLAT_ROLE + "tools: [{type: filesystem, root_path: /etc}]\n", []),
    "no model": ("name: a\nprompt: x\n", []),
    "no provider": (GOOD, ["--model", "nobody:m"]),
    "no address": (GOOD, ["--model", "openai:m@http://"]),
    "base_url of another": ("name: a\nprompt: x\nmodel: {provider: groq, name: m, base_url: 'http://h'}\n", []),
    "no script file": (GOOD, ["--model", "script:none.yaml"]),
    "script": (GOOD, ["--model", "script:role.yaml"]),
}
RIGHT: dict[str, tuple[str, list[str]]] = {
    "plain": (GOOD, []),
    "other model": ("name: a\nprompt: x\n", ["--model", "openai:m@http://localhost:1/v1"]),
    "discovered that is wrong": (GOOD, []),
    "a folder": (GOOD, ["--skill-dir", "skills"]),
}


@pytest.mark.parametrize("case", [*WRONG, *RIGHT])
def test_validate_and_run_agree(
    top: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """What the one reports the other fails on, with the same code; what the one takes, the other begins to run."""
    text, options = {**WRONG, **RIGHT}[case]
    (top / "role.yaml").write_text(text)
    skill(top / "skills/needs", more="requires: {env: [NOT_THERE], bins: [not-there]}\n")
    skill(top / "skills/tools", more="tools: [{type: gti}]\n")
    code, out, _ = typed(capsys, "validate", "role.yaml", "--json", *options)
    messages = [item["message"] for item in json.loads(out)["findings"]]
    assert (code == 0) is (messages == []) is (case in RIGHT)

    begun: list[str] = []

    def make(config: Any, given: str | None, env: Any = None) -> Any:
        from prowess.agent.models import _scripted_model, resolve_model

        begun.append("model")
        if resolve_model(config, given) is None:
            _scripted_model(str(given))
        begun.append("run")
        raise KeyboardInterrupt

    # Neither a framework nor a key is needed up to here.
    monkeypatch.setitem(vars(prowess.agent), "Conversation", None)
    monkeypatch.setitem(vars(prowess.agent), "make_model", make)
    ran, out, err = typed(capsys, "run", "role.yaml", "-p", "Hello", *options)
    assert out == ""
    if case in RIGHT:
        assert (ran, begun) == (130, ["model", "run"])
        return
    assert ran == code == (2 if "--model" in options else 1)
    assert "run" not in begun
    assert "Traceback" not in err
    assert err.startswith("error: ")
    assert [words for words in messages if words.split("\n")[0] not in err.replace("error: ", "")] == []


@pytest.mark.parametrize("name", ["role.yaml", "\0", "a" * 5000, "", "folder", "../../../../../etc/shadow-not"])
@pytest.mark.parametrize("command", [["validate"], ["run", "-p", "x"], ["run", "--dry-run"]])
def test_a_role_that_is_not_there_is_wrong_use(
    top: Path, capsys: pytest.CaptureFixture[str], command: list[str], name: str
) -> None:
    """No traceback, and the same code."""
    (top / "folder").mkdir()
    code, out, err = typed(capsys, command[0], name, *command[1:])
    assert code == 2
    assert "bug in Prowess" not in out + err
    assert (out + err).count("check the path") <= 1


# ── the seed ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_seed_s_demo_is_right(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """InitRunner's `auto-skill-demo.yaml`, unchanged."""
    assert typed(capsys, "validate", str(SEEDS / "auto/auto-skill-demo.yaml"))[0] == 0


def test_the_option_comes_before_the_variable(
    top: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """InitRunner: "The --skill-dir option is available on validate and run commands"."""
    for name in ("option", "first", "second"):
        skill(top / name / "pdf", body=f"From {name}.")
    skill(top / "home/.initrunner/skills/pdf", body="From home.")
    (top / "role.yaml").write_text(GOOD + "skills: [pdf]\n")

    def loaded_body(*options: str) -> str:
        code, out, err = typed(capsys, "run", "role.yaml", "--dry-run", "--json", *options)
        assert code == 0, err
        instructions: str = json.loads(out)["instructions"]
        return instructions.split("## Skill: pdf\n\n")[1].split("\n", maxsplit=1)[0]

    assert loaded_body() == "From home."
    monkeypatch.setenv("PROWESS_SKILL_DIR", str(top / "second"))
    assert loaded_body() == "From second."
    monkeypatch.setenv("INITRUNNER_SKILL_DIR", str(top / "first"))
    assert loaded_body() == "From first."
    assert loaded_body("--skill-dir", "option") == "From option."
    skill(top / "skills/pdf", body="From beside.")
    assert loaded_body("--skill-dir", "option") == "From beside."
