"""What Gemini CLI alone does: which extensions count, by rules, sources and manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from prowess.clients.gemini_cli import AllowedSources
from support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "gemini-cli")


def extension(machine: Machine, folder: str, *skills: str, install: Any = None, **manifest: Any) -> None:
    place = f"home/.gemini/extensions/{folder}"
    machine.skills(*(f"{place}/skills/{name}" for name in skills))
    machine.write(f"{place}/gemini-extension.json", {"name": folder, "version": "1", **manifest})
    if install is not None:
        machine.write(f"{place}/.gemini-extension-install.json", install)


def test_a_wrong_type_in_the_manifest_of_an_extension_that_is_on_stops_the_client(machine: Machine) -> None:
    extension(machine, "a", "one")
    extension(machine, "b", "two", excludeTools=5)
    assert machine.active() == []
    machine.write("home/.gemini/extensions/extension-enablement.json", {"b": {"overrides": ["!/*"]}})
    assert machine.active() == ["one"]


def test_the_first_megabytes_of_manifests_are_read(machine: Machine) -> None:
    """After 16 MB all others count as too large."""
    machine.write("large.json", '{"name": "x", "version": "1.0.0", "list": [' + "1," * 1_900_000 + "1]}")
    for number in range(6):
        folder = machine.top / f"home/.gemini/extensions/e{number}"
        folder.mkdir(parents=True)
        (folder / "gemini-extension.json").symlink_to(machine.top / "large.json")
    assert any("larger than" in item.message for item in machine.catalog().findings)


def test_extensions_of_one_name_share_the_answer_of_thousands_of_rules(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rule is compared once."""
    import prowess.clients.plugins._extensions as module

    for number in range(30):
        extension(machine, f"e{number}", name="plug")
    rules = "home/.gemini/extensions/extension-enablement.json"
    machine.write(rules, {"plug": {"overrides": ["/a*" * 10] * 900}})
    matches_rule = Mock(return_value=False)
    monkeypatch.setattr(module, "matches_rule", matches_rule)
    machine.catalog()
    assert matches_rule.call_count == 900


# ── sources ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def allows(*patterns: object, source: str = "/work/https:/github.com/o/r") -> bool:
    return AllowedSources(path="/settings.json", patterns=patterns).allows(source)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("github", True),
        (r"github\.com/o/.*$", True),
        ("^https", False),
        ("^/work/.*r$", True),
        ("github.com/(o|p)/r", True),
        ("[^/]+$", True),
        ("o/r\n?$", True),
        ("", True),
    ],
)
def test_one_expression_must_be_found(pattern: str, found: bool) -> None:
    assert allows(pattern) is found
    assert allows("nothing", pattern) is found


@pytest.mark.parametrize("pattern", ["(", "[", 5, None, "a**"])
def test_an_invalid_expression_is_an_error(pattern: object) -> None:
    """An expression before it may be found first."""
    with pytest.raises(ValueError, match=r"."):
        allows(pattern)
    assert allows("github", pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*$",
        "((a{1,9}){1,9}){1,9}$",
        ".*.*.*.*.*.*.*x",
        r"(a)\1",
        "(?=a)",
        "a{1,99999}" * 9,
        "a?" * 60 + "x",
        "a??" * 60 + "x",
        "(a|a)" * 60 + "x",
        "(|a|b)" * 60 + "x",
        "a{,60}" * 60 + "x",
        "(?x)(a|a) # \n *x",
        "(?:a|a)(?#)*x",
        "[" * 500_000,
        "a" * 500_000,
    ],
)
def test_an_expression_that_may_take_long_is_not_tried(pattern: str) -> None:
    with pytest.raises(TimeoutError):
        allows(pattern, source="a" * 3000)


def test_all_searches_together_have_a_limit() -> None:
    """Of all extensions: the steps of each are counted before it starts."""
    allowed = AllowedSources(path="/settings.json", patterns=("a.*.*x",))

    def searches() -> int:
        for number in range(10_000):
            try:
                allowed.allows("a" * 200)
            except TimeoutError:
                return number
        return 10_000

    assert 0 < searches() < 1000
    assert searches() == 0


def test_an_expression_that_python_warns_of_is_tried_without_a_word(recwarn: pytest.WarningsRecorder) -> None:
    assert allows("[[h]ttps") is True
    assert not recwarn.list
