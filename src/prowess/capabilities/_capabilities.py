"""Find what a skill mentions and declares: commands, hosts, paths, variables, tools and imports.

They are facts of one version of a skill. The lock keeps them, and the next version is compared with them: what comes up
only in sentences does not count, so that a change of words alone changes nothing here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.patterns import compile_on_use

from ._facts import facts_in
from ._files import read_files
from ._programs import ORDINARY_IMPORTS, listed
from ._shell_commands import commands_in, hosts_in, known_commands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.skill import Skill, Value

    from ._files import SkillFile

VERSION = 1
"""It is raised when the same skill has other capabilities than before because of a change here."""
MAX_OF_KIND = 400
"""Capabilities of one kind that are kept of one skill."""
_MAX_CHARACTERS = 200
_MAX_TEXT = 512 * 1024
"""Characters of one file that are searched."""

KINDS = ("hosts", "paths", "variables", "tools", "imports")
"""The kinds of capabilities beside commands."""


class Capabilities(Frozen):
    """What one version of a skill mentions and declares."""

    commands: Mapping[str, tuple[str, ...]] = EMPTY
    """Programs by name, each with the hosts that are named beside it."""
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Outside the skill: `~/.ssh/config`, `/etc/hosts`; all of `/tmp` is one."""
    variables: tuple[str, ...] = ()
    """Of the environment."""
    tools: tuple[str, ...] = ()
    """Tools that its front matter allows or declares, and tools of servers of MCP."""
    imports: tuple[str, ...] = ()
    """Modules of Python and packages of JavaScript that its code imports, and packages that it installs."""
    facts: tuple[str, ...] = ()
    """Its facts, each as `CODE: TEXT`; see `find_facts`."""

    def to_value(self) -> dict[str, object]:
        """Return it as the lock keeps it."""
        value: dict[str, object] = {"version": VERSION}
        if self.commands:
            value["commands"] = {name: [*hosts] for name, hosts in self.commands.items()}
        return value | {kind: [*items] for kind in (*KINDS, "facts") if (items := getattr(self, kind))}


def from_value(value: object) -> Capabilities | None:
    """Return what a lock keeps; `None` if another version of Prowess wrote it, or it is invalid.

    Anyone may have written the lock, so what is here is compared, and nothing else depends on it.
    """
    if not isinstance(value, Mapping) or value.get("version") != VERSION:
        return None
    commands = value.get("commands", {})
    if not isinstance(commands, Mapping) or not all(map(_is_texts, commands.values())):
        return None
    kinds = {kind: value.get(kind, []) for kind in (*KINDS, "facts")}
    if not all(map(_is_texts, kinds.values())):
        return None
    return Capabilities(
        commands={name: tuple(hosts) for name, hosts in commands.items()},
        **{kind: tuple(items) for kind, items in kinds.items()},
    )


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def find_capabilities(skill: Skill, listed: Sequence[tuple[str, int]] | None = None) -> Capabilities:
    """Return what a skill mentions and declares.

    Args:
        skill: its SKILL.md, read from its folder with the body.
        listed: the files in the folder with their sizes in bytes, if that is known.
    """
    if skill.document is None or skill.path is None:
        return Capabilities()
    folder, name = posixpath.split(skill.path.replace("\\", "/"))
    files = read_files(folder, name, listed)
    found = _Collector({file.path for file in files.files})
    found.add_fields(skill)
    for file in files.files:
        if file.is_text:
            found.add_file(file, is_skill=file.path == name)
    facts = tuple(sorted({f"{fact.code}: {fact.text}" for fact in facts_in(skill, name, files)}))
    return found.result(facts)


# ── what is searched ─────────────────────────────────────────────────────────────────────────────────────────────────

