"""Cells: what a client said of one SKILL.md; the keys are explained in docs/observing.md."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from clients._probe import Answer
    from clients._trees import Tree
    from prowess.catalog._entry import Entry

Cell = dict[str, Any]
Cells = dict[str, Cell]
TAG = re.compile(r"\[\[([^\[\]\n]+)\]\]")
NO_LIST = ("cline", "kimi-code", "mistral-vibe", "qwen-code", "pi", "pi@0.7")
"""Clients without their own list: a skill that is not shown to the model may be unknown to them."""
COMPARED = ("listed", "model", "name", "alias", "shown_len", "enabled", "undefined")
"""The keys that say what a client does; the others say where it was seen."""


class Matcher:
    """Finds the file that an answer is about: by its path, the tag in its description, its description, or its name."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.by_path = {os.path.normpath(path): variant for variant, path in tree.variants.items()}
        self.by_real: dict[str, str] = {}
        self.by_tag: dict[str, list[str]] = {}
        self.by_name: dict[str, list[str]] = {}
        self.descriptions: dict[str, str] = {}
        for variant, path in tree.variants.items():
            if path.is_relative_to(tree.etc):
                self.by_path[f"/etc/{path.relative_to(tree.etc)}"] = variant
            self.by_real.setdefault(real_path(path), variant)
            tags = {variant}
            try:
                text = path.read_bytes().decode("utf-8", "replace")
            except OSError:
                text = ""
            tags.update(TAG.findall(text))
            for tag in tags:
                self.by_tag.setdefault(tag, []).append(variant)
            named, described = _front_matter_values(text, "name"), _front_matter_values(text, "description")
            # A list is shown as text.
            self.descriptions[variant] = described[0].strip("[]") if described else ""
            for name in {*named, path.parent.name if path.name == "SKILL.md" else path.stem}:
                self.by_name.setdefault(name, []).append(variant)

    def variant(self, name: str, path: str | None, description: str | None, taken: Iterable[str]) -> str | None:
        """Return the variant that the answer is about, if it is not taken yet."""
        if path is not None:
            whole = os.path.join(self.tree.cwd, os.path.expanduser(path) if path[:1] == "~" else path)
            for candidate in (whole, os.path.join(whole, "SKILL.md")):
                found = self.by_path.get(os.path.normpath(candidate)) or self.by_real.get(real_path(candidate))
                if found is not None:
                    return found
        tags = TAG.findall(description or "")
        simple = re.split(r"[:/]", name)[-1]
        of_tag = [variant for tag in tags[:1] for variant in self.by_tag.get(tag, ())]
        of_name = [*self.by_name.get(name, ()), *self.by_name.get(simple, ())]
        both = [variant for variant in of_name if variant in of_tag]
        texts = _own_texts(description)
        same_text = [variant for variant in of_name if self.descriptions[variant] in texts]
        # A name that is written in another way than the client reads it.
        other_name = [variant for variant, own in self.descriptions.items() if own in texts]
        for candidates in (both, of_tag, same_text, of_name if not tags else (), other_name):
            free: list[str] = [variant for variant in dict.fromkeys(candidates) if variant not in taken]
            if free:
                return free[0]
        return None

    def has_text(self, name: str, description: str | None) -> bool:
        """Return whether a file of this name has this description."""
        texts = _own_texts(description)
        return any(self.descriptions[variant] in texts for variant in self.by_name.get(name, ()))


def _own_texts(description: str | None) -> set[str]:
    """Return what the description in the file may be: a client may add its scope, as in `text (project)`."""
    text = (description or "").strip()
    return {text, re.sub(r" \([^()]*\)\Z", "", text)} - {""}


def _front_matter_values(text: str, key: str) -> list[str]:
    return re.findall(rf"^{key}:[ \t]*[\"']?(.*?)[\"']?[ \t\r]*$", text, re.MULTILINE)


