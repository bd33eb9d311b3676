"""Read the disk once, with a record of what the reading depended on."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._filesystem import Filesystem as Filesystem, Listing as Listing
    from ._fingerprints import (
        FINGERPRINT_BYTES as FINGERPRINT_BYTES,
        RECORDS as RECORDS,
        Fingerprints as Fingerprints,
        RecordingEnvironment as RecordingEnvironment,
        fingerprint as fingerprint,
        fingerprint_paths as fingerprint_paths,
        has_name as has_name,
        kind as kind,
        link_kind as link_kind,
        newest_time as newest_time,
    )
    from ._ignore import (
        IGNORE_FILES as IGNORE_FILES,
        IgnoreRules as IgnoreRules,
    )
    from ._json_files import (
        MAX_JSON_BYTES as MAX_JSON_BYTES,
        check_depth as check_depth,
        parse_json as parse_json,
        read_json as read_json,
        read_json_or_report as read_json_or_report,
    )
    from ._project import ancestors as ancestors, git_root as git_root, marked_root as marked_root
    from ._question import Question as Question
    from ._walk import MAX_FOLDERS as MAX_FOLDERS, walk_folders as walk_folders
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
