"""Records that were damaged at random, or written by an attacker with digests that match."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.evals import _recorded
from support.proofs import short_or_long
from support.recorded_evals import LOCAL_FILES, greet, record

if TYPE_CHECKING:
    from pathlib import Path

VALUES: list[Any] = [
    None, True, -1, 10**20, 10**400, float("inf"), 0.5,
    "", "x", "../../etc/passwd", "/etc/passwd", "\0", "é\udce9", [], [[]], {}, {"a": 1},
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a record with six runs."""
    top = tmp_path_factory.mktemp("whole")
    greet(top, 3)
    record(top, top / "run", runs=1)
    return top / "run"


@pytest.mark.proof
def test_a_changed_byte_changes_no_verdict(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The record is refused, or says what it said before: what nothing follows from may be anything."""
    assert main(["eval", "--replay", str(whole)]) == 0
    expected = capsys.readouterr().out
    random = Random(7)  # noqa: S311 - no secret
    files = sorted(path for path in whole.rglob("*") if path.is_file() and path.name not in LOCAL_FILES)
    shutil.copytree(whole, tmp_path / "copy")
    refused = 0
    for _ in range(short_or_long(60, 3_000)):
        path = tmp_path / "copy" / random.choice(files).relative_to(whole)
        data = path.read_bytes()
        at, kind = random.randrange(len(data)), random.randrange(3)
        changed = [data[:at], data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :], data + b"x"][
            kind
        ]
        path.write_bytes(changed)
        code = main(["eval", "--replay", str(tmp_path / "copy")])
        output = capsys.readouterr()
        assert code == 2 or output.out == expected, (path, at, kind, output)
        refused += code == 2
        path.write_bytes(data)
    assert refused > 40


@pytest.mark.proof
def test_hostile_values_do_not_crash(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Even if all digests match: they say nothing about who made the record."""
    random = Random(8)  # noqa: S311 - no secret
    for number in range(short_or_long(80, 3_000)):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        name = random.choice(["plan.json", "manifest.json", "run.json", "trajectory.json", "time.json", "local.json"])
        path = random.choice(sorted(folder.rglob(name)))
        value = json.loads(path.read_text(encoding="utf-8"))
        replace_one(value, random)
        path.write_text(json.dumps(value), encoding="utf-8")
        sign(folder, name)
        for words in (
            ["--replay", str(folder)],
            ["grade", str(folder)],
            ["merge", str(folder), "--out", f"{folder}.out"],
        ):
            code = main(["eval", *words])
            assert code in (0, 2), (name, value, capsys.readouterr().err)
        shutil.rmtree(folder)


FORGED = [
    ("plan.json", "plan cases", []),
    ("plan.json", "plan runs", 10**15),
    ("plan.json", "plan cases 0 graders 0", {"kind": "output-matches", "text": "[" * 30_000, "path": "", "config": {}}),
    ("manifest.json", "files", [["plan.json", "x"], [1, 2]]),
    ("run.json", "cost", float("inf")),
    ("run.json", "cost", 10**400),
    ("run.json", "cost", -1),
    ("run.json", "tokens", 10**400),
    ("run.json", "tokens", -5),
    ("run.json", "grades", [True] * 7),
    ("run.json", "grades", []),
    ("time.json", "seconds", float("inf")),
    ("time.json", "seconds", 10**400),
]


@pytest.mark.parametrize(("name", "keys", "value"), FORGED)
def test_forged_values_are_refused(
    name: str, keys: str, value: Any, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, also if all digests match."""
    shutil.copytree(whole, tmp_path / "forged")
    # The last run did not fail.
    path = max((tmp_path / "forged").rglob(name))
    content = inner = json.loads(path.read_text(encoding="utf-8"))
    *outer, last = [int(key) if key.isdigit() else key for key in keys.split()]
    for key in outer:
        inner = inner[key]
    inner[last] = value
    path.write_text(json.dumps(content), encoding="utf-8")
    if keys == "plan cases":
        content["plan"]["runs"] = 10**15
    sign(tmp_path / "forged", name)
    for words in (["--replay", str(tmp_path / "forged")], ["grade", str(tmp_path / "forged")]):
        assert main(["eval", *words]) == 2
        assert capsys.readouterr().err.startswith("error: ")


def replace_one(value: Any, random: Random) -> None:
    """Replace one value somewhere in some JSON, remove it, or give it another name."""
    while True:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = random.choice(keys)
        if isinstance(value[key], dict | list) and value[key] and random.random() < 0.8:
            value = value[key]
            continue
        if random.random() < 0.2:
            del value[key]
        elif isinstance(value, dict) and random.random() < 0.2:
            value[str(random.choice(VALUES))] = value.pop(key)
        else:
            value[key] = random.choice(VALUES)
        return


def sign(folder: Path, changed: str) -> None:
    """Write the digests that a record with changed files needs."""
    for run in sorted(folder.glob("runs/*/run.json")):
        about, time = json.loads(run.read_text()), json.loads((run.parent / "time.json").read_text())
        if changed == "trajectory.json":
            about["trajectory"] = sha256((run.parent / "trajectory.json").read_bytes()).hexdigest()
            run.write_text(json.dumps(about))
        if isinstance(time, dict) and changed != "time.json":
            time["sha256"] = _recorded.time_digest(run.read_bytes(), time.get("seconds", 0))
            (run.parent / "time.json").write_text(json.dumps(time))
    plan = json.loads((folder / "plan.json").read_text())
    manifest = json.loads((folder / "manifest.json").read_text())
    if changed == "plan.json" and isinstance(plan, dict) and "plan" in plan:
        text = json.dumps(plan["plan"], sort_keys=True)
        plan["digest"] = manifest["plan"] = f"sha256:{sha256(text.encode()).hexdigest()}"
        (folder / "plan.json").write_text(json.dumps(plan))
    if changed != "manifest.json":
        for name in manifest["files"]:
            manifest["files"][name] = sha256((folder / name).read_bytes()).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))
