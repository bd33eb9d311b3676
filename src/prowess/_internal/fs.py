"""two names -> one step in which they change places, or one is given to what had the other

What Python's `os.rename` cannot say: that nothing may be replaced, and that two things change places. Linux and macOS
have had both for years; where a file system does not, the caller is told.
"""

from __future__ import annotations

import errno
import os
import sys
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["exchange_names", "rename_no_replace"]

# renameat2(2), Linux 3.15; renameatx_np(2), macOS 10.12.
_NO_REPLACE_FLAG, _EXCHANGE_FLAG = (4, 2) if sys.platform == "darwin" else (1, 2)
_UNSUPPORTED_ERRNOS = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@cache
def _renameat2() -> Callable[..., int] | None:
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
        function = library.renameatx_np if sys.platform == "darwin" else library.renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function


def _rename_with_flags(source: int, old: str, target: int, new: str, flags: int) -> bool:
    """Rename with flags, and say whether that is possible here.

    Raises:
        OSError: it is, but it failed.
    """
    function = _renameat2()
    if function is None:
        return False
    import ctypes

    if function(source, os.fsencode(old), target, os.fsencode(new), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED_ERRNOS:
        return False
    raise OSError(number, os.strerror(number), old)


def exchange_names(source: int, old: str, target: int, new: str) -> bool:
    """Let two things change places, each a name in an open folder, and say whether that is possible here.

    Raises:
        OSError: it is, but it failed.
    """
    return _rename_with_flags(source, old, target, new, _EXCHANGE_FLAG)


def rename_no_replace(source: int, old: str, target: int, new: str) -> None:
    """Rename, from one open folder into another, where nothing has the new name.

    Raises:
        OSError: something has; or it failed.
    """
    if _rename_with_flags(source, old, target, new, _NO_REPLACE_FLAG):
        return
    try:
        os.stat(new, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
