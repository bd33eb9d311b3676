"""Find the skills that a host sees from a directory: from the cache if nothing has changed, else from the disk."""

from __future__ import annotations

import gc
import os

from prowess._internal.files import real_path
from prowess._internal.user_dirs import cache_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prowess.hosts import Host

    from ._cache import Cache, CachedResult
    from ._catalog import Catalog
    from ._filesystem import Filesystem
    from ._fingerprints import Fingerprints
    from ._providers import SkillProvider
    from ._resolve import ResolvedSkills

__all__ = ["Discovery", "PausedCollector", "catalog_output", "discover", "new_filesystem"]


class PausedCollector:
    """Pauses the garbage collector: discovery makes thousands of values and no garbage, so a run finds nothing."""

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            gc.enable()


def discover(
    cwd: str | os.PathLike[str],
    host: str | Host = "prowess",
    home: str | os.PathLike[str] | None = None,
    skill_dirs: Iterable[str | os.PathLike[str]] = (),
    *,
    env: Mapping[str, str] | None = None,
    role: str | os.PathLike[str] | None = None,
    client_args: Iterable[str] = (),
    filesystem: Filesystem | Callable[[], Filesystem] | None = None,
    cache: bool = True,
    providers: Iterable[SkillProvider] = (),
) -> Catalog:
    """Find the skills that one host sees from a directory, and decide which win.

    Args:
        cwd: the directory the client is started in.
        host: the host or its name.
        home: the user's home instead of `~`. Variables that move a client's folders, such as `CODEX_HOME`, count only
            without it, since they belong to the real home.
        skill_dirs: further directories to scan, highest precedence first.
        env: the environment; the process's by default.
        role: an InitRunner role file: its folder is then the working directory, and its `auto_skills` count.
        client_args: the arguments that the client is started with, as far as they change its skills: `--add-dir DIR`.
        filesystem: the file system as other hosts have read it, or a function that returns it when it is needed.
        cache: whether to use the cached result if nothing has changed since. `PROWESS_NO_CACHE=1` switches the cache
            off too, and `PROWESS_CACHE_DIR` sets its folder.
        providers: sources of further skills, highest precedence first; all come after the host's own skills.

    Raises:
        HostNotFoundError: the host is unknown.
    """
    with PausedCollector():
        discovery = Discovery(cwd, host, home, skill_dirs, env, role, client_args)
        folder = cache_folder(discovery.env) if cache and isinstance(host, str) else None
        catalog = discovery.resolve(filesystem) if folder is None else discovery.recall(folder, filesystem)
    if providers:
        from ._provided_skills import add_providers

        return add_providers(catalog, providers)
    return catalog


def catalog_output(
    cwd: str | os.PathLike[str],
    host: str = "prowess",
    home: str | os.PathLike[str] | None = None,
    skill_dirs: Iterable[str | os.PathLike[str]] = (),
    *,
    purpose: str,
    make: Callable[[Catalog], tuple[bytes, str]],
    role: str | os.PathLike[str] | None = None,
    client_args: Iterable[str] = (),
    cache: bool = True,
) -> tuple[bytes, str]:
    """Return an output about a catalog, and a note, from the cache if nothing has changed since they were made.

    Args:
        cwd: as for `discover`.
        host: the host's name.
        home: as for `discover`.
        skill_dirs: as for `discover`.
        purpose: what the output is, with every value that it depends on besides the catalog.
        make: makes both. They may depend on nothing but what discovery has found out, and on `purpose`.
        role: as for `discover`.
        client_args: as for `discover`.
        cache: as for `discover`.

    Raises:
        HostNotFoundError: the host is unknown.
    """
    with PausedCollector():
        discovery = Discovery(cwd, host, home, skill_dirs, None, role, client_args)
        folder = cache_folder(discovery.env) if cache else None
        if folder is None:
            return make(discovery.resolve(None))
        return discovery.recall_output(folder, purpose, make)


def new_filesystem() -> Filesystem:
    """Return a file system of which nothing was read yet."""
    from ._filesystem import Filesystem

    return Filesystem()


