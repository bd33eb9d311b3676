"""a directory + a host -> Catalog"""

from __future__ import annotations

import gc
import os
import re
from itertools import product

from ._frozen import EMPTY, Later
from .cache import Cache, Watched, asker
from .entry import Entry, State, with_digest
from .errors import AmbiguousSkillError, SkillNotFoundError
from .files import at_home
from .recall import Recalled, code_state, columns_of
from .text import near_names, neutral, quoted, same_name
from .user_dirs import cache_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .cache import Answer
    from .config import Settings
    from .decision import Decided
    from .disk import Disk
    from .findings import Finding
    from .host import Host
    from .places import Place
    from .provider import SkillProvider
    from .skill import Skill

__all__ = ["Catalog", "FilesystemSkillProvider", "discover", "new_disk"]

_REACHABLE = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
"""States of a skill that its name leads to."""


class Catalog(Later, aside=("places", "settings")):
    """What one host sees from one directory: skills with states, highest precedence first, and findings."""

    host: Host
    cwd: str
    """The directory it is seen from, absolute and without links."""
    home: str
    """The user's home, absolute."""
    skills: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    """Those that belong to no single skill."""
    places: tuple[Place, ...]
    """What was scanned, highest precedence first."""
    settings: Settings
    readers: Mapping[str, SkillProvider] = EMPTY
    """By path, who reads the skills that are no files of this host."""

    @property
    def counts(self) -> dict[str, int]:
        """How many skills were found, and how many are in each state; the states add up to `found`."""
        counts = {"found": len(self.skills), **{str(state): 0 for state in State}}
        for entry in self.skills:
            counts[entry.state] += 1
        return counts

    @property
    def active(self) -> tuple[Entry, ...]:
        """The skills whose name and description the model gets."""
        return tuple(entry for entry in self.skills if entry.state is State.ACTIVE)

    def explain(self, reference: str) -> tuple[Entry, ...]:
        """Return every candidate behind a reference, with its digest, the one that wins first.

        Raises:
            SkillNotFoundError: there is none; the error names skills that are called almost so.
        """
        found = self._candidates(reference)
        if not found:
            raise self.not_found(reference)
        order = {state: at for at, state in enumerate(_REACHABLE)}
        key = same_name(reference)
        found.sort(key=lambda entry: (order.get(entry.state, len(order)), same_name(entry.name) != key))
        disk = new_disk()
        return tuple(with_digest(entry, disk) for entry in found)

    def resolve(self, reference: str) -> Entry:
        """Return the one skill a reference means: `name`, `scope:name`, `package:name`, a path or a digest prefix.

        Of several skills with that name the one that is active is meant.

        Raises:
            SkillNotFoundError: there is none.
            AmbiguousSkillError: there are several, and no rule chooses.
        """
        found = self._candidates(reference)
        # A skill of that very name is meant rather than one whose folder, or whose name in its package, is so called.
        key = same_name(reference)
        named = [entry for entry in found if same_name(entry.name) == key]
        for state, those in product((State.ACTIVE, State.USER_ONLY, None), (named, found)):
            chosen = [entry for entry in those if state is None or entry.state is state]
            if len(chosen) == 1:
                return chosen[0]
            if chosen:
                raise _ambiguous(reference, chosen)
        raise self.not_found(reference)

    def _candidates(self, reference: str) -> list[Entry]:
        """Return all that a reference may mean: by name, by a name in a scope, by place or by digest."""
        key = same_name(reference)
        exact = [entry for entry in self.skills if key in _names(entry)]
        if exact:
            return exact
        scope, colon, rest = reference.partition(":")
        if colon:
            if scope == "sha256" and rest:
                return self._with_digest(rest.lower())
            inner = same_name(rest)
            return [entry for entry in self.skills if entry.scope == scope and inner in _names(entry)]
        path = os.path.abspath(os.path.join(self.cwd, at_home(reference, self.home)))
        by_path = [entry for entry in self.skills if path in (entry.path, os.path.dirname(entry.path))]
        if by_path:
            return by_path
        if re.fullmatch(r"[0-9a-f]{8,64}", reference):
            return self._with_digest(reference)
        return []

    def _with_digest(self, prefix: str) -> list[Entry]:
        """Return the skills whose digest begins so."""
        start, disk = f"sha256:{prefix}", new_disk()
        return [entry for entry in self.skills if (with_digest(entry, disk).digest or "").startswith(start)]

    def not_found(self, reference: str) -> SkillNotFoundError:
        """Return the error for a reference that means no skill; it names some that are called almost so."""
        names = list(dict.fromkeys(entry.name for entry in self.skills))
        near = near_names(reference, names)
        hint = (
            "did you mean " + " or ".join(quoted(name) for name in near) + "?"
            if near
            else "`prowess list` shows all skills"
        )
        return SkillNotFoundError(f"no skill is called {quoted(reference)} for host `{self.host.name}`", hint=hint)


