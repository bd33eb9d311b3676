from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("model_signing")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from prowess.errors import ConfigError, InstallError
from prowess.install import SignedBy, SignWith, sign_skill, verify_signature
from prowess.lock import read_tree
from support.signed_skills import sign_as, statement
from support.sigstore_authority import Authority

if TYPE_CHECKING:
    from pathlib import Path

ADA, ISSUER = "ada@example.com", "https://accounts.example"
WORKFLOW = "https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/v1"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "pdf"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads PDFs.\n---\n")
    (folder / "scripts/run.py").write_text("print(1)\n")
    return folder


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def trusted_root(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("authority") / "trusted_root.json"
    path.write_text(json.dumps(authority.trusted_root()))
    return str(path)


def sign(authority: Authority, folder: Path, identity: str = ADA, issuer: str = ISSUER, **changes: Any) -> None:
    sign_as(authority, folder, identity, issuer, **changes)


def by_ada(trusted_root: str) -> SignedBy:
    return SignedBy(identity=ADA, issuer=ISSUER, trusted_root=trusted_root)


def test_a_skill_signed_with_sigstore_is_accepted_offline(skill: Path, authority: Authority, trusted_root: str) -> None:
    sign(authority, skill)
    assert verify_signature(str(skill), by_ada(trusted_root)) == read_tree(str(skill))


def test_the_signature_may_be_beside_the_skill(skill: Path, authority: Authority, trusted_root: str) -> None:
    sign(authority, skill)
    elsewhere = skill.parent / "bundle.json"
    (skill / "skill.oms.sig").rename(elsewhere)
    assert verify_signature(str(skill), by_ada(trusted_root), str(elsewhere)) == read_tree(str(skill))


def test_the_issuer_of_a_workflow_is_known(skill: Path, authority: Authority, trusted_root: str) -> None:
    sign(authority, skill, WORKFLOW, "https://token.actions.githubusercontent.com")
    verify_signature(str(skill), SignedBy(identity=WORKFLOW, trusted_root=trusted_root))
    sign(authority, skill, WORKFLOW, "https://evil.example")
    with pytest.raises(InstallError, match="not valid"):
        verify_signature(str(skill), SignedBy(identity=WORKFLOW, trusted_root=trusted_root))


@pytest.mark.parametrize(("identity", "issuer"), [("eve@example.com", ISSUER), (ADA, "https://evil.example")])
def test_a_signature_of_someone_else_is_refused(
    skill: Path, authority: Authority, trusted_root: str, identity: str, issuer: str
) -> None:
    sign(authority, skill, identity, issuer)
    with pytest.raises(InstallError, match="its signature is not valid"):
        verify_signature(str(skill), by_ada(trusted_root))


def test_a_signature_of_another_authority_is_refused(skill: Path, trusted_root: str) -> None:
    sign(Authority(), skill)
    with pytest.raises(InstallError, match="its signature is not valid"):
        verify_signature(str(skill), by_ada(trusted_root))


def change(folder: Path) -> None:
    (folder / "scripts/run.py").write_text("print(2)\n")


def add(folder: Path) -> None:
    (folder / ".gitattributes").write_text("* text\n")


def remove(folder: Path) -> None:
    (folder / "scripts/run.py").unlink()


def replace_by_link(folder: Path) -> None:
    (folder / "copy.py").write_text("print(1)\n")
    (folder / "scripts/run.py").unlink()
    (folder / "scripts/run.py").symlink_to("../copy.py")


@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        pytest.param(change, "`scripts/run.py` changed since it was signed", id="changed"),
        pytest.param(add, "`.gitattributes` is not covered by the signature", id="added"),
        pytest.param(remove, "`scripts/run.py` is missing", id="removed"),
        pytest.param(replace_by_link, "`scripts/run.py` changed since it was signed", id="link"),
    ],
)
def test_a_file_that_was_not_signed_so_is_refused(
    skill: Path, authority: Authority, trusted_root: str, tamper: Any, problem: str
) -> None:
    sign(authority, skill)
    tamper(skill)
    with pytest.raises(InstallError, match=problem):
        verify_signature(str(skill), by_ada(trusted_root))


