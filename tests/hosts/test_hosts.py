"""Hosts are data: every key and every word of their files is known."""

from __future__ import annotations

import dataclasses
import re
import runpy
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog._entry import State
from prowess.errors import HostNotFoundError
from prowess.findings import CODES
from prowess.hosts import (
    KEY_DOCS,
    Budget,
    DescriptionRules,
    Host,
    NameRules,
    ReadingRules,
    Root,
    Template,
    host_names,
    load_host,
)
from prowess.hosts._tables import TABLES
from prowess.skill._client_fields import CLIENT_FIELDS
from support.hosts import host_from_table

if TYPE_CHECKING:
    from collections.abc import Iterator

SCOPES = {"managed", "project", "user", "system", "package", "plugin", "extra"}
KINDS = {"missing", "null", "empty", "blank", "number", "bool", "list", "map"}
SEEDS = {"infer", "camel", "aam", "initrunner", "wink"}
SHIPPED = {"infer-cli", "camel-ai"}
SCRIPT: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "tools/host_tables.py"))
OBSERVED = {
    "camel-ai", "claude-code", "cline", "codex", "copilot", "gemini-cli", "kimi-code", "mistral-vibe", "opencode", "pi",
    "pi@0.7", "qwen-code",
}  # fmt: skip


def test_prowess_is_first_and_the_rest_is_sorted() -> None:
    """All hosts of the design exist."""
    names = host_names()
    assert names[0] == "prowess"
    assert list(names[1:]) == sorted(names[1:])
    assert {"prowess", *SEEDS, *SHIPPED, *OBSERVED, "goose", "cursor", "vscode", "amp", "letta"} <= set(names)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("claud-code", "did you mean `claude-code`?"),
        ("INFER", "did you mean `infer`?"),
        ("zzzzzz", "list the hosts with `prowess hosts`"),
        ("../hosts/infer", "did you mean `infer`?"),
        ("zzz", "list the hosts with `prowess hosts`"),
        ("", "list the hosts with `prowess hosts`"),
        ("x" * 1000, "list the hosts with `prowess hosts`"),
    ],
)
def test_an_unknown_host_is_an_error_with_a_similar_name(name: str, hint: str) -> None:
    """No file outside the folder is read."""
    with pytest.raises(HostNotFoundError) as raised:
        load_host(name)
    assert len(str(raised.value)) < 100
    if not name.startswith("../"):
        assert raised.value.hint == hint


def test_a_host_is_loaded_once() -> None:
    assert load_host("codex") is load_host("codex")


def test_the_tables_equal_the_files() -> None:
    """`_tables.py` is generated."""
    assert SCRIPT["tables"]() == TABLES, "a file in src/prowess/hosts/ has changed: type `make quick`"
    assert SCRIPT["MODULE"].read_text(encoding="utf-8").startswith(SCRIPT["HEAD"]), (
        "the module was edited by hand: type `make quick`"
    )


def test_the_documentation_of_keys_equals_the_schema() -> None:
    """`_key_docs.py` is generated."""
    assert SCRIPT["key_docs"]() == KEY_DOCS, "src/prowess/hosts/_schema.py has changed: type `make quick`"
    assert SCRIPT["DOCS_MODULE"].read_text(encoding="utf-8").startswith(SCRIPT["DOCS_HEAD"])


def test_the_fields_of_agents_equal_the_files() -> None:
    """`skill/_client_fields.py` is generated."""
    assert SCRIPT["client_fields"]() == CLIENT_FIELDS, "a file in src/prowess/hosts/ has changed: type `make quick`"
    assert SCRIPT["FIELDS_MODULE"].read_text(encoding="utf-8").startswith(SCRIPT["FIELDS_HEAD"])


@pytest.mark.parametrize("name", host_names())
def test_the_fields_of_an_agent_have_its_evidence(name: str) -> None:
    """Nothing is observed of a client that was never run, and its flags are among its fields."""
    host = load_host(name)
    assert host.observed or not host.fields.observed
    assert not set(host.fields.observed) & set(host.fields.documented)
    for flag in host.flags:
        used = {key for key, wanted in flag.when.items() if not wanted.startswith(("not-", "not:"))}
        if not flag.file and host.observed:
            assert used <= set(host.fields.observed)


def test_lists_of_a_table_become_tuples() -> None:
    """At every depth."""
    table = {
        "title": "X",
        "walk": {"skip": ["a"]},
        "roots": [{"path": "x", "scope": "user"}],
        "flags": [{"when": {"a": "true"}, "state": "disabled", "reason": "b"}],
        "reading": {"refuses": ["c"], "facts": {"texts": ["d"]}},
    }
    host = host_from_table("x", table)
    assert host.roots == (Root(path="x", scope="user", skip=("a",)),)
    assert (host.flags[0].reason, host.reading.refuses) == ("b", ("c",))
    assert host.reading.facts == {"texts": ("d",)}
    assert table["reading"] == {"refuses": ["c"], "facts": {"texts": ["d"]}}


def test_an_unknown_key_is_an_error() -> None:
    """It would be a rule that silently does not apply."""
    with pytest.raises(TypeError, match="Root has no field 'dept'"):
        host_from_table("x", {"title": "X", "roots": [{"path": "x", "scope": "user", "dept": 2}]})


