"""Compile regular expressions when they are first used.

To compile one takes as long as reading ten skills, and a command needs few of those that its modules define.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr


class _LazyPattern:
    """An expression that gets the methods of its pattern on first use."""

    def __init__(self, expression: Any, flags: int) -> None:
        self._expression, self._flags = expression, flags

    def __getattr__(self, name: str) -> Any:
        import re

        pattern = re.compile(self._expression, self._flags)
        for method in ("match", "search", "fullmatch", "findall", "finditer", "sub", "split"):
            setattr(self, method, getattr(pattern, method))
        return getattr(pattern, name)


def compile_on_use(expression: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the pattern of an expression, which is compiled when a method of it is called first."""
    pattern: Any = _LazyPattern(expression, flags)
    return pattern  # type: ignore[no-any-return]
