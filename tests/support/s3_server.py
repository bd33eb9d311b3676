"""S3 servers on the loopback address: the one of rclone, and one that answers what a test says."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from support.site_server import Request, Site, reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pytest

KEY, SECRET = "key-of-the-test", "secret-of-the-test"


def use_endpoint(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Set the variables that users of S3 set."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@contextmanager
def rclone_server(folder: Path, *options: str) -> Iterator[str]:
    """Serve the folders in the folder `buckets` of a folder as buckets, and yield the URL."""
    program = Path(sys.executable).with_name("rclone")
    buckets = folder / "buckets"
    buckets.mkdir(exist_ok=True)
    command: list[str | Path] = [program, "serve", "s3", "--auth-key", f"{KEY},{SECRET}", "--addr", "127.0.0.1:0"]
    command += ["--config", folder / "rclone.conf", "--cache-dir", folder / "cache", "--vfs-cache-mode", "off"]
    command += ["--dir-cache-time", "0s", "-v", *options, buckets]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            line = next(line for line in server.stderr if "Starting s3 server on" in line)
            yield line.partition("[")[2].partition("]")[0].rstrip("/")
        finally:
            server.kill()


class FakeBucket(Site):
    """A bucket `bucket` with any keys and contents, for clients of S3, Google Cloud Storage and Azure Blob Storage.

    Args:
        objects: contents by key.
        listed: the keys of the list, if others.
        endless: each page of the list says that one more follows.
    """

    def __init__(
        self, objects: Mapping[str, bytes], *, listed: Sequence[str] | None = None, endless: bool = False
    ) -> None:
        super().__init__({"*": self.answer})
        self.objects = dict(objects)
        self.listed, self.endless = listed, endless
        self.failures = 0
        """Requests that are answered with 503 before the next one that is not."""
        self.refuses_writes = False
        self.before_write: Callable[[], None] = lambda: None
        """What another client does between the comparison of this one and its write."""

    def answer(self, request: Request) -> bytes:
        """Answer a request of the store."""
        if len(self.requests) % (self.failures + 1):
            return reply(status="503 Slow Down")
        parts = urlsplit(request.target)
        query = parse_qs(parts.query)
        key = unquote(parts.path).removeprefix("/bucket").removeprefix("/")
        if "list-type" in query:
            return self.page(query.get("prefix", [""])[0])
        if request.method == "PUT":
            return self.write(key, request)
        if "comp" in query:
            return self.azure_page(query.get("prefix", [""])[0])
        if key not in self.objects:
            return reply(status="404 Not Found")
        data = self.objects[key]
        if request.headers.get("if-none-match") == f'"{tag(data)}"':
            return reply(status="304 Not Modified", etag=f'"{tag(data)}"')
        return reply(data, last_modified="Mon, 23 Nov 2026 07:00:00 GMT", etag=f'"{tag(data)}"')

    def write(self, key: str, request: Request) -> bytes:
        """Write an object if it is what the client compared, as S3 does."""
        self.before_write()
        present = self.objects.get(key)
        wanted = request.headers.get("if-match")
        is_other = wanted is not None and (present is None or wanted.strip('"') != tag(present))
        if is_other or (request.headers.get("if-none-match") == "*" and present is not None):
            return reply(status="412 Precondition Failed")
        if self.refuses_writes:
            return reply(status="403 Forbidden")
        self.objects[key] = request.body
        return reply(etag=f'"{tag(request.body)}"')

    def page(self, prefix: str) -> bytes:
        """Return a page of the list."""
        keys = [key for key in self.objects if key.startswith(prefix)] if self.listed is None else self.listed
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-23T07:00:00.000Z</LastModified>"
            f"<ETag>{tag(self.objects.get(key, b''))}</ETag><Size>{len(self.objects.get(key, b''))}</Size></Contents>"
            for key in keys
        )
        more = "<IsTruncated>true</IsTruncated><NextContinuationToken>next</NextContinuationToken>"
        return reply(
            f"<ListBucketResult><Name>bucket</Name>{rows}{more if self.endless else ''}</ListBucketResult>",
            kind="application/xml",
        )

    def azure_page(self, prefix: str) -> bytes:
        """Return the whole list as Azure writes it."""
        rows = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties><Last-Modified>Mon, 23 Nov 2026 07:00:00 GMT</Last-Modified>"
            f"<Etag>{tag(data)}</Etag><Content-Length>{len(data)}</Content-Length>"
            "<Content-Type>text/plain</Content-Type></Properties></Blob>"
            for key, data in self.objects.items()
            if key.startswith(prefix)
        )
        return reply(f"<EnumerationResults><Blobs>{rows}</Blobs></EnumerationResults>", kind="application/xml")


def tag(data: bytes) -> str:
    return f"tag-{len(data)}-{sum(data)}"
