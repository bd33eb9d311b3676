"""prowess mcp: serve skills to clients of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from contextlib import suppress

from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.errors import ConfigError

from ._commands import OK
from ._discovery import client_arguments, require_paths, skill_dirs
from ._options import add_discovery_options, add_json_option, make_parser
from ._output import pluralize, print_message, print_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from prowess.catalog import LiveCatalog
    from prowess.mcp import SkillServer

_EPILOG = """\
`serve` speaks the protocol on standard input and output, or with --http as streamable HTTP at http://HOST:PORT/mcp.
Clients with the extension io.modelcontextprotocol/skills get skills and their files with digests (SEP-2640), all others
the tools activate_skill, read_skill_file and search_skills. Changes are announced. Notes go to standard error.
`check URL` or `check -- COMMAND ARGUMENT...` asks another server for its skills and reads their files; the exit code is
1 if an answer breaks a rule of SEP-2640."""
_TOKEN_VARIABLE = "PROWESS_MCP_TOKEN"  # noqa: S105 - a name
_MAX_TOKEN_BYTES = 4096
_M_ARENA_MAX = -8
"""Of `malloc.h`."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("mcp", epilog=_EPILOG)
    result.add_argument(
        "action",
        metavar="ACTION",
        choices=("serve", "check"),
        help="`serve`: offer skills to clients; `check`: say what another server offers, and what is wrong with it",
    )
    result.add_argument(
        "target",
        metavar="TARGET",
        nargs="*",
        default=[],  # otherwise an error about a missing ACTION names it too
        help="for `serve`: the project whose skills are served (default: --cwd); for `check`: a URL or a command",
    )
    group = result.add_argument_group("what is served, and how")
    group.add_argument(
        "--http", metavar="HOST:PORT", help="serve over HTTP; clients need a token unless HOST is this machine"
    )
    group.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"a file with the token that clients must send (or set {_TOKEN_VARIABLE}), or that `check` sends",
    )
    group.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="serve this skill and no others (repeatable)"
    )
    group.add_argument(
        "--tag",
        metavar="TAG",
        action="append",
        default=[],
        help="serve skills with this tag in `metadata.tags` of their front matter (repeatable)",
    )
    group.add_argument(
        "--scripts", action="store_true", help="let clients run scripts of skills that you trust, in the sandbox"
    )
    group.add_argument(
        "--dry-run", action="store_true", help="print which skills would be served and which would not, and end"
    )
    result.add_argument(
        "--allow-private",
        action="store_true",
        help="for `check`: let the host name of the URL lead to an address of your own network",
    )
    add_discovery_options(result)
    add_json_option(result, "print what `check` or `--dry-run` found as JSON")
    # Otherwise options between ACTION and its targets are an error in Python 3.11.
    result.parse_args = result.parse_intermixed_args  # type: ignore[method-assign]
    return result


def run(args: Namespace) -> int:
    """Serve until the client leaves or a signal ends the process.

    Raises:
        ConfigError: an option is invalid, or a package is missing.
    """
    if args.action == "check":
        from ._check_mcp import check

        _refuse_options_of_serve(args)
        # The variable is the secret of the user's own server, and the URL can be anyone's.
        token = _read_token(args.token_file) if args.token_file is not None else None
        return check(args.target, token=token, allow_private=args.allow_private, as_json=args.json)
    if args.allow_private:
        raise ConfigError("`--allow-private` is for `mcp check`", hint="leave it out")
    if args.json and not args.dry_run:
        raise ConfigError("`--json` is for `mcp check` and `--dry-run`", hint="leave it out")
    if len(args.target) > 1:
        raise ConfigError("`mcp serve` takes one DIR", hint="name further folders with `--skill-dir`")
    if args.target:
        if args.cwd is not None:
            raise ConfigError("DIR and `--cwd` exclude each other", hint="leave one of them out")
        args.cwd = args.target[0]
    require_paths(args, "cwd", "home", "role")
    if args.role is not None:
        raise ConfigError("`--role` cannot be used here", hint="name the role's folders with `--skill-dir`")
    if args.dry_run:
        from ._served_mcp import print_served

        return print_served(args)
    address = _parse_address(args.http) if args.http is not None else None
    token = _read_token(args.token_file)
    gc.disable()  # until the server has started: it makes thousands of values, and no garbage
    _share_heap()
    try:
        from prowess.mcp import SkillServer, serve_stdio
    except ImportError as error:
        raise ConfigError(str(error), hint="install the extra with the `pip` command above, then try again") from None
    from prowess.catalog import LiveCatalog

    with LiveCatalog(
        args.cwd or ".", args.host or "prowess", args.home, skill_dirs(args), client_args=client_arguments(args)
    ) as catalog:
        server = SkillServer(catalog, only=args.only, tags=args.tag, scripts=args.scripts, on_left_out=_print_left_out)
        _print_notes(server, catalog, args.only)
        gc.freeze()
        gc.enable()
        if address is None:
            asyncio.run(serve_stdio(server.server))
        else:
            _serve_http(server, *address, token=token)
    return OK