def cells(tree: Tree, answer: Answer) -> tuple[Cells, list[str]]:
    """Return the cells of a tree, and the names of skills that belong to no file."""
    matcher = Matcher(tree)
    found: Cells = {}
    unknown: list[str] = []
    listed: dict[str, int] = {}
    shown_as = {item.name: item for item in reversed(answer.shown)}
    for order, skill in enumerate(answer.listed):
        # A list of names alone: what the model got under this name says which file it is.
        known = skill if skill.path or skill.description is not None else shown_as.get(skill.name, skill)
        variant = matcher.variant(skill.name, known.path, known.description, listed)
        if variant is None:
            unknown.append(skill.name)
            continue
        listed[variant] = order
        cell: Cell = {"listed": True, "model": False, "name": whole_characters(skill.name)}
        if skill.description is not None:
            cell["desc_len"] = len(skill.description.strip())
        if not skill.enabled:
            cell["enabled"] = False
        _via(cell, tree, variant, skill.path)
        found[variant] = cell
    shown: list[str] = []
    listed_as = {found[variant]["name"]: variant for variant in reversed(listed)}
    for item in answer.shown:
        # A name alone, or with a text that no file has: the client's list says which file it is.
        is_known = item.path or TAG.search(item.description or "") or matcher.has_text(item.name, item.description)
        own = None if is_known else listed_as.get(whole_characters(item.name))
        variant = own if own not in (None, *shown) else matcher.variant(item.name, item.path, item.description, shown)
        if variant is None:
            unknown.append(item.name)
            continue
        cell = found.setdefault(variant, {"listed": False, "model": True})
        cell |= {"model": True, "name": whole_characters(item.name), "shown_len": len((item.description or "").strip())}
        if item.alias is not None:
            cell["alias"] = item.alias
        _via(cell, tree, variant, item.path)
        shown.append(variant)
    for path in answer.undefined:
        variant = matcher.variant("", path, None, ())
        if variant is not None:
            found[variant] = {"undefined": True}
    first = [variant for variant in (listed or shown) if variant in found]
    for order, variant in enumerate(dict.fromkeys([*first, *shown])):
        found[variant]["order"] = order
    for variant, cell in found.items():
        if cell.get("desc_len") == cell.get("shown_len"):
            cell.pop("desc_len", None)
        cell["rel"] = os.path.relpath(tree.variants[variant], tree.root)
    return {variant: found[variant] for variant in tree.variants if variant in found}, unknown


def whole_characters(text: str) -> str:
    """Return a text in which half of a surrogate pair, which no encoding can carry, is U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _via(cell: Cell, tree: Tree, variant: str, path: str | None) -> None:
    """Add the client's own path where it differs."""
    if path is None or tree.variants[variant].is_relative_to(tree.etc):
        return
    whole = os.path.normpath(os.path.join(tree.cwd, path))
    if os.path.basename(whole) != tree.variants[variant].name:
        whole = os.path.join(whole, tree.variants[variant].name)
    if whole != os.path.normpath(tree.variants[variant]):
        cell["via"] = os.path.relpath(whole, tree.root)


def merged(runs: list[Cells]) -> Cells:
    """Return the cells of several runs; one that is not the same in all is undefined."""
    result: Cells = {}
    for variant in dict.fromkeys(variant for run in runs for variant in run):
        cell = next(run[variant] for run in runs if variant in run)
        same = all(compared(run.get(variant)) == compared(cell) for run in runs)
        result[variant] = cell if same else {"undefined": True, "rel": cell["rel"]}
    return result


def keep_undefined(recorded: Cells, found: Cells) -> Cells:
    """Return cells, undefined where they are recorded as undefined: runs that agree show no rule."""
    races = {variant: cell for variant, cell in recorded.items() if cell.get("undefined")}
    return {**found, **races}


def compared(cell: Mapping[str, Any] | None, keys: Iterable[str] = COMPARED) -> Cell | None:
    """Return what counts in a cell; nothing for a file that the client does not know."""
    if cell is None:
        return None
    if cell.get("undefined"):
        return {"undefined": True}
    return {key: cell[key] for key in keys if key in cell}


def differing(recorded: Cells, now: Cells, *, levelled: bool = False) -> dict[str, tuple[Cell | None, Cell | None]]:
    """Return the cells that differ, by variant: as recorded, and now.

    Args:
        recorded: the cells by variant.
        now: the same.
        levelled: whether short descriptions may differ by a tenth, since the client cuts all of them to one budget, in
            which its paths count too.
    """
    found = {}
    for variant in dict.fromkeys([*recorded, *now]):
        old, new = compared(recorded.get(variant)), compared(now.get(variant))
        # Older answers lack some keys.
        known = old if old is None or new is None else {**{key: new[key] for key in new if key == "listed"}, **old}
        if levelled and known and new and "shown_len" in known and "shown_len" in new:
            before, after = known["shown_len"], new["shown_len"]
            if abs(before - after) <= before // 10 and max(before, after) < 500:
                known = {**known, "shown_len": after}
        if known != new:
            found[variant] = (old, new)
    return found


