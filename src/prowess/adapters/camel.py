"""Adapt a `Session` to one CAMEL agent: skills that a message names reach the model in that turn.

Skills are added to the messages of a request to the model, after everything that stores messages: the agent's memory,
its storage and `chat_history` never contain them. The classes of CAMEL's own design of skills are here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess._internal.text import quoted
from prowess.errors import ConfigError
from prowess.session import Session

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
    from prowess.session import Scripts

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


def attach(agent: Any, session: Session, *, catalog: bool = False, scripts: bool | Scripts = False) -> Any:
    """Let a `ChatAgent` use the skills of a session: a skill that a user's message names is active for that turn.

    Attaching the same session again changes nothing. `agent.reset()` restarts the conversation of the session, and
    `agent.clone()` attaches a session of its own to the clone, with the same catalog and options.

    Args:
        agent: the CAMEL agent, which is returned.
        session: the session of the agent's conversation.
        catalog: whether the model may choose skills itself: then the system message lists them, and the agent gets
            the tools of the session.
        scripts: with `catalog`, whether the model may run the scripts of skills that the user trusts, and how; see
            `Session.tools`.

    Raises:
        ImportError: CAMEL is not installed.
        ConfigError: not a session, or `scripts` without `catalog`; or the agent has another session, is too old, or has
            a tool of the same name.
    """
    camel = import_camel()
    _check_session(session)
    missing = [name for name in REQUIRED_ATTRIBUTES if not hasattr(agent, name)]
    if missing:
        hint = "this adapter supports `ChatAgent` of camel-ai 0.2.90 and later"
        raise ConfigError(f"the agent has no `{missing[0]}`", hint=hint)
    attachment = vars(agent).get(ATTACHMENT_ATTRIBUTE)
    if attachment is not None:
        if (attachment.session, attachment.catalog, attachment.scripts) == (session, catalog, scripts):
            return agent
        raise ConfigError("the agent already has a session", hint="call `detach(agent)` first")
    if scripts is not False and not catalog:
        raise ConfigError("`scripts` needs the tools of the session", hint="attach with `catalog=True`")
    tools = session.tools(scripts=scripts) if catalog else ()
    duplicates = [tool.name for tool in tools if tool.name in agent.tool_dict]
    if duplicates:
        raise ConfigError(f"the agent already has a tool `{duplicates[0]}`", hint="attach without `catalog=True`")
    Attachment(agent, session, camel.FunctionTool, catalog=catalog, scripts=scripts).install()
    return agent


def _check_session(value: object) -> None:
    """Raise an error if a value is no session.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(value, Session):
        message = f"not a session: an object of type {quoted(type(value).__name__)}"
        raise ConfigError(message, hint="pass a session, such as `Session(live_catalog('.'))`")


def detach(agent: Any) -> Any:
    """Remove the session and its tools from an agent, and return the agent. Its memory does not change."""
    attachment = vars(agent).get(ATTACHMENT_ATTRIBUTE)
    if attachment is not None:
        attachment.remove()
    return agent
