"""Find the skills that a host sees from a directory: from the cache if nothing has changed, else from the disk."""

from __future__ import annotations

import gc
import os

from prowess._internal.user_dirs import cache_folder
from prowess.filesystem import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prowess.cache import Cache, Recorded
    from prowess.filesystem import Filesystem, Fingerprints
    from prowess.hosts import Host

    from ._catalog import Catalog
    from ._providers import SkillProvider
    from ._resolve import ResolvedSkills

    Output = tuple[bytes, str]


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
    question = Question.about(cwd, home, skill_dirs, env=env, role=role, client_args=client_args)
    catalog = catalog_for(question, host, filesystem=filesystem, cache=cache)
    if providers:
        from ._provided_skills import add_providers

        return add_providers(catalog, providers)
    return catalog


def catalog_for(
    question: Question,
    host: str | Host,
    *,
    filesystem: Filesystem | Callable[[], Filesystem] | None = None,
    cache: bool = True,
) -> Catalog:
    """Find the skills of one host as `discover` does.

    Raises:
        HostNotFoundError: the host is unknown.
    """
    with PausedCollector():
        return Discovery(question, host, use_cache=cache).catalog(filesystem)


def catalog_output(
    question: Question, host: str, *, purpose: str, make: Callable[[Catalog], Output], cache: bool = True
) -> Output:
    """Return an output about a catalog, and a note, from the cache if nothing has changed since they were made.

    Args:
        question: where the client is started.
        host: the host's name.
        purpose: what the output is, with every value that it depends on besides the catalog.
        make: makes both. They may depend on nothing but what discovery has found out, and on `purpose`. About a catalog
            without skills they may say anything, such as where others are: that is not cached.
        cache: as for `discover`.

    Raises:
        HostNotFoundError: the host is unknown.
    """

    def make_for_host(question: Question, filesystem: Filesystem) -> Output:
        catalog = catalog_for(question, host, filesystem=filesystem, cache=cache)
        if not catalog.skills:
            filesystem.mark_incomplete()
        return make(catalog)

    return question_output(question, purpose=f"{purpose} {host}", make=make_for_host, cache=cache)


def recorded_output(
    question: Question,
    hosts: Sequence[str],
    *,
    purpose: str,
    make: Callable[[Mapping[str, Catalog], Filesystem], Output],
    cache: bool = True,
) -> Output:
    """Return an output about the catalogs of some hosts, and a note, from the cache if nothing has changed since.

    Args:
        question: where the clients are started.
        hosts: their names; at least one.
        purpose: what the output is, with every value that it depends on besides the catalogs.
        make: makes both. It gets the catalogs by host, and the file system that it has to read with; where it reads
            something else, it calls `mark_incomplete`, and the output is not cached.
        cache: as for `discover`.

    Raises:
        HostNotFoundError: a host is unknown.
    """

    def make_for_all(question: Question, filesystem: Filesystem) -> Output:
        catalogs = {host: Discovery(question, host).resolve(filesystem) for host in hosts}
        return make(catalogs, filesystem)

    return question_output(
        question, purpose=f"{purpose} {len(hosts)} {' '.join(hosts)}", make=make_for_all, cache=cache
    )


def question_output(
    question: Question, *, purpose: str, make: Callable[[Question, Filesystem], Output], cache: bool = True
) -> Output:
    """Return an output about a question, and a note, from the cache if nothing has changed since they were made.

    Args:
        question: where clients are started.
        purpose: what the output is, with every value that it depends on besides the question and the disk.
        make: makes both. It gets the question, whose environment records what is read, and the file system that it has
            to read with; where it reads something else, it calls `mark_incomplete`, and the output is not cached.
        cache: as for `discover`.
    """
    with PausedCollector():
        asked = Discovery(question, "", use_cache=cache)
        cache_used, key = asked.cache(), (purpose, *asked.key())
        if cache_used is not None and (known := _load_output(cache_used, key, question.env)) is not None:
            return known
        filesystem, record = new_filesystem(), None
        if cache_used is not None:
            record = filesystem.record_fingerprints()
            question = _recording(question)
        output = make(question, filesystem)
        if cache_used is not None and record is not None:
            _store(cache_used, key, record, question, filesystem, _encode_output(output))
        return output


def new_filesystem() -> Filesystem:
    """Return a file system of which nothing was read yet."""
    from prowess.filesystem import Filesystem

    return Filesystem()


