"""Run a role: an agent in one YAML file, with its model, its skills and its tools.

Front door: `assemble` reads a role and everything it names, `explain_assembly` shows where each part comes from, and
`Conversation` talks to it. `prowess.agent.role` reads role files, `prowess.agent.tools` makes tools and
`prowess.agent.server` serves a role over HTTP. Only `Conversation`, `make_model` and the server need Pydantic AI.
Nothing here knows the command line.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._threads import wait_for_threads as wait_for_threads
    from ._turn import ToolCall as ToolCall, Turn as Turn
    from .assembly import Assembly as Assembly, assemble as assemble
    from .conversation import Confirm as Confirm, Conversation as Conversation
    from .explain import (
        dry_run as dry_run,
        explain_assembly as explain_assembly,
        format_explanation as format_explanation,
    )
    from .models import make_model as make_model, model_findings as model_findings
    from .reload import RoleReloader as RoleReloader
    from .stored import StoredConversation as StoredConversation
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
