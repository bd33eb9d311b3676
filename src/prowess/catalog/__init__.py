"""Find the skills that a host sees from a directory, and say which win and why.

Start with `discover`, which returns a `Catalog` of `Entry` values; `render` writes the block for a model, and `check`
returns findings. This package knows no command, no conversation and no model.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._catalog import (
        Catalog as Catalog,
        entries_named as entries_named,
        entry_at as entry_at,
        mapped_readers as mapped_readers,
        skills_in_text as skills_in_text,
    )
    from ._discover import (
        catalog_for as catalog_for,
        catalog_output as catalog_output,
        discover as discover,
        new_filesystem as new_filesystem,
        question_output as question_output,
        recorded_output as recorded_output,
    )
    from ._entry import (
        AWAITS_TRUST as AWAITS_TRUST,
        REACHABLE as REACHABLE,
        Entry as Entry,
        State as State,
        with_digest as with_digest,
    )
    from ._evaluate import Evaluator as Evaluator
    from ._filesystem_provider import FilesystemSkillProvider as FilesystemSkillProvider
    from ._live import LiveCatalog as LiveCatalog, live_catalog as live_catalog
    from ._many import (
        ManyReaders as ManyReaders,
        ManySkills as ManySkills,
        SkillTable as SkillTable,
        TermCounts as TermCounts,
    )
    from ._provided_skills import add_providers as add_providers, join_catalogs as join_catalogs
    from ._providers import FilesProvider as FilesProvider, SkillProvider as SkillProvider
    from ._resolve import evaluate_alone as evaluate_alone, evaluate_file as evaluate_file
    from ._sidecar_values import sidecar_matches as sidecar_matches
    from ._verdicts import LIST_ONLY as LIST_ONLY
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
