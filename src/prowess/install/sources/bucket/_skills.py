"""Fetch skills from a bucket, and publish a skill there as `NAME.tar.gz`.

    PREFIX/NAME.tar.gz             a skill that was published; its files are in the archive, or in a folder in it
    PREFIX/ANY/FOLDERS/SKILL.md    a skill of single objects: everything below the folder with the SKILL.md

The list of the objects is the only index. So a skill is published by one write, and any number of processes can publish
at the same time. A bucket knows no file modes: only the files of archives can be executable.

Publish a skill into a bucket, as the archive `NAME.tar.gz`.

A skill is replaced only if it is still the one that was compared: stores that know conditional writes
refuse anything else. Different skills are different objects, so that their publishers never get in each other's way.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from contextlib import closing
from io import BytesIO

from prowess._internal.files import MAX_DIGEST_BYTES, SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, open_fd, write_all
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.findings import Severity
from prowess.install.archive import unpack
from prowess.install.sources._fetched import (
    Fetched,
    FetchedSkill,
    check_wanted,
    digest_of,
    digest_of_lines,
    resolve_names,
    write_errors,
)
from prowess.lock import check_paths
from prowess.skill import MAX_DEPTH, is_portable_name, load

from ._buckets import open_bucket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.findings import Finding
    from prowess.install._publish import Publication, Published
    from prowess.install.sources._fetched import Wanted

    from ._buckets import CloudBucket, FolderBucket, StoredObject

    Bucket = CloudBucket | FolderBucket

_ARCHIVE = ".tar.gz"
_MAX_BYTES = 1 << 30
"""Of everything that is fetched at once."""


class _Found(Frozen):
    """A skill in a bucket, before it is fetched."""

    path: str
    """Its folder, or the key of its archive."""
    objects: tuple[StoredObject, ...]
    is_archive: bool

    @property
    def name(self) -> str:
        """What it should be called."""
        return self.path.rpartition("/")[2].removesuffix(_ARCHIVE)


def fetch(wanted: Wanted) -> Fetched:
    """Fetch the skills of a bucket.

    Raises:
        ConfigError: `obstore` is not installed, or a variable of the cloud is missing or invalid.
        InstallError: the bucket cannot be read, or a skill in it breaks a rule.
        SkillNotFoundError: a wanted skill is missing.
    """
    names = wanted.names
    with closing(open_bucket(wanted.source.url)) as bucket:
        wanted.tell(f"listing {bucket.url}")
        found = _find_skills(bucket.objects())
        named = [item for item in found if item.name in names]
        # The name in a SKILL.md counts, and the one of its folder may differ.
        chosen = named if {item.name for item in named} >= set(names) and names else found
        fetched = _download(bucket, chosen, wanted)
        if chosen is named and not {_name_in(folder) for _, folder in fetched}.issuperset(names):
            chosen = found  # another one may have the name
            fetched = _download(bucket, chosen, wanted)
    skills, findings = _read_skills(bucket.url, fetched, names)
    if not skills:
        hint = f"a skill is a folder with a {SKILL_FILE}, or NAME{_ARCHIVE}"
        if bucket.url.startswith("file://"):
            hint += f"; if this is a git repository, write `git+{bucket.url}`"
        raise InstallError(f"no skills in {bucket.url}", hint=hint)
    return Fetched(skills=skills, revision=_revision(chosen), findings=findings)


def _find_skills(objects: Sequence[StoredObject]) -> list[_Found]:
    """Return the skills among objects that are sorted by key. A skill inside another one is a part of that."""
    keys = [item.key for item in objects]

    def below(folder: str) -> tuple[int, int]:
        return (bisect_left(keys, f"{folder}/"), bisect_left(keys, f"{folder}0")) if folder else (0, len(keys))

    def is_marker(item: StoredObject) -> bool:
        """Return whether this is the empty object that some programs write for a folder."""
        return not item.size and below(item.key)[0] != below(item.key)[1]

    tops = {key.rpartition("/")[0] for key in keys if key.rpartition("/")[2] == SKILL_FILE}
    found = []
    for item in objects:
        name = item.key.removesuffix(_ARCHIVE)
        if "" not in tops and name != item.key and is_portable_name(name):
            found.append(_Found(path=item.key, objects=(item,), is_archive=True))
    for top in sorted(tops):
        if top.count("/") <= MAX_DEPTH and not any(above in tops for above in _folders_above(top)):
            start, end = below(top)
            content = tuple(item for item in objects[start:end] if not is_marker(item))
            found.append(_Found(path=top, objects=content, is_archive=False))
    return found


def _folders_above(folder: str) -> Iterator[str]:
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def _name_in(folder: str) -> str | None:
    """Return the name in the SKILL.md of a folder."""
    return load(os.path.join(folder, SKILL_FILE)).name


def _download(bucket: Bucket, chosen: Sequence[_Found], wanted: Wanted) -> list[tuple[_Found, str]]:
    """Fetch the objects of skills, and return each skill with its folder.

    Raises:
        InstallError: a name or size is not allowed, or an object cannot be read.
    """
    wanted.tell(f"fetching {len(chosen):,} skill{'' if len(chosen) == 1 else 's'} from {bucket.url}")
    into = wanted.opened.new_folder()
    folders = [os.path.join(into, str(number)) for number in range(len(chosen))]
    targets: dict[str, str] = {}
    archives: dict[str, str] = {}
    left = _MAX_BYTES
    for item, folder in zip(chosen, folders, strict=True):
        size = sum(each.size for each in item.objects)
        left -= size
        if size > MAX_DIGEST_BYTES or left < 0:
            what = f"the skill {quoted(item.path, PATH_LIMIT)} has" if left >= 0 else "the skills have"
            raise InstallError(f"{what} more bytes than is allowed", hint="name skills that are smaller, or fewer")
        if item.is_archive:
            archives[item.path] = folder
            continue
        start = len(item.path) + 1 if item.path else 0
        check_paths(each.key[start:] for each in item.objects)
        targets |= {each.key: os.path.join(folder, each.key[start:]) for each in item.objects}

    def write(item: StoredObject, data: bytes) -> None:
        if item.key in archives:
            _unpack(item.key, data, archives[item.key])
            return
        path = targets[item.key]
        with write_errors():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open_fd(path, CREATE_FLAGS, 0o755 if item.executable else 0o644) as fd:
                write_all(fd, data)

    bucket.read([each for item in chosen for each in item.objects], write)
    return [(item, _skill_folder(folder)) for item, folder in zip(chosen, folders, strict=True)]


def _unpack(key: str, data: bytes, folder: str) -> None:
    with write_errors():
        os.mkdir(folder, 0o700)
    try:
        unpack(BytesIO(data), "tar.gz", folder)
    except InstallError as error:
        raise InstallError(f"{quoted(key, PATH_LIMIT)}: {error}", hint=error.hint) from None


def _skill_folder(folder: str) -> str:
    """Return the folder of a skill, which an archive may have in a folder of its own."""
    names = os.listdir(folder)
    inner = os.path.join(folder, names[0]) if len(names) == 1 else folder
    return inner if os.path.isdir(inner) else folder


def _read_skills(
    url: str, fetched: Iterable[tuple[_Found, str]], wanted: Sequence[str]
) -> tuple[tuple[FetchedSkill, ...], tuple[Finding, ...]]:
    """Return the wanted skills, and the errors of those that cannot be read.

    Raises:
        InstallError: two have the same name, or an archive has another name.
        SkillNotFoundError: a wanted one is missing.
    """
    skills: dict[str, FetchedSkill] = {}
    findings: list[Finding] = []
    loaded = [(item, folder, load(os.path.join(folder, SKILL_FILE))) for item, folder in fetched]
    wanted = resolve_names(wanted, ((skill.name, item.path) for item, _, skill in loaded if skill.name is not None))
    for item, folder, skill in loaded:
        if skill.name is None:
            path = "/".join(filter(None, (url, item.path, "" if item.is_archive else SKILL_FILE)))
            findings += [each.with_changes(path=path) for each in skill.findings if each.severity is Severity.ERROR]
        elif item.is_archive and skill.name != item.name:
            problem = f"{quoted(item.path, PATH_LIMIT)} in {url} contains the skill {quoted(skill.name)}"
            raise InstallError(problem, hint="publish it again with `prowess publish`")
        elif not wanted or skill.name in wanted:
            if skill.name in skills:
                first = skills[skill.name].path
                raise InstallError(
                    f"two skills in {url} have the name {quoted(skill.name)}: "
                    f"{quoted(first, PATH_LIMIT)} and {quoted(item.path, PATH_LIMIT)}",
                    hint="name the folder of one of them",
                )
            skills[skill.name] = FetchedSkill(name=skill.name, path=item.path, folder=folder)
    check_wanted(wanted, skills, url)
    return tuple(skills.values()), tuple(findings)


def _revision(chosen: Iterable[_Found]) -> str | None:
    """Return a digest of what a cloud says about the content; a folder says nothing."""
    objects = [each for item in chosen for each in item.objects]
    if not all(each.tag for each in objects):
        return None
    return digest_of_lines(f"{each.key}\0{each.size}\0{each.tag}\0" for each in objects)


def publish(publication: Publication) -> Published:
    """Publish a skill into a bucket, as `publish_skill` says.

    Raises:
        ConfigError: `obstore` is not installed, or a variable of the cloud is missing or invalid.
        InstallError: the bucket refuses it, or has another skill of that name that may not be replaced.
    """
    if publication.tags:
        raise InstallError("a bucket has no tags", hint="leave out `--tag`, or publish to another path")
    name = publication.packed.name
    state = "planned" if publication.dry_run else _put(publication)
    return publication.published(state, f"{publication.place.url}@{name}", digest_of(publication.packed.archive))


def _put(publication: Publication) -> str:
    """Write the archive unless it is there, and return the state."""
    packed = publication.packed
    key = f"{packed.name}.tar.gz"
    with closing(open_bucket(publication.place.url)) as bucket:
        publication.tell(f"comparing {key} in {bucket.url}")
        present, is_same = bucket.compare(key, packed.archive)
        state = "unchanged" if is_same else "new" if present is None else "moved"
        if state == "moved" and not publication.may_move(packed.name):
            problem = f"{bucket.url} has another {quoted(key)}"
            raise InstallError(problem, hint="replace it with `--force`, or publish to another path")
        if state != "unchanged":
            publication.tell(f"writing {key} to {bucket.url}")
            bucket.write(key, packed.archive, present)
    return state
