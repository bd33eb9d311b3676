"""What scripts of skills need to run: find it, install it once, and say what is missing.

Front door: `find_needs` reads what a script needs, `install` returns an environment with it, `environments` lists what
was installed, and `missing_hints` reads what a script that failed wrote. `find_script_program` does it for a script of
a skill, `with_packages` for one of a role. Nothing here decides whether a script may run.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._install import (
        Environment as Environment,
        environments as environments,
        find_environment as find_environment,
        find_uv as find_uv,
        install as install,
        remove_environment as remove_environment,
    )
    from ._known import DISTRIBUTIONS as DISTRIBUTIONS
    from ._missing import missing_hints as missing_hints, require_program as require_program
    from ._needs import (
        Needs as Needs,
        find_needs as find_needs,
        find_node_needs as find_node_needs,
        needs_of_skill as needs_of_skill,
    )
    from ._script_program import (
        ScriptProgram as ScriptProgram,
        find_script_program as find_script_program,
        with_packages as with_packages,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
