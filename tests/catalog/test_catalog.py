"""Deciding: states, collisions, references, digests, and the laws a catalog keeps."""

from __future__ import annotations

import hashlib
import os
import random
import re
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, strategies as st

from prowess.catalog import Catalog, discover
from prowess.catalog._entry import State
from prowess.catalog._resolve import evaluate_file
from prowess.errors import AmbiguousSkillError, HostNotFoundError, SkillNotFoundError
from prowess.hosts import Root, host_names, load_host
from support.files import write_file, write_files
from support.skills import FakeMachine, entry_in_folder, finding_codes, make_machine, skill
from support.strategies import examples

PLACES = (
    "repo/.prowess/skills",
    "repo/.agents/skills",
    "repo/.claude/skills",
    "repo/.github/skills",
    "repo/.camel/skills",
    "repo/skills",
    "repo/.prowess/packages/p/skills",
    "repo/.aam/packages/p/skills",
    "home/.agents/skills",
    "home/.claude/skills",
    "home/.camel/skills",
    "home/.initrunner/skills",
    "extra",
)
LAWFUL = ("prowess", "camel", "aam", "initrunner", "claude-code", "codex", "gemini-cli", "copilot")

# Where (place), folder, name, text: few of each, so that they collide.
ROWS = st.lists(
    st.tuples(
        st.sampled_from(PLACES),
        st.sampled_from(["aa", "bb", "group/cc", "Aa", "aa/bb", "0/aa"]),
        st.sampled_from(["aa", "bb", "BB", "p:aa", "ａａ", ""]),
        st.sampled_from(["one", "two", ""]),
    ),
    max_size=14,
    unique_by=lambda row: row[:2],
)


def build(top: Path, rows: list[tuple[str, str, str, str]]) -> None:
    (top / "home").mkdir(parents=True)
    (top / "repo/.git").mkdir(parents=True)
    for place, folder, name, words in rows:
        skill(top / place / folder, f'"{name}"', f'"{words}"')


def see(top: Path, host: str, **more: Any) -> Catalog:
    return discover(top / "repo", host=host, home=top / "home", env={}, skill_dirs=[top / "extra"], **more)


def table(catalog: Catalog) -> list[dict[str, object]]:
    return [entry.as_dict() for entry in catalog.skills]


class Shuffled:
    """A listing in no order."""

    def __init__(self, entries: Any, seed: int) -> None:
        with entries:
            self.entries = list(entries)
        random.Random(seed).shuffle(self.entries)  # noqa: S311 - not for secrets

    def __enter__(self) -> Any:
        return iter(self.entries)

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Any:
        return iter(self.entries)


@pytest.mark.slow
@examples(0.4)
@given(ROWS, st.sampled_from(LAWFUL), st.integers(0, 1000))
def test_the_order_in_which_directories_list_does_not_matter(
    rows: list[tuple[str, str, str, str]], host: str, seed: int
) -> None:
    """Two file systems that list the same files in different orders give the same catalog."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        build(top, rows)
        wanted = see(top, host)
        real = os.scandir
        with mock.patch("os.scandir", lambda path=".": Shuffled(real(path), seed)):
            shuffled = see(top, host)
        assert table(shuffled) == table(wanted)
        assert shuffled.findings == wanted.findings


@pytest.mark.slow
@examples(0.4)
@given(ROWS, st.sampled_from(LAWFUL))
def test_each_skill_appears_once_and_the_states_add_up(rows: list[tuple[str, str, str, str]], host: str) -> None:
    """No SKILL.md is in a catalog twice; one in a scanned root that is not in it is a finding."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        build(top, rows)
        catalog = see(top, host)
        paths = [os.path.realpath(entry.path) for entry in catalog.skills]
        assert len(paths) == len(set(paths))
        counts = catalog.counts
        assert counts.pop("found") == len(paths) == sum(counts.values())
        assert set(counts) == {str(state) for state in State}
        scanned = {os.path.realpath(place.path) for place in catalog.scan_roots}
        listed = {*paths, *(item.path for item in catalog.findings)}
        for place, folder, _, _ in rows:
            if str(top / place) in scanned:
                assert str(top / place / folder / "SKILL.md") in listed
        for entry in catalog.skills:
            assert entry.reason or entry.state is State.ACTIVE
            assert (entry.shadowed_by is not None) == (entry.state is State.SHADOWED)


