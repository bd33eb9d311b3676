"""prowess publish: publish a skill to a registry or a bucket, or as a file."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from urllib.parse import unquote

from prowess._internal.files import SKILL_FILE, is_inside, real_path
from prowess._internal.text import neutral, quoted
from prowess.checks import absolute_paths, report
from prowess.cli._archives import say_of_archives
from prowess.cli._commands import FAILED
from prowess.cli._files import place_to_write
from prowess.cli._output import (
    Message,
    ProgressLine,
    Result,
    as_dicts,
    ask,
    can_ask,
    finding_messages,
    format_size,
    json_fields,
    pluralize,
    print_stderr,
)
from prowess.errors import ConfigError
from prowess.filesystem import Question
from prowess.findings import Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.checks import Report
    from prowess.cli._parser import Arguments, Parser
    from prowess.install import PackedSkill, Published, SignWith, Source

EPILOG = """\
DEST is oci://REGISTRY/REPOSITORY or oci://REGISTRY/REPOSITORY:TAG. Without a tag it is the `version` in the metadata of
the skill, or `latest`. The skill is checked first, and errors end the command before anything is sent. The same skill
has the same digest on every machine. Credentials are those of `docker login` or `podman login`. DEST can also be a
bucket, s3://BUCKET/PATH, gs://, az:// or file:///FOLDER, with credentials from the variables of its cloud; there the
skill is NAME.tar.gz, and tags do not exist. NAME.skill and NAME.zip are files.
Exit codes: 0 published, or there already; 1 errors found, or not published."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    skill = "the skill: its folder, its name as `prowess list` shows it, or a file `.skill` or `.zip`"
    parser.argument("skill", "SKILL", skill)
    parser.argument("dest", "DEST", "where to publish it")
    parser.values("--tag", "TAG", "a further name for it (repeatable)")
    parser.values(
        "--force",
        "FILE",
        "publish this file of the skill although it may have a secret (repeatable); without FILE: move a tag, or "
        "replace a skill of a bucket, that has another content now, without asking",
        nargs="?",
        const="",
    )
    parser.flag("--dry-run", "check and pack the skill, and send nothing")
    group = parser.group("signing (the extra `sign`)")
    group.flag("--sign", "sign it with sigstore, as the workflow of the CI or in a browser")
    group.value("--sign-key", "FILE", "sign it with this private key (PEM, an elliptic curve)")
    group.value("--sign-certificate", "FILE", "the certificate (PEM) of --sign-key")
    parser.add_json()


def run(args: Arguments) -> Result:
    """Check, pack and publish a skill.

    Raises:
        SkillNotFoundError: no skill has the name, or is in the folder.
        ConfigError: the destination or a file with credentials is invalid.
        InstallError: the destination refuses the skill, or a file of it cannot be published.
    """
    from prowess.install import parse_destination

    sign_with = _sign_with(args)
    place = parse_destination(args.dest)
    with _skill_of(args.skill) as (skill, original, archives):
        is_copy = sign_with is None and place.kind == "folder"
        result = _publish(args, place, skill, original if is_copy else b"", sign_with)
        return say_of_archives(result, archives, real_path("."))


