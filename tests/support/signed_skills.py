"""Sign skills for tests, with a sigstore of its own."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from prowess.lock import read_tree

if TYPE_CHECKING:
    from pathlib import Path

    from support.sigstore_authority import Authority


def statement(folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the statement that model-signing makes of a skill, as its format says."""
    files = sorted((file.path, file.sha256) for file in read_tree(str(folder)).files if file.path != "skill.oms.sig")
    total = hashlib.sha256(b"".join(bytes.fromhex(digest) for _, digest in files)).hexdigest()
    resources = [{"name": path, "algorithm": "sha256", "digest": digest} for path, digest in files]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": folder.name, "digest": {"sha256": total}}],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {
            "serialization": {
                "method": "files",
                "hash_type": "sha256",
                "allow_symlinks": False,
                "ignore_paths": ["skill.oms.sig", ".git"],
            },
            "resources": resources,
        },
        **changes,
    }


def sign_as(authority: Authority, folder: Path, identity: str, issuer: str, **changes: Any) -> None:
    """Sign a skill; `changes` are made to the statement."""
    payload = json.dumps(statement(folder, **changes)).encode()
    bundle = authority.sign(payload, identity=identity, issuer=issuer)
    (folder / "skill.oms.sig").write_text(json.dumps(bundle))
