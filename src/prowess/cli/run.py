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
from prowess.errors import ConfigError
from prowess.findings import format_findings
from prowess.sandbox import CHOICES, remove_runtime_folder

from ._commands import FAILED, OK
from ._input import ask_to_allow_call, read_prompt, read_stdin_line
from ._options import add_json_option, add_role_options, add_sandbox_option, make_parser
from ._output import (
    print_json,
    print_message,
    print_note,
    print_stderr,
    print_stdout,
    print_untrusted_chunk,
    print_untrusted_text,
)
from ._store import add_store_options, check_store_options, open_chosen_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping
    from typing import Any

    from prowess.agent import Assembly, Confirm, Conversation, Turn

_EPILOG = """\
Without -p, -i, --serve or --daemon the prompt is read from standard input. The answer goes to stdout, all messages go
to stderr. Exit codes: 0 the role answered; 1 it has errors or failed to answer; 2 wrong use, or no key."""
_FLUSH_TIMEOUT_MS = 5000
"""Milliseconds to wait until the last telemetry is sent."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("run", epilog=_EPILOG)
    result.add_argument("role", metavar="ROLE", help="the file of a role")
    mode = result.add_argument_group("how to run it")
    mode.add_argument("-p", "--prompt", metavar="TEXT", help="send this prompt, print the answer and exit")
    mode.add_argument("-i", "--interactive", action="store_true", help="start a conversation on this terminal")
    mode.add_argument("--serve", action="store_true", help="serve the role as an OpenAI-compatible API")
    mode.add_argument("--port", metavar="N", type=int, default=8000, help="the port to serve on (default: %(default)s)")
    mode.add_argument(
        "--address",
        metavar="IP",
        default="127.0.0.1",
        help="the address to serve on (default: %(default)s, this machine only)",
    )
    mode.add_argument(
        "--daemon",
        action="store_true",
        help="reload the role and its skills when they change; without --serve, each line of stdin is a prompt",
    )
    mode.add_argument(
        "--dry-run",
        action="store_true",
        help="print exactly what the model would receive, with -p for that prompt, and send nothing; needs no key",
    )
    setup = result.add_argument_group("what it runs with")
    setup.add_argument(
        "--model", metavar="MODEL", help="use another model: provider:name, openai:NAME@URL or script:FILE"
    )
    add_role_options(setup)
    add_sandbox_option(setup, "the processes of tools")
    setup.add_argument("--yes", action="store_true", help="allow every tool call that would ask its user first")
    setup.add_argument("--otel", action="store_true", help="send telemetry with OpenTelemetry, as Pydantic AI does")
    add_store_options(result)
    add_json_option(result, "print JSON: the transcript")
    return result


def run(args: Namespace) -> int:
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


def _run_mode(args: Namespace) -> int:
    _check_options(args)
    if args.dry_run:
        return _dry_run(args)
    reloader = RoleReloader(
        args.role, dirs=args.skill_dir, home=args.home, sandbox=args.sandbox, watch=args.daemon, notify=print_message
    )
    try:
        from prowess.agent import make_model

        model, model_name = make_model(reloader.current().role.model, args.model)
    except ImportError as error:
        raise ConfigError(str(error), hint="install the extra with the `pip` command above, then try again") from None
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
        return _print_turn(asyncio.run(_ask(conversation, prompt, args)), args)


def _check_options(args: Namespace) -> None:
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
    check_store_options(args)


def _make_conversation(reloader: RoleReloader, model: Any, args: Namespace) -> Conversation:
    """Return a new conversation, or the one of `--conversation`.

    Raises:
        ConfigError: the store cannot be used.
    """
    from prowess.agent import Conversation, StoredConversation

    options: dict[str, Any] = {"confirm": _confirm_callback(args), "instrument": args.otel}
    store = None if args.conversation is None else open_chosen_store(args)
    if store is None:
        return Conversation(reloader.current(), model, **options)
    return StoredConversation(reloader.current(), model, store, args.conversation, **options)


def _serve(reloader: RoleReloader, model: Any, args: Namespace) -> int:
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
        reloader, model, yes=args.yes, instrument=args.otel, notify=print_message, store=open_chosen_store(args)
    )
    serve(
        backend,
        host=args.address,
        port=args.port,
        token=key,
        ready=lambda url: print_stderr(f"serving {quoted(backend.names[0])} at {url}; press Ctrl-C to stop"),
    )
    return OK


async def _answer_stdin_lines(conversation: Conversation, reloader: RoleReloader, args: Namespace) -> int:
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
            code = max(code, _print_turn(await _ask(conversation, line.strip(), args), args))
            sys.stdout.flush()
    return code


async def _ask(conversation: Conversation, prompt: str, args: Namespace) -> Turn:
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


def _confirm_callback(args: Namespace) -> Confirm | None:
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
        print_note(
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


def _print_turn(turn: Turn, args: Namespace) -> int:
    """Print an answer and return the exit code."""
    if args.json:
        print_json(turn.as_dict())
    elif turn.output is not None:
        if sys.stdout.isatty():
            sys.stdout.write("\n")
        else:
            print_untrusted_text(turn.output)
    if not args.json:
        for note in turn.notes:
            print_message(note)
    if turn.error is not None and not args.json:
        print_stderr(f"error: {neutral(turn.error)}")
    return OK if turn.error is None else FAILED


def _dry_run(args: Namespace) -> int:
    """Print what the model would receive."""
    from prowess.agent import dry_run

    assembly, findings = assemble(args.role, dirs=args.skill_dir, home=args.home, sandbox=args.sandbox, env=os.environ)
    if assembly is None or findings:
        raise role_error(args.role, format_findings(findings), "fix these problems, then try again")
    request = dry_run(assembly, args.model, args.prompt)
    if args.json:
        print_json(request)
        return OK
    _print_dry_run(assembly, request)
    return OK


def _print_dry_run(assembly: Assembly, request: dict[str, Any]) -> None:
    print_stdout(f"model  {neutral(str(request['model'] or 'missing: use `--model`'))}")
    print_stdout("")
    print_untrusted_text(str(request["instructions"]))
    print_stdout("")
    for message in request["messages"]:
        print_stdout(f"{message['role']}:")
        print_untrusted_text(message["content"])
        print_stdout("")
    for tool in request["tools"]:
        first_line = tool["description"].partition("\n")[0]
        print_stdout(f"tool  {neutral(tool['name'])}  ({neutral(tool['origin'])})  {neutral(first_line)}")
    for note in (*assembly.notes, *request["notes"]):
        print_message(note)
