"""Corners that all clients share: white space, control characters, limits, collisions of skills that are not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients._trees import Tree, tree

if TYPE_CHECKING:
    from collections.abc import Callable

SPACES = {
    "tab": "\t",
    "vt": "\v",
    "ff": "\f",
    "fs": "\x1c",
    "us": "\x1f",
    "nel": "\x85",
    "nbsp": "\xa0",
    "ogham": "\u1680",
    "mongol": "\u180e",
    "enquad": "\u2000",
    "hair": "\u200a",
    "zwsp": "\u200b",
    "zwj": "\u200d",
    "ls": "\u2028",
    "ps": "\u2029",
    "nnbsp": "\u202f",
    "math": "\u205f",
    "wj": "\u2060",
    "ideo": "\u3000",
    "bom": "\ufeff",
}
"""White space of all kinds, and what looks like it."""
CONTROLS = {
    "nul": "\0",
    "soh": "\x01",
    "bel": "\a",
    "bs": "\b",
    "so": "\x0e",
    "esc": "\x1b[31mred\x1b[0m",
    "osc": "\x1b]8;;https://example.invalid\x1b\\link\x1b]8;;\x1b\\",
    "title": "\x1b]0;title\a",
    "del": "\x7f",
    "pad": "\x80",
    "csi": "\x9b31m",
    "apc": "\x9f",
    "rlo": "\u202egnp.exe",
    "isolate": "\u2066x\u2069",
    "shy": "\xad",
    "tagchar": "\U000e0041",
    "private": "\ue000",
    "nonchar": "\ufffe",
    "last": "\U0010ffff",
}
"""Control characters, and characters that are not shown."""
ESCAPES = (
    r"\x07", r"\e[31m", r"\0", r"\_", r"\N", r"\L", r"\P", r"\t", r"\r", r"\n", r"\x7f", r"\x9b", r"\u202e",
    r"\U000e0041", r"\ud800", r"\/", r"\q",
)  # fmt: skip
"""Escape sequences of YAML's double-quoted texts; JSON and YAML libraries differ about the last."""


def front(name: str, description: str, rest: str = "") -> str:
    """Return a file with these texts as they are."""
    return f"---\nname: {name}\ndescription: {description}\n{rest}---\nBody.\n"


@tree()
def corner_spaces_in_descriptions(t: Tree) -> None:
    """White space of all kinds at the beginning, inside and at the end of a description."""
    t.git()
    for key, space in SPACES.items():
        for place, text in (("start", f"{space}d [[{key}-start]]"), ("inside", f"d{space}x [[{key}-inside]]")):
            t.skill(t.P / f"{key}-{place}", f"{key}-{place}", desc=text)
        t.skill(t.P / f"{key}-end", f"{key}-end", desc=f"d [[{key}-end]]{space}")


@tree()
def corner_spaces_in_quotes(t: Tree) -> None:
    """The same in a quoted description, and a description that is nothing else."""
    t.git()
    for key, space in SPACES.items():
        t.skill(t.P / f"{key}-both", f"{key}-both", desc=f'"{space}d [[{key}-both]]{space}"')
        t.skill(t.P / f"{key}-only", f"{key}-only", desc=f'"{space}"')
        t.skill(t.P / f"{key}-plain", f"{key}-plain", desc=space)


@tree()
def corner_spaces_in_names(t: Tree) -> None:
    """The same in names, plain and quoted."""
    t.git()
    for key, space in SPACES.items():
        forms = {"start": f"{space}x{key}1", "inside": f"x{space}{key}2", "end": f"x{key}3{space}"}
        for form, name in forms.items():
            t.skill(t.P / f"{key}-{form}", f"{key}-{form}", name=name)
        t.skill(t.P / f"{key}-quoted", f"{key}-quoted", name=f'"{space}x{key}4{space}"')
        t.skill(t.P / f"{key}-only", f"{key}-only", name=f'"{space}"')


@tree()
def corner_spaces_at_fences(t: Tree) -> None:
    """The same after the opening and the closing fence, before the first, and in a line before it."""
    t.git()
    for key, space in SPACES.items():
        for form, opening, closing in (
            ("after1", f"---{space}", "---"),
            ("after2", "---", f"---{space}"),
            ("before2", "---", f"{space}---"),
            ("before1", f"{space}---", "---"),
            ("line", f"{space}\n---", "---"),
        ):
            variant = f"{key}-{form}"
            raw = f"{opening}\nname: {variant}\ndescription: d [[{variant}]]\n{closing}\nBody.\n"
            t.skill(t.P / variant, variant, raw=raw)


