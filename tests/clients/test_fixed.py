"""What differs from one recording to the next is replaced, so that a second recording changes few lines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from clients._fixed import Fixed

HOME = Path("/tmp/observe7xab_c/run/ada")
SESSION, OTHER = "9f0c2a31-1b2c-4d5e-8f90-a1b2c3d4e5f6", "01a227b1-fa8a-7713-899b-f8ba37fa6482"


def fixed(*identifiers: str) -> Fixed:
    """The client was started at 10:00 and at 11:00."""
    starts = [datetime(2026, 12, 24, hour, tzinfo=UTC).timestamp() for hour in (10, 11)]
    return Fixed(HOME, starts, identifiers)


def test_the_home_is_replaced_in_each_form_that_a_client_gives_it() -> None:
    """Plain, as a folder of Claude Code and as one of pi."""
    text = f"{HOME}/notes {HOME.parent}/scratch -tmp-observe7xab-c-run-ada-notes --tmp-observe7xab_c-run-ada-notes--"
    assert fixed().text(text) == "/home/ada/notes /var/tmp/client/scratch -home-ada-notes --home-ada-notes--"


def test_a_start_of_the_client_is_a_day_and_the_order_of_times_stays() -> None:
    """In all forms: texts, seconds and milliseconds. An earlier time, such as that of a release, stays."""
    text = (
        '"2026-12-24T10:00:05.250Z" "2026-12-24T10:00:09Z" 1798106405250 1798110000 "2026-06-01T00:00:00Z" 2026-12-24'
    )
    files = fixed().files({"file": text})
    first = '"2026-11-02T09:00:00.100Z" "2026-11-02T09:00:00.200Z" 1793610000100'
    assert files == {"file": f'{first} 1793696400 "2026-06-01T00:00:00Z" 2026-11-02'}


def test_the_time_in_the_name_of_a_file_is_the_first_one_in_it() -> None:
    """The names of Gemini CLI have minutes, those of pi milliseconds; another file may contain the name."""
    name = "2026-12-24T10-59-59-900Z"
    text = f'{{"id":"{SESSION}","at":"2026-12-24T11:00:03Z"}}'
    files = fixed().files({f"{name}_{SESSION}.jsonl": text, "other": f"{name}_{SESSION}.jsonl"})
    new = "2026-11-03T09-00-00-100Z_00000001-0000-0000-0000-000000000000.jsonl"
    assert list(files) == [new, "other"]
    assert files["other"] == new


def test_identifiers_are_numbered_and_a_short_form_stays_the_start_of_the_long_one() -> None:
    """A number that is no identifier stays."""
    chats = r"session-[\dT-]+-([0-9a-f]{8})\.jsonl"
    text = f"2026-12-24T10:30:00Z {SESSION} {OTHER} ses_1234567890abcdefGHIJ"
    files = fixed(chats, r"\bses_\w{20}").files({f"session-2026-12-24T10-30-{OTHER[:8]}.jsonl": text})
    assert list(files) == ["session-2026-11-02T09-00-00000002.jsonl"]
    (new,) = files.values()
    assert new.split()[1:] == [
        "00000001-0000-0000-0000-000000000000",
        "00000002-0000-0000-0000-000000000000",
        "ses_00000003000000000000",
    ]