class Discovery:
    """One question to `discover` about one host."""

    def __init__(self, question: Question, host: str | Host, *, use_cache: bool = True) -> None:
        self.question, self.host = question, host
        self._folder = cache_folder(question.env) if use_cache and isinstance(host, str) else None

    def catalog(self, filesystem: Filesystem | Callable[[], Filesystem] | None) -> Catalog:
        """Return the cached catalog if it is up to date, else read the disk and cache the result."""
        cache = self.cache()
        return self.resolve(filesystem) if cache is None else self.recall(cache, filesystem)

    def resolve(
        self,
        filesystem: Filesystem | Callable[[], Filesystem] | None = None,
        question: Question | None = None,
    ) -> Catalog:
        """Read the disk; `question` may record what is read of the environment."""
        return self._catalog(self._resolve_skills(question or self.question, _open_filesystem(filesystem)))

    def recall(self, cache: Cache, filesystem: Filesystem | Callable[[], Filesystem] | None) -> Catalog:
        """Return the catalog as `catalog` does; if the file system has a record, what it depends on is added to it."""
        key = self.key()
        recorded = cache.load(key, self.question.env, outdated=True)
        if recorded is not None and not recorded.changed:
            return self._recorded_catalog(recorded, filesystem)
        filesystem = _open_filesystem(filesystem)
        outer = filesystem.fingerprints
        record = filesystem.record_fingerprints()
        try:
            if recorded is not None:
                from ._recorded_catalog import refresh

                if (data := refresh(recorded, str(self.host), filesystem)) is not None:
                    recorded.data = data
                    cache.update(key, recorded, record, filesystem.started_ns)
                    filesystem.fingerprints = outer
                    return self._recorded_catalog(recorded, filesystem)
            question = _recording(self.question)
            resolved = self._resolve_skills(question, filesystem)
            if cache.is_settled(record, filesystem.started_ns):
                from ._catalog import host_rules
                from ._recorded_catalog import encode_catalog

                data = encode_catalog(resolved, host_rules(resolved.host), filesystem.read_closely)
                _store(cache, key, record, question, filesystem, data)
            return self._catalog(resolved)
        finally:
            filesystem.fingerprints = outer
            if outer is not None:
                outer.add(record)

    def recall_recorded(self) -> tuple[Catalog, Fingerprints, Mapping[str, str | None]] | None:
        """Return the catalog from the cache, which is filled before if necessary, and all that it depends on.

        `None` without a cache, or if something changed a moment ago.
        """
        if (cache := self.cache()) is None:
            return None
        if (recorded := cache.load(self.key(), self.question.env)) is None:
            self.recall(cache, None)
            recorded = cache.load(self.key(), self.question.env)
        return None if recorded is None else (self._recorded_catalog(recorded), *recorded.record())

    def cache(self) -> Cache | None:
        """Return the cache; `None` if nothing can be cached."""
        if self._folder is None or not self.key():
            return None
        from prowess.cache import Cache

        return Cache(self._folder)

    def key(self) -> tuple[str, ...]:
        """Return all that a result is for; nothing if it cannot be known."""
        # Only a process that uses the cache imports these: on import, the state of the source code is read.
        from prowess.cache import code_fingerprint, user_identity

        question, code = self.question, code_fingerprint()
        if not code:
            return ()
        folders = [text for path in question.skill_dirs for text in (path, os.path.expanduser(path))]
        return (
            *(str(self.host), str(question.is_own_home), str(len(folders)), *folders, code, user_identity()),
            *(question.cwd, question.home, question.role or "", os.path.expanduser("~"), *question.client_args),
        )

    def _recorded_catalog(
        self, recorded: Recorded, filesystem: Filesystem | Callable[[], Filesystem] | None = None
    ) -> Catalog:
        """Return the catalog that a cached result holds; what it depends on is added to the record of `filesystem`."""
        from ._catalog import Catalog
        from ._recorded_catalog import RecordedCatalog

        record = getattr(filesystem, "fingerprints", None)
        if record is not None:
            record.add(recorded.record()[0])

        def resolve_now() -> ResolvedSkills:
            return self._resolve_skills(self.question, _open_filesystem(None if record is None else filesystem))

        loader = RecordedCatalog(recorded, str(self.host), resolve_now)
        return Catalog.from_loader(
            loader,
            None,
            cwd=self.question.cwd,
            home=self.question.home,
            skills=loader.skills,
            findings=loader.findings,
            readers={},
        )

    def _resolve_skills(self, question: Question, filesystem: Filesystem) -> ResolvedSkills:
        # A cached result needs neither of the two modules.
        from prowess.hosts import load_host

        from ._resolve import resolve_skills

        host = load_host(self.host) if isinstance(self.host, str) else self.host
        return resolve_skills(host, question, filesystem)

    def _catalog(self, resolved: ResolvedSkills) -> Catalog:
        from ._catalog import Catalog

        return Catalog(
            host=resolved.host,
            cwd=self.question.cwd,
            home=self.question.home,
            skills=resolved.skills,
            findings=resolved.findings,
            scan_roots=resolved.scan_roots,
            settings=resolved.settings,
        )


def _recording(question: Question) -> Question:
    """Return a question that records which variables of the environment are read."""
    from prowess.filesystem import RecordingEnvironment

    return question.with_changes(env=RecordingEnvironment(question.env))


def _store(
    cache: Cache, key: Sequence[str], record: Fingerprints, question: Question, filesystem: Filesystem, data: bytes
) -> None:
    variables = getattr(question.env, "variables_read", {})
    cache.store(key, record, variables, filesystem.started_ns, data)


def _load_output(cache: Cache, key: Sequence[str], env: Mapping[str, str]) -> Output | None:
    recorded = cache.load(key, env)
    if recorded is None:
        return None
    note, _, output = recorded.data.partition(b"\0")
    return output, note.decode()


def _encode_output(output: Output) -> bytes:
    return output[1].encode() + b"\0" + output[0]


def _open_filesystem(filesystem: Filesystem | Callable[[], Filesystem] | None) -> Filesystem:
    return filesystem() if callable(filesystem) else filesystem or new_filesystem()
