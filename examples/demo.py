"""Show which agent sees which skill, and why, for the example skills and for this machine.

Run it with `make demo`. It copies the examples into `demo/project`, in the folders of several agents, and runs the
commands that a user would type. If Pydantic AI is installed, it also runs a role with a scripted model, without a key.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

EXAMPLES = Path(__file__).parent / "skills"
ROLES = Path(__file__).parent / "roles"
MADE = ".made-by-the-demo"
"""The file that lists what the demo made in its folder."""
AGENTS = ("prowess", "claude-code", "codex", "copilot", "gemini-cli", "opencode", "pi", "qwen-code")


def main() -> int:
    """Run all commands, and return the first exit code that is not 0."""
    root = demo_folder()
    if not place(root):
        return 1
    where = ["--cwd", str(root / "project"), "--home", str(root / "home")]
    hosts = [argument for agent in AGENTS for argument in ("--host", agent)]
    print("A project with the example skills in .agents/skills, two of them linked into .claude/skills,")
    print("one copied to the user's home and changed there, and one with an error:\n")
    codes = [
        prowess("which agent sees which skill", ["list", *hosts, *where]),
        prowess("why Claude Code takes the user's copy", ["why", "commit-message", "--host", "claude-code", *where]),
        prowess("what is wrong, and how to fix it", ["check", str(root / "project/.agents/skills/release-notes")]),
        prowess("what a model would receive, in 1,200 characters", ["prompt", "--budget", "1200", *where]),
    ]
    codes.append(prowess("and this machine, from this folder", ["list"]))
    codes += role()
    print("The project stays. Try the commands of the README in it; with this HOME they print what the README shows:\n")
    print(f"  cd {shlex.quote(str(root / 'project'))}")
    print(f"  export HOME={shlex.quote(str(root / 'home'))} PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH")
    return next((code for code in codes if code), 0)


def role() -> list[int]:
    """Run a role without a key, with a scripted model."""
    file, prompt = str(ROLES / "table-helper.yaml"), ["-p", "What did we sell?"]
    codes = [prowess("the parts of a role", ["show", file])]
    if find_spec("pydantic_ai") is None:
        codes.append(prowess("what its model would receive", ["run", file, "--dry-run"]))
        print("To see it run, install Pydantic AI: pip install '.[agent]'")
        return codes
    # In a record of its own: what the demo trusts is not what its user trusts.
    with tempfile.TemporaryDirectory(prefix="prowess-demo-") as folder:
        os.environ["PROWESS_CONFIG_DIR"] = str(Path(folder).resolve() / "config")
        return codes + run_role(file, prompt)


def run_role(file: str, prompt: list[str]) -> list[int]:
    """Run a role, and allow the script of a skill that it discovers."""
    skill = str(ROLES / "skills/column-sums")
    codes = [prowess("its user allows the script of a skill beside it", ["trust", skill, "--yes"])]
    arguments = ["run", file, *prompt, "--model", f"script:{ROLES / 'answers.yaml'}"]
    codes.append(prowess("its answer, from a scripted model: no key, no network", arguments))
    codes.append(prowess("and the whole transcript", [*arguments, "--json"]))
    return codes


def demo_folder() -> Path:
    """Return the folder of the demo: `demo` in the clone, or what PROWESS_DEMO_DIR names."""
    return Path(os.environ.get("PROWESS_DEMO_DIR") or EXAMPLES.parents[1] / "demo").resolve()


def place(root: Path) -> bool:
    """Create the demo's folder, or restore what the demo made in it; other files in it stay as they are."""
    made = root / MADE
    if root.is_dir() and any(root.iterdir()) and not made.is_file():
        print(f"{root} is not a folder of this demo; move it away, or set PROWESS_DEMO_DIR", file=sys.stderr)
        return False
    for line in made.read_text(encoding="utf-8").splitlines() if made.is_file() else ():
        path = root / line
        if path.parent.resolve().is_relative_to(root) and (path.is_file() or path.is_symlink()):
            path.unlink()
    files = []
    with tempfile.TemporaryDirectory(prefix="prowess-demo-") as folder:
        furnish(Path(folder), root)
        for source in sorted(Path(folder).rglob("*")):
            relative = source.relative_to(folder)
            target = root / relative
            if source.is_dir() and not source.is_symlink():
                target.mkdir(parents=True, exist_ok=True)
            elif not os.path.lexists(target):
                shutil.copy2(source, target, follow_symlinks=False)
                files.append(relative.as_posix())
    made.write_text("".join(f"{file}\n" for file in files), encoding="utf-8")
    return True


