"""Know where each agent client keeps skills, and what it does with them.

A host is the conventions of one client, in one TOML file of this folder. Start with `load_host(name)`, which returns a
`Host`, and `host_names()`; `apply_dialect` reads a skill as a host does. This package knows no catalog: which folders
exist, and which skill wins, is decided above.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._dialect import (
        INVALID_YAML_CODES,
        apply_dialect,
        javascript_literal,
        javascript_string,
        parse_fallback_fields,
        value_kind,
        value_matches,
    )
    from ._host import (
        DESCRIPTION_ACTIONS,
        NAME_ACTIONS,
        Budget,
        DescriptionRules,
        Flag,
        Host,
        IsolatedLaunch,
        NameRules,
        ReadingRules,
        Repair,
        Root,
        Setting,
        Template,
    )
    from ._load import DEFAULT_HOST, host_from_table, host_names, load_host, raw_value
    from ._tables import TABLES
    from ._template import (
        RootAliases,
        clean_description,
        collation_key,
        escape_entities,
        fill_template,
        measure_text,
        template_values,
    )

__all__ = [
    "Budget",
    "DEFAULT_HOST",
    "DESCRIPTION_ACTIONS",
    "DescriptionRules",
    "Flag",
    "Host",
    "INVALID_YAML_CODES",
    "IsolatedLaunch",
    "NAME_ACTIONS",
    "NameRules",
    "ReadingRules",
    "Repair",
    "Root",
    "RootAliases",
    "Setting",
    "TABLES",
    "Template",
    "apply_dialect",
    "clean_description",
    "collation_key",
    "escape_entities",
    "fill_template",
    "host_from_table",
    "host_names",
    "javascript_literal",
    "javascript_string",
    "load_host",
    "measure_text",
    "parse_fallback_fields",
    "raw_value",
    "template_values",
    "value_kind",
    "value_matches",
]

if not TYPE_CHECKING:  # otherwise every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_dialect": (
                "INVALID_YAML_CODES",
                "apply_dialect",
                "javascript_literal",
                "javascript_string",
                "parse_fallback_fields",
                "value_kind",
                "value_matches",
            ),
            "_host": (
                "Budget",
                "DESCRIPTION_ACTIONS",
                "DescriptionRules",
                "Flag",
                "Host",
                "IsolatedLaunch",
                "NAME_ACTIONS",
                "NameRules",
                "ReadingRules",
                "Repair",
                "Root",
                "Setting",
                "Template",
            ),
            "_load": (
                "DEFAULT_HOST",
                "host_from_table",
                "host_names",
                "load_host",
                "raw_value",
            ),
            "_tables": ("TABLES",),
            "_template": (
                "RootAliases",
                "clean_description",
                "collation_key",
                "escape_entities",
                "fill_template",
                "measure_text",
                "template_values",
            ),
        },
    )
