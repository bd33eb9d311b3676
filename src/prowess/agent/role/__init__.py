"""Read role files, and load the skills that a role names.

Front door: `load_role` reads a role's file, `load_explicit_skills` loads the skills it names, and `schema` is the JSON
Schema for editors. Nothing here knows Pydantic AI, the rest of `prowess.agent`, or the catalog.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._keys import TOOL_FIELDS as TOOL_FIELDS, schema as schema
    from ._role import (
        ROLE_INVALID as ROLE_INVALID,
        Guardrails as Guardrails,
        ModelConfig as ModelConfig,
        Role as Role,
        Security as Security,
        UnusedKey as UnusedKey,
        load_role as load_role,
        parse_model as parse_model,
        role_error as role_error,
    )
    from ._skills import (
        LoadedSkill as LoadedSkill,
        load_explicit_skills as load_explicit_skills,
        load_skill as load_skill,
        read_skill_tools as read_skill_tools,
        server_labels as server_labels,
        skill_dirs as skill_dirs,
    )
    from ._tools import ToolConfig as ToolConfig
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
