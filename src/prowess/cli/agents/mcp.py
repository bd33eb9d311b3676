"""prowess mcp: serve skills to clients of the Model Context Protocol, or check another server."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from contextlib import suppress

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import describe_os_error, did_you_mean, neutral, quoted, without_secrets
from prowess.cli._arguments import (
    OptionalExtra,
    catalog_from_args,
    client_arguments,
    may_offer_skills,
    require_paths,
    skill_dirs,
)
from prowess.cli._commands import FAILED, OK
from prowess.cli._output import (
    Message,
    Result,
    as_dicts,
    finding_messages,
    format_table,
    json_fields,
    note,
    pluralize,
    print_lines,
    print_message,
    print_stderr,
)
from prowess.cli._references import offered_hint
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.catalog import Catalog, LiveCatalog
    from prowess.cli._parser import Arguments, Parser
    from prowess.mcp import SkillServer

EPILOG = """\
`serve` speaks the protocol on standard input and output, or with --http as streamable HTTP at http://HOST:PORT/mcp.
Clients with the extension io.modelcontextprotocol/skills get skills and their files with digests (SEP-2640), all others
the tools activate_skill, read_skill_file and search_skills. Changes are announced. Notes go to standard error.
`check URL` or `check -- COMMAND ARGUMENT...` asks another server for its skills and reads their files; the exit code is
1 if an answer breaks a rule of SEP-2640."""
_TOKEN_VARIABLE = "PROWESS_MCP_TOKEN"  # noqa: S105 - a name
_TOKEN_HINT = f"write one into a file for `--token-file`, or set {_TOKEN_VARIABLE}"
_MAX_TOKEN_BYTES = 4096
_CHECK_SECONDS = 30.0
_M_ARENA_MAX = -8
"""Of `malloc.h`."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument(
        "action",
        "ACTION",
        "`serve`: offer skills to clients; `check`: say what another server offers, and what is wrong with it",
        choices=("serve", "check"),
    )
    parser.argument(
        "target",
        "TARGET",
        "for `serve`: the project, or the folder of skills, to serve (default: --cwd); for `check`: a URL or a command",
        nargs="*",
    )
    group = parser.group("what is served, and how")
    group.value(
        "--http",
        "HOST:PORT",
        "serve over HTTP; clients need a token unless HOST is this machine and --scripts is not given",
    )
    token = f"a file with the token that clients must send (or set {_TOKEN_VARIABLE}), or that `check` sends"
    group.value("--token-file", "FILE", token)
    group.values("--only", "NAME", "serve this skill and no others (repeatable)")
    group.values("--tag", "TAG", "serve skills with this tag in `metadata.tags` of their front matter (repeatable)")
    group.flag("--scripts", "let clients run scripts of skills that you trust, in the sandbox")
    group.flag("--dry-run", "print which skills would be served and which would not, and end")
    parser.flag("--allow-private", "for `check`: let the host name of the URL lead to an address of your own network")
    parser.discovery()
    parser.add_json("print what `check` or `--dry-run` found as JSON")
    # Otherwise options between ACTION and its targets are an error in Python 3.11.
    parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]


def run(args: Arguments) -> Result | int:
    """Serve until the client leaves or a signal ends the process.

    Raises:
        ConfigError: an option is invalid, or a package is missing.
    """
    if args.action == "check":
        _refuse_options_of_serve(args)
        # The variable is the secret of the user's own server, and the URL can be anyone's.
        token = _read_token(args.token_file) if args.token_file is not None else None
        return _check(args.target, token=token, allow_private=args.allow_private)
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
        if not os.path.isdir(args.cwd):
            raise ConfigError(f"DIR is not a folder: {neutral(args.cwd)}", hint="check the path")
        args.skill_dir = [*args.skill_dir, *_folders_of_skills(args.cwd)]
    require_paths(args, "cwd", "home", "role")
    if args.role is not None:
        raise ConfigError("`--role` cannot be used here", hint="name the role's folders with `--skill-dir`")
    if args.dry_run:
        return _served(args)
    address = _parse_address(args.http) if args.http is not None else None
    token = _read_token(args.token_file)
    if address is not None and args.scripts and token is None:
        message = "with `--scripts`, clients of `--http` need a token: also other users of this machine can connect"
        raise ConfigError(message, hint=_TOKEN_HINT)
    gc.disable()  # until the server has started: it makes thousands of values, and no garbage
    try:
        _serve(args, address, token)
    finally:
        gc.enable()  # also if it did not start
    return OK


