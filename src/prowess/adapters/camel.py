"""Adapt a `Session` to one CAMEL agent: skills that a message names reach the model in that turn.

Skills are added to the messages of a request to the model, after everything that stores messages: the agent's memory,
its storage and `chat_history` never contain them. The classes of CAMEL's own design of skills are here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.errors import ConfigError

from ._camel_attachment import ATTACHMENT_ATTRIBUTE, REQUIRED_ATTRIBUTES, Attachment
from ._camel_design import (
    FilesystemSkillProvider,
    SkillDocument,
    SkillError,
    SkillLoader,
    SkillLoadOutcome,
    SkillManager,
    SkillMetadata,
    SkillProvider,
    SkillWarning,
    import_camel,
)

if TYPE_CHECKING:
    from prowess.session import Session

__all__ = [
    "attach",
    "detach",
    "SkillManager",
    "SkillProvider",
    "FilesystemSkillProvider",
    "SkillLoader",
    "SkillMetadata",
    "SkillDocument",
    "SkillLoadOutcome",
    "SkillError",
    "SkillWarning",
]


def attach(agent: Any, session: Session, *, catalog: bool = False) -> Any:
    """Let a `ChatAgent` use the skills of a session: a skill that a user's message names is active for that turn.

    Attaching the same session again changes nothing. `agent.reset()` restarts the conversation of the session.

    Args:
        agent: the CAMEL agent, which is returned.
        session: the session of the agent's conversation.
        catalog: whether the model may choose skills itself: then the system message lists them, and the agent gets
            the tools of the session.

    Raises:
        ImportError: CAMEL is not installed.
        ConfigError: the agent has another session, is too old, or has a tool of the same name.
    """
    camel = import_camel()
    attachment = vars(agent).get(ATTACHMENT_ATTRIBUTE)
    if attachment is not None:
        if attachment.session is session and attachment.catalog is catalog:
            return agent
        raise ConfigError("the agent already has a session", hint="call `detach(agent)` first")
    missing = [name for name in REQUIRED_ATTRIBUTES if not hasattr(agent, name)]
    if missing:
        hint = "this adapter supports `ChatAgent` of camel-ai 0.2.90 and later"
        raise ConfigError(f"the agent has no `{missing[0]}`", hint=hint)
    duplicates = [tool.name for tool in session.tools() if catalog and tool.name in agent.tool_dict]
    if duplicates:
        raise ConfigError(f"the agent already has a tool `{duplicates[0]}`", hint="attach without `catalog=True`")
    Attachment(agent, session, camel.FunctionTool, catalog=catalog).install()
    return agent


def detach(agent: Any) -> Any:
    """Remove the session and its tools from an agent, and return the agent. Its memory does not change."""
    attachment = vars(agent).get(ATTACHMENT_ATTRIBUTE)
    if attachment is not None:
        attachment.remove()
    return agent