@tree()
def corner_spaces_around_keys(t: Tree) -> None:
    """The same before and after the colon of a key, as indentation, and in a line of its own."""
    t.git()
    for key, space in SPACES.items():
        for form, lines in (
            ("before", "description{space}: d {tag}\n"),
            ("after", "description:{space}d {tag}\n"),
            ("indent", "{space}description: d {tag}\n"),
            ("line", "description: d {tag}\n{space}\n"),
            ("nested", "description: d {tag}\nmetadata:\n{space}a: b\n"),
            ("comment", "description: d {tag}{space}# comment\n"),
        ):
            variant = f"{key}-{form}"
            text = lines.format(space=space, tag=f"[[{variant}]]")
            t.skill(t.P / variant, variant, raw=f"---\nname: {variant}\n{text}---\nBody.\n")


@tree()
def corner_spaces_in_repairs(t: Tree) -> None:
    """The same in front matter that is not YAML, for the clients that repair it."""
    t.git()
    for key, space in SPACES.items():
        for form, text in (
            ("colon", f"d [[{key}-colon]] when:{space}x"),
            ("colons", f"d [[{key}-colons]] when: {space}x"),
            ("at", f"@{space}d [[{key}-at]]"),
            ("braces", f"{{{{{space}d}}}} [[{key}-braces]]"),
            ("end", f"when: d [[{key}-end]]{space}"),
        ):
            t.skill(t.P / f"{key}-{form}", f"{key}-{form}", desc=text)


@tree()
def corner_controls(t: Tree) -> None:
    """Control characters and escape sequences as they are, in plain and in quoted descriptions."""
    t.git()
    for key, text in CONTROLS.items():
        t.skill(t.P / f"{key}-plain", f"{key}-plain", desc=f"d [[{key}-plain]] {text} x")
        t.skill(t.P / f"{key}-quoted", f"{key}-quoted", desc=f'"d [[{key}-quoted]] {text} x"')
        t.skill(t.P / f"{key}-end", f"{key}-end", desc=f"d [[{key}-end]] {text}")
        t.skill(t.P / f"{key}-body", f"{key}-body", body=f"Body {text}.\n")


@tree()
def corner_controls_in_names(t: Tree) -> None:
    """Control characters in names and in names of folders."""
    t.git()
    for key, text in CONTROLS.items():
        t.skill(t.P / f"{key}-plain", f"{key}-plain", name=f"a{key}{text}b")
        t.skill(t.P / f"{key}-quoted", f"{key}-quoted", name=f'"c{key}{text}d"')
        if "\0" not in text and "/" not in text:
            t.skill(t.P / f"f{key}{text}g", f"{key}-folder", raw=f"---\ndescription: d [[{key}-folder]]\n---\nBody.\n")


@tree()
def corner_escapes(t: Tree) -> None:
    """Escape sequences of YAML in descriptions and names."""
    t.git()
    for number, escape in enumerate(ESCAPES):
        for form, name, text in (
            ("text", "", f'"d [[e{number}-text]] {escape} x"'),
            ("ends", "", f'"{escape}d [[e{number}-ends]]{escape}"'),
            ("name", f'"n{number}{escape}x"', f"d [[e{number}-name]]"),
        ):
            variant = f"e{number}-{form}"
            t.skill(t.P / variant, variant, name=name or variant, desc=text)


def block_tree(style: str, word: str) -> None:
    """Make a tree with block scalars of one style."""

    def fill(t: Tree) -> None:
        t.git()
        for length in (1023, 1024, 1025, 1535, 1536, 1537):
            for lines in (1, 2):
                variant = f"b{length}-{lines}"
                text = (f"[[{variant}]] " + "lorem ipsum " * 200)[: length - 1] + "Z"
                if lines == 2:
                    text = text[:500] + "\n  " + text[501:]
                raw = f"---\nname: {variant}\ndescription: {style}\n  {text}\nlicense: x\n---\nBody.\n"
                t.skill(t.P / variant, variant, raw=raw)

    fill.__name__ = f"corner_block_{word}"
    fill.__doc__ = f"Descriptions after `{style}` at the limits, of one line and of two."
    tree()(fill)


for _style, _word in (("|", "literal"), (">", "folded"), ("|-", "literal_strip"), (">-", "folded_strip")):
    block_tree(_style, _word)
for _style, _word in (("|+", "literal_keep"), (">+", "folded_keep")):
    block_tree(_style, _word)


