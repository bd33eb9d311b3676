"""Settings, lists of plugins and manifests of any bytes: a finding or the client's own behaviour, in bounded time."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.hosts import host_names, load_host
from support.growth import calls_at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.hosts import Host

NAMED = ["/", "~", "~/", ".", "..", "", "loop", "/proc", "/dev", "a\0b", "\x1b[31m", 7, None, {"a": []}, "x" * 5000]
"""Folders that a hostile file names."""


def files_of(host: Host) -> Iterator[str]:
    """Yield what the host's table names below the home or the project."""
    paths = [file.path for file in host.settings_files.values()]
    for rules in host.plugins.values():
        paths.append(rules.listed)
        for folder in rules.folders:
            paths += [f"{folder.replace('*', 'x')}/{name}" for name in rules.manifests]
    for path in paths:
        usual = path.partition("|")[2] or path
        if usual and not usual.startswith(("/", "$")):
            yield usual


def places_of(host: Host, home: Path, project: Path) -> Iterator[Path]:
    """Make the home and the project, and yield the path of each file that the host's table names, once."""
    for folder in (home, project):
        folder.mkdir()
    for file in files_of(host):
        path = home / file[2:] if file.startswith("~/") else project / file
        if not path.exists() and not path.is_symlink():
            yield path


def keys_of(host: Host) -> list[str]:
    """Return the dotted keys that the host reads."""
    keys = [setting.key for setting in host.settings] + [root.setting for root in host.roots]
    keys += [rules.setting for rules in host.plugins.values()]
    return [form for key in keys for form in key.split("|") if form and "{" not in form]


def nested(key: str, value: Any) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    result: dict[str, Any] = value
    return result


def write(kind: str, path: Path, host: Host) -> None:
    """Put something hostile there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(100 * 1024 * 1024)
    elif kind == "bytes":
        path.write_bytes(random.Random(str(path)).randbytes(100_000))  # noqa: S311 - no secret
    elif kind == "deep":
        path.write_bytes(b"[" * 50_000 if path.suffix != ".toml" else b"a = " + b"[" * 50_000)
    else:
        table: dict[str, Any] = {}
        for key in keys_of(host):
            value = [*NAMED, *(f"/absent/{number}" for number in range(10_000))] if kind == "many" else NAMED
            table = merged(table, nested(key, value))
        path.write_text(json.dumps(table, ensure_ascii=True), encoding="utf-8")


def merged(low: Any, high: Any) -> Any:
    if not isinstance(low, dict) or not isinstance(high, dict):
        return high
    return {**low, **{key: merged(low.get(key), value) for key, value in high.items()}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fifo", "folder", "loop", "device", "large", "bytes", "deep", "named", "many"])
@pytest.mark.parametrize("name", [name for name in host_names() if any(files_of(load_host(name)))])
def test_no_file_of_a_client_crashes_blocks_or_takes_long(name: str, kind: str, tmp_path: Path) -> None:
    """Whatever is there; the skills that the user has elsewhere are not lost without a finding."""
    host = load_host(name)
    home, project = tmp_path / "home", tmp_path / "project"
    for target in places_of(host, home, project):
        write(kind, target, host)
    (project / "loop").symlink_to(project)
    with calls_at_most(5_000_000):
        catalog = discover(project, host=name, home=home, env={}, cache=False)
    assert all("\x1b" not in item.message and "\0" not in item.message for item in catalog.findings)
    outside = [entry.path for entry in catalog.skills if not Path(entry.path).is_relative_to(tmp_path)]
    assert outside == [] or kind in ("named", "many")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in host_names() if any(files_of(load_host(name)))])
@pytest.mark.parametrize("depth", [150, 480, 900])
def test_files_that_are_nested_deeply_are_a_finding(name: str, depth: int, tmp_path: Path) -> None:
    """Also where the parser of the file can read them, and where they are in each key that the agent reads."""
    host = load_host(name)
    home, project = tmp_path / "home", tmp_path / "project"
    for target in places_of(host, home, project):
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".toml":
            target.write_text("\n".join(f"{key}.{'a.' * depth}b = 1" for key in sorted(set(keys_of(host)))[:1]))
            continue
        table: dict[str, Any] = {}
        for key in keys_of(host):
            table = merged(table, {key.split(".")[0]: "@"})
        deep = '{"a":[' * (depth // 2) + "1" + "]}" * (depth // 2)
        target.write_text(json.dumps(table).replace('"@"', deep))
    catalog = discover(project, host=name, home=home, env={}, cache=False)
    assert depth == 150 or not keys_of(host) or any(item.code == "config-invalid" for item in catalog.findings)
