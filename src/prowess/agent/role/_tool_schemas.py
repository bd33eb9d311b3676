"""The keys of each tool type's configuration, in a role's `tools:` and in a skill's.

Types and keys are InitRunner's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._schema import FieldSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._schema import FieldTable

__all__ = ["DEFAULT_BLOCKED", "SHARED_FIELDS", "TOOL_FIELDS"]

_TIMEOUT_FIELD = FieldSpec(kind="number", doc="time limit of one call, in seconds", default=30.0, maximum=3600)
_OUTPUT_FIELD = FieldSpec(
    kind="integer", doc="the most bytes of output that one call returns", default=100_000, minimum=1, maximum=10_000_000
)
_CONFIRMATION_DOC = "whether the user must confirm each call"

DEFAULT_BLOCKED = (
    *("rm", "mkfs", "dd", "fdisk", "parted", "mount", "umount", "shutdown", "reboot", "halt", "poweroff"),
    *("chmod", "chown", "passwd", "useradd", "userdel", "sudo", "su"),
)
"""InitRunner's: its roles rely on them where a call needs no confirmation."""
_DOMAIN_FIELDS: FieldTable = {
    "allowed_domains": FieldSpec(
        kind="texts", doc="allowed domains, with their subdomains; empty allows all", default=()
    ),
    "blocked_domains": FieldSpec(kind="texts", doc="blocked domains, with their subdomains", default=()),
}
_OWN_FIELDS: Mapping[str, FieldTable] = {
    "filesystem": {
        "root_path": FieldSpec(
            kind="text", doc="the folder that the tools may use, relative to the role's folder", default="."
        ),
        "read_only": FieldSpec(kind="truth", doc="whether the tools only read", default=True),
        "allowed_extensions": FieldSpec(
            kind="texts", doc="allowed file extensions, such as `.md`; empty allows all", default=()
        ),
        "max_bytes": FieldSpec(
            kind="integer", doc="the most bytes of a file to read or write", default=1_000_000, minimum=1
        ),
        "require_confirmation": FieldSpec(kind="truth", doc="whether the user must confirm each write", default=False),
    },
    "git": {
        "repo_path": FieldSpec(kind="text", doc="the repository's folder, relative to the role's folder", default="."),
        "read_only": FieldSpec(kind="truth", doc="whether the tools only read", default=True),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
    },
    "shell": {
        "allowed_commands": FieldSpec(kind="texts", doc="allowed programs; empty allows all", default=()),
        "blocked_commands": FieldSpec(
            kind="texts",
            doc="blocked programs; of the default, not those in `allowed_commands`; an empty list blocks none",
            default=DEFAULT_BLOCKED,
        ),
        "require_confirmation": FieldSpec(kind="truth", doc=_CONFIRMATION_DOC, default=True),
        "timeout_seconds": _TIMEOUT_FIELD,
        "working_dir": FieldSpec(kind="text", doc="the working directory, relative to the role's folder", default="."),
        "max_output_bytes": _OUTPUT_FIELD,
        "network": FieldSpec(
            kind="truth",
            doc="whether the programs reach the hosts that the role allows, through a proxy",
            default=False,
        ),
        **_DOMAIN_FIELDS,
    },
    "http": {
        "base_url": FieldSpec(
            kind="text", doc="the URL that all requests stay below: `https://HOST/PATH`", needed=True
        ),
        "allowed_methods": FieldSpec(
            kind="texts",
            doc="allowed methods",
            default=("GET",),
            choices=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
        ),
        "headers": FieldSpec(
            kind="text-map", doc="headers of each request; `${NAME}` inserts an environment variable", default={}
        ),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_bytes": FieldSpec(
            kind="integer", doc="the most bytes of a response to read", default=1_000_000, minimum=1
        ),
        "allow_private": FieldSpec(
            kind="truth", doc="whether addresses of this machine and its network are allowed", default=False
        ),
    },
    "web_reader": {
        **_DOMAIN_FIELDS,
        "user_agent": FieldSpec(kind="text", unused="requests name Prowess"),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_content_bytes": FieldSpec(
            kind="integer", doc="the most bytes of a page to read", default=1_000_000, minimum=1
        ),
        "allow_private": FieldSpec(
            kind="truth", doc="whether addresses of this machine and its network are allowed", default=False
        ),
    },
    "mcp": {
        "transport": FieldSpec(
            kind="text",
            doc="how to connect to the server",
            default="stdio",
            choices=("stdio", "sse", "streamable-http"),
        ),
        "command": FieldSpec(kind="text", doc="the server's program, for `stdio`"),
        "args": FieldSpec(kind="texts", doc="the program's arguments", default=()),
        "env": FieldSpec(
            kind="text-map", doc="the program's environment variables; `${NAME}` inserts one of the user's", default={}
        ),
        "cwd": FieldSpec(kind="text", doc="the program's working directory, relative to the role's folder"),
        "network": FieldSpec(
            kind="truth",
            doc="whether a skill's program reaches the hosts that the role allows, through a proxy; the role's own can",
            default=False,
        ),
        "url": FieldSpec(kind="text", doc="the server's URL, for `sse` and `streamable-http`"),
        "headers": FieldSpec(
            kind="text-map", doc="headers of each request; `${NAME}` inserts an environment variable", default={}
        ),
        "tool_filter": FieldSpec(kind="texts", doc="the server's tools to offer; empty offers all", default=()),
        "tool_exclude": FieldSpec(kind="texts", doc="the server's tools to leave out", default=()),
        "tool_prefix": FieldSpec(kind="text", doc="a prefix for the names of the server's tools, joined with `_`"),
        "timeout_seconds": _TIMEOUT_FIELD,
        "require_confirmation": FieldSpec(kind="truth", doc=_CONFIRMATION_DOC, default=False),
        "max_retries": FieldSpec(kind="integer", unused="the model sees the error, and may call again"),
        "defer": FieldSpec(kind="truth", unused="the model gets every tool at once"),
    },
    "python": {
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
        "working_dir": FieldSpec(kind="text", doc="the folder that the code can read, relative to the role's folder"),
        "network": FieldSpec(
            kind="truth", doc="whether the code reaches the hosts that the role allows, through a proxy", default=False
        ),
        "network_disabled": FieldSpec(
            kind="truth", doc="InitRunner's name: `true` is no network, whatever `network` says; `false` is the network"
        ),
        **_DOMAIN_FIELDS,
        "require_confirmation": FieldSpec(kind="truth", doc=_CONFIRMATION_DOC, default=True),
    },
    "script": {
        "scripts": FieldSpec(
            kind="maps",
            doc="the scripts; each becomes a tool",
            needed=True,
            default=(),
            keys={
                "name": FieldSpec(kind="text", doc="the tool's name", needed=True),
                "description": FieldSpec(kind="text", doc="what the tool does, for the model", default=""),
                "path": FieldSpec(kind="text", doc="the script's file, relative to the skill's or the role's folder"),
                "body": FieldSpec(kind="text", doc="the script's text, instead of `path`"),
                "interpreter": FieldSpec(
                    kind="text", doc="the program that runs the script; by default its first line decides"
                ),
                "parameters": FieldSpec(
                    kind="maps",
                    doc="the tool's arguments; the script gets each as an environment variable in capitals",
                    default=(),
                    keys={
                        "name": FieldSpec(kind="text", doc="the argument's name", needed=True),
                        "description": FieldSpec(kind="text", doc="what the argument means, for the model", default=""),
                        "required": FieldSpec(kind="truth", doc="whether the model must give it", default=False),
                        "default": FieldSpec(kind="text", doc="the value if the model leaves it out", default=""),
                    },
                ),
                "timeout_seconds": FieldSpec(kind="number", doc="the script's time limit, in seconds", maximum=3600),
                "allowed_commands": FieldSpec(
                    kind="texts",
                    doc="the commands that lines of `body` may begin with; empty allows all",
                    default=(),
                ),
            },
        ),
        "interpreter": FieldSpec(kind="text", doc="the program that runs scripts without their own `interpreter`"),
        "working_dir": FieldSpec(
            kind="text",
            doc="the working directory, relative to the role's folder; by default the skill's or the role's folder",
        ),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
        "network": FieldSpec(
            kind="truth", doc="whether the scripts reach the hosts that the role allows, through a proxy", default=False
        ),
        **_DOMAIN_FIELDS,
        "require_confirmation": FieldSpec(kind="truth", doc=_CONFIRMATION_DOC, default=False),
    },
}

SHARED_FIELDS: FieldTable = {
    "permissions": FieldSpec(
        kind="map",
        doc="which calls are allowed, by their arguments",
        keys={
            "default": FieldSpec(
                kind="text",
                doc="what happens to a call that no pattern matches",
                default="allow",
                choices=("allow", "deny"),
            ),
            "allow": FieldSpec(
                kind="texts", doc="patterns, `ARGUMENT=PATTERN` or `PATTERN`; `*` is any text", default=()
            ),
            "deny": FieldSpec(kind="texts", doc="patterns of refused calls; they count before `allow`", default=()),
        },
    ),
    "approval": FieldSpec(
        kind="text",
        doc="`required` and `judged`: the user must confirm each call",
        choices=("auto", "required", "judged"),
    ),
}
"""Keys of every type."""
TOOL_FIELDS: Mapping[str, FieldTable] = {kind: {**table, **SHARED_FIELDS} for kind, table in _OWN_FIELDS.items()}
