"""a directory + a host -> Catalog"""

from __future__ import annotations

import gc
import os
import re
from itertools import product

from prowess._internal.files import expand_home
from prowess._internal.frozen import EMPTY, LazyFrozen
from prowess._internal.text import nearest_names, neutral, normalize_name, quoted
from prowess._internal.user_dirs import cache_folder
from prowess.errors import AmbiguousSkillError, SkillNotFoundError

from ._cache import Cache, RecordingEnvironment, user_identity
from ._cached_catalog import CachedCatalog, code_fingerprint, encode_columns
from ._entry import Entry, State, with_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prowess.findings import Finding
    from prowess.hosts import Host
    from prowess.skill import Skill

    from ._cache import CachedResult
    from ._filesystem import Filesystem
    from ._precedence import ResolvedSkills
    from ._providers import SkillProvider
    from ._roots import ScanRoot
    from ._settings import Settings

__all__ = ["Catalog", "FilesystemSkillProvider", "discover", "new_filesystem"]

_REACHABLE = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
"""States of a skill that its name leads to."""


class Catalog(LazyFrozen, not_compared=("scan_roots", "settings")):
    """What one host sees from one directory: skills with states, highest precedence first, and findings."""

    host: Host
    cwd: str
    """The directory it is seen from, absolute and without links."""
    home: str
    """The user's home, absolute."""
    skills: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    """Those that belong to no single skill."""
    scan_roots: tuple[ScanRoot, ...]
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
            raise self.not_found_error(reference)
        order = {state: at for at, state in enumerate(_REACHABLE)}
        key = normalize_name(reference)
        found.sort(key=lambda entry: (order.get(entry.state, len(order)), normalize_name(entry.name) != key))
        filesystem = new_filesystem()
        return tuple(with_digest(entry, filesystem) for entry in found)

    def resolve(self, reference: str) -> Entry:
        """Return the one skill a reference means: `name`, `scope:name`, `package:name`, a path or a digest prefix.

        Of several skills with that name the one that is active is meant.

        Raises:
            SkillNotFoundError: there is none.
            AmbiguousSkillError: there are several, and no rule chooses.
        """
        found = self._candidates(reference)
        # A skill of that very name is meant rather than one whose folder, or whose name in its package, is so called.
        key = normalize_name(reference)
        named = [entry for entry in found if normalize_name(entry.name) == key]
        for state, those in product((State.ACTIVE, State.USER_ONLY, None), (named, found)):
            chosen = [entry for entry in those if state is None or entry.state is state]
            if len(chosen) == 1:
                return chosen[0]
            if chosen:
                raise _ambiguous_error(reference, chosen)
        raise self.not_found_error(reference)

    def _candidates(self, reference: str) -> list[Entry]:
        """Return all that a reference may mean: by name, by a name in a scope, by place or by digest."""
        key = normalize_name(reference)
        exact = [entry for entry in self.skills if key in _folded_names(entry)]
        if exact:
            return exact
        scope, colon, rest = reference.partition(":")
        if colon:
            if scope == "sha256" and rest:
                return self._entries_with_digest(rest.lower())
            inner = normalize_name(rest)
            return [entry for entry in self.skills if entry.scope == scope and inner in _folded_names(entry)]
        path = os.path.abspath(os.path.join(self.cwd, expand_home(reference, self.home)))
        by_path = [entry for entry in self.skills if path in (entry.path, os.path.dirname(entry.path))]
        if by_path:
            return by_path
        if re.fullmatch(r"[0-9a-f]{8,64}", reference):
            return self._entries_with_digest(reference)
        return []

    def _entries_with_digest(self, prefix: str) -> list[Entry]:
        """Return the skills whose digest begins so."""
        start, filesystem = f"sha256:{prefix}", new_filesystem()
        return [entry for entry in self.skills if (with_digest(entry, filesystem).digest or "").startswith(start)]

    def not_found_error(self, reference: str) -> SkillNotFoundError:
        """Return the error for a reference that means no skill; it names some that are called almost so."""
        names = list(dict.fromkeys(entry.name for entry in self.skills))
        near = nearest_names(reference, names)
        hint = (
            "did you mean " + " or ".join(quoted(name) for name in near) + "?"
            if near
            else "`prowess list` shows all skills"
        )
        return SkillNotFoundError(f"no skill is called {quoted(reference)} for host `{self.host.name}`", hint=hint)


def _ambiguous_error(reference: str, chosen: list[Entry]) -> AmbiguousSkillError:
    """Return the error for a reference that means several skills."""
    shown = "".join(f"\n  {neutral(entry.scope)}:{neutral(entry.name)}  {neutral(entry.path)}" for entry in chosen)
    return AmbiguousSkillError(
        f"{quoted(reference)} means {len(chosen)} skills:{shown}",
        candidates=[entry.path for entry in chosen],
        hint="name one by its path",
    )


def _folded_names(entry: Entry) -> set[str]:
    """Return every name, compared form, under which a user may look for a skill."""
    names = (entry.name, entry.alias, entry.frontmatter_name, entry.folder)
    return {normalize_name(name) for name in names if name}


