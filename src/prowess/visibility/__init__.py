"""Say which agents see which skills, why not, and what would change that."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._added_skills import AddedSkill as AddedSkill, views_after as views_after
    from ._compare import (
        ABSENT as ABSENT,
        ComparedSkill as ComparedSkill,
        Comparison as Comparison,
        View as View,
        compare as compare,
        compare_catalogs as compare_catalogs,
        compare_mounted as compare_mounted,
        copies_of_prowess as copies_of_prowess,
        misnamed_files as misnamed_files,
        named_files as named_files,
        outdated_finding as outdated_finding,
    )
    from ._competitors import (
        Competitor as Competitor,
        Contender as Contender,
        contenders_of as contenders_of,
        find_competitors as find_competitors,
    )
    from ._copies import first_entry as first_entry, rows_of_entries as rows_of_entries
    from ._installed import (
        LOCK_INVALID as LOCK_INVALID,
        NOT_INSTALLED as NOT_INSTALLED,
        InstalledSkills as InstalledSkills,
        is_about as is_about,
        lock_findings as lock_findings,
        stays_behind as stays_behind,
    )
    from ._kinds import (
        KIND_MEANINGS as KIND_MEANINGS,
        KIND_WORDS as KIND_WORDS,
        EntryKinds as EntryKinds,
        Kind as Kind,
        kind_of as kind_of,
    )
    from ._loss_groups import Cure as Cure, LossGroup as LossGroup, group_losses as group_losses
    from ._losses import Loss as Loss
    from ._mount_cures import (
        mount_argument as mount_argument,
        mount_command as mount_command,
        mount_folder as mount_folder,
    )
    from ._mount_rules import mount_blockers as mount_blockers
    from ._offer import Offer as Offer, find_offer as find_offer, has_errors as has_errors
    from ._summary import (
        describe_others as describe_others,
        describe_unsearched as describe_unsearched,
        headline as headline,
        skill_label as skill_label,
    )
    from ._usage import SkillUse as SkillUse, Usage as Usage, usage_of as usage_of
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
