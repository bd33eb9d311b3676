"""`prowess publish --sign-key` signs what it publishes, and `prowess verify` accepts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("model_signing")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from prowess.cli import main
from prowess.install import SignWith
from support.skills import skill

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from support.registry import Registry


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A skill `pdf`, a pair of keys and a home, in the working directory."""
    skill(tmp_path / "pdf")
    key = ec.generate_private_key(ec.SECP256R1())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (tmp_path / "team.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "team.pem").write_bytes(public)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_signed_skill_is_verified_where_it_was_added(
    registry: Registry, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pdf/skill.oms.sig").write_text("an old signature")
    assert main(["publish", "pdf", f"oci://{registry.new_repository()}", "--sign-key", "team.key"]) == 0
    reference = capsys.readouterr().out.strip()
    assert (project / "pdf/skill.oms.sig").read_text() == "an old signature"
    assert main(["add", reference, "--yes"]) == 0
    assert main(["verify", "--public-key", "team.pem"]) == 0


def test_a_dry_run_says_that_the_signature_is_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["publish", "pdf", "oci://registry.example/pdf", "--dry-run"]
    assert main(arguments) == 0
    assert "(1 file," in capsys.readouterr().err
    assert main([*arguments, "--sign-key", "team.key"]) == 0
    assert "(2 files," in capsys.readouterr().err


def test_sign_uses_sigstore(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    asked = []

    def signed_copy(folder: str, sign_with: SignWith) -> AbstractContextManager[str]:
        from contextlib import nullcontext

        asked.append(sign_with)
        return nullcontext(folder)

    monkeypatch.setattr("prowess.install.signed_copy", signed_copy, raising=False)
    assert main(["publish", "pdf", "oci://registry.example/pdf", "--dry-run", "--sign"]) == 0
    assert asked == [SignWith()]


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["--sign-certificate", "file"], 2, "needs the key"),
        (["--sign", "--sign-key", "team.key"], 2, "exclude each other"),
        (["--sign-key", "missing"], 1, "cannot sign the skill"),
        (["--sign-key", "team.pem"], 1, "cannot sign the skill"),
    ],
)
def test_a_skill_that_cannot_be_signed_is_not_published(
    arguments: list[str], code: int, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", "pdf", "oci://registry.example/pdf", "--dry-run", *arguments]) == code
    captured = capsys.readouterr()
    assert problem in captured.err
    assert captured.out == ""
