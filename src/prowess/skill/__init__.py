"""Read, check, repair and write a SKILL.md.

Start with `parse(data)` or `load(path)`, which return a `Skill`; `check_skill(skill)` returns its findings, and
`render(skill)` its text. `parse_frontmatter` is the parser underneath, and `fast_parse` the fast path of a catalog.
This package knows no host: what a client does with a finding is decided above.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._body_rules import (
        USUAL_FOLDERS as USUAL_FOLDERS,
        Links as Links,
        check_body as check_body,
        check_links as check_links,
        find_body_links as find_body_links,
        find_windows_paths as find_windows_paths,
    )
    from ._code import (
        FIRST_BYTES as FIRST_BYTES,
        find_code as find_code,
        is_code as is_code,
        named_program as named_program,
        program_words as program_words,
    )
    from ._core_values import core_mapping as core_mapping
    from ._fast import (
        YAML_LITERALS as YAML_LITERALS,
        FastFrontmatter as FastFrontmatter,
        fast_parse as fast_parse,
        fast_parse_table as fast_parse_table,
    )
    from ._fences import frontmatter_end as frontmatter_end
    from ._fix import FixResult as FixResult, change_name as change_name, fix as fix
    from ._fix_file import fix_file as fix_file, reason_not_to_fix as reason_not_to_fix
    from ._forms import (
        MAX_BYTES as MAX_BYTES,
        FindingCollector as FindingCollector,
        MappingReader as MappingReader,
        read_json_mapping as read_json_mapping,
        read_json_node as read_json_node,
        read_yaml_list as read_yaml_list,
        read_yaml_mapping as read_yaml_mapping,
        read_yaml_node as read_yaml_node,
    )
    from ._frontmatter import (
        MAX_FRONTMATTER_BYTES as MAX_FRONTMATTER_BYTES,
        Document as Document,
        parse_frontmatter as parse_frontmatter,
        parse_yaml_mapping as parse_yaml_mapping,
        plain_field as plain_field,
    )
    from ._integrity import (
        MAX_DEPTH as MAX_DEPTH,
        EntryWriter as EntryWriter,
        FolderIntegrity as FolderIntegrity,
        check_link as check_link,
        has_integrity as has_integrity,
        integrity_digest as integrity_digest,
        integrity_record as integrity_record,
        portable_digest as portable_digest,
        portable_mode as portable_mode,
        read_integrity as read_integrity,
    )
    from ._json_nodes import json_value as json_value
    from ._names import (
        MAX_NAME as MAX_NAME,
        RESERVED_WORDS as RESERVED_WORDS,
        is_portable_name as is_portable_name,
        name_hint as name_hint,
        suggest_name as suggest_name,
    )
    from ._render import render as render
    from ._requirements import find_missing as find_missing
    from ._rules import (
        DESCRIPTION_PLACEHOLDER as DESCRIPTION_PLACEHOLDER,
        MAX_COMPATIBILITY as MAX_COMPATIBILITY,
        MAX_DESCRIPTION as MAX_DESCRIPTION,
        check_skill as check_skill,
    )
    from ._sealed_copy import SealedCopy as SealedCopy, sealed_copy as sealed_copy
    from ._skill import (
        FALSE_WORDS as FALSE_WORDS,
        FIELDS as FIELDS,
        SPEC_FIELDS as SPEC_FIELDS,
        Requirements as Requirements,
        Skill as Skill,
        from_document as from_document,
        load as load,
        parse as parse,
        unreadable_skill as unreadable_skill,
    )
    from ._yaml import (
        Field as Field,
        Node as Node,
        Value as Value,
        YamlSyntaxError as YamlSyntaxError,
        parse_yaml_node as parse_yaml_node,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
