"""Say what could not be done, where the system only says why."""

from __future__ import annotations

from contextlib import contextmanager

from prowess._internal.ownership import ForeignError
from prowess._internal.text import describe_os_error
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def os_errors(message: str, hint: str | None = None) -> Iterator[None]:
    """Raise errors of the system as `MESSAGE: REASON`.

    Raises:
        InstallError: the block raised an `OSError`.
    """
    try:
        yield
    except OSError as error:
        known = error.hint if isinstance(error, ForeignError) else hint
        raise InstallError(f"{message}: {describe_os_error(error)}", hint=known) from None
