"""Change skills, and the files that decide about them, in every way that a cache or a live catalog may miss."""

from __future__ import annotations

import mmap
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from prowess._internal.file_status import stat_fingerprint
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

SKILLS = "repo/.agents/skills"


def rewritten(path: str) -> Callable[[Path], None]:
    """Change one byte of a file in place, and set its times back."""

    def change(top: Path) -> None:
        file = top / path
        status, data = file.stat(), bytearray(file.read_bytes())
        at = data.rindex(b"e")
        data[at : at + 1] = b"u"
        with file.open("r+b") as opened:
            opened.write(data)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    return change


def replaced(top: Path) -> None:
    """Rename another file of the same size and time over a SKILL.md, and set the folder's time back."""
    file, folder = top / SKILLS / "a/SKILL.md", top / SKILLS / "a"
    file_status, folder_status = file.stat(), folder.stat()
    new = top / "new"
    new.write_text(file.read_text().replace("Does", "Made"))
    os.utime(new, ns=(file_status.st_atime_ns, file_status.st_mtime_ns))
    new.rename(file)
    os.utime(folder, ns=(folder_status.st_atime_ns, folder_status.st_mtime_ns))


def mapped(top: Path) -> None:
    path = top / SKILLS / "a/SKILL.md"
    before = stat_fingerprint(path.stat())
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        at = memory.find(b"Does")
        memory[at : at + 4] = b"Made"
        memory.flush()
    if stat_fingerprint(path.stat()) == before:
        pytest.skip("this file system (such as tmpfs) changes no time when a mapping is written; docs/cache.md says so")


def as_link(top: Path) -> None:
    folder = top / SKILLS / "a"
    folder.rename(top / "elsewhere")
    folder.symlink_to(top / "elsewhere")


def file_as_link(top: Path) -> None:
    file = top / SKILLS / "a/SKILL.md"
    file.rename(top / "SKILL.md")
    file.symlink_to(top / "SKILL.md")


def relinked(top: Path) -> None:
    """Make a link point to a folder with the same content."""
    shutil.copytree(top / "repo/lib/b", top / "repo/lib/c")
    link = top / SKILLS / "b"
    link.unlink()
    link.symlink_to("../../lib/c")


def relinked_on_the_way(top: Path) -> None:
    shutil.copytree(top / "repo/lib", top / "repo/lib2")
    (top / "repo/way").unlink()
    (top / "repo/way").symlink_to("lib2")


def file_relinked(top: Path) -> None:
    link = top / SKILLS / "f/SKILL.md"
    link.unlink()
    link.symlink_to("../a/SKILL.md")


def git_above(top: Path) -> None:
    (top / "repo/.git").rmdir()
    (top / ".git").mkdir()


def folder_replaced(top: Path) -> None:
    shutil.copytree(top / SKILLS, top / "staged", symlinks=True)
    skill(top / "staged/new")
    (top / SKILLS).rename(top / "old")
    (top / "staged").rename(top / SKILLS)


def moved(path: str, new: str) -> Callable[[Path], object]:
    return lambda top: (top / path).rename(top / new)


def by_another_name(top: Path) -> None:
    with (top / "other-name").open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"x")


def wrote(path: str, text: str) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)

    return change


def removed(path: str) -> Callable[[Path], None]:
    return lambda top: shutil.rmtree(top / path) if (top / path).is_dir() else (top / path).unlink()


