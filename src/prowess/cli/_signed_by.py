"""The options that say who must have signed a skill: `--signed-by`, `--certificate`, `--public-key`."""

from __future__ import annotations

import os

from prowess.errors import ConfigError, InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.install import SignedBy, Verification, VerifiedSkill

__all__ = ["add_signature_options", "check_signatures", "signed_by_from_args"]


def add_signature_options(parser: ArgumentParser) -> None:
    """Add the options to a parser."""
    group = parser.add_argument_group("signatures (`pip install 'prowess[sign]'`)")
    group.add_argument(
        "--signed-by",
        metavar="IDENTITY",
        help="sigstore says that this email address or workflow signed it; with --certificate: a name in it",
    )
    group.add_argument(
        "--issuer", metavar="URL", help="who vouches for IDENTITY (known for workflows of GitHub, GitLab)"
    )
    group.add_argument("--trusted-root", metavar="FILE", help="the trusted root of sigstore; then no network is needed")
    group.add_argument("--certificate", metavar="FILE", help="the authorities (PEM) whose certificates may sign")
    group.add_argument("--public-key", metavar="FILE", help="the key (PEM) that must have signed")
    group.add_argument(
        "--signature", metavar="FILE", help="the signature of the only SKILL (default: its file skill.oms.sig)"
    )


def signed_by_from_args(args: Namespace) -> SignedBy | None:
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


def check_signatures(found: Verification, signed_by: SignedBy, signature: str | None) -> Verification:
    """Return what was found with a difference for each skill whose signature is missing or wrong.

    Raises:
        ConfigError: the options do not fit together, or a package is missing.
    """
    return found.with_changes(skills=tuple(_checked(skill, signed_by, signature) for skill in found.skills))


def _checked(skill: VerifiedSkill, signed_by: SignedBy, signature: str | None) -> VerifiedSkill:
    from prowess.install import Difference, verify_signature

    if not os.path.isdir(skill.path):
        return skill  # that it is missing is a difference already
    try:
        verify_signature(skill.path, signed_by, signature)
    except InstallError as error:
        difference = Difference(kind="signature", found=str(error))
        return skill.with_changes(differences=(*skill.differences, difference))
    return skill
