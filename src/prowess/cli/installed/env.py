"""prowess env: show the environments of scripts, and remove them."""

from __future__ import annotations

import os

from prowess._internal.text import neutral, quoted
from prowess.cli._output import Message, Result, format_table, pluralize
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.environments import Environment

EPILOG = """\
Packages that scripts of trusted skills need are installed once for each set of packages, into an environment in the
cache. `clear` removes all environments, or those that you name by the start of a name; what a script still needs is
installed again when it runs. `prowess show SKILL` says what a skill needs. PROWESS_CACHE_DIR moves the cache."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    actions = "`show`: the environments, the one used last first (the default); `clear`: remove them"
    parser.argument("action", "ACTION", actions, nargs="?", choices=("show", "clear"), default="show")
    parser.argument("names", "NAME", "with `clear`: the environments to remove", nargs="*")
    parser.add_json()


def run(args: Arguments) -> Result:
    """Show the environments, or remove some.

    Raises:
        ConfigError: no environment has such a name, or names are given without `clear`.
        InstallError: the environments cannot be listed, or one cannot be removed.
    """
    from prowess.environments import environments, remove_environment

    found = environments(os.environ)
    if args.action == "show":
        if args.names:
            raise ConfigError("`show` takes no names", hint="`prowess env clear NAME` removes environments")
        return Result({"environments": [each.as_dict() for each in found]}, _table(found))
    chosen = [each for each in found if not args.names or any(each.name.startswith(name) for name in args.names)]
    for name in args.names:
        if not name or not any(each.name.startswith(name) for each in found):
            raise ConfigError(f"no environment is called {quoted(name)}", hint="`prowess env` lists them")
    for each in chosen:
        remove_environment(each)
    size = sum(each.size for each in chosen)
    removed = Message(f"removed {pluralize(len(chosen), 'environment')}, {size:,} bytes")
    return Result({"removed": [each.name for each in chosen], "bytes": size}, [removed])


def _table(found: Sequence[Environment]) -> Iterator[str]:
    if not found:
        yield Message("no environments: no script has needed one yet")
        return
    rows = [_row(each) for each in found]
    yield from format_table([("NAME", "BYTES", "LAST USED", "PYTHON", "PACKAGES"), *rows])


def _row(environment: Environment) -> tuple[str, ...]:
    import time

    used, python, packages = environment.used, environment.python, " ".join(environment.requirements)
    missing = "-" if python or packages else "unknown"  # packages of Node.js have no Python
    return (
        environment.name,
        f"{environment.size:,}",
        time.strftime("%Y-%m-%d", time.localtime(used)) if used else "unknown",
        neutral(python) or missing,
        neutral(packages) or missing,
    )