def lock(project: Path) -> None:
    """Lock two skills as the tool `skills` of Vercel does, which cannot be run without a network."""
    from prowess.lock import Lock, LockedSkill, computed_hash

    skills = [
        LockedSkill(
            name=name,
            source="https://git.example/prowess.git",
            source_type="git",
            skill_path=f"examples/skills/{name}/SKILL.md",
            computed_hash=computed_hash(str(project / ".agents/skills" / name)),
        )
        for name in ("csv-profile", "commit-message")
    ]
    (project / "skills-lock.json").write_text(Lock().with_skills(skills).to_text(), encoding="utf-8")


def claude_session(root: Path) -> str:
    """Return what Claude Code records when its model uses a skill."""
    used = root / "home/.claude/skills/commit-message"
    call = {"type": "tool_use", "id": "t1", "name": "Skill", "input": {"skill": used.name}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": f"Launching skill: {used.name}"}
    names = ["commit-message", "csv-profile"]
    listing = {
        "type": "skill_listing",
        "names": names,
        "content": "\n".join(f"- {name}: Use it for {name}." for name in names),
    }
    records: list[dict[str, object]] = [
        {"type": "user", "message": {"content": "Write the message of this commit."}},
        {"type": "attachment", "attachment": listing},
        {"type": "assistant", "message": {"content": [call]}},
        {
            "type": "user",
            "message": {"content": [result]},
            "toolUseResult": {"success": True, "commandName": used.name},
        },
        {
            "type": "user",
            "isMeta": True,
            "sourceToolUseID": "t1",
            "message": {"content": [{"type": "text", "text": f"Base directory for this skill: {used}"}]},
        },
    ]
    common = {"sessionId": "0e1d", "version": "2.1.330", "cwd": str(root / "project")}
    return "".join(
        json.dumps({"uuid": f"u{number}", "timestamp": f"2026-11-20T09:00:0{number}Z", **common, **record}) + "\n"
        for number, record in enumerate(records)
    )


def furnish(root: Path, place: Path | None = None) -> None:
    """Create a project and a home directory; what an agent recorded there names `place`, where they will be."""
    place = root if place is None else place
    shutil.copytree(ROLES, root / "project/roles")
    skills = root / "project/.agents/skills"
    shutil.copytree(EXAMPLES, skills)
    (root / "project/.git").mkdir()
    (root / "project/.git/HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (root / "project/.git" / name).mkdir()
    claude = root / "project/.claude/skills"
    claude.mkdir(parents=True)
    for name in ("csv-profile", "commit-message"):
        (claude / name).symlink_to(Path("../../.agents/skills") / name)
    lock(root / "project")
    for folder in (".codex", ".gemini", ".copilot", ".qwen", ".pi/agent", ".config/opencode"):
        (root / "home" / folder).mkdir(parents=True)
    changed = root / "home/.claude/skills/commit-message"
    shutil.copytree(EXAMPLES / "commit-message", changed)
    file = changed / "SKILL.md"
    file.write_text(file.read_text(encoding="utf-8") + "\nAlways sign off.\n", encoding="utf-8")
    session = root / "home/.claude/projects/-demo/0e1d.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text(claude_session(place), encoding="utf-8")
    hasty = skills / "release-notes"
    hasty.mkdir()
    (hasty / "SKILL.md").write_text(
        "---\nname: release-notes\ndescription: Writes release notes. Use when: a release is due\n---\n"
        "List what users notice.\n"
    )


def prowess(title: str, arguments: list[str]) -> int:
    """Type one command, and show it."""
    root = demo_folder()
    where = (str(root / "project"), str(root / "home"))
    shown = shlex.join(argument.removeprefix(f"{where[0]}/") for argument in arguments if argument not in where)
    shown = shown.replace("--cwd", "").replace("--home", "").replace(f"{ROLES.parent.parent}/", "")
    print(f"── {title}\n$ prowess {' '.join(shown.split())}", flush=True)
    code = subprocess.run(
        [sys.executable, "-m", "prowess", *arguments], stderr=subprocess.STDOUT, check=False
    ).returncode
    print(flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
