"""Catalog + conversation -> activations

A session belongs to one conversation, not to an agent. It keeps a record of what was activated, not the text: the text
is rendered again when it is needed, so it need not be stored in any memory and outlives every compaction.
"""

from __future__ import annotations

import os
import threading

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, normalize_name, quoted
from prowess.catalog import State, estimate_tokens, render
from prowess.errors import ActivationError, ConfigError, ProwessError, SkillError
from prowess.skill import find_missing, load

from ._activation import Activation, escape_tags, render_activation
from ._mentions import Mention, find_mentions
from ._resources import FileText, read_text, resource_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Protocol

    from prowess.catalog import Catalog, Entry, Hit, Index, Reader
    from prowess.skill import Skill

    from ._trust import Trust

    class Call(Protocol):
        """What a tool does."""

        def __call__(self, **arguments: Any) -> str:
            """Return the text for the model."""


__all__ = ["Grants", "ActivationRecord", "Session", "Tool"]

_MODEL_STATES = (State.ACTIVE,)
_USER_STATES = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
_JSON_VERSION = 1
_MAX_JSON_CHARS = 16 * 1024 * 1024
_MAX_RECORDS = 10_000
_MAX_TURN = 10**9


class ActivationRecord(Frozen):
    """One skill of a conversation."""

    name: str
    path: str
    """Of its SKILL.md."""
    digest: str | None
    """Over its files, when it was activated."""
    fingerprint: str
    """Of the text that was given."""
    arguments: str | None
    turn: int
    """The turn in which it was activated last; the first is 1."""
    by: str
    """`model` or `user`."""
    files: tuple[str, ...] = ()
    """Those that were read since."""


class Tool(Frozen):
    """A tool as every framework knows it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of its arguments."""
    call: Call
    """Takes the arguments by name and returns text; what goes wrong is told in the text and never raised."""


class Grants(Frozen):
    """What a skill may have of what it declares."""

    tools: tuple[Mapping[str, Any], ...] = ()
    scripts: tuple[str, ...] = ()
    """Files below `scripts/`, relative to the skill's folder."""
    denial_reason: str | None = None
    """Why it is nothing, and what to do."""


