"""Install what scripts need, each set of packages once, into a folder of the user's cache: with uv or npm.

An environment is named after what is in it: the packages, and the Python. It is made beside its place and renamed when
it is complete, so that one that was interrupted is never used. Only wheels are installed, whose installation runs no
code, and of npm no script, unless the caller allows it. No setting of a project is read.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import remove_tree
from prowess._internal.locked import locked
from prowess._internal.ownership import ForeignError, check_own, own_folder
from prowess._internal.text import describe_os_error, neutral
from prowess._internal.user_dirs import cache_folder
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._needs import Needs

_FORM = "1"
"""The layout of an environment. One with another layout is not used."""
_MAX_SECONDS = 900
"""How long an installation may take."""
_RECORD = "prowess.json"
"""The file that says what is in an environment, for `prowess env`."""
_VARIABLES = """
    ALL_PROXY CURL_CA_BUNDLE HOME HTTPS_PROXY HTTP_PROXY LANG LOGNAME NETRC NO_PROXY PATH REQUESTS_CA_BUNDLE
    SSL_CERT_DIR SSL_CERT_FILE TMPDIR USER XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME all_proxy http_proxy
    https_proxy no_proxy UV_CACHE_DIR UV_CONFIG_FILE UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS
    UV_HTTP_TIMEOUT UV_INDEX UV_INDEX_STRATEGY UV_INDEX_URL UV_INSECURE_HOST UV_KEYRING_PROVIDER UV_NATIVE_TLS
    UV_NO_CACHE UV_OFFLINE UV_PYTHON_INSTALL_DIR UV_SYSTEM_CERTS NODE_EXTRA_CA_CERTS NPM_CONFIG_CACHE
    NPM_CONFIG_OFFLINE NPM_CONFIG_REGISTRY NPM_CONFIG_USERCONFIG npm_config_cache npm_config_offline
    npm_config_registry npm_config_userconfig
"""
"""What uv and npm get of the user's environment: where packages come from, and how to reach it."""


