"""Read a SKILL.md as a client does: its fences, its YAML, and the kinds of its values."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._descriptions import (
        action_for_file as action_for_file,
        clean_description as clean_description,
        counted_length as counted_length,
        cut_description as cut_description,
        cut_text as cut_text,
        final_description as final_description,
        text_from_body as text_from_body,
        text_without_body as text_without_body,
        when_to_use as when_to_use,
    )
    from ._dialect import (
        INVALID_YAML_CODES as INVALID_YAML_CODES,
        apply_dialect as apply_dialect,
        codes_as_read as codes_as_read,
        frontmatter_lines as frontmatter_lines,
        is_repaired as is_repaired,
        parse_between_fences as parse_between_fences,
        parse_other_format as parse_other_format,
        plain_front_check as plain_front_check,
        quote_values as quote_values,
        read_text as read_text,
        repair_lines as repair_lines,
        trim_front as trim_front,
        with_finding as with_finding,
        without_tabs as without_tabs,
    )
    from ._field_values import (
        are_plain_keys as are_plain_keys,
        field_or_entry as field_or_entry,
        fields_as_read as fields_as_read,
        is_usable_body as is_usable_body,
        kind_of_list as kind_of_list,
        refuses_file as refuses_file,
        rejects_finding as rejects_finding,
        value_kind as value_kind,
        value_matches as value_matches,
        without_null_items as without_null_items,
    )
    from ._javascript import javascript_literal as javascript_literal, javascript_string as javascript_string
    from ._lenient_yaml import (
        has_unquoted_controls as has_unquoted_controls,
        replace_half_pairs as replace_half_pairs,
        write_flow_keys as write_flow_keys,
    )
    from ._line_parsers import (
        JAVASCRIPT_SPACE as JAVASCRIPT_SPACE,
        UNICODE_SPACE as UNICODE_SPACE,
        host_pattern as host_pattern,
        lines_to_parse as lines_to_parse,
        white_space as white_space,
    )
    from ._names import (
        final_name as final_name,
        is_alias as is_alias,
        name_in_root as name_in_root,
        name_of_file as name_of_file,
        name_problem as name_problem,
        plugin_above as plugin_above,
        trim_name as trim_name,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
