"""Find the skills in a commit, choose those wanted, and write their files exactly as committed.

Fetch skills from a repository of git.

Read commits, folders and files from a repository, as they were committed.

One process of `git cat-file --batch` answers, and nothing is checked out. A tree of git may contain any name, and a
few of them may name billions of files, so names are checked and entries counted.

Decide which folders of a repository are skills, and which of them are wanted.

Every folder with a `SKILL.md` is one, wherever it is, but in `.git` and `node_modules`. A skill inside the folder of
another one is a part of that, so a repository with a `SKILL.md` at its top is one skill; it can be named to be
installed alone.

Write the files of skills as they were committed, and fetch those first that are still missing.

One commit is fetched, without its history. If only some skills are wanted, or only one folder, the lists of files come
first, and then only the files that are needed, where the server can do that. Files are written exactly as they were
committed.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import MAX_SKILL_FILE_BYTES, SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, SUPPORTS_DIR_FD, open_fd, write_all
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError, SkillError
from prowess.findings import finding
from prowess.install.sources._fetched import MAX_SKILLS, Fetched, FetchedSkill, check_wanted, resolve_names
from prowess.lock import EXECUTABLE, FILE, LINK, WrittenFiles, check_paths, os_errors
from prowess.skill import check_link, from_document, is_portable_name, parse_frontmatter

from ._plugins import may_be_manifest, plugins_of
from ._repository import REMOTE, GitError, GitLimits, GitRepository, fetch_object, is_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import IO

    from prowess.findings import Finding
    from prowess.install.sources._fetched import Wanted
    from prowess.install.sources._source import Source
    from prowess.lock import Tree

    from ._repository import GitProcess

    Object = tuple[str, str, bytes]
    """The name of an object, its kind, and its content."""

SUBMODULE = "160000"
_FOLDER = "40000"
_MAX_ENTRIES = 500_000
"""Files and folders of a source that are listed."""
_MAX_DEPTH = 100
_MAX_TREE = 1 << 26
"""Bytes of the list of one folder."""
_MAX_COMMIT = 1 << 20
_ASKED_AT_ONCE = 500
"""Objects: their names fit into a pipe, so that git and this process never wait for each other."""
_MAX_LINE = 1 << 16
_HEADER = re.compile(rb"([0-9a-f]{40,64}) (blob|tree|commit|tag) ([0-9]+)\n").fullmatch


class GitFiles(Frozen):
    """All files below a folder of a commit."""

    files: Mapping[str, tuple[str, str]]
    """By path relative to the folder: the mode in octal digits, and the name of the object. Links and submodules are
    files too."""
    folders: Mapping[str, str]
    """The object of each folder by its path; the path of the folder itself is empty."""
    unread: tuple[str, ...] = ()
    """Folders that are too deep."""


class ObjectReader:
    """Reads objects of a repository.

    Args:
        process: `git cat-file --batch`.
    """

    def __init__(self, process: GitProcess) -> None:
        self._input: IO[bytes] = process.process.stdin  # type: ignore[assignment]  # both are pipes
        self._output: IO[bytes] = process.process.stdout  # type: ignore[assignment]

    def commit(self, name: str) -> str:
        """Return the commit that an object is, or that a tag points to.

        Raises:
            InstallError: it is missing, or something else.
        """
        found = self._ask([f"{name}^{{commit}}"], _MAX_COMMIT)[0]
        if found is None or found[1] != "commit":
            hint = "check it; if its author replaced the history, `prowess update` installs what is there now"
            raise InstallError(f"the source has no commit {quoted(name)}", hint=hint)
        return found[0]

    def list_files(self, commit: str, folder: str) -> GitFiles | None:
        """List all files of a commit below a folder; return `None` if it has no such folder.

        Raises:
            InstallError: there are too many, or a name is invalid.
        """
        top = self._ask([f"{commit}:{folder}"], _MAX_TREE)[0]
        if top is None or top[1] != "tree":
            return None
        files: dict[str, tuple[str, str]] = {}
        folders = {"": top[0]}
        below = {"": top[0]}
        unread: list[str] = []
        while below:
            paths, below = below, {}
            for path, (_, _, data) in zip(paths, self.read(list(paths.values()), "tree", _MAX_TREE), strict=True):
                for mode, name, oid in _entries(data, len(commit) // 2):
                    inner = f"{path}/{name}" if path else name
                    if mode != _FOLDER:
                        files[inner] = mode, oid
                    elif inner.count("/") >= _MAX_DEPTH:
                        unread.append(inner)
                    else:
                        below[inner] = oid
                if len(files) + len(folders) + len(below) > _MAX_ENTRIES:
                    message = f"the source has more than {_MAX_ENTRIES:,} files"
                    raise InstallError(message, hint="name the folder of the skills: `SOURCE:FOLDER`")
            folders |= below
        return GitFiles(files=files, folders=folders, unread=tuple(unread))

    def read(self, names: Sequence[str], kind: str, limit: int) -> Iterator[Object]:
        """Yield the objects with these names.

        Args:
            names: of the objects, each in hexadecimal.
            kind: `tree` or `blob`.
            limit: the most bytes of one.

        Raises:
            InstallError: one is missing, too large, or of another kind.
        """
        for start in range(0, len(names), _ASKED_AT_ONCE):
            part = names[start : start + _ASKED_AT_ONCE]
            self._send(part)
            for name in part:
                found = self._answer(limit)
                if found is None or found[0] != name or found[1] != kind:
                    raise InstallError(
                        f"the repository has no {kind} {quoted(name)}", hint="ask its author to check it"
                    )
                yield found

    def find_missing(self, names: Sequence[str]) -> list[str]:
        """Return those of some objects that the repository lacks; the process is `git cat-file --batch-check`.

        Raises:
            InstallError: git ended.
        """
        missing = []
        for start in range(0, len(names), _ASKED_AT_ONCE):
            part = names[start : start + _ASKED_AT_ONCE]
            self._send(part)
            for name in part:
                line = self._output.readline(_MAX_LINE)
                if line.endswith(b" missing\n"):
                    missing.append(name)
                elif _HEADER(line) is None:
                    raise _ended()
        return missing

    def _ask(self, names: Sequence[str], limit: int) -> list[Object | None]:
        self._send(names)
        return [self._answer(limit) for _ in names]

    def _send(self, names: Sequence[str]) -> None:
        try:
            self._input.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            self._input.flush()
        except OSError:
            raise _ended() from None

    def _answer(self, limit: int) -> Object | None:
        """Return the next object, or `None` if it is missing.

        Raises:
            InstallError: it is too large, or git ended.
        """
        line = self._output.readline(_MAX_LINE)
        found = _HEADER(line)
        if found is None:
            if not line.endswith((b" missing\n", b" ambiguous\n")):
                raise _ended()
            return None
        name, kind, size = found[1].decode("ascii"), found[2].decode("ascii"), int(found[3])
        if size > limit:
            hint = "ask the author of the skill to make it smaller"
            raise InstallError(f"the {kind} {quoted(name)} has more than {limit >> 20:,} MiB", hint=hint)
        data = self._output.read(size + 1)
        if len(data) != size + 1:
            raise _ended()
        return name, kind, data[:-1]


def _ended() -> InstallError:
    return InstallError("git ended while it read the repository", hint="try again; ask its author to check it")


def _entries(data: bytes, hash_bytes: int) -> Iterator[tuple[str, str, str]]:
    """Yield the mode, name and object of each entry of a tree.

    Raises:
        InstallError: it is invalid.
    """
    position, end = 0, len(data)
    while position < end:
        blank = data.find(b" ", position)
        stop = data.find(b"\0", blank)
        name, after = data[blank + 1 : stop], stop + 1 + hash_bytes
        if blank < 0 or stop < 0 or after > end:
            raise InstallError("a folder of the repository is damaged", hint="ask its author to run `git fsck`")
        if b"/" in name or name in (b"", b".", b".."):
            shown = quoted(os.fsdecode(name), PATH_LIMIT)
            raise InstallError(f"the repository has a file with the name {shown}", hint="do not install from it")
        mode = data[position:blank].decode("ascii", "replace").lstrip("0")
        yield mode, os.fsdecode(name), data[stop + 1 : after].hex()
        position = after


_NOT_SEARCHED = frozenset((".git", "node_modules"))


class FoundSkill(Frozen):
    """A folder with a SKILL.md."""

    name: str
    folder: str
    """Its path; empty for the folder that was searched."""
    inside: str | None
    """The folder of the skill that it is a part of."""


def find_skill_folders(found: GitFiles) -> dict[str, str]:
    """Return each folder with a SKILL.md, and the object of that file.

    Raises:
        InstallError: there are too many.
    """
    folders = {}
    for path, (mode, oid) in found.files.items():
        folder, slash, name = path.rpartition("/")
        is_file = name == SKILL_FILE and mode not in (LINK, SUBMODULE)
        if is_file and (not slash or _NOT_SEARCHED.isdisjoint(folder.split("/"))):
            folders[folder] = oid
    if len(folders) > MAX_SKILLS:
        message = f"the source has more than {MAX_SKILLS:,} skills"
        raise InstallError(message, hint="name the folder of those that you want: `SOURCE:FOLDER`")
    return folders


def report_skipped(found: GitFiles, top: str) -> Iterator[Finding]:
    """Yield findings about what is not searched: submodules, links and folders that are too deep.

    Args:
        found: what was searched.
        top: its path in the repository.
    """
    before = f"{top}/" if top else ""
    for path, (mode, _) in found.files.items():
        name = path.rpartition("/")[2]
        if mode == SUBMODULE:
            message = "a submodule is not followed: it is another repository"
            yield finding("folder-link", message, path=before + path, hint="install its skills from that repository")
        elif name == SKILL_FILE and mode == LINK:
            yield finding("file-is-link", "SKILL.md is a link, which is not followed", path=before + path)
        elif name != SKILL_FILE and name.lower() == SKILL_FILE.lower():
            message = f"the file is called {quoted(name)}, not `{SKILL_FILE}`"
            yield finding("file-name-case", message, path=before + path, hint=f"rename it to `{SKILL_FILE}`")
    for path in found.unread:
        yield finding("folder-too-deep", "a folder is too deep to be searched", path=before + path)


def choose_skills(
    names: Mapping[str, str], found: GitFiles, wanted: Collection[str], *, is_choice: bool = False
) -> tuple[dict[str, str], list[Finding]]:
    """Choose the skills to fetch.

    Args:
        names: the name of the skill in each folder.
        found: the files.
        wanted: names of skills, or of their folders; if empty, all are wanted.
        is_choice: whether a user chooses among them; then those of one name that differ are a finding.

    Returns:
        The folder of each name; and findings about copies, and skills in others.

    Raises:
        InstallError: different skills have one name.
        SkillNotFoundError: wanted skills are missing.
    """
    findings: list[Finding] = []
    by_name: dict[str, list[str]] = {}
    wanted = resolve_names(wanted, ((name, folder) for folder, name in names.items()))
    for folder in sorted(names, key=_preference):
        outer = next((above for above in _folders_above(folder) if above in names), None)
        if names[folder] in wanted or (not wanted and outer is None):
            by_name.setdefault(names[folder], []).append(folder)
        elif not wanted:
            message = f"the skill is a part of the skill {quoted(names[outer or ''])}"
            hint = "name it to install it alone"
            findings.append(finding("folder-skipped", message, path=folder, hint=hint))
    check_wanted(wanted, {*names.values()}, "the source")
    chosen = {}
    for name, folders in by_name.items():
        first, *others = folders
        different = next((other for other in others if found.folders[other] != found.folders[first]), None)
        if different is not None:
            shown = f"{quoted(first or '.', PATH_LIMIT)} and {quoted(different, PATH_LIMIT)}"
            message, hint = (
                f"two skills have the name {quoted(name)}: {shown}",
                "name the folder of the one that you want",
            )
            if not is_choice:
                raise InstallError(message, hint=f"{hint}: `SOURCE:FOLDER`")
            findings.append(finding("name-shadowed", message, path=first, hint=f"{hint}: `SOURCE:FOLDER`"))
            continue
        for other in others:
            message = f"the skill is an exact copy of {quoted(first or '.', PATH_LIMIT)}"
            findings.append(finding("skill-copy", message, path=other))
        chosen[name] = first
    return chosen, findings


def files_of(folders: Sequence[str], found: GitFiles) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the files of some folders without submodules, each by its path relative to its folder.

    Raises:
        InstallError: one has too many levels.
    """
    files: dict[str, dict[str, tuple[str, str]]] = {folder: {} for folder in folders}
    for path, entry in found.files.items():
        for folder in _folders_above(path):
            if folder in files and entry[0] != SUBMODULE:
                files[folder][path[len(folder) + 1 if folder else 0 :]] = entry
    for path in found.unread:
        for folder in _folders_above(path):
            if folder in files:
                message = f"the skill in {quoted(folder or '.', PATH_LIMIT)} has too many levels of folders"
                raise InstallError(message, hint="ask its author to use fewer")
    return files


