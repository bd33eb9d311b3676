"""skills -> a plan -> a directory

A plan reads and refuses, and changes nothing; what it holds against the skills and the home is told at once. Applied, a
plan is there as a whole or not at all: `tree` copies, `transaction` puts the copies in their place. Which folder a
client looks in says its host file. Names, limits and errors are those of WINK's `SKILLS.md`.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._mount import (
        MountedSkill,
        MountReport,
        Plan,
        PlannedCopy,
        SkillConfig,
        SkillMount,
        apply,
        mount,
        plan,
        resolve_skill_name,
        skills_root,
        unmount,
    )
    from ._record import RecordedMount, read_record
    from ._validate import validate_skill, validate_skill_name

__all__ = [
    "MountReport",
    "MountedSkill",
    "Plan",
    "PlannedCopy",
    "RecordedMount",
    "SkillConfig",
    "SkillMount",
    "apply",
    "mount",
    "plan",
    "read_record",
    "resolve_skill_name",
    "skills_root",
    "unmount",
    "validate_skill",
    "validate_skill_name",
]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_mount": (
                "MountReport",
                "MountedSkill",
                "Plan",
                "PlannedCopy",
                "SkillConfig",
                "SkillMount",
                "apply",
                "mount",
                "plan",
                "resolve_skill_name",
                "skills_root",
                "unmount",
            ),
            "_record": (
                "RecordedMount",
                "read_record",
            ),
            "_validate": (
                "validate_skill",
                "validate_skill_name",
            ),
        },
    )
