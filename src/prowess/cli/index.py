"""prowess index: write the files with which any web server offers skills."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.text import neutral
from prowess.catalog import report
from prowess.errors import ConfigError
from prowess.findings import Severity

from ._commands import FAILED, OK
from ._options import add_json_option, make_parser
from ._output import pluralize, print_findings, print_json, print_stderr, print_stdout
from ._progress import ProgressLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.catalog import Report
    from prowess.install import IndexedSkill

_EPILOG = """\
Writes OUT/.well-known/agent-skills: an index, each skill that is one file as SKILL.md, and any other as an archive.
Copy OUT to the root of a web server, and `prowess add https://HOST` installs the skills. The skills are checked first,
and errors end the command before anything is written. The same skills give the same bytes, and the folder is replaced
in one step. With --snapshot, OUT gets the data of all skills and their archives; what cannot be used is left out.
Exit codes: 0 written; 1 errors found, or no skills."""

_NO_SKILLS_HINT = "name a folder with skills; `prowess new NAME` creates one"


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("index", epilog=_EPILOG)
    result.add_argument("dir", metavar="DIR", help="the folder of a skill, or a folder that contains skills")
    written = result.add_mutually_exclusive_group(required=True)
    written.add_argument("-o", "--output", metavar="OUT", help="the root folder of the web site")
    written.add_argument(
        "--snapshot",
        metavar="OUT",
        help="write a snapshot of many skills into a folder, bucket or registry instead, for `prowess search --from`",
    )
    add_json_option(result)
    return result


def run(args: Namespace) -> int:
    """Check the skills and write their index.

    Raises:
        ConfigError: a folder is missing or invalid.
        InstallError: a skill cannot be offered, or the files cannot be written.
    """
    from prowess.install import index_skills

    if not os.path.isdir(args.dir):
        raise ConfigError(f"`DIR` is not a folder: {neutral(args.dir)}", hint="check the path")
    if args.snapshot is not None:
        return _write_snapshot(args)
    if not args.output or "\0" in args.output:
        raise ConfigError("`-o`: this is not a path", hint="name a folder")
    progress = ProgressLine()
    checked = report([args.dir], progress=progress.show_checked)
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
    if args.json:
        print_json(_as_json(args.output, skills, checked))
    else:
        _print_text(args.output, skills, checked)
    if not folders and not args.json:
        print_stderr(f"\nhint: {_NO_SKILLS_HINT}")
    return FAILED if failed else OK


def _write_snapshot(args: Namespace) -> int:
    """Write a snapshot, and print what it has.

    Raises:
        ConfigError: the folder to write to is invalid.
        InstallError: it cannot be written.
    """
    from prowess.install import write_snapshot

    if not args.snapshot or "\0" in args.snapshot:
        raise ConfigError("`--snapshot`: this is not a path", hint="name a folder")
    progress = ProgressLine()
    written = write_snapshot(args.dir, args.snapshot, progress=progress.show)
    progress.clear()
    if args.json:
        print_json(
            {
                "output": args.snapshot if "://" in args.snapshot else os.path.abspath(args.snapshot),
                "skills": written.skills,
                "read": written.read,
                "archives": written.archives,
                "bytes": written.size,
                "sha256": written.sha256,
                "findings": [item.as_dict() for item in written.findings],
            }
        )
    else:
        print_findings(written.findings, to=print_stderr)
        print_stdout(f"{pluralize(written.skills, 'skill')} in {neutral(args.snapshot)}")
        print_stderr(f"{written.read:,} read, {pluralize(written.archives, 'archive')} written")
        if not written.skills:
            print_stderr(f"\nhint: {_NO_SKILLS_HINT}")
    return OK if written.skills else FAILED


def _outermost_folders(checked: Report) -> list[str]:
    """Return the folders of the skills; one inside another skill is a part of that."""
    found: list[str] = []
    folders = [os.path.dirname(path) for path in checked.skills if os.path.basename(path) == SKILL_FILE]
    for folder in sorted(folders, key=lambda folder: folder.split(os.sep)):
        if not found or not folder.startswith(os.path.join(found[-1], "")):
            found.append(folder)
    return found


def _print_text(out: str, skills: tuple[IndexedSkill, ...], checked: Report) -> None:
    print_findings(checked.findings, to=print_stderr)
    for skill in skills:
        print_stdout(f"{skill.name}: {skill.path}")
    if skills:
        print_stderr(f"{pluralize(len(skills), 'skill')} in {neutral(os.path.join(out, '.well-known/agent-skills'))}")
    else:
        print_stderr("nothing written")


def _as_json(out: str, skills: tuple[IndexedSkill, ...], checked: Report) -> dict[str, object]:
    return {
        "output": os.path.abspath(out),
        "skills": [
            {
                "name": skill.name,
                "type": skill.kind,
                "folder": skill.folder,
                "path": skill.path,
                "digest": skill.digest,
                "bytes": skill.size,
            }
            for skill in skills
        ],
        "findings": [item.as_dict() for item in checked.findings],
    }
