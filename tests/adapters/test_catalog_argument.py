"""What an adapter accepts in place of a catalog."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess import ConfigError, LiveCatalog, discover
from prowess.adapters._catalog_argument import HINT, catalog_argument
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def test_a_catalog_is_returned_as_it_is(folder: Path) -> None:
    catalog, live = discover(folder), LiveCatalog(folder)
    assert catalog_argument(catalog) is catalog
    assert catalog_argument(live) is live


@pytest.mark.parametrize("kind", [str, os.fspath, lambda path: path])
def test_a_directory_is_its_live_catalog(folder: Path, kind: Any) -> None:
    live = catalog_argument(kind(folder))
    assert isinstance(live, LiveCatalog)
    skill(folder / ".agents/skills/late")
    assert "late" in {entry.name for entry in live.current().skills}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "not a catalog: an object of type `NoneType`"),
        (3, "not a catalog: an object of type `int`"),
        (b".", "not a catalog: an object of type `bytes`"),
        ([], "not a catalog: an object of type `list`"),
        ("", "no such directory: ``"),
        ("no/such/folder", "no such directory: `no/such/folder`"),
        ("a\x00b", "no such directory: `a\\x00b`"),
        (__file__, None),
    ],
)
def test_anything_else_is_an_error_that_says_what_to_pass(value: Any, message: str | None) -> None:
    with pytest.raises(ConfigError) as raised:
        catalog_argument(value)
    assert message in (None, str(raised.value))
    assert raised.value.hint == HINT
