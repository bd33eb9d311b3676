"""Read the cases of a skill, in every form that published skills have.

    evals/evals.json            agentskills: `evals`, each with `prompt` and `assertions` or `expectations`
                                NVIDIA: a list, each item with `question`, `expected_skill`, `expected_behavior`
    evals/*trigger*.json        a list, each item with `query` and `should_trigger`
    tests/eval.yaml, eval.yaml  dotnet: `scenarios`; Vally: `stimuli`; also evals/eval.yaml and evals/*.eval.yaml
    evals/NAME/                 Claude Code: `case.yaml` or `prompt.md`, and `graders/*.md`

A form is recognized by its keys, not by its file. A typo must not change what is tested: an unknown key is a finding,
and a file with an error does not run.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch
from itertools import islice

from prowess._internal.files import MAX_SKILL_FILES, SKILL_FILE, UnreadableError, read_file, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, nearest_names, quoted
from prowess.filesystem import git_root
from prowess.skill import (
    MAX_BYTES,
    FindingCollector,
    MappingReader,
    Node,
    load,
    read_json_node,
    read_yaml_node,
)

from ._cases import EvalCase, Evals, Grader
from ._fixtures import GROUPS, Places, read_fixtures
from ._graders import read_constraints, read_expected, read_grader, read_graders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.findings import Finding

MAX_CASES = 10_000
"""The most cases an eval may have."""
_FILES = ("evals.json", "eval.yaml", "eval.yml", "*.eval.yaml", "*.eval.yml", "*trigger*.json")
"""Names of files in `evals/`. Others belong to their authors, and are read if `--cases` names them."""
_BESIDE = ("eval.yaml", "eval.yml", "tests/eval.yaml", "tests/eval.yml")


class _Form(Frozen):
    """The words of one form."""

    cases: tuple[str, ...] = ()
    """The key of the list of cases; none if the file is the list."""
    top: str = ""
    """Further keys of the file."""
    id: str = "id"
    prompt: str = "prompt"
    expected: str = ""
    graders: str = ""
    """Keys of lists of sentences or graders."""
    also: str = ""
    """Further keys of a case."""


_PUBLISHED = "name tags expected_script expected_workflow expected_references expected_test acceptable_skills must_not"
_FORMS = {
    "agentskills": _Form(
        cases=("evals", "cases"),
        top="skill_name skill version description scope scope_note",
        expected="expected_output",
        graders="assertions expectations expected_behavior",
        also=f"files expected expected_skill should_trigger ground_truth {_PUBLISHED}",
    ),
    "nvidia": _Form(
        cases=("evals", "cases"),
        top="skill_name skill version description scope scope_note",
        prompt="question",
        expected="ground_truth",
        graders="expected_behavior assertions",
        also=f"files expected expected_skill should_trigger {_PUBLISHED}",
    ),
    "triggers": _Form(
        cases=("evals", "cases", "queries"),
        top="skill_name skill version description",
        prompt="query",
        also="should_trigger expected_skill name tags",
    ),
    "scenarios": _Form(
        cases=("scenarios",),
        top="name description version config type",
        id="name",
        graders="assertions rubric",
        also="setup timeout expect_tools reject_tools expect_activation max_turns max_tokens tags",
    ),
    "stimuli": _Form(
        cases=("stimuli",),
        top="name description version type environment config defaults scoring tags",
        id="name",
        graders="graders rubric",
        also="environment constraints tags timeout runs turns description reference expect_activation",
    ),
}
_GROUP_KEYS = "files skills commands copy_test_files variables mcp env plugins agents instructions"
_CASE_KEYS = "schema_version name description tags runs max_turns timeout_seconds allowed_tools disallowed_tools model"
_CASE_KEYS += " append_system_prompt permission_mode execution graders prompt scaffold weight fixtures"
_PROMPT_KEYS = _CASE_KEYS.replace(" prompt ", " ")


def read_evals(folder: str, cases: str | None = None, name: str = "") -> Evals:
    """Return the cases of a skill. Problems are in the findings; nothing is raised.

    Args:
        folder: of the skill.
        cases: a file or folder of cases, absolute, instead of those of the skill.
        name: of the skill, if its folder may be missing.
    """
    folder = os.path.abspath(folder)
    skill = load(os.path.join(folder, SKILL_FILE))
    reader = _Reader(name or skill.name or os.path.basename(folder), folder)
    for path in _eval_files(folder) if cases is None else _named_files(cases):
        reader.read(path)
        if reader.is_full:
            break
    return Evals(
        name=reader.name,
        folder=folder,
        description=skill.description or "",
        body=skill.body,
        files=tuple(reader.files),
        cases=tuple(reader.cases),
        findings=tuple(reader.findings),
    )


def _eval_files(folder: str) -> Iterator[str]:
    """Yield the files, and the folders of single cases, of a skill."""
    top = os.path.join(folder, "evals")
    beside = [os.path.join(folder, name) for name in _BESIDE]
    yield from (path for path in beside if os.path.isfile(path) and not os.path.islink(os.path.dirname(path)))
    yield from _named_files(top) if os.path.isdir(top) and not os.path.islink(top) else ()


def _named_files(path: str) -> Iterator[str]:
    """Yield what a folder of cases has, or the one file or case that was named."""
    if not os.path.isdir(path) or _is_case(path):
        yield path
        return
    for name in _names(path):
        inner = os.path.join(path, name)
        if any(fnmatch(name.lower(), pattern) for pattern in _FILES) or (os.path.isdir(inner) and _is_case(inner)):
            yield inner


def _names(folder: str) -> list[str]:
    """Return the names in a folder, sorted, and at most as many as a skill may have files."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in islice(entries, MAX_SKILL_FILES))
    except OSError:
        return []


