"""The folders of the cache and the settings."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from prowess._internal.user_dirs import cache_folder

if TYPE_CHECKING:
    import pytest


def test_the_cache_folder_is_set_by_variables_or_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """`PROWESS_CACHE_DIR`, else `XDG_CACHE_HOME`, else below the home; `PROWESS_NO_CACHE` switches the cache off."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder({}) == "/home/me/.cache/prowess"
    assert cache_folder({"XDG_CACHE_HOME": "/x"}) == "/x/prowess"
    assert cache_folder({"XDG_CACHE_HOME": "not/absolute"}) == "/home/me/.cache/prowess"
    assert cache_folder({"PROWESS_CACHE_DIR": "/c", "XDG_CACHE_HOME": "/x"}) == "/c"
    assert cache_folder({"PROWESS_CACHE_DIR": "c"}) == os.path.abspath("c")
    for word in ("1", "true", "yes", " on ", "anything"):
        assert cache_folder({"PROWESS_CACHE_DIR": "/c", "PROWESS_NO_CACHE": word}) is None
    for word in ("", "0", "false", "No", "off"):
        assert cache_folder({"PROWESS_CACHE_DIR": "/c", "PROWESS_NO_CACHE": word}) == "/c"
    monkeypatch.setenv("HOME", "relative")
    assert cache_folder({}) is None
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", "/Users/me")
    assert cache_folder({}) == "/Users/me/Library/Caches/prowess"
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache_folder({"PROWESS_CACHE_DIR": "/c"}) is None