class Environment(Frozen):
    """An environment that scripts run in."""

    name: str
    """Of its folder: the beginning of a digest."""
    folder: str
    requirements: tuple[str, ...]
    """What was asked for; what that needs is there too."""
    python: str = ""
    """The version of its Python, as `environments` finds it; empty without a Python, or if that cannot be read."""
    size: int = 0
    """Bytes of its files."""
    used: float = 0.0
    """When it was last used, in seconds since 1970."""

    @property
    def program(self) -> str:
        """Its Python."""
        return os.path.join(self.folder, "bin/python3")

    @property
    def modules(self) -> str:
        """Its modules of Node.js."""
        return os.path.join(self.folder, "node_modules")

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `env --json`."""
        return {
            "name": self.name,
            "folder": self.folder,
            "requirements": [*self.requirements],
            "python": self.python,
            "size": self.size,
            "used": self.used,
        }


def find_environment(needs: Needs, env: Mapping[str, str], *, builds: bool = False) -> Environment | None:
    """Return the environment with these packages if it was installed before.

    Raises:
        InstallError: another user could have changed it.
    """
    top = _top(env)
    if top is None:
        return None
    folder = os.path.join(top, _name(needs, builds=builds))
    if not os.path.isdir(folder):
        return None
    try:
        for path in (top, folder):
            check_own(path)
    except ForeignError as error:
        raise InstallError(f"the environment is not used: {error.strerror}", hint=error.hint) from None
    return Environment(name=os.path.basename(folder), folder=folder, requirements=needs.requirements)


def install(needs: Needs, env: Mapping[str, str], *, builds: bool = False) -> Environment:
    """Return the environment with these packages, and make it if it is missing.

    Args:
        needs: what to install.
        env: the user's environment: where packages come from.
        builds: whether packages without a wheel are built, which runs code of theirs outside the sandbox.

    Raises:
        InstallError: something needed cannot be installed, uv or npm is missing, there is no cache, or no such
            Python.
    """
    if known := find_environment(needs, env, builds=builds):
        with suppress(OSError):
            os.utime(os.path.join(known.folder, _RECORD))
        return known
    top = _top(env)
    if top is None:
        raise InstallError("there is no folder for environments", hint="set `PROWESS_CACHE_DIR` to one")
    installer = find_npm(env) if needs.kind == "npm" else find_uv(env)
    if installer is None:
        name, how = ("npm", "`apt install npm`") if needs.kind == "npm" else ("uv", "`pip install uv`")
        hint = f"install {name}, for example with {how}"
        raise InstallError(f"{_listed(needs)} cannot be installed without {name}", hint=hint)
    name = _name(needs, builds=builds)
    try:
        own_folder(top, os.path.dirname(top), follow=True)
        with locked(top, f".{name}.lock"):
            # Another process may have made it while this one waited.
            if known := find_environment(needs, env, builds=builds):
                return known
            _make(installer, needs, os.path.join(top, name), env, builds=builds)
            made = find_environment(needs, env, builds=builds)
    except ForeignError as error:
        raise InstallError(f"nothing was installed: {error.strerror}", hint=error.hint) from None
    except OSError as error:
        raise InstallError(f"nothing was installed: {_words(error)}") from None
    if made is None:
        raise InstallError("the environment was removed while it was made", hint="try again")
    return made


def _make(installer: str, needs: Needs, folder: str, env: Mapping[str, str], *, builds: bool) -> None:
    temporary = f"{folder}.new"
    if os.path.lexists(temporary):  # of a process that was ended
        remove_tree(temporary)
    try:
        os.mkdir(temporary, 0o700)
        if needs.kind == "npm":
            _fill_with_npm(installer, needs, temporary, env, builds=builds)
        else:
            _fill_with_uv(installer, needs, temporary, env, builds=builds)
        import json

        python = _version(temporary) if needs.kind == "python" else ""
        record = {"requirements": [*needs.requirements], "python": python}
        with open(os.path.join(temporary, _RECORD), "x", encoding="utf-8") as file:
            json.dump(record, file)
        os.rename(temporary, folder)
    finally:
        if os.path.lexists(temporary):
            remove_tree(temporary)


def _fill_with_uv(uv: str, needs: Needs, folder: str, env: Mapping[str, str], *, builds: bool) -> None:
    python = needs.python or _base_python()
    create = [uv, "venv", "--quiet", "--allow-existing", "--no-project", "--no-python-downloads", "--relocatable"]
    settings = _settings(env)
    _run([*create, *settings, "--python", python, folder], folder, env, needs)
    if needs.requirements:
        listed = os.path.join(folder, "requirements.txt")
        with open(listed, "x", encoding="ascii") as file:
            file.write("".join(f"{requirement}\n" for requirement in needs.requirements))
        kinds = [] if builds else ["--no-build"]
        command = [uv, "pip", "install", "--quiet", "--no-progress", "--link-mode", "copy", *kinds, *settings]
        program = os.path.join(folder, "bin/python3")
        _run([*command, "--python", program, "--requirement", listed], folder, env, needs)


def _fill_with_npm(npm: str, needs: Needs, folder: str, env: Mapping[str, str], *, builds: bool) -> None:
    """Install packages of Node.js. Their install scripts run only if that is allowed."""
    import json

    packages = dict(requirement.rsplit("@", 1) for requirement in needs.requirements)
    with open(os.path.join(folder, "package.json"), "x", encoding="ascii") as file:
        json.dump({"private": True, "dependencies": packages}, file)
    if needs.lock:
        with open(os.path.join(folder, "package-lock.json"), "x", encoding="ascii") as file:
            file.write(needs.lock)
    command = ["ci"] if needs.lock else ["install", "--no-package-lock"]
    kinds = [] if builds else ["--ignore-scripts"]
    # A package may depend on a repository: git would use the user's keys, and settings in it may name programs.
    kinds += ["--git=false"]
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    _run([npm, *command, "--omit=dev", *kinds, *quiet], folder, env, needs)


def _run(command: Sequence[str], cwd: str, env: Mapping[str, str], needs: Needs) -> None:
    """Run uv or npm.

    Raises:
        InstallError: it fails, takes too long, or is stopped.
    """
    import signal
    import subprocess

    from prowess.sandbox import stopped_by_scopes

    allowed = {name: value for name, value in env.items() if name in _VARIABLES.split()}
    with subprocess.Popen(
        command,
        cwd=cwd,
        env={**allowed, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:

        def end() -> None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        try:
            with stopped_by_scopes(end):
                output, _ = process.communicate(timeout=_MAX_SECONDS)
        except BaseException as error:
            end()
            if isinstance(error, subprocess.TimeoutExpired):
                message = f"{_listed(needs)} could not be installed in {_MAX_SECONDS // 60} minutes"
                raise InstallError(message) from None
            raise
    if process.returncode:
        raise InstallError(f"{_listed(needs)} cannot be installed: {_reason(output)}", hint=_hint(output))


def _settings(env: Mapping[str, str]) -> list[str]:
    """Return the option for the user's own settings of uv, which otherwise looks for some in every folder above it."""
    config = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")
    own = [os.path.join(config, "uv/uv.toml"), "/etc/uv/uv.toml"]
    files = [path for path in own if os.path.isabs(path) and os.path.isfile(path)]
    return [] if env.get("UV_CONFIG_FILE") else ["--config-file", files[0]] if files else ["--no-config"]


def _reason(output: bytes) -> str:
    """Return what uv or npm says, in a few words."""
    lines = [
        neutral(line).removeprefix("npm error ").strip(" ×╰─▶├│")
        for line in output.decode("utf-8", "replace").splitlines()
    ]
    text = " ".join(line for line in lines if line and not line.startswith(("hint:", "warning:")))
    return text.removeprefix("error: ")[:500] or "it failed"


