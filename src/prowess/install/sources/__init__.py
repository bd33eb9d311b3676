"""The sources that skills are installed from."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._fetched import Fetched as Fetched, FetchedSkill as FetchedSkill
    from ._folder import find_skills as find_skills
    from ._source import Source as Source, fetcher as fetcher, parse_source as parse_source
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "_fetched": (
                "Fetched",
                "FetchedSkill",
            ),
            "_folder": ("find_skills",),
            "_source": (
                "Source",
                "fetcher",
                "parse_source",
            ),
        },
    )