class Session:
    """The skills of one conversation.

    Args:
        catalog: what the model chooses from.
        budget: the most that `static_block` may take; None is no limit.
        unit: what budgets count: `chars` or `tokens`.
        format: of the catalog: `xml`, `markdown`, `json`, or the host's own.
        trust: what the user allowed; by default the record in the user's configuration folder.
        env: the environment that skills' requirements are held against; the process's by default.

    Raises:
        ConfigError: an unknown unit or format.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        budget: int | None = None,
        unit: str = "chars",
        format: str | None = None,  # noqa: A002 - the option's own name
        trust: Trust | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.warnings: tuple[str, ...] = ()
        """What went wrong with the last `inject`."""
        self.turn = 0
        """The turn the conversation is in; `inject` and `next_turn` begin one."""
        self._budget, self._unit, self._format = budget, unit, format
        self._trust, self._env = trust, env
        self._ledger: dict[str, ActivationRecord] = {}
        self._lock = threading.RLock()
        self.update(catalog)

    # ── the catalog ──────────────────────────────────────────────────────────────────────────────────────────────────

    def update(self, catalog: Catalog) -> None:
        """Take another catalog, as after a look at the disk; what was activated stays.

        Raises:
            ConfigError: an unknown unit or format.
        """
        block = render(catalog, format=self._format, budget=self._budget, unit=self._unit)
        with self._lock:
            self.catalog = catalog
            """What the model chooses from."""
            self._block = block
            self._readers = {path: _SafeReader(reader) for path, reader in catalog.readers.items()}
            self._index: Index | None = None

    @property
    def shortened(self) -> bool:
        """Whether the model is not shown all of the catalog."""
        return bool(self._block.shortened or self._block.omitted)

    def static_block(self) -> str:
        """Return what the model is told of its skills: the same bytes until the catalog changes.

        It belongs at the front of a conversation, where a prompt cache keeps it. Without skills it is empty.
        """
        if not self._block.text:
            return ""
        words = "When a task fits the description of a skill, call `activate_skill` with its name before you go on."
        if self.shortened:
            words += " Not all is shown here: `search_skills` finds more."
        return f"{words}\n\n{self._block.text}"

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Find skills by name, description and body, best first, whether or not the model is shown them."""
        from prowess.catalog import Index

        with self._lock:
            if self._index is None:
                skills = [entry for entry in self.catalog.skills if entry.state in _MODEL_STATES]
                self._index = Index(skills, self._readers)
            return self._index.search(query, limit=limit)

    # ── activating ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def ledger(self) -> tuple[ActivationRecord, ...]:
        """What was activated, first to last."""
        return tuple(self._ledger.values())

    def next_turn(self) -> int:
        """Begin a turn, and return its number."""
        with self._lock:
            self.turn += 1
            return self.turn

    def restart(self) -> None:
        """Forget all that was activated, as at the beginning of a new conversation."""
        with self._lock:
            self._ledger.clear()
            self.turn, self.warnings = 0, ()

    def activate(self, name: str, arguments: str | None = None, *, by: str = "model") -> Activation:
        """Give a skill to the model.

        A second time in the same conversation the content only says so, unless it or the arguments changed.

        Args:
            name: of the skill, or another reference to it; see `Catalog.resolve`.
            arguments: what was given with the name.
            by: `model` or `user`; only a user may choose what its author keeps from the model.

        Raises:
            SkillNotFoundError: no skill is called so; the error names some that almost are.
            AmbiguousSkillError: several are.
            ActivationError: it may not be activated, or cannot be read now. It can be tried again.
        """
        entry = self._find_entry(name, by)
        with self._lock:
            found = self._read(entry, arguments)
            known = self._ledger.get(entry.path)
            fingerprint = _fingerprint(found.content)
            # What was given for one turn alone is gone with it, so it is given again.
            stands = known is not None and (known.by == "model" or known.turn == self.turn)
            if known is not None and stands and known.fingerprint == fingerprint:
                since = f" since turn {known.turn}" if known.turn else ""
                words = f"The skill {quoted(entry.name)} is active already{since}; its instructions have not changed."
                if by == "model":
                    # It stands from now on, though it was given for a turn.
                    self._ledger[entry.path] = known.with_changes(by=by)
                return found.with_changes(content=escape_tags(words), repeated=True)
            self._remember(entry, found, fingerprint, arguments, by)
            return found

    def _find_entry(self, name: str, by: str) -> Entry:
        """Find a skill that may be activated; a model names it, a user may point at it in other ways too."""
        key = normalize_name(name)
        known = [
            entry for entry in self.catalog.skills if normalize_name(entry.name) == key and entry.state in _MODEL_STATES
        ]
        if len(known) == 1:
            return known[0]
        return self._require_activatable(
            self.catalog.resolve(name) if by == "user" or known else self._entry_by_name(name), by
        )

    def _entry_of_record(self, record: ActivationRecord) -> Entry:
        """Find the skill of a record, by its path and by nothing else: a record may come from anywhere.

        Raises:
            SkillNotFoundError: it is not in the catalog.
        """
        entry = next((entry for entry in self.catalog.skills if entry.path == record.path), None)
        if entry is None:
            raise self.catalog.not_found_error(record.name)
        return self._require_activatable(entry, "user")

    def _require_activatable(self, entry: Entry, by: str) -> Entry:
        """Return a skill that may be activated.

        Raises:
            ActivationError: this one may not.
        """
        if entry.state not in (_USER_STATES if by == "user" else _MODEL_STATES):
            if entry.state is State.USER_ONLY:
                raise ActivationError(
                    f"the skill {quoted(entry.name)} is only for its user to choose",
                    hint="the user does so by naming it",
                )
            why = f": {neutral(entry.reason)}" if entry.reason else ""
            raise ActivationError(f"the skill {quoted(entry.name)} is {entry.state}{why}", hint="go on without it")
        return entry

    def _entry_by_name(self, name: str) -> Entry:
        """Find a skill by its names alone: what else a reference may be costs more than a model should be able to ask.

        Raises:
            SkillNotFoundError: none is called so.
        """
        key = normalize_name(name)
        called = [
            item for item in self.catalog.skills if key in (normalize_name(item.name), normalize_name(item.folder))
        ]
        for entry in sorted(called, key=lambda item: item.state not in _MODEL_STATES):
            return entry
        raise self.catalog.not_found_error(name)

    def _read(self, entry: Entry, arguments: str | None, *, digest: bool = True) -> Activation:
        skill = self._load_skill(entry)
        notes = tuple(item.message for item in find_missing(skill.requirements, env=self._env))
        return render_activation(entry, skill, arguments, folder=self._folder(entry), notes=notes, digest=digest)

    def _load_skill(self, entry: Entry) -> Skill:
        reader = self._readers.get(entry.path)
        return load(entry.path, real=entry.real) if reader is None else reader.read(entry)

    def _folder(self, entry: Entry) -> str | None:
        """Return where a skill's files are; one that a provider brings may have none."""
        folder = resource_folder(entry)
        lies = folder is not None and (entry.path not in self.catalog.readers or os.path.isdir(folder))
        return folder if lies else None

    def _remember(self, entry: Entry, found: Activation, fingerprint: str, arguments: str | None, by: str) -> None:
        known = self._ledger.pop(entry.path, None)
        self._ledger[entry.path] = ActivationRecord(
            name=entry.name,
            path=entry.path,
            digest=found.digest,
            fingerprint=fingerprint,
            arguments=arguments,
            turn=self.turn,
            by=by,
            files=known.files if known is not None else (),
        )

    def read(self, name: str, path: str, offset: int = 0, limit: int | None = None) -> FileText:
        """Read a file inside a skill's folder, and nowhere else.

        Args:
            name: of a skill that the model sees or that was activated.
            path: relative to the skill's folder.
            offset: the first byte.
            limit: bytes at most.

        Raises:
            SkillNotFoundError: no skill is called so.
            ActivationError: it may not be read by the model.
            SkillFileError: there is no such text file in its folder.
        """
        key, there = normalize_name(name), {entry.path for entry in self.catalog.skills}
        known = [item for item in self.ledger if normalize_name(item.name) == key and item.path in there]
        entry = self._entry_of_record(known[-1]) if known else self._find_entry(name, "model")
        text = read_text(self._folder(entry), path, offset=offset, limit=limit)
        with self._lock:
            record = self._ledger.get(entry.path)
            if record is not None and text.path not in record.files and len(record.files) < _MAX_RECORDS:
                self._ledger[entry.path] = record.with_changes(files=(*record.files, text.path))
        return text

    # ── the user's own words ─────────────────────────────────────────────────────────────────────────────────────────

    def mentions(self, text: str) -> tuple[Mention, ...]:
        """Return the skills a user's text names, with span and reason; those that are none too."""
        return find_mentions(text, self.catalog.skills)

    def inject(self, text: str, *, visible: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Begin a turn with a user's text, and return the messages that belong to this turn alone.

        A text that names no skill gets none. A skill that cannot be read is left out and told of in `warnings`.

        Args:
            text: what the user wrote.
            visible: texts that the model still has before it: what stands there is not given twice.
        """
        texts = list(visible)
        self.next_turn()
        messages: list[dict[str, Any]] = []
        warnings: list[str] = []
        seen: set[str] = set()
        for mention in self.mentions(text):
            if mention.entry is None or mention.entry.path in seen:
                continue
            entry = mention.entry
            seen.add(entry.path)
            known = self._ledger.get(entry.path)
            arguments = known.arguments if known is not None and known.by == "model" else None
            try:
                found = self._read(entry, arguments)
            except (SkillError, OSError) as error:
                warnings.append(str(error))
                continue
            with self._lock:
                fingerprint = _fingerprint(found.content)
                # What the model was given before stands longer than this turn.
                given = known is not None and known.by == "model" and known.fingerprint == fingerprint
                self._remember(entry, found, fingerprint, arguments, "model" if given else "user")
            if not any(found.content in text for text in texts):
                messages.append({"role": "user", "content": found.content, "meta_dict": {"skill": True}})
        self.warnings = tuple(warnings)
        return messages

    def tail(self, budget: int | None = None, *, visible: Iterable[str] = ()) -> str:
        """Return the active skills once more, for the end of a conversation that may have lost them.

        Args:
            budget: the most it may take, in the session's unit; None is no limit. Skills that were activated last are
                shown first; of what does not fit only the names are.
            visible: texts that the model still has before it: what stands there is not shown twice.
        """
        texts = list(visible)
        size = estimate_tokens if self._unit == "tokens" else len
        shown: list[str] = []
        named: list[str] = []
        for record in reversed(self.ledger):
            if record.by == "user" and record.turn != self.turn:
                continue  # it was given for that turn alone
            try:
                found = self._read(self._entry_of_record(record), record.arguments, digest=False)
            except (SkillError, OSError):
                named.append(f"{escape_tags(neutral(record.name))} (it cannot be read now)")
                continue
            if any(found.content in text for text in texts):
                continue
            if budget is None or size(_render_tail([*shown, found.content], named)) <= budget:
                shown.append(found.content)
            else:
                named.append(escape_tags(neutral(record.name)))
        whole = _render_tail(shown, named)
        while budget is not None and whole and size(whole) > budget:
            if named:
                named.pop()
            elif shown:
                shown.pop()
            whole = _render_tail(shown, named)
        return whole

    # ── for frameworks ───────────────────────────────────────────────────────────────────────────────────────────────

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools with which a model uses its skills; none where there are no skills."""
        names = [entry.name for entry in self.catalog.skills if entry.state in _MODEL_STATES]
        if not names:
            return ()
        name: dict[str, Any] = {"type": "string", "description": "the skill's name"}
        if not self._block.omitted:
            name["enum"] = list(dict.fromkeys(names))
        text = {"type": "string"}
        number = {"type": "integer", "minimum": 0}
        tools = [
            _make_tool(
                name="activate_skill",
                description="Get the instructions of a skill. Do so before you work on what its description names.",
                parameters=_parameters_schema(
                    {"name": name, "arguments": {**text, "description": "what it is to work on"}}, "name"
                ),
                call=lambda name, arguments=None: self.activate(name, arguments).content,
            ),
            _make_tool(
                name="read_skill_file",
                description="Read a file of a skill, by its path relative to the skill's directory.",
                parameters=_parameters_schema(
                    {
                        "name": name,
                        "path": {**text, "description": "as the skill names it, for example references/api.md"},
                        "offset": {**number, "description": "the byte to begin with"},
                        "limit": {**number, "minimum": 1, "description": "bytes to read at most"},
                    },
                    "name",
                    "path",
                ),
                call=self._read_file_tool,
            ),
        ]
        if self.shortened:
            tools.append(
                _make_tool(
                    name="search_skills",
                    description="Find skills that are not shown, by words of their name, description or instructions.",
                    parameters=_parameters_schema({"query": {**text, "description": "a few words"}}, "query"),
                    call=self._search_tool,
                )
            )
        return tuple(tools)

    def _read_file_tool(self, name: str, path: str, offset: int = 0, limit: int | None = None) -> str:
        text = self.read(name, path, offset, limit)
        if text.next_offset is None:
            return text.text
        return f"{text.text}\n[{text.size:,} bytes in all; read on with offset {text.next_offset}]"

    def _search_tool(self, query: str) -> str:
        hits = self.search(query)
        lines = [escape_tags(f"- {neutral(hit.entry.name)}: {neutral(hit.entry.description)}") for hit in hits]
        return "\n".join(lines) or "no skill fits; try other words"

    # ── what a skill may have ────────────────────────────────────────────────────────────────────────────────────────

    def granted(self, name: str) -> Grants:
        """Return the tools and scripts of a skill that its user lets it have.

        A skill grants nothing by itself: it must be active in this conversation, and its user must trust its bytes as
        they are now, unless it is the user's own. `allowed-tools` is no grant.

        Raises:
            SkillNotFoundError: no skill is called so.
        """
        entry = self.catalog.resolve(name)
        if entry.path not in self._ledger:
            return Grants(denial_reason=f"the skill {quoted(entry.name)} is not active in this conversation")
        denial_reason = self.trust.denial_reason(entry)
        tools = self._load_skill(entry).tools
        # Trusted before and after it was read: what was read is what is trusted.
        denial_reason = denial_reason or self.trust.denial_reason(entry)
        if denial_reason is not None:
            return Grants(denial_reason=denial_reason)
        from prowess._internal.files import skill_files

        folder = self._folder(entry)
        files = [] if folder is None else skill_files(folder)
        scripts = tuple(path for path, _ in files if path.startswith("scripts/"))
        return Grants(tools=tools if isinstance(tools, tuple) else (), scripts=scripts)

    @property
    def trust(self) -> Trust:
        """What the user allowed."""
        if self._trust is None:
            from ._trust import Trust

            self._trust = Trust()
        return self._trust

    # ── across processes ─────────────────────────────────────────────────────────────────────────────────────────────

    def to_json(self) -> str:
        """Return the record as JSON: what was activated, not what it says."""
        import json

        with self._lock:
            rows = [{name: getattr(item, name) for name in ActivationRecord.__annotations__} for item in self.ledger]
            return json.dumps({"version": _JSON_VERSION, "turn": self.turn, "ledger": rows})

    @classmethod
    def from_json(cls, text: str, catalog: Catalog, **options: Any) -> Session:
        """Make the session of a conversation that goes on.

        Args:
            text: what `to_json` returned.
            catalog: what the model chooses from now.
            options: as for a new session.

        Raises:
            ConfigError: the text is not what `to_json` returned.
        """
        import json

        session = cls(catalog, **options)
        try:
            table = json.loads(text[: _MAX_JSON_CHARS + 1])
            rows = table["ledger"]
            _require(table["version"] == _JSON_VERSION and isinstance(rows, list) and len(rows) <= _MAX_RECORDS)
            session.turn = table["turn"]
            _require(type(session.turn) is int and 0 <= session.turn <= _MAX_TURN)
            session._ledger = {record.path: record for record in map(_parse_record, rows)}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            words = f"this is not the record of a session: {neutral(str(error)[:100])}"
            raise ConfigError(words, hint="begin a new session") from None
        return session


class _SafeReader:
    """A provider of which nothing but our own errors comes out, so that the conversation goes on."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def read(self, skill: Entry) -> Skill:
        """Return a skill with its body.

        Raises:
            ActivationError: the provider failed.
        """
        try:
            return self._reader.read(skill)
        except ProwessError:
            raise
        except Exception as error:
            words = f"the skill {quoted(skill.name)} cannot be read now: {neutral(str(error) or type(error).__name__)}"
            raise ActivationError(words, hint="go on without it, or try again later") from error


def _parameters_schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _make_tool(name: str, description: str, parameters: dict[str, Any], call: Callable[..., str]) -> Tool:
    """Make a tool of a function: what goes wrong becomes text for the model, and the conversation goes on."""

    def call_safely(**arguments: Any) -> str:
        known, wanted = parameters["properties"], parameters["required"]
        missing = [key for key in wanted if arguments.get(key) is None]
        unknown = [key for key in arguments if key not in known]
        kinds = {"string": str, "integer": int}
        given = {key: value for key, value in arguments.items() if key in known and value is not None}
        wrong = [key for key, value in given.items() if type(value) is not kinds[known[key]["type"]]]
        if missing or unknown or wrong:
            words = [f"{quoted(key)} is missing" for key in missing] + [f"there is no {quoted(key)}" for key in unknown]
            words += [f"{quoted(key)} must be of type {known[key]['type']}" for key in wrong]
            hint = f"`{name}` takes {', '.join(f'`{key}`' for key in known)}"
            return escape_tags(f"error: {'; '.join(words)}\nhint: {hint}")
        try:
            return call(**given)
        except ProwessError as error:
            return escape_tags(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""))
        except OSError as error:
            return escape_tags(f"error: {neutral(error.strerror or str(error))}\nhint: go on without it")

    return Tool(name=name, description=description, parameters=parameters, call=call_safely)


def _render_tail(shown: list[str], named: list[str]) -> str:
    if not shown and not named:
        return ""
    lines = ["<active_skills>", "These skills were activated earlier in this conversation and still hold."]
    lines += shown
    if named:
        lines.append(f"Active too, call `activate_skill` or `read_skill_file` for what they say: {', '.join(named)}")
    return "\n".join([*lines, "</active_skills>"])


def _fingerprint(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("a value is not what it should be")


def _parse_record(row: Mapping[str, Any]) -> ActivationRecord:
    """Read one row of a ledger.

    Raises:
        ValueError: it is none.
        TypeError: it is none.
    """
    _require(isinstance(row["files"], list))
    record = ActivationRecord(**{**row, "files": tuple(row["files"])})
    _require(type(record.turn) is int and 0 <= record.turn <= _MAX_TURN and record.by in ("model", "user"))
    texts = (record.name, record.path, record.fingerprint, *record.files)
    _require(all(isinstance(text, str) for text in texts) and len(record.files) <= _MAX_RECORDS)
    _require(all(text is None or isinstance(text, str) for text in (record.digest, record.arguments)))
    return record
