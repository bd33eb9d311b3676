from __future__ import annotations

import itertools
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import InstallError
from prowess.install.sources import Source
from prowess.install.sources.git import _repository as _git_repository, _skills as _git
from prowess.install.sources.git._repository import GitLimits
from support.git_server import (
    Behaviour,
    GitServer,
    Link,
    Objects,
    Raw,
    Submodule,
    commit,
    git,
    make_repository,
    skill_text,
)
from support.processes import processes_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prowess.install.sources import Fetched

    Fetch = Callable[..., Fetched]

pytestmark = pytest.mark.needs("git")

SKILL = skill_text("pdf")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    folder = tmp_path_factory.mktemp("repositories")
    make_repository(folder / "team.git", {"pdf": {"SKILL.md": SKILL}})
    make_repository(folder / "other.git", {"evil": {"SKILL.md": skill_text("evil")}})
    with GitServer(folder) as server:
        yield server


@pytest.fixture(autouse=True)
def _ordinary_server(server: GitServer) -> None:
    server.behaviour = Behaviour()
    server.seen.clear()


@pytest.fixture
def repository(tmp_path: Path) -> Callable[[dict[str, Any]], str]:
    def make(tree: dict[str, Any]) -> str:
        return f"file://{make_repository(tmp_path / 'hostile.git', tree)}"

    return make


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda **values: monkeypatch.setattr(_git, "LIMITS", GitLimits(**values))