def _ambiguous(reference: str, chosen: list[Entry]) -> AmbiguousSkillError:
    """Return the error for a reference that means several skills."""
    shown = "".join(f"\n  {neutral(entry.scope)}:{neutral(entry.name)}  {neutral(entry.path)}" for entry in chosen)
    return AmbiguousSkillError(
        f"{quoted(reference)} means {len(chosen)} skills:{shown}",
        candidates=[entry.path for entry in chosen],
        hint="name one by its path",
    )


def _names(entry: Entry) -> set[str]:
    """Return every name, compared form, under which a user may look for a skill."""
    names = (entry.name, entry.alias, entry.frontmatter_name, entry.folder)
    return {same_name(name) for name in names if name}


def discover(
    cwd: str | os.PathLike[str],
    host: str | Host = "prowess",
    home: str | os.PathLike[str] | None = None,
    skill_dirs: Iterable[str | os.PathLike[str]] = (),
    *,
    env: Mapping[str, str] | None = None,
    role: str | os.PathLike[str] | None = None,
    disk: Disk | Callable[[], Disk] | None = None,
    cache: bool = True,
    providers: Iterable[SkillProvider] = (),
) -> Catalog:
    """Find the skills one host sees from a directory, and decide which win.

    Args:
        cwd: the directory the client is started in.
        host: the host or its name.
        home: the user's home instead of `~`. Variables that move a client's folders, such as `CODEX_HOME`, count only
            where it is not given, since they belong to the real home.
        skill_dirs: further directories to scan, highest precedence first.
        env: the environment; the process's by default.
        role: an InitRunner role file: its folder is then the working directory, its `auto_skills` count.
        disk: what was already read, to be shared between hosts, or what gives it when it is needed.
        cache: whether what was seen here last counts as long as nothing of it has changed; `PROWESS_NO_CACHE=1` says no
            too, and `PROWESS_CACHE_DIR` says where it is kept.
        providers: where further skills come from, highest precedence first; the host's own come before them all.

    Raises:
        HostNotFoundError: there is no such host.
    """
    # Nothing of the thousands of values that are made here is garbage: a collector that looks in between finds nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        catalog = _discover(cwd, host, home, skill_dirs, env=env, role=role, disk=disk, cache=cache)
    finally:
        if collecting:
            gc.enable()
    return _joined(catalog, providers) if providers else catalog


def _discover(
    cwd: str | os.PathLike[str],
    host: str | Host,
    home: str | os.PathLike[str] | None,
    skill_dirs: Iterable[str | os.PathLike[str]],
    *,
    env: Mapping[str, str] | None,
    role: str | os.PathLike[str] | None,
    disk: Disk | Callable[[], Disk] | None,
    cache: bool,
) -> Catalog:
    """Recall what `discover` asks for, or look at the disk."""
    env = os.environ if env is None else env
    cwd = os.path.realpath(os.path.dirname(os.fspath(role)) or "." if role is not None else cwd)
    moved = home is None
    home = os.path.abspath(os.path.expanduser("~") if home is None else home)
    named = [os.fspath(path) for path in skill_dirs]
    role = None if role is None else os.path.abspath(role)
    folder = cache_folder(env) if cache and isinstance(host, str) else None

    def live(env: Mapping[str, str], disk: Disk) -> Decided:
        # Where an answer is recalled, neither of the two is imported.
        from .decision import decide
        from .host import load_host

        return decide(
            load_host(host) if isinstance(host, str) else host,
            cwd=cwd,
            home=home,
            skill_dirs=named,
            env=env,
            moved=moved,
            role=role,
            disk=disk,
        )

    def at_hand() -> Disk:
        return disk() if callable(disk) else disk or new_disk()

    code = code_state()
    if folder is None or not code:
        return _catalog(live(env, at_hand()), cwd, home)
    kept = Cache(folder)
    question = [code, asker(), str(host), cwd, home, str(moved), role or "", os.path.expanduser("~")]
    question += [text for path in named for text in (path, os.path.expanduser(path))]
    answer = kept.recall(question, env)
    recalled = None
    if answer is not None:
        recalled = _recalled(answer, str(host), lambda: live(env, new_disk()), cwd, home)
    return recalled or _catalog(_decided(kept, question, env, at_hand(), live), cwd, home)


