"""Define what a host file can say about one directory of skills, as in `_host`."""

from __future__ import annotations

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False


class Root(Frozen):
    """One directory to scan, and how."""

    path: str = ""
    """Relative to a project folder, `~/...`, or absolute. `$VAR/...|~/...` is the second path if the variable is not
    set; `$VAR` alone is a path list; `@skill-dir` is the directories that the user passes; `*` is the folder of
    a package, which becomes the namespace. With `setting` or `argument`: the path below each directory that they
    name."""
    scope: str
    """`managed`, `project`, `user`, `system`, `package`, `plugin` or `extra`."""
    setting: str = ""
    """A dotted key of the settings files whose value is a list of directories; `|` separates two forms of one key."""
    setting_files: tuple[str, ...] = ()
    """For `setting`: the names of the settings files that may have it; empty for all that are not `apart`."""
    merge: str = "join"
    """For `setting`: `join` (the lists of all settings files count), `first` (that of the highest) or `union` (all, but
    the lowest file's first)."""
    plugins: str = ""
    """The name of a table of plugins or marketplaces, whose folders of skills these are; with `files`, their folders of
    commands."""
    argument: str = ""
    """An argument of the client whose values are directories."""
    relative_to: str = "cwd"
    """For `setting` and `argument`: what a relative directory belongs to: `cwd`, `project` (the git root), or `file`
    (the folder of the settings file)."""
    strips: bool = False
    """For `setting` and a path list: whether white space around a directory is removed."""
    where: tuple[str, ...] = ()
    """What the client's module says about its place, in words."""
    facts: tuple[str, ...] = ()
    """What the client's module does with it, in words."""
    walk: str = "none"
    """The project folders to which a relative path belongs: `none` (the working directory), `git-root` (from there up
    to the git root), `filesystem-root` (all the way up), `project` (only the git root, or the working directory
    without a git root)."""
    without_git: str = "none"
    """The `walk` outside a git repository: `none` or `filesystem-root`."""
    nested: str = "no"
    """Skills folders below the project folder: `no`, `active`, or `deferred` (the client loads them later)."""
    depth: int = 1
    """Levels of folders below the root that may contain a skill; -1 is any number."""
    own: str = "no"
    """A SKILL.md in the root itself: `no`, `yes`, `last` (after those below it), or `alone` (it hides the others)."""
    not_home: bool = False
    """Whether the root is ignored if its project folder is the user's home."""
    inside: bool = False
    """Whether the folders of a skill are scanned for more skills."""
    hidden: bool = False
    """Whether folders whose name begins with a dot are scanned."""
    skip: tuple[str, ...] = (".git", "node_modules")
    """Names of folders that are never scanned."""
    linked_folders: str = "follow"
    """Links to folders: `follow`, `skip`, or `bounded` (only to a target inside the project or a scanned root)."""
    linked_files: str = "follow"
    """The same for a SKILL.md that is a link."""
    loose: bool = False
    """Whether `*.md` files in the root itself are skills too."""
    files: str = ""
    """A regular expression for the names of files that are skills, such as commands, instead of folders. A skill is
    called like its path below the root, without the extension and with `:` for `/`. Unless `depth` is 0, a `SKILL.md`,
    in any case, is called like its folder and hides the files beside it; without `inside`, also those in folders
    below."""
    ignores: tuple[str, ...] = ()
    """Fields that have no effect on its skills."""
    ignore_files: bool = False
    """Whether `.gitignore`, `.ignore` and `.fdignore` inside the root apply."""
    name_is_folder: bool = False
    """Whether a skill whose name is not that of its folder is rejected."""
    max_folders: int = 20_000
    """Folders to scan at most; the folder of a skill does not count unless it is scanned for more skills."""

    @property
    def named_by(self) -> str:
        """What names its directories: a key with the files that may have it, or an argument."""
        return " ".join((self.setting or self.argument, *self.setting_files))

    @property
    def is_fixed(self) -> bool:
        """Whether settings, arguments and plugins do not decide where it is."""
        return not (self.setting or self.argument or self.plugins)
