"""Read, check, repair and write a SKILL.md.

Start with `parse(data)` or `load(path)`, which return a `Skill`; `check_skill(skill)` returns its findings, and
`render(skill)` its text. `parse_frontmatter` is the parser underneath, and `fast_parse` the fast path of a catalog.
This package knows no host: what a client does with a finding is decided above.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._body_rules import check_body, check_links
    from ._fast import YAML_LITERALS, FastFrontmatter, fast_parse, fast_parse_table
    from ._fences import frontmatter_end
    from ._fix import change_name, fix_file
    from ._forms import (
        MAX_BYTES,
        FindingCollector,
        MappingReader,
        read_json_mapping,
        read_yaml_list,
        read_yaml_mapping,
    )
    from ._frontmatter import MAX_FRONTMATTER_BYTES, Document, parse_frontmatter, parse_yaml_mapping
    from ._integrity import MAX_DEPTH, digest_of_records, integrity_digest, integrity_record, read_integrity
    from ._json_nodes import json_value
    from ._render import render
    from ._requirements import find_missing
    from ._rules import (
        MAX_COMPATIBILITY,
        MAX_DESCRIPTION,
        MAX_NAME,
        RESERVED_WORDS,
        check_skill,
    )
    from ._skill import FIELDS, SPEC_FIELDS, Requirements, Skill, from_document, load, parse, unreadable_skill
    from ._yaml import Field, Value, YamlSyntaxError
    from ._yaml_nodes import Node, parse_yaml_node

__all__ = [
    "Document",
    "FIELDS",
    "FastFrontmatter",
    "Field",
    "FindingCollector",
    "MAX_BYTES",
    "MAX_COMPATIBILITY",
    "MAX_DEPTH",
    "MAX_DESCRIPTION",
    "MAX_FRONTMATTER_BYTES",
    "MAX_NAME",
    "MappingReader",
    "Node",
    "RESERVED_WORDS",
    "Requirements",
    "SPEC_FIELDS",
    "Skill",
    "Value",
    "YAML_LITERALS",
    "YamlSyntaxError",
    "change_name",
    "check_body",
    "check_links",
    "check_skill",
    "digest_of_records",
    "fast_parse",
    "fast_parse_table",
    "find_missing",
    "fix_file",
    "from_document",
    "frontmatter_end",
    "integrity_digest",
    "integrity_record",
    "json_value",
    "load",
    "parse",
    "parse_frontmatter",
    "parse_yaml_mapping",
    "parse_yaml_node",
    "read_integrity",
    "read_json_mapping",
    "read_yaml_list",
    "read_yaml_mapping",
    "render",
    "unreadable_skill",
]

if not TYPE_CHECKING:  # otherwise every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_body_rules": (
                "check_body",
                "check_links",
            ),
            "_fast": (
                "FastFrontmatter",
                "YAML_LITERALS",
                "fast_parse",
                "fast_parse_table",
            ),
            "_fences": ("frontmatter_end",),
            "_fix": (
                "change_name",
                "fix_file",
            ),
            "_forms": (
                "FindingCollector",
                "MAX_BYTES",
                "MappingReader",
                "read_json_mapping",
                "read_yaml_list",
                "read_yaml_mapping",
            ),
            "_frontmatter": (
                "Document",
                "MAX_FRONTMATTER_BYTES",
                "parse_frontmatter",
                "parse_yaml_mapping",
            ),
            "_integrity": (
                "MAX_DEPTH",
                "digest_of_records",
                "integrity_digest",
                "integrity_record",
                "read_integrity",
            ),
            "_json_nodes": ("json_value",),
            "_render": ("render",),
            "_requirements": ("find_missing",),
            "_rules": (
                "MAX_COMPATIBILITY",
                "MAX_DESCRIPTION",
                "MAX_NAME",
                "RESERVED_WORDS",
                "check_skill",
            ),
            "_skill": (
                "FIELDS",
                "Requirements",
                "SPEC_FIELDS",
                "Skill",
                "from_document",
                "load",
                "parse",
                "unreadable_skill",
            ),
            "_yaml": (
                "Field",
                "Value",
                "YamlSyntaxError",
            ),
            "_yaml_nodes": (
                "Node",
                "parse_yaml_node",
            ),
        },
    )
