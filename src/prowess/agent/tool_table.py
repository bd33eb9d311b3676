"""tool type -> what its configuration may say

Types and keys are InitRunner's. A skill's `tools:` and a role's are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess.agent.shape import Key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.shape import Table

__all__ = ["TOOLS"]

_TIMEOUT = Key(kind="number", doc="seconds one call may take", default=30.0, high=3600)
_OUTPUT = Key(kind="integer", doc="bytes of output a call may return", default=100_000, low=1, high=10_000_000)
_CONFIRM = "whether the user is asked before each call"

TOOLS: Mapping[str, Table] = {
    "filesystem": {
        "root_path": Key(kind="text", doc="the folder that is open to it, relative to the role's", default="."),
        "read_only": Key(kind="truth", doc="whether nothing may be written", default=True),
        "allowed_extensions": Key(
            kind="texts", doc="endings of files that may be opened, as in `.md`; none is all", default=()
        ),
        "max_bytes": Key(kind="integer", doc="bytes of a file that are read or written", default=1_000_000, low=1),
        "require_confirmation": Key(
            kind="truth", doc="whether the user is asked before a file is written", default=False
        ),
    },
    "git": {
        "repo_path": Key(kind="text", doc="the repository, relative to the role's folder", default="."),
        "read_only": Key(kind="truth", doc="whether nothing may be changed", default=True),
        "timeout_seconds": _TIMEOUT,
        "max_output_bytes": _OUTPUT,
    },
    "shell": {
        "allowed_commands": Key(kind="texts", doc="programs that may be started; none is all", default=()),
        "blocked_commands": Key(kind="texts", doc="programs that may not", default=()),
        "require_confirmation": Key(kind="truth", doc=_CONFIRM, default=True),
        "timeout_seconds": _TIMEOUT,
        "working_dir": Key(kind="text", doc="where they start, relative to the role's folder", default="."),
        "max_output_bytes": _OUTPUT,
    },
    "http": {
        "base_url": Key(kind="text", doc="where all requests go: `https://HOST/PATH`", needed=True),
        "allowed_methods": Key(
            kind="texts",
            doc="methods that may be used",
            default=("GET",),
            choices=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
        ),
        "headers": Key(kind="text-map", doc="headers of each request; `${NAME}` is a variable's value", default={}),
        "timeout_seconds": _TIMEOUT,
        "max_bytes": Key(kind="integer", doc="bytes of an answer that are read", default=1_000_000, low=1),
        "allow_private": Key(
            kind="truth", doc="whether addresses of this machine or network may be asked", default=False
        ),
    },
    "web_reader": {
        "allowed_domains": Key(
            kind="texts", doc="domains that may be read, with all below them; none is all", default=()
        ),
        "blocked_domains": Key(kind="texts", doc="domains that may not", default=()),
        "timeout_seconds": _TIMEOUT,
        "max_content_bytes": Key(kind="integer", doc="bytes of a page that are read", default=1_000_000, low=1),
        "allow_private": Key(
            kind="truth", doc="whether addresses of this machine or network may be asked", default=False
        ),
    },
    "mcp": {
        "transport": Key(
            kind="text", doc="how the server is spoken to", default="stdio", choices=("stdio", "sse", "streamable-http")
        ),
        "command": Key(kind="text", doc="the program that is the server, for `stdio`"),
        "args": Key(kind="texts", doc="its arguments", default=()),
        "env": Key(kind="text-map", doc="variables for it; `${NAME}` is a variable's value", default={}),
        "cwd": Key(kind="text", doc="where it starts, relative to the role's folder"),
        "url": Key(kind="text", doc="where the server is, for the others"),
        "headers": Key(kind="text-map", doc="headers of each request; `${NAME}` is a variable's value", default={}),
        "tool_filter": Key(kind="texts", doc="tools of the server that are offered; none is all", default=()),
        "tool_exclude": Key(kind="texts", doc="tools of the server that are not", default=()),
        "tool_prefix": Key(kind="text", doc="put before the names of its tools, with `_`"),
        "timeout_seconds": _TIMEOUT,
        "require_confirmation": Key(kind="truth", doc=_CONFIRM, default=False),
    },
    "python": {
        "timeout_seconds": _TIMEOUT,
        "max_output_bytes": _OUTPUT,
        "working_dir": Key(kind="text", doc="what the code can read, relative to the role's folder"),
        "network": Key(kind="truth", doc="whether the code has a network", default=False),
        "require_confirmation": Key(kind="truth", doc=_CONFIRM, default=True),
    },
    "script": {
        "scripts": Key(
            kind="maps",
            doc="the scripts, each a tool of its own",
            needed=True,
            default=(),
            keys={
                "name": Key(kind="text", doc="of the tool", needed=True),
                "description": Key(kind="text", doc="what it does, for the model", default=""),
                "path": Key(kind="text", doc="of the script, relative to the skill's or the role's folder"),
                "body": Key(kind="text", doc="the script itself, instead of `path`"),
                "interpreter": Key(kind="text", doc="the program that runs it; by default as its first line says"),
                "parameters": Key(
                    kind="maps",
                    doc="what the model gives it; the script finds each as a variable, in capitals",
                    default=(),
                    keys={
                        "name": Key(kind="text", doc="of the parameter", needed=True),
                        "description": Key(kind="text", doc="what it means, for the model", default=""),
                        "required": Key(kind="truth", doc="whether it must be given", default=False),
                        "default": Key(kind="text", doc="what it is otherwise", default=""),
                    },
                ),
                "timeout_seconds": Key(kind="number", doc="seconds it may take", high=3600),
            },
        ),
        "interpreter": Key(kind="text", doc="the program that runs those that name none of their own"),
        "working_dir": Key(
            kind="text", doc="where they start, relative to the role's folder; by default the skill's or the role's"
        ),
        "timeout_seconds": _TIMEOUT,
        "max_output_bytes": _OUTPUT,
        "network": Key(kind="truth", doc="whether the scripts have a network", default=False),
        "require_confirmation": Key(kind="truth", doc=_CONFIRM, default=False),
    },
}
