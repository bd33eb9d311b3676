"""Find the program that runs a script, and install what the script needs."""

from __future__ import annotations

import os
from contextlib import suppress

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.errors import InstallError, SkillError
from prowess.sandbox import environment_folders, find_user_program, search_path
from prowess.skill import Requirements, find_missing, program_words

from ._install import install
from ._missing import require_program
from ._needs import find_needs, find_node_needs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prowess.skill import Skill

    from ._install import Environment
    from ._needs import Needs

_HINT = "tell the user what to install, or go on without the script"


class ScriptProgram(Frozen):
    """What runs a script."""

    words: tuple[str, ...]
    """The program and its options."""
    readable: tuple[str, ...]
    """The files and folders it needs besides those of the system and of this Python."""
    env: Mapping[str, str]
    """Its variables: PATH, and those with which modules of the skill are found from every folder in it."""
    is_own_python: bool = True
    """Whether `python3` is the Python of Prowess."""
    notes: tuple[str, ...] = ()
    """What the model should know of it, in lines."""


def find_script_program(
    skill: Skill, folder: str, parts: Sequence[str], head: bytes, env: Mapping[str, str], packages: str
) -> ScriptProgram:
    """Return what runs a script, after its packages were installed.

    Args:
        skill: with what its front matter requires.
        folder: with the files of the skill.
        parts: the path of the script in it.
        head: the first bytes of the script.
        env: the environment of the user, with the variables of scripts.
        packages: which packages may be installed, as in `Scripts`.

    Raises:
        SkillError: something that it needs is missing and cannot be installed.
    """
    script = "/".join(parts)
    words = program_words(script, head)
    require_program(words[0], script, bool(find_user_program(words[0], env)[1]))
    declared = skill.requirements
    missing = find_missing(Requirements(env=declared.env, bins=declared.bins), env=env)
    _check(script, (item.message + (f" ({item.hint})" if item.hint else "") for item in missing))
    return with_packages(words, folder, parts, declared.packages, env, packages)


def with_packages(
    words: Sequence[str],
    folder: str,
    parts: Sequence[str],
    declared: Iterable[str],
    env: Mapping[str, str],
    packages: str,
) -> ScriptProgram:
    """Return what runs a script, after its packages were installed.

    Args:
        words: the program and its options. `python3` is this Python, or that of an environment with the packages.
        folder: with the script.
        parts: the path of the script in it.
        declared: the packages that a skill requires.
        env: the environment of the user.
        packages: which packages may be installed, as in `Scripts`.

    Raises:
        SkillError: declared packages cannot be installed.
    """
    script = "/".join(parts)
    program, needed = find_user_program(words[0], env)
    is_python = words[0] == "python3"
    if words[0] == "node":
        needs = find_node_needs(folder, parts)
    else:
        needs = find_needs(folder, parts, declared, imports=is_python)
    notes = needs.notes(unknown=False)
    own: tuple[str, ...] = ()
    path = search_path(program, needed)
    modules = ""
    if needs.packages and (needs.kind == "npm" or find_missing(Requirements(packages=needs.packages))):
        try:
            environment = _install(needs, packages)
        except InstallError as error:
            if needs.is_declared:
                hint = f"{error.hint}; {_HINT}" if error.hint else _HINT
                raise SkillError(f"{quoted(script)} cannot run: {error}", hint=hint) from None
            notes.append(f"[not installed for the script: {error}{f' ({error.hint})' if error.hint else ''}]")
        else:
            if needs.kind == "npm":
                modules = environment.modules
                own = (environment.folder, _link_modules(folder, modules))
            else:
                own = environment_folders(environment.folder, os.environ)
                path = f"{environment.folder}/bin:{path}"
                program = environment.program if is_python else program
    return ScriptProgram(
        words=(program, *words[1:]),
        readable=(*needed, *own),
        env={
            "PATH": path,
            "PYTHONPATH": folder,
            "NODE_PATH": f"{modules}:{folder}" if modules else folder,
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        is_own_python=not own or needs.kind == "npm",
        notes=tuple(notes),
    )


def _link_modules(folder: str, modules: str) -> str:
    """Return a link to modules of Node.js above a skill, where `import` looks for them: it does not read NODE_PATH."""
    link = os.path.join(os.path.dirname(folder), "node_modules")
    with suppress(FileExistsError):
        os.symlink(modules, link)
    return link


def _install(needs: Needs, packages: str) -> Environment:
    # Where packages come from and are kept is a setting of this process, as for the store and the cache.
    if packages == "none":
        listed = ", ".join(f"`{each}`" for each in needs.packages[:5])
        raise InstallError(f"it needs {listed}, and nothing is installed here")
    return install(needs, os.environ, builds=packages == "any")


def _check(script: str, problems: Iterable[str]) -> None:
    """Check that nothing is missing that a skill requires of the machine.

    Raises:
        SkillError: something is missing.
    """
    if text := "; ".join(dict.fromkeys(problems)):
        raise SkillError(f"{quoted(script)} cannot run: {text}", hint=_HINT)
