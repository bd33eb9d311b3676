"""Skills go from a folder to a server and into a project, and no credential is written or shown on the way."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.lock import read_lock, read_tree
from support.installing import Machine, make_machine
from support.s3_server import KEY, SECRET, FakeBucket, use_endpoint
from support.site_server import Site, redirect
from support.web_server import static_server

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "token-of-the-test"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    monkeypatch.setattr("prowess.install.sources.bucket._buckets._RETRIES", 0)
    return make_machine(tmp_path, monkeypatch, capsys)


def written(top: Path) -> bytes:
    """Return everything below a folder, with the names of files."""
    return b"".join(str(path).encode() + (path.read_bytes() if path.is_file() else b"") for path in top.rglob("*"))


@pytest.mark.slow
def test_a_skill_is_published_into_a_bucket_and_installed_from_it(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    with FakeBucket({}) as bucket:
        use_endpoint(monkeypatch, bucket.url)
        assert main(["publish", str(machine.source / "skills/pdf"), "s3://bucket/team"]) == 0
        shown += machine.capsys.readouterr()
        assert shown[0] == "s3://bucket/team@pdf\n"
        assert [*bucket.objects] == ["team/pdf.tar.gz"]
        shown += machine.run("add", "s3://bucket/team", "--yes", "--json")
        shutil.rmtree(machine.project / ".agents")
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
        shown += machine.run("install")
        assert all(request.headers["x-amz-security-token"] == TOKEN for request in bucket.requests)
        assert read_tree(str(machine.project / ".agents/skills/pdf")) == read_tree(str(machine.source / "skills/pdf"))
        entry = read_lock(str(machine.lock)).skills["pdf"]
        assert (entry.source_type, entry.skill_path) == ("bucket", "pdf.tar.gz/SKILL.md")
        shown += machine.run("verify")
        shown += machine.run("add", "s3://bucket/missing", "--yes", code=1)
    shown += machine.run("add", "s3://bucket/team", "--yes", code=1)
    with Site({"*": redirect("https://other.example/")}) as site:
        use_endpoint(monkeypatch, site.url)
        shown += machine.run("add", "s3://bucket/team", "--yes", "--json", code=1)
    for secret in (KEY, SECRET, TOKEN):
        assert secret not in "".join(shown)
        assert secret.encode() not in written(tmp_path)


@pytest.mark.slow
def test_a_site_is_written_served_and_followed(machine: Machine, tmp_path: Path) -> None:
    index = ["index", str(machine.source / "skills"), "-o", str(tmp_path / "site")]
    assert main(index) == 0
    with static_server(tmp_path / "site") as server:
        machine.run("add", server.url, "pdf", "--yes")
        assert machine.run("verify")
        assert "nothing to update" in machine.run("update")[1]
        (machine.source / "skills/pdf/more.md").write_text("More.")
        assert main(index) == 0
        machine.run("update", "--yes")
        assert (machine.project / ".agents/skills/pdf/more.md").read_text() == "More."
        assert machine.run("verify")
        machine.run("add", server.url, "missing", "--yes", code=2)
