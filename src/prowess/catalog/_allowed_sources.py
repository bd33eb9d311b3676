"""Tell whether settings allow a plugin by where it was installed from.

Settings give regular expressions, which may come from anyone: only those are tried that take bounded time.
"""

from __future__ import annotations

import re
import warnings

from ._bounded_expressions import TOKEN, count_steps

__all__ = ["AllowedSources"]

_MAX_STEPS = 20_000_000
"""How many steps all searches may take at most."""


class AllowedSources:
    """The regular expressions of a setting.

    Args:
        path: the file that has them.
        patterns: as written; anything but text stops the client.
    """

    def __init__(self, *, path: str, patterns: tuple[object, ...]) -> None:
        self.path, self.patterns = path, patterns
        self._steps_left: float = _MAX_STEPS

    def allows(self, source: str) -> bool:
        """Return whether one of the expressions is found in a path.

        Raises:
            ValueError: one is invalid, so that the client ends with an error.
            TimeoutError: one could take too long, and is not tried.
        """
        for pattern in self.patterns:
            if not isinstance(pattern, str):
                raise ValueError(f"{pattern!r:.100} is no text")  # noqa: TRY004 - any fault of a pattern is one
            if self._find(pattern, source):
                return True
        return False

    def _find(self, pattern: str, text: str) -> bool:
        if re.search(r"\(\?(?:[=!]|<)|\\[1-9k]", pattern):
            raise TimeoutError(pattern)
        steps = count_steps(pattern, len(text)) + len(pattern)
        if steps > self._steps_left:
            raise TimeoutError(pattern)
        self._steps_left -= steps
        # In JavaScript, `$` is the end of the text only.
        parts = (r"\Z" if token[0] == "$" else token[0] for token in TOKEN.finditer(pattern))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return re.search("".join(parts), text, re.ASCII) is not None
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from None
