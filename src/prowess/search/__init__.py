"""Find the skills that match a query."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._languages import languages_of as languages_of
    from ._overlap import (
        MAX_COMPARED as MAX_COMPARED,
        Claim as Claim,
        Overlap as Overlap,
        common_terms as common_terms,
        find_overlaps as find_overlaps,
        generic_terms as generic_terms,
    )
    from ._ranking import MAX_QUERY_WORDS as MAX_QUERY_WORDS
    from ._search import (
        MAX_BODY_CHARS as MAX_BODY_CHARS,
        Hit as Hit,
        Index as Index,
        SkillReader as SkillReader,
        searched_terms as searched_terms,
    )
    from ._semantic import Ranker as Ranker, installed_ranker as installed_ranker
    from ._words import ordered_terms as ordered_terms
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
