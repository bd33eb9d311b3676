"""Mount skills into an agent's home, all of them or none, and remove them again.

`plan` reads and validates the skills and reports every problem, without changing anything; `apply` does what a plan
says; `mount` is both. `unmount` removes what Prowess mounted. The names, limits and errors are those of WINK's
`SKILLS.md`.

This package knows hosts (in which folder they look for skills) and skills, but no catalog and no session.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._apply import (
        MountedSkill as MountedSkill,
        MountReport as MountReport,
        apply as apply,
        mount as mount,
        unmount as unmount,
    )
    from ._config import (
        SkillConfig as SkillConfig,
        SkillMount as SkillMount,
        resolve_skill_name as resolve_skill_name,
        skills_root as skills_root,
    )
    from ._plan import Plan as Plan, plan as plan
    from ._skills_folder import (
        MountRecord as MountRecord,
        RecordedMount as RecordedMount,
        lock_skills_folder as lock_skills_folder,
        read_record as read_record,
        record_file_name as record_file_name,
        stage_record as stage_record,
    )
    from ._validate import validate_skill as validate_skill, validate_skill_name as validate_skill_name
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
