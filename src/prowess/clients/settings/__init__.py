"""Read the settings of clients, as far as they change which skills are seen."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._bounded_expressions import TOKEN as TOKEN, count_steps as count_steps
    from ._client_arguments import ClientArguments as ClientArguments
    from ._named_folders import (
        NamedFolder as NamedFolder,
        join_named as join_named,
        listed_folders as listed_folders,
        named_directory as named_directory,
    )
    from ._settings_files import (
        ARGUMENTS as ARGUMENTS,
        Places as Places,
        SettingsFiles as SettingsFiles,
        SettingsLayer as SettingsLayer,
        parse_settings as parse_settings,
        parse_toml as parse_toml,
        settings_layers as settings_layers,
        settings_paths as settings_paths,
    )
    from ._settings_reader import (
        SettingsReader as SettingsReader,
        find_hiding_setting as find_hiding_setting,
    )
    from ._settings_values import (
        find_problem as find_problem,
        find_wrong_type as find_wrong_type,
        get_dotted as get_dotted,
        is_switched_on as is_switched_on,
        items_of as items_of,
        merge_deep as merge_deep,
        merge_files as merge_files,
        merge_union as merge_union,
        name_matcher as name_matcher,
        parse_bool as parse_bool,
        texts_of as texts_of,
        truth_of as truth_of,
    )
    from ._settings_variables import (
        fill_braces as fill_braces,
        plugin_variables as plugin_variables,
        replace_variables as replace_variables,
    )
    from ._trust import (
        contains as contains,
        folders_with_trust as folders_with_trust,
        main_working_tree as main_working_tree,
        word_of_nearest as word_of_nearest,
    )
    from ._user_settings import (
        EntryRules as EntryRules,
        NamedSkill as NamedSkill,
        Settings as Settings,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
