"""Check who signed a skill, and sign one, in the format of OpenSSF Model Signing.

The signature is a sigstore bundle beside the files that it covers, by default `skill.oms.sig` in the folder of the
skill. It contains an in-toto statement with the digest of each file (https://model_signing/signature/v1.0). `sigstore`
and `model-signing` check the signature; which files it must cover is decided here, more strictly than there: all of
them, also those that the statement lists as ignored. Modes are not in the statement; the lock has them.
"""

from __future__ import annotations

import base64
import os
import sys
from contextlib import contextmanager, redirect_stdout, suppress

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, open_fd
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import ConfigError, InstallError, SkillError
from prowess.lock import LINK, Tree, copy_tree, read_tree
from prowess.skill import sealed_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

SIGNATURE_FILE = "skill.oms.sig"
_MAX_BYTES = 4 << 20
_MAX_SHOWN = 3
_STATEMENT, _PREDICATE = "https://in-toto.io/Statement/v1", "https://model_signing/signature/v1.0"
_PAYLOAD_TYPE = "application/vnd.in-toto+json"
_ISSUERS = (
    ("https://github.com/", "https://token.actions.githubusercontent.com"),
    ("https://gitlab.com/", "https://gitlab.com"),
)
"""Who vouches for identities that begin so: workflows of CI."""


class SignedBy(Frozen):
    """Who must have signed a skill: an identity of sigstore, or anyone with a certificate or key."""

    identity: str | None = None
    """An email address, or the URL of a workflow; of a certificate a name in it."""
    issuer: str | None = None
    """Of the identity; known for workflows of GitHub and GitLab."""
    trusted_root: str | None = None
    """A file with a trusted root of sigstore; by default the public one, which is fetched over the network."""
    certificate: str | None = None
    """A file (PEM) with the certificates of the authorities that are trusted; sigstore is not used."""
    public_key: str | None = None
    """A file (PEM) with the key that must have signed; sigstore is not used."""


class SignWith(Frozen):
    """How a skill is signed: with sigstore, unless a private key is given."""

    private_key: str | None = None
    """A file (PEM) with an elliptic-curve key."""
    certificate: str | None = None
    """A file (PEM) with the certificate of the key; then the certificates that vouch for it may follow."""
    token: str | None = None
    """An OpenID Connect token for sigstore; by default that of the CI, or one from a browser."""


def verify_signature(folder: str, signed_by: SignedBy, signature: str | None = None) -> Tree:
    """Check that all files of a skill are those that someone signed, and return them.

    Args:
        folder: of the skill.
        signed_by: who must have signed it.
        signature: its file; by default `skill.oms.sig` in the folder.

    Raises:
        ConfigError: the arguments do not fit together, or a package is missing.
        InstallError: the signature is missing, invalid, or by someone else, or a file is not what was signed.
    """
    _check_arguments(signed_by)
    path = os.path.join(folder, SIGNATURE_FILE) if signature is None else signature
    try:
        bundle = read_file(path, _MAX_BYTES)
    except UnreadableError as error:
        what = f"its signature {quoted(os.path.basename(path), PATH_LIMIT)}"
        raise InstallError(f"{what} cannot be read: {error.message}", hint="ask its author to sign it") from None
    if signed_by.certificate is None and signed_by.public_key is None:
        payload = _verified_by_sigstore(bundle, signed_by)
    else:
        payload = _verified_by_key(folder, bundle, signed_by)
    tree = read_tree(folder)
    _compare(tree, _statement_digests(payload), path=SIGNATURE_FILE if signature is None else None)
    return tree


def sign_skill(folder: str, into: str, sign_with: SignWith) -> None:
    """Sign all files of a skill but an old signature.

    Args:
        folder: of the skill.
        into: the file to write, usually `skill.oms.sig` in the folder.
        sign_with: how.

    Raises:
        ConfigError: a package, key or certificate is missing or invalid.
        InstallError: the skill has links, which the format does not cover, or signing failed.
    """
    tree = read_tree(folder)
    links = [file.path for file in tree.files if file.mode == LINK]
    if links:
        raise InstallError(f"{quoted(links[0], PATH_LIMIT)} is a link, which a signature cannot cover", hint="copy it")
    with _packages():
        from model_signing import hashing, signing
    config = signing.Config()  # type: ignore[no-untyped-call]
    hashed = hashing.Config()  # type: ignore[no-untyped-call]
    hashed.set_ignored_paths(paths=[os.path.join(folder, SIGNATURE_FILE)], ignore_git_paths=False)
    config.set_hashing_config(hashed)
    with _failures("cannot sign the skill"):
        if sign_with.private_key is None:
            config.use_sigstore_signer(identity_token=sign_with.token, use_ambient_credentials=True)
        elif sign_with.certificate is None:
            config.use_elliptic_key_signer(private_key=sign_with.private_key)
        else:
            config.use_certificate_signer(
                private_key=sign_with.private_key,
                signing_certificate=sign_with.certificate,
                certificate_chain=[sign_with.certificate],
            )
        config.sign(folder, into)