def _publish(args: Arguments, place: Source, skill: str, original: bytes, sign_with: SignWith | None) -> Result:
    """Check, pack and publish the skill of a folder.

    Args:
        args: of the command.
        place: where to publish.
        skill: its folder.
        original: the archive that contains it alone, if it is published as an archive too.
        sign_with: how it is signed.
    """
    from prowess.install import Publication, prepare_skill, publish_skill, signed_copy

    if place.kind == "folder":
        place_to_write("DEST", place.url, [skill])
        if is_inside(real_path(place.url), real_path(skill)):
            message = f"{neutral(args.dest)} would be a file of the skill itself"
            raise ConfigError(message, hint="write it beside the folder of the skill")
    if place.url.startswith("file://"):
        place_to_write("DEST", unquote(place.url.removeprefix("file://")), [skill])
    progress = ProgressLine()
    checked = report(Question.about("."), absolute_paths([skill]), progress=progress.show_checked)
    progress.clear()
    if any(item.severity is Severity.ERROR for item in checked.findings):
        text = (*finding_messages(checked.findings), Message("nothing published"))
        return Result({"state": "failed", "findings": as_dicts(checked.findings)}, text, FAILED)

    def may_move(tag: str) -> bool:
        progress.clear()
        if "" in args.force or args.json or not can_ask():
            return "" in args.force
        return ask(f"{neutral(place.url)} has other content under {quoted(tag)}; move it?")

    with nullcontext(skill) if sign_with is None else signed_copy(skill, sign_with) as folder:
        packed = prepare_skill(folder, filter(None, args.force)).with_changes(original=original)
    if not args.json:
        files = [f"  {neutral(file.path)} ({format_size(file.size)})" for file in packed.tree.files]
        print_stderr("\n".join([f"files of {quoted(packed.name)}:", *files]))
    try:
        published = publish_skill(
            Publication(
                packed=packed,
                place=place,
                tags=tuple(args.tag),
                may_move=may_move,
                dry_run=args.dry_run,
                progress=progress.show,
            )
        )
    finally:
        progress.clear()
    return Result(lambda: _as_dict(packed, published, checked), _text(packed, published, checked))


@contextmanager
def _skill_of(reference: str) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Yield the folder of the skill that an argument names.

    If that is an archive, also its bytes if it contains nothing else, and its path by the folder with its content.

    Raises:
        InstallError: an archive is damaged, or has not one skill.
    """
    from prowess.install import is_archive_file, read_archive, skill_in, unpacked_archive

    if not is_archive_file(reference):
        yield _folder_of(reference), b"", {}
        return
    data = read_archive(reference)
    with unpacked_archive(reference, data) as folder:
        skill = skill_in(folder, reference)
        is_alone = os.path.dirname(skill) == folder and os.listdir(folder) == [os.path.basename(skill)]
        yield skill, data if is_alone else b"", {folder: real_path(reference)}


def _folder_of(reference: str) -> str:
    """Return the folder of the skill that an argument names.

    Raises:
        SkillNotFoundError: no skill has that name.
        AmbiguousSkillError: several skills have the name.
        ConfigError: the folder is not that of a skill.
    """
    if os.path.isfile(os.path.join(reference, SKILL_FILE)):
        return reference
    if os.path.isdir(reference):
        message = f"{neutral(reference)} is not the folder of a skill: it has no {SKILL_FILE}"
        raise ConfigError(message, hint="name the folder of one skill")
    from prowess.catalog import discover
    from prowess.cli._references import find_skill

    return os.path.dirname(find_skill(discover("."), reference).path)


def _sign_with(args: Arguments) -> SignWith | None:
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


def _text(packed: PackedSkill, published: Published, checked: Report) -> Iterator[str]:
    yield from finding_messages(checked.findings)
    yield published.reference
    words = {
        "planned": "would be published",
        "unchanged": "is published already",
        "moved": "replaces what was there",
    }
    what = f"{pluralize(len(packed.tree.files), 'file')}, {format_size(packed.tree.size)}"
    tags = f" as {', '.join(published.tags)}" if published.tags else ""
    yield Message(f"{published.name} ({what}) {words.get(published.state, 'published')}{tags}")


def _as_dict(packed: PackedSkill, published: Published, checked: Report) -> dict[str, object]:
    return {
        **json_fields(published, "name state reference digest tags"),
        "bytes": published.size,
        "tree": packed.tree.digest,
        "files": [  # `size` as in `add --json`; `bytes` is its older name
            {**json_fields(file, "path mode size"), "bytes": file.size, "sha256": file.sha256}
            for file in packed.tree.files
        ],
        "findings": as_dicts(checked.findings),
    }
