"""prowess publish: publish a skill to a registry or a bucket."""

from __future__ import annotations

import os
from contextlib import nullcontext

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral, quoted
from prowess.catalog import report
from prowess.errors import ConfigError
from prowess.findings import Severity

from ._commands import FAILED, OK
from ._installing import ask, format_size, is_terminal
from ._options import add_json_option, make_parser
from ._output import pluralize, print_findings, print_json, print_stderr, print_stdout
from ._progress import ProgressLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.catalog import Report
    from prowess.install import PackedSkill, Published, SignWith

_EPILOG = """\
DEST is oci://REGISTRY/REPOSITORY or oci://REGISTRY/REPOSITORY:TAG. Without a tag it is the `version` in the metadata of
the skill, or `latest`. The skill is checked first, and errors end the command before anything is sent. The same skill
has the same digest on every machine. Credentials are those of `docker login` or `podman login`. DEST can also be a
bucket, s3://BUCKET/PATH, gs://, az:// or file:///FOLDER, with credentials from the variables of its cloud; there the
skill is NAME.tar.gz, and tags do not exist.
Exit codes: 0 published, or there already; 1 errors found, or not published."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("publish", epilog=_EPILOG)
    result.add_argument("dir", metavar="DIR", help="the folder of the skill")
    result.add_argument("dest", metavar="DEST", help="where to publish it")
    result.add_argument("--tag", metavar="TAG", action="append", default=[], help="a further name for it (repeatable)")
    result.add_argument(
        "--force",
        action="store_true",
        help="move a tag, or replace a skill of a bucket, that has another content now, without asking",
    )
    result.add_argument("--dry-run", action="store_true", help="check and pack the skill, and send nothing")
    group = result.add_argument_group("signing (`pip install 'prowess[sign]'`)")
    group.add_argument(
        "--sign", action="store_true", help="sign it with sigstore, as the workflow of the CI or in a browser"
    )
    group.add_argument("--sign-key", metavar="FILE", help="sign it with this private key (PEM, an elliptic curve)")
    group.add_argument("--sign-certificate", metavar="FILE", help="the certificate (PEM) of --sign-key")
    add_json_option(result)
    return result


def run(args: Namespace) -> int:
    """Check, pack and publish a skill.

    Raises:
        ConfigError: the folder is not that of a skill, or a file with credentials is invalid.
        InstallError: the destination is invalid or refuses the skill, or a file of it cannot be published.
    """
    from prowess.install import parse_destination, prepare_skill, publish_skill, signed_copy

    if not os.path.isfile(os.path.join(args.dir, SKILL_FILE)):
        message = f"`DIR` is not the folder of a skill: {neutral(args.dir)} has no {SKILL_FILE}"
        raise ConfigError(message, hint="name the folder of one skill")
    sign_with = _sign_with(args)
    place = parse_destination(args.dest)
    progress = ProgressLine()
    checked = report([args.dir], progress=progress.show_checked)
    progress.clear()
    if any(item.severity is Severity.ERROR for item in checked.findings):
        _print(args, None, None, checked)
        return FAILED

    def may_move(tag: str) -> bool:
        progress.clear()
        if args.force or args.json or not is_terminal():
            return bool(args.force)
        return ask(f"{neutral(place.url)} has other content under {quoted(tag)}; move it?")

    with nullcontext(args.dir) if sign_with is None else signed_copy(args.dir, sign_with) as folder:
        packed = prepare_skill(folder)
    try:
        published = publish_skill(
            packed, place, tags=args.tag, may_move=may_move, dry_run=args.dry_run, progress=progress.show
        )
    finally:
        progress.clear()
    _print(args, packed, published, checked)
    return OK


def _sign_with(args: Namespace) -> SignWith | None:
    """Return how the skill is signed, or `None` if it is not.

    Raises:
        ConfigError: the options do not fit together.
    """
    if args.sign_certificate is not None and args.sign_key is None:
        raise ConfigError("`--sign-certificate` needs the key", hint="name it with `--sign-key`")
    if args.sign and args.sign_key is not None:
        raise ConfigError("`--sign` and `--sign-key` exclude each other", hint="leave one of them out")
    if not args.sign and args.sign_key is None:
        return None
    from prowess.install import SignWith

    return SignWith(private_key=args.sign_key, certificate=args.sign_certificate)


def _print(args: Namespace, packed: PackedSkill | None, published: Published | None, checked: Report) -> None:
    if args.json:
        print_json(_as_json(packed, published, checked))
        return
    print_findings(checked.findings, to=print_stderr)
    if packed is None or published is None:
        print_stderr("nothing published")
        return
    print_stdout(published.reference)
    words = {
        "planned": "would be published",
        "unchanged": "is published already",
        "moved": "replaces what was there",
    }
    what = f"{pluralize(len(packed.tree.files), 'file')}, {format_size(packed.tree.size)}"
    tags = f" as {', '.join(published.tags)}" if published.tags else ""
    print_stderr(f"{published.name} ({what}) {words.get(published.state, 'published')}{tags}")


def _as_json(packed: PackedSkill | None, published: Published | None, checked: Report) -> dict[str, object]:
    findings = [item.as_dict() for item in checked.findings]
    if packed is None or published is None:
        return {"state": "failed", "findings": findings}
    return {
        "name": published.name,
        "state": published.state,
        "reference": published.reference,
        "digest": published.digest,
        "tags": [*published.tags],
        "bytes": published.size,
        "tree": packed.tree.digest,
        "files": [  # `size` as in `add --json`; `bytes` is its older name
            {"path": file.path, "mode": file.mode, "size": file.size, "bytes": file.size, "sha256": file.sha256}
            for file in packed.tree.files
        ],
        "findings": findings,
    }
