"""Go on with a conversation of an adapter in a new process: `python -m prowess.testing._adapter_process`.

The class of the adapter is named by its module and its name; a module that is a file in no package is loaded from the
file. The order is JSON on stdin.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from prowess.catalog import discover

from ._adapter_project import SEND_SECONDS, expect

if TYPE_CHECKING:
    from ._adapter import Adapter
    from ._adapter_project import Project

__all__ = ["send_in_new_process"]


async def send_in_new_process(project: Project, url: str, saved: str, text: str) -> None:
    """Send a user's text in a conversation that another process began.

    Raises:
        AssertionError: the process failed.
    """
    kind = type(project.adapter)
    name = kind.__qualname__
    expect("<locals>" not in name, f"expected the class `{name}` at the top of a module, for the new process")
    order = {
        "module": kind.__module__,
        "file": inspect.getfile(kind),
        "class": name,
        "folder": str(project.folder),
        "home": str(project.home),
        "url": url,
        "saved": saved,
        "text": text,
    }
    await asyncio.to_thread(_run, json.dumps(order))


def _run(order: str) -> None:
    argv = [sys.executable, "-m", __name__]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            argv, input=order, env=env, capture_output=True, text=True, timeout=SEND_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise AssertionError(f"expected the new process to end within {SEND_SECONDS} seconds") from None
    expect(done.returncode == 0, f"expected the new process to end well; it printed:\n{done.stderr[-4000:]}")


def _make_adapter(module: str, file: str, name: str) -> Adapter:
    try:
        loaded = importlib.import_module(module if module != "__main__" else "")
    except (ModuleNotFoundError, ValueError):  # it is a file: a script, or a test outside `sys.path`
        spec = importlib.util.spec_from_file_location(module, file)
        if spec is None or spec.loader is None:
            raise
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[module] = loaded
        spec.loader.exec_module(loaded)
    value: Any = loaded
    for part in name.split("."):
        value = getattr(value, part)
    adapter: Adapter = value()
    return adapter


async def _send(order: dict[str, str]) -> None:
    adapter = _make_adapter(order["module"], order["file"], order["class"])
    catalog = discover(order["folder"], home=order["home"])
    await adapter.conversation(catalog, model_url=order["url"], saved=order["saved"]).send(order["text"])


if __name__ == "__main__":
    asyncio.run(_send(json.load(sys.stdin)))