def _folders_of_skills(folder: str) -> Iterator[str]:
    """Yield a folder, and `skills` in it, if skills lie directly in them, as they do in a repository of skills."""
    for place in (os.path.abspath(folder), os.path.abspath(os.path.join(folder, "skills"))):
        with suppress(OSError):
            if any(os.path.lexists(os.path.join(place, name, SKILL_FILE)) for name in os.listdir(place)):
                yield place


def _serve(args: Arguments, address: tuple[str, int] | None, token: str | None) -> None:
    _share_heap()
    with OptionalExtra():
        from prowess.mcp import SkillServer, serve_stdio
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


def _refuse_options_of_serve(args: Arguments) -> None:
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
    print_stderr(note(f"the skill {quoted(name)} is not served: {reason}"))


def _print_notes(server: SkillServer, catalog: LiveCatalog, only: Sequence[str]) -> None:
    """Say what is served and what is not; a client shows its user standard error."""
    served = server.current()
    print_lines(_unknown_names(only, served.catalog))
    for entry, reason in served.left_out:
        _print_left_out(entry.name, reason)
    count = len(served.folders) - server.report_left_out()
    for name, size in served.large():
        print_stderr(note(f"the skill {quoted(name)} has {size}; hosts may decline more than 512 files or 16 MiB"))
    folder = neutral(catalog.current().cwd)
    # To search a repository can take longer than a client waits for its server.
    has_own = any(entry.scope == "project" for entry in served.catalog.skills)
    others = "" if has_own else "; none is of this project: `prowess mcp serve --dry-run` says where it has some"
    print_message(f"serving {pluralize(count, 'skill')} of {folder}{others}")


def _serve_http(server: SkillServer, host: str, port: int, *, token: str | None) -> None:
    """Serve over HTTP.

    Raises:
        ConfigError: the address is invalid, in use, or open to other machines without a token.
    """
    from prowess.agent.server import BoundedServer, default_limits, listen
    from prowess.mcp import http_app
    from prowess.net import is_loopback

    with listen(host, port) as listener:
        address, port = listener.getsockname()[:2]
        loopback = is_loopback(address)
        if not loopback and token is None:
            message = f"{quoted(host)} is open to other machines, so clients need a token"
            raise ConfigError(message, hint=_TOKEN_HINT)
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


# ── serve --dry-run ──────────────────────────────────────────────────────────────────────────────────────────────────


def _unknown_names(only: Iterable[str], catalog: Catalog) -> Iterator[Message]:
    """Yield which names of `--only` no skill has."""
    names = {entry.name for entry in catalog.skills}
    for name in only:
        if name not in names:
            hint = did_you_mean(name, names, "`prowess list` shows the names")
            yield note(f"no skill is called {quoted(name)}; {hint}")


