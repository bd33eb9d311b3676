"""Change several folders and one file together: all changes happen, or none, even if the process is killed.

Front door: `LockedFolder`, from which mounting and installing each make a class with their rules and errors.
"""

from ._journal import inode, is_file_name
from ._transaction import LockedFolder, Staging

__all__ = ["LockedFolder", "Staging", "inode", "is_file_name"]
