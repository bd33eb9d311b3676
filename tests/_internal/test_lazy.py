"""Names of a package are loaded when they are first used, also by several threads at once."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from support.files import write_files

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PACKAGE = """
from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._slow import name as name
else:
    __getattr__, __all__ = lazy_exports()
"""
SLOW = """
import builtins
builtins.lazy_test_started.set()
builtins.lazy_test_go.wait()
name = 1
"""


def test_a_thread_waits_for_a_module_that_another_one_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in `sys.modules` long before its names exist."""
    import builtins

    started, go = threading.Event(), threading.Event()
    monkeypatch.setattr(builtins, "lazy_test_started", started, raising=False)
    monkeypatch.setattr(builtins, "lazy_test_go", go, raising=False)
    write_files(tmp_path, {"lazy_example/__init__.py": PACKAGE, "lazy_example/_slow.py": SLOW})
    monkeypatch.syspath_prepend(tmp_path)
    import lazy_example  # type: ignore[import-not-found]

    found: list[object] = []

    def use() -> None:
        try:
            found.append(lazy_example.name)
        except AttributeError as error:
            found.append(error)

    first, second = threading.Thread(target=use), threading.Thread(target=use)
    first.start()
    started.wait()
    second.start()
    # It has failed by now, or it waits in the lock of the module.
    while second.is_alive() and not _waits_for_import(second):
        pass
    go.set()
    first.join()
    second.join()
    assert found == [1, 1]


def _waits_for_import(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code.co_name == "acquire"
