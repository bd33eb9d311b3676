"""What a script needs, as its author says it, or as its imports say it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prowess.environments import find_needs, find_node_needs, needs_of_skill
from support.files import write_files
from support.growth import assert_linear, calls_at_most, ends

if TYPE_CHECKING:
    from pathlib import Path

INLINE = """#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["Pillow >= 10", "lxml"]
# ///
import numpy
"""


@pytest.mark.parametrize(
    ("files", "source", "requirements"),
    [
        ({"scripts/x.py": INLINE, "requirements.txt": "pandas"}, "inline metadata", ("lxml", "pillow>=10")),
        ({"scripts/x.py": "import numpy", "requirements.txt": "pandas  # data"}, "requirements.txt", ("pandas",)),
        (
            {"scripts/x.py": "", "scripts/requirements.txt": "a\n", "requirements.txt": "b\n"},
            "scripts/requirements.txt",
            ("a",),
        ),
        ({"scripts/x.py": "import numpy\nfrom PIL import Image"}, "imports", ("numpy", "pillow")),
        ({"scripts/x.py": "import json, os.path as p, sys"}, "", ()),
    ],
)
def test_what_is_declared_counts_and_else_the_imports(
    tmp_path: Path, files: dict[str, str], source: str, requirements: tuple[str, ...]
) -> None:
    """A block in the script is complete; the nearest `requirements.txt` is for all scripts below it."""
    write_files(tmp_path, files)
    needs = find_needs(str(tmp_path), ("scripts", "x.py"))
    assert (needs.source, needs.requirements) == (source, requirements)


def test_a_version_of_python_is_not_a_package(tmp_path: Path) -> None:
    """As PEP 723 and as UAAPS write it."""
    write_files(tmp_path, {"x.py": INLINE, "y.py": ""})
    assert find_needs(str(tmp_path), ("x.py",)).python == ">=3.11"
    needs = find_needs(str(tmp_path), ("y.py",), ["python >= 3.10", "pypdf"])
    assert (needs.python, needs.requirements, needs.source) == (">=3.10", ("pypdf",), "requires.packages")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--index-url https://example.com/simple", "it is an option of pip"),
        ("-e .", "it is an option of pip"),
        ("-r other.txt", "it is an option of pip"),
        ("evil @ https://example.com/evil.whl", "it is an address"),
        ("git+https://example.com/evil", "it is an address"),
        ("./evil.whl", "it is a path"),
        ("../evil", "it is a path"),
        ("evil evil", "it is not a requirement"),
        ("evil\x00", "it is not a requirement"),
    ],
)
def test_only_names_and_versions_are_installed(tmp_path: Path, line: str, reason: str) -> None:
    """What an author writes beside them is for pip, and could name any code."""
    write_files(tmp_path, {"x.py": "", "requirements.txt": f"good>=1\n{line}\n"})
    needs = find_needs(str(tmp_path), ("x.py",))
    assert needs.requirements == ("good>=1",)
    assert [each for _, each in needs.refused] == [reason]
    assert reason in needs.notes()[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Foo_Bar >= 1.0 , < 2", "foo-bar>=1.0,<2"),
        ("foo.bar[ B, a ]==1.*", "foo-bar[a,b]==1.*"),
        ("foo (>=1)", "foo>=1"),
        ("foo>=1 --hash=sha256:00 --hash=sha256:11", "foo>=1"),
    ],
)
def test_one_meaning_has_one_form(tmp_path: Path, one: str, other: str) -> None:
    """So that two spellings share an environment."""
    found = [
        find_needs(str(write_files(tmp_path / name, {"x.py": "", "requirements.txt": text})), ("x.py",))
        for name, text in (("one", one), ("other", other))
    ]
    assert found[0].requirements == found[1].requirements == (other,)


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("# /// script\n# dependencies = ['a']\n# ///\n#\n# ///\n", ()),  # the last end counts: no TOML
        ("# /// script\n# dependencies = ['a']\n#\n# ///\n\n# ///", ("a",)),
        ("# /// script\n# ///\n# /// script\n\n# /// script\n# dependencies = ['b']\n# ///", ("b",)),
        ("# /// script\n# dependencies = ['a']\nx = 1\n# ///\n", ()),
        ("# /// other\n# dependencies = ['a']\n# ///\n", ()),
        (" # /// script\n# dependencies = ['a']\n# ///\n", ()),
        ("# /// script\n#dependencies = ['a']\n# ///\n", ()),
    ],
)
def test_inline_metadata_begins_and_ends_as_the_specification_says(
    tmp_path: Path, text: str, requirements: tuple[str, ...]
) -> None:
    """The regular expression of packaging.python.org matches these, and as much of them."""
    write_files(tmp_path, {"x.py": text})
    assert find_needs(str(tmp_path), ("x.py",)).requirements == requirements


@pytest.mark.parametrize(
    ("name", "repeated", "times"),
    [("x.py", "# /// script\n", 2000), ("requirements.txt", " ", 300), ("requirements.txt", "\\\n", 300)],
)
def test_time_grows_linearly_with_a_file_that_is_made_to_be_slow(
    tmp_path: Path, name: str, repeated: str, times: int
) -> None:
    """`prowess show` and `prowess trust` read these files before a user trusts the skill."""

    def write(count: int) -> str:
        text = repeated * count
        return str(write_files(tmp_path / str(count), {"x.py": "", name: text if name == "x.py" else f"a{text}b"}))

    assert_linear(lambda folder: find_needs(folder, ("x.py",)), times, setup=write)


def test_scripts_that_all_import_each_other_are_read_once(tmp_path: Path) -> None:
    """Forty with forty imports each: at most two hundred calls for an import."""
    names = [f"m{number}" for number in range(40)]
    text = "".join(f"import {name}\n" for name in (*names, "numpy"))
    write_files(tmp_path, {f"{name}.py": text for name in names})
    with calls_at_most(40 * 40 * 200):
        found = needs_of_skill(str(tmp_path), [f"{name}.py" for name in names])
    assert [(needs.requirements, len(scripts)) for needs, scripts in found.items()] == [(("numpy",), 40)]


def test_a_thousand_packages_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"x.py": "", "requirements.txt": "\n".join(f"name{number}" for number in range(1000))})
    needs = find_needs(str(tmp_path), ("x.py",))
    assert needs.requirements == ()
    assert needs.notes() == ["`1,000 packages` of requirements.txt is not installed: 100 is the most"]


@pytest.mark.parametrize("name", ["reqeusts", "requets", "requestss", "rewuests"])
def test_a_name_that_differs_by_one_letter_from_a_known_one_is_shown(tmp_path: Path, name: str) -> None:
    """One letter is another, is missing, is too much, or two are exchanged."""
    write_files(tmp_path, {"x.py": "", "requirements.txt": f"{name}\nrequests\nnumpy\n"})
    needs = find_needs(str(tmp_path), ("x.py",))
    assert needs.lookalikes == ((name, "requests"),)
    assert needs.notes() == [f"`{name}` is not `requests`: their names differ by one letter"]


# ── imports ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_files_of_the_skill_are_not_packages_and_their_imports_count(tmp_path: Path) -> None:
    """By the folder of the script, by that of the skill, and by relative imports."""
    files = {
        "scripts/x.py": "from scripts.tools import one\nimport helper\nfrom office import pack",
        "scripts/tools/__init__.py": "from .deep import two\nfrom . import three",
        "scripts/tools/deep.py": "import lxml.etree",
        "scripts/tools/three.py": "import pandas as pd",
        "scripts/helper.py": "import numpy",
        "scripts/office/pack.py": "import yaml",
    }
    needs = find_needs(str(write_files(tmp_path, files)), ("scripts", "x.py"))
    assert needs.requirements == ("lxml", "numpy", "pandas", "pyyaml")
    assert needs.unknown == ()


def test_modules_of_no_known_package_are_shown(tmp_path: Path) -> None:
    """Before the script runs, since it may not; with its answer only if they are missing."""
    write_files(tmp_path, {"x.py": "import " + ", ".join(f"m{number}" for number in range(7))})
    ((needs, paths),) = needs_of_skill(str(tmp_path), ["x.py"]).items()
    assert paths == ["x.py"]
    names = "`m0`, `m1`, `m2`, `m3`, `m4` and 2 more"
    assert needs.notes() == [f"no package is known that has {names}, which the scripts import"]
    assert needs.notes(unknown=False) == []


LOCKED = {"version": "1.0.0", "integrity": "sha512-x", "resolved": "https://example.com/a.tgz"}


@pytest.mark.parametrize(
    ("rows", "used"),
    [
        ({"node_modules/a": LOCKED, "node_modules/a/node_modules/@b/c": LOCKED}, True),
        ({"node_modules/a": {**LOCKED, "link": True}}, False),
        ({"../a": LOCKED}, False),
        ({"node_modules/../../a": LOCKED}, False),
        ({"node_modules/a": {"version": "git+ssh://git@example.com/a"}}, False),
        ({"node_modules/a": {**LOCKED, "name": "other"}}, False),
        ({"node_modules/a": {**LOCKED, "integrity": "sha1-x"}}, False),
        ([], False),
    ],
)
def test_a_lock_of_npm_is_used_without_its_addresses(tmp_path: Path, rows: object, used: bool) -> None:
    lock = json.dumps({"packages": rows})
    write_files(tmp_path, {"package.json": '{"dependencies": {"a": "^1"}}', "package-lock.json": lock})
    needs = find_node_needs(str(tmp_path), ("x.js",))
    says = " and package-lock.json" if used else ", without a usable package-lock.json"
    assert (bool(needs.lock), needs.source, "example" in needs.lock) == (used, f"package.json{says}", False)


def test_no_package_is_guessed_from_the_name_of_a_module(tmp_path: Path) -> None:
    """`scripts` and `helpers` on PyPI are packages of other authors."""
    write_files(tmp_path, {"x.py": "import scripts, helpers.one\nfrom my_company import tools"})
    needs = find_needs(str(tmp_path), ("x.py",))
    assert (needs.requirements, needs.unknown) == ((), ("helpers", "my_company", "scripts"))


@pytest.mark.parametrize(
    "text",
    [
        '"""\nimport numpy\nfrom pandas import x\n"""',
        "x = 'import numpy'",
        "# import numpy",
        "print('a')  # import numpy",
    ],
)
def test_words_in_texts_are_no_imports(tmp_path: Path, text: str) -> None:
    write_files(tmp_path, {"x.py": text})
    assert find_needs(str(tmp_path), ("x.py",)).requirements == ()


@pytest.mark.parametrize(
    "text",
    [
        "import numpy\n" + "(" * 100_000,
        "import numpy\n" + "-" * 100_000 + "1",
        "import numpy\n" + "a" + ".b" * 100_000,
        "import numpy\n  broken\n indent",
        "import numpy\nx = '''never closed",
        "import numpy\n\udcff".encode("utf-8", "surrogateescape"),
        "# coding: nonsense\nimport numpy",
        "import numpy\n\0",
    ],
)
def test_a_text_that_is_no_python_neither_crashes_nor_raises(tmp_path: Path, text: str | bytes) -> None:
    write_files(tmp_path, {"x.py": text})
    assert find_needs(str(tmp_path), ("x.py",)).requirements in ((), ("numpy",))


def test_a_file_behind_a_link_is_not_read(tmp_path: Path) -> None:
    """A copy of a skill has the links of its author."""
    (tmp_path / "secret.py").write_text("import numpy")
    skill = write_files(tmp_path / "skill", {"x.py": "import tools"})
    (skill / "tools.py").symlink_to(tmp_path / "secret.py")
    assert find_needs(str(skill), ("x.py",)).requirements == ()


def test_files_that_import_each_other_are_read_once(tmp_path: Path) -> None:
    """There are more ways through thirty files than anyone can walk."""
    names = ", ".join(f"m{number}" for number in range(30))
    write_files(tmp_path, {f"m{number}.py": f"import {names}\nimport numpy" for number in range(30)})
    with ends():
        assert find_needs(str(tmp_path), ("m0.py",)).requirements == ("numpy",)


# ── Node.js ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_nearest_package_file_names_packages_of_node(tmp_path: Path) -> None:
    """Only what its scripts run with: neither tools of its author nor commands."""
    content = {
        "dependencies": {"docx": "^9.6.1", "@scope/a": "1.x || >=2.5.0 <3.0.0"},
        "devDependencies": {"vite": "1"},
    }
    files = {"scripts/x.mjs": "", "scripts/package.json": json.dumps(content), "package.json": "{}"}
    needs = find_node_needs(str(write_files(tmp_path, files)), ("scripts", "x.mjs"))
    assert (needs.kind, needs.source) == ("npm", "scripts/package.json, without a usable package-lock.json")
    assert needs.requirements == ("@scope/a@1.x || >=2.5.0 <3.0.0", "docx@^9.6.1")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("evil", "https://example.com/evil.tgz"),
        ("evil", "file:../evil"),
        ("evil", "git+ssh://example.com/evil"),
        ("evil", "someone/evil"),
        ("evil", "npm:other@1"),
        ("evil", "workspace:*"),
        ("../evil", "1"),
        ("--registry", "1"),
        ("Evil", "1"),
        ("evil", 1),
        ("evil", None),
    ],
)
def test_addresses_and_folders_are_refused_for_node_too(tmp_path: Path, name: str, version: object) -> None:
    content = json.dumps({"dependencies": {name: version, "good": "1"}})
    needs = find_node_needs(str(write_files(tmp_path, {"x.js": "", "package.json": content})), ("x.js",))
    assert needs.requirements == ("good@1",)
    reason = "it is not a name and a range of versions"
    assert needs.notes() == [f"`{name}: {version}` of package.json is not installed: {reason}"]


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"dependencies": [1]}', '{"dependencies": "x"}'])
def test_a_package_file_of_another_form_names_nothing(tmp_path: Path, text: str) -> None:
    assert find_node_needs(str(write_files(tmp_path, {"x.js": "", "package.json": text})), ("x.js",)).requirements == ()
