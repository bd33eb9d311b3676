"""Read what a client's user has set about skills: which are off, whether skills are on, which folders are trusted.

The host's file says where the settings are. A settings file that cannot be used is a finding, never a failure.
"""

from __future__ import annotations

import os

from prowess._internal.files import expand_home

from ._filesystem import Filesystem
from ._permission_rules import name_matcher
from ._setting_values import skill_effects
from ._settings_reader import SettingsReader
from ._user_settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from prowess.hosts import Host, Setting

__all__ = ["Settings", "find_hiding_setting", "read_settings"]


def read_settings(
    host: Host,
    *,
    project: str,
    cwd: str,
    home: str,
    env: Mapping[str, str],
    home_variables: Mapping[str, str] | None = None,
    role: str | None = None,
    client_args: Sequence[str] = (),
    filesystem: Filesystem | None = None,
) -> Settings:
    """Read a host's settings.

    Args:
        host: whose settings.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
        env: the environment.
        home_variables: the variables that may move a settings file; those of the environment by default.
        role: an InitRunner role file, whose `spec.auto_skills` counts.
        client_args: the arguments that the client is started with.
        filesystem: what was read so far.
    """
    reader = SettingsReader(
        host,
        project=project,
        cwd=cwd,
        home=home,
        env=env,
        home_variables=env if home_variables is None else home_variables,
        client_args=client_args,
        filesystem=filesystem or Filesystem(),
    )
    return reader.read(role)


def find_hiding_setting(
    host: Host,
    *,
    project: str,
    cwd: str,
    home: str,
    env: Mapping[str, str],
    names: Collection[str],
    paths: Collection[str],
) -> tuple[Setting, str, str] | None:
    """Return the setting that hides a skill, its file, and how the skill is written there.

    Args:
        host: whose settings.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
        env: the environment.
        names: of the skill.
        paths: of the skill's folder and SKILL.md.
    """
    reader = SettingsReader(
        host,
        project=project,
        cwd=cwd,
        home=home,
        env=env,
        home_variables=env,
        client_args=(),
        filesystem=Filesystem(),
    )
    folded = {name.lower() for name in names}
    for setting in host.settings:
        for file, value in reader.setting_values(setting):
            for written, effect in skill_effects(setting, value):
                absolute = os.path.normpath(os.path.join(os.path.dirname(file), expand_home(written, home)))
                matches = (
                    written in names
                    or (setting.fold and written.strip().lower() in folded)
                    or absolute in paths
                    or ((setting.patterns or setting.form == "rules") and any(map(name_matcher(written), names)))
                )
                if matches and effect != "on":
                    return setting, file, written
    return None
