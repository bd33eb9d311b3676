"""Know where each agent client keeps skills, and what it does with them.

A host is the conventions of one client, in one TOML file of this folder. Start with `load_host(name)`, which returns a
`Host`, and `host_names()`. This package knows no catalog: which folders exist, and which skill wins, is decided above.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._describe import FOLDERS_TITLE as FOLDERS_TITLE, describe_rules as describe_rules
    from ._detect import (
        detected_hosts as detected_hosts,
        installed_hosts as installed_hosts,
        observed_hosts as observed_hosts,
        skills_folder as skills_folder,
    )
    from ._evidence import (
        EVIDENCE_MARK as EVIDENCE_MARK,
        Evidence as Evidence,
        evidence_marks as evidence_marks,
        evidence_note as evidence_note,
        evidence_of as evidence_of,
    )
    from ._key_docs import KEY_DOCS as KEY_DOCS
    from ._load import load_host as load_host
    from ._raw_values import DEFAULT_HOST as DEFAULT_HOST, host_names as host_names, raw_value as raw_value
    from ._schema import (
        DESCRIPTION_ACTIONS as DESCRIPTION_ACTIONS,
        NAME_ACTIONS as NAME_ACTIONS,
        Argument as Argument,
        Budget as Budget,
        DescriptionRules as DescriptionRules,
        Flag as Flag,
        HonouredFields as HonouredFields,
        Host as Host,
        IsolatedLaunch as IsolatedLaunch,
        NameRules as NameRules,
        PluginRules as PluginRules,
        ReadingRules as ReadingRules,
        Root as Root,
        Setting as Setting,
        SettingsFile as SettingsFile,
        Source as Source,
        Template as Template,
    )
    from ._tables import TABLES as TABLES
    from ._template import (
        TEMPLATE_VALUES as TEMPLATE_VALUES,
        RootAliases as RootAliases,
        ShownSkill as ShownSkill,
        clean_description as clean_description,
        collation_key as collation_key,
        escape_entities as escape_entities,
        fill_template as fill_template,
        measure_text as measure_text,
        split_template as split_template,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