def _served(args: Arguments) -> Result:
    """Return the skills that a client would list, and findings about the others.

    Raises:
        ConfigError: an option is invalid.
    """
    from prowess.mcp import ServedCatalog, served_skills

    catalog = catalog_from_args(args)
    print_lines(_unknown_names(args.only, catalog))
    served = ServedCatalog(catalog, only=frozenset(args.only), tags=frozenset(args.tag))
    skills, findings = served_skills(served)
    rows: list[dict[str, object]] = [
        {
            "name": str(skill.frontmatter["name"]),
            "uri": skill.uri,
            "path": path,
            "files": len(skill.files),
            "bytes": sum(size for _, _, size in skill.files),
        }
        for skill, path in skills
    ]
    heading: tuple[str, ...] = ("FILES", "BYTES", "URI")
    table = [heading, *((f"{row['files']:,}", f"{row['bytes']:,}", str(row["uri"])) for row in rows)]
    denials: list[str] = []
    if args.scripts:
        columns = [_scripts_of(catalog, path) for _, path in skills]
        for row, (code, denial) in zip(rows, columns, strict=True):
            row |= {"scripts": code, "denial_reason": denial}
        cells = [
            "" if not code else f"{len(code):,}{', not trusted by you' * bool(denial)}" for code, denial in columns
        ]
        denials = [denial for code, denial in columns if code and denial]
        table = [(*row[:2], cell, row[2]) for row, cell in zip(table, ["SCRIPTS", *cells], strict=True)]
    return Result(
        {"cwd": catalog.cwd, "skills": rows, "findings": as_dicts(findings)},
        (
            *(format_table(table) if rows else ()),
            *finding_messages(findings, base=catalog.cwd),
            Message(f"{pluralize(len(rows), 'skill')} of {neutral(catalog.cwd)} would be served"),
            *map(note, denials),
            *(offered_hint(catalog) if not catalog.skills or may_offer_skills(catalog.cwd) else ()),
        ),
    )


def _scripts_of(catalog: Catalog, path: str) -> tuple[tuple[str, ...], str | None]:
    """Return what clients could run of a skill with `--scripts`, and why they cannot; `None` if they can.

    Args:
        catalog: the skills.
        path: of its SKILL.md.
    """
    from prowess.errors import SkillError
    from prowess.session import Trust
    from prowess.skill import find_code

    entry = next(entry for entry in catalog.skills if entry.path == path)
    try:
        code = find_code(os.path.dirname(entry.real))
    except SkillError as error:
        return (), str(error)
    return code, Trust().denial_reason(entry) if code else None


# ── check ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check(target: Sequence[str], *, token: str | None, allow_private: bool) -> Result:
    """Return what a server offers and breaks; the exit code is 1 if that includes an error.

    Args:
        target: its URL, or the command that starts it.
        token: sent to a URL.
        allow_private: whether the host of a URL may be a name in the user's own network.

    Raises:
        ConfigError: the target is invalid.
    """
    from prowess.mcp import check_server

    if not target:
        message = "`mcp check` needs the URL of a server, or the command that starts it"
        raise ConfigError(message, hint="write `prowess mcp check -- COMMAND ARGUMENT...` if it has options")
    if target[0].startswith(("http:", "https:")):
        if len(target) > 1:
            raise ConfigError("`mcp check` takes one URL", hint="check one server at a time")
        report = check_server(url=target[0], token=token, allow_private=allow_private, timeout=_CHECK_SECONDS)
    elif "://" in target[0]:
        raise ConfigError(f"`mcp check` cannot use {quoted(target[0])}", hint="write a URL that begins with `https`")
    else:
        report = check_server(command=target, cwd=os.getcwd(), timeout=_CHECK_SECONDS)
    errors = sum(finding.level == "error" for finding in report.findings)
    as_dict = {
        **json_fields(report, "version era capabilities directories skills files size verified"),
        "findings": [json_fields(finding, "level rule skill message hint") for finding in report.findings],
    }

    def text() -> Iterator[str]:
        if report.version is not None:
            directories = ", directories" if report.directories else ""
            size = f"{pluralize(report.files, 'file')}, {report.size:,} bytes; {report.verified:,} verified"
            yield f"protocol  {report.version} ({report.era} era)"
            yield f"offers    {', '.join(report.capabilities)}; skills{directories}"
            yield f"skills    {report.skills:,} ({size})"
        for finding in report.findings:
            server = neutral(without_secrets(target[0])) if finding.rule in ("connection", "protocol") else None
            where = "".join(f"{part}: " for part in (server, finding.skill) if part)
            yield f"{finding.level}: {where}{finding.message} [{finding.rule}]"
            yield f"    hint: {finding.hint}"
        yield f"{pluralize(errors, 'error')}, {pluralize(len(report.findings) - errors, 'warning')}"

    return Result(as_dict, text(), FAILED if errors else OK)
