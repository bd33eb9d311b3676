from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("model_signing")

from prowess.cli import main
from prowess.lock import Lock, LockedSkill, read_tree
from support.signed_skills import sign_as
from support.sigstore_authority import Authority
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

ADA, ISSUER = "ada@example.com", "https://accounts.example"


@pytest.fixture
def signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make a project with a locked, signed skill the working directory; return the options that accept it."""
    authority = Authority()
    folder = skill(tmp_path / ".agents/skills/pdf").parent
    sign_as(authority, folder, ADA, ISSUER)
    lock_again(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "root.json").write_text(json.dumps(authority.trusted_root()))
    monkeypatch.chdir(tmp_path)
    return ["--signed-by", ADA, "--issuer", ISSUER, "--trusted-root", "root.json"]


def lock_again(project: Path) -> None:
    tree = read_tree(str(project / ".agents/skills/pdf"))
    files = {file.path: f"{file.mode} sha256:{file.sha256}" for file in tree.files}
    locked = LockedSkill(name="pdf", source="a/b", source_type="github", tree_digest=tree.digest, files=files)
    (project / "skills-lock.json").write_text(Lock().with_skills([locked]).to_text())


def test_a_skill_that_the_identity_signed_is_a_success(signed: list[str]) -> None:
    assert main(["verify", *signed]) == 0


def test_a_file_that_is_locked_and_not_signed_is_a_difference(
    signed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".agents/skills/pdf/extra.md").write_text("extra")
    lock_again(tmp_path)
    assert main(["verify"]) == 0
    capsys.readouterr()
    assert main(["verify", *signed]) == 1
    out, err = capsys.readouterr()
    assert out == "signature   .agents/skills/pdf (`extra.md` is not covered by the signature)\n"
    assert err.startswith("1 of 1 skill differs")
    assert "ask the authors" in err
    assert main(["verify", *signed, "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["skills"]
    assert [(item["kind"], item["path"]) for item in found["differences"]] == [("signature", "")]


def test_another_signer_and_a_missing_signature_are_differences(
    signed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", *signed[:1], "eve@example.com", *signed[2:]]) == 1
    assert "its signature is not valid" in capsys.readouterr().out
    (tmp_path / ".agents/skills/pdf/skill.oms.sig").unlink()
    lock_again(tmp_path)
    assert main(["verify", *signed]) == 1
    assert "cannot be read: no such file" in capsys.readouterr().out


def test_the_signature_may_be_another_file(signed: list[str], tmp_path: Path) -> None:
    (tmp_path / ".agents/skills/pdf/skill.oms.sig").rename(tmp_path / "pdf.sig")
    lock_again(tmp_path)
    assert main(["verify", *signed]) == 1
    assert main(["verify", "pdf", *signed, "--signature", "pdf.sig"]) == 0


def test_a_missing_skill_is_one_difference(
    signed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".agents/skills/pdf").rename(tmp_path / "elsewhere")
    assert main(["verify", *signed]) == 1
    assert capsys.readouterr().out == "missing     .agents/skills/pdf\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--issuer", ISSUER], "`--issuer` is for a signature"),
        (["--trusted-root", "root.json"], "`--trusted-root` is for a signature"),
        (["--signature", "file"], "`--signature` is for a signature"),
        (["--signed-by", ADA], "who vouches for"),
        (["--signed-by", ADA, "--public-key", "key"], "a public key has no identity"),
        (["--public-key", "missing"], "the certificate or key is invalid"),
        (["--public-key", "key", "--signature", "file"], "`--signature` is for one skill"),
    ],
)
@pytest.mark.usefixtures("signed")
def test_options_that_do_not_fit_are_wrong_use(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", *arguments]) == 2
    assert problem in capsys.readouterr().err
