"""Let Microsoft's agent package manager (APM) install skills, and import its lock.

`make shared` installs it from PyPI and runs this file. With `--record` it also writes the lock into
tests/install/apm_tool, where a test of `make test` reads it. APM has no network: git finds the repository in a folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from prowess.lock import read_lock
from skills_tool import BY_FILES, STEPS, World, step

TOP = Path(__file__).parent.parent
RECORDED = TOP / "tests/install/apm_tool/apm.lock.yaml"
APM = TOP / ".venv-apm/bin/apm"
MANIFEST = """\
name: project
version: 1.0.0
targets: [claude, codex]
dependencies:
  apm:
    - ./packages/notes
    - acme/skills/skills/pdf#main
    - acme/skills/skills/docx
"""
NAMES = ("docx", "notes", "pdf")


def run(world: World, record: bool) -> None:
    """Run all steps."""
    redirect = f'[url "file://{world.source}"]\n\tinsteadOf = https://github.com/acme/skills\n'
    with (world.home / ".gitconfig").open("a") as file:
        file.write(redirect)
    package = world.project / "packages/notes"
    package.mkdir(parents=True)
    text = "---\r\nname: notes\r\ndescription: Keeps notes. Use when notes are needed.\r\n---\r\nDo it.\r\n"
    (package / "SKILL.md").write_bytes(text.encode())
    (world.project / "apm.yml").write_text(MANIFEST)
    for folder in (".claude", ".codex"):
        (world.project / folder).mkdir()
    subprocess.run([APM, "install"], cwd=world.project, env=world.env, check=True, capture_output=True, timeout=300)
    lock = world.project / "apm.lock.yaml"
    if record:
        RECORDED.write_bytes(lock.read_bytes())
    outcome = world.prowess("lock", "--from", str(lock))
    step("prowess", "imports the lock of APM", (outcome, world.ours()), (0, list(NAMES)))
    step("prowess", "verifies all that APM installed", world.results(), dict.fromkeys(NAMES, BY_FILES))
    skills = read_lock(str(world.project / "skills-lock.json")).skills
    step(
        "prowess", "locks it for both agents", {skill.hosts for skill in skills.values()}, {("claude-code", "prowess")}
    )
    (world.project / ".claude/skills/pdf/A.md").write_text("changed")
    changed = [(skill.name, os.path.relpath(skill.path, world.project)) for skill in world.verify().different]
    step("prowess", "notices a change", changed, [("pdf", ".claude/skills/pdf")])
    for folder, text in ((".claude", "A"), (".agents", "changed")):
        (world.project / folder / "skills/pdf/A.md").write_text(text)
    (world.project / "skills-lock.json").unlink()
    world.prowess("lock", "--from", str(lock))
    digests = {
        name: skill.tree_digest for name, skill in read_lock(str(world.project / "skills-lock.json")).skills.items()
    }
    step("prowess", "locks the files of the copy that is right", digests["pdf"], skills["pdf"].tree_digest)


def main(arguments: list[str]) -> int:
    """Run all steps in a temporary folder."""
    if not APM.exists():
        print("APM is not installed: run `make shared`", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="prowess-apm-") as folder:
        world = World(Path(folder).resolve())
        os.environ |= {**world.env, "PROWESS_DATA_DIR": str(world.home / "data")}
        run(world, arguments == ["--record"])
    failed = sum(not ok for *_, ok in STEPS)
    print(f"{len(STEPS) - failed} of {len(STEPS)} steps went well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