def _refuse_options_of_serve(args: Namespace) -> None:
    """Refuse what would have no effect on `check`.

    Raises:
        ConfigError: there is such an option.
    """
    names = ("http", "only", "tag", "scripts", "dry_run", "host", "cwd", "home", "skill_dir", "role", "client_arg")
    for name in names:
        if getattr(args, name):
            option = name.replace("_", "-")
            hint = "leave it out, or write `--` in front of the command if it is an option of that"
            raise ConfigError(f"`--{option}` is for `mcp serve`", hint=hint)


def _share_heap() -> None:
    """Have all threads use one heap of the C library, which otherwise keeps megabytes for each of them."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # as with musl, which has one heap
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _print_left_out(name: str, reason: str) -> None:
    print_note(f"the skill {quoted(name)} is not served: {reason}")


def _print_notes(server: SkillServer, catalog: LiveCatalog, only: Sequence[str]) -> None:
    """Say what is served and what is not; a client shows its user standard error."""
    served = server.current()
    if only:
        from ._served_mcp import print_unknown_names

        print_unknown_names(only, served.catalog)
    for entry, reason in served.left_out:
        _print_left_out(entry.name, reason)
    for name, size in served.large():
        print_note(f"the skill {quoted(name)} has {size}; hosts may decline more than 512 files or 16 MiB")
    folder = neutral(catalog.current().cwd)
    print_message(f"serving {pluralize(len(served.folders), 'skill')} of {folder}")


def _serve_http(server: SkillServer, host: str, port: int, *, token: str | None) -> None:
    """Serve over HTTP.

    Raises:
        ConfigError: the address is invalid, in use, or open to other machines without a token.
    """
    import ipaddress

    from prowess.agent.server import BoundedServer, default_limits, listen
    from prowess.mcp import http_app

    with listen(host, port) as listener:
        address, port = listener.getsockname()[:2]
        loopback = ipaddress.ip_address(str(address).partition("%")[0]).is_loopback
        if not loopback and token is None:
            message = f"{quoted(host)} is open to other machines, so clients need a token"
            raise ConfigError(message, hint=f"write one into a file for `--token-file`, or set {_TOKEN_VARIABLE}")
        shown = f"[{address}]" if ":" in str(address) else address
        print_message(f"listening on http://{shown}:{port}/mcp")
        app = http_app(server.server, token=token, loopback=loopback)
        BoundedServer(app, default_limits(), lifespan=True).run(sockets=[listener])


def _parse_address(text: str) -> tuple[str, int]:
    """Return the host and the port of `--http`.

    Raises:
        ConfigError: it is not HOST:PORT.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or len(port) > 5:
        raise ConfigError(f"`--http` cannot be {quoted(text)}", hint="write it as HOST:PORT, as in 127.0.0.1:8080")
    return host, int(port)


def _read_token(file: str | None) -> str | None:
    """Return the token of the file, or else of the variable.

    Raises:
        ConfigError: the file cannot be read, or has no token.
    """
    if file is None:
        text = os.environ.get(_TOKEN_VARIABLE)
        source = f"the variable {_TOKEN_VARIABLE}"
    else:
        source = f"the file {quoted(file)}"
        try:
            with open(file, "rb") as stream:
                text = stream.read(_MAX_TOKEN_BYTES + 1).decode("ascii")
        except OSError as error:
            message = f"{source} cannot be read: {describe_os_error(error)}"
            raise ConfigError(message, hint="check the path of `--token-file`") from None
        except ValueError:
            raise ConfigError(f"{source} has no token", hint="write printable ASCII characters into it") from None
    if text is None:
        return None
    token = text.strip()
    if not token or len(token) > _MAX_TOKEN_BYTES or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"{source} has no token", hint="use printable ASCII characters without spaces")
    return token