CHANGES: Mapping[str, tuple[str, Callable[[Path], object]]] = {
    "content of the same size with its times set back": ("prowess", rewritten(f"{SKILLS}/a/SKILL.md")),
    "another file renamed over it with all times set back": ("prowess", replaced),
    "written through a mapping": ("prowess", mapped),
    "through a hard link": ("prowess", by_another_name),
    "folder becomes a link": ("prowess", as_link),
    "file becomes a link": ("prowess", file_as_link),
    "link retargeted to the same content": ("prowess", relinked),
    "link on the way retargeted": ("prowess", relinked_on_the_way),
    "target of a link": ("prowess", rewritten("repo/lib/b/SKILL.md")),
    "link to a file retargeted": ("prowess", file_relinked),
    "SKILL.md appears in a folder": ("prowess", lambda top: skill(top / SKILLS / "empty")),
    "a new skill": ("prowess", lambda top: skill(top / SKILLS / "new")),
    "a skill goes": ("prowess", removed(f"{SKILLS}/a")),
    "a file goes": ("prowess", removed(f"{SKILLS}/a/SKILL.md")),
    "a folder replaced": ("prowess", folder_replaced),
    "a folder moved": ("prowess", moved(SKILLS, "repo/elsewhere")),
    "a parent renamed": ("prowess", moved("repo/.agents", "repo/.other")),
    "a folder of the user appears": ("prowess", lambda top: skill(top / "home/.prowess/skills/new")),
    "nested skills": ("claude-code", lambda top: skill(top / "repo/sub/.claude/skills/x")),
    "another file of a copy": ("prowess", rewritten("home/.claude/skills/twin/data.txt")),
    "another file of the copied": ("prowess", rewritten("repo/.claude/skills/twin/data.txt")),
    "a file beside a copy": ("prowess", wrote("home/.claude/skills/twin/deep/new", "x")),
    "a file goes from a copy": ("prowess", removed("repo/.claude/skills/twin/data.txt")),
    "settings changed": ("claude-code", rewritten("home/.claude/settings.json")),
    "settings removed": ("claude-code", removed("home/.claude/settings.json")),
    "settings behind a link": ("gemini-cli", rewritten("dotfiles/gemini.json")),
    "beside a SKILL.md, changed": ("codex", rewritten(f"{SKILLS}/a/agents/openai.yaml")),
    "beside a SKILL.md, made": ("codex", wrote(f"{SKILLS}/b/agents/openai.yaml", "policy: {}")),
    "ignore file below made": ("pi", wrote(f"{SKILLS}/group/.ignore", "a\n")),
    "git above": ("prowess", git_above),
    "role": ("initrunner", rewritten("repo/sub/role.yaml")),
    "a named folder appears": ("prowess", lambda top: skill(top / "repo/sub/extra/x")),
    "mode of a folder that is only passed through": ("prowess", lambda top: (top / SKILLS / "a").chmod(0o700)),
}


def changing_tree(top: Path) -> None:
    """Make the files that these changes are about, beside a project and a home."""
    skill(top / SKILLS / "a")
    (top / SKILLS / "a/agents").mkdir()
    (top / SKILLS / "a/agents/openai.yaml").write_text("policy:\n  allow_implicit_invocation: false\n")
    os.link(top / SKILLS / "a/SKILL.md", top / "other-name")
    skill(top / "repo/lib/b")
    (top / SKILLS / "b").symlink_to("../../lib/b")
    (top / "repo/way").symlink_to("lib")
    (top / SKILLS / "w").symlink_to("../../way/b")
    (top / SKILLS / "empty").mkdir()
    skill(top / SKILLS / "group/a")
    (top / SKILLS / "f").mkdir()
    (top / SKILLS / "f/SKILL.md").symlink_to("../../../lib/b/SKILL.md")
    for base in ("repo/.claude/skills/twin", "home/.claude/skills/twin"):
        skill(top / base)
        (top / base / "data.txt").write_text("the same")
    (top / "repo/sub").mkdir()
    (top / "home/.claude/settings.json").write_text('{"skillOverrides": {"twin": "name-only"}}')
    (top / "dotfiles").mkdir()
    (top / "dotfiles/gemini.json").write_text('{"skills": {"disabled": ["e"]}}')
    (top / "home/.gemini").mkdir()
    (top / "home/.gemini/settings.json").symlink_to(top / "dotfiles/gemini.json")
    (top / "repo/sub/role.yaml").write_text("spec:\n  auto_skills:\n    enabled: true\n")