_FENCE = compile_on_use(
    r"^[ \t>]{0,12}(?:[-*+][ \t]+)?(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]{0,40})[^\n]*$", re.MULTILINE
)
_SPAN = compile_on_use(r"(?<!`)(`{1,2})(?!`)(?P<code>[^`\n]{1,400})\1(?!`)")
_SHELLS = listed(
    """
    sh bash zsh shell console shell-session sh-session terminal fish ksh powershell pwsh ps1 cmd bat batch
    dockerfile
    """
)
_PYTHON = frozenset(("python", "py", "python3", "ipython"))
_JAVASCRIPT = frozenset(("javascript", "js", "typescript", "ts", "jsx", "tsx", "node", "mjs"))
_LANGUAGES = {
    **dict.fromkeys(("sh", "bash", "zsh", "ksh", "fish", "command", "ps1", "psm1", "bat", "cmd", "bats"), "sh"),
    **dict.fromkeys(("py", "pyw", "py3"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"), "js"),
    **dict.fromkeys(("md", "markdown", "mdx", "txt", "rst"), "text"),
    **dict.fromkeys(("svg", "xml", "xsd", "xsl", "csv", "tsv", "html", "htm", "css", "lock"), "data"),
}
_QUOTED_PROGRAM = compile_on_use(
    r"(?:\b(?:subprocess\.\w{1,20}|Popen|check_output|check_call|os\.(?:system|popen|exec\w{1,4}|spawn\w{1,4})|shutil\.which"
    r"|execSync|spawnSync|execFileSync|execFile|spawn|exec|execa|run|call|system|Command::new)|\$)"
    r"\s*\(?\s*(?P<list>\[\s*)?[frbu]{0,2}(?P<mark>[\"'`])(?P<code>[^\"'`\n]{1,400})(?P=mark)"
)
_JSON_COMMAND = compile_on_use(r"\"(?:command|cmd)\"\s*:\s*\"(?P<code>[^\"\n]{1,400})\"")
_PYTHON_IMPORT = compile_on_use(
    r"(?:^[ \t>]*|-c[ \t]+[\"'])(?:from[ \t]+(?P<from>[A-Za-z_][\w.]{0,100})[ \t]+import[ \t]+[\w(*]"
    r"|import[ \t]+(?P<names>[A-Za-z_][\w.]{0,100}(?:[ \t]+as[ \t]+\w{1,60})?(?:[ \t]*,[ \t]*[A-Za-z_][\w.]{0,100}"
    r"(?:[ \t]+as[ \t]+\w{1,60})?){0,20})[ \t]*(?:[#;\"']|$))",
    re.MULTILINE,
)
_DYNAMIC_IMPORT = compile_on_use(r"\b(?:__import__|import_module)\(\s*[\"']([A-Za-z_][\w.]{0,100})[\"']")
_JAVASCRIPT_IMPORT = compile_on_use(
    r"(?:\b(?:require|import)\s*\(\s*|\bfrom\s+|^[ \t]*import\s+)[\"'](?P<name>(?:@[\w.-]{1,60}/)?[\w.:-]{1,80})"
    r"(?:/[^\"'\n]{0,100})?[\"']",
    re.MULTILINE,
)
_INSTALLED = compile_on_use(
    r"(?:^|[\s;&|`(])(?:(?:uv\s+)?pip3?\s+install|uv\s+(?:add|tool\s+install)|pipx?\s+(?:install|run)|uvx|poetry\s+add"
    r"|npm\s+(?:install|i|add)|pnpm\s+(?:add|dlx)|yarn\s+(?:add|dlx)|bun\s+add|bunx|npx|gem\s+install|cargo\s+install"
    r"|go\s+install|brew\s+install|apt(?:-get)?\s+install|winget\s+install|dotnet\s+tool\s+install)"
    r"(?P<names>(?:[ \t]+[^\s;&|`)\"'<>]{1,100}|[ \t]+[\"'][^\s\"']{1,100}[\"']){1,20})"
)
_PACKAGE = compile_on_use(
    r"(?:@[\w.-]{1,60}/)?[A-Za-z0-9][\w.-]{0,80}|(?:[\w-]{1,60}\.){1,4}[a-z]{2,10}/[\w./-]{1,100}"
)
_SHELL_VARIABLE = compile_on_use(
    r"\$(?:env:)?\{?(?:env:)?([A-Z][A-Z0-9_]{2,60})(?:[:}][^\s]{0,3})?|(?<!\w)%([A-Z][A-Z0-9_]{2,60})%"
)
_SET_VARIABLE = compile_on_use(
    r"(?:^|[\s;&(])(export\s+)?([A-Z][A-Z0-9_]{2,60})=|\b(?:for|read(?:\s+-\w+)*)\s+([A-Z][A-Z0-9_]{2,60})\b",
    re.MULTILINE,
)
_CODE_VARIABLE = compile_on_use(
    r"\b(?:os\.environ(?:\.get|\.pop|\.setdefault)?\s*[\[(]\s*|(?:os\.)?getenv\s*\(\s*|environ\s*\[\s*)[\"']([A-Za-z_]\w{1,60})[\"']"
    r"|\bprocess\.env(?:\.([A-Za-z_]\w{1,60})|\[\s*[\"']([A-Za-z_]\w{1,60})[\"'])|\bimport\.meta\.env\.([A-Za-z_]\w{1,60})"
    r"|\b(?:ENV\[|std::env::var\(|os\.Getenv\(|Environment\.GetEnvironmentVariable\()\s*[\"']([A-Za-z_]\w{1,60})[\"']"
)
_NAMED_VARIABLE = compile_on_use(
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS|PAT|AUTH|DSN|WEBHOOK)"
)
_COMMON_VARIABLES = listed(
    """
    HOME PWD PATH OLDPWD IFS RANDOM SECONDS LINENO BASH_SOURCE UID EUID PPID HOSTNAME TERM COLUMNS LINES TMPDIR LANG
    USER SHELL LOGNAME ARGUMENTS EDITOR LC_ALL PYTHONPATH TEMP TMP USERPROFILE PROJECT_DIR SKILL_DIR
    CLAUDE_SKILL_DIR CLAUDE_PLUGIN_ROOT CLAUDE_PROJECT_DIR SCRIPT_DIR
    """
)
_PATHS = compile_on_use(
    r"(?<![\w/.~$`}-])(?P<home>~|\$HOME|\$\{HOME\}|\$env:USERPROFILE|%USERPROFILE%|/(?:home|Users)/[\w.<>${}-]{1,40}|/root)"
    r"(?P<below>[/\\][\w.@+*/\\-]{1,200})"
    r"|(?<![\w/.:~$}>-])(?P<absolute>/(?:etc|usr|var|tmp|opt|dev|proc|sys|mnt|media|srv|bin|sbin|Library|Applications|private"
    r"|run|boot)/[\w.@+*/-]{1,200})"
    r"|(?P<windows>(?<![\w\\])[A-Z]:\\[\w.\\-]{1,200}|%(?:APPDATA|LOCALAPPDATA|TEMP|PROGRAMDATA|WINDIR)%(?:\\[\w.\\-]{1,200})?)"
    r"|(?<![\w/@.-])(?P<dotted>\.(?:env|ssh|aws|azure|gcloud|kube|docker|gnupg|git|gitconfig|git-credentials|npmrc|pypirc|netrc"
    r"|bashrc|zshrc|bash_profile|profile|zprofile|claude|codex|cursor|gemini|agents|openclaw|mcp\.json|vscode|github|bash_history"
    r"|zsh_history)(?:\.[a-z]{2,12})?(?:/[\w.@+*/-]{1,200})?)(?![\w-]|\.\w)"
    r"|(?<![\w/.-])(?P<identity>(?:MEMORY|SOUL|CLAUDE|AGENTS|GEMINI|IDENTITY|HEARTBEAT)\.md)(?![\w-]|\.\w)"
)
_DULL_PATHS = frozenset(
    ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/usr/bin/env", "/bin/sh", "/bin/bash")
)
_MAX_PARTS = 5
"""Parts of a path that are kept."""
_MCP_TOOL = compile_on_use(r"\bmcp__[A-Za-z0-9-]{1,60}(?:__[\w-]{1,80}|__\*)?")
_BARE_HOST_ENDINGS = (
    r"com|net|org|io|dev|ai|app|cloud|example|xyz|info|co|site|online|top|ru|cn|me|us|uk|de|fr|eu|tech|gg|cc"
)
_BARE_HOST = compile_on_use(
    rf"(?<![\w./@$~:-])(?:[a-z0-9](?:[a-z0-9-]{{0,61}}[a-z0-9])?\.){{1,4}}(?:{_BARE_HOST_ENDINGS})(?:/[\w./?=&%-]{{0,200}})?(?![\w-]|\.\w|\()"
)


class _Collector:
    """Collects what is found, each thing once."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.commands: dict[str, set[str]] = {}
        self.kinds: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self._own: set[str] = set()
        """Variables that the document sets, which is searched now."""
        self.own_modules = {
            part.rpartition(".")[0] or part
            for path in paths
            for part in path.split("/")
            if part.endswith(".py") or "/" in path
        }

    def result(self, facts: tuple[str, ...]) -> Capabilities:
        commands = {
            name: tuple(sorted(self.commands[name])[:MAX_OF_KIND]) for name in sorted(self.commands)[:MAX_OF_KIND]
        }
        beside = {host for hosts in self.commands.values() for host in hosts}
        self.kinds["hosts"] |= beside
        self.kinds["imports"] -= ORDINARY_IMPORTS
        kinds = {kind: tuple(sorted(items)[:MAX_OF_KIND]) for kind, items in self.kinds.items()}
        return Capabilities(commands=commands, facts=facts, **kinds)

    def add(self, kind: str, items: Iterable[str]) -> None:
        self.kinds[kind].update(item[:_MAX_CHARACTERS] for item in items if item)

    def add_commands(self, found: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        for name, hosts in found:
            self.commands.setdefault(name, set()).update(hosts)

    # ── the front matter ─────────────────────────────────────────────────────────────────────────────────────────────

    def add_fields(self, skill: Skill) -> None:
        self.add("tools", (tool.strip() for tool in skill.allowed_tools))
        tools = skill.fields.get("tools")
        if tools is not None:
            self.add("tools", _tool_names(tools.value))
        needs = skill.requirements
        self.add("variables", needs.env)
        self.add("imports", (_package_name(text) for text in needs.packages))
        for name in (*needs.bins, *needs.any_bins):
            self.commands.setdefault(name[:_MAX_CHARACTERS], set())
        if (hooks := skill.fields.get("hooks")) is not None:
            for text in _texts(hooks.value):
                self.add_commands(known_commands_in([text]))
                self.add("hosts", hosts_in(text))

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def add_file(self, file: SkillFile, *, is_skill: bool) -> None:
        text = file.text[:_MAX_TEXT]
        name = posixpath.basename(file.path)
        language = _LANGUAGES.get(name.rpartition(".")[2].lower(), "") if "." in name else ""
        if not language and text.startswith("#!"):
            first = text[:200].split("\n", 1)[0]
            language = "python" if "python" in first else "js" if "node" in first or "deno" in first else "sh"
        if language == "data":
            return
        if language == "text":
            body = text
            if is_skill and (end := text.find("\n---", 3)) > 0 and text.startswith("---"):
                body = text[end + 4 :]  # the front matter was read as such
            self._add_document(body)
        else:
            self._own = set()
            self._add_code(text, language)
        if name.startswith("requirements") and name.endswith(".txt"):
            self.add("imports", (_package_name(line) for line in text.split("\n", 1000)[:1000]))

    def _add_document(self, text: str) -> None:
        self._add_text(text)
        self._own = {match[2] or match[3] for match in _SET_VARIABLE.finditer(text) if not match[1]}
        last, position = None, 0
        for match in _FENCE.finditer(text):
            if last is None:
                self._add_spans(text[position : match.start()])
                last = match
            elif match["mark"].startswith(last["mark"]) and not match["language"]:
                language = last["language"].lower().strip(".")
                self._add_block(text[last.end() + 1 : match.start()], language)
                last, position = None, match.end()
        if last is None:
            self._add_spans(text[position:])

    def _add_block(self, code: str, language: str) -> None:
        if language in _SHELLS:
            self._add_code(code, "sh")
        elif language in _PYTHON:
            self._add_code(code, "python")
        elif language in _JAVASCRIPT:
            self._add_code(code, "js")
        else:
            self.add_commands(commands_in(code, is_shell=False))
            self._add_code(code, "")

    def _add_spans(self, text: str) -> None:
        spans = [match["code"].strip() for match in _SPAN.finditer(text)]
        self.add_commands(known_commands_in(spans))
        joined = "\n".join(spans)
        self._add_variables(joined)
        self.add("variables", (span for span in spans if _NAMED_VARIABLE.fullmatch(span)))
        self._add_installed(joined)
        self.add("hosts", (host for match in _BARE_HOST.finditer(joined) for host in hosts_in(match[0], bare=True)))

    def _add_code(self, code: str, language: str) -> None:
        self._add_text(code)
        self._add_variables(code, language)
        self._add_installed(code)
        if language == "sh":
            self.add_commands(commands_in(code))
        if language == "python" or (language == "sh" and "python" in code):
            self.add("imports", self._python_imports(code))
        elif language == "js":
            self.add(
                "imports",
                (
                    match["name"].removeprefix("node:")
                    for match in _JAVASCRIPT_IMPORT.finditer(code)
                    if not match["name"].startswith(".")
                ),
            )
        if language != "sh":
            for pattern in (_QUOTED_PROGRAM, _JSON_COMMAND):
                for match in pattern.finditer(code):
                    text = match["code"].strip()
                    if text and (pattern is _JSON_COMMAND or match["list"]):
                        self.add_commands(commands_in(text.split()[0]))
                    else:
                        self.add_commands(known_commands_in([text]))

    def _add_text(self, text: str) -> None:
        """Add what counts wherever it is."""
        self.add("hosts", hosts_in(text))
        self.add("paths", (path for match in _PATHS.finditer(text) if (path := _path_of(match))))
        if "mcp__" in text:
            self.add("tools", (match[0] for match in _MCP_TOOL.finditer(text)))

    def _add_variables(self, code: str, language: str = "sh") -> None:
        if "$" in code or "%" in code:
            own = self._own | {match[2] or match[3] for match in _SET_VARIABLE.finditer(code) if not match[1]}
            names = (match[1] or match[2] for match in _SHELL_VARIABLE.finditer(code)) if language in ("sh", "") else ()
            self.add("variables", (name for name in names if name not in own and name not in _COMMON_VARIABLES))
        found = (next(filter(None, match.groups()), "") for match in _CODE_VARIABLE.finditer(code))
        self.add("variables", (name for name in found if name not in _COMMON_VARIABLES))
        if language == "sh":
            exported = (match[2] for match in _SET_VARIABLE.finditer(code) if match[1])
            self.add("variables", (name for name in exported if name not in _COMMON_VARIABLES))

    def _add_installed(self, code: str) -> None:
        for match in _INSTALLED.finditer(code):
            for word in match["names"].split():
                if word.startswith(("#", "(")):
                    break
                word = word.strip("\"'`,.")
                if word.startswith("-"):
                    if word in ("-r", "--requirement", "-c"):
                        break
                    continue
                if _is_package(word):
                    self.add("imports", [_package_name(word)])
                if match[0].lstrip(" \t\n;&|`(").startswith(("npx", "uvx", "bunx", "pipx run", "pnpm dlx", "yarn dlx")):
                    break  # the rest are the arguments of the package

    def _python_imports(self, code: str) -> Iterator[str]:
        for match in _PYTHON_IMPORT.finditer(code):
            for name in (match["from"] or match["names"]).split(","):
                top = name.split()[0].split(".")[0] if name.split() else ""
                if top and top not in self.own_modules:
                    yield top
        for match in _DYNAMIC_IMPORT.finditer(code):
            yield match[1].split(".")[0]


def _is_package(word: str) -> bool:
    return bool(_PACKAGE.match(word)) and not word.startswith((".", "/", "$", "<", "{")) and "://" not in word


def _package_name(text: str) -> str:
    """Return the name of a package without its version and extras."""
    match = _PACKAGE.match(text.strip())
    if match is None or text.lstrip().startswith("#"):
        return ""
    name = match[0]
    return name if "/" in name and not name.startswith("@") else name.lower().rstrip(".-")


def _path_of(match: re.Match[str]) -> str:
    """Return a path in the form that is compared: with `~` for the home, and without what differs by chance."""
    if match["home"]:
        path = "~" + match["below"].replace("\\", "/")
    elif match["absolute"]:
        path = match["absolute"]
        if path.startswith(("/tmp/", "/private/tmp/", "/var/tmp/")):  # noqa: S108 - a name
            return "/tmp"  # noqa: S108
    else:
        path = match["windows"] or match["dotted"] or match["identity"]
    path = path.rstrip("./*-\\") if not path.endswith("/..") else path
    path = "/".join(path.split("/")[: _MAX_PARTS + 1])
    return "" if path in _DULL_PATHS or path in ("~", "~/") else path


def _tool_names(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield from (part.strip() for part in value.split(","))
    elif isinstance(value, tuple):
        for item in value:
            if isinstance(item, Mapping):
                yield str(item.get("name") or item.get("type") or "")
            elif isinstance(item, str):
                yield item


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    else:
        for item in value:
            yield from _texts(item)