def _folders_above(path: str) -> Iterator[str]:
    """Yield the folders that contain a path, the nearest first; the last is empty."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _preference(folder: str) -> tuple[bool, int, str]:
    """Sort the folders of equal skills: those of an agent, such as `.claude/skills`, are usually the copies."""
    parts = folder.split("/")
    return any(part.startswith(".") for part in parts), len(parts), folder


_MAX_FILE = 1 << 26
"""Bytes of one file."""
_MODES = {"100644": FILE, "100664": FILE, "100755": EXECUTABLE, "120000": LINK}
_FILE_MODES = [mode for mode, meaning in _MODES.items() if meaning != LINK]
_MAX_MANIFESTS = 5_000
_LFS_POINTER = re.compile(rb"version https://(?:git-lfs|hawser)\.github\.com/spec/")
_MAX_LFS_POINTER = 1024
_MAX_LINK = 4096


class RefusedPartError(Exception):
    """A part of the commit cannot be fetched: the server sends no single files, or git is stricter then."""


class FileReader:
    """Reads files of one commit.

    Args:
        repository: in which the commit is.
        objects: reads its objects.
        is_part: whether some files may not have been fetched.
    """

    def __init__(self, repository: GitRepository, objects: ObjectReader, *, is_part: bool) -> None:
        self._repository, self._objects, self._is_part = repository, objects, is_part
        self._bytes_left = repository.limits.size

    def load(self, names: Iterable[str]) -> None:
        """Fetch the objects with these names that are missing.

        Raises:
            RefusedPartError: the server does not send single objects.
        """
        if not self._is_part:
            return
        with self._repository.start("cat-file", "--batch-check") as process:
            missing = ObjectReader(process).find_missing(list(dict.fromkeys(names)))
        if not missing:
            return
        options = ("--filter=blob:none", "--no-write-fetch-head", "--stdin")
        try:
            self._repository.fetch(*options, REMOTE, stdin="".join(f"{name}\n" for name in missing).encode("ascii"))
        except GitError as error:
            if re.search("unadvertised object|not our ref|filter", error.stderr):
                raise RefusedPartError from None
            raise

    def read_names(self, folders: Mapping[str, str], default: str) -> dict[str, str]:
        """Return the name of the skill in each folder.

        Args:
            folders: of each the object of its SKILL.md.
            default: the name of a skill without one at the top; others have that of their folder.
        """
        self.load(folders.values())
        names = {}
        contents = self._objects.read(list(folders.values()), "blob", _MAX_FILE)
        for folder, (_, _, data) in zip(folders, contents, strict=True):
            document = parse_frontmatter(data[:MAX_SKILL_FILE_BYTES])
            names[folder] = from_document(document).name or folder.rpartition("/")[2] or default
        return names

    def read_manifests(self, found: GitFiles) -> dict[str, bytes]:
        """Return the content of each small file that may be the manifest of a plugin or marketplace, by its path."""
        names = {
            path: oid for path, (mode, oid) in found.files.items() if may_be_manifest(path) and mode in _FILE_MODES
        }
        if len(names) > _MAX_MANIFESTS:
            return {}
        self.load(names.values())
        contents = self._objects.read(list(names.values()), "blob", _MAX_FILE)
        return {path: data for path, (_, _, data) in zip(names, contents, strict=True)}

    def write_skill(self, target: str, files: Mapping[str, tuple[str, str]], shown: str) -> tuple[Tree, str] | None:
        """Write a skill into a new folder, and return its files and hash, if they need not be read to know them.

        Args:
            target: the folder, absolute.
            files: by their paths in it the mode and object of each.
            shown: the skill's folder in the source, for messages.

        Raises:
            InstallError: something in it is not allowed.
        """
        with os_errors(f"cannot write the skill in {quoted(shown, PATH_LIMIT)}", "make room on the disk"):
            try:
                check_paths(files)
                os.makedirs(target)
                return self._write_files(target, files)
            except SkillError as error:
                raise InstallError(f"the skill in {quoted(shown, PATH_LIMIT)}: {error}", hint=error.hint) from None

    def _write_files(self, target: str, files: Mapping[str, tuple[str, str]]) -> tuple[Tree, str] | None:
        """Write files and then links, so that no file is written through a link."""
        modes = {path: _mode(path, mode) for path, (mode, _) in files.items()}
        folders = _folders(files)
        links = [path for path, mode in modes.items() if mode == LINK]
        written = WrittenFiles(files.keys() - links, links, folders)
        for folder in folders:
            os.mkdir(f"{target}/{folder}")
        contents = self._objects.read([files[path][1] for path in written.order], "blob", _MAX_FILE)
        for path, (_, _, data) in zip(written.order, contents, strict=True):
            self._bytes_left -= len(data)
            if self._bytes_left < 0:
                limit = self._repository.limits.size >> 20
                raise InstallError(f"the source has more than {limit:,} MiB", hint="name the skills that you want")
            if modes[path] == LINK:
                _write_link(f"{target}/{path}", path, data)
                written.add_link(path, data)
            else:
                written.add_file(path, data, _write_file(f"{target}/{path}", path, modes[path], data))
        return written.notes() if SUPPORTS_DIR_FD else None


def _folders(paths: Iterable[str]) -> list[str]:
    """Return the folders of files, each after the one that it is in."""
    found: set[str] = set()
    for path in paths:
        while (path := path.rpartition("/")[0]) and path not in found:
            found.add(path)
    return sorted(found)


def _mode(path: str, mode: str) -> str:
    if mode not in _MODES:
        raise InstallError(f"{quoted(path, PATH_LIMIT)} is not a file or a link", hint="ask the author to remove it")
    return _MODES[mode]


def _write_link(target: str, path: str, data: bytes) -> None:
    link = os.fsdecode(data)
    if not 0 < len(data) <= _MAX_LINK or "\0" in link:
        message = f"the link {quoted(path, PATH_LIMIT)} has no valid target"
        raise InstallError(message, hint="ask the author to fix it")
    check_link(path, link)
    os.symlink(link, target)


def _write_file(target: str, path: str, mode: str, data: bytes) -> int:
    """Write a new file, and return the permissions that the file system gave it."""
    if len(data) <= _MAX_LFS_POINTER and _LFS_POINTER.match(data):
        message = f"the content of {quoted(path, PATH_LIMIT)} is not in the repository, but in Git LFS"
        raise InstallError(message, hint="ask the author to commit the file itself")
    with open_fd(target, CREATE_FLAGS, 0o777 if mode == EXECUTABLE else 0o666) as fd:
        write_all(fd, data)
        return os.fstat(fd).st_mode


LIMITS = GitLimits()
_LARGE = 1 << 20
"""Files of more bytes are fetched only if a wanted skill contains them, where the server can do that."""
_USER = "[A-Za-z0-9_][A-Za-z0-9._-]*@"
_PROTOCOL = re.compile(rf"(https|http|file)://[^-]|(ssh)://(?:{_USER})?[^-@][^@/]*/")
_SCP = re.compile(rf"(?:{_USER})?(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):(?!//)[^-:]")
_LOOPBACK = re.compile(r"http://(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]+)?/")


def fetch(wanted: Wanted) -> Fetched:
    """Fetch the skills of a commit.

    Raises:
        InstallError: the repository cannot be read, or something in it is not allowed.
    """
    source = wanted.source
    _folder(source)  # before anything is fetched
    repository = _repository(source.url, wanted.opened.new_folder(), wanted.progress)
    filters = "blob:none" if wanted.names or source.path else f"blob:limit={_LARGE}"
    try:
        return _fetch(repository, wanted, filters)
    except RefusedPartError:
        return _fetch(repository, wanted, None)


def _repository(url: str, folder: str, progress: Callable[[str], None] | None) -> GitRepository:
    """Return an empty repository for a source.

    Raises:
        InstallError: git could read the URL as a command, or no such source is allowed.
    """
    found = _PROTOCOL.match(url)
    protocol = found[1] or found[2] if found else "ssh" if _SCP.match(url) else ""
    if not protocol or "::" in url.partition("/")[0] or not url.isprintable() or " " in url:
        hint = "use `https://`, `ssh://`, `git@HOST:PATH` or `file://`"
        shown = re.sub(r"(?<=://)[^/@\s]*@", "…@", url)  # a password is not repeated
        raise InstallError(f"this is not the URL of a repository: {quoted(shown, PATH_LIMIT)}", hint=hint)
    if "@" in url.partition("://")[2].partition("/")[0] and protocol != "ssh":
        raise InstallError("the URL of a repository contains a user name or password", hint="let git keep credentials")
    if protocol == "http" and not _LOOPBACK.match(url):
        hint = "use `https://`; `http://` is for servers on this machine"
        raise InstallError(f"the URL is not encrypted: {quoted(url, PATH_LIMIT)}", hint=hint)
    return GitRepository(folder, url, protocol, env=os.environ, limits=LIMITS, progress=progress)


def _fetch(repository: GitRepository, wanted: Wanted, filters: str | None) -> Fetched:
    source, revision = wanted.source, wanted.revision
    try:
        fetched = fetch_object(repository, revision or source.ref, filters)
    except GitError as error:
        # When git fetches a part, it forgets which faults to ignore.
        if filters is None or "fsck error" not in error.stderr:
            raise
        raise RefusedPartError from None
    is_tag = revision is None and repository.fetched_tag()
    with repository.start("cat-file", "--batch") as process:
        reader = ObjectReader(process)
        commit = reader.commit(fetched)
        if revision is not None and commit != revision:
            message = f"the source sent the commit {quoted(commit)}, not {quoted(revision)}"
            raise InstallError(message, hint="do not install from it")
        top = _folder(source)
        found = reader.list_files(commit, top)
        if found is None:
            raise InstallError(
                f"the source has no folder {quoted(top, PATH_LIMIT)}", hint="check the folder after the `:`"
            )
        work = FileReader(repository, reader, is_part=filters is not None)
        names = work.read_names(find_skill_folders(found), _repository_name(source))
        chosen, findings = choose_skills(names, found, wanted.names, is_choice=wanted.is_choice)
        if not chosen:
            raise InstallError(
                "the source has no skills: no folder has a `SKILL.md`", hint="check the URL and the folder"
            )
        files = files_of(list(chosen.values()), found)
        plugins = plugins_of(chosen.values(), work.read_manifests(found)) if wanted.is_choice else {}
        target = wanted.opened.new_folder()
        work.load(oid for of_skill in files.values() for _, oid in of_skill.values())
        skills = []
        for number, (name, folder) in enumerate(chosen.items()):
            path = os.path.join(target, name if is_portable_name(name) else f"{number}.skill")
            in_source = "/".join(filter(None, (top, folder)))
            skill = FetchedSkill(name=name, path=in_source, folder=path, plugin=plugins.get(folder, ""))
            try:
                tree, computed_hash = work.write_skill(path, files[folder], folder or ".") or (None, None)
            except InstallError as error:
                if not wanted.is_choice:
                    raise
                skills.append(skill.with_changes(problem=error))
            else:
                skills.append(skill.with_changes(tree=tree, computed_hash=computed_hash))
    found_findings = (*report_skipped(found, top), *findings)
    return Fetched(skills=tuple(skills), revision=commit, is_tag=is_tag, findings=found_findings)


def is_descendant(wanted: Wanted, commit: str, earlier: str) -> bool | None:
    """Return whether an earlier commit is in the history of another one; `None` if the source does not say."""
    wanted.tell("comparing the history")
    repository = _repository(wanted.source.url, wanted.opened.new_folder(), wanted.progress)
    return is_later(repository, commit, earlier)


def _folder(source: Source) -> str:
    """Return the folder to search; the path of a SKILL.md means its folder.

    Raises:
        InstallError: it is not the path of a folder in a repository.
    """
    if not source.path:
        return ""
    check_paths([source.path])
    folder, _, name = source.path.rpartition("/")
    return folder if name == SKILL_FILE else source.path


def _repository_name(source: Source) -> str:
    """Return the name of the folder that was searched: the last one in the source."""
    return re.split("[/:]", (_folder(source) or source.url.removesuffix(".git")).rstrip("/"))[-1] or "skill"
