"""Keep results on disk as long as nothing that they depend on has changed."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._code_fingerprint import code_fingerprint as code_fingerprint
    from ._files import user_identity as user_identity
    from ._kept_table import KeptTable as KeptTable
    from ._recorded import Cache as Cache, Recorded as Recorded
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
