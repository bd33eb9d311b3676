"""Skills that an administrator has installed in `/etc`."""

from __future__ import annotations

from clients._trees import Tree, tree

FOLDERS = (
    "claude-code/.claude/skills",
    "claude-code/skills",
    "codex/skills",
    "gemini-cli/skills",
    "opencode/skills",
    "copilot/skills",
    "github-copilot/skills",
    "qwen-code/skills",
    "pi/skills",
    "agents/skills",
)


@tree()
def managed_folders(t: Tree) -> None:
    """A skill in each folder of /etc that a client might read, beside the user's and the project's."""
    t.git()
    for folder in FOLDERS:
        name = folder.replace("/", "-").replace(".", "")
        t.skill(t.etc / folder / name, name)
    t.skill(t.P / "project", "project")
    t.skill(t.U / "user", "user")


@tree()
def managed_same_name(t: Tree) -> None:
    """A skill of an administrator has the name of the user's and the project's."""
    t.git()
    for folder in FOLDERS:
        t.skill(t.etc / folder / "dup", folder, name="dup")
    t.skill(t.P / "dup", "project", name="dup")
    t.skill(t.U / "dup", "user", name="dup")