@tree()
def corner_block_forms(t: Tree) -> None:
    """Block scalars with empty lines, indentation indicators, comments, tabs and other line ends."""
    t.git()
    for variant, value in (
        ("empty-line", "|\n  a {tag}\n\n  b\n"),
        ("empty-end", "|\n  a {tag}\n\n\n"),
        ("empty-keep", "|+\n  a {tag}\n\n\n"),
        ("empty-fold", ">\n  a {tag}\n\n  b\n"),
        ("more-indented", ">\n  a {tag}\n    b\n  c\n"),
        ("indicator", "|2\n    a {tag}\n   b\n"),
        ("indicator-strip", "|2-\n    a {tag}\n"),
        ("strip-indicator", "|-2\n    a {tag}\n"),
        ("comment", "| # comment\n  a {tag}\n"),
        ("spaces-after", "|  \n  a {tag}\n"),
        ("space-line", "|\n  a {tag}\n     \n  b\n"),
        ("space-end", "|\n  a {tag}   \n"),
        ("space-end-fold", ">\n  a {tag}   \n  b\n"),
        ("tab-inside", "|\n  a\tb {tag}\n"),
        ("tab-indent", "|\n\ta {tag}\n"),
        ("not-indented", "|\na {tag}\n"),
        ("empty", "|\n"),
        ("empty-folded-strip", ">-\n"),
        ("hash-line", "|\n  a {tag}\n  # b\n"),
        ("fence-inside", "|\n  a {tag}\n  ---\n  b\n"),
        ("dots-inside", "|\n  a {tag}\n  ...\n  b\n"),
        ("crlf", "|\r\n  a {tag}\r\n  b\r\n"),
        ("crlf-fold", ">\r\n  a {tag}\r\n  b\r\n"),
        ("nel", "|\n  a {tag}\x85  b\n"),
        ("ls", "|\n  a {tag}\u2028  b\n"),
        ("last", "|\n  a {tag}"),
    ):
        text = value.replace("{tag}", f"[[{variant}]]")
        end = "\n---\nBody.\n" if variant == "last" else "---\nBody.\n"
        t.skill(t.P / variant, variant, raw=f"---\nname: {variant}\ndescription: {text}{end}")


@tree()
def corner_when_to_use(t: Tree) -> None:
    """`when_to_use` of every type that YAML has."""
    t.git()
    for variant, value in {
        "text": "a text",
        "quoted": '"a text"',
        "empty": '""',
        "spaces": '"  "',
        "nothing": "",
        "null": "null",
        "tilde": "~",
        "true": "true",
        "false": "false",
        "yes": "yes",
        "int": "42",
        "zero": "0",
        "minus-zero": "-0",
        "octal": "0o17",
        "old-octal": "017",
        "hex": "0x1F",
        "binary": "0b11",
        "underscores": "1_000",
        "float": "1.50",
        "float-int": "2.0",
        "exponent": "1e3",
        "large": "123456789012345678901234567890",
        "large-float": "1e21",
        "small-float": "0.0000001",
        "inf": ".inf",
        "minus-inf": "-.inf",
        "nan": ".nan",
        "date": "2026-11-22",
        "datetime": "2026-11-22T10:00:00Z",
        "sexagesimal": "1:30",
        "list": "[one, two]",
        "list-empty": "[]",
        "list-null": "[null]",
        "list-nulls": "[a, null, b]",
        "list-types": "[1, true, 2.5, null, x]",
        "list-nested": "[[1, 2], [3, [4]]]",
        "list-map": "[{a: 1}, b]",
        "list-block": "\n  - one\n  - two",
        "map": "{a: 1}",
        "map-empty": "{}",
        "literal": "|\n  first\n  second",
        "folded": ">\n  first\n  second",
        "multi-line": "first\n  second",
        "escape": '"a\\nb"',
        "tagged": "!!str 12",
        "binary-tag": "!!binary aGVsbG8=",
        "set": "!!set {a, b}",
        "anchor": "&a text",
    }.items():
        t.skill(t.P / variant, variant, fm=f"when_to_use: {value}\n")
    t.skill(
        t.P / "no-description", "no-description", raw="---\nname: x\nwhen_to_use: text\n---\nBody [[no-description]].\n"
    )
    t.skill(t.P / "hyphens", "hyphens", fm="when-to-use: text\n")
    t.skill(t.P / "camel", "camel", fm="whenToUse: text\n")


