"""tool type -> what its configuration may say

Types and keys are InitRunner's. A skill's `tools:` and a role's are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._schema import FieldSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._schema import FieldTable

__all__ = ["TOOL_FIELDS"]

_TIMEOUT_FIELD = FieldSpec(kind="number", doc="seconds one call may take", default=30.0, maximum=3600)
_OUTPUT_FIELD = FieldSpec(
    kind="integer", doc="bytes of output a call may return", default=100_000, minimum=1, maximum=10_000_000
)
_CONFIRMATION_DOC = "whether the user is asked before each call"

TOOL_FIELDS: Mapping[str, FieldTable] = {
    "filesystem": {
        "root_path": FieldSpec(kind="text", doc="the folder that is open to it, relative to the role's", default="."),
        "read_only": FieldSpec(kind="truth", doc="whether nothing may be written", default=True),
        "allowed_extensions": FieldSpec(
            kind="texts", doc="endings of files that may be opened, as in `.md`; none is all", default=()
        ),
        "max_bytes": FieldSpec(
            kind="integer", doc="bytes of a file that are read or written", default=1_000_000, minimum=1
        ),
        "require_confirmation": FieldSpec(
            kind="truth", doc="whether the user is asked before a file is written", default=False
        ),
    },
    "git": {
        "repo_path": FieldSpec(kind="text", doc="the repository, relative to the role's folder", default="."),
        "read_only": FieldSpec(kind="truth", doc="whether nothing may be changed", default=True),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
    },
    "shell": {
        "allowed_commands": FieldSpec(kind="texts", doc="programs that may be started; none is all", default=()),
        "blocked_commands": FieldSpec(kind="texts", doc="programs that may not", default=()),
        "require_confirmation": FieldSpec(kind="truth", doc=_CONFIRMATION_DOC, default=True),
        "timeout_seconds": _TIMEOUT_FIELD,
        "working_dir": FieldSpec(kind="text", doc="where they start, relative to the role's folder", default="."),
        "max_output_bytes": _OUTPUT_FIELD,
    },
    "http": {
        "base_url": FieldSpec(kind="text", doc="where all requests go: `https://HOST/PATH`", needed=True),
        "allowed_methods": FieldSpec(
            kind="texts",
            doc="methods that may be used",
            default=("GET",),
            choices=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
        ),
        "headers": FieldSpec(
            kind="text-map", doc="headers of each request; `${NAME}` is a variable's value", default={}
        ),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_bytes": FieldSpec(kind="integer", doc="bytes of an answer that are read", default=1_000_000, minimum=1),
        "allow_private": FieldSpec(
            kind="truth", doc="whether addresses of this machine or network may be asked", default=False
        ),
    },
    "web_reader": {
        "allowed_domains": FieldSpec(
            kind="texts", doc="domains that may be read, with all below them; none is all", default=()
        ),
        "blocked_domains": FieldSpec(kind="texts", doc="domains that may not", default=()),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_content_bytes": FieldSpec(
            kind="integer", doc="bytes of a page that are read", default=1_000_000, minimum=1
        ),
        "allow_private": FieldSpec(
            kind="truth", doc="whether addresses of this machine or network may be asked", default=False
        ),
    },
    "mcp": {
        "transport": FieldSpec(
            kind="text", doc="how the server is spoken to", default="stdio", choices=("stdio", "sse", "streamable-http")
        ),
        "command": FieldSpec(kind="text", doc="the program that is the server, for `stdio`"),
        "args": FieldSpec(kind="texts", doc="its arguments", default=()),
        "env": FieldSpec(kind="text-map", doc="variables for it; `${NAME}` is a variable's value", default={}),
        "cwd": FieldSpec(kind="text", doc="where it starts, relative to the role's folder"),
        "url": FieldSpec(kind="text", doc="where the server is, for the others"),
        "headers": FieldSpec(
            kind="text-map", doc="headers of each request; `${NAME}` is a variable's value", default={}
        ),
        "tool_filter": FieldSpec(kind="texts", doc="tools of the server that are offered; none is all", default=()),
        "tool_exclude": FieldSpec(kind="texts", doc="tools of the server that are not", default=()),
        "tool_prefix": FieldSpec(kind="text", doc="put before the names of its tools, with `_`"),
        "timeout_seconds": _TIMEOUT_FIELD,
        "require_confirmation": FieldSpec(kind="truth", doc=_CONFIRMATION_DOC, default=False),
    },
    "python": {
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
        "working_dir": FieldSpec(kind="text", doc="what the code can read, relative to the role's folder"),
        "network": FieldSpec(kind="truth", doc="whether the code has a network", default=False),
        "require_confirmation": FieldSpec(kind="truth", doc=_CONFIRMATION_DOC, default=True),
    },
    "script": {
        "scripts": FieldSpec(
            kind="maps",
            doc="the scripts, each a tool of its own",
            needed=True,
            default=(),
            keys={
                "name": FieldSpec(kind="text", doc="of the tool", needed=True),
                "description": FieldSpec(kind="text", doc="what it does, for the model", default=""),
                "path": FieldSpec(kind="text", doc="of the script, relative to the skill's or the role's folder"),
                "body": FieldSpec(kind="text", doc="the script itself, instead of `path`"),
                "interpreter": FieldSpec(
                    kind="text", doc="the program that runs it; by default as its first line says"
                ),
                "parameters": FieldSpec(
                    kind="maps",
                    doc="what the model gives it; the script finds each as a variable, in capitals",
                    default=(),
                    keys={
                        "name": FieldSpec(kind="text", doc="of the parameter", needed=True),
                        "description": FieldSpec(kind="text", doc="what it means, for the model", default=""),
                        "required": FieldSpec(kind="truth", doc="whether it must be given", default=False),
                        "default": FieldSpec(kind="text", doc="what it is otherwise", default=""),
                    },
                ),
                "timeout_seconds": FieldSpec(kind="number", doc="seconds it may take", maximum=3600),
            },
        ),
        "interpreter": FieldSpec(kind="text", doc="the program that runs those that name none of their own"),
        "working_dir": FieldSpec(
            kind="text", doc="where they start, relative to the role's folder; by default the skill's or the role's"
        ),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
        "network": FieldSpec(kind="truth", doc="whether the scripts have a network", default=False),
        "require_confirmation": FieldSpec(kind="truth", doc=_CONFIRMATION_DOC, default=False),
    },
}
