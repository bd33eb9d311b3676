"""prowess run: run a role, once, in a conversation, or as a server."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager

from prowess._internal.signals import signals_as_exception
from prowess._internal.text import did_you_mean, neutral, quoted
from prowess.agent import RoleReloader, assemble
from prowess.agent.role import role_error
from prowess.cli._arguments import OptionalExtra
from prowess.cli._commands import FAILED, OK
from prowess.cli._output import (
    Message,
    Result,
    Untrusted,
    message,
    print_message,
    print_result,
    print_stderr,
    print_untrusted_chunk,
)
from prowess.errors import ConfigError
from prowess.findings import format_findings
from prowess.sandbox import CHOICES, remove_runtime_folder

from ._questions import ask_to_allow_call, read_prompt, read_stdin_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from prowess.agent import Confirm, Conversation, Turn
    from prowess.cli._parser import Arguments, Parser
    from prowess.store import Store

EPILOG = """\
Without -p, -i, --serve or --daemon the prompt is read from standard input. The answer goes to stdout, all messages go
to stderr. Exit codes: 0 the role answered; 1 it has errors or failed to answer; 2 wrong use, or no key."""
_FLUSH_TIMEOUT_MS = 5000
"""Milliseconds to wait until the last telemetry is sent."""


_STORE_VARIABLE = "PROWESS_STORE"
_DAY_SECONDS = 86_400.0
_MAX_DAYS = 36_500


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("role", "ROLE", "the file of a role")
    mode = parser.group("how to run it")
    mode.value("-p", "--prompt", "TEXT", "send this prompt, print the answer and exit")
    mode.flag("-i", "--interactive", "start a conversation on this terminal")
    mode.flag("--serve", "serve the role as an OpenAI-compatible API")
    mode.value("--port", "N", "the port to serve on (default: %(default)s)", type=int, default=8000)
    address = "the address to serve on (default: %(default)s, this machine only)"
    mode.value("--address", "IP", address, default="127.0.0.1")
    mode.flag(
        "--daemon",
        "reload the role and its skills when they change; without --serve, each line of stdin is a prompt",
    )
    mode.flag(
        "--dry-run",
        "print exactly what the model would receive, with -p for that prompt, and send nothing; needs no key",
    )
    setup = parser.group("what it runs with")
    setup.value("--model", "MODEL", "use another model: provider:name, openai:NAME@URL or script:FILE")
    setup.add_role_options()
    setup.add_sandbox("the processes of tools")
    setup.flag("--yes", "allow every tool call that would ask its user first")
    setup.flag("--otel", "send telemetry with OpenTelemetry, as Pydantic AI does")
    kept = parser.group("where conversations are kept")
    kept.value(
        "--trajectory",
        "PATH",
        "record the conversation, with its texts, in this file of ATIF 1.7; in a folder, a file for each conversation",
    )
    kept.value(
        "--store",
        "URL",
        "keep conversations in a database: sqlite:///FILE or postgresql://USER@HOST/DATABASE "
        f"(default: the variable {_STORE_VARIABLE})",
    )
    kept.value("--store-keep", "DAYS", "delete conversations that were not used for so many days", type=float)
    kept.value("--conversation", "ID", "without --serve: continue this conversation of the store, or begin it")
    parser.add_json("print JSON: the transcript")


def run(args: Arguments) -> Result | int:
    """Run a role, and remove the files that its tools needed at run time.

    Raises:
        ConfigError: the role or an option is invalid.
    """
    try:
        with signals_as_exception():
            return _run_mode(args)
    finally:
        remove_runtime_folder()


# ── modes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _run_mode(args: Arguments) -> Result | int:
    _check_options(args)
    if args.dry_run:
        return _dry_run(args)
    reloader = RoleReloader(
        args.role, dirs=args.skill_dir, home=args.home, sandbox=args.sandbox, watch=args.daemon, notify=print_message
    )
    with OptionalExtra():
        from prowess.agent import make_model

        model, model_name = make_model(reloader.current().role.model, args.model)
    with _flushed_telemetry(args.otel):
        if args.serve:
            return _serve(reloader, model, args)
        conversation = _make_conversation(reloader, model, args)
        if args.interactive:
            from ._chat import chat

            return chat(conversation, reloader, model_name, yes=args.yes)
        if args.daemon:
            return asyncio.run(_answer_stdin_lines(conversation, reloader, args))
        prompt = args.prompt if args.prompt is not None else read_prompt()
        return _turn_result(asyncio.run(_ask(conversation, prompt, args)))


def _check_options(args: Arguments) -> None:
    """Check that the options fit together.

    Raises:
        ConfigError: they do not.
    """
    if args.sandbox not in CHOICES:
        hint = did_you_mean(args.sandbox, CHOICES, f"use one of {', '.join(CHOICES)}")
        raise ConfigError(f"unknown sandbox {quoted(args.sandbox)}", hint=hint)
    modes = [name for name in ("prompt", "interactive", "serve", "dry_run") if getattr(args, name) not in (None, False)]
    if len(modes) > 1 and modes != ["prompt", "dry_run"]:
        first, second = (f"`--{name.replace('_', '-')}`" for name in modes[:2])
        raise ConfigError(f"{first} and {second} exclude each other", hint="use one of them")
    if args.daemon and args.prompt is not None:
        message = "`--prompt` and `--daemon` exclude each other"
        raise ConfigError(message, hint="use one of them; `--daemon` reads prompts from standard input")
    if args.trajectory is not None and (args.serve or args.dry_run):
        name = "serve" if args.serve else "dry-run"
        raise ConfigError(f"`--trajectory` and `--{name}` exclude each other", hint="use one of them")
    _check_store_options(args)


def _make_conversation(reloader: RoleReloader, model: Any, args: Arguments) -> Conversation:
    """Return a new conversation, or the one of `--conversation`.

    Raises:
        ConfigError: the store cannot be used.
    """
    from prowess.agent import Conversation, StoredConversation

    options: dict[str, Any] = {
        "confirm": _confirm_callback(args),
        "instrument": args.otel,
        "trajectory": args.trajectory,
    }
    store = None if args.conversation is None else _open_store(args)
    if store is None:
        return Conversation(reloader.current(), model, **options)
    return StoredConversation(reloader.current(), model, store, args.conversation, **options)


def _serve(reloader: RoleReloader, model: Any, args: Arguments) -> int:
    """Serve the role until the process is ended.

    Raises:
        ConfigError: the address is not available, or would be open to everyone without a key.
    """
    from prowess.agent.server import RoleBackend, serve

    key = os.environ.get("PROWESS_SERVE_KEY", "").strip() or None
    if key is None and args.address not in ("127.0.0.1", "::1", "localhost"):
        message = f"anyone who can reach {quoted(args.address)} could use the role"
        raise ConfigError(message, hint="set PROWESS_SERVE_KEY to the key that clients must send")
    backend = RoleBackend(
        reloader, model, yes=args.yes, instrument=args.otel, notify=print_message, store=_open_store(args)
    )
    serve(
        backend,
        host=args.address,
        port=args.port,
        token=key,
        ready=lambda url: print_stderr(f"serving {quoted(backend.names[0])} at {url}; press Ctrl-C to stop"),
    )
    return OK


async def _answer_stdin_lines(conversation: Conversation, reloader: RoleReloader, args: Arguments) -> int:
    """Answer each line of standard input.

    Raises:
        ConfigError: standard input is closed.
    """
    if sys.stdin is None:
        raise ConfigError("standard input is closed", hint="connect it, or use `--serve`")
    code = OK
    while line := await read_stdin_line():
        if line.strip():
            conversation.update_assembly(reloader.current())
            result = _turn_result(await _ask(conversation, line.strip(), args))
            code = max(code, print_result(result, is_json=args.json))
            sys.stdout.flush()
    return code


async def _ask(conversation: Conversation, prompt: str, args: Arguments) -> Turn:
    """Send one prompt; on a terminal the answer is printed as it arrives."""
    from prowess.agent import wait_for_threads
    from prowess.sandbox import stop

    stream = not args.json and sys.stdout.isatty()
    try:
        turn: Turn = await conversation.ask(prompt, on_text=print_untrusted_chunk if stream else None)
    finally:
        # A tool that timed out or was interrupted may be running still.
        stop()
        wait_for_threads()
    return turn


def _confirm_callback(args: Arguments) -> Confirm | None:
    """Return what asks the user before a tool call, or `None` if there is no terminal to ask on."""
    if args.yes:

        async def allow(_tool: str, _arguments: Mapping[str, Any]) -> bool:
            return True

        return allow
    return ask_to_allow_call if sys.stdin is not None and sys.stdin.isatty() else None


@contextmanager
def _flushed_telemetry(enabled: bool) -> Iterator[None]:
    """Send the last telemetry before the process exits, which OpenTelemetry does not do."""
    if not enabled:
        yield
        return
    from opentelemetry import metrics, trace

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        print_message(
            "no exporter is set up for `--otel`: `pip install opentelemetry-distro opentelemetry-exporter-otlp`, "
            "then run `opentelemetry-instrument prowess run ...`"
        )
    try:
        yield
    finally:
        for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
            flush = getattr(provider, "force_flush", None)
            if flush is not None:
                flush(_FLUSH_TIMEOUT_MS)


# ── output ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _turn_result(turn: Turn) -> Result:
    """Return an answer, which was printed as it arrived if stdout is a terminal."""

    def text() -> Iterator[str]:
        if turn.output is not None:
            if sys.stdout.isatty():
                sys.stdout.write("\n")
            else:
                yield Untrusted(turn.output)
        yield from map(message, turn.notes)
        if turn.error is not None:
            yield Message(f"error: {neutral(turn.error)}")

    return Result(turn.as_dict, text(), OK if turn.error is None else FAILED)


def _dry_run(args: Arguments) -> Result:
    """Return what the model would receive."""
    from prowess.agent import dry_run

    assembly, findings = assemble(args.role, dirs=args.skill_dir, home=args.home, sandbox=args.sandbox, env=os.environ)
    if assembly is None or findings:
        raise role_error(args.role, format_findings(findings), "fix these problems, then try again")
    request = dry_run(assembly, args.model, args.prompt)

    def text() -> Iterator[str]:
        yield f"model  {neutral(str(request['model'] or 'missing: use `--model`'))}"
        yield from ("", Untrusted(request["instructions"]), "")
        for item in request["messages"]:
            yield from (f"{item['role']}:", Untrusted(item["content"]), "")
        for tool in request["tools"]:
            first_line = tool["description"].partition("\n")[0]
            yield f"tool  {neutral(tool['name'])}  ({neutral(tool['origin'])})  {neutral(first_line)}"
        yield from map(message, (*assembly.notes, *request["notes"]))

    return Result(request, text())


# ── the store ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_store_options(args: Arguments) -> None:
    """Check that the options fit together.

    Raises:
        ConfigError: they do not.
    """
    if args.conversation is not None:
        for option in ("serve", "dry_run"):
            if getattr(args, option):
                name = option.replace("_", "-")
                message = f"`--conversation` and `--{name}` exclude each other"
                raise ConfigError(message, hint="clients of a served role send `X-Conversation-Id`")
        if _store_url(args) is None:
            raise ConfigError(
                "`--conversation` needs a store", hint=f"add `--store sqlite:///FILE`, or set {_STORE_VARIABLE}"
            )
    elif args.store is not None and not args.serve:
        hint = "add `--conversation ID`, which finds the conversation again"
        raise ConfigError("`--store` needs `--serve` or `--conversation`", hint=hint)
    if args.store_keep is not None and not 0 < args.store_keep <= _MAX_DAYS:
        raise ConfigError(
            f"invalid number of days: {args.store_keep:g}", hint=f"use more than 0 and at most {_MAX_DAYS}"
        )


def _open_store(args: Arguments) -> Store | None:
    """Open the store of `--store` or its variable; `None` if there is neither.

    Raises:
        ConfigError: it cannot be used, or a package is missing.
    """
    url = _store_url(args)
    if url is None:
        return None
    from prowess.store import open_store

    with OptionalExtra():
        return open_store(url, keep=None if args.store_keep is None else args.store_keep * _DAY_SECONDS)


def _store_url(args: Arguments) -> str | None:
    return args.store if args.store is not None else os.environ.get(_STORE_VARIABLE, "").strip() or None
