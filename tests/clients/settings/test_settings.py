"""What a client's user has set: files, keys, variables, and that a bad one is a finding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.clients.settings import Settings, SettingsReader
from prowess.filesystem import Filesystem, Question
from prowess.hosts import Host, Setting, SettingsFile, host_names, load_host
from support.growth import assert_linear

if TYPE_CHECKING:
    from pathlib import Path

Row = tuple[str, Setting]


def row(file: str, **keys: Any) -> Row:
    """Return a settings file with a key that it may have."""
    return file, Setting(**keys)


NAMES = row(".x/c.json", key="skills.off", form="names")


def read(top: Path, *rows: Row, env: dict[str, str] | None = None, role: str | None = None, **host: Any) -> Settings:
    one = Host(
        name=host.pop("name", "x"),
        title="X",
        settings_files={file: SettingsFile(path=file, where="both") for file, _ in rows},
        settings=tuple(setting.with_changes(files=(file,)) for file, setting in rows),
        **host,
    )
    for folder in ("repo/sub", "home"):
        (top / folder).mkdir(parents=True, exist_ok=True)
    question = Question(cwd=str(top / "repo/sub"), home=str(top / "home"), env=env or {}, role=role)
    return SettingsReader(one, question, str(top / "repo"), Filesystem()).read()


def write(top: Path, path: str, text: str | bytes) -> str:
    file = top / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(file)


FORMATS = [
    pytest.param("c.json", '{"skills": {"off": ["a", "b"]}}', id="json"),
    pytest.param("c.json", '{// note\n"skills": {"off": ["a", "b",], /* x */},}', id="json-with-comments"),
    pytest.param("c.json", '\ufeff{"skills": {"off": ["a", "b"]}, "url": "http://x"}', id="json-with-bom"),
    pytest.param("c.toml", '[skills]\noff = ["a", "b"]\n', id="toml"),
    pytest.param("c.yaml", "skills:\n  off: [a, 'b']\n", id="yaml-flow"),
    pytest.param("c.yml", "# note\nskills:\n  off:\n    - a\n    - b\n", id="yaml-block"),
]


@pytest.mark.parametrize(("name", "text"), FORMATS)
def test_settings_are_read_in_the_clients_own_format(name: str, text: str, tmp_path: Path) -> None:
    """JSON as several clients read it, TOML, YAML."""
    file = write(tmp_path, f"repo/.x/{name}", text)
    settings = read(tmp_path, row(f".x/{name}", key="skills.off", form="names"))
    assert settings.effects == {"a": ("off", file), "b": ("off", file)}
    assert settings.findings == ()


BROKEN = [
    pytest.param("c.json", "{", id="json"),
    pytest.param("c.json", "[" * 100_000, id="deep-json"),
    pytest.param("c.json", "[]", id="not-a-table"),
    pytest.param("c.json", "", id="empty"),
    pytest.param("c.json", b"\xff\xfe{}", id="not-utf8"),
    pytest.param("c.json", b"\0", id="nul"),
    pytest.param("c.json", '{"skills": ' + " " * 5_000_000 + "{}}", id="too-large"),
    pytest.param("c.json", '{"a": ' + "1" * 5000 + "}", id="huge-number"),
    pytest.param("c.toml", "[skills", id="toml"),
    pytest.param("c.toml", "a = " + "[" * 10_000, id="deep-toml"),
    pytest.param("c.yaml", 'a: "', id="yaml"),
    pytest.param("c.yaml", "a: b: c", id="yaml-that-a-skill-is-repaired-from"),
    pytest.param("c.yaml", "a: &x 1\nb: *x", id="yaml-alias"),
    pytest.param("c.yaml", "a: !!python/object:os.system x", id="yaml-tag"),
    pytest.param("c.yaml", "- a", id="yaml-list"),
]


@pytest.mark.parametrize(("name", "text"), BROKEN)
def test_an_invalid_file_is_one_finding(name: str, text: str | bytes, tmp_path: Path) -> None:
    """And has no effect."""
    file = write(tmp_path, f"repo/.x/{name}", text)
    settings = read(tmp_path, *[row(f".x/{name}", key=key, form="names") for key in ("skills.off", "a")])
    assert [(item.code, item.path) for item in settings.findings] == [("config-invalid", file)]
    assert settings.findings[0].hint == "fix the file; until then it is ignored"
    assert len(settings.findings[0].message) < 300
    assert settings.effects == {}


def test_a_file_that_is_a_folder_or_a_fifo_is_a_finding(tmp_path: Path) -> None:
    """Nothing blocks."""
    (tmp_path / "repo/.x/c.json").mkdir(parents=True)
    assert [item.code for item in read(tmp_path, NAMES).findings] == ["config-invalid"]


@pytest.mark.parametrize("value", [1, "a", {"a": True}, None, [1, None, ["a"]], True])
def test_a_value_of_another_type_has_no_effect(value: Any, tmp_path: Path) -> None:
    """Clients ignore it too."""
    write(tmp_path, "repo/.x/c.json", json.dumps({"skills": {"off": value}}))
    assert read(tmp_path, NAMES).effects == {}


def test_the_nearest_file_counts_first_and_names_are_joined(tmp_path: Path) -> None:
    """In the order working directory, project, home."""
    near = write(tmp_path, "repo/sub/.x/c.json", '{"skills": {"off": ["a"]}}')
    far = write(tmp_path, "repo/.x/c.json", '{"skills": {"off": ["a", "b"]}}')
    home = write(tmp_path, "home/.x/c.json", '{"skills": {"off": ["b", "c"]}}')
    user = row("~/.x/c.json", key="skills.off", form="names")
    effects = read(tmp_path, NAMES, user).effects
    assert {name: by for name, (_, by) in effects.items()} == {"a": near, "b": far, "c": home}


def test_a_variable_may_move_a_settings_file(tmp_path: Path) -> None:
    """`$VAR/...|~/...`, as for roots."""
    one = row("$X_HOME/c.json|~/.x/c.json", key="off", form="names")
    write(tmp_path, "home/.x/c.json", '{"off": ["a"]}')
    write(tmp_path, "moved/c.json", '{"off": ["b"]}')
    assert set(read(tmp_path, one).effects) == {"a"}
    assert set(read(tmp_path, one, env={"X_HOME": str(tmp_path / "moved")}).effects) == {"b"}


SWITCH = row(".x/c.json", key="on", form="switch")


@pytest.mark.parametrize(
    ("value", "variable", "enabled"),
    [
        (None, None, True),
        (False, None, False),
        ("off", None, False),
        (True, "0", False),
        (False, "yes", True),
        (False, "", False),
        (False, " TRUE ", True),
    ],
)
def test_a_switch_is_a_boolean_in_a_file_or_a_variable(
    value: Any, variable: str | None, enabled: bool, tmp_path: Path
) -> None:
    """The variable counts more."""
    if value is not None:
        write(tmp_path, "repo/.x/c.json", json.dumps({"on": value}))
    env = {} if variable is None else {"X_ON": variable}
    settings = read(tmp_path, SWITCH, env=env, switch_variable="X_ON")
    assert settings.enabled is enabled
    assert settings.findings == ()


def test_an_invalid_switch_is_a_finding(tmp_path: Path) -> None:
    """With the path of a file or the name of a variable; control characters in its value are escaped."""
    write(tmp_path, "repo/.x/c.json", '{"on": "perhaps"}')
    settings = read(tmp_path, SWITCH, env={"X_ON": "\x1b[31mmaybe"}, switch_variable="X_ON")
    assert settings.enabled is True
    assert [item.message for item in settings.findings] == [
        "`on` is neither true nor false",
        "the variable `X_ON` is neither true nor false: `\\x1b[31mmaybe`",
    ]


def test_a_role_has_two_forms(tmp_path: Path) -> None:
    """`spec.auto_skills`, and the flat form; without them InitRunner uses 50 skills."""
    nested = write(tmp_path, "r1.yaml", "spec:\n  auto_skills:\n    enabled: false\n    max_skills: 7\n")
    flat = write(tmp_path, "r2.yaml", "name: x\nauto_skills:\n  enabled: false\n  max_skills: 7\n")
    for role in (nested, flat):
        settings = read(tmp_path, role=role, name="initrunner")
        assert (settings.enabled, settings.enabled_source, settings.max_skills) == (False, role, 7)
    assert (read(tmp_path, name="initrunner").max_skills, read(tmp_path).max_skills) == (50, 0)


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of keys."""
    from prowess.filesystem import _filesystem as disk

    write(tmp_path, "repo/.x/c.json", "{}")
    read_paths: list[str] = []
    real = vars(disk)["read_file"]

    def counting(path: str, *rest: Any, **named: Any) -> bytes:
        read_paths.append(path)
        data: bytes = real(path, *rest, **named)
        return data

    monkeypatch.setattr(disk, "read_file", counting)
    read(tmp_path, *[row(".x/c.json", key=key, form="names") for key in "abc"])
    assert len(read_paths) == len(set(read_paths)) == 2


@pytest.mark.parametrize("host", host_names())
def test_missing_settings_are_no_finding(host: str, tmp_path: Path) -> None:
    """For every host."""
    question = Question(cwd=str(tmp_path), home=str(tmp_path / "home"), env={})
    settings = SettingsReader(load_host(host), question, str(tmp_path), Filesystem()).read()
    assert settings.findings == ()
    assert settings.enabled is (host != "infer")


BOMBS = {
    "c.json": 'x"' + '\\"' * 2_000_000,
    "c.jsonc": "/*" * 2_000_000,
    "dots.toml": "a." * 250_000 + "a = 1",
    "tables.toml": "\n".join(f"[a{number}.{'a.' * 60}a]" for number in range(3500)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_settings_file_takes_quadratic_time(name: str, tmp_path: Path) -> None:
    """Unclosed quotes and comments, keys with many parts."""

    def read_text(text: str) -> Settings:
        write(tmp_path, f"repo/{name}", text)
        return read(tmp_path, row(name, key="skills.off", form="names"))

    settings = read_text(BOMBS[name])
    assert_linear(read_text, BOMBS[name])
    assert [item.code for item in settings.findings] == ["config-invalid"]
