"""Read role files, and load the skills that a role names.

Front door: `load_role` reads a role's file, `load_explicit_skills` loads the skills it names, and `schema` is the JSON
Schema for editors. Nothing here knows Pydantic AI, the rest of `prowess.agent`, or the catalog.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._role import (
        ROLE_INVALID,
        Guardrails,
        ModelConfig,
        Role,
        Security,
        ToolConfig,
        load_role,
        parse_model,
        schema,
    )
    from ._skills import LoadedSkill, load_explicit_skills, load_skill, read_skill_tools, skill_dirs

__all__ = [
    "Guardrails",
    "LoadedSkill",
    "ModelConfig",
    "ROLE_INVALID",
    "Role",
    "Security",
    "ToolConfig",
    "load_explicit_skills",
    "load_role",
    "load_skill",
    "parse_model",
    "read_skill_tools",
    "schema",
    "skill_dirs",
]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_role": (
                "Guardrails",
                "ModelConfig",
                "ROLE_INVALID",
                "Role",
                "Security",
                "ToolConfig",
                "load_role",
                "parse_model",
                "schema",
            ),
            "_skills": (
                "LoadedSkill",
                "load_explicit_skills",
                "load_skill",
                "read_skill_tools",
                "skill_dirs",
            ),
        },
    )
