"""Install skills from a source, and prove later that they are what was installed.

`parse_source` says what a source is, `plan_add` and `install_planned` install from it, `read_lock` reads what is
locked, and `verify` compares it. `Store` keeps fetched skills by their digest; `read_tree` describes the files of a
skill so that any machine can compare them. Sources with packages of their own are `git/`, `oci/` and `bucket/`;
`snapshot/` has the skills of a whole organisation. Nothing of this package is loaded before it is used.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._add import (
        AddPlan as AddPlan,
        PlannedSkill as PlannedSkill,
        install_planned as install_planned,
        plan_add as plan_add,
    )
    from ._apm import ImportedLock as ImportedLock, ImportedSkill as ImportedSkill, read_apm_lock as read_apm_lock
    from ._change import Changed as Changed, check_hosts as check_hosts
    from ._computed_hash import computed_hash as computed_hash
    from ._fetched import Fetched as Fetched, FetchedSkill as FetchedSkill
    from ._folder import find_skills as find_skills
    from ._index import IndexedSkill as IndexedSkill, index_skills as index_skills
    from ._install import install_locked as install_locked
    from ._lock import (
        LOCK_FILE as LOCK_FILE,
        Lock as Lock,
        LockedSkill as LockedSkill,
        parse_lock as parse_lock,
        read_lock as read_lock,
    )
    from ._places import (
        Target as Target,
        agent_folders as agent_folders,
        find_project as find_project,
        find_target as find_target,
        global_lock as global_lock,
    )
    from ._publish import (
        PackedSkill as PackedSkill,
        Published as Published,
        parse_destination as parse_destination,
        prepare_skill as prepare_skill,
        publish_skill as publish_skill,
    )
    from ._record_files import (
        Recorded as Recorded,
        record_files as record_files,
        with_installed_files as with_installed_files,
    )
    from ._remove import remove_installed as remove_installed
    from ._signature import (
        SignedBy as SignedBy,
        SignWith as SignWith,
        sign_skill as sign_skill,
        signed_copy as signed_copy,
        verify_signature as verify_signature,
    )
    from ._source import Source as Source, fetcher as fetcher, parse_source as parse_source
    from ._store import (
        OpenStore as OpenStore,
        Store as Store,
        StoreContent as StoreContent,
        StoredTree as StoredTree,
        SweepReport as SweepReport,
    )
    from ._transaction import is_interrupted as is_interrupted, lock_project as lock_project
    from ._tree import Tree as Tree, TreeFile as TreeFile, check_paths as check_paths, read_tree as read_tree
    from ._update import PlannedUpdate as PlannedUpdate, UpdatePlan as UpdatePlan, plan_update as plan_update
    from ._verify import (
        Difference as Difference,
        Verification as Verification,
        VerifiedSkill as VerifiedSkill,
        verify as verify,
    )
    from .snapshot import (
        SnapshotProvider as SnapshotProvider,
        SnapshotReport as SnapshotReport,
        write_snapshot as write_snapshot,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "_add": (
                "AddPlan",
                "PlannedSkill",
                "install_planned",
                "plan_add",
            ),
            "_apm": (
                "ImportedLock",
                "ImportedSkill",
                "read_apm_lock",
            ),
            "_change": (
                "Changed",
                "check_hosts",
            ),
            "_computed_hash": ("computed_hash",),
            "_fetched": (
                "Fetched",
                "FetchedSkill",
            ),
            "_folder": ("find_skills",),
            "_index": (
                "IndexedSkill",
                "index_skills",
            ),
            "_install": ("install_locked",),
            "_lock": (
                "LOCK_FILE",
                "Lock",
                "LockedSkill",
                "parse_lock",
                "read_lock",
            ),
            "_places": (
                "agent_folders",
                "Target",
                "find_project",
                "find_target",
                "global_lock",
            ),
            "_record_files": (
                "Recorded",
                "record_files",
                "with_installed_files",
            ),
            "_remove": ("remove_installed",),
            "_publish": ("PackedSkill", "Published", "parse_destination", "prepare_skill", "publish_skill"),
            "_signature": (
                "SignWith",
                "SignedBy",
                "sign_skill",
                "signed_copy",
                "verify_signature",
            ),
            "_source": (
                "Source",
                "fetcher",
                "parse_source",
            ),
            "_store": (
                "OpenStore",
                "Store",
                "StoreContent",
                "StoredTree",
                "SweepReport",
            ),
            "_transaction": (
                "is_interrupted",
                "lock_project",
            ),
            "_tree": (
                "Tree",
                "TreeFile",
                "check_paths",
                "read_tree",
            ),
            "_update": (
                "PlannedUpdate",
                "UpdatePlan",
                "plan_update",
            ),
            "_verify": (
                "Difference",
                "Verification",
                "VerifiedSkill",
                "verify",
            ),
            "snapshot": ("SnapshotProvider", "SnapshotReport", "write_snapshot"),
        },
    )
