"""The token of requests to servers of ours."""

from __future__ import annotations

import pytest

from prowess._internal.bearer import has_bearer_token


@pytest.mark.parametrize(
    ("values", "accepted"),
    [
        ([b"Bearer secret"], True),
        ([b"bearer  secret "], True),
        ([b"Bearer Secret"], False),
        ([b"Bearer secrets"], False),
        ([b"Bearer \xff"], False),
        ([b"Basic secret"], False),
        ([b"secret"], False),
        ([b"Bearer"], False),
        ([b""], False),
        ([], False),
        ([b"Bearer secret", b"Bearer other"], False),
        ([b"Bearer secret", b"Bearer secret"], False),
    ],
)
def test_only_the_token_in_the_only_header_is_accepted(values: list[bytes], accepted: bool) -> None:
    headers = [(b"host", b"Bearer secret"), *((b"authorization", value) for value in values)]
    assert has_bearer_token(headers, "secret") is accepted