@pytest.mark.parametrize("name", host_names())
def test_a_host_has_evidence(name: str) -> None:
    """Observed with version and date, or documented."""
    host = load_host(name)
    assert host.name == name
    assert host.title
    assert host.observed or host.documented
    if name in OBSERVED:
        assert re.search(r"[0-9]+\.[0-9]+.*, .*20[0-9]{2}", host.observed)
    else:
        assert not host.observed
    assert host.activation
    assert all(link.startswith("https://") for link in host.links)


def is_known_word(name: str, value: object) -> bool:
    """Return whether a value is one of the words that the documentation of its field lists, if it lists any."""
    table, key = name.split(".")
    _, default, words = KEY_DOCS[table][key]
    if isinstance(value, Mapping):
        known = {word.partition(":")[0] for word in words}
        return not words or {word.partition(":")[0] for word in value.values()} <= known
    return not words or value in ("", default) or str(value).lower() in words or "another number" in words


@pytest.mark.parametrize("name", host_names())
def test_every_word_of_a_host_is_known(name: str) -> None:
    """A typing error would be a rule that silently does not apply."""
    host = load_host(name)
    assert [(name, value) for name, value in values_in(host) if not is_known_word(name, value)] == []
    assert host.git_marker in {"exists", "entry", "valid", "named", "git"}
    assert set(host.suppressed_scopes) | set(host.scope_words) <= SCOPES
    for root in host.roots:
        assert root.scope in SCOPES
        assert root.depth >= -1
        assert root.max_folders > 0
    for code in (*host.reading.rejects, *host.reading.as_body):
        assert code in CODES
    for flag in host.flags:
        assert State(flag.state)
        assert flag.reason
        assert flag.code == "" or flag.code in CODES
    for row in host.settings:
        assert row.form or row.doc
    for argument in host.arguments:
        assert argument.doc or argument.effect not in {"", "settings"}
    for pattern in (host.name_rules.pattern, *host.name_rules.replace):
        re.compile(pattern)
    assert set(host.name_rules.on) | set(host.description_rules.on) <= KINDS


@pytest.mark.parametrize("name", host_names())
def test_a_host_is_immutable(name: str) -> None:
    """And has no lists."""
    host = load_host(name)

    def lists(value: object) -> bool:
        if isinstance(value, list):
            return True
        if dataclasses.is_dataclass(value):
            return any(lists(getattr(value, field.name)) for field in dataclasses.fields(value))
        return isinstance(value, tuple) and any(map(lists, value))

    assert not lists(host)
    with pytest.raises(dataclasses.FrozenInstanceError):
        host.title = "x"  # type: ignore[misc]


def test_seed_hosts_have_the_limits_of_their_documents() -> None:
    limits: Mapping[str, tuple[int, int, str]] = {
        "infer": (64, 1024, "drop"),
        "camel": (64, 1024, "drop"),
        "aam": (64, 1024, "drop"),
        "initrunner": (0, 0, "keep"),
        "wink": (64, 1024, "drop"),
        "prowess": (0, 0, "keep"),
    }
    for name, wanted in limits.items():
        host = load_host(name)
        found = (host.name_rules.max_length, host.description_rules.limit, host.description_rules.past_limit)
        assert found == wanted, name


def test_defaults_are_the_common_convention() -> None:
    """A host file contains only the differences."""
    root = Root(path="x", scope="user")
    assert (root.depth, root.walk, root.hidden, root.linked_folders) == (1, "none", False, "follow")
    host = Host(name="x", title="X")
    assert (host.name_rules, host.description_rules, host.reading) == (NameRules(), DescriptionRules(), ReadingRules())
    assert (host.budget, host.template) == (Budget(), Template())
    assert (host.collision, host.compare) == ("first", "exact")


LONE_FIELDS = {
    "Host.folder_names_win": "what Prowess does as a host of its own, which is no client and has no module",
    "Host.sidecar_types": "a table of types, as `settings_types`",
    "Host.suppressed_scopes": "five rooms ask for it, each for the findings that it shows",
    "IsolatedLaunch.arguments": "words of a command, beside those of other clients",
    "IsolatedLaunch.env": "words of a command, beside those of other clients",
}
"""The only fields of the schema with one user, and why each is no function of a client."""


def values_in(value: object) -> Iterator[tuple[str, object]]:
    """Yield the fields of an object and those in it, each with its value."""
    if isinstance(value, Mapping | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from values_in(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            yield f"{type(value).__name__}.{field.name}", item
            yield from values_in(item)


def fields_in(value: object) -> Iterator[tuple[str, bool]]:
    """Yield the fields of an object and those in it, each with whether its value is not the usual one."""
    for name, item in values_in(value):
        table, key = name.split(".")
        default = KEY_DOCS[table][key][1]
        yield name, bool(item) if default in (None, {}) else item != default


def test_each_field_has_two_users() -> None:
    """What one client alone does is a function in its module, `clients/NAME.py`."""
    found = [set(fields_in(load_host(host))) for host in host_names()]
    users = Counter(name for fields in found for name, is_used in fields if is_used)
    assert {name for name, _ in set().union(*found) if users[name] < 2} == set(LONE_FIELDS)