def _is_case(folder: str) -> bool:
    return not os.path.islink(folder) and any(
        os.path.isfile(os.path.join(folder, name)) for name in ("case.yaml", "prompt.md")
    )


class _Reader:
    """Reads the files of one skill."""

    def __init__(self, name: str, folder: str) -> None:
        self.name, self.folder = name, folder
        self.files: list[str] = []
        self.cases: list[EvalCase] = []
        self.findings: list[Finding] = []
        self._tops = [real_path(folder), *([] if (top := git_root(folder)) is None else [top])]
        self._base = folder
        self.is_full = False
        """Whether there are more cases than are read."""
        self.errors = self.doubts = FindingCollector("", "eval-invalid")

    def read(self, path: str) -> None:
        """Read a file, or the folder of one case."""
        self._base = path if os.path.isdir(path) else os.path.dirname(path)
        before = len(self.cases)
        if os.path.isdir(path):
            self._read_folder(path)
        elif (node := self._node(path)) is not None:
            self._read_cases(node)
        ids: dict[str, EvalCase] = {}
        for case in self.cases[before:]:
            first = ids.setdefault(case.id, case)
            if first is not case:
                where = f", also at line {first.line}" if first.line else ""
                position = Node(kind="text", line=case.line, column=case.column)
                self.errors.add(f"duplicate id {quoted(case.id)}{where}", position, "rename one of them")
        self.is_full = len(self.cases) > MAX_CASES
        if self.is_full:
            self.errors.add(f"more than {MAX_CASES:,} cases", hint="split the skill")
            del self.cases[MAX_CASES:]
        self._collect()

    def _open(self, path: str) -> bytes | None:
        """Begin a file; if it cannot be read, report it and return `None`."""
        self._collect()
        self.files.append(path)
        self.errors = FindingCollector(path, "eval-invalid")
        self.doubts = FindingCollector(path, "eval-unknown")
        try:
            return read_file(path, MAX_BYTES)
        except UnreadableError as error:
            hint = "split the file" if error.code == "file-too-large" else error.hint
            self.errors.add(error.message.replace(SKILL_FILE, "it"), hint=hint)
            return None

    def _collect(self) -> None:
        """Keep the findings of the file that was read, from top to bottom."""
        found = [*self.errors.findings, *self.doubts.findings]
        self.findings += sorted(found, key=lambda item: (item.line or 0, item.column or 0))
        self.errors = FindingCollector(self.errors.path, "eval-invalid")
        self.doubts = FindingCollector(self.errors.path, "eval-unknown")

    def _node(self, path: str) -> Node | None:
        data = self._open(path)
        if data is None:
            return None
        is_json = path.lower().endswith(".json")
        self.doubts.is_json = is_json
        return (read_json_node if is_json else read_yaml_node)(data, self.errors)

    # ── files with several cases ─────────────────────────────────────────────────────────────────────────────────────

    def _read_cases(self, node: Node) -> None:
        top = MappingReader(node, self.errors) if node.kind == "map" else None
        found = _recognize(node)
        if node.kind == "list" and not node.items:
            self.errors.add("the file has no cases", node, "add one, or remove the file")
        elif found is None:
            self._report_unrecognized(node)
        if found is None:
            return
        form, items, key = found
        if top is not None and key:
            self._allow(top, form.top, *form.cases)
            for name in ("skill_name", "skill"):
                self._check_name(top, name)
            if not items:
                self.errors.add(f"{quoted(key)} has no cases", node, "add one, or remove the file")
        for index, item in enumerate(items):
            path = f"{key}[{index}]" if key or top is None else ""
            if item.kind != "map":
                self.errors.add(f"{quoted(path)} is not a case", item, "write a mapping with its prompt")
                continue
            self._read_case(MappingReader(item, self.errors, path), form, index)

    def _report_unrecognized(self, node: Node) -> None:
        """Report a file whose form is unknown, and the key that looks like that of a list of cases."""
        known = sorted({name for form in _FORMS.values() for name in form.cases})
        words = [key.text for key in node.keys]
        near = [(key, match[0]) for key in node.keys if (match := nearest_names(key.text, known))]
        for key, name in near[:1]:
            self.errors.add(f"unknown key {quoted(key.text)}", key, f"did you mean `{name}`?")
            return
        what = f"its keys are {', '.join(map(quoted, words[:5]))}" if words else "it has no cases with a prompt"
        self.errors.add(f"the file has no known form of evals: {what}", node, f"use one of {', '.join(known)}")

    def _allow(self, reader: MappingReader, *names: str) -> None:
        allowed = [name for words in names for name in words.split()]
        MappingReader(reader.node, self.doubts, reader.prefix).allow_only(*allowed)

    def _check_name(self, reader: MappingReader, key: str) -> None:
        """Report the name of another skill."""
        name = reader.get_text(key)
        if name and name != self.name:
            hint = did_you_mean(name, [self.name], f"this skill is {quoted(self.name)}")
            self.doubts.add(f"{quoted(reader.key_path(key))} is another skill: {quoted(name)}", reader.get(key), hint)

    def _read_case(self, reader: MappingReader, form: _Form, index: int) -> None:
        self._allow(reader, f"{form.id} {form.prompt} {form.expected} {form.graders} {form.also}")
        prompt = reader.get_text(form.prompt, required=True)
        if prompt is not None and not prompt.strip():
            self.errors.add(
                f"{quoted(reader.key_path(form.prompt))} is empty", reader.get(form.prompt), "write the task"
            )
        graders = [*read_graders(reader, form.graders), *read_constraints(reader)]
        graders += read_expected(reader)
        for group in GROUPS:
            node = reader.get(group)
            if node is not None and node.kind == "map":
                self._allow(MappingReader(node, self.errors, reader.key_path(group)), _GROUP_KEYS)
        skill, triggers = self._wanted(reader, graders)
        case = EvalCase(
            id=reader.get_text(form.id) or str(index + 1),
            prompt=prompt or "",
            skill=skill,
            triggers=triggers,
            expected=(form.expected and reader.get_text(form.expected)) or "",
            fixtures=tuple(read_fixtures(reader, self._places())),
            graders=tuple(graders),
            tags=self._tags(reader),
            path=self.errors.path,
            line=reader.node.line,
            column=reader.node.column,
        )
        if prompt and prompt.strip():
            self.cases.append(case)

    def _places(self) -> Places:
        bases = (self.folder, self._base, os.path.join(self._base, "files"))
        return Places(bases=bases, tops=(*self._tops, real_path(self._base)))

    def _tags(self, reader: MappingReader) -> tuple[str, ...]:
        node = reader.get("tags")
        if node is not None and node.kind == "map":
            return tuple(f"{key}:{value}" for key, value in node.plain_value().items())
        return reader.get_texts("tags") if node is not None and node.kind == "list" else ()

    def _wanted(self, reader: MappingReader, graders: Sequence[Grader]) -> tuple[str | None, bool]:
        """Return the skill that should be used, if any, and whether it is the one that is evaluated."""
        wanted: str | None = self.name
        named = reader.get("expected_skill", null_is_missing=False)
        if named is not None:
            text = named.text if named.kind == "text" else ""
            wanted = None if text.lower() in ("", "none", "null") else text
            beside = os.path.join(os.path.dirname(self.folder), text, SKILL_FILE)
            if wanted not in (None, self.name) and not (re.fullmatch(r"[\w.-]+", text) and os.path.isfile(beside)):
                self._check_name(reader, "expected_skill")
        for grader in graders:
            refused = grader.config.get("disallowed") if grader.kind == "skill-used" else None
            if isinstance(refused, list) and self.name in refused:
                wanted = None
        for key in ("should_trigger", "expect_activation"):
            should = reader.get_bool(key)
            if should is not None:
                wanted = self.name if should else None if wanted == self.name else wanted
        return wanted, wanted == self.name

    # ── the folder of one case ───────────────────────────────────────────────────────────────────────────────────────

    def _read_folder(self, folder: str) -> None:
        """Read a case of Claude Code: `case.yaml`, `prompt.md` or both, and a file for each grader."""
        case_file, prompt_file = (os.path.join(folder, name) for name in ("case.yaml", "prompt.md"))
        prompt, graders, tags, where = "", list[Grader](), tuple[str, ...](), prompt_file
        if os.path.isfile(case_file):
            node, where = self._node(case_file), case_file
            if node is not None and node.kind == "map":
                reader = MappingReader(node, self.errors)
                self._allow(reader, _CASE_KEYS)
                inner = reader.get_mapping("execution")
                prompt = (inner and inner.get_text("prompt")) or reader.get_text("prompt") or ""
                graders += read_graders(reader, "graders")
                tags = self._tags(reader)
            elif node is not None:
                self.errors.add("the file is not a mapping", node, "write `key: value` lines")
        if os.path.isfile(prompt_file):
            matter, body = self._markdown(prompt_file)
            prompt = body.strip() or prompt
            if matter is not None:
                self._allow(matter, _PROMPT_KEYS)
                tags = tags or self._tags(matter)
        for path in _markdown_files(os.path.join(folder, "graders")):
            matter, body = self._markdown(path)
            grader = read_grader(matter, body.strip()) if matter is not None else None
            graders += [] if grader is None else [grader]
        self._collect()
        self.errors = FindingCollector(where, "eval-invalid")
        if not prompt:
            self.errors.add("the case has no prompt", hint="write it into `prompt.md`")
            return
        if not graders:
            self.errors.add("the case has no grader", hint="add a file to its folder `graders`")
        own = [grader for grader in graders if grader.kind == "skill-used" and self._is_own(grader)]
        triggers = not any(str(grader.config.get("max")) == "0" for grader in own)
        self.cases.append(
            EvalCase(
                id=os.path.basename(folder),
                prompt=prompt,
                skill=self.name if triggers else None,
                triggers=triggers,
                graders=tuple(graders),
                tags=tags,
                path=where,
                line=1,
            )
        )

    def _is_own(self, grader: Grader) -> bool:
        match = str(grader.config.get("input_match", ""))
        return not match or self.name in match

    def _markdown(self, path: str) -> tuple[MappingReader | None, str]:
        """Return the front matter of a Markdown file and the text below it."""
        data = self._open(path)
        if data is None:
            return None, ""
        head, body = b"", data
        if data.startswith(b"---"):
            parts = re.split(rb"^---[ \t]*\r?$", data, maxsplit=2, flags=re.MULTILINE)
            if len(parts) == 3:
                head, body = parts[1], parts[2]
        # The line of the fence stays, so that positions are those of the file.
        node = read_yaml_node(head, self.errors) if head.strip() else Node(kind="map", line=1, column=1)
        text = body.decode("utf-8", "replace").replace("\r\n", "\n")
        if node is not None and node.kind != "map":
            self.errors.add("the front matter is not a mapping", node, "write `key: value` lines")
        return (MappingReader(node, self.errors) if node is not None and node.kind == "map" else None), text


