"""prowess run -> a role's answers"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager

from prowess._internal.text import neutral, quoted
from prowess.agent.assembly import assemble
from prowess.agent.reload import RoleReloader
from prowess.cli import FAILED, OK
from prowess.cli._options import make_parser, print_json, print_stderr, print_untrusted_text
from prowess.errors import ConfigError
from prowess.findings import format_findings
from prowess.sandbox import CHOICES, remove_runtime_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping
    from typing import Any

    from prowess.agent.assembly import Assembly
    from prowess.agent.conversation import Confirm, Turn

_EPILOG = """\
Without `-p`, `-i`, `--serve` or `--daemon` what to say is read from standard input. The answer goes to stdout, all else
to stderr. Exit codes: 0 there is an answer; 1 there is none; 2 the role or an option is wrong."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("run", epilog=_EPILOG)
    result.add_argument("role", metavar="ROLE", help="a role's file")
    how = result.add_argument_group("how it is spoken to")
    how.add_argument("-p", "--prompt", metavar="TEXT", help="say this, print the answer and end")
    how.add_argument("-i", "--interactive", action="store_true", help="talk with it")
    how.add_argument("--serve", action="store_true", help="answer at an address that speaks OpenAI's API")
    how.add_argument("--port", metavar="N", type=int, default=8000, help="of that address (default: %(default)s)")
    how.add_argument(
        "--address",
        metavar="IP",
        default="127.0.0.1",
        help="where it listens (default: %(default)s, this machine only)",
    )
    how.add_argument(
        "--daemon",
        action="store_true",
        help="read the role and its skills again when they change; without --serve each line of standard input is "
        "something that is said",
    )
    how.add_argument(
        "--dry-run", action="store_true", help="print exactly what the model would be sent, and ask none; needs no key"
    )
    group = result.add_argument_group("what it runs with")
    group.add_argument("--model", metavar="MODEL", help="another model: provider:name, openai:NAME@URL or script:FILE")
    group.add_argument(
        "--skill-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="a further folder of skills (repeatable; also INITRUNNER_SKILL_DIR and PROWESS_SKILL_DIR)",
    )
    group.add_argument("--home", metavar="DIR", help="the home in which skills are looked for (default: yours)")
    group.add_argument(
        "--sandbox",
        metavar="HOW",
        default="auto",
        help=f"what contains the processes of tools: {', '.join(CHOICES)} (default: %(default)s)",
    )
    group.add_argument(
        "--yes", action="store_true", help="take every call of a tool that wants its user's word for allowed"
    )
    group.add_argument("--otel", action="store_true", help="report to OpenTelemetry, as Pydantic AI does")
    result.add_argument("--json", action="store_true", help="print JSON: the transcript")
    return result


def run(args: Namespace) -> int:
    """Run a role; no folder that its tools needed is left.

    Raises:
        ConfigError: the role or an option is wrong.
    """
    try:
        with _signals_as_exit():
            return _run(args)
    finally:
        remove_runtime_folder()