def _hint(output: bytes) -> str | None:
    if b"no-build" in output or b"only-binary" in output or b"no usable wheels" in output or b"building" in output:
        return (
            "a package has no wheel for this machine; `Scripts(packages='any')` lets uv build it, which runs its code"
        )
    if b"git error" in output:
        return "a package that it needs is a repository of git, which is never installed"
    if b"No interpreter found" in output:
        return "install such a Python, for example with `uv python install`"
    if b"dns error" in output or b"Failed to fetch" in output or b"network" in output.lower():
        return "check the connection to the package index, and try again"
    return None


def _listed(needs: Needs) -> str:
    names = [f"`{requirement}`" for requirement in needs.requirements] or [f"Python `{needs.python}`"]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def find_uv(env: Mapping[str, str]) -> str | None:
    """Return uv: beside this Python, or else on the user's PATH."""
    from shutil import which

    from prowess.sandbox import python_program

    beside = os.path.join(os.path.dirname(python_program()), "uv")
    if os.access(beside, os.X_OK):
        return beside
    return which("uv", path=_absolute_folders(env))


def find_npm(env: Mapping[str, str]) -> str | None:
    """Return npm on the user's PATH."""
    from shutil import which

    return which("npm", path=_absolute_folders(env))


def _absolute_folders(env: Mapping[str, str]) -> str:
    """Return PATH without folders that depend on the working directory."""
    return os.pathsep.join(folder for folder in env.get("PATH", "").split(os.pathsep) if os.path.isabs(folder))


def _base_python() -> str:
    """Return the Python that this one is an environment of, or this one."""
    from prowess.sandbox import python_program

    base: str = getattr(sys, "_base_executable", "")
    return base if os.path.isabs(base) else python_program()


def _name(needs: Needs, *, builds: bool) -> str:
    """Return the name of the environment: all that decides what is in it."""
    import hashlib
    import platform

    base = real_path(_base_python())
    python = [base, sys.version, needs.python] if needs.kind == "python" else []
    words = [_FORM, needs.kind, *python, platform.machine(), str(builds), *needs.requirements, needs.lock]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def _version(folder: str) -> str:
    """Return the version of an environment's Python, as its `pyvenv.cfg` says."""
    with open(os.path.join(folder, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
        rows = dict(line.replace(" ", "").rstrip().partition("=")[::2] for line in file)
    return rows.get("version_info", rows.get("version", ""))[:40]


def _top(env: Mapping[str, str]) -> str | None:
    cache = cache_folder(env)
    return None if cache is None else os.path.join(cache, "environments")


# ── what is there ────────────────────────────────────────────────────────────────────────────────────────────────────


def environments(env: Mapping[str, str]) -> list[Environment]:
    """Return all environments, the one used last first.

    Raises:
        InstallError: their folder cannot be listed.
    """
    top = _top(env)
    try:
        found = [_described(os.path.join(top, name)) for name in _names(top)] if top else []
    except OSError as error:
        raise InstallError(f"the environments cannot be listed: {_words(error)}") from None
    return sorted(found, key=lambda each: (-each.used, each.name))


def remove_environment(environment: Environment) -> None:
    """Remove an environment; what uses it meanwhile fails.

    Raises:
        InstallError: it cannot be removed.
    """
    top, name = os.path.split(environment.folder)
    try:
        with locked(top, f".{name}.lock"):
            # The file of the lock stays: others may wait for it.
            for folder in (environment.folder, f"{environment.folder}.new"):
                if os.path.lexists(folder):
                    remove_tree(folder)
    except OSError as error:
        raise InstallError(f"the environment `{name}` cannot be removed: {_words(error)}") from None


def _words(error: OSError) -> str:
    return describe_os_error(error) + (f": {neutral(str(error.filename))}" if error.filename is not None else "")


def _names(top: str) -> set[str]:
    """Return the names of environments, also of one that is being made, or whose making was interrupted."""
    try:
        with os.scandir(top) as entries:
            names = {entry.name.removesuffix(".new") for entry in entries if entry.is_dir(follow_symlinks=False)}
    except FileNotFoundError:
        return set()
    return {name for name in names if _is_name(name)}


def _is_name(name: str) -> bool:
    return len(name) == 16 and set(name) <= set("0123456789abcdef")


def _described(folder: str) -> Environment:
    import json

    requirements: tuple[str, ...] = ()
    python, used = "", 0.0
    with suppress(OSError, ValueError, RecursionError):
        path = os.path.join(folder, _RECORD)
        used = os.stat(path).st_mtime
        with open(path, encoding="utf-8") as file:
            record = json.loads(file.read(1024 * 1024))
        if isinstance(record, dict) and isinstance(listed := record.get("requirements"), list):
            requirements, python = tuple(map(str, listed)), str(record.get("python", ""))
    size = 0
    for top in (folder, f"{folder}.new"):
        for parent, _, files in os.walk(top):
            for name in files:
                with suppress(OSError):
                    size += os.lstat(os.path.join(parent, name)).st_size
    name = os.path.basename(folder)
    return Environment(name=name, folder=folder, requirements=requirements, python=python, size=size, used=used)