def test_a_statement_cannot_exempt_files(skill: Path, authority: Authority, trusted_root: str) -> None:
    changed = statement(skill)["predicate"]
    changed["serialization"]["ignore_paths"].append("scripts")
    changed["resources"] = [item for item in changed["resources"] if item["name"] == "SKILL.md"]
    digest = hashlib.sha256(bytes.fromhex(changed["resources"][0]["digest"])).hexdigest()
    sign(authority, skill, predicate=changed, subject=[{"name": "pdf", "digest": {"sha256": digest}}])
    with pytest.raises(InstallError, match=r"`scripts/run\.py` is not covered"):
        verify_signature(str(skill), by_ada(trusted_root))


@pytest.mark.parametrize(
    "changes",
    [
        {"predicateType": "https://slsa.dev/provenance/v1"},
        {"_type": "other"},
        {"predicate": {}},
        {"predicate": []},
        {"subject": []},
        {"subject": [{"name": "pdf", "digest": {"sha256": "00"}}]},
        {"predicate": {"serialization": {"method": "shards", "hash_type": "sha256"}, "resources": []}},
        {"predicate": {"serialization": {"method": "files", "hash_type": "sha256"}, "resources": [{"name": "a"}]}},
    ],
)
def test_another_statement_of_the_same_signer_is_refused(
    skill: Path, authority: Authority, trusted_root: str, changes: dict[str, Any]
) -> None:
    sign(authority, skill, **changes)
    with pytest.raises(InstallError, match="its signature is not valid"):
        verify_signature(str(skill), by_ada(trusted_root))


def test_a_statement_that_names_a_file_twice_is_refused(skill: Path, authority: Authority, trusted_root: str) -> None:
    changed = statement(skill)
    resources = changed["predicate"]["resources"] * 2
    total = hashlib.sha256(b"".join(bytes.fromhex(item["digest"]) for item in resources)).hexdigest()
    changed["predicate"]["resources"] = resources
    changed["subject"][0]["digest"]["sha256"] = total
    sign(authority, skill, **changed)
    with pytest.raises(InstallError, match="one SHA-256 of each file"):
        verify_signature(str(skill), by_ada(trusted_root))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"dsseEnvelope": 1}', b"null"])
@pytest.mark.parametrize("kind", ["sigstore", "key", "certificate"])
def test_garbage_is_no_signature(skill: Path, keys: dict[str, str], trusted_root: str, data: bytes, kind: str) -> None:
    (skill / "skill.oms.sig").write_bytes(data)
    signed_by = {
        "sigstore": by_ada(trusted_root),
        "key": SignedBy(public_key=keys["public"]),
        "certificate": SignedBy(certificate=keys["authority"]),
    }[kind]
    with pytest.raises(InstallError, match="its signature is not valid"):
        verify_signature(str(skill), signed_by)


