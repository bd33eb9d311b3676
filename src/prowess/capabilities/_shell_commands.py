"""Find the programs that a text of a shell starts, and the hosts that each of them reaches.

It is no shell: it knows quotes, pipes, comments, texts below a command (`<<`) and continued lines, which is enough to
tell the name of a program from its arguments. Each step looks at a bounded number of characters.
"""

from __future__ import annotations

import re

from prowess._internal.patterns import compile_on_use

from ._programs import NETWORK_PROGRAMS, ORDINARY, PREFIXED, PREFIXES, PROGRAMS, SHELL_WORDS, WORDS, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_LINE = 4096
_MAX_LINES = 20_000
_MAX_CONTINUED = 50
_MAX_BELOW = 400
"""Lines of a quoted text, or of a text below a command."""
_MAX_WORDS = 12
"""Words before the name of a program that are passed over."""
_MAX_QUOTED = 2_000
_HERE = compile_on_use(r"<<-?\s*[\"'\\]?([A-Za-z_]\w{0,40})")
_FUNCTION = compile_on_use(r"^[ \t]*(?:function[ \t]+([\w-]{1,60})|([\w-]{1,60})[ \t]*\(\))", re.MULTILINE)
_PROMPT = compile_on_use(r"\s*(?:\$|%|PS [^>\n]{0,80}>|PS>|C:\\[^>\n]{0,80}>|❯|➜)\s+")
_QUOTED = compile_on_use(rf"'[^'\n]{{0,{_MAX_QUOTED}}}'|\"(?:[^\"\\\n]|\\.){{0,{_MAX_QUOTED}}}\"")
_SEPARATOR = compile_on_use(r"\|\|?|&&?|;;?|\$\(|<\(|>\(|\(|\)|`|\{\s|\s\}|\n")
_ASSIGNMENT = compile_on_use(r"[A-Za-z_]\w*(?:\[[^\]]{0,60}\])?\+?=")
_WORD = compile_on_use(r"\S+")
_NAME = compile_on_use(r"[A-Za-z_][\w.+-]{0,60}")
_INNER = compile_on_use(
    r"(?:\b(?:ba|z|da|k)?sh\s+(?:-\w+\s+){0,4}-\w*c|\b(?:powershell|pwsh)(?:\.exe)?\s+(?:-\w+\s+){0,4}-\w*[cC]\w*"
    rf"|\bcmd\s+/c|\beval|\bssh\s+\S{{1,100}})\s+(['\"])(?P<inner>[^'\"\n]{{1,{_MAX_QUOTED}}})\1"
)
_SUBSTITUTION = compile_on_use(rf"\$\((?P<inner>[^()\n]{{1,{_MAX_QUOTED}}})\)|`(?P<ticks>[^`\n]{{1,{_MAX_QUOTED}}})`")
_HOST_URL = compile_on_use(
    r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://(?:[^\s/@\"'<>]{0,200}@)?(\[[0-9A-Fa-f:]{2,40}\]|[\w.-]{1,253})"
)
_HOST_AT = compile_on_use(r"(?<![\w.+-])[\w.+-]{1,64}@([A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,24})(?![\w@])")
_HOST_BARE = compile_on_use(
    r"(?<![\w./@$~:-])((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}|(?:\d{1,3}\.){3}\d{1,3})(?![\w-]|\.\w|\()"
)
_FILE_ENDINGS = listed(
    """
    sh bash zsh fish py pyi js mjs cjs ts tsx jsx json jsonl yaml yml toml md mdx txt csv tsv html htm css scss xml
    svg png jpg jpeg gif webp pdf doc docx xls xlsx ppt pptx zip tar gz tgz bz2 xz whl jar war exe dll so dylib bin
    dat db sqlite sql log lock cfg conf ini env rb pl php go rs java kt swift cs fs vb c h cc cpp hpp cu m mm r rmd
    jl lua ex exs erl hs ps psm ipynb proto graphql tf tfvars hcl pem key crt cer csr pub asc sig sum mod bak tmp
    old orig patch diff out err pid sock map min spec test config wasm mp mp3 mp4 wav mov avi mkv webm ttf otf woff
    parquet pkl npz npy h5 ckpt pt pth safetensors onnx gguf url iso img dmg deb rpm apk msi skill bicep bat cmd vue
    svelte lean tex bib cls sty lhs nix el
    """
)
_LOCAL_HOSTS = frozenset(("localhost", "localhost.localdomain", "host.docker.internal", "ip6-localhost"))
_NAMESPACES = frozenset(
    ("www.w3.org", "schemas.openxmlformats.org", "schemas.microsoft.com", "purl.org", "json-schema.org", "ns.adobe.com")
)
"""Hosts of addresses that are names only."""


def hosts_in(text: str, *, bare: bool = False) -> Iterator[str]:
    """Yield the hosts that a text names: in addresses, and after an `@`.

    Args:
        text: the text.
        bare: whether a domain alone counts too, as it does after `curl`.
    """
    patterns = (_HOST_URL, _HOST_AT, _HOST_BARE) if bare else (_HOST_URL, _HOST_AT)
    for pattern in patterns if bare or "://" in text or "@" in text else ():
        for match in pattern.finditer(text):
            host = match[1].lower().strip(".-")
            if _is_host(host, is_address=pattern is _HOST_URL):
                yield host


def _is_host(host: str, *, is_address: bool) -> bool:
    """Return whether a text is the name of a host elsewhere."""
    if host in _LOCAL_HOSTS or host in _NAMESPACES or host.startswith(("127.", "0.", "[::1")):
        return False
    if "." not in host and not host.startswith("["):
        return False  # a placeholder, or a name in a network of containers
    last = host.rpartition(".")[2]
    if last.isdigit():
        return host.count(".") == 3
    return is_address or last not in _FILE_ENDINGS