@pytest.mark.slow
@examples(0.6)
@given(ROWS, st.sampled_from(["prowess", "camel", "aam", "initrunner"]), st.integers(0, 20))
def test_a_root_of_lower_precedence_never_changes_an_active_skill(
    rows: list[tuple[str, str, str, str]], host: str, cut: int
) -> None:
    """What is active without the last roots is active with them, as it was."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        build(top, rows)
        whole = see(top, host)
        kept = {place.path for place in whole.scan_roots[:cut]}
        before = [entry for entry in see_only(top, host, kept).skills if entry.state is State.ACTIVE]
        after = {entry.path: entry for entry in whole.skills}
        for entry in before:
            assert after[entry.path].as_dict() == entry.as_dict()


def see_only(top: Path, host: str, kept: set[str]) -> Catalog:
    from prowess.catalog import _resolve as module

    real = vars(module)["find_scan_roots"]
    with mock.patch.object(
        module, "find_scan_roots", lambda *a, **k: tuple(place for place in real(*a, **k) if place.path in kept)
    ):
        return see(top, host)


@pytest.fixture
def here(tmp_path: Path) -> FakeMachine:
    return make_machine(tmp_path, "prowess")


def test_byte_identical_copies_are_reported_as_copies(here: FakeMachine) -> None:
    """A copy differs from another skill of the same name; one more file is enough."""
    first = here.repo / ".agents/skills/pdf"
    second = here.home / ".agents/skills/pdf"
    skill(first)
    skill(second)
    (first / "x.txt").write_text("x")
    (second / "x.txt").write_text("x")
    loser = here.discover_skills().skills[1]
    assert [item.code for item in loser.findings] == ["skill-copy"]
    assert loser.reason == f"{first}/SKILL.md wins: project before user; it is a byte-identical copy"
    (second / "x.txt").write_text("y")
    loser = here.discover_skills().skills[1]
    assert [item.code for item in loser.findings] == ["name-shadowed"]


IMPOSTORS = ("aa", "pd", "0", "pdf2", "PDF", "Pdf", "ｐｄｆ", "a/pdf", "a/b/pdf", "a/b/c", "pd\u200bf")
CLAIMS = ("pdf", "PDF", "ｐｄｆ", '"pd\u200bf"', '" pdf "', "''")


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("impostor", IMPOSTORS)
def test_no_folder_of_a_root_takes_the_name_of_another(here: FakeMachine, impostor: str, claim: str) -> None:
    """Whatever it is called, wherever it sorts, however it writes the name."""
    honest = skill(here.repo / ".agents/skills/pdf")
    skill(here.repo / ".agents/skills" / impostor, claim, "evil")
    for catalog in (here.discover_skills(), here.discover_skills(cache=False)):
        assert catalog.resolve("pdf").path == str(honest)
        assert [entry.path for entry in catalog.active if entry.name.strip().lower() == "pdf"] == [str(honest)]


def test_the_name_of_a_folder_decides_only_inside_its_root(here: FakeMachine) -> None:
    """The project still comes before the user, and two folders with one name are in the order of their paths."""
    skill(here.repo / ".agents/skills/mine", "pdf")
    skill(here.home / ".agents/skills/pdf")
    skill(here.home / ".agents/skills/a/doc")
    skill(here.home / ".agents/skills/b/doc")
    skill(here.home / ".agents/skills/one", "csv")
    skill(here.home / ".agents/skills/two", "csv", "other")
    assert here.active() == {
        "pdf": "repo/.agents/skills/mine",
        "doc": "home/.agents/skills/a/doc",
        "csv": "home/.agents/skills/one",
    }


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("aa", "it is called like its folder, and `aa` is called otherwise"),
        ("a/pdf", "of two skills that are called like their folders, it is nearer to the skills folder"),
    ],
)
def test_the_reason_names_the_rule_of_folder_names(here: FakeMachine, folder: str, words: str) -> None:
    """With the cache too."""
    root = here.repo / ".agents/skills"
    honest = skill(root / "pdf")
    skill(root / folder, "pdf", "evil")
    for _ in range(2):
        loser = entry_in_folder(here.discover_skills().skills[:1], Path(folder).name)
        assert (loser.rule, loser.reason, loser.shadowed_by) == ("folder-name", f"{honest} wins: {words}", str(honest))


def test_names_of_folders_decide_for_no_other_host(tmp_path: Path) -> None:
    """Each follows the rule of its client."""
    for host in host_names():
        assert load_host(host).folder_names_win is (host == "prowess")
    here = make_machine(tmp_path, "gemini-cli")
    skill(here.repo / ".agents/skills/aa", "pdf", "evil")
    skill(here.repo / ".agents/skills/pdf")
    assert here.states()["repo/.agents/skills/pdf"] == "shadowed"


def independent_digest(folder: Path) -> str:
    lines = []
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            inner = str(path.relative_to(folder)).encode()
            lines.append(inner + b"\0" + hashlib.sha256(path.read_bytes()).hexdigest().encode() + b"\n")
    return "sha256:" + hashlib.sha256(b"".join(sorted(lines))).hexdigest()


def test_a_digest_is_over_the_sorted_lines_of_path_and_hash(here: FakeMachine) -> None:
    """`sha256:` over `PATH NUL SHA256HEX LF` of the regular files; links are no part of it."""
    folder = here.repo / ".agents/skills/pdf"
    skill(folder)
    write_files(folder, {"a/b/c.txt": b"c", "a.txt": b"", "a/z": b"\0\xff", "é.md": b"e", "B": b"b", "a-b": b"-"})
    (folder / "link").symlink_to("a.txt")
    (folder / "dir").symlink_to("a")
    (folder / "empty").mkdir()
    (entry,) = here.discover_skills().explain("pdf")
    assert entry.digest == independent_digest(folder)
    assert here.discover_skills().skills[0].digest is None
    (folder / "a.txt").write_bytes(b"changed")
    assert here.discover_skills().explain("pdf")[0].digest == independent_digest(folder) != entry.digest


@pytest.mark.slow
@examples(0.3)
@given(
    st.dictionaries(st.from_regex(r"[a-zA-Z0-9é._-]{1,3}x(/[a-z.]{1,3}y){0,2}", fullmatch=True), st.binary(max_size=9))
)
def test_a_digest_covers_any_files(files: dict[str, bytes]) -> None:
    """The same for any files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "repo/.agents/skills/pdf"
        skill(folder)
        for path, data in files.items():
            try:
                write_file(folder / path, data)
            except OSError:
                continue  # a file where a folder should be
        (entry,) = discover(folder.parents[2], home=name, env={}).explain("pdf")
        assert entry.digest == independent_digest(folder)


