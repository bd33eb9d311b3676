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


def test_a_skill_s_tools_that_are_not_run_are_notes(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of another type, or an option; the skill is loaded."""
    tools = "tools:\n- type: slack\n  webhook_url: https://example.com\n- type: web_reader\n  user_agent: x\n"
    skill(top / "skills/notify", more=tools)
    code, out, err = typed(capsys, "validate", "skills/notify")
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "note: `notify`: `tools[0] (slack)` is not run; use instead: the tool `http` with the webhook's URL",
        "note: `notify`: `tools[1].user_agent` is not run; use instead: requests name Prowess",
        "no problems",
    ]


def test_check_says_which_command_checks_a_role(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check` is for skills."""
    (top / "role.yaml").write_text(GOOD)
    code, out, _ = typed(capsys, "check", "role.yaml")
    assert code == 1
    assert "a role is checked with `prowess validate`" in out


def test_a_valid_role_has_no_problems(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr: there is no data."""
    (top / "role.yaml").write_text(GOOD)
    assert typed(capsys, "validate", "role.yaml") == (0, "", "no problems\n")
    code, out, err = typed(capsys, "validate", "role.yaml", "--json")
    assert (code, json.loads(out), err) == (0, {"findings": [], "notes": [], "not_run": [], "counts": {"error": 0}}, "")


def test_all_problems_are_reported(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with place, code and hint; what is only good to know on stderr."""
    for folder in ("skills/aa", ".agents/skills/aa", "skills/bb"):
        skill(top / folder)
    (top / "role.yaml").write_text("name: a\nprompt: x\nmodel: opnai:m\nskils: []\nauto_skills: {max_skills: 1}\n")
    code, out, err = typed(capsys, "validate", "role.yaml")
    assert code == 1
    assert out == (
        f"{top}/role.yaml:4:1: error: unknown key `skils` [role-invalid]\n"
        "    hint: did you mean `skills`?\n"
        f"{top}/role.yaml: error: unknown model provider `opnai` [role-invalid]\n"
        "    hint: did you mean `openai`?\n"
    )
    first, second, last = err.splitlines()
    assert first.startswith("note: `bb` is left out: ")
    assert second.startswith(f"note: `aa` in {top}/.agents/skills/aa/SKILL.md is shadowed: ")
    assert last == "2 problems: the role does not run"
    code, out, err = typed(capsys, "validate", "role.yaml", "--json")
    shown = json.loads(out)
    assert (code, err, shown["counts"], len(shown["notes"])) == (1, "", {"error": 2}, 2)
    assert {item["code"] for item in shown["findings"]} == {"role-invalid"}


@pytest.mark.parametrize("path", ["skills/web", "skills/web/SKILL.md"])
def test_a_skill_is_judged_as_a_role_would_that_names_it(
    top: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    """InitRunner: `skill validate`: "Checks frontmatter schema, tool configs, and requirement availability"."""
    file = skill(top / "skills/web", more="tools:\n- type: htp\nrequires:\n  env: [NO_SUCH_KEY]\n")
    code, out, err = typed(capsys, "validate", path)
    assert (code, err) == (1, "2 problems: the skill is not loaded\n")
    assert out == (
        f"{file}:5:9: error: unknown tool type `htp` [role-invalid]\n"
        "    hint: did you mean `http`?\n"
        f"{file}:6: error: the skill `web` cannot be used: the environment variable `NO_SUCH_KEY` is not set "
        "[role-invalid]\n"
        "    hint: set `NO_SUCH_KEY` before you start the agent\n"
    )
    skill(top / "skills/web", more="tools:\n- type: web_reader\n")
    assert typed(capsys, "validate", path) == (0, "", "no problems\n")


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


def test_a_folder_without_a_skill_may_be_the_one_of_the_roles(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (top / "roles").mkdir()
    code, out, err = typed(capsys, "validate", "roles")
    assert (code, "hint: name the file of a role, or the folder of a skill" in out + err) == (2, True)


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


# ── show ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_show_lists_the_origin_of_each_part(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The prompt, the tools, the skills with what they bring, limits and policy."""
    skill(top / "skills/named", body="Do it.", more="tools: [{type: git}, {type: filesystem, read_only: false}]\n")
    skill(top / "skills/found", more="tools: [{type: shell}]\n")
    skill(top / "skills/late")
    assert typed(capsys, "trust", "skills/found", "--yes")[0] == 0
    (top / "role.yaml").write_text(
        GOOD + "description: It helps.\nskills: [named]\nauto_skills: {max_skills: 1}\ntools: [{type: filesystem}]\n"
        "security: {ask: [git_log]}\nguardrails: {max_tool_calls: 1000, timeout_seconds: 0.5}\n"
    )
    code, out, err = typed(capsys, "show", "role.yaml", "--json")
    assert (code, err) == (0, "")
    shown = json.loads(out)
    assert [part["origin"] for part in shown["parts"]] == ["role", "named", "catalog"]
    origins = {tool["name"]: (tool["type"], tool["origin"], tool["asks"]) for tool in shown["tools"]}
    assert origins["read_file"] == ("filesystem", "role", False)
    assert origins["named_read_file"] == ("filesystem", "named", False)
    assert origins["git_log"] == ("git", "named", True)
    assert origins["activate_skill"] == ("session", "prowess", False)
    assert "run_shell" not in origins
    rows = {row["name"]: row for row in shown["skills"]}
    assert [(name, row["state"]) for name, row in rows.items()] == [
        ("named", "whole"),
        ("found", "listed"),
        ("late", "disabled"),
    ]
    assert rows["found"]["tools"] == ["run_shell"]
    assert "git_log" in rows["named"]["tools"]
    assert "1" in rows["late"]["reason"]
    code, out, err = typed(capsys, "show", "role.yaml")
    assert code == 0
    assert err.startswith("note: `late` is left out")
    for line in (
        "a",
        "  It helps.",
        "  model  openai:m",
        "  found  listed; loaded when the model activates it",
        "      adds run_shell",
        "  max_tool_calls      1,000",
        "  timeout_seconds     0.5",
        "  ask                 git_log",
        "  allow_private       false",
    ):
        assert line in out.splitlines()


def test_show_lists_the_findings_of_a_role(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Valid parts are still shown; a file that is not a role is wrong use."""
    (top / "role.yml").write_text(GOOD + "skils: []\n")
    code, out, _ = typed(capsys, "show", "role.yml")
    assert code == 0
    assert out.endswith(
        "findings\n  role.yml:4:1: error: unknown key `skils` [role-invalid]\n      hint: did you mean `skills`?\n"
    )
    (top / "broken.yaml").write_text("- a\n")
    for name, expected in (("none.yaml", 2), ("broken.yaml", 1)):
        code, out, err = typed(capsys, "show", name)
        assert (code, out) == (expected, "")
        assert err.startswith(f"error: {top}/{name}")