@contextmanager
def signed_copy(folder: str, sign_with: SignWith) -> Iterator[str]:
    """Yield a signed copy of a skill, which is removed at the end of the block; an old signature is left out.

    Raises:
        ConfigError: as `sign_skill` does.
        InstallError: as `sign_skill` does, or the skill cannot be copied.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="prowess-sign-") as top:
        with open_fd(top, FOLDER_FLAGS) as fd:
            copy_tree(folder, fd, "skill")
        copy = os.path.join(top, "skill")
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(copy, SIGNATURE_FILE))
        sign_skill(copy, os.path.join(copy, SIGNATURE_FILE), sign_with)
        yield copy


def _check_arguments(signed_by: SignedBy) -> None:
    if signed_by.public_key is not None and (signed_by.certificate or signed_by.identity):
        raise ConfigError("a public key has no identity and no certificate", hint="give the key alone")
    if (signed_by.certificate or signed_by.public_key) and (signed_by.issuer or signed_by.trusted_root):
        raise ConfigError("an issuer and a trusted root are for sigstore", hint="leave out the certificate or key")
    if not (signed_by.identity or signed_by.certificate or signed_by.public_key):
        raise ConfigError("no signer given: who must have signed the skill?", hint="give an identity, or a certificate")
    if signed_by.identity and not signed_by.certificate:
        _issuer_of(signed_by)


def _issuer_of(signed_by: SignedBy) -> str:
    """Return who vouches for the identity.

    Raises:
        ConfigError: that is not known.
    """
    identity = signed_by.identity or ""
    issuer = signed_by.issuer or next((url for start, url in _ISSUERS if identity.startswith(start)), None)
    if issuer is None:
        hint = "name the issuer of the identity (`--issuer`), such as https://accounts.google.com"
        raise ConfigError(f"who vouches for {quoted(identity)} is not known", hint=hint)
    return issuer


def _verified_by_sigstore(bundle: bytes, signed_by: SignedBy) -> bytes:
    """Return the payload of a bundle that an identity signed, according to a log that cannot be changed later."""
    issuer = _issuer_of(signed_by)
    with _packages():
        from sigstore.models import Bundle, TrustedRoot
        from sigstore.verify import Verifier
        from sigstore.verify.policy import Identity
    if signed_by.trusted_root is not None:
        with _failures(f"the trusted root {quoted(signed_by.trusted_root, PATH_LIMIT)} is invalid", ConfigError):
            verifier = Verifier(trusted_root=TrustedRoot.from_file(signed_by.trusted_root))
    else:
        hint = "without a network, give a trusted root as a file"
        with _failures("the trusted root of sigstore cannot be fetched", hint=hint):
            verifier = Verifier.production()
    with _failures("its signature is not valid"):
        kind, payload = verifier.verify_dsse(
            Bundle.from_json(bundle), Identity(identity=signed_by.identity or "", issuer=issuer)
        )
        if kind != _PAYLOAD_TYPE:
            raise ValueError("it signs something else than the files of a skill")
    return bytes(payload)


def _verified_by_key(folder: str, bundle: bytes, signed_by: SignedBy) -> bytes:
    """Return the payload of a bundle that was signed with a key, or with a certificate of an authority."""
    import json
    from pathlib import Path

    with _packages():
        from model_signing import verifying
    config = verifying.Config()  # type: ignore[no-untyped-call]
    with _failures("the certificate or key is invalid", ConfigError):
        if signed_by.public_key is not None:
            config.use_elliptic_key_verifier(public_key=signed_by.public_key)
        else:
            config.use_certificate_verifier(certificate_chain=[Path(signed_by.certificate or "")])
    # The library reads files by path: it gets a copy that no other process changes, and the bytes that are read here.
    with sealed_copy(folder, lambda _: None, compiled=True) as copy:
        checked = Path(f"{copy.folder}{os.extsep}{SIGNATURE_FILE}")
        checked.write_bytes(bundle)
        in_copy = Path(copy.folder, SIGNATURE_FILE)
        with _failures("its signature is not valid"):
            if in_copy.exists():
                os.chmod(copy.folder, 0o700)
                in_copy.unlink()
            with redirect_stdout(sys.stderr):  # the library prints about some signatures
                config.verify(Path(copy.folder), checked)
            content = json.loads(bundle)
            if signed_by.identity is not None:
                _check_certificate_name(content, signed_by.identity)
            envelope = content["dsseEnvelope"]
            if envelope["payloadType"] != _PAYLOAD_TYPE:
                raise ValueError("it signs something else than the files of a skill")
            return base64.b64decode(envelope["payload"])


def _check_certificate_name(bundle: Mapping[str, Any], identity: str) -> None:
    """Check that the certificate of a bundle is for a name, address or URL.

    Raises:
        ValueError: it is for others.
    """
    from cryptography import x509

    chain = bundle["verificationMaterial"]["x509CertificateChain"]["certificates"]
    certificate = x509.load_der_x509_certificate(base64.b64decode(chain[0]["rawBytes"]))
    names = {str(item.value) for item in certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)}
    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        alternatives = None
    for kind in (x509.RFC822Name, x509.DNSName, x509.UniformResourceIdentifier):
        names.update(alternatives.get_values_for_type(kind) if alternatives is not None else ())
    if identity not in names:
        raise ValueError(f"it was signed by {', '.join(sorted(names)) or 'someone without a name'}")


def _statement_digests(payload: bytes) -> dict[str, str]:
    """Return the SHA-256 of each file that a statement covers.

    Raises:
        InstallError: it is no statement about the files of a skill.
    """
    import hashlib
    import json

    with _failures("its signature is not valid"):
        statement = json.loads(payload)
        predicate = statement["predicate"]
        if (statement["_type"], statement["predicateType"]) != (_STATEMENT, _PREDICATE):
            raise ValueError("it signs something else than the files of a skill")
        serialization = predicate["serialization"]
        if (serialization["method"], serialization["hash_type"]) != ("files", "sha256"):
            raise ValueError("it does not have the SHA-256 of each file")
        total, digests = hashlib.sha256(), {}
        for resource in predicate["resources"]:
            name, digest = str(resource["name"]), bytes.fromhex(resource["digest"])
            if resource["algorithm"] != "sha256" or len(digest) != total.digest_size or name in digests:
                raise ValueError("it does not have one SHA-256 of each file")
            digests[name] = digest.hex()
            total.update(digest)
        (subject,) = statement["subject"]
        if subject["digest"]["sha256"] != total.hexdigest():
            raise ValueError("its digests do not belong together")
        return digests


def _compare(tree: Tree, signed: Mapping[str, str], path: str | None) -> None:
    """Check that the files of a skill are those of a statement.

    Raises:
        InstallError: files were changed, added or removed.
    """
    present = {file.path: file for file in tree.files if file.path != path}
    changed = [name for name in signed if name in present and present[name].sha256 != signed[name]]
    problems = {
        "changed since it was signed": changed,
        "is missing": [name for name in signed if name not in present],
        "is not covered by the signature": [
            name for name, file in present.items() if name not in signed or file.mode == LINK
        ],
    }
    for problem, names in problems.items():
        if names:
            shown = ", ".join(quoted(name, PATH_LIMIT) for name in sorted(names)[:_MAX_SHOWN])
            more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
            raise InstallError(f"{shown}{more} {problem}", hint="ask its author for the signed skill")


@contextmanager
def _packages() -> Iterator[None]:
    """Explain how to install what signatures need.

    Raises:
        ConfigError: a package is missing.
    """
    try:
        yield
    except ImportError as error:
        from prowess._internal.installer import install_command

        message = f"signatures need {neutral(error.name or 'sigstore')}"
        raise ConfigError(message, hint=install_command("sign")) from None


@contextmanager
def _failures(
    problem: str,
    kind: type[ConfigError | InstallError] = InstallError,
    *,
    hint: str = "ask its author to sign it again",
) -> Iterator[None]:
    """Turn what the libraries raise about a signature, which can be anything, into one error.

    Raises:
        ConfigError | InstallError: as `kind` says.
    """
    try:
        yield
    except SkillError:
        raise
    except Exception as error:  # noqa: BLE001
        reason = neutral(" ".join(str(error).split())[:300]) or type(error).__name__
        if isinstance(error, OSError) and isinstance(error.filename, str):
            reason = f"{quoted(error.filename, PATH_LIMIT)}: {describe_os_error(error)}"
        raise kind(f"{problem}: {reason}", hint="check the file" if kind is ConfigError else hint) from None
