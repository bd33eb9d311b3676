"""Skills of a snapshot are fetched when they are used, and are what the snapshot says or refused."""

from __future__ import annotations

import gzip
import io
import pickle
import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess import Session, discover
from prowess.errors import ActivationError, InstallError, SkillError, SkillFileError
from prowess.install.snapshot import SnapshotProvider, write_snapshot
from prowess.session import Trust
from prowess.session._remote_files import skill_folder
from support.skills import skill

if TYPE_CHECKING:
    from prowess.catalog import Catalog

SCRIPT = "#!/usr/bin/env python3\nprint('it runs')\n"


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A snapshot of two skills, and an empty store."""
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    top = tmp_path / "skills"
    skill(top / "team/pdf", description="Fills a form.", body="Read the reference.", more="allowed-tools: Bash\n")
    (top / "team/pdf/scripts").mkdir()
    (top / "team/pdf/scripts/run.py").write_text(SCRIPT)
    (top / "team/pdf/scripts/run.py").chmod(0o755)
    (top / "team/pdf/reference.md").write_text("Zebra.")
    skill(top / "wiki", description="Writes a page.")
    write_snapshot(top, tmp_path / "out")
    return tmp_path / "out"


def see(out: Path, tmp_path: Path) -> Catalog:
    return discover(tmp_path, home=tmp_path / "home", providers=[SnapshotProvider(out, max_age=0)])


def archive(out: Path, tmp_path: Path) -> Path:
    digest = see(out, tmp_path).resolve("pdf").digest or ""
    return out / f"skills/{digest.removeprefix('sha256:')}.tar.gz"


def test_a_skill_is_fetched_when_it_is_activated(out: Path, tmp_path: Path) -> None:
    """And once: it is found in the store later, though its place is gone."""
    session = Session(see(out, tmp_path))
    assert "Zebra" not in session.static_block()
    (out / "skills").rename(tmp_path / "away")
    with pytest.raises(ActivationError, match="cannot be read now: cannot read skills/"):
        session.activate("pdf")
    (tmp_path / "away").rename(out / "skills")
    content = session.activate("pdf").content
    assert "Read the reference." in content
    assert f"come from the snapshot `file://{out}`, not from this machine" in content
    shutil.rmtree(out / "skills")
    assert session.read("pdf", "reference.md").text == "Zebra."
    other = Session(see(out, tmp_path))
    assert "Read the reference." in other.activate("pdf").content
    with pytest.raises(SkillFileError, match="has no file"):
        other.read("pdf", "../../etc/passwd".replace("../", "") + "x")


def test_its_scripts_run_only_if_the_user_trusts_the_skill(out: Path, tmp_path: Path) -> None:
    """As with other remote skills: trust is for these bytes of this place; `allowed-tools` is not read."""
    session = Session(see(out, tmp_path), trust=Trust(str(tmp_path / "trust.json")))
    session.activate("pdf")
    assert session.granted("pdf").scripts == ()
    entry = session.catalog.resolve("pdf")
    assert session.catalog.readers[entry.path].read(entry).allowed_tools == ()
    with skill_folder(session.catalog, entry) as folder:
        assert (Path(folder) / "scripts/run.py").read_text() == SCRIPT
        session.trust.allow(entry, folder=folder)
    assert session.granted("pdf").scripts == ("scripts/run.py",)
    assert not Path(folder).exists()
    (tmp_path / "skills/team/pdf/reference.md").write_text("Walrus.")
    write_snapshot(tmp_path / "skills", out)
    session.update(see(out, tmp_path))
    session.activate("pdf")
    assert session.granted("pdf").scripts == ()


def test_a_session_with_a_snapshot_is_searched_and_mentioned(out: Path, tmp_path: Path) -> None:
    session = Session(see(out, tmp_path))
    assert [hit.entry.name for hit in session.search("form")] == ["pdf"]
    assert [mention.name for mention in session.mentions("please use the wiki skill, then $pdf")] == ["wiki", "pdf"]
    assert len(session.inject("use $pdf now")) == 1
    copy = pickle.loads(pickle.dumps(session.catalog))  # noqa: S301
    assert Session(copy).activate("wiki").content


def replace_content(path: Path) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in (("SKILL.md", "---\nname: pdf\ndescription: Fills a form.\n---\nEvil.\n"),):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))


def add_link(path: Path) -> None:
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo("SKILL.md")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info)


@pytest.mark.parametrize(
    "change",
    [
        replace_content,
        add_link,
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(gzip.compress(bytes(1 << 20))),
    ],
    ids=["other content", "a link", "truncated", "empty", "zeros"],
)
def test_an_archive_that_is_not_what_the_snapshot_says_is_refused(out: Path, tmp_path: Path, change: Any) -> None:
    """Nothing of it is shown, and nothing is kept under the digest."""
    change(archive(out, tmp_path))
    catalog = see(out, tmp_path)
    session, entry = Session(catalog), catalog.resolve("pdf")
    provider: Any = catalog.readers[entry.path]
    for use in (
        lambda: session.activate("pdf"),
        lambda: session.read("pdf", "SKILL.md"),
        lambda: provider.copy(entry).__enter__(),
        lambda: provider.files(entry),
    ):
        with pytest.raises(SkillError):
            use()


def test_a_changed_copy_in_the_store_is_fetched_again(out: Path, tmp_path: Path) -> None:
    catalog = see(out, tmp_path)
    entry = catalog.resolve("pdf")
    provider: Any = catalog.readers[entry.path]
    provider.read(entry)
    (stored,) = (tmp_path / "data").rglob("reference.md")
    stored.chmod(0o644)
    stored.write_text("Changed.")
    assert provider.read_file(entry, "reference.md") == b"Zebra."


def test_a_skill_whose_name_is_not_that_of_the_snapshot_is_refused(out: Path, tmp_path: Path) -> None:
    """A snapshot cannot offer a skill under the words of another one."""
    catalog = see(out, tmp_path)
    entry = catalog.resolve("pdf").with_changes(description="Something harmless.")
    with pytest.raises(ActivationError, match="its name or description is not the one in the snapshot"):
        catalog.readers[entry.path].read(entry)


def test_a_skill_of_the_project_around_the_folder_does_not_replace_one_in_it(tmp_path: Path) -> None:
    """An author has often installed the skills that are published, in the same repository."""
    (tmp_path / ".git").mkdir()
    skill(tmp_path / ".agents/skills/pdf", description="Another one.")
    skill(tmp_path / "skills/pdf", description="Fills a form.")
    skill(tmp_path / "skills/b/pdf", description="The second of its name.")
    skill(tmp_path / "skills/.agents/skills/wiki")
    report = write_snapshot(tmp_path / "skills", tmp_path / "out")
    assert (report.skills, len(report.findings)) == (2, 1)
    (tmp_path / "other/.git").mkdir(parents=True)
    seen = {entry.name: entry.description for entry in see(tmp_path / "out", tmp_path / "other").skills}
    assert (len(seen), seen["pdf"] != "Another one.") == (2, True)


def test_a_skill_with_a_link_is_left_out(tmp_path: Path) -> None:
    """An archive has no links, since not every system has them."""
    file = skill(tmp_path / "skills/pdf")
    (file.parent / "other.md").symlink_to("SKILL.md")
    report = write_snapshot(tmp_path / "skills", tmp_path / "out")
    assert (report.skills, [item.code for item in report.findings]) == (0, ["snapshot-skill"])
    with pytest.raises(InstallError):
        write_snapshot(tmp_path / "skills", tmp_path / "skills/pdf/SKILL.md")
