"""Trees of Claude Code: commands, plugins, marketplaces, settings and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients._trees import tree

if TYPE_CHECKING:
    from pathlib import Path

    from clients._trees import Tree

HIDDEN = "disable-model-invocation: true\n"
LATE = 'paths: "*.py"\n'
NOT_TYPED = "user-invocable: false\n"


def command(t: Tree, folder: Path, variant: str, *, name: str | None = None, front: str = "", body: str = "") -> None:
    """Write a command: a Markdown file whose path is its name; its text has the tag of its variant."""
    text = body or f"Does something [[{variant}]]\n"
    t.skill(folder, variant, file=f"{name or variant}.md", raw=f"---\n{front}---\n{text}" if front else text)


@tree("claude-code")
def claude_code_commands(t: Tree) -> None:
    """Commands of project and user: names by path, texts from the body, front matter that counts or does not."""
    t.git()
    folder = t.repo / ".claude/commands"
    command(t, folder, "plain")
    command(t, folder, "c", front="name: other\ndescription: Deep [[c]]\n", name="c")
    command(t, folder / "a/b", "deep", name="d", front="description: Deep [[deep]]\n")
    command(t, folder / ".hidden", "in-hidden")
    command(t, folder, "title", body="\n# A title [[title]]\n\ntext\n")
    command(t, folder, "long", body=f"[[long]] {'w' * 150}\n")
    command(t, folder, "late", front=f"{LATE}description: Late [[late]]\n")
    command(t, folder, "manual", front=f"{HIDDEN}description: Manual [[manual]]\n")
    command(t, folder, "for-model", front=f"{NOT_TYPED}description: Model [[for-model]]\n")
    command(t, folder, "when", front="when_to_use: 1e3\ndescription: When [[when]]\n")
    command(t, folder, "spaced", name="with space")
    t.skill(folder, "upper", file="upper.MD", raw="Not read [[upper]]\n")
    t.skill(folder / "as-folder", "folder-skill", name="inner")
    command(t, folder / "as-folder", "beside")
    command(t, folder / "as-folder/below", "below")
    command(t, t.home / ".claude/commands", "mine")
    command(t, t.home / ".claude/commands/group", "grouped")


@tree("claude-code")
def claude_code_commands_and_skills(t: Tree) -> None:
    """Skills win over commands, the user's over the project's, except for skills that the model does not see."""
    t.git()
    folder, own = t.repo / ".claude/commands", t.home / ".claude/commands"
    t.skill(t.P / "one", "skill-one")
    command(t, folder, "command-one", name="one")
    t.skill(t.P / "two", "skill-two")
    command(t, own, "command-two", name="two")
    t.skill(t.U / "three", "skill-three")
    command(t, folder, "command-three", name="three")
    t.skill(t.P / "manual", "skill-manual", fm=HIDDEN)
    command(t, folder, "command-manual", name="manual")
    t.skill(t.P / "late", "skill-late", fm=LATE)
    command(t, folder, "command-late", name="late")
    command(t, folder, "both-project", name="both")
    command(t, own, "both-user", name="both")
    command(t, folder / "x", "x-y", name="y")
    t.skill(t.P / "x:y", "skill-x-y")


@tree("claude-code")
def claude_code_commands_above(t: Tree) -> None:
    """Commands of the folders above the working directory, up to the git root."""
    t.git()
    t.cwd = t.repo / "pkg/app"
    command(t, t.repo / ".claude/commands", "root")
    command(t, t.repo / ".claude/commands", "dup-root", name="dup")
    command(t, t.repo / "pkg/.claude/commands", "middle")
    command(t, t.cwd / ".claude/commands", "dup-cwd", name="dup")
    command(t, t.cwd / "below/.claude/commands", "below")
    command(t, t.root / ".claude/commands", "above")


@tree("claude-code")
def claude_code_commands_linked(t: Tree) -> None:
    """Links to commands and to folders of them; one file by two names counts once."""
    t.git()
    folder = t.repo / ".claude/commands"
    command(t, t.repo / "docs", "elsewhere")
    t.link(folder / "linked.md", "../../docs/elsewhere.md")
    command(t, t.repo / "more", "inside")
    t.link(folder / "group", "../../more")
    command(t, folder, "first", name="a")
    t.link(folder / "b.md", "a.md")
    t.link(folder / "loop", ".")


@tree("claude-code")
def claude_code_hidden_skills(t: Tree) -> None:
    """A skill that the model does not see, or not yet, hides no other; one that only the model sees does."""
    t.git()
    flags = {
        "late-manual": LATE + HIDDEN,
        "manual": HIDDEN,
        "late": LATE,
        "model": NOT_TYPED,
        "off": NOT_TYPED + HIDDEN,
    }
    for name, front in flags.items():
        t.skill(t.U / name, f"user-{name}", fm=front)
        t.skill(t.P / name, f"project-{name}")
        t.skill(t.U / f"{name}-2", f"user-{name}-2")
        t.skill(t.P / f"{name}-2", f"project-{name}-2", fm=front)
        t.skill(t.U / f"{name}-3", f"user-{name}-3", fm=front)
        t.skill(t.P / f"{name}-3", f"project-{name}-3", fm=front)


@tree("claude-code")
def claude_code_when_to_use(t: Tree) -> None:
    """`when_to_use` of every type of YAML is what JavaScript's `String()` makes of it."""
    t.git()
    values = [
        "3", "3.0", "1e3", "true", "null", "[a, b]", "{a: 1}", '""', "2020-01-01", "[1, [2, 3], null]", "0x10", "~",
        ".inf", "-0", "1e21", "0.1", '" x "', "|\n  a\n  b", ">\n  a\n  b", "[]", "[null]", "[{a: 1}, b]", "False",
        "''", "no", "0o17", "+7", "1_000", "[1.0, a]", "-.inf", ".nan", "[true, 1e3]",
    ]  # fmt: skip
    for number, value in enumerate(values):
        t.skill(t.P / f"w{number:02}", f"w{number:02}", fm=f"when_to_use: {value}\n")
