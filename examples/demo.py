"""Show which agent sees which skill, and why, for the example skills and for this machine.

Run it with `make demo`. It copies the examples into a temporary project, in the folders of several agents, and runs the
commands that a user would type. If Pydantic AI is installed, it also runs a role with a scripted model, without a key.
"""

from __future__ import annotations

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
AGENTS = ("prowess", "claude-code", "codex", "copilot", "gemini-cli", "opencode", "pi", "qwen-code")


def main() -> int:
    """Run all commands, and return the first exit code that is not 0."""
    with tempfile.TemporaryDirectory(prefix="prowess-demo-") as folder:
        root = Path(folder).resolve()
        furnish(root)
        where = ["--cwd", str(root / "project"), "--home", str(root / "home")]
        hosts = [argument for agent in AGENTS for argument in ("--host", agent)]
        print("A project with the example skills in .agents/skills, two of them linked into .claude/skills,")
        print("one copied to the user's home and changed there, and one with an error:\n")
        codes = [
            prowess("which agent sees which skill", ["list", *hosts, *where]),
            prowess(
                "why Claude Code takes the user's copy", ["why", "commit-message", "--host", "claude-code", *where]
            ),
            prowess("what is wrong, and how to fix it", ["check", str(root / "project/.agents/skills/release-notes")]),
            prowess("what a model would receive, in 1,200 characters", ["prompt", "--budget", "1200", *where]),
        ]
    codes.append(prowess("and this machine, from this folder", ["list"]))
    codes += role()
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


def furnish(root: Path) -> None:
    """Create a project and a home directory."""
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
    for folder in (".codex", ".gemini", ".copilot", ".qwen", ".pi/agent", ".config/opencode"):
        (root / "home" / folder).mkdir(parents=True)
    changed = root / "home/.claude/skills/commit-message"
    shutil.copytree(EXAMPLES / "commit-message", changed)
    file = changed / "SKILL.md"
    file.write_text(file.read_text(encoding="utf-8") + "\nAlways sign off.\n", encoding="utf-8")
    hasty = skills / "release-notes"
    hasty.mkdir()
    (hasty / "SKILL.md").write_text(
        "---\nname: release-notes\ndescription: Use when: a release is due\n---\nList what users notice.\n"
    )


def prowess(title: str, arguments: list[str]) -> int:
    """Type one command, and show it."""
    shown = shlex.join(argument for argument in arguments if not argument.startswith(tempfile.gettempdir()))
    shown = shown.replace("--cwd", "").replace("--home", "").replace(f"{ROLES.parent.parent}/", "")
    print(f"── {title}\n$ prowess {' '.join(shown.split())}", flush=True)
    code = subprocess.run(
        [sys.executable, "-m", "prowess", *arguments], stderr=subprocess.STDOUT, check=False
    ).returncode
    print(flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