# References


@pytest.fixture
def many(here: FakeMachine) -> FakeMachine:
    skill(here.repo / ".agents/skills/pdf", description="the project's")
    skill(here.home / ".agents/skills/pdf", description="the user's")
    skill(here.repo / ".prowess/packages/tools/skills/pdf", description="the package's")
    skill(here.repo / ".agents/skills/folder-name", "other-name")
    skill(here.repo / ".agents/skills/off", more="disable-model-invocation: true\n")
    return here


def digest_of(here: FakeMachine, folder: str) -> str:
    entry = here.discover_skills().resolve(str(here.repo / folder))
    from prowess.catalog._entry import with_digest

    digest = with_digest(entry).digest
    assert digest is not None
    return digest.removeprefix("sha256:")


REFERENCES = [
    pytest.param("pdf", "repo/.agents/skills/pdf", id="name"),
    pytest.param("PDF", "repo/.agents/skills/pdf", id="name-in-another-case"),
    pytest.param("project:pdf", "repo/.agents/skills/pdf", id="scope"),
    pytest.param("user:pdf", "home/.agents/skills/pdf", id="scope-of-the-loser"),
    pytest.param("tools:pdf", "repo/.prowess/packages/tools/skills/pdf", id="package"),
    pytest.param("package:tools:pdf", "repo/.prowess/packages/tools/skills/pdf", id="scope-and-package"),
    pytest.param("other-name", "repo/.agents/skills/folder-name", id="name-unlike-folder"),
    pytest.param("folder-name", "repo/.agents/skills/folder-name", id="folder-unlike-name"),
    pytest.param("off", "repo/.agents/skills/off", id="user-only"),
    pytest.param(".agents/skills/pdf", "repo/.agents/skills/pdf", id="folder-path"),
    pytest.param("./.agents/skills/pdf/", "repo/.agents/skills/pdf", id="folder-path-with-slash"),
    pytest.param(".agents/skills/pdf/SKILL.md", "repo/.agents/skills/pdf", id="file-path"),
    pytest.param("../home/.agents/skills/pdf", "home/.agents/skills/pdf", id="path-above"),
]


