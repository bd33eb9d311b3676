"""host name -> Host

A host is an agent client's conventions, written down in one TOML file in `hosts/`; there is no class per host. What
each key means is said here, and `docs/hosts/README.md` tells how to write one. A default is the convention most clients
share. What is loaded is `_hosts.py`, which `make docs` writes from these files.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._dialect import apply_dialect
    from ._host import (
        DEFAULT_HOST,
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
        host_from_table,
        host_names,
        load_host,
        raw_value,
    )
    from ._lines import INVALID_YAML_CODES, parse_fallback_fields
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
    from ._values import javascript_literal, javascript_string, value_kind, value_matches

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

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_dialect": ("apply_dialect",),
            "_host": (
                "Budget",
                "DEFAULT_HOST",
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
                "host_from_table",
                "host_names",
                "load_host",
                "raw_value",
            ),
            "_lines": (
                "INVALID_YAML_CODES",
                "parse_fallback_fields",
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
            "_values": (
                "javascript_literal",
                "javascript_string",
                "value_kind",
                "value_matches",
            ),
        },
    )
