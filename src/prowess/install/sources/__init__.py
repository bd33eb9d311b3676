"""The sources that skills are installed from."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._fetched import (
        Fetched as Fetched,
        FetchedSkill as FetchedSkill,
        Wanted as Wanted,
        check_wanted as check_wanted,
        digest_of as digest_of,
        fetch as fetch,
        resolve_names as resolve_names,
    )
    from ._folder import find_skills as find_skills, skill_in as skill_in
    from ._source import Source as Source, parse_source as parse_source
    from .archive_file import (
        has_archive_name as has_archive_name,
        is_archive_file as is_archive_file,
        read_archive as read_archive,
        unpack_file as unpack_file,
        unpacked_archive as unpacked_archive,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
