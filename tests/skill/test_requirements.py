"""What a machine lacks that a skill needs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from prowess._internal.text import neutral
from prowess.skill import Requirements, parse
from prowess.skill._requirements import MissingRequirement, find_missing
from support.growth import calls_at_most

if TYPE_CHECKING:
    from pathlib import Path

THIS = ".".join(map(str, sys.version_info[:3]))
REQUIREMENT_HINT = "write it as for `pip`, for example `pypdf>=5,<6`"
INSTALLED = {"pypdf": "4.3.1", "Odd_Name": "1.0", "beta": "2.0rc1", "git-made": "1.0+g12", "python": "1.0+x"}


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that only these packages are installed."""

    def version(name: str) -> str:
        for known, number in INSTALLED.items():
            if re.sub(r"[-_.]+", "-", known).lower() == re.sub(r"[-_.]+", "-", name).lower():
                return number
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)


@pytest.fixture
def _no_packaging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)


def missing_message(text: str) -> str | None:
    """Return the message for one Python requirement, or `None` if it is met."""
    found = find_missing(Requirements(packages=(text,)), env={})
    return found[0].message if found else None


def test_a_skill_without_requirements_misses_nothing() -> None:
    """By default, the environment is that of the process."""
    assert find_missing(Requirements()) == ()
    assert find_missing(Requirements(env=("HOME",))) == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("x", None, id="set"),
        pytest.param("0", None, id="zero is a value"),
        pytest.param(None, "the environment variable `KEY` is not set", id="unset"),
        pytest.param("", "the environment variable `KEY` is empty", id="empty"),
        pytest.param(" \t\n", "the environment variable `KEY` is empty", id="blanks"),
    ],
)
def test_a_variable_must_be_set_and_not_empty(value: str | None, message: str | None) -> None:
    """White space is empty; the message never contains the value."""
    found = find_missing(Requirements(env=("KEY", "KEY")), env={} if value is None else {"KEY": value})
    hint = "set `KEY` before you start the agent"
    assert found == (
        () if message is None else (MissingRequirement(kind="env", name="KEY", message=message, hint=hint),)
    )


@pytest.mark.parametrize("name", ["", "A=B", "A\0B", "A" * 256], ids=["empty", "equals", "nul", "long"])
def test_an_invalid_variable_name_is_reported(name: str) -> None:
    """A lookup of such a name could raise."""
    (found,) = find_missing(Requirements(env=(name,)))
    assert found.message.endswith("is not a valid name of an environment variable")


def test_a_program_must_be_an_executable_file_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any folder of PATH; a folder, a file that is not executable, and relative or empty entries do not count."""
    for name, mode in (("tool", 0o755), ("plain", 0o644)):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(mode)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    wanted = Requirements(bins=("tool", "plain", "folder"))
    messages = [f"the program `{name}` is not on PATH" for name in ("plain", "folder")]
    assert [item.message for item in find_missing(wanted, env={"PATH": f"/nowhere:{tmp_path}"})] == messages
    messages.insert(0, "the program `tool` is not on PATH")
    for path in ({"PATH": ".:"}, {"PATH": ""}, {}, {"PATH": "./:" + tmp_path.name}):
        assert [item.message for item in find_missing(wanted, env=path)] == messages
    assert find_missing(Requirements(bins=("absent",)), env={}) == (
        MissingRequirement(
            kind="bin",
            name="absent",
            message="the program `absent` is not on PATH",
            hint="install `absent`, or add its folder to PATH",
        ),
    )


@pytest.mark.parametrize("name", ["/bin/sh", "../sh", "a\\b", "", "..", "sh\0", "x" * 256])
def test_a_program_name_must_not_contain_a_folder(name: str) -> None:
    """A path would bypass PATH."""
    (found,) = find_missing(Requirements(bins=(name,)), env={"PATH": "/bin:/usr/bin"})
    assert found.message.endswith("is not a valid name of a program")
    assert found.hint == "write its name without a folder"


PLAIN = [
    pytest.param("pypdf", None, id="installed"),
    pytest.param("PyPDF >= 4, <5", None, id="range"),
    pytest.param("odd.name==1", None, id="names are compared as PEP 503 says"),
    pytest.param("pypdf>=5", "`pypdf>=5` is required, but 4.3.1 is installed", id="older"),
    pytest.param("pypdf!=4.3.1.0", "`pypdf!=4.3.1.0` is required, but 4.3.1 is installed", id="zeros at the end"),
    pytest.param("absent", "the Python package `absent` is not installed", id="absent"),
    pytest.param("absent>=2", "the Python package `absent` is not installed", id="absent, with a version"),
    pytest.param("python>=3.10", None, id="python"),
    pytest.param("python", None, id="any python"),
    pytest.param("Python>=99.1", f"Python 99.1 or newer is required, but this is {THIS}", id="newer python"),
    pytest.param("python<3", f"`python<3` is required, but this is {THIS}", id="older python"),
    pytest.param("", "`` is not a valid Python requirement", id="empty"),
    pytest.param("py pdf", "`py pdf` is not a valid Python requirement", id="two words"),
    pytest.param("\u202epypdf", "`\\u202epypdf` is not a valid Python requirement", id="bidi"),
]


@pytest.mark.parametrize(("text", "message"), PLAIN)
def test_a_python_requirement_is_compared_with_the_installed_version(text: str, message: str | None) -> None:
    """With `packaging`, all of PEP 508."""
    assert missing_message(text) == message


@pytest.mark.parametrize(("text", "message"), PLAIN)
@pytest.mark.usefixtures("_no_packaging")
def test_plain_requirements_need_no_packaging(text: str, message: str | None) -> None:
    """A name, and comparisons with dotted numbers."""
    assert missing_message(text) == message


RICH = [
    pytest.param("pypdf~=4.2", None, id="compatible"),
    pytest.param("pypdf==4.*", None, id="any of four"),
    pytest.param("beta>=2.0rc1", None, id="a pre-release that is there counts"),
    pytest.param("git-made==1.0", None, id="a local version"),
    pytest.param('absent; python_version < "3"', None, id="marker that does not apply"),
    pytest.param(
        'pypdf>=5; python_version > "3"', "`pypdf>=5` is required, but 4.3.1 is installed", id="marker that does"
    ),
    pytest.param("pypdf[crypto]>=5", "`pypdf>=5` is required, but 4.3.1 is installed", id="extra"),
    pytest.param("pypdf @ https://example.org/x.whl", None, id="URL"),
    pytest.param("pypdf>=", "`pypdf>=` is not a valid Python requirement", id="unfinished"),
    pytest.param("pypdf; nonsense", "`pypdf; nonsense` is not a valid Python requirement", id="bad marker"),
    pytest.param("pypdf==\u202e1", "`pypdf==\\u202e1` is not a valid Python requirement", id="bidi"),
]


@pytest.mark.parametrize(("text", "message"), RICH)
def test_packaging_parses_other_requirements(text: str, message: str | None) -> None:
    """A requirement whose marker does not apply is met."""
    assert missing_message(text) == message


@pytest.mark.parametrize("text", [row.values[0] for row in RICH], ids=[row.id for row in RICH])
@pytest.mark.usefixtures("_no_packaging")
def test_without_packaging_uncheckable_requirements_are_reported(text: str) -> None:
    message = f"the Python requirement `{neutral(text)}` cannot be checked without the package `packaging`"
    assert find_missing(Requirements(packages=(text,)), env={}) == (
        MissingRequirement(kind="package", name=text, message=message, hint="install it with `pip install packaging`"),
    )


def test_a_hint_can_be_typed() -> None:
    """With quotes if a shell needs them."""
    rows = {
        "absent": "absent",
        "pypdf [b,a] >=5": "'pypdf[a,b]>=5'",
        "absent==1": "absent==1",
        "absent===\x1b1": "'absent===\\x1b1'",
    }
    for text, typed in rows.items():
        (found,) = find_missing(Requirements(packages=(text,)), env={})
        assert (found.kind, found.name, found.hint) == ("package", text, f"run `pip install {typed}`")
    (found,) = find_missing(Requirements(packages=("a b",)), env={})
    assert found.hint == REQUIREMENT_HINT


def test_a_broken_package_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its metadata raises."""

    def broken(name: str) -> str:
        raise KeyError(name)

    monkeypatch.setattr(metadata, "version", broken)
    assert missing_message("pypdf") == "the Python package `pypdf` is not installed"


