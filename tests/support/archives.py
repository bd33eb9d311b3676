"""Archives of tar and gzip, as any tool makes them."""

from __future__ import annotations

import gzip
import io
import tarfile


def tar_gz(files: dict[str, bytes], mode: int = 0o644) -> bytes:
    """Return an archive of files, without a time: the same files give the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, data in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)
