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
    from ._folder import find_skills as find_skills
    from ._source import Source as Source, parse_source as parse_source
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
