"""Name the files that run or are obeyed without anyone starting them: tools that write must not write these.

Git runs hooks, an agent reads its instructions, pytest imports `conftest.py`, a shell reads `.envrc` when its user
enters a folder. A role allows a kind by name with `security.allow_writes`. Source code is not a kind, nor is what its
user starts by name, such as a `Makefile`.

Names are compared as the most lenient file systems do (`plain_file_name`), and also in the short form of Windows.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from prowess._internal.file_names import is_bare_repository, plain_file_name, windows_file_names
from prowess._internal.frozen import Frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["KINDS", "ProtectedKind", "folder_kinds", "name_kind"]


class ProtectedKind(Frozen):
    """A kind of files and folders that tools must not write."""

    names: tuple[str, ...]
    """Names of files, or of folders with everything in them; `*` at the beginning or the end is any text."""
    why: str
    """Who runs or obeys them, for the docs."""


KINDS = {
    "git": ProtectedKind(
        names=(
            *(".git", ".gitconfig", ".lfsconfig", ".githooks", ".husky", ".pre-commit-config.yaml", "lefthook*"),
            *(".lefthook*", ".overcommit.yml", ".simple-git-hooks*", ".lintstagedrc*", "lint-staged.config*"),
            *("prek.toml", ".hg", ".hgrc", ".sl", ".jj", ".svn", ".bzr"),
        ),
        why="git and others run hooks and programs they configure; also a folder with `HEAD`, `objects` and `refs`",
    ),
    "role": ProtectedKind(
        names=("role.yaml", "role.yml"),
        why="Prowess runs roles; also the role's own file, other YAML files that are roles, and what its tools run",
    ),
    "skill": ProtectedKind(
        names=("SKILL.md", ".skills"),
        why="agents read skills; also everything in a folder with a `SKILL.md`, and a `.md` file in a folder `skills`",
    ),
    "agents": ProtectedKind(
        names=(
            *(".agents", ".agent", ".prowess", ".initrunner", ".aam", ".camel", ".infer", ".claude", ".claude.json"),
            *(".claude-plugin", ".codex", ".gemini", ".qwen", ".opencode", "opencode.json", "opencode.jsonc"),
            *(".copilot", ".cursor", ".goose", ".letta", ".pi", ".amp", ".windsurf", ".codeium", ".cline", ".roo"),
            *(".kilocode", ".kiro", ".continue", ".junie", ".augment", ".factory", ".trae", ".crush", ".crush.json"),
            *("crush.json", ".aider*", ".openhands", ".mcp.json", "mcp.json", "gemini-extension.json"),
            *(
                ".warp",
                ".qoder",
                ".mux",
                ".vibe",
                ".codebuddy",
                ".iflow",
                ".grok",
                ".kimi",
                ".kimi-code",
                ".zencoder",
                ".serena",
            ),
            *(".neovate", ".adal", ".pochi", ".commandcode", ".kode", ".mcpjam", ".amazonq", ".antigravity"),
        ),
        why="agents read settings, hooks, commands and the programs of MCP servers there",
    ),
    "instructions": ProtectedKind(
        names=(
            *("AGENTS.md", "AGENT.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md"),
            *(
                "CRUSH.md",
                "WARP.md",
                "copilot-instructions.md",
                "*.instructions.md",
                "*.prompt.md",
                "*.agent.md",
                "*.chatmode.md",
                ".cursorrules",
                ".windsurfrules",
            ),
            *("GROK.md", "IFLOW.md", "CODEBUDDY.md", "KIMI.md", "replit.md", ".traerules"),
            *(".clinerules", ".roorules", ".roomodes", ".goosehints", ".rules"),
        ),
        why="agents obey them",
    ),
    "pytest": ProtectedKind(
        names=("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg"),
        why="pytest imports or obeys them before it collects a test",
    ),
    "python": ProtectedKind(
        names=(
            *("sitecustomize.py", "usercustomize.py", "*.pth", "*._pth", "pyvenv.cfg", "site-packages", ".venv"),
            *("pyproject.toml", "uv.toml", "pip.conf", ".pythonstartup", ".pdbrc", ".ipython", ".jupyter"),
            *(".python-version*", ".coveragerc", ".flaskenv"),
        ),
        why="Python and its tools read them when they start; also everything in a folder with a `pyvenv.cfg`",
    ),
    "bytecode": ProtectedKind(
        names=("__pycache__", "*.pyc", "*.pyo"), why="Python runs it instead of the source beside it"
    ),
    "packages": ProtectedKind(
        names=(
            *("node_modules", ".npmrc", ".yarn", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnpmfile.mjs", ".cargo"),
            *(".mvn", ".bundle", ".bazelrc", ".gemrc", ".condarc", "rust-toolchain*", "bunfig.toml"),
            *("pnpm-workspace.yaml", "directory.build.*", "nuget.config", "ansible.cfg", ".terraform"),
        ),
        why="package managers and compilers run or obey them",
    ),
    "shell": ProtectedKind(
        names=(
            *(".envrc", ".env", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases"),
            *(".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
            *(".inputrc", ".config", ".ssh", ".gnupg", ".netrc", ".autoenv", ".mise.toml", "mise.toml", ".mise"),
            *(".tool-versions", ".tmux.conf", ".screenrc", ".xinitrc", ".xprofile", ".gdbinit", ".lldbinit"),
            *("*.desktop", "desktop.ini", "autorun.inf", ".local", ".docker", ".kube", ".aws", ".bash*", ".zsh*"),
            *(
                ".autoenv*",
                ".login",
                ".logout",
                ".xsession*",
                ".htaccess",
                ".user.ini",
                ".ghci",
                ".ocamlinit",
            ),
            *(".octaverc", ".iex.exs", ".perldb", ".psqlrc", ".sqliterc", ".Renviron"),
        ),
        why="a shell or desktop runs or obeys them when its user starts it or enters the folder",
    ),
    "editor": ProtectedKind(
        names=(
            *(".vscode", "*.code-workspace", ".idea", ".vs", ".fleet", ".zed", ".nova", ".devcontainer"),
            *(".devcontainer.json", ".vim", ".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".emacs"),
            *(".emacs.d", ".dir-locals.el", "*.sublime-project", "*.sublime-workspace", ".replit", "replit.nix"),
            *(".gitpod.yml", ".idx", ".codesandbox", ".stackblitzrc", ".helix", ".dir-locals-2.el", "_vimrc", "_exrc"),
            *(".vimrc.local", ".local.vimrc", ".ycm_extra_conf.py", ".project", ".externaltoolbuilders", ".settings"),
            *(".lite_project.lua", ".clangd", ".run", ".theia"),
        ),
        why="an editor runs tasks and programs that they name when its user opens the folder",
    ),
    "linters": ProtectedKind(
        names=(
            *(".pylintrc", "pylintrc", ".flake8", "mypy.ini", ".mypy.ini", ".eslintrc*", "eslint.config*"),
            *(".prettierrc*", "prettier.config*", ".stylelintrc*", "stylelint.config*", ".babelrc*", "babel.config*"),
            *(".rubocop.yml", ".pryrc", ".irbrc", ".Rprofile"),
        ),
        why="linters import the programs that they name, and editors start linters",
    ),
    "ci": ProtectedKind(
        names=(
            *(".github", ".gitlab", ".gitlab-ci.yml", ".forgejo", ".gitea", ".circleci", ".buildkite", ".travis.yml"),
            *(".drone.yml", ".woodpecker", ".woodpecker.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml"),
            *("appveyor.yml", ".appveyor.yml", "Jenkinsfile*", ".gitlab-ci*", "azure-pipelines*", ".azure-pipelines*"),
            *(".woodpecker*", ".drone*", ".cirrus*", ".build.yml", ".builds", ".semaphore", ".teamcity", ".zuul*"),
            *("buildspec.yml", "buildspec.yaml", "cloudbuild.yaml", "cloudbuild.yml", "netlify.toml", "vercel.json"),
        ),
        why="a server runs them, with its secrets, after the next push",
    ),
}
"""Kind to its files, by the name that a role allows it with."""

_SHORT = re.compile(r"([^~]{1,6})~[0-9]+(?:\.([^.]*))?")


def name_kind(name: str, parent: str = "") -> str | None:
    """Return the kind of a file or folder by its name.

    Args:
        name: one part of a path.
        parent: the part before it.
    """
    kind = next(filter(None, map(_name_kind, windows_file_names(name))), None)
    if kind is None and name.isascii() and "md" not in name.lower():
        return None
    if kind is None and plain_file_name(name).endswith(".md") and plain_file_name(parent) == "skills":
        return "skill"
    return kind


@lru_cache(10_000)
def _name_kind(name: str) -> str | None:
    plain = plain_file_name(name)
    for suffix, kind in _SUFFIXES.items():
        if plain.endswith(suffix):
            return kind
    for prefix, kind in _PREFIXES.items():
        if plain.startswith(prefix):
            return kind
    if match := _SHORT.fullmatch(plain):
        return _SHORT_NAMES.get((match[1], match[2] or ""))
    return _NAMES.get(plain)


def folder_kinds(names: Collection[str]) -> Iterator[str]:
    """Yield the kinds of a folder that contains files and folders with these names."""
    if is_bare_repository(names):
        yield "git"
    plain = {plain_file_name(name) for name in names}
    if "skill.md" in plain:
        yield "skill"
    if "pyvenv.cfg" in plain:
        yield "python"


def _short_name(name: str) -> tuple[str, str]:
    """Return the beginning and the extension of the short form that Windows gives a long name."""
    base, dot, extension = name.lstrip(".").rpartition(".")
    if not dot:
        base, extension = extension, ""
    base = re.sub(r"[^a-z0-9_$%'@!(){}^#&-]", "_", base.replace(".", "").replace(" ", ""))
    return base[:6], extension[:3]


_NAMES = {name.casefold(): kind for kind, entry in KINDS.items() for name in entry.names if "*" not in name}
_PREFIXES = {name[:-1].casefold(): kind for kind, entry in KINDS.items() for name in entry.names if name[-1] == "*"}
_SUFFIXES = {name[1:].casefold(): kind for kind, entry in KINDS.items() for name in entry.names if name[0] == "*"}
_SHORT_NAMES = {_short_name(name): kind for name, kind in {**_PREFIXES, **_NAMES}.items()}
