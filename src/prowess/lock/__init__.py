"""Read and write the lock of installed skills, and read the files that it describes."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._files import (
        EXECUTABLE as EXECUTABLE,
        FILE as FILE,
        LINK as LINK,
        NotComparableError as NotComparableError,
        Tree as Tree,
        TreeFile as TreeFile,
        WrittenFiles as WrittenFiles,
        check_paths as check_paths,
        computed_hash as computed_hash,
        copy_tree as copy_tree,
        hash_of_everything as hash_of_everything,
        hash_open_folder as hash_open_folder,
        read_files as read_files,
        read_tree as read_tree,
        tree_digest as tree_digest,
    )
    from ._folders import (
        SHARED_FOLDER as SHARED_FOLDER,
        Permissions as Permissions,
        agent_folders as agent_folders,
        digest_of as digest_of,
        folders_of as folders_of,
        has_own_permissions as has_own_permissions,
        hosts_for as hosts_for,
        is_unchanged as is_unchanged,
        linked_folders as linked_folders,
    )
    from ._lock import (
        LINK_KEY as LINK_KEY,
        MAX_LOCK_BYTES as MAX_LOCK_BYTES,
        SOURCE_KINDS as SOURCE_KINDS,
        Lock as Lock,
        LockedSkill as LockedSkill,
        LockValueError as LockValueError,
        folder_name as folder_name,
        parse_entry as parse_entry,
        parse_lock as parse_lock,
        parse_strict_json as parse_strict_json,
        read_lock as read_lock,
    )
    from ._os_errors import (
        os_errors as os_errors,
    )
    from ._project import (
        LOCK_FILE as LOCK_FILE,
        find_project as find_project,
        own_data_folder as own_data_folder,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