@contextmanager
def _signals_as_exit() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does: what was begun is ended first, and nothing is left."""

    def stop(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    taken = []
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Whoever set another handler, or ignores it as `nohup` does, has something else in mind.
        if number is None or signal.getsignal(number) is not signal.SIG_DFL:
            continue
        try:
            signal.signal(number, stop)
        except ValueError:
            break  # only the main thread gets signals
        taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _run(args: Namespace) -> int:
    if args.sandbox not in CHOICES:
        raise ConfigError(f"`--sandbox` is {quoted(args.sandbox)}", hint=f"choose one of {', '.join(CHOICES)}")
    modes = [name for name in ("prompt", "interactive", "serve", "dry_run") if getattr(args, name) not in (None, False)]
    if len(modes) > 1:
        first, second = (f"`--{name.replace('_', '-')}`" for name in modes[:2])
        raise ConfigError(f"{first} and {second} exclude each other", hint="choose one of them")
    if args.daemon and args.prompt is not None:
        words = "`--prompt` and `--daemon` exclude each other"
        raise ConfigError(words, hint="choose one of them; `--daemon` takes what is said from standard input")
    if args.dry_run:
        return _dry_run(args)
    live = RoleReloader(
        args.role, dirs=args.skill_dir, home=args.home, sandbox=args.sandbox, watch=args.daemon, notify=_print_note
    )
    try:
        from prowess.agent.conversation import Conversation
        from prowess.agent.models import make_model

        model, name = make_model(live.current().role.model, args.model)
    except ImportError as error:
        raise ConfigError(str(error), hint="install that extra, then try again") from None
    with _flushed_telemetry(args.otel):
        if args.serve:
            return _serve(live, model, args)
        conversation = Conversation(live.current(), model, confirm=_confirm_callback(args), instrument=args.otel)
        if args.interactive:
            from prowess.cli._chat import chat

            return chat(conversation, live, name, yes=args.yes)
        if args.daemon:
            return asyncio.run(_answer_stdin_lines(conversation, live, args))
        prompt = args.prompt if args.prompt is not None else _read_stdin_prompt()
        return _print_turn(asyncio.run(_ask(conversation, prompt, args)), args)


_FLUSH_TIMEOUT_MS = 5000
"""Milliseconds that the last reports have to arrive."""


@contextmanager
def _flushed_telemetry(wanted: bool) -> Iterator[None]:
    """See to it that what is reported to OpenTelemetry is sent: the process ends without doing so by itself."""
    if not wanted:
        yield
        return
    from opentelemetry import metrics, trace

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        _print_note(
            "nobody takes the reports of `--otel`: `pip install opentelemetry-distro opentelemetry-exporter-otlp`, "
            "then start it as `opentelemetry-instrument prowess run ...`"
        )
    try:
        yield
    finally:
        for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
            flush = getattr(provider, "force_flush", None)
            if flush is not None:
                flush(_FLUSH_TIMEOUT_MS)


def _serve(live: RoleReloader, model: Any, args: Namespace) -> int:
    """Answer at an address until the process is told to end.

    Raises:
        ConfigError: the address cannot be had, or would be open to all.
    """
    from prowess.agent.server import RoleBackend, serve

    key = os.environ.get("PROWESS_SERVE_KEY", "").strip() or None
    if key is None and args.address not in ("127.0.0.1", "::1", "localhost"):
        words = f"whoever reaches {quoted(args.address)} could talk with the role"
        raise ConfigError(words, hint="set PROWESS_SERVE_KEY to what clients must send as their key")
    backend = RoleBackend(live, model, yes=args.yes, instrument=args.otel, notify=_print_note)
    serve(
        backend,
        host=args.address,
        port=args.port,
        token=key,
        ready=lambda url: print_stderr(f"{quoted(backend.names[0])} answers at {url}; Ctrl-C ends it"),
    )
    return OK


def _print_note(words: str) -> None:
    print_stderr(f"note: {neutral(words)}" if "\n" not in words else words)


def _read_stdin_prompt() -> str:
    """Return what standard input holds.

    Raises:
        ConfigError: nobody said anything.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise ConfigError(
            "it is not said what to print_stderr", hint="`prowess run ROLE -p TEXT`, or `-i` to talk with it"
        )
    text = sys.stdin.read()
    if not text.strip():
        raise ConfigError("standard input is empty", hint="`prowess run ROLE -p TEXT`")
    return text


def _confirm_callback(args: Namespace) -> Confirm | None:
    """Return how the user is asked before a call; None where nobody can be."""
    if args.yes:

        async def always(_tool: str, _arguments: Mapping[str, Any]) -> bool:
            return True

        return always
    if sys.stdin is None or not sys.stdin.isatty():
        return None

    async def asked(tool: str, arguments: Mapping[str, Any]) -> bool:
        import json

        print_stderr(
            f"{quoted(tool)} wants to be called with {neutral(json.dumps(dict(arguments), ensure_ascii=False))}"
        )
        print_stderr("allow it? [y/N]")
        answer = await _read_stdin_line()
        return answer.strip().lower() in ("y", "yes")

    return asked


