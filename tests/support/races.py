"""Change files while the code under test uses them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from prowess._internal.fs import FOLDER_FLAGS, exchange_names, open_fd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def flipped(folder: Path, one: str, other: str) -> Iterator[None]:
    """Exchange two names in a folder again and again until the block ends; skip the test if that is not possible."""
    stopped = threading.Event()
    with open_fd(str(folder), FOLDER_FLAGS) as fd:
        if not exchange_names(fd, one, fd, other):
            pytest.skip("this file system cannot exchange names")
        exchange_names(fd, one, fd, other)

        def flip() -> None:
            while not stopped.wait(0.0002):
                exchange_names(fd, one, fd, other)

        thread = threading.Thread(target=flip)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()
