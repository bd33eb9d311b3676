from __future__ import annotations

import json
import os
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import ConfigError
from prowess.lock import Lock, LockedSkill, parse_lock, read_lock
from prowess.lock._lock import folder_name

if TYPE_CHECKING:
    from pathlib import Path

HEX = "0123456789abcdef" * 4
FILES = {"SKILL.md": f"100644 sha256:{HEX}", "scripts/run.sh": f"100755 sha256:{HEX}"}
ENTRY = {
    "source": "anthropics/skills",
    "ref": "v1",
    "sourceType": "github",
    "skillPath": "skills/pdf/SKILL.md",
    "computedHash": HEX,
    "prowess": {"revision": "c0ffee", "digest": f"sha256:{HEX}", "files": FILES, "hosts": ["claude-code"]},
}
PDF = LockedSkill(
    name="pdf",
    source="anthropics/skills",
    source_type="github",
    ref="v1",
    skill_path="skills/pdf/SKILL.md",
    computed_hash=HEX,
    revision="c0ffee",
    tree_digest=f"sha256:{HEX}",
    files=FILES,
    hosts=("claude-code",),
)


def text_of(entries: Any, **top: Any) -> str:
    return json.dumps({"version": 1, "skills": entries, **top})


def test_a_lock_is_read_and_written() -> None:
    lock = parse_lock(text_of({"pdf": ENTRY}))
    assert lock.skills == {"pdf": PDF}
    assert lock.to_text() == Lock().with_skills([PDF]).to_text()
    assert lock.to_text() == json.dumps({"version": 1, "skills": {"pdf": ENTRY}}, indent=2) + "\n"
    assert lock.without(["pdf"]) == Lock()
    assert Lock().to_text() == '{\n  "version": 1,\n  "skills": {}\n}\n'


def test_a_missing_lock_is_empty(tmp_path: Path) -> None:
    assert read_lock(str(tmp_path / "skills-lock.json")) == Lock()
    assert read_lock(str(tmp_path / "missing/skills-lock.json")) == Lock()


def test_two_machines_write_the_same_bytes() -> None:
    """Whatever the order in which skills, files and agents were added."""
    names = ["pdf", "Zip", "10", "9", "a-b", "ab", "😀", "\uff41"]
    one = Lock().with_skills(PDF.with_changes(name=name) for name in names)
    turned = PDF.with_changes(files=dict(reversed(FILES.items())), hosts=("codex", "claude-code", "codex"))
    other = Lock()
    for name in reversed(names):
        other = other.with_skills([turned.with_changes(name=name)])
    assert one.with_skills(turned.with_changes(name=name) for name in names).to_text() == other.to_text()
    # As `Object.keys(skills).sort()` in an object of JavaScript: by UTF-16 code units, after indexes of an array.
    assert list(parse_lock(other.to_text()).skills) == ["9", "10", "Zip", "a-b", "ab", "pdf", "😀", "\uff41"]


def test_unknown_keys_are_kept() -> None:
    """Those of a newer `skills` or Prowess, in the file, in an entry and in our part of it."""
    entry = {**ENTRY, "via": {"b": [1.5, None], "a": "ü\u2028"}, "prowess": {**ENTRY["prowess"], "signedBy": "me"}}  # type: ignore[dict-item]
    text = text_of({"pdf": entry}, later=[True])
    lock = parse_lock(text)
    assert json.loads(lock.to_text()) == json.loads(text)
    assert '"a": "ü\u2028"' in lock.to_text()
    lock = lock.with_skills([lock.skills["pdf"].with_changes(ref="v2")])
    assert json.loads(lock.to_text())["skills"]["pdf"] == {**entry, "ref": "v2"}
    assert json.loads(lock.to_text())["later"] == [True]


def test_skills_have_the_folders_that_the_other_tool_gives_them() -> None:
    names = {"pdf": "pdf", "Convex Best Practices": "convex-best-practices", ".a_b.": "a_b", "ß": "unnamed-skill"}
    assert {name: folder_name(name) for name in names} == names


def skill(**changes: Any) -> str:
    return text_of({"pdf": {key: value for key, value in {**ENTRY, **changes}.items() if value is not None}})


