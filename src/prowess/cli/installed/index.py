"""prowess index: write the files with which any web server offers skills."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.text import neutral
from prowess.checks import absolute_paths, report
from prowess.cli._commands import FAILED, OK
from prowess.cli._output import Message, ProgressLine, Result, as_dicts, finding_messages, json_fields, pluralize
from prowess.errors import ConfigError
from prowess.filesystem import Question
from prowess.findings import Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.checks import Report
    from prowess.cli._parser import Arguments, Parser
    from prowess.install.sources.site import IndexedSkill

EPILOG = """\
Writes OUT/.well-known/agent-skills: an index, each skill that is one file as SKILL.md, and any other as an archive.
Copy OUT to the root of a web server, and `prowess add https://HOST` installs the skills. The skills are checked first,
and errors end the command before anything is written. The same skills give the same bytes, and the folder is replaced
in one step. With --snapshot, OUT gets the data of all skills and their archives; what cannot be used is left out.
Exit codes: 0 written; 1 errors found, or no skills."""

_NO_SKILLS_HINT = "\nhint: name a folder with skills; `prowess new NAME` creates one"


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("dir", "DIR", "the folder of a skill, or a folder that contains skills")
    written = parser.add_mutually_exclusive_group(required=True)
    written.add_argument("-o", "--output", metavar="OUT", help="the root folder of the web site")
    written.add_argument(
        "--snapshot",
        metavar="OUT",
        help="write a snapshot of many skills into a folder, bucket or registry instead, for `prowess search --from`",
    )
    parser.add_json()


def run(args: Arguments) -> Result:
    """Check the skills and write their index.

    Raises:
        ConfigError: a folder is missing or invalid.
        InstallError: a skill cannot be offered, or the files cannot be written.
    """
    from prowess.install.sources.site import index_skills

    if not os.path.isdir(args.dir):
        raise ConfigError(f"`DIR` is not a folder: {neutral(args.dir)}", hint="check the path")
    if args.snapshot is not None:
        return _write_snapshot(args)
    if not args.output or "\0" in args.output:
        raise ConfigError("`-o`: this is not a path", hint="name a folder")
    progress = ProgressLine()
    checked = report(Question.about("."), absolute_paths([args.dir]), progress=progress.show_checked)
    progress.clear()
    own = os.path.join(real_path(args.output), ".well-known", "")  # an output inside DIR is not read again
    checked = checked.with_changes(
        skills=tuple(path for path in checked.skills if not real_path(path).startswith(own)),
        findings=tuple(item for item in checked.findings if not real_path(item.path or "").startswith(own)),
    )
    folders = _outermost_folders(checked)
    failed = not folders or any(item.severity is Severity.ERROR for item in checked.findings)
    skills = () if failed else index_skills(folders, args.output, progress=progress.show_skills)
    progress.clear()
    code = FAILED if failed else OK
    return Result(lambda: _as_dict(args.output, skills, checked), _text(args.output, skills, checked, folders), code)


def _write_snapshot(args: Arguments) -> Result:
    """Write a snapshot, and return what it has.

    Raises:
        ConfigError: the folder to write to is invalid.
        InstallError: it cannot be written.
    """
    from prowess.install.snapshot import write_snapshot

    if not args.snapshot or "\0" in args.snapshot:
        raise ConfigError("`--snapshot`: this is not a path", hint="name a folder")
    progress = ProgressLine()
    written = write_snapshot(args.dir, args.snapshot, progress=progress.show)
    progress.clear()
    output = args.snapshot if "://" in args.snapshot else os.path.abspath(args.snapshot)

    def text() -> Iterator[str]:
        yield from finding_messages(written.findings)
        yield f"{pluralize(written.skills, 'skill')} in {neutral(args.snapshot)}"
        yield Message(f"{written.read:,} read, {pluralize(written.archives, 'archive')} written")
        if not written.skills:
            yield Message(_NO_SKILLS_HINT)

    as_dict = {
        "output": output,
        **json_fields(written, "skills read archives"),
        "bytes": written.size,
        "sha256": written.sha256,
        "findings": as_dicts(written.findings),
    }
    return Result(as_dict, text(), OK if written.skills else FAILED)


def _outermost_folders(checked: Report) -> list[str]:
    """Return the folders of the skills; one inside another skill is a part of that."""
    found: list[str] = []
    folders = [os.path.dirname(path) for path in checked.skills if os.path.basename(path) == SKILL_FILE]
    for folder in sorted(folders, key=lambda folder: folder.split(os.sep)):
        if not found or not folder.startswith(os.path.join(found[-1], "")):
            found.append(folder)
    return found


def _text(out: str, skills: Sequence[IndexedSkill], checked: Report, folders: Sequence[str]) -> Iterator[str]:
    yield from finding_messages(checked.findings)
    yield from (f"{skill.name}: {skill.path}" for skill in skills)
    place = neutral(os.path.join(out, ".well-known/agent-skills"))
    yield Message(f"{pluralize(len(skills), 'skill')} in {place}" if skills else "nothing written")
    if not folders:
        yield Message(_NO_SKILLS_HINT)


def _as_dict(out: str, skills: Sequence[IndexedSkill], checked: Report) -> dict[str, object]:
    return {
        "output": os.path.abspath(out),
        "skills": [
            {
                "name": skill.name,
                "type": skill.kind,
                **json_fields(skill, "folder path digest"),
                "bytes": skill.size,
            }
            for skill in skills
        ],
        "findings": as_dicts(checked.findings),
    }