def test_a_signature_that_is_missing_a_link_or_huge_is_an_error(skill: Path, trusted_root: str) -> None:
    signature = skill / "skill.oms.sig"
    with pytest.raises(InstallError, match="no such file"):
        verify_signature(str(skill), by_ada(trusted_root))
    signature.symlink_to("/etc/passwd")
    with pytest.raises(InstallError, match="it is a link"):
        verify_signature(str(skill), by_ada(trusted_root))
    signature.unlink()
    signature.write_bytes(b" " * (5 << 20))
    with pytest.raises(InstallError, match="larger than 4 MiB"):
        verify_signature(str(skill), by_ada(trusted_root))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return files with a key pair, another public key, a certificate for the key and its authority."""
    folder = tmp_path_factory.mktemp("keys")
    root, key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    now = datetime.now(UTC)

    def certificate(name: str, public: Any, *, ca: bool) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "root")]))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(True, False, False, False, False, ca, ca, False, False), critical=True)
            .sign(root, hashes.SHA256())
        )

    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    public_format = serialization.PublicFormat.SubjectPublicKeyInfo
    contents = {
        "private": key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain),
        "public": key.public_key().public_bytes(pem, public_format),
        "other": other.public_key().public_bytes(pem, public_format),
        "certificate": certificate("Acme Skills", key.public_key(), ca=False).public_bytes(pem),
        "authority": certificate("root", root.public_key(), ca=True).public_bytes(pem),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: str(folder / name) for name in contents}


def test_a_skill_signed_with_a_key_is_accepted(skill: Path, keys: dict[str, str]) -> None:
    sign_skill(str(skill), str(skill / "skill.oms.sig"), SignWith(private_key=keys["private"]))
    verify_signature(str(skill), SignedBy(public_key=keys["public"]))
    with pytest.raises(InstallError, match="its signature is not valid"):
        verify_signature(str(skill), SignedBy(public_key=keys["other"]))
    with pytest.raises(InstallError, match="its signature is not valid"):
        verify_signature(str(skill), SignedBy(certificate=keys["authority"]))


def test_a_skill_signed_with_a_certificate_is_accepted(skill: Path, keys: dict[str, str]) -> None:
    sign_with = SignWith(private_key=keys["private"], certificate=keys["certificate"])
    sign_skill(str(skill), str(skill / "skill.oms.sig"), sign_with)
    verify_signature(str(skill), SignedBy(certificate=keys["authority"]))
    verify_signature(str(skill), SignedBy(certificate=keys["authority"], identity="Acme Skills"))
    with pytest.raises(InstallError, match="signed by Acme Skills"):
        verify_signature(str(skill), SignedBy(certificate=keys["authority"], identity="Evil Skills"))


def test_a_changed_or_added_file_breaks_a_signature_with_a_key(skill: Path, keys: dict[str, str]) -> None:
    sign_skill(str(skill), str(skill / "skill.oms.sig"), SignWith(private_key=keys["private"]))
    (skill / ".gitignore").write_text("*\n")
    with pytest.raises(InstallError, match=r"`\.gitignore` is not covered"):
        verify_signature(str(skill), SignedBy(public_key=keys["public"]))
    (skill / ".gitignore").unlink()
    (skill / "SKILL.md").write_text("changed")
    with pytest.raises(InstallError, match="its signature is not valid"):
        verify_signature(str(skill), SignedBy(public_key=keys["public"]))


def test_a_signature_adds_nothing_to_what_a_command_writes(
    skill: Path, keys: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The library prints about signatures without the digest of their key."""
    signature = skill / "skill.oms.sig"
    sign_skill(str(skill), str(signature), SignWith(private_key=keys["private"]))
    bundle = json.loads(signature.read_text())
    del bundle["verificationMaterial"]["publicKey"]["hint"]
    signature.write_text(json.dumps(bundle))
    verify_signature(str(skill), SignedBy(public_key=keys["public"]))
    assert capsys.readouterr().out == ""


def test_a_payload_exchanged_after_signing_is_refused(skill: Path, keys: dict[str, str]) -> None:
    signature = skill / "skill.oms.sig"
    sign_skill(str(skill), str(signature), SignWith(private_key=keys["private"]))
    (skill / "SKILL.md").write_text("changed")
    bundle = json.loads(signature.read_text())
    bundle["dsseEnvelope"]["payload"] = base64.b64encode(json.dumps(statement(skill)).encode()).decode()
    signature.write_text(json.dumps(bundle))
    with pytest.raises(InstallError, match="its signature is not valid"):
        verify_signature(str(skill), SignedBy(public_key=keys["public"]))


def test_a_skill_with_links_is_not_signed(skill: Path, keys: dict[str, str]) -> None:
    (skill / "link").symlink_to("SKILL.md")
    with pytest.raises(InstallError, match="`link` is a link"):
        sign_skill(str(skill), str(skill / "skill.oms.sig"), SignWith(private_key=keys["private"]))


def test_an_identity_without_an_issuer_is_wrong_use_also_without_a_signature(skill: Path) -> None:
    with pytest.raises(ConfigError, match="who vouches"):
        verify_signature(str(skill), SignedBy(identity=ADA))


@pytest.mark.parametrize(
    ("signed_by", "problem"),
    [
        (SignedBy(), "who must have signed"),
        (SignedBy(identity=ADA), "who vouches"),
        (SignedBy(identity=ADA, public_key="key"), "no identity"),
        (SignedBy(certificate="file", issuer=ISSUER), "for sigstore"),
        (SignedBy(certificate="missing"), "the certificate or key is invalid"),
        (SignedBy(public_key="missing"), "the certificate or key is invalid"),
        (SignedBy(identity=ADA, issuer=ISSUER, trusted_root="missing"), "trusted root `missing` is invalid"),
    ],
)
def test_arguments_that_do_not_fit_are_wrong_use(skill: Path, signed_by: SignedBy, problem: str) -> None:
    (skill / "skill.oms.sig").write_text("{}")
    with pytest.raises(ConfigError, match=problem):
        verify_signature(str(skill), signed_by)


def test_a_key_that_cannot_be_read_is_an_error(skill: Path) -> None:
    with pytest.raises(InstallError, match="cannot sign the skill"):
        sign_skill(str(skill), str(skill / "skill.oms.sig"), SignWith(private_key="missing"))