ELSEWHERE = {
    "other owner": ("github", "anthropics/skills", "https://github.com/evil/skills.git"),
    "other host": ("github", "anthropics/skills", "https://evil.example/anthropics/skills.git"),
    "user that looks like a host": ("github", "a/b", "https://github.com@evil.example/a/b"),
    "host in a path": ("github", "a/b", "https://evil.example/github.com/a/b"),
    "other repository": ("gitlab", "https://gitlab.com/a/b", "https://gitlab.com/a/c"),
    "part of a name": ("git", "a/b", "https://evil.example/xa/b.git"),
    "other scp": ("git", "git@host:a/b", "git@evil:a/b"),
    "other site": ("well-known", "docs.example", "https://evil.example"),
    "host in a query": ("well-known", "docs.example", "https://evil.example?x@docs.example"),
    "user of a site": ("well-known", "docs.example", "https://docs.example@evil.example"),
}


def test_a_number_with_too_many_digits_is_an_error() -> None:
    """In words of this version of Python; `cases/cli/lock-invalid.md` has all other locks that are invalid."""
    with pytest.raises(ConfigError, match="the lock is not valid JSON") as caught:
        parse_lock(f'{{"version": {"1" * 5000}}}', "L")
    assert caught.value.hint


VALUES: tuple[Any, ...] = (
    None,
    True,
    1,
    1e308,
    "",
    "..",
    "a\nb",
    "-x",
    "é\ud800",
    "😀",
    [],
    {},
    [[]],
    {"a": {"1": 1, "0": 0}},
    HEX,
)


def damaged(random: Random) -> str:
    """Return a lock with another value, name or byte somewhere."""
    content: Any = json.loads(text_of({"pdf": ENTRY, "docx": {**ENTRY, "via": [1]}}, later={"b": 1, "a": 2}))
    for _ in range(random.randint(1, 3)):
        place = content
        while isinstance(inner := random.choice([*place.values()]), dict) and inner and random.random() < 0.8:
            place = inner
        key = random.choice([*place])
        if random.random() < 0.3:
            place[random.choice(["..", "é", "10", "\ud800", "A", "pdf"])] = place.pop(key)
        else:
            place[key] = random.choice(VALUES)
    text = json.dumps(content)
    at = random.randrange(len(text))
    return text if random.random() < 0.7 else text[:at] + random.choice('"{},\\1\x00é') + text[at + 1 :]


def test_a_lock_that_is_read_can_be_written_and_read_again() -> None:
    """Anything else is an error of one line. No damage is another exception, or is written so that it is not read."""
    random = Random(7)  # noqa: S311 - not a secret
    read = refused = 0
    for _ in range(1000):
        try:
            lock = parse_lock(damaged(random))
        except ConfigError as error:
            refused += bool(error.hint) and "\n" not in str(error)
        else:
            read += 1
            text = lock.to_text()
            assert parse_lock(text) == lock
            assert parse_lock(text).to_text() == text.encode().decode()
    assert read + refused == 1000
    assert min(read, refused) > 100


@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_url_that_leads_elsewhere_than_the_source_is_an_error(case: str) -> None:
    """People read the source, and programs use the URL."""
    kind, source, url = ELSEWHERE[case]
    with pytest.raises(ConfigError, match="sourceUrl"):
        parse_lock(skill(sourceType=kind, source=source, sourceUrl=url))


@pytest.mark.parametrize(
    ("kind", "source", "url"),
    [
        ("github", "anthropics/skills", "https://github.com/Anthropics/skills.git"),
        ("github", "anthropics/skills", "git@github.com:anthropics/skills.git"),
        ("gitlab", "https://gitlab.com/a/b", "https://gitlab.com/a/b"),
        ("git", "git@host:a/b.git", "git@host:a/b.git"),
        ("git", "a/b", "ssh://git@host/a/b.git"),
        ("well-known", "docs.example", "https://www.docs.example/skills"),
        ("well-known", "docs.example", "https://docs.example:8443"),
        ("well-known", "127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("oci", "oci://registry.example/pdf", "oci://registry.example/pdf:v1"),
    ],
)
def test_a_url_that_leads_to_the_source_is_read(kind: str, source: str, url: str) -> None:
    assert parse_lock(skill(sourceType=kind, source=source, sourceUrl=url)).skills["pdf"].source_url == url


def test_a_lock_must_be_a_file(tmp_path: Path) -> None:
    """A link or a FIFO, and nothing waits for the FIFO."""
    (tmp_path / "real").write_text(text_of({}))
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin").write_bytes(b'{\n"version": "\xe9"}')
    os.mkfifo(tmp_path / "fifo")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(64 << 20)
    assert read_lock(str(tmp_path / "real")) == Lock()
    for name in ("link", "dangling", "folder", "fifo", "large", "latin"):
        with pytest.raises(ConfigError) as caught:
            read_lock(str(tmp_path / name))
        assert str(caught.value).startswith(f"{tmp_path / name}:")
        assert caught.value.hint
