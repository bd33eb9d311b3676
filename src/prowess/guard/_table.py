"""Name the files that run or are obeyed without anyone starting them, by the kind that a user allows, with the reason.

`names` are files, or folders with everything in them; `*` at the beginning or the end is any text. `why` says who runs
or obeys them, for the docs.
"""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess.hosts import TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class ProtectedKind(Frozen):
    """A kind of files and folders that tools and scripts must not write."""

    names: tuple[str, ...]
    """Names of files, or of folders with everything in them; `*` at the beginning or the end is any text."""
    why: str
    """Who runs or obeys them, for the docs."""


def _kind(why: str, names: str) -> ProtectedKind:
    return ProtectedKind(why=why, names=tuple(names.split()))


def _folders_of_hosts() -> list[str]:
    """Return the hidden folders and files in which the hosts keep skills and settings, in a project or a home."""
    tables = [
        table
        for host in TABLES.values()
        for table in (*host.get("roots", ()), *host.get("settings_files", {}).values())
        if not table.keys() & {"setting", "argument", "plugins"}
    ]
    paths = (path.removeprefix("~/") for table in tables for path in table.get("path", "").split("|"))
    names = {path.partition("/")[0] for path in paths}
    return sorted(name for name in names if name.startswith(".") and name not in _OF_OTHER_KINDS)


