"""Recognize programs and archives by their first bytes.

A person cannot read these. Documents, pictures and fonts are not reported, although some are archives.
"""

from __future__ import annotations

import posixpath

FIRST_BYTES = 512
"""Bytes of a file that are looked at."""
_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"\x7fELF", "a program of Linux (ELF)"),
    (b"MZ", "a program of Windows (PE)"),
    (b"\xcf\xfa\xed\xfe", "a program of macOS (Mach-O)"),
    (b"\xce\xfa\xed\xfe", "a program of macOS (Mach-O)"),
    (b"\xfe\xed\xfa\xcf", "a program of macOS (Mach-O)"),
    (b"\xfe\xed\xfa\xce", "a program of macOS (Mach-O)"),
    (b"\0asm", "a program of WebAssembly"),
    (b"dex\n0", "a program of Android (DEX)"),
    (b"!<arch>\ndebian-binary", "a package of Debian"),
    (b"!<arch>\n", "a library (ar)"),
    (b"\xed\xab\xee\xdb", "a package (RPM)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an OLE file"),
    (b"\x1f\x8b\x08", "an archive (gzip)"),
    (b"BZh", "an archive (bzip2)"),
    (b"\xfd7zXZ\0", "an archive (xz)"),
    (b"\x28\xb5\x2f\xfd", "an archive (Zstandard)"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7-Zip)"),
    (b"Rar!\x1a\x07", "an archive (RAR)"),
    (b"MSCF\0\0\0\0", "an archive (cabinet)"),
    (b"xar!", "a package of macOS (xar)"),
)
_FAT_MACH_O = b"\xca\xfe\xba\xbe"
"""Programs of macOS for several processors, and classes of Java, which have a version after it."""
_FIRST_JAVA_VERSION = 40
_ZIP = (b"PK\3\4", b"PK\5\6")
_ZIP_KINDS = {
    **dict.fromkeys(("jar", "war", "ear"), "a program of Java (jar)"),
    **dict.fromkeys(("whl", "egg", "pyz", "pyzw", "pex"), "a program of Python (zip)"),
    **dict.fromkeys(("apk", "aab"), "a program of Android (apk)"),
    **dict.fromkeys(("ipa",), "a program of iOS (ipa)"),
    **dict.fromkeys(("vsix", "xpi", "crx", "nupkg"), "an extension or package (zip)"),
    **dict.fromkeys(("skill", "mcpb", "dxt"), "an archive of a skill or an extension (zip)"),
}
_DOCUMENTS = frozenset(
    (
        *("docx", "docm", "dotx", "xlsx", "xlsm", "xltx", "pptx", "pptm", "potx", "ppsx", "odt", "ods", "odp", "odg"),
        *("ott", "epub", "vsdx", "npz", "keras", "3mf", "kmz", "sketch", "idml", "pbix", "pbit", "twbx", "fig", "key"),
        *("numbers", "pages", "drawio", "usdz", "doc", "xls", "ppt", "dot", "xlt", "pot", "pps", "msg", "vsd", "pub"),
        *("mxl", "sb3"),
    )
)
"""Endings of documents that are archives."""
_TAR_MARK, _TAR_OFFSET = b"ustar", 257
_COMPRESSED = frozenset(("svgz", "rds", "rda", "rdata", "nii", "pkl", "h5ad", "emz", "dia", "xopp"))
"""Endings of data and pictures that are compressed with gzip."""


def binary_kind(path: str, first: bytes) -> str:
    """Return what kind of program or archive a file is; empty if it is neither.

    Args:
        path: of the file in its skill.
        first: its first `FIRST_BYTES`, or more.
    """
    _, dot, ending = posixpath.basename(path).lower().rpartition(".")
    ending = ending if dot else ""
    if first.startswith(_ZIP):
        return "" if ending in _DOCUMENTS else _ZIP_KINDS.get(ending, "an archive (zip)")
    if first.startswith(_FAT_MACH_O):
        is_java = int.from_bytes(first[4:8], "big") >= _FIRST_JAVA_VERSION
        return "a program of Java (class)" if is_java else "a program of macOS (Mach-O)"
    if first[_TAR_OFFSET:].startswith(_TAR_MARK):
        return "an archive (tar)"
    if ending in ("pyc", "pyo") and first[2:4] == b"\r\n":
        return "a program of Python (compiled)"
    kind = next((kind for magic, kind in _KINDS if first.startswith(magic)), "")
    if (kind == "an OLE file" and ending in _DOCUMENTS) or (kind == "an archive (gzip)" and ending in _COMPRESSED):
        return ""
    # Texts begin with these letters, too.
    if magic_is_text(first) and b"\0" not in first[:FIRST_BYTES]:
        return ""
    return kind


def magic_is_text(first: bytes) -> bool:
    """Return whether a file begins with a mark that a text may begin with."""
    return first.startswith((b"MZ", b"BZh", b"xar!"))