def _markdown_files(folder: str) -> list[str]:
    """Return the Markdown files in a folder; one that is a link is not followed."""
    names = [] if os.path.islink(folder) else _names(folder)
    return [os.path.join(folder, name) for name in names if name.endswith(".md")]


def _recognize(node: Node) -> tuple[_Form, tuple[Node, ...], str] | None:
    """Return the form of a file, its cases, and the key that they are below; `None` if the form is unknown."""
    if node.kind == "list":
        form = _form_of_items(node.items)
        return None if form is None else (form, node.items, "")
    if node.kind != "map":
        return None
    values = dict(zip((key.text for key in node.keys), node.items, strict=True))
    for name in ("scenarios", "stimuli"):
        if name in values and values[name].kind == "list":
            return _FORMS[name], values[name].items, name
    for name in ("evals", "cases", "queries"):
        if name in values and values[name].kind == "list":
            return _form_of_items(values[name].items) or _FORMS["agentskills"], values[name].items, name
    form = _form_of_items((node,))  # one case alone
    return None if form is None else (form, (node,), "")


def _form_of_items(items: Sequence[Node]) -> _Form | None:
    keys = {key.text for item in items for key in item.keys}
    return next((_FORMS[name] for name in ("nvidia", "triggers", "agentskills") if _FORMS[name].prompt in keys), None)
