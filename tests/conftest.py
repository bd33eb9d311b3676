# ruff: noqa: E402 - what follows the tables imports Prowess, which needs them
"""Give every test its own home and cache."""

from __future__ import annotations

import gc
import runpy
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell, and so in all programs
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # below `nohup`, likewise
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_tables = runpy.run_path(str(Path(__file__).parents[1] / "tools/host_tables.py"))
if not _tables["are_current"]():  # a host file changed, or git removed them
    _tables["write_modules"]()

from support.postgres import postgres_server  # noqa: F401 - a fixture
from support.processes import without_sync
from support.programs import pytest_runtest_makereport, pytest_runtest_setup, pytest_sessionfinish  # noqa: F401 - hooks
from support.registry import private_registry, registry  # noqa: F401 - fixtures
from support.users import open_folder  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from collections.abc import Iterator

with suppress(ImportError):  # the environments of adapters have no hypothesis
    import support.strategies  # noqa: F401 - loads the profile that makes every run the same

collect_ignore = ["testing/corpus"]
"""Skills with test cases, which the plugin would run; `tests/testing/test_corpus.py` runs them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the case documents (tests/cases/README.md)."""
    parser.addoption("--update-cases", action="store_true", help="write what is into the documents of tests/cases")


def pytest_sessionstart() -> None:
    gc.disable()  # until twenty thousand tests are collected, none of which is garbage


def pytest_collection_finish() -> None:
    """Let the garbage collector leave out what stays until the end."""
    gc.freeze()
    gc.enable()


def pytest_runtest_teardown() -> None:
    """Refuse a test that leaves the garbage collector off: memory would grow until the end of all tests."""
    if not gc.isenabled():
        gc.enable()
        pytest.fail("the garbage collector is off after the test")


@pytest.fixture(autouse=True, scope="session")
def _no_sync() -> Iterator[None]:
    with without_sync():
        yield


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Read no configuration or variables of the user who runs the tests, and leave no files in their home."""
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("PROWESS_CACHE_DIR", str(home / "cache"))
        patch.setenv("PROWESS_DATA_DIR", str(home / "data"))
        patch.setenv("PROWESS_CONFIG_DIR", str(home / "config"))
        for variable in ("NO_COLOR", "FORCE_COLOR"):  # a CI system may set one
            patch.delenv(variable, raising=False)
        patch.setenv("UV_OFFLINE", "1")  # scripts get packages only from folders of their tests
        # Frameworks read all authorities for each client that they create, which takes half of the time of their tests.
        patch.setenv("SSL_CERT_FILE", str(Path(__file__).parent / "support/authority.pem"))
        patch.setenv("CAMEL_WORKDIR", str(home))  # where CAMEL writes its summaries of conversations
        yield
