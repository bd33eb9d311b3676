"""The folders that a role allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.agent.policy import Policy, RefusedError
from support.unreadable_links import refuse_to_read

if TYPE_CHECKING:
    from pathlib import Path


def test_a_path_through_a_link_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the folder by its name, and may lead anywhere."""
    top = tmp_path.resolve() / "role"
    top.mkdir()
    link = top / "link"
    link.symlink_to(tmp_path)
    refuse_to_read(link, monkeypatch)
    with pytest.raises(RefusedError, match="leads through a link that cannot be read"):
        Policy(roots=(str(top),)).resolve_in_roots(str(link / "file"))
