"""Find commands that run what they download, or what they decode.

The text of a skill and its scripts are searched alike: the first say what an agent is to run. Lines are taken apart at
their pipes, and each search has a bound, so that no text takes long.
"""

from __future__ import annotations

import base64
import binascii
import re

from prowess._internal.patterns import compile_on_use
from prowess._internal.text import quoted

from ._secrets import find_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._files import SkillFile

MAX_LINE = 4096
"""Characters of a command that are looked at; a command may continue on more lines."""
_MAX_CONTINUED = 12
"""Lines of one command."""
_MAX_BEFORE = 3
"""Lines that a command may begin before the one with a word."""
_MAX_SHOWN = 120
_MAX_LATER = 6
"""Lines after a download in which the file is looked for."""
_WORDS = (
    *(b"curl", b"wget", b"iwr", b"irm", b"invoke-", b"iex", b"base64", b"base32", b"xxd", b"openssl"),
    *(b"exec(", b"eval(", b"exec (", b"eval (", b"function(a", b"powershell", b"pwsh"),
)
"""One of these is in every line that has something to find, in lower case."""
_DOWNLOADERS = r"(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod)(?:\.exe)?"
_HAS_DOWNLOADER = compile_on_use(rf"(?:^|[\s;&(`\"'$])(?:\S{{0,80}}/)?{_DOWNLOADERS}\s", re.IGNORECASE)
_HAS_ADDRESS = compile_on_use(r"://|[$<{%]|\b[\w-]{1,63}\.(?:[a-z]{2,24})\b", re.IGNORECASE)
_HAS_DECODER = compile_on_use(
    r"\bbase(?:64|32)\s+(?:-\w+\s+){0,3}(?:-d|-D|--decode)\b|\bxxd\s+(?:-\w+\s+){0,3}-r|\bopenssl\s.{0,80}-d\b",
)
_PREFIX = compile_on_use(
    r"\s*(?:[A-Za-z_]\w{0,60}=\S{0,200}\s+|(?:sudo|doas|env|exec|command|nohup|time|-\S{1,40})\s+){0,8}"
)
_INTERPRETER = compile_on_use(
    r"(?:\S{0,80}/)?(?:(?P<shell>(?:ba|z|da|k|c|tc|fi)?sh|pwsh|powershell)|(?P<expression>iex|invoke-expression)"
    r"|(?P<program>python[0-9.]{0,5}|node|perl|ruby|php|deno|bun|osascript|lua))(?:\.exe)?(?![\w./-])",
    re.IGNORECASE,
)
_HARMLESS_OPTIONS = ("-u", "-E", "-I", "-B", "-s", "-")
"""Options of Python and others with which they still run their input."""
_FROM_INPUT = compile_on_use(r"-[a-z]*s[a-z]*")
_INLINE_OPTION = compile_on_use(r"-[a-z]*c")
_END_OF_COMMAND = compile_on_use(r"[;&)`\"'><#\]|]|$|\\[nr\"']")
_INLINE = compile_on_use(
    r"(?:\b(?:ba|z|da|k)?sh\s+(?:-\w+\s+){0,4}-\w*c\s+|\beval\s+)[\"']?(?:\$\(|`)(?P<inner>[^`\n]{0,2000})",
    re.IGNORECASE,
)
_SUBSTITUTED = compile_on_use(
    r"(?:\b(?:ba|z|da|k)?sh|\bsource|(?:^|[\s;&`])\.|\bpython[0-9.]{0,5}|\bnode|\bperl|\bruby)\s+(?:-\S{1,40}\s+){0,4}"
    r"<\((?P<inner>[^\n]{0,2000})",
)
_POWERSHELL = compile_on_use(
    r"\b(?:iex|invoke-expression)\b[^\n|;]{0,120}?(?:\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod)\b"
    r"|(?P<string>downloadstring))",
    re.IGNORECASE,
)
_DOWNLOADED_CODE = compile_on_use(
    r"\b(?:exec|eval)\s*\(\s*(?:compile\s*\(\s*)?(?:\w{1,30}\.){0,3}(?:(?:requests|httpx)\.get|urlopen|URI\.open)\s*\("
    r"|\b(?:eval|Function)\s*\(\s*(?:\(?\s*await\s+){1,3}\(?\s*fetch\s*\(",
)
_DECODED_CODE = compile_on_use(
    r"\b(?:exec|eval)\s*\(\s*(?:[\w.]{1,60}\(){0,4}[^\n]{0,160}?"
    r"(?:b64decode|b32decode|a85decode|unhexlify|fromhex|decompress|marshal\.loads|atob)\s*\("
    r"|\b(?:eval|Function)\s*\([^\n]{0,60}?(?:atob\s*\(|Buffer\.from\s*\([^\n]{0,2000}?['\"](?:base64|hex)['\"])"
    r"|\b(?:iex|invoke-expression)\b[^\n]{0,200}?FromBase64String|FromBase64String[^\n]{0,2000}?\|\s*(?:iex|invoke-expression)\b",
    re.IGNORECASE,
)
_ENCODED_COMMAND = compile_on_use(
    r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n|]{0,200}?\s-(?:e|ec|en|enc|encodedcommand)\s+[\"']?(?P<code>[A-Za-z0-9+/=$]{8,})",
    re.IGNORECASE,
)
_BASE64_TEXT = compile_on_use(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{16,3000}={0,2}(?![A-Za-z0-9+/=])")
_SAVED = compile_on_use(
    r"(?:\s-o[ =]?|\s--output[ =]|\s-O\s+(?=[\w./~$-]+\s+\S*://)|\s-(?i:outfile)\s+|\s>\s*)[\"']?"
    r"(?P<name>[\w./~${}-]{1,200})"
)
_ADDRESS = compile_on_use(r"https?://[^\s\"'<>|);]{1,500}")
_PROGRAM_NAME = compile_on_use(r"[\w.-]{1,100}\.(?:sh|bash|py|pl|rb|js|mjs|ps1|bat|cmd|run|bin|exe|command|AppImage)")
_USER_IN_URL = compile_on_use(r"(?<=://)[^\s/@]{1,200}@")


def find_downloads(file: SkillFile) -> Iterator[tuple[str, int, str]]:
    """Yield what a file runs unread: the code of the finding, the line, and a message."""
    wanted = _lines_with_words(file.data)
    if not wanted:
        return
    lines, after = file.text.split("\n"), 0
    for wanted_number in wanted:
        number = wanted_number
        while number > after and wanted_number - number < _MAX_BEFORE and lines[number - 1].rstrip().endswith("\\"):
            number -= 1
        if wanted_number < after or number >= len(lines):
            continue
        line, used = _whole_command(lines, number)
        after = number + used
        code, message = _check_line(line)
        if not code and (saved := _saved_and_run(line, lines[after : after + _MAX_LATER])):
            code, message = "download-runs", f"{_shown(saved)} downloads a file that runs next"
        if code:
            yield code, number + 1, message


def _lines_with_words(data: bytes) -> list[int]:
    """Return the lines that may have something to find, from 0, sorted."""
    lower = data.lower()
    if b"\r" in lower:
        lower = lower.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    starts: set[int] = set()
    for word in _WORDS:
        at = lower.find(word)
        while at >= 0:
            starts.add(lower.rfind(b"\n", 0, at) + 1)
            end = lower.find(b"\n", at)
            at = lower.find(word, end) if end >= 0 else -1
    numbers, number, before = [], 0, 0
    for start in sorted(starts):
        number += lower.count(b"\n", before, start)
        numbers.append(number)
        before = start
    return numbers


def _whole_command(lines: list[str], number: int) -> tuple[str, int]:
    """Return a line with those that continue it, and how many these are."""
    line, used = lines[number][:MAX_LINE].rstrip(), 1
    while used < _MAX_CONTINUED and len(line) < MAX_LINE and number + used < len(lines):
        following = lines[number + used].strip()
        if line.endswith(("\\", "`")) and not line.endswith("``") and following and line[:-1].count("`") % 2 == 0:
            line = f"{line[:-1].rstrip()} {following}"
        elif (line.endswith("|") and not line.lstrip().startswith("|")) or (
            following.startswith("| ") and _HAS_DOWNLOADER.search(f" {line}") and not line.lstrip().startswith("|")
        ):
            line = f"{line} {following}"
        else:
            break
        used += 1
    return line[:MAX_LINE], used


def _check_line(line: str) -> tuple[str, str]:
    """Return the code and message of what a command runs unread; empty texts if it does not."""
    lower = line.lower()
    for part in _cells(line):
        if found := _piped(part):
            return found
    for pattern in (_INLINE, _SUBSTITUTED):
        if match := pattern.search(line):
            inner = f" {match['inner']}"
            if _HAS_DECODER.search(inner):
                return "code-encoded", _decoded_message(line, match[0])
            if _HAS_DOWNLOADER.search(inner) and _HAS_ADDRESS.search(inner):
                return "download-runs", f"{_shown(_until_closed(match[0]))} runs what it downloads"
    if "iex" in lower or "invoke-expression" in lower:
        match = _POWERSHELL.search(line)
        if match and _HAS_ADDRESS.search(line[match.start() :]):
            return "download-runs", f"{_shown(line[match.start() :])} runs what it downloads"
    if match := _DOWNLOADED_CODE.search(line):
        return "download-runs", f"{_shown(line[match.start() :])} runs what it downloads"
    if match := _DECODED_CODE.search(line):
        return "code-encoded", _decoded_message(line, line[match.start() :])
    if match := _ENCODED_COMMAND.search(line):
        return "code-encoded", _decoded_message(match["code"], line[match.start() :], "utf-16-le")
    return "", ""


def _cells(line: str) -> list[str]:
    """Return the cells of a row of a table, in which a pipe has a backslash; else the line."""
    if not line.lstrip().startswith("|"):
        return [line]
    return [cell.replace("\0", "|") for cell in line.replace("\\|", "\0").split("|")]


def _piped(line: str) -> tuple[str, str] | None:
    """Return what a line sends from a download, or from a decoder, into an interpreter."""
    if "|" not in line:
        return None
    parts = re.split(r"(?<!\|)\|(?!\|)&?", line)
    start, position = -1, 0
    is_encoded = False
    for number, part in enumerate(parts):
        if start >= 0 and number and (used := _runs_its_input(part)):
            command = line[start : position + used]
            if is_encoded:
                return "code-encoded", _decoded_message(line, command)
            return "download-runs", f"{_shown(command)} runs what it downloads"
        if match := _HAS_DOWNLOADER.search(f" {part}"):
            if start < 0 and _HAS_ADDRESS.search(part[match.end() - 1 :]):
                start = position + max(match.start() - 1, 0)
        elif ";" in part or "&&" in part:
            start, is_encoded = -1, False
        if _HAS_DECODER.search(part):
            is_encoded = True
            start = position if start < 0 else start
            if number and start == position:
                start = position - len(parts[number - 1]) - 1
        position += len(part) + 1
    return None


def _runs_its_input(part: str) -> int:
    """Return how much of a part of a pipe is an interpreter that runs what it gets; 0 if it is not one."""
    match = _PREFIX.match(part)
    command = _INTERPRETER.match(part, match.end() if match else 0)
    if command is None:
        return 0
    end_match = _END_OF_COMMAND.search(part, command.end())
    end = end_match.start() if end_match else len(part)
    if part[end : end + 2] == "<<":  # the text below is its input
        return 0
    words = part[command.end() : end].split()
    if command["expression"] or not words or words[0] == "-":
        return end if words[:1] == ["-"] else command.end()
    if command["program"]:
        return end if all(word in _HARMLESS_OPTIONS for word in words) else 0
    for word in words:
        if word in ("-", "-s", "--") or _FROM_INPUT.fullmatch(word):
            return end
        if word.lower() == "-command":
            return end if words[-1] == "-" else 0
        if not word.startswith(("-", "+")) or _INLINE_OPTION.fullmatch(word) or word.lower() == "-file":
            return 0
    return end


def _saved_and_run(line: str, later: list[str]) -> str:
    """Return a command that saves a file which the same line or a later one runs; empty if it does not."""
    match = _HAS_DOWNLOADER.search(f" {line}")
    if match is None or not _HAS_ADDRESS.search(line[match.end() - 1 :]):
        return ""
    command = line[max(match.start() - 1, 0) :]
    saved = _SAVED.search(command)
    address = _ADDRESS.search(command)
    name = (saved["name"] if saved else address[0].split("?")[0] if address else "").rstrip("/").rpartition("/")[2]
    if not _PROGRAM_NAME.fullmatch(name):
        return ""
    end = command.find(name) + len(name)
    rest = re.escape(name)
    runs = compile_on_use(
        rf"(?:^|[\s;&|`\"'])(?:(?:ba|z|da|k)?sh|source|\.|python[0-9.]{{0,5}}|node|perl|ruby|pwsh|powershell)"
        rf"(?:\.exe)?\s+(?:-\S{{1,40}}\s+){{0,4}}[\"']?\S{{0,200}}?{rest}(?![\w.-])"
        rf"|(?:^|[\s;&|`\"'])(?:\./|/|~/|\$\w{{1,40}}/|\.\\)\S{{0,200}}?{rest}(?![\w.-])(?!\S*://)"
    ).search
    if runs(command[end:]) or any(runs(each[:MAX_LINE]) for each in later):
        return command
    return ""


def _until_closed(text: str) -> str:
    """Return the beginning of a text up to the bracket or back-tick that closes its first one."""
    opened = text.find("(")
    if opened < 0:
        return text
    depth = 0
    for number, char in enumerate(text[opened:], opened):
        depth += (char == "(") - (char == ")")
        if not depth:
            return text[: number + 1] + ('"' if text[number + 1 : number + 2] == '"' else "")
    return text


def _decoded_message(text: str, command: str, encoding: str = "utf-8") -> str:
    """Return the message of encoded text that runs, with what it says if that is known."""
    said = next(filter(None, (_decode(match[0], encoding) for match in _BASE64_TEXT.finditer(text))), "")
    if said:
        return f"encoded text runs: {_shown(said)}"
    return f"encoded text runs, which cannot be decoded here: {_shown(command)}"


def _decode(text: str, encoding: str) -> str:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        decoded = data.decode(encoding)
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return decoded.strip() if decoded.replace("\n", " ").replace("\t", " ").replace("\r", " ").isprintable() else ""


def _shown(command: str) -> str:
    """Return a command for a message, without a user in a URL; one with a secret is left out."""
    text = " ".join(_USER_IN_URL.sub("…@", command[: 4 * _MAX_SHOWN]).split()).strip("`\"' ")
    if next(find_secrets(command.encode("utf-8", "surrogatepass")), None):
        return "a command with a secret"
    return quoted(text, _MAX_SHOWN)
