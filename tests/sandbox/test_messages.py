"""Messages between a caller and a supervisor."""

from __future__ import annotations

import os

from prowess.sandbox._messages import LENGTH_BYTES, decode, send_message


def test_a_message_is_a_length_and_a_value() -> None:
    message: dict[str, object] = {"stdout": b"a\0", "sizes": (2, 0)}
    read_fd, write_fd = os.pipe()
    try:
        send_message(write_fd, message)
        data = os.read(read_fd, 4096)
    finally:
        os.close(read_fd)
        os.close(write_fd)
    assert int.from_bytes(data[:LENGTH_BYTES], "big") == len(data) - LENGTH_BYTES
    assert dict(decode(memoryview(data)[LENGTH_BYTES:])) == message
