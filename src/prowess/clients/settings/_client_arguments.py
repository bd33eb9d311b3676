"""Parse arguments of a client that change which skills it sees."""

from __future__ import annotations

from prowess._internal.text import quoted
from prowess.findings import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.findings import Finding
    from prowess.hosts import Argument, Host


class ClientArguments:
    """The arguments that a client is started with, as far as its host's table knows them."""

    def __init__(self, host: Host, arguments: Sequence[str]) -> None:
        self.findings: list[Finding] = []
        self.given: list[tuple[Argument, list[str]]] = []
        """Each known argument with its values, in order."""
        known = {argument.name: argument for argument in host.arguments}
        words = list(arguments)
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            argument = known.get(word) or known.get(name)
            if argument is None and (short := known.get(word[:2])) is not None and short.values == "one":
                self.given.append((short, [word[2:].removeprefix("=")]))
            elif argument is None:
                self._report_unknown(host, word)
            elif argument.values == "none":
                self.given.append((argument, []))
            elif equals and word not in known:
                self.given.append((argument, [value]))
            else:
                most = 1 if argument.values == "one" else len(words)
                count = next((index for index, item in enumerate(words[:most]) if item.startswith("-")), most)
                self.given.append((argument, words[:count]))
                del words[:count]

    def values(self, *names: str) -> list[str]:
        """Return all values of some arguments, in order."""
        return [value for argument, values in self.given if argument.name in names for value in values]

    def each(self, name: str) -> list[list[str]]:
        """Return the values of an argument each time that it is given."""
        return [values for argument, values in self.given if argument.name == name]

    def last(self, *names: str) -> str:
        """Return the name of the last of these arguments that is given; empty if none is."""
        return next((argument.name for argument, _ in reversed(self.given) if argument.name in names), "")

    def with_effect(self, *effects: str) -> list[tuple[Argument, list[str]]]:
        """Return the arguments that have one of these effects, with their values."""
        return [(argument, values) for argument, values in self.given if argument.effect in effects]

    def chosen_plugins(self) -> frozenset[str] | None:
        """Return the names of the only plugins that count, in lower case; `None` if no argument chooses any."""
        given = self.with_effect("only-plugins")
        names = (name.strip().lower() for _, values in given for value in values for name in value.split(","))
        return frozenset(names) if given else None

    def _report_unknown(self, host: Host, word: str) -> None:
        names = ", ".join(f"`{argument.name}`" for argument in host.arguments)
        hint = f"these change its skills: {names}" if names else "no argument of this agent changes its skills"
        message = f"the argument {quoted(word)} changes no skill of {host.title}, and is ignored"
        self.findings.append(finding("argument-ignored", message, hint=hint))
