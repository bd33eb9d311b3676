"""Return an output about the catalogs of several hosts from the cache, if nothing that it was made of has changed."""

from __future__ import annotations

from prowess._internal.user_dirs import cache_folder

from ._discover import Discovery, PausedCollector, new_filesystem

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from ._catalog import Catalog
    from ._filesystem import Filesystem

    Make: TypeAlias = Callable[[Mapping[str, Catalog], Filesystem], tuple[bytes, str]]

__all__ = ["recorded_output"]


def recorded_output(
    cwd: str | os.PathLike[str],
    hosts: Sequence[str],
    home: str | os.PathLike[str] | None = None,
    skill_dirs: Iterable[str | os.PathLike[str]] = (),
    *,
    purpose: str,
    make: Make,
    role: str | os.PathLike[str] | None = None,
    client_args: Iterable[str] = (),
    cache: bool = True,
) -> tuple[bytes, str]:
    """Return an output about the catalogs of some hosts, and a note, from the cache if nothing has changed since.

    Args:
        cwd: as for `discover`.
        hosts: their names; at least one.
        home: as for `discover`.
        skill_dirs: as for `discover`.
        purpose: what the output is, with every value that it depends on besides the catalogs.
        make: makes both. It gets the catalogs by host, and the file system that it has to read with; where it reads
            something else, it calls `mark_incomplete`, and the output is not cached.
        role: as for `discover`.
        client_args: as for `discover`.
        cache: as for `discover`.

    Raises:
        HostNotFoundError: a host is unknown.
    """
    skill_dirs, client_args = [*skill_dirs], [*client_args]
    with PausedCollector():
        discoveries = {host: Discovery(cwd, host, home, skill_dirs, None, role, client_args) for host in hosts}
        first = discoveries[hosts[0]]
        folder = cache_folder(first.env) if cache else None
        if folder is None or not first.place():
            filesystem = new_filesystem()
            return make({host: discovery.resolve(filesystem) for host, discovery in discoveries.items()}, filesystem)
        return _recall(folder, purpose, discoveries, first, make)


def _recall(
    folder: str, purpose: str, discoveries: Mapping[str, Discovery], first: Discovery, make: Make
) -> tuple[bytes, str]:
    """Return the cached output if it is up to date; else make it, and cache it."""
    from ._cache import Cache
    from ._fingerprints import RecordingEnvironment
    from ._kept_rows import KeptRows

    cache = Cache(folder)
    query = [purpose, str(len(discoveries)), *discoveries, *first.query()]
    if (known := cache.load_output(query, first.env)) is not None:
        return known
    filesystem = new_filesystem()
    filesystem.kept_rows = KeptRows(folder, first.place())
    fingerprints = filesystem.record_fingerprints()
    env = RecordingEnvironment(first.env)
    catalogs = {host: discovery.resolve(filesystem, env) for host, discovery in discoveries.items()}
    output, note = make(catalogs, filesystem)
    cache.store(query, fingerprints, env.variables_read, filesystem.started_ns, [[note]], output)
    filesystem.kept_rows.update(filesystem.rows(), filesystem.started_ns - cache.settle_ns)
    return output, note