def disagreement(client: str, cell: Mapping[str, Any] | None, entries: list[Entry]) -> str | None:
    """Return how the entries of Prowess for a file differ from the client's answer; nothing if they agree."""
    from prowess.catalog._entry import State

    shown = [entry for entry in entries if entry.state is State.ACTIVE]
    states = [str(entry.state) for entry in entries]
    if cell and cell.get("undefined"):
        return (
            None
            if any("undefined" in (entry.reason or "") for entry in entries)
            else f"its answers are random; here {states}"
        )
    if cell is None:
        hidden = {"deferred", "shadowed", "rejected", "untrusted", *(["user-only"] if client in NO_LIST else [])}
        return None if set(states) <= hidden else f"the client does not know it; here {states}"
    if not cell["model"]:
        wanted = "disabled" if cell.get("enabled") is False else "user-only"
        return None if states == [wanted] else f"the client lists it as {wanted}; here {states} {_reasons(entries)}"
    if len(shown) != 1:
        return f"the client shows it to its model; here {states} {_reasons(entries)}"
    entry = shown[0]
    if entry.name != cell["name"]:
        return f"the client calls it {cell['name']!r}; here {entry.name!r}"
    if entry.alias != cell.get("alias"):
        return f"the client's alias is {cell.get('alias')!r}; here {entry.alias!r}"
    length, wanted_length = len(entry.description.strip()), cell["shown_len"]
    levelled = client == "codex" and wanted_length < 500 and entry.rule == "budget"
    if abs(length - wanted_length) > (wanted_length // 10 if levelled else 0):
        return f"the client shows {wanted_length} characters; here {length}: {entry.description[:60]!r}"
    return None


def _reasons(entries: Iterable[Entry]) -> list[str | None]:
    return [entry.reason for entry in entries]


def prowess_differs(tree: Tree, client: str, recorded: Mapping[str, Cell], *, races: bool = False) -> dict[str, str]:
    """Return by variant how Prowess differs from what the client answered about a tree.

    Args:
        tree: the tree.
        client: its name.
        recorded: its cells by variant.
        races: whether its answers can be random, so that a file of which Prowess says so agrees with each answer.
    """
    from prowess.catalog import discover
    from prowess.hosts import load_host

    host: Any = load_host(client)
    if tree.etc.is_dir():
        host = _moved(host, "/etc/", f"{tree.etc}/")
    with _at_home(tree.home):
        # Variables that move a client's folders belong to its user's real home, so they count only without `home`.
        home = None if tree.env else tree.home
        env = {**tree.env, "HOME": str(tree.home)}
        catalog = discover(tree.cwd, host=host, home=home, env=env, client_args=tuple(tree.args), cache=False)
    by_file: dict[str, list[Entry]] = {}
    for entry in catalog.skills:
        by_file.setdefault(real_path(entry.path), []).append(entry)
    wrong = {}
    for variant, path in tree.variants.items():
        entries = by_file.get(real_path(path), [])
        problem = disagreement(client, recorded.get(variant), entries)
        if problem and not (races and any("undefined" in (entry.reason or "") for entry in entries)):
            wrong[variant] = problem
    return wrong


def _moved(value: Any, old: str, new: str) -> Any:
    """Return a host, or a part of one, with paths below another folder."""
    if isinstance(value, str):
        # A path can have variables before it: `$VAR|/etc/...`.
        return new + value.removeprefix(old) if value.startswith(old) else value.replace(f"|{old}", f"|{new}")
    if isinstance(value, (tuple, frozenset)):
        return type(value)(_moved(item, old, new) for item in value)
    if isinstance(value, dict):
        return {key: _moved(item, old, new) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _moved(getattr(value, f.name), old, new) for f in fields(value)}
        return replace(value, **{name: item for name, item in changed.items() if item != getattr(value, name)})
    return value


@contextmanager
def _at_home(home: Path) -> Iterator[None]:
    """Make a folder the home of this process."""
    own = os.environ.get("HOME")
    os.environ["HOME"] = str(home)
    try:
        yield
    finally:
        if own is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = own
