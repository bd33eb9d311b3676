"""Read what agents recorded of their own sessions, without anything that was said, and write trajectories."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._file import TrajectoryFile as TrajectoryFile, describe_failure as describe_failure
    from ._places import (
        AGENTS as AGENTS,
        Unreadable as Unreadable,
        UnreadableSessionError as UnreadableSessionError,
        agents_with_sessions as agents_with_sessions,
    )
    from ._recording import (
        Recording as Recording,
        project_of as project_of,
        read_sessions as read_sessions,
    )
    from ._records import read_session as read_session, read_steps as read_steps
    from ._session import (
        Activation as Activation,
        FileRead as FileRead,
        Offer as Offer,
        RecordedSession as RecordedSession,
        ScriptRun as ScriptRun,
        utc_time as utc_time,
    )
    from .atif import (
        VERSION as VERSION,
        call_step as call_step,
        message_step as message_step,
        read_trajectory as read_trajectory,
        session_parts as session_parts,
        trajectory_at as trajectory_at,
        trajectory_of as trajectory_of,
    )
    from .vally import read_trials as read_trials
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
