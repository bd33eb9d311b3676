"""Track the skills of one conversation: what was activated, what its model is sent, and what its user trusts.

Front door: `Session` (catalog, ledger, messages and tools of one conversation), `Trust` (which skills may run tools and
scripts), `find_mentions` (the skills a text names). A session knows no framework, no model and no command line.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._activate_once import activate_once as activate_once
    from ._activation import Activation as Activation, escape_tags as escape_tags
    from ._grants import Grants as Grants
    from ._ledger import ActivationRecord as ActivationRecord
    from ._mentions import Mention as Mention, find_mentions as find_mentions
    from ._remote_files import (
        files_provider as files_provider,
        read_remote_text as read_remote_text,
        skill_folder as skill_folder,
    )
    from ._resources import (
        MediaFile as MediaFile,
        read_media as read_media,
        read_text as read_text,
        resource_folder as resource_folder,
    )
    from ._scripts import Scripts as Scripts, UntrustedSkill as UntrustedSkill, scripts_option as scripts_option
    from ._session import Session as Session
    from ._tools import FileAnswer as FileAnswer, Tool as Tool
    from ._trajectory import (
        RECORDED_TOOLS as RECORDED_TOOLS,
        Trajectory as Trajectory,
        message as message,
        recorded_call as recorded_call,
    )
    from ._trust import (
        Trust as Trust,
        TrustedSkill as TrustedSkill,
        needs_trust as needs_trust,
        trusted_folder as trusted_folder,
        trusted_place as trusted_place,
    )
    from ._work_folders import ScriptSpace as ScriptSpace
    from ._written_files import WrittenFile as WrittenFile
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