def discover(
    cwd: str | os.PathLike[str],
    host: str | Host = "prowess",
    home: str | os.PathLike[str] | None = None,
    skill_dirs: Iterable[str | os.PathLike[str]] = (),
    *,
    env: Mapping[str, str] | None = None,
    role: str | os.PathLike[str] | None = None,
    filesystem: Filesystem | Callable[[], Filesystem] | None = None,
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
        filesystem: what was already read, to be shared between hosts, or what gives it when it is needed.
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
        catalog = _discover(cwd, host, home, skill_dirs, env=env, role=role, filesystem=filesystem, cache=cache)
    finally:
        if collecting:
            gc.enable()
    return _with_providers(catalog, providers) if providers else catalog


def _discover(
    cwd: str | os.PathLike[str],
    host: str | Host,
    home: str | os.PathLike[str] | None,
    skill_dirs: Iterable[str | os.PathLike[str]],
    *,
    env: Mapping[str, str] | None,
    role: str | os.PathLike[str] | None,
    filesystem: Filesystem | Callable[[], Filesystem] | None,
    cache: bool,
) -> Catalog:
    """Recall what `discover` asks for, or look at the disk."""
    env = os.environ if env is None else env
    cwd = os.path.realpath(os.path.dirname(os.fspath(role)) or "." if role is not None else cwd)
    use_home_variables = home is None
    home = os.path.abspath(os.path.expanduser("~") if home is None else home)
    named = [os.fspath(path) for path in skill_dirs]
    role = None if role is None else os.path.abspath(role)
    folder = cache_folder(env) if cache and isinstance(host, str) else None

    def resolve_now(env: Mapping[str, str], filesystem: Filesystem) -> ResolvedSkills:
        # Where an answer is recalled, neither of the two is imported.
        from prowess.hosts import load_host

        from ._precedence import resolve_skills

        return resolve_skills(
            load_host(host) if isinstance(host, str) else host,
            cwd=cwd,
            home=home,
            skill_dirs=named,
            env=env,
            use_home_variables=use_home_variables,
            role=role,
            filesystem=filesystem,
        )

    def at_hand() -> Filesystem:
        return filesystem() if callable(filesystem) else filesystem or new_filesystem()

    code = code_fingerprint()
    if folder is None or not code:
        return _build_catalog(resolve_now(env, at_hand()), cwd, home)
    kept = Cache(folder)
    query = [code, user_identity(), str(host), cwd, home, str(use_home_variables), role or "", os.path.expanduser("~")]
    query += [text for path in named for text in (path, os.path.expanduser(path))]
    cached = kept.load(query, env)
    recalled = None
    if cached is not None:
        recalled = _catalog_from_cache(cached, str(host), lambda: resolve_now(env, new_filesystem()), cwd, home)
    return recalled or _build_catalog(_evaluate_and_cache(kept, query, env, at_hand(), resolve_now), cwd, home)


def _catalog_from_cache(
    cached: CachedResult, host: str, resolve_now: Callable[[], ResolvedSkills], cwd: str, home: str
) -> Catalog | None:
    """Return the catalog that an answer tells of; None where it is not what was written: none of it is believed."""
    try:
        recalled = CachedCatalog(cached, host, resolve_now)
        skills = recalled.skills()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Catalog.from_loader(
        recalled, None, cwd=cwd, home=home, skills=skills, findings=recalled.findings, readers={}
    )


def _evaluate_and_cache(
    cache: Cache,
    query: list[str],
    env: Mapping[str, str],
    filesystem: Filesystem,
    resolve_now: Callable[[Mapping[str, str], Filesystem], ResolvedSkills],
) -> ResolvedSkills:
    """Look at the disk, and keep what was seen."""
    watched = RecordingEnvironment(env)
    fingerprints = filesystem.record_fingerprints()
    try:
        resolved = resolve_now(watched, filesystem)
        if fingerprints.complete:
            columns, extra = encode_columns(
                resolved, [path for path, fingerprint in fingerprints.files.items() if fingerprint]
            )
            cache.store(query, fingerprints, watched.variables_read, filesystem.started_ns, columns, extra)
    finally:
        filesystem.fingerprints = None
    return resolved


def _with_providers(catalog: Catalog, providers: Iterable[SkillProvider]) -> Catalog:
    """Add the skills of providers: a name that is taken keeps its skill."""
    skills = list(catalog.skills)
    readers: dict[str, SkillProvider] = {}
    there = {entry.real for entry in skills}
    taken = {normalize_name(entry.name): entry for entry in reversed(skills) if entry.state in _REACHABLE}
    for provider in providers:
        for entry in provider.list(catalog.cwd):
            if entry.real in there:
                continue
            there.add(entry.real)
            readers[entry.path] = provider
            winner = taken.setdefault(normalize_name(entry.name), entry) if entry.state in _REACHABLE else entry
            if winner is not entry:
                reason = f"{neutral(winner.path)} wins: it comes first"
                state = State.SHADOWED
                entry = entry.with_changes(state=state, reason=reason, rule="name-shadowed", shadowed_by=winner.path)
            skills.append(entry)
    return catalog.with_changes(skills=tuple(skills), readers=readers)


def new_filesystem() -> Filesystem:
    """Return a view of the disk that has seen nothing yet."""
    from ._filesystem import Filesystem

    return Filesystem()


def _build_catalog(resolved: ResolvedSkills, cwd: str, home: str) -> Catalog:
    return Catalog(
        host=resolved.host,
        cwd=cwd,
        home=home,
        skills=resolved.skills,
        findings=resolved.findings,
        scan_roots=resolved.scan_roots,
        settings=resolved.settings,
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
        from prowess.skill import load

        return load(skill.path, real=skill.real)

    def refresh(self, cwd: str) -> None:
        """Look again at the next `list`."""
        self._catalogs.pop(os.path.realpath(cwd), None)