def leaves_nothing(folder: Path) -> bool:
    """Return whether no process of git is left that works for the store in a folder."""
    return processes_end(str(folder / "store"))


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "ref",
    [
        "--upload-pack=touch marker",
        "-v",
        "a..b",
        "../../a",
        "a\x1b[31m",
        "a\nb",
        "+main",
        "main:refs/heads/x",
        "refs/*",
        "a@{1}",
        "^main",
        "main~1",
        "a b",
        "a.lock",
        "x" * 300,
    ],
)
def test_a_ref_that_git_reads_as_something_else_is_refused(ref: str, fetched: Fetch, server: GitServer) -> None:
    """A lock that was edited may contain it."""
    source = Source(kind="git", url=f"{server.url}/team.git", ref=ref, text="")
    with pytest.raises(InstallError, match="invalid branch, tag or commit"):
        fetched(source)
    with pytest.raises(InstallError, match="invalid branch, tag or commit"):
        fetched(Source(kind="git", url=f"{server.url}/team.git", text=""), revision=ref)
    assert server.seen == []


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% marker",
        "ext::https://example.org/a.git",
        "--upload-pack=x",
        "-oProxyCommand=x:a",
        "ssh://-oProxyCommand=x/a",
        "ssh://git@-oProxyCommand=x/a",
        "ssh://git:password@example.org/a",
        "git@-oProxyCommand=x:a",
        "git://example.org/a.git",
        "http://example.org/a.git",
        "http://127.0.0.1.example.org/a.git",
        "ftp://example.org/a.git",
        "fd::3",
        "https://user:password@example.org/a.git",
        "https://token@example.org/a.git",
        "/tmp/a.git",
        "https://example.org/a b",
        "https://example.org/\x1b[31m",
    ],
)
def test_a_url_that_starts_a_program_or_is_not_encrypted_is_refused(
    url: str, fetched: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # git would be missing
    with pytest.raises(InstallError) as caught:
        fetched(Source(kind="git", url=url, text=url))
    assert "git is missing" not in str(caught.value)
    assert "password@" not in f"{caught.value}{caught.value.hint}"
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("path", ["a\nHEAD", "../a", "/etc", "a//b", "a\x1b[31m", ".git/x", "a\\b"])
def test_a_folder_outside_a_repository_is_refused(path: str, fetched: Fetch, server: GitServer) -> None:
    with pytest.raises(InstallError):
        fetched(Source(kind="git", url=f"{server.url}/team.git", path=path, text=""))
    assert server.seen == []


def test_a_users_setting_cannot_replace_a_url_by_a_program(
    fetched: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(f'[url "ext::touch {tmp_path}/marker "]\n\tinsteadOf = https://example.org/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    with pytest.raises(InstallError, match="transport 'ext' not allowed"):
        fetched("https://example.org/a.git")
    assert not (tmp_path / "marker").exists()


def test_settings_that_run_programs_are_not_obeyed(
    server: GitServer, fetched: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A user may have hooks and filters for every repository; they are not for what is only read."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "post-merge", "fsmonitor"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/marker\n")
        (hooks / name).chmod(0o755)
    config = tmp_path / "config"
    config.write_text(
        f"[core]\n\thooksPath = {hooks}\n\tfsmonitor = {hooks}/fsmonitor\n[fetch]\n\trecurseSubmodules = true\n"
        f'[filter "evil"]\n\tsmudge = touch {tmp_path}/marker\n[diff "evil"]\n\ttextconv = touch {tmp_path}/marker\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    make_repository(server.folder / "filters.git", {"SKILL.md": SKILL, ".gitattributes": "* filter=evil diff=evil\n"})
    assert fetched(f"{server.url}/filters.git").skills
    assert not (tmp_path / "marker").exists()


def test_variables_of_a_hook_that_calls_prowess_do_not_count(
    server: GitServer, fetched: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = make_repository(tmp_path / "own.git", {"README.md": "own"})
    before = sorted(own.rglob("*"))
    for name, value in (("DIR", own), ("OBJECT_DIRECTORY", own / "objects"), ("WORK_TREE", own), ("TRACE", own / "t")):
        monkeypatch.setenv(f"GIT_{name}", str(value))
    assert fetched(f"{server.url}/team.git").skills
    assert sorted(own.rglob("*")) == before


# ── trees ────────────────────────────────────────────────────────────────────────────────────────────────────────────

TREES: dict[str, tuple[Any, str]] = {
    "a folder .git": ({".git": {"config": "x"}}, "hasDotgit"),
    "a folder .GIT": ({".GIT": {"config": "x"}}, "hasDotgit"),
    "a folder git~1": ({"git~1": {"config": "x"}}, "hasDotgit"),
    "a name ..": ({"..": {"x": "x"}}, "hasDotdot"),
    "a name .": ({".": {"x": "x"}}, "hasDot"),
    "a slash in a name": ({"../../x": "x"}, "fullPathname"),
    "names that differ in case": ({"a.md": "1", "A.md": "2"}, "`A.md` and `a.md` are one name|`a.md` and `A.md`"),
    "folders that differ in case": ({"a": {"x": "1"}, "A": {"y": "2"}}, "are one name"),
    "names that differ in form": ({"\ufb01.md": "1", "fi.md": "2"}, "are one name"),
    "a name of Windows": ({"con.md": "1"}, "con.md"),
    "a backslash": ({"a\\b": "1"}, "backslash"),
    "a control character": ({"a\x1b[31m": "1"}, "control character"),
    "a name that is not UTF-8": ({"a\udcff": "1"}, "not UTF-8"),
    "a link to a file outside": ({"a": Link("/etc/passwd")}, "leads out"),
    "a link above": ({"a": Link("../../x")}, "leads out"),
    "a link through a link": ({"a": Link("b/../../x"), "b": Link(".")}, "after a folder name"),
    "a link without a target": ({"a": Link("")}, "no valid target"),
    "a link with NUL": ({"a": Link("x\0y")}, "no valid target"),
}


@pytest.mark.parametrize(("tree", "message"), TREES.values(), ids=TREES)
def test_a_tree_that_is_another_on_some_system_is_refused(
    tree: dict[str, Any], message: str, fetched: Fetch, repository: Callable[[dict[str, Any]], str], tmp_path: Path
) -> None:
    with pytest.raises(InstallError, match=message) as caught:
        fetched(repository({"pdf": {"SKILL.md": SKILL, **tree}}))
    assert "\x1b" not in str(caught.value)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "name", [".git", "..", ".", "../../x", ".GIT"], ids=["git", "dots", "dot", "slash", "upper case"]
)
def test_a_tree_is_checked_without_the_help_of_git(
    name: str, fetched: Fetch, repository: Callable[[dict[str, Any]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of git may accept what this one refuses."""
    settings = {**_git_repository._SETTINGS, "fetch": {"unpackLimit": "1", "fsckObjects": "false"}}
    monkeypatch.setattr(_git_repository, "_SETTINGS", settings)
    with pytest.raises(InstallError, match=r"name|system"):
        fetched(repository({"pdf": {"SKILL.md": SKILL, name: {"x": "x"}}}))


def test_a_link_that_stays_inside_is_kept(fetched: Fetch, repository: Callable[[dict[str, Any]], str]) -> None:
    found = fetched(repository({"pdf": {"SKILL.md": SKILL, "a": {"b": Link("../SKILL.md")}}}))
    assert os.readlink(Path(found.skills[0].folder, "a/b")) == "../SKILL.md"


def test_a_skill_file_that_is_a_link_is_no_skill(fetched: Fetch, repository: Callable[[dict[str, Any]], str]) -> None:
    found = fetched(repository({"pdf": {"SKILL.md": SKILL}, "evil": {"SKILL.md": Link("/etc/passwd")}}))
    assert [skill.name for skill in found.skills] == ["pdf"]
    assert [(item.code, item.path) for item in found.findings] == [("file-is-link", "evil/SKILL.md")]


@pytest.mark.parametrize("url", ["file:///etc", "ext::sh -c touch% marker", "../../../etc"])
def test_a_submodule_is_never_followed(
    url: str, fetched: Fetch, repository: Callable[[dict[str, Any]], str], tmp_path: Path
) -> None:
    modules = f'[submodule "x"]\n\tpath = pdf/x\n\turl = {url}\n\tupdate = !touch {tmp_path}/marker\n'
    tree = {".gitmodules": modules, "pdf": {"SKILL.md": SKILL, "x": Submodule("1" * 40)}}
    try:
        found = fetched(repository(tree))
    except InstallError as error:  # git refuses a command in `update`
        assert "gitmodules" in str(error)  # noqa: PT017
    else:
        assert [file.name for file in Path(found.skills[0].folder).iterdir()] == ["SKILL.md"]
    assert not (tmp_path / "marker").exists()


@pytest.mark.slow
def test_a_hundred_thousand_files_are_refused(fetched: Fetch, tmp_path: Path) -> None:
    url = f"file://{make_repository(tmp_path / 'many.git', {'README.md': 'a'})}"
    objects = Objects(tmp_path / "many.git")
    file = objects.write("blob", b"x")
    many = objects.tree({f"{number:06}": Raw("100644", file) for number in range(100_000)})
    commit(tmp_path / "many.git", {"pdf": {"SKILL.md": SKILL, "data": Raw("40000", many)}})
    with pytest.raises(InstallError, match="more than 10,000 files"):
        fetched(url)


@pytest.mark.slow
def test_a_small_tree_of_billions_of_files_is_refused(fetched: Fetch, tmp_path: Path) -> None:
    url = f"file://{make_repository(tmp_path / 'bomb.git', {'README.md': 'a'})}"
    objects = Objects(tmp_path / "bomb.git")
    inner = Raw("100644", objects.write("blob", b"x"))
    for _ in range(12):
        inner = Raw("40000", objects.tree({f"{number:02}": inner for number in range(30)}))
    commit(tmp_path / "bomb.git", {"SKILL.md": SKILL, "data": inner})
    with pytest.raises(InstallError, match="more than 500,000 files"):
        fetched(url)


@pytest.mark.slow
def test_a_deep_tree_is_refused_in_a_skill_and_reported_beside_one(fetched: Fetch, tmp_path: Path) -> None:
    url = f"file://{make_repository(tmp_path / 'deep.git', {'README.md': 'a'})}"
    objects = Objects(tmp_path / "deep.git")
    inner = Raw("100644", objects.write("blob", b"x"))
    for _ in range(3000):
        inner = Raw("40000", objects.tree({"a": inner}))
    commit(tmp_path / "deep.git", {"pdf": {"SKILL.md": SKILL}, "data": inner})
    assert [item.code for item in fetched(url).findings] == ["folder-too-deep"]
    commit(tmp_path / "deep.git", {"pdf": {"SKILL.md": SKILL, "data": inner}})
    with pytest.raises(InstallError, match="too many levels"):
        fetched(url)


@pytest.mark.slow
def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(
    fetched: Fetch, repository: Callable[[dict[str, Any]], str]
) -> None:
    url = repository({"pdf": {"SKILL.md": SKILL, "a.bin": bytes((1 << 26) + 1)}})
    with pytest.raises(InstallError, match="has more than 64 MiB"):
        fetched(url)


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def packet(data: bytes) -> bytes:
    return f"{len(data) + 4:04x}".encode() + data


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\nConnection: close\r\n\r\n"


def answer_to(command: bytes, parts: Callable[[], Iterator[bytes]]) -> Callable[[str, bytes], Iterator[bytes] | None]:
    return lambda _path, body: parts() if b"command=" + command in body else None


def endless_pack() -> Iterator[bytes]:
    """One file of a terabyte that cannot be compressed."""
    yield HEAD + packet(b"packfile\n")
    size = 1 << 40
    header = bytearray([0x80 | (3 << 4) | (size & 0xF)])
    size >>= 4
    while size:
        header.append((size & 0x7F) | (0x80 if size > 0x7F else 0))
        size >>= 7
    yield packet(b"\x01PACK\0\0\0\x02\0\0\0\x01" + bytes(header) + b"\x78\x01")
    block = os.urandom(60_000)
    stored = b"\0" + len(block).to_bytes(2, "little") + (len(block) ^ 0xFFFF).to_bytes(2, "little") + block
    while True:
        yield packet(b"\x01" + stored)


def endless_messages() -> Iterator[bytes]:
    yield HEAD + packet(b"packfile\n")
    while True:
        yield packet(b"\x02" + b"\x1b[31mcounting\n" * 4000)


def endless_refs() -> Iterator[bytes]:
    yield HEAD
    for start in itertools.count(0, 1000):
        yield b"".join(packet(b"%040x refs/tags/%d\n" % (number + 1, number)) for number in range(start, start + 1000))


def nothing_more() -> Iterator[bytes]:
    yield HEAD
    given_up.wait()


given_up = threading.Event()
"""Set when nothing more needs to be sent."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "parts", "limit", "message"),
    [
        (b"fetch", endless_pack, {"size": 1 << 20}, "has more than 1 MiB"),
        (b"fetch", endless_messages, {}, "does not end its answer"),
        (b"ls-refs", endless_refs, {"memory": 60 << 20}, "needs too much memory"),
        (b"fetch", nothing_more, {"idle": 0.3}, "sent nothing for 0.3 seconds"),
        (b"fetch", endless_messages, {"total": 0.2}, "not send all in 0.2 seconds|does not end"),
    ],
    ids=["pack", "messages", "refs", "hangs", "slow"],
)
def test_a_server_that_does_not_end_is_stopped(
    command: bytes,
    parts: Callable[[], Iterator[bytes]],
    limit: dict[str, Any],
    message: str,
    server: GitServer,
    fetched: Fetch,
    limits: Callable[..., None],
    tmp_path: Path,
) -> None:
    limits(**limit)
    given_up.clear()
    server.behaviour.replace = answer_to(command, parts)
    try:
        with pytest.raises(InstallError, match=message):
            fetched(f"{server.url}/team.git")
    finally:
        given_up.set()
    assert leaves_nothing(tmp_path)


@pytest.mark.slow
def test_nothing_is_left_on_a_terminal_either(
    server: GitServer, fetched: Fetch, limits: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There git is in the process group of Prowess, so that it may ask for a password."""
    monkeypatch.setattr(_git_repository, "_is_terminal", lambda _stream: True)
    limits(size=1 << 20)
    server.behaviour.replace = answer_to(b"fetch", endless_pack)
    with pytest.raises(InstallError, match="has more than 1 MiB"):
        fetched(f"{server.url}/team.git")
    assert leaves_nothing(tmp_path)


def test_a_connection_that_drops_is_an_error(server: GitServer, fetched: Fetch, tmp_path: Path) -> None:
    server.behaviour.replace = answer_to(b"fetch", lambda: itertools.islice(endless_pack(), 3))
    with pytest.raises(InstallError, match="git cannot read"):
        fetched(f"{server.url}/team.git")
    assert leaves_nothing(tmp_path)


@pytest.mark.slow
def test_a_server_that_sends_another_commit_is_refused(server: GitServer, fetched: Fetch) -> None:
    """The other commit is one of the same server, sent in place of that which was asked for."""
    team, other = (git(server.folder / name, "rev-parse", "main") for name in ("team.git", "other.git"))
    git(server.folder / "team.git", "fetch", "--quiet", str(server.folder / "other.git"), "main:other")
    server.behaviour.rewrite = lambda body: body.replace(b"want " + team.encode(), b"want " + other.encode())
    for options in ({}, {"revision": team}):
        with pytest.raises(InstallError):
            fetched(f"{server.url}/team.git", **options)


def test_a_tag_of_something_else_is_no_commit(fetched: Fetch, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "a.git", {"SKILL.md": SKILL})
    git(repository, "tag", "file", git(repository, "rev-parse", "main:SKILL.md"))
    with pytest.raises(InstallError):
        fetched(f"file://{repository}#file")


def test_a_message_of_the_server_cannot_forge_lines(server: GitServer, fetched: Fetch) -> None:
    text = b"\x1b[2J\x1b[31mprowess: all is well https://user:s3cret@example.org\r"
    server.behaviour.replace = answer_to(b"fetch", lambda: iter([HEAD + packet(b"ERR " + text)]))
    with pytest.raises(InstallError, match="all is well") as caught:
        fetched(f"{server.url}/team.git")
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def redirect_to(url: str) -> Callable[[str, bytes], list[bytes] | None]:
    def replace(path: str, _body: bytes) -> list[bytes] | None:
        if not path.startswith("/old"):
            return None
        target = f"{url}{path.removeprefix('/old')}"
        head = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        return [head.encode()]

    return replace


@pytest.mark.slow
def test_a_redirect_on_the_same_server_is_followed(server: GitServer, fetched: Fetch) -> None:
    server.behaviour.replace = redirect_to(server.url)
    assert [skill.name for skill in fetched(f"{server.url}/old/team.git").skills] == ["pdf"]


@pytest.mark.parametrize("place", ["other server", "private address", "file"])
def test_a_redirect_to_another_server_is_refused_and_gets_no_credentials(
    place: str, server: GitServer, fetched: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    credentials = tmp_path / "credentials"
    credentials.write_text(f"http://user:s3cret@127.0.0.1:{server.port}\n")
    config = tmp_path / "config"
    config.write_text(f'[credential]\n\thelper = "store --file={credentials}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    with GitServer(server.folder) as other:
        url = {"other server": other.url, "private address": "http://169.254.169.254", "file": "file:///etc"}[place]
        server.behaviour.replace = redirect_to(url)
        with pytest.raises(InstallError, match="redirects to"):
            fetched(f"{server.url}/old/team.git")
        assert other.seen == []