@pytest.mark.parametrize(("reference", "folder"), REFERENCES)
def test_a_reference_is_a_name_a_scope_a_package_or_a_path(reference: str, folder: str, many: FakeMachine) -> None:
    """`resolve` returns the skill, `explain` lists it first."""
    catalog = many.discover_skills()
    assert many.relative_folder(catalog.resolve(reference).path) == folder
    assert many.relative_folder(catalog.explain(reference)[0].path) == folder


def test_a_reference_may_be_the_start_of_a_digest(many: FakeMachine) -> None:
    """With `sha256:` or without; eight digits at least without."""
    digest = digest_of(many, ".agents/skills/folder-name")
    for reference in (digest, digest[:8], f"sha256:{digest}", f"sha256:{digest[:6]}", f"sha256:{digest[:8].upper()}"):
        assert many.discover_skills().resolve(reference).folder == "folder-name"
    with pytest.raises(SkillNotFoundError):
        many.discover_skills().resolve(digest[:7])


def test_an_absolute_path_is_a_reference(many: FakeMachine) -> None:
    """Of the folder or of the file; also through a link to them."""
    file = many.home / ".agents/skills/pdf/SKILL.md"
    assert many.discover_skills().resolve(str(file)).path == str(file)
    assert many.discover_skills().resolve(str(file.parent)).path == str(file)


def test_explain_lists_every_candidate(many: FakeMachine) -> None:
    """With root, scope, digest, state and rule; the winner first."""
    chain = many.discover_skills().explain("pdf")
    rows = {(entry.scope, str(entry.state), entry.rule) for entry in chain}
    wanted = {("project", "active", "found"), ("user", "shadowed", "name-shadowed"), ("package", "active", "found")}
    assert rows == wanted
    assert chain[0].scope == "project"
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", entry.digest or "") for entry in chain)


def test_an_ambiguous_reference_lists_its_candidates(here: FakeMachine) -> None:
    """If no rule chooses between two skills of one scope, the error has their paths and a hint."""
    first = skill(here.repo / ".agents/skills/one/x", "aa")
    second = skill(here.repo / ".agents/skills/two/x", "bb")
    with pytest.raises(AmbiguousSkillError) as raised:
        here.discover_skills().resolve("x")
    assert raised.value.candidates == (str(first), str(second))
    assert str(raised.value) == f"`x` matches 2 skills:\n  project:aa  {first}\n  project:bb  {second}"
    assert raised.value.hint == "use the path of one of them"
    assert len(here.discover_skills().explain("x")) == 2


@pytest.mark.parametrize(
    "reference", ["pfd", "pdff", "user:pfd", "nosuch/path", "", "deadbeefdeadbeef", "\0", "~unknown/x"]
)
def test_an_unknown_reference_suggests_similar_names(reference: str, many: FakeMachine) -> None:
    """In the hint of a `SkillNotFoundError`, which is a `LookupError` too."""
    for ask in (many.discover_skills().resolve, many.discover_skills().explain):
        with pytest.raises(SkillNotFoundError) as raised:
            ask(reference)
        assert isinstance(raised.value, LookupError)
        if reference in ("pfd", "pdff"):
            assert raised.value.hint == "did you mean `pdf`?"
        elif not reference.startswith("user"):
            assert raised.value.hint == "`prowess list` shows all skills"


def test_an_unknown_host_is_an_error(here: FakeMachine) -> None:
    """Before anything is read."""
    with pytest.raises(HostNotFoundError, match="unknown host `claud`"):
        discover(here.repo, host="claud")