class Discovery:
    """One question to `discover`, with absolute paths."""

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        host: str | Host,
        home: str | os.PathLike[str] | None,
        skill_dirs: Iterable[str | os.PathLike[str]],
        env: Mapping[str, str] | None,
        role: str | os.PathLike[str] | None,
        client_args: Iterable[str],
    ) -> None:
        self.host = host
        self.env = os.environ if env is None else env
        self.cwd = real_path(os.path.dirname(os.fspath(role)) or "." if role is not None else cwd)
        self.use_home_variables = home is None
        self.home = os.path.abspath(os.path.expanduser("~") if home is None else home)
        self.skill_dirs = [os.fspath(path) for path in skill_dirs]
        self.client_args = list(client_args)
        self.role = None if role is None else os.path.abspath(role)
        self._place: list[str] | None = None

    def resolve(
        self, filesystem: Filesystem | Callable[[], Filesystem] | None, env: Mapping[str, str] | None = None
    ) -> Catalog:
        """Read the disk; `env` is the environment that records what is read of it."""
        return self._catalog(self._resolve_skills(self.env if env is None else env, _open_filesystem(filesystem)))

    def recall(self, folder: str, filesystem: Filesystem | Callable[[], Filesystem] | None) -> Catalog:
        """Return the cached catalog if it is up to date, else read the disk and cache the result."""
        if not self.place():
            return self.resolve(filesystem)
        from ._cache import Cache

        return self._recall(Cache(folder), filesystem)[0]

    def _recall(
        self, cache: Cache, filesystem: Filesystem | Callable[[], Filesystem] | None
    ) -> tuple[Catalog, CachedResult | None]:
        """Return the catalog as `recall` does, and the cached result if that was valid as it is."""
        query = self.query()
        cached = cache.load(query, self.env, outdated=True)
        if cached is not None and not cached.changed and (catalog := self._cached_catalog(cached)) is not None:
            return catalog, cached
        is_shared = filesystem is not None
        filesystem = _open_filesystem(filesystem)
        if filesystem.kept_rows is None:
            from ._kept_rows import KeptRows

            filesystem.kept_rows = KeptRows(cache.folder, self.place())
        updated = None if cached is None else self._bring_up_to_date(cache, query, cached, filesystem)
        catalog = updated or self._catalog(self._resolve_and_store(cache, query, filesystem))
        if not is_shared:
            filesystem.kept_rows = None  # the catalog holds the file system, but needs no rows
        return catalog, None

    def _bring_up_to_date(
        self, cache: Cache, query: list[str], cached: CachedResult, filesystem: Filesystem
    ) -> Catalog | None:
        """Return the catalog of a cached result after a few files have changed; `None` if that takes a new walk."""
        from ._refresh import refresh

        fingerprints = filesystem.record_fingerprints()
        try:
            catalog = self._cached_catalog(cached) if refresh(cached, str(self.host), filesystem) else None
            if catalog is not None and cache.update(query, cached, fingerprints, filesystem.started_ns):
                _keep_rows(cache, filesystem)
        finally:
            filesystem.fingerprints = None
        return catalog

    def recall_output(
        self, folder: str, purpose: str, make: Callable[[Catalog], tuple[bytes, str]]
    ) -> tuple[bytes, str]:
        """Return the cached output if it is up to date; else make it, and cache it if the catalog was in the cache."""
        if not self.place():
            return make(self.resolve(None))
        from ._cache import Cache

        cache = Cache(folder)
        output_query = [purpose, *self.query()]
        if (known := cache.load_output(output_query, self.env)) is not None:
            return known
        catalog, cached = self._recall(cache, None)
        output, note = make(catalog)
        if cached is not None:
            cache.store_derived(output_query, cached, [[note]], output)
        return output, note

    def recall_recorded(self) -> tuple[Catalog, Fingerprints, Mapping[str, str | None]] | None:
        """Return the catalog from the cache, which is filled before if necessary, and all that it depends on.

        `None` without a cache, or if something changed a moment ago.
        """
        folder = cache_folder(self.env) if isinstance(self.host, str) else None
        if folder is None or not self.place():
            return None
        from ._cache import Cache

        cache = Cache(folder)
        if (cached := cache.load(self.query(), self.env)) is None:
            self.recall(folder, None)
            cached = cache.load(self.query(), self.env)
        try:
            catalog = None if cached is None else self._cached_catalog(cached)
            return None if cached is None or catalog is None else (catalog, *cached.recorded())
        except ValueError:
            return None

    def place(self) -> list[str]:
        """Return all that a result is for but the host and its arguments; empty if nothing can be cached."""
        if self._place is None:
            self._place = self._find_place()
        return self._place

    def _find_place(self) -> list[str]:
        # Only a process that uses the cache imports these: on import, the state of the source code is read.
        from ._cache_sections import user_identity
        from ._code_fingerprint import code_fingerprint

        code = code_fingerprint()
        place = [code, user_identity(), self.cwd, self.home, self.role or "", os.path.expanduser("~")]
        place += [text for path in self.skill_dirs for text in (path, os.path.expanduser(path))]
        return place if code else []

    def query(self) -> list[str]:
        """Return all that a result is for."""
        place = self.place()
        return [str(self.host), str(self.use_home_variables), str(len(place)), *place, *self.client_args]

    def _cached_catalog(self, cached: CachedResult) -> Catalog | None:
        """Return the catalog that a cached result holds, or `None` if the result is invalid."""
        from ._cached_catalog import CachedCatalog
        from ._catalog import Catalog

        def resolve_now() -> ResolvedSkills:
            return self._resolve_skills(self.env, new_filesystem())

        try:
            loader = CachedCatalog(cached, str(self.host), resolve_now)
            skills = loader.skills()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return Catalog.from_loader(
            loader, None, cwd=self.cwd, home=self.home, skills=skills, findings=loader.findings, readers={}
        )

    def _resolve_and_store(self, cache: Cache, query: list[str], filesystem: Filesystem) -> ResolvedSkills:
        """Read the disk, and cache the result with the fingerprints of all that was read."""
        from ._catalog_columns import encode_columns
        from ._fingerprints import RecordingEnvironment

        env = RecordingEnvironment(self.env)
        fingerprints = filesystem.record_fingerprints()
        try:
            resolved = self._resolve_skills(env, filesystem)
            if cache.is_settled(fingerprints, filesystem.started_ns):
                files = [path for path, fingerprint in fingerprints.files.items() if fingerprint]
                columns, extra = encode_columns(resolved, files, filesystem.read_closely)
                cache.store(query, fingerprints, env.variables_read, filesystem.started_ns, columns, extra)
            _keep_rows(cache, filesystem)
        finally:
            filesystem.fingerprints = None
        return resolved

    def _resolve_skills(self, env: Mapping[str, str], filesystem: Filesystem) -> ResolvedSkills:
        # A cached result needs neither of the two modules.
        from prowess.hosts import load_host

        from ._resolve import resolve_skills

        return resolve_skills(
            load_host(self.host) if isinstance(self.host, str) else self.host,
            cwd=self.cwd,
            home=self.home,
            skill_dirs=self.skill_dirs,
            env=env,
            use_home_variables=self.use_home_variables,
            role=self.role,
            client_args=self.client_args,
            filesystem=filesystem,
        )

    def _catalog(self, resolved: ResolvedSkills) -> Catalog:
        from ._catalog import Catalog

        return Catalog(
            host=resolved.host,
            cwd=self.cwd,
            home=self.home,
            skills=resolved.skills,
            findings=resolved.findings,
            scan_roots=resolved.scan_roots,
            settings=resolved.settings,
        )


def _keep_rows(cache: Cache, filesystem: Filesystem) -> None:
    """Keep what was read, for the next time and for other hosts."""
    if filesystem.kept_rows is not None:
        filesystem.kept_rows.update(filesystem.rows(), filesystem.started_ns - cache.settle_ns)


def _open_filesystem(filesystem: Filesystem | Callable[[], Filesystem] | None) -> Filesystem:
    return filesystem() if callable(filesystem) else filesystem or new_filesystem()