def commands_in(text: str, *, is_shell: bool = True) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the programs that a text of a shell starts, each with the hosts that are named beside it.

    Args:
        text: the text.
        is_shell: whether each line is a command; otherwise only lines that begin with a known program count.
    """
    own = (
        {match[1] or match[2] for match in _FUNCTION.finditer(text)}
        if "(" in text or "function" in text
        else set[str]()
    )
    lines = text.split("\n", _MAX_LINES)[:_MAX_LINES]
    prompts = [_PROMPT.match(line) for line in lines]
    has_prompts = any(prompts)
    number = 0
    while number < len(lines):
        line, prompt = lines[number][:_MAX_LINE], prompts[number]
        number += 1
        if has_prompts and prompt is None:
            continue
        line = line[prompt.end() :] if prompt else line
        line, used = _continued(line, lines[number : number + _MAX_CONTINUED])
        number += used
        line = _without_comment(line)
        here = _HERE.search(line)
        if not line.strip():
            continue
        line, used = _before_open_quote(line, lines, number)
        number += used
        if is_shell or _begins_with_program(line):
            yield from (found for found in _commands_in_line(line) if found[0] not in own)
        if here:
            number += _lines_below(here[1], lines, number)


def _continued(line: str, following: list[str]) -> tuple[str, int]:
    used = 0
    while line.rstrip().endswith(("\\", "|", "&&")) and used < len(following) and len(line) < _MAX_LINE:
        line = f"{line.rstrip().removesuffix(chr(92))} {following[used].strip()}"
        used += 1
    return line[:_MAX_LINE], used


def _lines_below(mark: str, lines: list[str], number: int) -> int:
    """Return how many lines belong to the text below a command (`<<MARK`)."""
    end = min(len(lines), number + _MAX_BELOW)
    return next((at + 1 - number for at in range(number, end) if lines[at].strip() == mark), 0)


def _before_open_quote(line: str, lines: list[str], number: int) -> tuple[str, int]:
    """Return a line up to a quote that a later line closes, and how many lines are in the quotes."""
    if "'" not in line and '"' not in line:
        return line, 0
    hidden = _QUOTED.sub(lambda match: "q" * len(match[0]), line)
    opened = next((at for at, char in enumerate(hidden) if char in "'\"" and hidden[at - 1 : at] != "\\"), -1)
    if opened < 0:
        return line, 0
    end = min(len(lines), number + _MAX_BELOW)
    closed = next((at + 1 - number for at in range(number, end) if hidden[opened] in lines[at]), 0)
    return (line[:opened], closed) if closed else (line, 0)


def _without_comment(line: str) -> str:
    if "#" not in line:
        return line
    hidden = _QUOTED.sub(lambda match: "q" * len(match[0]), line)
    at = 0 if hidden.lstrip().startswith("#") else hidden.find(" #")
    return line if at < 0 else line[:at]


def _begins_with_program(line: str) -> bool:
    """Return whether a line is likely to be a command, in a text that may be something else."""
    words = line.split(None, 3)
    if words and words[0] in ("sudo", "time", "env"):
        words = words[1:]
    if not words or words[0] not in PROGRAMS:
        return False
    if len(words) == 1:
        return words[0] not in WORDS
    return words[0] not in WORDS or any(mark in line for mark in (" -", "/", "$", "|", "=", "://", ".", "*"))


def _commands_in_line(line: str, depth: int = 0) -> Iterator[tuple[str, tuple[str, ...]]]:
    if depth < 2:
        for match in _INNER.finditer(line):
            yield from _commands_in_line(match["inner"], depth + 1)
        for match in _SUBSTITUTION.finditer(line):
            yield from _commands_in_line(match["inner"] or match["ticks"], depth + 1)
    hidden = _QUOTED.sub(lambda match: f'"{"q" * (len(match[0]) - 2)}"', line)
    start = 0
    for separator in (*_SEPARATOR.finditer(hidden), None):
        end = separator.start() if separator else len(hidden)
        if name := _program_of(hidden[start:end], line[start:end]):
            hosts = (
                tuple(dict.fromkeys(hosts_in(line[start:end], bare=True))) if name.lower() in NETWORK_PROGRAMS else ()
            )
            yield name, hosts
        start = separator.end() if separator else end


def _program_of(hidden: str, part: str) -> str:
    """Return the program that a part of a command starts; empty if it starts none."""
    prefixed = False
    for number, match in enumerate(_WORD.finditer(hidden)):
        word = part[match.start() : match.end()]
        if number >= _MAX_WORDS:
            return ""
        if _ASSIGNMENT.match(word):
            if word.endswith("=("):
                return ""
            continue
        if word in PREFIXES:
            prefixed = True
            continue
        if word == "!" or (prefixed and (word.startswith("-") or word.isdigit())):
            continue
        return _name_of(word)
    return ""


def _name_of(word: str) -> str:
    word = word.strip("\"'")
    if word.startswith(("./", "../", "~", "$", "{", "<", "@")) or "*" in word:
        return ""  # a file of the skill or of the project, or unknown
    name = word.rpartition("/")[2].removesuffix(".exe")
    if "/" in word and not word.startswith("/"):
        return ""
    if not _NAME.fullmatch(name) or name.lower() in SHELL_WORDS | ORDINARY or "." in name.removesuffix(".py"):
        return ""
    if "-" in name and name.lower().startswith(PREFIXED):  # PowerShell does not tell upper case from lower case
        return name.lower()
    return name if name in PROGRAMS or name.islower() else ""


def known_commands_in(spans: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the programs in texts that may be something else than a command, such as a word in back-ticks."""
    for span in spans:
        if len(span) <= _MAX_LINE and _begins_with_program(span):
            yield from _commands_in_line(span)
