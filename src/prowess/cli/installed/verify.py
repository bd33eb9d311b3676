"""prowess verify: compare installed skills with their lock."""

from __future__ import annotations

import os
import shlex

from prowess._internal.file_status import SHARED_VARIABLE
from prowess._internal.text import neutral
from prowess.cli._commands import FAILED, OK
from prowess.cli._output import Message, Result, can_ask, json_fields, note, pluralize
from prowess.errors import ConfigError, InstallError, ProwessError
from prowess.install import PERMISSION_KINDS, verify
from prowess.lock import read_lock

from ._plans import Shown, describe_choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.install import Difference, SignedBy, Verification, VerifiedSkill
    from prowess.lock import Lock

EPILOG = """\
Each file is compared with the lock: its bytes, whether it can be executed, and where links lead. A file that another
user owns or can change, or with a set-user-ID bit, is a difference too. Exit code 1 means that something is different.
A skill whose entry another tool has written is compared by its hash, which covers less."""

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
    "owner": "owner",
    "writable": "writable",
    "special": "special",
    "signature": "signature",
}
"""What a line says for each kind of difference."""
_WITH_WORDS = PERMISSION_KINDS | {"type", "unreadable", "unknown", "outside", "signature"}
"""Kinds of differences that a line explains by what was found."""
_MAX_NAMED = 3
"""Skills that a command of the shell names."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skill", "SKILL", "verify only these skills (default: all in the lock)", nargs="*")
    parser.flag("--global", "verify the skills for all projects", dest="is_global")
    parser.flag("--strict", "skills that are not in the lock are differences too")
    parser.add_place("the working directory", "the home directory")
    group = parser.group("signatures (the extra `sign`)")
    group.value(
        "--signed-by",
        "IDENTITY",
        "sigstore says that this email address or workflow signed it; with --certificate: a name in it",
    )
    group.value("--issuer", "URL", "who vouches for IDENTITY (known for workflows of GitHub, GitLab)")
    group.value("--trusted-root", "FILE", "the trusted root of sigstore; then no network is needed")
    group.value("--certificate", "FILE", "the authorities (PEM) whose certificates may sign")
    group.value("--public-key", "FILE", "the key (PEM) that must have signed")
    group.value("--signature", "FILE", "the signature of the only SKILL (default: its file skill.oms.sig)")
    parser.add_json()


def run(args: Arguments) -> Result:
    """Return the differences."""
    signed_by = _signed_by(args)
    shown = Shown(args)
    target, path = shown.target, shown.target.lock_file
    if not os.path.lexists(path):
        hint = "`prowess add SOURCE` installs skills and locks them; `prowess lock --from FILE` imports another lock"
        raise ConfigError(f"no lock: {neutral(path)} does not exist", hint=hint)
    lock = read_lock(path)
    found = verify(lock, target.root, scope=target.scope, names=args.skill, store=target.store_folder)
    if signed_by is not None:
        checked = tuple(_with_signature(skill, signed_by, args.signature) for skill in found.skills)
        found = found.with_changes(skills=checked)
    is_different = bool(found.different or (args.strict and found.not_locked))
    return Result(
        lambda: {**shown.as_dict(), **_as_dict(found), "ok": not is_different},
        _text(found, lock, shown, args),
        FAILED if is_different else OK,
    )


def _signed_by(args: Arguments) -> SignedBy | None:
    """Return who must have signed, or `None` if signatures are not checked.

    Raises:
        ConfigError: an option needs another one.
    """
    if not (args.signed_by or args.certificate or args.public_key):
        for option in ("issuer", "trusted_root", "signature"):
            if getattr(args, option) is not None:
                raise ConfigError(
                    f"`--{option.replace('_', '-')}` is for a signature", hint="say who signed, with `--signed-by`"
                )
        return None
    if args.signature is not None and len(args.skill) != 1:
        raise ConfigError("`--signature` is for one skill", hint="name it as SKILL")
    from prowess.install import SignedBy

    return SignedBy(
        identity=args.signed_by,
        issuer=args.issuer,
        trusted_root=args.trusted_root,
        certificate=args.certificate,
        public_key=args.public_key,
    )


def _with_signature(skill: VerifiedSkill, signed_by: SignedBy, signature: str | None) -> VerifiedSkill:
    """Return a skill, with a difference if its signature is missing or wrong."""
    from prowess.install import Difference, verify_signature

    if not os.path.isdir(skill.path):
        return skill  # that it is missing is a difference already
    try:
        verify_signature(skill.path, signed_by, signature)
    except InstallError as error:
        difference = Difference(kind="signature", found=str(error))
        return skill.with_changes(differences=(*skill.differences, difference))
    return skill


def _as_dict(found: Verification) -> dict[str, object]:
    skills = [
        {
            **json_fields(skill, "name path method link"),
            "differences": [json_fields(item, "kind path expected found may_run") for item in skill.differences],
        }
        for skill in found.skills
    ]
    counts = {
        "skills": len(found.skills),
        "different": len(found.different),
        "by_hash": sum(skill.method == "computedHash" for skill in found.skills),
        "not_locked": len(found.not_locked),
    }
    return {"skills": skills, "not_locked": found.not_locked, "counts": counts}


def _text(found: Verification, lock: Lock, shown: Shown, args: Arguments) -> Iterator[str]:
    different = found.different
    paths = {skill.path for skill in different}
    for skill in different:
        if skill.link and os.path.normpath(os.path.join(os.path.dirname(skill.path), skill.link)) in paths:
            continue  # a link has what its target has
        yield from (_line(skill, difference, shown) for difference in skill.differences)
    for path in found.not_locked:
        yield (
            f"{'not locked':<12}{shown.root_path(path)}"
            if args.strict
            else note(f"{shown.root_path(path)} is not in the lock")
        )
    by_hash = {skill.name for skill in found.skills if skill.method == "computedHash"}
    if by_hash:
        yield note(
            f"{pluralize(len(by_hash), 'skill')} compared by `computedHash` only, which covers no modes and links; "
            "`prowess lock` adds the digest of each file"
        )
    where = shown.root_path(shown.target.lock_file)
    names, differing = {skill.name for skill in found.skills}, {skill.name for skill in different}
    if differing:
        verb = "differs" if len(differing) == 1 else "differ"
        yield Message(f"{len(differing):,} of {pluralize(len(names), 'skill')} {verb} from {where}")
        from prowess.install import is_interrupted  # loads all that changes a project

        if is_interrupted(shown.target.root):
            yield note("another process is changing the skills now, or was killed while it did")
        yield Message(f"\nhint: {_hint(different, lock, shown, args)}")
    else:
        copies = f" in {len(found.skills):,} places" if len(found.skills) > len(names) else ""
        yield Message(f"{pluralize(len(names), 'skill')}{copies} {'is' if len(names) == 1 else 'are'} as in {where}")


def _hint(different: Sequence[VerifiedSkill], lock: Lock, shown: Shown, args: Arguments) -> str:
    """Return the command that ends the differences, or the first of several."""
    found = [(skill, difference) for skill in different for difference in skill.differences]
    kinds = {difference.kind for _, difference in found}
    if kinds == {"signature"}:
        return "ask the authors of these skills, or remove the skills with `prowess remove`"
    if not kinds.isdisjoint({"lock", "unknown"}):
        file = shown.argument(shown.target.lock_file)
        return f"restore the lock, for example with `git checkout {file}`, or `prowess add` these skills again"
    if kinds <= PERMISSION_KINDS and (command := _permissions_command(different, shown)):
        shared = f"; set `{SHARED_VARIABLE}` to a folder that you share on purpose" if kinds != {"special"} else ""
        return f"`{command}` ends that{shared}"
    if closed := {
        skill.path: None for skill, difference in found if difference.kind == "unreadable" and not skill.link
    }:
        return f"`chmod -R u+rwX {' '.join(map(shown.argument, closed))}` lets you read it"
    outside = [skill for skill, difference in found if difference.kind == "outside"]
    if folders := {os.path.dirname(skill.path): None for skill in outside if not skill.link}:
        places = " and ".join(map(shown.path, folders))
        return f"{places} leads out of the project: put a folder in place of that link, then type `prowess install`"
    unwanted = [skill for skill in different if not skill.is_expected and not skill.link]
    if len(unwanted) == len(different):
        paths = " ".join(shown.argument(skill.path) for skill in unwanted)
        return f"the lock installs nothing there: save your changes, and `rm -r {paths}`"
    names = [*dict.fromkeys(skill.name for skill in different)]
    if {skill.name for skill in outside if lock.skills[skill.name].is_link} == {*names}:
        return f"`prowess remove{_typed(names)}{shown.options}`, then `prowess add` without `--link`"
    return _restoring_hint(names, shown, args)


def _restoring_hint(names: Sequence[str], shown: Shown, args: Arguments) -> str:
    """Return the command that restores skills, with the options that it needs now."""
    from prowess.filesystem import Question
    from prowess.install import Installation, LockSources, OpenStore, plan_restoration

    target = shown.target
    where = Installation(
        target=target,
        opened=OpenStore(target.store_folder),
        question=Question.about(shown.cwd, args.home),
        sources=LockSources(os.environ, cwd=shown.cwd),
    )
    try:
        plan = plan_restoration(where, names)
    except ProwessError as error:
        return f"{error}; {error.hint}" if error.hint else str(error)
    options = "".join(f" {option}" for option in plan.options) + shown.options
    changes = ", over your changes" if "--force" in plan.options else ""
    check = "; `git diff` shows whether the lock was changed"
    if not plan.updated:
        return f"`prowess install{_typed(args.skill)}{options}` restores what is locked{changes}{check}"
    update = f"`prowess update{_typed(plan.updated)}{options}{'' if can_ask() else ' --yes'}`"
    text = (
        f"what is locked of {describe_choice(plan.updated)} is gone; {update} installs what the source has now{changes}"
    )
    if not plan.installed:
        return text
    return f"`prowess install{_typed(plan.installed)}{options}` restores what is locked{changes}; {text}"


def _typed(names: Sequence[str]) -> str:
    return "".join(f" {shlex.quote(neutral(name))}" for name in names)


def _permissions_command(different: Sequence[VerifiedSkill], shown: Shown) -> str:
    """Return the command that ends differences of owners and modes; empty if that is `prowess install`."""
    above: dict[str, dict[str, None]] = {"owner": {}, "writable": {}}
    skills, kinds = dict[str, None](), set[str]()
    for path, difference in ((skill.path, item) for skill in different for item in skill.differences):
        if difference.above:
            above[difference.kind][difference.above] = None
        elif difference.kind == "owner":
            return ""
        else:
            skills[path] = None
            kinds.add(difference.kind)
    # One folder in place of many skills, and of those that others may change as a whole.
    parents = [os.path.dirname(path) for path in skills]
    skills = dict.fromkeys(
        parent if len(skills) > _MAX_NAMED or parent in above["writable"] else path
        for path, parent in zip(skills, parents, strict=True)
    )
    bits = ",".join(bits for kind, bits in (("writable", "go-w"), ("special", "a-s,-t")) if kind in kinds)
    owned, writable = above["owner"], [path for path in above["writable"] if path not in skills or "go-w" not in bits]
    parts = (("sudo chown $(id -u)", owned), ("chmod go-w", writable), (f"chmod -R {bits}", skills))
    return " && ".join(" ".join([start, *map(shown.argument, paths)]) for start, paths in parts if paths)


def _line(skill: VerifiedSkill, difference: Difference, shown: Shown) -> str:
    """Return one difference as text."""
    path = os.path.join(skill.path, *filter(None, difference.path.split("/")))
    text = f"{_WORDS[difference.kind]:<12}{shown.root_path(path)}{', which may run' if difference.may_run else ''}"
    if difference.kind == "mode":
        was, now = (str(value).partition(" ")[0] for value in (difference.expected, difference.found))
        return f"{text} ({now}, locked as {was})"
    if difference.found and (difference.kind in _WITH_WORDS or (difference.kind == "link" and not difference.path)):
        found = {"120000": "a link", "100644": "a file", "100755": "a file"}.get(difference.found[:6], difference.found)
        return f"{text} ({neutral(found.removeprefix('unreadable: '))})"
    return text