@pytest.mark.slow
@pytest.mark.parametrize("packaging", [True, False])
def test_hostile_requirements_are_checked_quickly(packaging: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand of each kind, names of a megabyte, nested brackets, hidden characters; all messages are short."""
    if not packaging:
        monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    odd = [
        "x" * 1_000_000,
        "(" * 999,
        "a;" + "(" * 900,
        "\0",
        "\x1b[31m",
        "\ud800",
        "\u202e",
        "`",
        "a===\x1b",
        "1.",
        "==",
    ]
    texts = (*odd, *(f"p{number}>={number}" for number in range(10_000)), "python>=" + "9" * 900, "a" + ",>=1" * 200)
    with calls_at_most(10_000_000):
        found = find_missing(Requirements(env=texts, bins=texts, packages=texts), env={"PATH": os.defpath})
    assert len(found) == 3 * len(texts)
    for item in found:
        shown = item.message + (item.hint or "")
        assert shown == neutral(shown)
        assert len(shown) < 400


OPENCLAW = '  openclaw: {{"emoji": "x", "requires": {}, "primaryEnv": "FORMS_KEY"}}'


@pytest.mark.parametrize(
    ("requires", "found"),
    [
        ('{"bins": ["uv"], "env": ["FORMS_KEY"]}', {"env": ["FORMS_KEY"], "bins": ["uv"], "packages": []}),
        ('{"anyBins": ["bun", "npx"]}', {"env": [], "bins": [], "any_bins": ["bun", "npx"], "packages": []}),
        *(
            (text, {"env": [], "bins": [], "packages": []})
            for text in ("{}", "[uv]", "uv", '{"bins": "uv"}', '{"config": [x]}')
        ),
    ],
)
def test_the_requirements_of_openclaw_are_read(requires: str, found: dict[str, list[str]]) -> None:
    """What has another form is left out; the metadata itself stays as it is."""
    skill = parse(f"---\nname: a\ndescription: b\nmetadata:\n{OPENCLAW.format(requires)}\n---\nDo it.\n")
    assert skill.requirements.as_dict() == found
    assert isinstance(skill.metadata["openclaw"], Mapping)


def test_requirements_of_two_forms_are_joined() -> None:
    metadata = f"metadata:\n{OPENCLAW.format('{bins: [uv, gh]}')}\n"
    text = f"---\nname: a\ndescription: b\nrequires:\n  bins: [git, uv]\n{metadata}---\n"
    assert parse(text).requirements.bins == ("git", "uv", "gh")


def test_one_of_several_programs_is_enough(tmp_path: Path) -> None:
    (tmp_path / "npx").write_text("")
    (tmp_path / "npx").chmod(0o755)
    needs = Requirements(any_bins=("bun", "npx"))
    assert find_missing(needs, env={"PATH": str(tmp_path)}) == ()
    (missing,) = find_missing(needs, env={"PATH": "/nowhere"})
    assert missing.message == "none of the programs `bun`, `npx` is on PATH"
    assert missing.hint == "install one of them, such as `bun`"