def _recalled(answer: Answer, host: str, live: Callable[[], Decided], cwd: str, home: str) -> Catalog | None:
    """Return the catalog that an answer tells of; None where it is not what was written: none of it is believed."""
    try:
        recalled = Recalled(answer, host, live)
        skills = recalled.skills()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Catalog.later(recalled, None, cwd=cwd, home=home, skills=skills, findings=recalled.findings, readers={})


def _decided(
    cache: Cache,
    question: list[str],
    env: Mapping[str, str],
    disk: Disk,
    live: Callable[[Mapping[str, str], Disk], Decided],
) -> Decided:
    """Look at the disk, and keep what was seen."""
    watched = Watched(env)
    looks = disk.watch()
    try:
        decided = live(watched, disk)
        if looks.complete:
            columns, more = columns_of(decided, [path for path, mark in looks.files.items() if mark])
            cache.keep(question, looks, watched.asked, disk.since, columns, more)
    finally:
        disk.looks = None
    return decided


def _joined(catalog: Catalog, providers: Iterable[SkillProvider]) -> Catalog:
    """Add the skills of providers: a name that is taken keeps its skill."""
    skills = list(catalog.skills)
    readers: dict[str, SkillProvider] = {}
    there = {entry.real for entry in skills}
    taken = {same_name(entry.name): entry for entry in reversed(skills) if entry.state in _REACHABLE}
    for provider in providers:
        for entry in provider.list(catalog.cwd):
            if entry.real in there:
                continue
            there.add(entry.real)
            readers[entry.path] = provider
            winner = taken.setdefault(same_name(entry.name), entry) if entry.state in _REACHABLE else entry
            if winner is not entry:
                reason = f"{neutral(winner.path)} wins: it comes first"
                state = State.SHADOWED
                entry = entry.but(state=state, reason=reason, rule="name-shadowed", shadowed_by=winner.path)
            skills.append(entry)
    return catalog.but(skills=tuple(skills), readers=readers)


def new_disk() -> Disk:
    """Return a view of the disk that has seen nothing yet."""
    from .disk import Disk

    return Disk()


def _catalog(decided: Decided, cwd: str, home: str) -> Catalog:
    return Catalog(
        host=decided.host,
        cwd=cwd,
        home=home,
        skills=decided.skills,
        findings=decided.findings,
        places=decided.places,
        settings=decided.settings,
    )


class FilesystemSkillProvider:
    """The skills a host finds on this machine, listed once for each directory until `refresh`.

    Args:
        host: its name.
        home: the user's home instead of `~`.
        skill_dirs: further directories, highest precedence first.
        env: the environment; the process's by default.
    """

    def __init__(
        self,
        host: str = "prowess",
        *,
        home: str | os.PathLike[str] | None = None,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.host = host
        self._home, self._skill_dirs, self._env = home, tuple(skill_dirs), env
        self._catalogs: dict[str, Catalog] = {}

    def catalog(self, cwd: str | os.PathLike[str]) -> Catalog:
        """Return all of what the host sees from a directory, findings and all.

        Raises:
            HostNotFoundError: there is no such host.
        """
        key = os.path.realpath(cwd)
        if key not in self._catalogs:
            self._catalogs[key] = discover(
                key, host=self.host, home=self._home, skill_dirs=self._skill_dirs, env=self._env
            )
        return self._catalogs[key]

    def list(self, cwd: str) -> Sequence[Entry]:
        """Return the skills that are seen from a directory."""
        return self.catalog(cwd).skills

    def read(self, skill: Entry) -> Skill:
        """Read a skill's file now."""
        from .skill import load

        return load(skill.path, real=skill.real)

    def refresh(self, cwd: str) -> None:
        """Look again at the next `list`."""
        self._catalogs.pop(os.path.realpath(cwd), None)