_OF_OTHER_KINDS = (".config", ".github", ".skills")
"""What hosts share with other programs."""
KINDS: Mapping[str, ProtectedKind] = {
    "git": _kind(
        "git and others run hooks and programs they configure; also a folder with `HEAD`, `objects` and `refs`",
        """
        .git .gitconfig .lfsconfig .githooks .husky .pre-commit-config.yaml lefthook* .lefthook*
        .overcommit.yml .simple-git-hooks* .lintstagedrc* lint-staged.config* .huskyrc* commitlint.config*
        .commitlintrc*
        prek.toml .hg .hgrc .sl .jj .svn
        .bzr
        """,
    ),
    "role": _kind(
        "Prowess runs roles; also the role's own file, other YAML files that are roles, and what its tools run",
        """
        role.yaml role.yml
        """,
    ),
    "skill": _kind(
        "agents read skills; also everything in a folder with a `SKILL.md`, and a `.md` file in a folder `skills`",
        """
        SKILL.md .skills
        """,
    ),
    "agents": _kind(
        "agents read settings, hooks, commands and the programs of MCP servers there, and Prowess its lock",
        f"""
        {" ".join(_folders_of_hosts())}
        .agent .claude-plugin opencode.json opencode.jsonc .amp .windsurf .codeium .roo .kilocode .kiro .continue .junie
        .augment
        .factory .trae .crush .crush.json crush.json .aider* .openhands .mcp.json mcp.json gemini-extension.json .warp
        .qoder .mux .codebuddy .iflow .grok .kimi .zencoder .serena .neovate .adal .pochi .commandcode .kode .mcpjam
        .amazonq .antigravity .aiassistant .tabnine hooks.json .lsp.json skills-lock.json .skill-lock.json apm.lock.yaml
        """,
    ),
    "instructions": _kind(
        "agents obey them",
        """
        AGENTS.md AGENT.md AGENTS.override.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md CRUSH.md WARP.md
        copilot-instructions.md *.instructions.md *.prompt.md *.agent.md *.chatmode.md .cursorrules
        .windsurfrules GROK.md IFLOW.md CODEBUDDY.md KIMI.md replit.md .traerules .clinerules .roorules
        .roomodes .kilocodemodes .goosehints .rules
        """,
    ),
    "pytest": _kind(
        "pytest and other programs that run tests import or obey them before a test",
        """
        conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg .rspec .mocharc* jest.config*
        vitest.config* playwright.config* karma.conf*
        """,
    ),
    "python": _kind(
        "Python and its tools read them when they start; also everything in a folder with a `pyvenv.cfg`, and compiled "
        "modules (`*.so`, `*.pyd`) beside `.py` files",
        """
        sitecustomize.py usercustomize.py *.pth *._pth pyvenv.cfg site-packages .venv pyproject.toml uv.toml
        pip.conf .pythonstartup .pdbrc .ipython .jupyter .python-version* .coveragerc .flaskenv
        """,
    ),
    "bytecode": _kind(
        "Python runs it instead of the source beside it",
        """
        __pycache__ *.pyc *.pyo
        """,
    ),
    "build": _kind(
        "the next usual command of its user, or an editor, runs them: `make`, `npm test`, `cargo check`",
        """
        Makefile GNUmakefile justfile .justfile Taskfile.yml Taskfile.yaml Taskfile.dist.* setup.py package.json
        noxfile.py Rakefile gulpfile.* Gruntfile.* build.gradle* gradlew* mvnw* BSDmakefile dodo.py fabfile.py
        SConstruct
        Cargo.toml build.rs CMakeLists.txt meson.build composer.json deno.json* Gemfile Vagrantfile docker-compose*
        compose.yaml compose.yml hatch.toml pixi.toml
        """,
    ),
    "packages": _kind(
        "package managers and compilers run or obey them",
        """
        node_modules .npmrc .yarn .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs .cargo .mvn .bundle .bazelrc
        .gemrc .condarc .bazeliskrc Pipfile rust-toolchain* bunfig.toml pnpm-workspace.yaml directory.build.*
        nuget.config
        ansible.cfg .terraform
        """,
    ),
    "shell": _kind(
        "a shell or desktop runs or obeys them when its user starts it or enters the folder",
        """
        .envrc* .env .env.local .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv
        .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .inputrc .config .ssh .gnupg .netrc .autoenv
        .mise* mise.toml mise.local.toml .rvmrc .tool-versions .tmux.conf .screenrc .xinitrc .xprofile .gdbinit
        .lldbinit
        *.desktop desktop.ini autorun.inf .local .docker .kube .aws .bash* .zsh* .autoenv* .login .logout
        .xsession* .htaccess .user.ini .ghci .ocamlinit .octaverc .iex.exs .perldb .psqlrc .sqliterc .Renviron
        """,
    ),
    "editor": _kind(
        "an editor runs tasks and programs that they name when its user opens the folder",
        """
        .vscode *.code-workspace .idea .vs .fleet .zed .nova .devcontainer .devcontainer.json .vim .vimrc
        .exrc .nvimrc .nvim.lua .lvimrc .emacs .emacs.d .dir-locals.el *.sublime-project *.sublime-workspace
        .replit replit.nix .gitpod.yml .idx .codesandbox .stackblitzrc .helix .dir-locals-2.el _vimrc _exrc
        .vimrc.local .local.vimrc .ycm_extra_conf.py .project .externaltoolbuilders .settings
        .lite_project.lua .clangd .run .theia
        """,
    ),
    "linters": _kind(
        "linters import the programs that they name, and editors start linters",
        """
        .pylintrc pylintrc .flake8 mypy.ini .mypy.ini .eslintrc* eslint.config* .prettierrc* prettier.config*
        .stylelintrc* stylelint.config* .babelrc* babel.config* .rubocop.yml .pryrc .irbrc .Rprofile
        """,
    ),
    "ci": _kind(
        "a server runs them, with its secrets, after the next push",
        """
        .github .gitlab .gitlab-ci.yml .forgejo .gitea .circleci .buildkite .travis.yml .drone.yml .woodpecker
        .woodpecker.yml azure-pipelines.yml bitbucket-pipelines.yml appveyor.yml .appveyor.yml Jenkinsfile*
        .gitlab-ci* azure-pipelines* .azure-pipelines* .woodpecker* .drone* .cirrus* .build.yml .builds
        .semaphore .teamcity .zuul* .readthedocs* .tekton codemagic.yaml bitrise.yml buildspec.yml buildspec.yaml
        cloudbuild.yaml cloudbuild.yml netlify.toml
        vercel.json
        """,
    ),
}
"""Kind to its files, by the name that a user allows it with."""
