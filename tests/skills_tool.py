"""Let the tool `skills` of Vercel and Prowess read, verify and change each other's locks, in both directions.

`make shared` installs the tool from npm and runs this file, which prints a table and fails if a step does. With
`--record` it also writes what the tool wrote into tests/install/skills_tool, where tests of `make test` read it.
The tool has no network: git finds the repository of the skills in a folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from prowess.cli import main as prowess
from prowess.install import Store, Verification, verify
from prowess.install.sources import Wanted, fetch, parse_source
from prowess.lock import find_project, parse_lock, read_lock, read_tree
from support.web_server import static_server

TOP = Path(__file__).parent.parent
RECORDED = TOP / "tests/install/skills_tool"
INSTALLED = TOP / ".skills-tool/node_modules"
URL = "https://git.example/acme/skills.git"
SKILLS: dict[str, dict[str, str]] = {
    "pdf": {"scripts/run.py": "print(1)\n", "A.md": "A", "b.md": "b", "_c": "c", "a-b.md": "-", "a b.md": " "},
    "docx": {"references/Deep/x.md": "x", "references/deep.md": "y", "references-2.md": "z", ".hidden": "h"},
    "My Charts": {"notes/1.md": "1", "notes/10.md": "10", "notes/2.md": "2"},
    "accents": {"é.md": "é", "f.md": "f"},
    "metadata": {"metadata.json": "{}"},
}
"""The skills of the repository. The order of files of `accents` is not known; one of `metadata` is not installed."""
STEPS: list[tuple[str, str, bool]] = []


def write_source(folder: Path) -> None:
    """Write the skills of the repository."""
    for name, files in SKILLS.items():
        top = folder / "skills" / name.lower().replace(" ", "-")
        text = f"---\nname: {name}\ndescription: Works with {name}. Use when {name} is needed.\n---\nDo it.\n"
        for path, content in {"SKILL.md": text, **files}.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(content, encoding="utf-8")
            (top / path).chmod(0o755 if path.startswith("scripts/") else 0o644)


class World:
    """A repository of skills, a project, and a user who has both tools."""

    def __init__(self, top: Path) -> None:
        self.source, self.project, self.home = top / "source", top / "project", top / "home"
        for folder in (self.source, self.project, self.home):
            folder.mkdir()
        redirect = (
            f'[url "file://{self.source}"]\n\tinsteadOf = {URL}\n\tinsteadOf = https://github.com/acme/skills.git\n'
        )
        identity = "[user]\n\tname = Ada\n\temail = ada@git.example\n"
        (self.home / ".gitconfig").write_text(redirect + identity)
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "CI": "1"}
        self.env |= {"DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
        write_source(self.source)
        self.git("init", "-q", "-b", "main")
        self.commit("One")
        subprocess.run(["git", "init", "-q"], cwd=self.project, env=self.env, check=True)

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.source, env=self.env, check=True)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def tool(self, *arguments: str, succeeds: bool = True) -> str:
        """Run the other tool, and return what it prints, without colours."""
        command = [str(INSTALLED / "node/bin/node"), str(INSTALLED / "skills/bin/cli.mjs"), *arguments]
        options = {"cwd": self.project, "env": self.env, "stdin": subprocess.DEVNULL, "timeout": 120}
        done = subprocess.run(command, capture_output=True, text=True, check=succeeds, **options)  # type: ignore[call-overload]
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout)

    def prowess(self, *arguments: str) -> int:
        return prowess([*arguments, "--cwd", str(self.project), "--home", str(self.home)])

    def remove_all(self) -> None:
        """Remove all skills and the lock."""
        for path in (".agents", ".claude"):
            shutil.rmtree(self.project / path, ignore_errors=True)
        (self.project / "skills-lock.json").unlink()

    @property
    def lock(self) -> str:
        return (self.project / "skills-lock.json").read_text(encoding="utf-8")

    def ours(self) -> list[str]:
        """Return the names of the skills whose entries have our key."""
        return [name for name, entry in json.loads(self.lock)["skills"].items() if "prowess" in entry]

    def digests(self) -> dict[str, str]:
        """Return the digests of skills of a site."""
        return {name: entry["wellKnownDigest"] for name, entry in json.loads(self.lock)["skills"].items()}

    def verify(self, *names: str) -> Verification:
        assert find_project(str(self.project)) == os.path.realpath(self.project)
        return verify(read_lock(str(self.project / "skills-lock.json")), str(self.project), names=names)

    def results(self, *names: str) -> dict[str, tuple[str | None, list[str]]]:
        """Return how each skill was compared, and what kinds of differences there are."""
        return {skill.name: (skill.method, [d.kind for d in skill.differences]) for skill in self.verify(*names).skills}


def step(tool: str, title: str, result: object, expected: object) -> None:
    """Print one step, and whether it went well."""
    STEPS.append((tool, title, result == expected))
    print(f"{'ok    ' if result == expected else 'FAILED'}  {tool:<8} {title}", flush=True)
    if result != expected:
        print(f"        {result!r}\n        expected {expected!r}")


BY_HASH: tuple[str, list[str]] = ("computedHash", [])
BY_FILES: tuple[str, list[str]] = ("files", [])


def run(world: World, record: Path | None) -> None:
    """Run all steps."""
    world.tool("add", URL, *(word for name in SKILLS for word in ("--skill", name)), "-y", "-a", "claude-code", "codex")
    first = world.lock
    step("prowess", "reads what `skills add` wrote, and would write the same bytes", parse_lock(first).to_text(), first)
    expected = {"My Charts": BY_HASH, "accents": (None, ["unknown"]), "docx": BY_HASH, "pdf": BY_HASH}
    expected["metadata"] = ("computedHash", ["hash"])
    step("prowess", "verifies what it installed by `computedHash`", world.results(), expected)
    world.prowess("lock", "pdf", "docx")
    step("prowess", "`lock` adds the files", world.results("pdf", "docx"), {"docx": BY_FILES, "pdf": BY_FILES})
    listed = {item["name"]: item["source"] for item in json.loads(world.tool("list", "--json"))}
    step("skills", "`list` reads what we wrote", listed, dict.fromkeys(SKILLS, URL))
    before = world.lock
    shown = world.tool("update", "-p", "-y")
    step("skills", "`update` finds all of it up to date", ("up to date" in shown, world.lock), (True, before))
    (world.source / "skills/docx/more.md").write_text("More.\n")
    world.commit("Two")
    world.tool("update", "-p", "-y")
    second = world.lock
    step("skills", "`update` writes the changed entry anew, and keeps our key in the other", world.ours(), ["pdf"])
    step("prowess", "reads that, and would write the same bytes", parse_lock(second).to_text(), second)
    step("prowess", "verifies by files or hash", world.results("pdf", "docx"), {"docx": BY_HASH, "pdf": BY_FILES})
    world.tool("remove", "docx", "-y")
    step("skills", "`remove` keeps our key in the others", ("docx" in world.lock, world.ours()), (False, ["pdf"]))
    for path in (".agents", ".claude"):
        shutil.rmtree(world.project / path, ignore_errors=True)
    step("prowess", "notices that all is missing", world.results("pdf"), {"pdf": (None, ["missing"])})
    world.tool("experimental_install")
    step("skills", "`experimental_install` restores what we wrote", world.results("pdf"), {"pdf": BY_HASH})
    (world.project / ".agents/skills/pdf/A.md").write_text("changed")
    step("prowess", "notices a change by the hash", world.results("pdf"), {"pdf": ("computedHash", ["hash"])})
    shutil.copytree(world.source / "skills/pdf", world.project / "own/pdf")
    world.tool("add", "./own", "--skill", "pdf", "-y", "-a", "codex")
    third = world.lock
    step(
        "prowess",
        "reads a source that is a folder",
        read_lock(str(world.project / "skills-lock.json")).skills["pdf"].source,
        "./own",
    )
    step("prowess", "verifies it", world.results("pdf"), {"pdf": BY_HASH})
    world.tool("add", "acme/skills", "--skill", "docx", "-y", "-a", "codex")
    fourth = world.lock
    source = read_lock(str(world.project / "skills-lock.json")).skills["docx"].source
    step("prowess", "reads a source at GitHub", (source, world.results("docx")), ("acme/skills", {"docx": BY_HASH}))
    run_ours(world)
    fifth = run_site(world)
    if record is not None:
        texts = {"added": first, "updated": second, "folder": third, "github": fourth, "site": fifth}
        for name, text in texts.items():
            (record / f"{name}.json").write_text(text, encoding="utf-8")


def run_site(world: World) -> str:
    """Let the tool install what `prowess index` wrote, from a web server of this machine; return its lock."""
    offered = world.project.parent / "offered"
    for name in ("docx", "pdf"):
        shutil.copytree(world.source / "skills" / name, offered / name)
    site = world.project.parent / "site"
    first = index_site(offered, site)
    world.remove_all()
    with static_server(site) as server:
        world.tool("add", server.url, "-y", "-a", "codex")
        step("skills", "`add` installs from it", world.results(), {"docx": BY_HASH, "pdf": BY_HASH})
        step("skills", "and locks the digests of the index", world.digests(), first)
        shown = world.tool("update", "-p", "-y")
        outcome = [word for word in ("Updating docx", "Updating pdf", "Failed") if word in shown]
        step("skills", "`update` finds it up to date", outcome, [])
        (offered / "pdf/more.md").write_text("More.\n")
        second = index_site(offered, site)
        step("prowess", "`index` changes the digest of the changed skill", changes(first, second), ["pdf"])
        world.tool("update", "-p", "-y")
        step("skills", "`update` installs it", (world.digests(), world.results()["pdf"]), (second, BY_HASH))
        with Store(str(world.home / "store")).open() as opened:
            fetched = fetch(Wanted(source=parse_source(server.url), opened=opened))
            found = {skill.name: read_tree(skill.folder) for skill in fetched.skills}
            step("prowess", "reads it", found, {name: read_tree(str(offered / name)) for name in second})
            written = {skill.name: skill.extra["wellKnownDigest"] for skill in fetched.skills}
            step("both", "the digests are the same", written, second)
        lock = world.lock
        step("prowess", "would write the same bytes", parse_lock(lock).to_text(), lock)
        shutil.rmtree(world.project / ".agents")
        installed = (world.prowess("install"), list(world.results()))
        step("prowess", "`install` installs what the tool locked", installed, (0, ["docx", "pdf"]))
        world.remove_all()
        step("prowess", "`add` installs from it", world.prowess("add", server.url, "--yes"), 0)
        shown = world.tool("update", "-p", "-y")
        result = ("Updating docx" in shown, "Failed" in shown, world.results())
        step("skills", "`update` finds that up to date", result, (False, False, {"docx": BY_FILES, "pdf": BY_FILES}))
    return re.sub(r"127\.0\.0\.1:[0-9]+", "127.0.0.1:8080", lock)


def index_site(offered: Path, site: Path) -> dict[str, str]:
    """Write a site again, and return the digest of each skill in its index."""
    step("prowess", "`index` writes a site", prowess(["index", str(offered), "-o", str(site)]), 0)
    index = json.loads((site / ".well-known/agent-skills/index.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry["digest"] for entry in index["skills"]}


def changes(first: dict[str, str], second: dict[str, str]) -> list[str]:
    return [name for name in first if first[name] != second[name]]


def run_ours(world: World) -> None:
    """Run the steps that begin with `prowess add`."""
    world.remove_all()
    code = world.prowess("add", f"file://{world.source}", "pdf", "docx", "--yes")
    step("prowess", "`add` installs and locks", (code, world.results()), (0, {"docx": BY_FILES, "pdf": BY_FILES}))
    listed = [item["name"] for item in json.loads(world.tool("list", "--json"))]
    step("skills", "`list` reads what `add` wrote", sorted(listed), ["docx", "pdf"])
    shown = world.tool("update", "-p", "-y")
    step(
        "skills",
        "`update` computes the same hashes as we do",
        ("up to date" in shown, world.ours()),
        (True, ["docx", "pdf"]),
    )
    shutil.rmtree(world.project / ".agents")
    code = world.prowess("install")
    step("prowess", "`install` restores it", (code, world.results()), (0, {"docx": BY_FILES, "pdf": BY_FILES}))
    lock = read_lock(str(world.project / "skills-lock.json"))
    boxed = lock.skills["docx"].with_changes(
        name="boxed", source="registry.example/boxed", source_url="oci://registry.example/boxed", source_type="oci"
    )
    # It appends the path of a skill to a URL of a file, and then git finds no repository.
    known = [skill.with_changes(source=URL, source_url=URL) for skill in lock.skills.values()]
    (world.project / "skills-lock.json").write_text(lock.with_skills([*known, boxed]).to_text(), encoding="utf-8")
    shutil.rmtree(world.project / ".agents")
    world.tool("experimental_install", succeeds=False)
    restored = sorted(path.name for path in (world.project / ".agents/skills").iterdir())
    step("skills", "restores all but a source that only we know", restored, ["docx", "pdf"])
    step("skills", "and keeps its entry", world.ours(), ["boxed"])
    (world.project / "skills-lock.json").write_text(lock.to_text(), encoding="utf-8")
    world.tool("remove", "docx", "-y")
    step("skills", "`remove` removes what `add` wrote", list(world.results().items()), [("pdf", BY_FILES)])


def main(arguments: list[str]) -> int:
    """Run all steps in a temporary folder."""
    if not (INSTALLED / "node/bin/node").exists():
        print("the tool `skills` is not installed: run `make shared`", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="prowess-skills-tool-") as folder:
        world = World(Path(folder).resolve())
        os.environ |= {**world.env, "PROWESS_DATA_DIR": str(world.home / "data")}
        run(world, RECORDED if arguments == ["--record"] else None)
    failed = sum(not ok for *_, ok in STEPS)
    print(f"{len(STEPS) - failed} of {len(STEPS)} steps went well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
