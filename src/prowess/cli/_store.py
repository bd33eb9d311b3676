"""The options that keep conversations in a database: `--store`, `--store-keep` and `--conversation`."""

from __future__ import annotations

import os

from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.store import Store

__all__ = ["add_store_options", "check_store_options", "open_chosen_store"]

_VARIABLE = "PROWESS_STORE"
_DAY_SECONDS = 86_400.0
_MAX_DAYS = 36_500


def add_store_options(parser: ArgumentParser) -> None:
    """Add the options, as a group."""
    group = parser.add_argument_group("where conversations are kept")
    group.add_argument(
        "--store",
        metavar="URL",
        help="keep conversations in a database: sqlite:///FILE or postgresql://USER@HOST/DATABASE "
        f"(default: the variable {_VARIABLE})",
    )
    group.add_argument(
        "--store-keep", metavar="DAYS", type=float, help="delete conversations that were not used for so many days"
    )
    group.add_argument(
        "--conversation", metavar="ID", help="without --serve: continue this conversation of the store, or begin it"
    )


def check_store_options(args: Namespace) -> None:
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
        if _url(args) is None:
            raise ConfigError(
                "`--conversation` needs a store", hint=f"add `--store sqlite:///FILE`, or set {_VARIABLE}"
            )
    elif args.store is not None and not args.serve:
        hint = "add `--conversation ID`, which finds the conversation again"
        raise ConfigError("`--store` needs `--serve` or `--conversation`", hint=hint)
    if args.store_keep is not None and not 0 < args.store_keep <= _MAX_DAYS:
        raise ConfigError(
            f"invalid number of days: {args.store_keep:g}", hint=f"use more than 0 and at most {_MAX_DAYS}"
        )


def open_chosen_store(args: Namespace) -> Store | None:
    """Open the store of `--store` or its variable; `None` if there is neither.

    Raises:
        ConfigError: it cannot be used, or a package is missing.
    """
    url = _url(args)
    if url is None:
        return None
    from prowess.store import open_store

    try:
        return open_store(url, keep=None if args.store_keep is None else args.store_keep * _DAY_SECONDS)
    except ImportError as error:
        raise ConfigError(str(error), hint="install the extra with the `pip` command above, then try again") from None


def _url(args: Namespace) -> str | None:
    return args.store if args.store is not None else os.environ.get(_VARIABLE, "").strip() or None