def test_names_that_differ_only_in_case_are_reported(tmp_path: Path) -> None:
    """A host that compares exactly loads both; the finding says that they look alike."""
    here = make_machine(tmp_path, "camel")
    skill(here.repo / ".camel/skills/one", "pdf")
    skill(here.repo / ".camel/skills/two", "PDF")
    assert list(here.states().values()) == ["active", "active"]
    assert "name-lookalike" in finding_codes(here.discover_skills())


def test_skills_of_two_packages_may_have_the_same_name(tmp_path: Path) -> None:
    """Claude Code shows each in its own package; the names do not differ in case."""
    here = make_machine(tmp_path, "claude-code")
    for package in ("one", "two"):
        skill(here.repo / package / ".claude/skills/pdf", "pdf", f"Reads PDF of {package}.")
    catalog = here.discover_skills()
    assert [entry.state for entry in catalog.skills] == ["deferred", "deferred"]
    assert "name-lookalike" not in finding_codes(catalog)


def test_hidden_characters_in_a_name_do_not_count(here: FakeMachine) -> None:
    """Names that look the same are the same."""
    skill(here.repo / ".agents/skills/pdf")
    skill(here.repo / ".agents/skills/pdf2", '"pd\u200bf"', "evil")
    assert list(here.states().values()) == ["active", "shadowed"]


def test_a_rejected_skill_hides_nothing(here: FakeMachine) -> None:
    """It does not take part in collisions: the next skill of that name wins."""
    skill(here.repo / ".agents/skills/pdf", more="name: pdf\n")
    skill(here.home / ".agents/skills/pdf")
    assert list(here.states().values()) == ["rejected", "active"]


@pytest.mark.parametrize("host", host_names())
def test_evaluate_file_agrees_with_discover(host: str, tmp_path: Path) -> None:
    """A single file is evaluated as in a catalog with only that skill."""
    here = make_machine(tmp_path, host, INFER_AGENT_SKILLS_ENABLED="true")
    texts = {
        "aa": "---\nname: aa\ndescription: d\n---\nx\n",
        "bb": "---\nname: cc\ndescription: d\n---\nx\n",
        "dd": "---\nname: dd\n---\nWords.\n",
        "ee": "no front matter\n",
        "ff": "---\nname: ff\ndescription: " + "d" * 2000 + "\n---\nx\n",
        "gg": "---\nname: [gg]\ndescription: d\n---\nx\n",
    }
    for name, text in texts.items():
        write_file(here.top / "extra" / name / "SKILL.md", text)
    rules = load_host(host).with_changes(roots=(Root(path="@skill-dir", scope="extra"),))
    catalog = discover(here.repo, host=rules, home=here.home, env=here.env, skill_dirs=[here.top / "extra"])
    for name in texts:
        alone = evaluate_file(str(here.top / "extra" / name / "SKILL.md"), host)
        assert str(alone.state) == str(entry_in_folder(catalog, name).state), name


def test_a_named_folder_that_is_missing_is_a_finding(here: FakeMachine) -> None:
    catalog = here.discover_skills(skill_dirs=[here.top / "missing"])
    (found,) = [item for item in catalog.findings if item.path == str(here.top / "missing")]
    assert (found.code, found.message, found.hint) == ("root-not-folder", "no such folder", "check the path")


def test_as_dict_has_the_promised_shape(here: FakeMachine) -> None:
    """The keys of `list --json`."""
    skill(here.repo / ".agents/skills/pdf")
    (entry,) = here.discover_skills().skills
    assert set(entry.as_dict()) >= {
        *("name", "frontmatter_name", "folder", "description", "path", "scope", "root", "namespace", "state"),
        *("reason", "shadowed_by", "digest", "requirements", "findings"),
    }
    assert entry.state == "active"
    assert entry.as_dict()["state"] == "active"


@pytest.mark.parametrize("argument", ["skill_dirs", "client_args"])
def test_one_text_is_not_a_list_of_its_characters(argument: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=re.escape(f"`{argument}` is a list: `{argument}=['skills']`")):
        discover(tmp_path, **{argument: "skills"})  # type: ignore[arg-type]
