"""prowess verify: compare installed skills with their lock."""

from __future__ import annotations

import os

from prowess._internal.files import display_path
from prowess._internal.text import neutral
from prowess.errors import InstallError
from prowess.install import find_target, read_lock, verify

from ._commands import FAILED, OK
from ._options import add_json_option, make_parser
from ._output import pluralize, print_json, print_note, print_stderr, print_stdout
from ._signed_by import add_signature_options, check_signatures, signed_by_from_args

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.install import Difference, Verification, VerifiedSkill

_EPILOG = """\
Each file is compared with the lock: its bytes, whether it can be executed, and where links lead. Exit code 1 means that
something is different. A skill whose entry another tool has written is compared by its hash, which covers less."""

_WORDS = {
    "changed": "changed",
    "missing": "missing",
    "extra": "extra",
    "mode": "mode",
    "link": "link",
    "type": "type",
    "unreadable": "unreadable",
    "outside": "leads out",
    "hash": "other hash",
    "unknown": "unknown",
    "lock": "lock",
    "signature": "signature",
}
"""What a line says for each kind of difference."""
_HINTS = {
    frozenset({"signature"}): "ask the authors of these skills, or remove the skills with `prowess remove`",
    frozenset({"outside"}): "`prowess remove` these skills, then `prowess add` them without `--link`",
}
"""What to do if all differences are of these kinds."""
_HINT = "`prowess install` restores what is locked; `git diff` shows whether the lock was changed"


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("verify", epilog=_EPILOG)
    result.add_argument("skill", metavar="SKILL", nargs="*", help="verify only these skills (default: all in the lock)")
    result.add_argument("--global", dest="is_global", action="store_true", help="verify the skills for all projects")
    result.add_argument("--strict", action="store_true", help="skills that are not in the lock are differences too")
    result.add_argument("--cwd", metavar="DIR", help="the working directory (default: the current one)")
    result.add_argument("--home", metavar="DIR", help="the home directory (default: yours)")
    add_signature_options(result)
    add_json_option(result)
    return result


def run(args: Namespace) -> int:
    """Print the differences."""
    signed_by = signed_by_from_args(args)
    home = os.path.abspath(args.home or os.path.expanduser("~"))
    target = find_target(os.path.abspath(args.cwd or "."), home, os.environ, is_global=args.is_global)
    root, path = target.root, target.lock_file
    if not os.path.lexists(path):
        hint = "`prowess add SOURCE` installs skills and locks them; `prowess lock --from FILE` imports another lock"
        raise InstallError(f"no lock: {neutral(path)} does not exist", hint=hint)
    lock = read_lock(path)
    found = verify(lock, root, scope=target.scope, names=args.skill, store=target.store_folder)
    if signed_by is not None:
        found = check_signatures(found, signed_by, args.signature)
    is_different = bool(found.different or (args.strict and found.not_locked))
    if args.json:
        print_json({"project": root, "lock": path, **_as_json(found), "ok": not is_different})
    else:
        _print_text(found, path, root, home, strict=args.strict)
    return FAILED if is_different else OK


def _as_json(found: Verification) -> dict[str, object]:
    skills = [
        {
            "name": skill.name,
            "path": skill.path,
            "method": skill.method,
            "link": skill.link,
            "differences": [
                {"kind": item.kind, "path": item.path, "expected": item.expected, "found": item.found}
                for item in skill.differences
            ],
        }
        for skill in found.skills
    ]
    counts = {
        "skills": len(found.skills),
        "different": len(found.different),
        "by_hash": sum(skill.method == "computedHash" for skill in found.skills),
        "not_locked": len(found.not_locked),
    }
    return {"skills": skills, "not_locked": list(found.not_locked), "counts": counts}


def _print_text(found: Verification, lock: str, root: str, home: str, *, strict: bool) -> None:
    different = found.different
    for skill in different:
        for difference in skill.differences:
            print_stdout(_line(skill, difference, root, home))
    for path in found.not_locked:
        shown = neutral(display_path(path, root, home))
        if strict:
            print_stdout(f"{'not locked':<12}{shown}")
        else:
            print_note(f"{shown} is not in the lock")
    by_hash = {skill.name for skill in found.skills if skill.method == "computedHash"}
    if by_hash:
        print_note(
            f"{pluralize(len(by_hash), 'skill')} compared by `computedHash` only, which covers no modes and links; "
            "`prowess lock` adds the digest of each file"
        )
    shown = neutral(display_path(lock, root, home))
    names, differing = {skill.name for skill in found.skills}, {skill.name for skill in different}
    if differing:
        verb = "differs" if len(differing) == 1 else "differ"
        print_stderr(f"{len(differing):,} of {pluralize(len(names), 'skill')} {verb} from {shown}")
        from prowess.install import is_interrupted  # loads all that changes a project

        if is_interrupted(root):
            print_note("another process is changing the skills now, or was killed while it did")
        kinds = {difference.kind for skill in different for difference in skill.differences}
        print_stderr(f"\nhint: {_HINTS.get(frozenset(kinds), _HINT)}")
    else:
        copies = f" in {len(found.skills):,} places" if len(found.skills) > len(names) else ""
        print_stderr(f"{pluralize(len(names), 'skill')}{copies} {'is' if len(names) == 1 else 'are'} as in {shown}")


def _line(skill: VerifiedSkill, difference: Difference, root: str, home: str) -> str:
    """Return one difference as text."""
    path = os.path.join(skill.path, *filter(None, difference.path.split("/")))
    shown = f"{_WORDS[difference.kind]:<12}{neutral(display_path(path, root, home))}"
    if difference.kind == "mode":
        was, now = (str(value).partition(" ")[0] for value in (difference.expected, difference.found))
        return f"{shown} ({now}, locked as {was})"
    if difference.kind in ("type", "unreadable", "unknown", "outside", "signature") and difference.found:
        return f"{shown} ({neutral(difference.found.removeprefix('unreadable: '))})"
    return shown
