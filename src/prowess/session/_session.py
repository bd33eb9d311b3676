"""Keep track of the skills of one conversation, and render what its model is sent of them.

A session belongs to one conversation, not to an agent. It keeps a record of what was activated, not the text: the text
is rendered again when it is needed, so it need not be stored in any memory and survives every compaction.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from prowess._internal.text import neutral, quoted
from prowess.catalog import Catalog, mapped_readers, skills_in_text
from prowess.errors import SkillError
from prowess.prompt import estimate_tokens
from prowess.skill import find_missing, load

from ._activation import Activation, escape_tags, render_activation
from ._ledger import Ledger, text_fingerprint
from ._listing import SafeReader, TurnBlocks, shared_listing
from ._lookup import MODEL_STATES, find_activatable, find_readable, find_recorded
from ._resources import FileText, read_media, read_text, resource_folder
from ._trajectory import RecordedCall, Trajectory, about_agent, about_skill, catalog_step, file_of, report_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from prowess.catalog import Entry, FilesProvider, LiveCatalog
    from prowess.prompt import Prompt
    from prowess.search import Hit, Ranker
    from prowess.skill import Skill

    from ._grants import Grants
    from ._ledger import ActivationRecord
    from ._mentions import Mention
    from ._scripts import Scripts
    from ._tools import FileAnswer, Tool
    from ._trust import Trust
    from ._written_files import WrittenFile


class Session:
    """The skills of one conversation.

    Args:
        catalog: the skills the model chooses from; a `LiveCatalog` is brought up to date when a turn begins.
        budget: the size of `static_block` at most; `math.inf` is no limit. `None` is 2 % of `window`, or 8,000 tokens
            if that is unknown.
        unit: the unit of budgets: `chars` or `tokens`.
        format: the format of the catalog: `xml`, `markdown`, `json`, or `None` for the host's own, which for `prowess`
            is a line for each skill. Only a host's own text may have the paths of files.
        trust: what the user allowed; by default the record in the user's configuration folder.
        env: the environment in which the requirements of skills are checked; by default that of the process.
        window: the tokens of the model's context window, if known.
        ranker: an embedding or re-ranker for `search` and `block`; by default that of `prowess[semantic]`.
        locations: whether an activated skill names its directory, for a model that may open files there.
        trajectory: the file in which the conversation is recorded, or a folder that gets a file for each conversation.

    Raises:
        ConfigError: an unknown unit or format, an invalid budget or window, or a trajectory that cannot be written.
    """

    def __init__(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        budget: float | None = None,
        unit: str = "chars",
        format: str | None = None,  # noqa: A002 - the option's own name
        trust: Trust | None = None,
        env: Mapping[str, str] | None = None,
        window: int | None = None,
        ranker: Ranker | None = None,
        locations: bool = True,
        trajectory: str | os.PathLike[str] | None = None,
    ) -> None:
        self.trajectory: Trajectory | None = None
        """What is recorded of the conversation; `None` if nothing is."""
        self.warnings: tuple[str, ...] = ()
        """The errors of the last `inject`."""
        self._listing_options: dict[str, Any] = {"budget": budget, "unit": unit, "format": format, "window": window}
        self._ranker, self._prompt = ranker, ""
        self._lock = threading.RLock()
        self.update(catalog)
        self._trust, self._env, self._locations = trust, env, locations
        self._ledger = Ledger()
        self._scripts: Scripts | None = None
        if trajectory is not None:
            self.trajectory = Trajectory(trajectory, self._about)

    # ── the catalog ──────────────────────────────────────────────────────────────────────────────────────────────────

    def update(self, catalog: Catalog | LiveCatalog) -> None:
        """Replace the catalog, for example after the files changed; the ledger stays."""
        if isinstance(catalog, str | os.PathLike):
            raise TypeError("a session needs a catalog, not a path: `Session(discover(path))`")
        live, catalog = (None, catalog) if isinstance(catalog, Catalog) else (catalog, catalog.current())
        listing = shared_listing(catalog, **self._listing_options)
        with self._lock:
            self.catalog = catalog
            """The skills the model chooses from."""
            self._listing, self._live = listing, live
            self._readers = mapped_readers(catalog.readers, SafeReader)
            self._blocks = TurnBlocks(catalog, self._listing_options, self._ranker)
        if self.trajectory is not None and self.trajectory.file.path is not None:
            self.trajectory.add(catalog_step(catalog, listing))

    def _about(self) -> tuple[str, dict[str, object], Callable[[], list[dict[str, Any]]]]:
        """Return what the trajectory begins with."""
        catalog, listing = self.catalog, self._listing
        return self._ledger.conversation, about_agent(catalog), lambda: [catalog_step(catalog, listing)]

    def _recorded(self, tool: str, arguments: Mapping[str, Any], by: str = "model") -> RecordedCall:
        return RecordedCall(self.trajectory, tool, arguments, by)

    @property
    def listing(self) -> Prompt:
        """The catalog in `static_block`: which skills are shown, shortened and left out."""
        return self._listing.prompt

    @property
    def shortened(self) -> bool:
        """Whether `static_block` leaves out a part of the catalog."""
        return bool(self.listing.shortened or self.listing.omitted)

    def static_block(self) -> str:
        """Return the catalog as the model is shown it: the same bytes until the catalog changes.

        It belongs at the front of a conversation, where a prompt cache keeps it. Without skills it is empty.
        """
        return self._listing.text

    def block(self, prompt: str | None = None) -> str:
        """Return the skills that a turn's message needs (by default that of `inject`), or all of them if all fit."""
        message = self._prompt if prompt is None else prompt
        return self._blocks.text(message) if message and self.shortened else self._listing.text

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Find skills by name, description and body, best first, also those that `static_block` leaves out."""
        return self._blocks.index.search(query, limit)

    def _update_live(self) -> None:
        """Bring a live catalog up to date."""
        if self._live is not None and self._live.current() is not self.catalog:
            self.update(self._live)

    def _load_skill(self, entry: Entry) -> Skill:
        reader = self._readers.get(entry.path)
        return load(entry.path, real=entry.real) if reader is None else reader.read(entry)

    def _files_provider(self, entry: Entry) -> FilesProvider | None:
        """Return the provider that has the files of a skill; `None` if they are on this machine."""
        if entry.path not in self.catalog.readers:
            return None
        from ._remote_files import files_provider

        return files_provider(self.catalog, entry)

    def _folder(self, entry: Entry) -> str | None:
        """Return the folder of a skill's files; `None` if a skill of a provider has no files."""
        folder = resource_folder(entry)
        return folder if entry.path not in self.catalog.readers or os.path.isdir(folder or "") else None

    # ── activating ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def ledger(self) -> tuple[ActivationRecord, ...]:
        """The skills that were activated, most recent last."""
        return self._ledger.records

    @property
    def turn(self) -> int:
        """The current turn; `inject` and `next_turn` begin a turn."""
        return self._ledger.turn

    @turn.setter
    def turn(self, number: int) -> None:
        self._ledger.turn = number

    def next_turn(self) -> int:
        """Begin a turn, and return its number."""
        self._update_live()
        with self._lock:
            return self._ledger.begin_turn()

    def restart(self) -> None:
        """Clear the ledger, for a new conversation with the same catalog."""
        with self._lock:
            self._ledger.clear()
            self.warnings, self._prompt = (), ""

    def activate(self, name: str, arguments: str | None = None, *, by: str = "model") -> Activation:
        """Return the content of a skill for the model, and record it in the ledger.

        A second activation returns one line, unless the content or the arguments changed.

        Args:
            name: of the skill, or another reference to it; see `Catalog.resolve`.
            arguments: what was given with the name.
            by: `model` or `user`; only a user can activate a skill that its author hides from the model.

        Raises:
            SkillNotFoundError: no skill has this name; the error names similar ones.
            AmbiguousSkillError: several skills have this name.
            ActivationError: the skill may not be activated, or cannot be read now. It can be tried again.
        """
        with self._recorded("activate_skill", {"name": name, "arguments": arguments}, by) as call:
            entry = find_activatable(self.catalog, name, by)
            activation = self._activate(entry, arguments, by)
            call.result(activation.content, skill=None if activation.repeated else about_skill(entry))
        if not activation.repeated:
            report_use(entry, by)
        return activation

    def _activate(self, entry: Entry, arguments: str | None, by: str) -> Activation:
        with self._lock:
            activation = self._render(entry, arguments)
            record = self._ledger.get(entry.path)
            fingerprint = text_fingerprint(activation.content)
            # What a user's message activated is sent in that turn only, so in a later turn it is given again.
            is_current = record is not None and (record.by == "model" or record.turn == self.turn)
            if record is None or not is_current or record.fingerprint != fingerprint:
                self._ledger.add(entry, activation.digest, fingerprint, arguments, by)
                return activation
            if by == "model":
                self._ledger.keep_active(entry.path)
            since = f" since turn {record.turn}" if record.turn else ""
            words = f"The skill {quoted(entry.name)} is already active{since}; its instructions have not changed."
            return activation.with_changes(content=escape_tags(words), repeated=True)

    def read(self, name: str, path: str, offset: int = 0, limit: int | None = None) -> FileText:
        """Read a file inside a skill's folder, and nowhere else.

        Args:
            name: of a skill that the model sees or that was activated.
            path: relative to the skill's folder.
            offset: the first byte.
            limit: bytes at most.

        Raises:
            SkillNotFoundError: no skill has this name.
            ActivationError: the model may not read the skill.
            SkillFileError: the skill has no such text file.
        """
        arguments = {"name": name, "path": path, "offset": offset or None, "limit": limit}
        with self._recorded("read_skill_file", arguments) as call:
            entry = find_readable(self.catalog, name, self.ledger)
            provider = self._files_provider(entry)
            if provider is None:
                text = read_text(self._folder(entry), path, offset=offset, limit=limit)
            else:
                from ._remote_files import read_remote_text

                text = read_remote_text(provider, entry, path, offset=offset, limit=limit)
            call.result(text.text, file=file_of(entry, text.path))
        with self._lock:
            self._ledger.add_file(entry.path, text.path)
        return text

    def _read_media(self, name: str, path: str) -> FileAnswer | None:
        """Return the answer about an image or a document of a skill whose files are on this machine.

        It is `None` about another file, and after an error, which `read` raises.
        """
        from ._tools import FileAnswer

        file = None
        with suppress(SkillError):
            entry = find_readable(self.catalog, name, self.ledger)
            file = read_media(self._folder(entry), path) if self._files_provider(entry) is None else None
        if file is None:
            return None
        answer = FileAnswer.of(file)
        with self._recorded("read_skill_file", {"name": name, "path": path}) as call:
            call.result(answer, file=file_of(entry, file.name))
        with self._lock:
            self._ledger.add_file(entry.path, file.name)
        return answer

    def _render(self, entry: Entry, arguments: str | None, *, digest: bool = True) -> Activation:
        skill = self._load_skill(entry)
        notes = tuple(finding.message for finding in find_missing(skill.requirements, env=self._env))
        provider = self._files_provider(entry)
        options: dict[str, Any] = {"notes": notes, "digest": digest, "provider": provider, "location": self._locations}
        return render_activation(entry, skill, arguments, folder=self._folder(entry), **options)

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def mentions(self, text: str) -> tuple[Mention, ...]:
        """Return the skills that a user's text names, with span and reason; unresolved mentions are included."""
        from ._mentions import find_mentions

        return find_mentions(text, skills_in_text(self.catalog.skills, text))

    def inject(self, text: str, *, visible: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Begin a turn with a user's text, and return the messages for this turn only.

        A text that names no skill gets no message. For a skill that cannot be read there is a message that says so; for
        a name that no skill has too, once in a conversation. Both are added to `warnings`.

        Args:
            text: what the user wrote.
            visible: texts that the model still sees: a skill whose content is in them is not sent again.
        """
        visible = list(visible)
        self.next_turn()
        self._prompt = text
        if self.trajectory is not None and text:
            self.trajectory.say("user", text)
        contents: list[str] = []
        mentions = self.mentions(text)
        with self._lock:
            warnings = self._ledger.unknown_names.problems(mentions)
        entries = {mention.entry.path: mention.entry for mention in mentions if mention.entry is not None}
        for entry in entries.values():
            try:
                content = self._activate_for_turn(entry)
            except (SkillError, OSError) as error:
                warnings.append(str(error))
                continue
            if not any(content in seen for seen in visible):
                contents.append(content)
                if self.trajectory is not None:
                    self.trajectory.say("user", content, skill=about_skill(entry))
                report_use(entry, "user")
        self.warnings = tuple(warnings)
        new = [*contents, *(escape_tags(f"warning: {warning}") for warning in warnings)]
        return [{"role": "user", "content": content, "meta_dict": {"skill": True}} for content in new]

    def _activate_for_turn(self, entry: Entry) -> str:
        """Record that a user's message named a skill, and return its content.

        A skill that the model activated keeps its arguments, and stays active after this turn.
        """
        record = self._ledger.get(entry.path)
        arguments = record.arguments if record is not None and record.by == "model" else None
        activation = self._render(entry, arguments)
        with self._lock:
            fingerprint = text_fingerprint(activation.content)
            stays_active = record is not None and record.by == "model" and record.fingerprint == fingerprint
            by = "model" if stays_active else "user"
            self._ledger.add(entry, activation.digest, fingerprint, arguments, by)
        return activation.content

    def _activate_for_script(self, entry: Entry) -> None:
        """Record that a skill is active whose script a model runs; its content is given as if that were not so."""
        with self._lock:
            if self._ledger.get(entry.path) is None:
                self._ledger.add(entry, self._render(entry, None).digest, "", None, "model")

    def tail(self, budget: int | None = None, *, visible: Iterable[str] = ()) -> str:
        """Return the active skills once more, for the end of a conversation that may have lost them.

        A skill that the user's message of this turn activated comes first, as its content alone.

        Args:
            budget: its size at most, in the session's unit; `None` means no limit. The skills that were activated last
                are shown first; of those that do not fit only the names.
            visible: texts that the model still sees: a skill whose content is in them is left out.
        """
        size = estimate_tokens if self._listing_options["unit"] == "tokens" else len
        # What a user's message named was active for that turn only.
        records = [record for record in self.ledger if record.by == "model" or record.turn == self.turn]
        return _active_skills(
            reversed(records), self._content_now, list(visible), lambda text: budget is None or size(text) <= budget
        )

    def _content_now(self, record: ActivationRecord) -> str:
        entry = find_recorded(self.catalog, record)
        return self._render(entry, record.arguments, digest=False).content

    # ── for frameworks ───────────────────────────────────────────────────────────────────────────────────────────────

    def tools(self, *, scripts: bool | Scripts = False, search: bool = False) -> tuple[Tool, ...]:
        """Return the tools with which a model uses its skills; no tools if there are no skills and never will be.

        Args:
            scripts: whether a model may run the scripts of active skills that the user trusts, and how.
            search: whether the model may search, also if it is shown the whole catalog.

        Raises:
            ConfigError: `scripts` is something else.
        """
        from ._tools import activate_tool, read_tool, search_tool

        if self._live is None and all(entry.state not in MODEL_STATES for entry in self.catalog.skills):
            return ()
        tools = [activate_tool(self.activate), read_tool(self.read, self._read_media)]
        if scripts is not False:
            from ._run_script import script_tools
            from ._scripts import scripts_option

            # With `True`, all calls share one object, which keeps the folder of the conversation.
            self._scripts = self._scripts if scripts is True and self._scripts else scripts_option(scripts)
            tools += script_tools(
                self._ledger,
                self._activate_for_script,
                self._scripts,
                lambda: self.catalog,
                lambda: self.trust,
                self._env,
                self._recorded,
            )
        if search or self.shortened:
            tools.append(search_tool(self.search, self._blocks.index.languages()))
        return tuple(tools)

    def files(self) -> tuple[WrittenFile, ...]:
        """Return the files that scripts of skills wrote in this conversation, those written last at the end.

        Of a process that ended, or a conversation continued from its text, there are no files any more.
        """
        from ._written_files import written_files

        return (
            () if self._scripts is None else tuple(written_files(self._scripts.find_folder(self._ledger.conversation)))
        )

    def granted(self, name: str) -> Grants:
        """Return the tools and scripts of a skill that its user allows.

        A skill grants nothing itself: it must be active in this conversation, and its user must trust its bytes as
        they are now, unless it is the user's own. `allowed-tools` is not a grant.

        Raises:
            SkillNotFoundError: no skill has this name.
        """
        from ._grants import Grants, find_grants

        entry = self.catalog.resolve(name)
        if self._ledger.get(entry.path) is None:
            return Grants(denial_reason=f"the skill {quoted(entry.name)} is not active in this conversation")
        if self._files_provider(entry) is None:
            return find_grants(entry, self.trust, self._load_skill, self._folder(entry))
        from ._remote_files import skill_folder

        try:
            with skill_folder(self.catalog, entry) as folder:
                return find_grants(entry, self.trust, self._load_skill, folder, fetched=folder)
        except SkillError as error:
            return Grants(denial_reason=str(error))

    @property
    def trust(self) -> Trust:
        """What the user allowed."""
        if self._trust is None:
            from ._trust import Trust

            self._trust = Trust()
        return self._trust

    def to_json(self) -> str:
        """Return the ledger as JSON: what was activated, without the texts."""
        with self._lock:
            return self._ledger.to_json()

    @classmethod
    def from_json(cls, text: str, catalog: Catalog | LiveCatalog, **options: Any) -> Session:
        """Return the session of a conversation that continues.

        Args:
            text: what `to_json` returned.
            catalog: the skills the model chooses from now.
            options: as for a new session.

        Raises:
            ConfigError: the text is not what `to_json` returned.
        """
        session = cls(catalog, **options)
        session.restore(text)
        return session

    def restore(self, text: str) -> None:
        """Replace the ledger by one that `to_json` returned.

        Raises:
            ConfigError: the text is not what `to_json` returned.
        """
        with self._lock:
            self._ledger.restore(text)

    def fork(self) -> Session:
        """Return a session for another conversation, with the same catalog and options, and an empty ledger."""
        return type(self)(self._live or self.catalog, **self._options())

    def _options(self) -> dict[str, Any]:
        own = {"trust": self._trust, "env": self._env, "ranker": self._ranker, "locations": self._locations}
        file = None if self.trajectory is None else self.trajectory.file.option
        return {**self._listing_options, **own, "trajectory": file}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the ledger with the catalog of this moment, for frameworks that save the arguments of a run."""
        return _unpickle, (type(self), self.catalog, self._options(), self.to_json())


def _unpickle(kind: type[Session], catalog: Catalog, options: Mapping[str, Any], text: str) -> Session:
    return kind.from_json(text, catalog, **options)


def _active_skills(
    records: Iterable[ActivationRecord],
    content: Callable[[ActivationRecord], str],
    visible: list[str],
    fits: Callable[[str], bool],
) -> str:
    """Return the content of the skills that a user named, then an `<active_skills>` block with the others.

    Skills that do not fit are in the block by name. Without any skill the text is empty.

    Args:
        records: the skills, the most recently activated first.
        content: returns the content of a skill.
        visible: texts that the model still sees: a skill whose content is in them is left out.
        fits: whether a text is within the budget.
    """
    named: list[str] = []
    contents: list[str] = []
    names: list[str] = []
    is_later = False
    for record in records:
        name = escape_tags(neutral(record.name))
        try:
            text = content(record)
        except (SkillError, OSError):
            names.append(f"{name} (cannot be read now)")
            is_later = is_later or record.by == "model"
            continue
        if any(text in seen for seen in visible):
            continue
        is_later = is_later or record.by == "model"
        texts = named if record.by == "user" else contents
        texts.append(text)
        if not fits(_render(named, contents, names, is_later=is_later)):
            texts.pop()
            names.append(name)
    rendered = _render(named, contents, names, is_later=is_later)
    while rendered and not fits(rendered):
        (names or contents or named).pop()
        rendered = _render(named, contents, names, is_later=is_later)
    return rendered


def _render(named: list[str], contents: list[str], names: list[str], *, is_later: bool) -> str:
    lines = [*contents]
    if names:
        lines.append(f"Also active; call `activate_skill` or `read_skill_file` to read them: {', '.join(names)}")
    if lines and is_later:
        lines.insert(0, "These skills were activated earlier in this conversation and still apply.")
    block = "\n".join(["<active_skills>", *lines, "</active_skills>"]) if lines else ""
    return "\n\n".join(text for text in (*named, block) if text)
