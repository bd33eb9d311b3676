"""The hash of the interpreter and that of OpenSSL are the same."""

from __future__ import annotations

import hashlib
import sys

import pytest

from prowess._internal import hashes

TEXTS = [b"", b"a", b"abc" * 100, bytes(range(256)) * 999]


@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize("module", ["the interpreter's own", "no_such_module"])
@pytest.mark.parametrize("size", [0, 256 * 1024, 256 * 1024 + 1])
def test_each_implementation_gives_the_same(
    size: int, module: str, is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without `hashlib`, and on an interpreter without a hash of its own."""
    if module == "no_such_module":
        monkeypatch.setattr(hashes, "_OWN_MODULE", module)
    with monkeypatch.context() as patch:
        if not is_loaded:
            patch.delitem(sys.modules, "hashlib")
        new = hashes.sha256_for(size)
    for text in TEXTS:
        digest = new()
        for start in range(0, len(text), 1000):
            digest.update(text[start : start + 1000])
        assert digest.digest() == hashlib.sha256(text).digest()
        assert digest.hexdigest() == hashlib.sha256(text).hexdigest()


def test_a_large_skill_is_hashed_by_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is several times as fast then."""
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "hashlib")
        small, large = hashes.sha256_for(1000), hashes.sha256_for(1_000_000)
    assert small is not large
    assert large.__name__ == hashlib.sha256.__name__
