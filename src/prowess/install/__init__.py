"""Install skills from a source, and prove later that they are what was installed.

`parse_source` says what a source is, `plan_add` and `install_planned` install from it, and `verify` compares what is
installed with the lock, which `prowess.lock` reads. `Store` keeps fetched skills by their digest.
Sources with packages of their own are `git/`, `oci/` and `bucket/`; `snapshot/` has the skills of a whole organisation.
Nothing of this package is loaded before it is used.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._apm import ImportedLock as ImportedLock, read_apm_lock as read_apm_lock
    from ._change import (
        Changed as Changed,
        Restoration as Restoration,
        check_hosts as check_hosts,
        install_locked as install_locked,
        plan_removal as plan_removal,
        plan_restoration as plan_restoration,
        remove_installed as remove_installed,
    )
    from ._lock_sources import LockSources as LockSources
    from ._places import (
        Installation as Installation,
        Target as Target,
        find_target as find_target,
    )
    from ._plan import (
        AddPlan as AddPlan,
        OfferedSkill as OfferedSkill,
        PlannedSkill as PlannedSkill,
        PlannedUpdate as PlannedUpdate,
        UpdatePlan as UpdatePlan,
        install_planned as install_planned,
        plan_add as plan_add,
        plan_update as plan_update,
    )
    from ._project import is_interrupted as is_interrupted, lock_project as lock_project
    from ._publish import (
        PackedSkill as PackedSkill,
        Publication as Publication,
        Published as Published,
        parse_destination as parse_destination,
        prepare_skill as prepare_skill,
        publish_skill as publish_skill,
    )
    from ._signature import (
        SignedBy as SignedBy,
        SignWith as SignWith,
        sign_skill as sign_skill,
        signed_copy as signed_copy,
        verify_signature as verify_signature,
    )
    from ._store import (
        OpenStore as OpenStore,
        Store as Store,
        StoredTree as StoredTree,
    )
    from ._verify import (
        PERMISSION_KINDS as PERMISSION_KINDS,
        Difference as Difference,
        Recorded as Recorded,
        Verification as Verification,
        VerifiedSkill as VerifiedSkill,
        record_files as record_files,
        verify as verify,
        with_installed_files as with_installed_files,
    )
    from .snapshot import (
        SnapshotProvider as SnapshotProvider,
        write_snapshot as write_snapshot,
    )
    from .sources import (
        Fetched as Fetched,
        FetchedSkill as FetchedSkill,
        Source as Source,
        Wanted as Wanted,
        fetch as fetch,
        find_skills as find_skills,
        has_archive_name as has_archive_name,
        is_archive_file as is_archive_file,
        parse_source as parse_source,
        read_archive as read_archive,
        skill_in as skill_in,
        unpacked_archive as unpacked_archive,
    )
    from .sources.site import IndexedSkill as IndexedSkill, index_skills as index_skills
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
