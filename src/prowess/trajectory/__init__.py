"""Read what agents recorded of their own sessions: which skills were offered and used, and nothing that was said."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._places import (
        AGENTS as AGENTS,
        Unreadable as Unreadable,
        agents_with_sessions as agents_with_sessions,
    )
    from ._recording import (
        Recording as Recording,
        project_of as project_of,
        read_sessions as read_sessions,
    )
    from ._session import (
        Activation as Activation,
        FileRead as FileRead,
        Offer as Offer,
        RecordedSession as RecordedSession,
        ScriptRun as ScriptRun,
        utc_time as utc_time,
    )
    from .atif import trajectory_of as trajectory_of
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