def markers_tree(word: str, about: str, mark: Callable[[Tree], object]) -> None:
    """Make a tree in which the project's folder has a marker, and skills are below, in and above it."""

    def fill(t: Tree) -> None:
        top = t.root / "outer"
        t.repo.rmdir()
        t.repo = top / "repo"
        t.cwd = t.repo / "pkg/app"
        t.cwd.mkdir(parents=True)
        mark(t)
        for variant, folder in (("above", top), ("root", t.repo), ("middle", t.repo / "pkg"), ("cwd", t.cwd)):
            t.skill(folder / t.project / variant, variant)
            t.skill(folder / ".agents/skills" / f"{variant}-shared", f"{variant}-shared")
        t.skill(t.U / "user", "user")

    fill.__name__ = f"corner_marker_{word}"
    fill.__doc__ = f"{about}, two levels above the working directory."
    tree()(fill)


def _git_folder(t: Tree) -> None:
    t.git(t.root / "elsewhere")


def _link(t: Tree) -> None:
    _git_folder(t)
    t.link(t.repo / ".git", t.root / "elsewhere/.git")


def _link_to_file(t: Tree) -> None:
    _git_folder(t)
    t.write(t.root / "pointer", f"gitdir: {t.root}/elsewhere/.git\n")
    t.link(t.repo / ".git", t.root / "pointer")


def _head_only(t: Tree) -> None:
    t.write(t.repo / ".git/HEAD", "ref: refs/heads/main\n")


def _inner(t: Tree) -> None:
    t.git(t.repo)
    (t.repo / "pkg/.git").mkdir(parents=True)


def _outer(t: Tree) -> None:
    t.git(t.root / "outer")
    t.write(t.repo / ".git", "")


def _bare(t: Tree) -> None:
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\tbare = true\n")):
        t.write(t.repo / name, text)
    (t.repo / "objects").mkdir()
    (t.repo / "refs").mkdir()


markers_tree("git", "A repository", lambda t: t.git(t.repo))
markers_tree("link", "A `.git` that is a link to a repository's", _link)
markers_tree("link_to_file", "A `.git` that is a link to a file that names a repository's", _link_to_file)
markers_tree("link_broken", "A `.git` that is a link to nothing", lambda t: t.link(t.repo / ".git", t.root / "nothing"))
markers_tree("link_loop", "A `.git` that is a link to itself", lambda t: t.link(t.repo / ".git", ".git"))
markers_tree("empty_folder", "A `.git` that is an empty folder", lambda t: (t.repo / ".git").mkdir())
markers_tree("head_only", "A `.git` with a HEAD and nothing else", _head_only)
markers_tree("empty_file", "A `.git` that is an empty file", lambda t: t.write(t.repo / ".git", ""))
markers_tree("garbage", "A `.git` that is any file", lambda t: t.write(t.repo / ".git", b"\xff\xfe\0garbage\n"))
markers_tree(
    "to_nothing",
    "A `.git` file that names no folder",
    lambda t: t.write(t.repo / ".git", "gitdir: /nowhere\n"),
)
markers_tree("inner", "A repository, with an empty `.git` nearer,", _inner)
markers_tree("outer", "An empty `.git` file in a repository", _outer)
markers_tree("bare", "The files of a bare repository", _bare)
for _name in (".hg", ".jj", ".svn", ".sl", ".bzr", ".pijul", ".fslckout", "_FOSSIL_"):
    markers_tree(
        _name.strip("._").lower(),
        f"A folder `{_name}`",
        lambda t, name=_name: (t.repo / name).mkdir(),  # type: ignore[misc]
    )
for _name in ("package.json", "pyproject.toml", "go.mod", ".project-root"):
    markers_tree(
        _name.strip(".").replace(".", "_").replace("-", "_"),
        f"A file `{_name}`",
        lambda t, name=_name: t.write(t.repo / name, ""),  # type: ignore[misc]
    )

KINDS = {
    "plain": "description: {text}\n",
    "manual": "description: {text}\ndisable-model-invocation: true\n",
    "paths": 'description: {text}\npaths: ["src/**/*.py"]\n',
    "paths-manual": 'description: {text}\npaths: ["src/**/*.py"]\ndisable-model-invocation: true\n',
    "model-only": "description: {text}\nuser-invocable: false\n",
    "nowhere": "description: {text}\nuser-invocable: false\ndisable-model-invocation: true\n",
    "no-description": "license: {text}\n",
    "empty": "description: ''\nlicense: {text}\n",
    "list": "description: [a]\nlicense: {text}\n",
    "broken": "description: [{text}\n",
    "long": "description: {text} " + "x" * 1600 + "\n",
}
"""Front matter of skills that clients show, hide, show later or drop."""