_unread_stdin = bytearray()
"""What was read of standard input after the line that was wanted."""


async def _read_stdin_line() -> str:
    """Return the next line of standard input; empty at its end. No thread waits for it, so Ctrl-C ends it at once."""
    fd, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    while b"\n" not in _unread_stdin:
        ready = asyncio.Event()
        try:
            loop.add_reader(fd, ready.set)
        except PermissionError:  # a file, which is always ready
            pass
        else:
            try:
                await ready.wait()
            finally:
                loop.remove_reader(fd)
        if not (data := os.read(fd, 65536)):
            break
        _unread_stdin.extend(data)
    line, newline, rest = _unread_stdin.partition(b"\n")
    _unread_stdin[:] = rest
    return bytes(line + newline).decode("utf-8", "replace")


async def _ask(conversation: Any, prompt: str, args: Namespace) -> Turn:
    """Say one thing; the answer is shown as it comes, where somebody looks."""
    from prowess.agent import wait_for_threads
    from prowess.sandbox import stop

    live = not args.json and sys.stdout.isatty()
    try:
        turn: Turn = await conversation.ask(prompt, on_text=_print_part if live else None)
    finally:
        # A tool that was given up, because the time was up or by Ctrl-C, may run still.
        stop()
        wait_for_threads()
    return turn


def _print_part(part: str) -> None:
    from prowess.cli._options import print_untrusted_chunk

    print_untrusted_chunk(part)


def _print_turn(turn: Turn, args: Namespace) -> int:
    if args.json:
        print_json(turn.as_dict())
    elif turn.output is not None:
        if sys.stdout.isatty():
            sys.stdout.write("\n")
        else:
            print_untrusted_text(turn.output)
    if not args.json:
        for note in turn.notes:
            _print_note(note)
    if turn.error is not None and not args.json:
        print_stderr(f"error: {neutral(turn.error)}")
    return OK if turn.error is None else FAILED


async def _answer_stdin_lines(conversation: Any, live: RoleReloader, args: Namespace) -> int:
    """Take each line of standard input for something that is said.

    Raises:
        ConfigError: there is none.
    """
    if sys.stdin is None:
        raise ConfigError("there is no standard input to take lines from", hint="give it one, or use `--serve`")
    code = OK
    while line := await _read_stdin_line():
        if line.strip():
            conversation.update_assembly(live.current())
            code = max(code, _print_turn(await _ask(conversation, line.strip(), args), args))
            sys.stdout.flush()
    return code


def _dry_run(args: Namespace) -> int:
    """Print what the model would be sent."""
    from prowess.agent.explain import dry_run

    assembly, findings = assemble(args.role, dirs=args.skill_dir, home=args.home, sandbox=args.sandbox, env=os.environ)
    if assembly is None or findings:
        raise ConfigError(format_findings(findings), hint="mend all of it, then try again")
    shown = dry_run(assembly, args.model)
    if args.json:
        print_json(shown)
        return OK
    _print_dry_run(assembly, shown)
    return OK


def _print_dry_run(assembly: Assembly, shown: dict[str, Any]) -> None:
    from prowess.cli._options import print_stdout

    print_stdout(f"model  {neutral(str(shown['model'] or 'none is named: give `--model`'))}")
    print_stdout("")
    print_untrusted_text(str(shown["instructions"]))
    print_stdout("")
    for tool in shown["tools"]:
        words = tool["description"].partition("\n")[0]
        print_stdout(f"tool  {neutral(tool['name'])}  ({neutral(tool['origin'])})  {neutral(words)}")
    for note in assembly.notes:
        _print_note(note)