def kind(t: Tree, folder: object, variant: str, name: str, front_matter: str) -> None:
    """Write a skill of a kind."""
    text = front_matter.replace("{text}", f"d [[{variant}]]")
    t.skill(f"{folder}", variant, raw=f"---\nname: {name}\n{text}---\nBody [[{variant}]].\n")


@tree()
def corner_shadows_project(t: Tree) -> None:
    """A project's skill that is hidden, late or dropped, and the user's of the same name that is not."""
    t.git()
    for key, text in KINDS.items():
        kind(t, t.P / key, f"{key}-project", key, text)
        kind(t, t.U / key, f"{key}-user", key, KINDS["plain"])


@tree()
def corner_shadows_user(t: Tree) -> None:
    """A user's skill that is hidden, late or dropped, and the project's of the same name that is not."""
    t.git()
    for key, text in KINDS.items():
        kind(t, t.P / key, f"{key}-project", key, KINDS["plain"])
        kind(t, t.U / key, f"{key}-user", key, text)


@tree()
def corner_shadows_both(t: Tree) -> None:
    """Both are hidden, late or dropped, in each of two ways."""
    t.git()
    keys = [key for key in KINDS if key != "plain"]
    for one, other in zip(keys, [*keys[1:], keys[0]], strict=True):
        kind(t, t.P / one, f"{one}-{other}-project", one, KINDS[one])
        kind(t, t.U / one, f"{one}-{other}-user", one, KINDS[other])


@tree()
def corner_shadows_in_one_folder(t: Tree) -> None:
    """Two folders of one root with one name; the first or the second is hidden, late or dropped."""
    t.git()
    for key, text in KINDS.items():
        kind(t, t.P / f"a-{key}", f"{key}-first", f"one-{key}", text)
        kind(t, t.P / f"b-{key}", f"{key}-second", f"one-{key}", KINDS["plain"])
        kind(t, t.P / f"c-{key}", f"{key}-third", f"two-{key}", KINDS["plain"])
        kind(t, t.P / f"d-{key}", f"{key}-fourth", f"two-{key}", text)


@tree()
def corner_shadows_in_levels(t: Tree) -> None:
    """The nearer of two project folders has the skill that is hidden, late or dropped; or the farther."""
    t.git()
    t.cwd = t.repo / "pkg"
    for key, text in KINDS.items():
        kind(t, t.cwd / t.project / f"near-{key}", f"near-{key}-pkg", f"near-{key}", text)
        kind(t, t.P / f"near-{key}", f"near-{key}-root", f"near-{key}", KINDS["plain"])
        kind(t, t.cwd / t.project / f"far-{key}", f"far-{key}-pkg", f"far-{key}", KINDS["plain"])
        kind(t, t.P / f"far-{key}", f"far-{key}-root", f"far-{key}", text)


@tree()
def corner_alias_of_hidden(t: Tree) -> None:
    """The name of a skill is the folder of another one that is hidden, late or dropped."""
    t.git()
    for key, text in KINDS.items():
        kind(t, t.P / f"x-{key}", f"{key}-named", f"y-{key}", KINDS["plain"])
        kind(t, t.P / f"y-{key}", f"{key}-folder", f"z-{key}", text)


@tree()
def corner_paths(t: Tree) -> None:
    """`paths` of every form, with `disable-model-invocation` and without."""
    t.git()
    for key, value in {
        "list": '["src/**"]',
        "text": "src/**",
        "several": "src/**, tests/**",
        "braces": "src/*.{ts,tsx}",
        "all": '"**"',
        "all-list": '["**"]',
        "star": '"*"',
        "all-files": '"**/*"',
        "empty": '""',
        "spaces": '"  "',
        "comma": '","',
        "empty-list": "[]",
        "empty-in-list": '[""]',
        "all-in-list": '["src/**", "**"]',
        "null": "null",
        "nothing": "",
        "true": "true",
        "false": "false",
        "number": "42",
        "numbers": "[1, 2]",
        "null-list": "[null]",
        "map": "{a: b}",
        "nested": '[["src/**"]]',
        "not": '"!src/**"',
        "root": '"/"',
        "dot": '"."',
        "block": '\n  - "src/**"',
    }.items():
        t.skill(t.P / f"{key}-shown", f"{key}-shown", fm=f"paths: {value}\n")
        t.skill(t.P / f"{key}-manual", f"{key}-manual", fm=f"paths: {value}\ndisable-model-invocation: true\n")
