"""The official conformance suite and SDK of MCP, and what they say about Prowess.

`make conformance` installs what is needed and runs this file, which prints a table and fails if a count is too low.
The exit code of the suite says little, because skipped checks are no failures. So successes are counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from prowess import discover
from prowess.mcp import McpSkillProvider
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TOP = Path(__file__).parents[2]
SCRIPTS = TOP / "tests/mcp/conformance"
INSTALLED = TOP / ".conformance"
BIN = INSTALLED / "node_modules/.bin"
FASTMCP = TOP / ".venv-fastmcp/bin/python"
SERVER = {"sep-2640-skills-enumeration": 32, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7}
"""The scenarios for servers, and the checks that must succeed in each."""
CLIENT = {
    "sep-2640-client-no-prefetch": 1,
    "sep-2640-client-verify-digest": 1,
    "sep-2640-client-verify-size": 1,
    "sep-2640-client-verify-frontmatter": 1,
}
SECONDS = 300


def write_skills(folder: Path, more: int = 0, *, odd_names: bool = True) -> Path:
    """Write skills that differ in all that a server must get right.

    Args:
        folder: gets a folder for each.
        more: further skills, to fill pages.
        odd_names: whether there are files whose names are not ASCII, or have blanks.
    """
    forms = skill(folder / "forms", body="See [the fields](references/fields.md).").parent
    (forms / "references/deep").mkdir(parents=True)
    (forms / "references/fields.md").write_bytes(b"# Fields\r\n")
    if odd_names:
        (forms / "references/deep/an odd name #1.md").write_text("Read me.\n", encoding="utf-8")
        (forms / "references/stra\u00dfe.txt").write_text("\ufeffwith a mark\n", encoding="utf-8")
    (forms / "assets").mkdir()
    (forms / "assets/photo.bin").write_bytes(bytes(range(256)))
    (forms / "assets/empty").write_bytes(b"")
    odd = (
        "license: MIT",
        "compatibility: Works everywhere.",
        "metadata: {version: '1.10', day: 2026-07-28}",
        "values: {version: 1.10, octal: 0o17, off: no, hex: 0x1F, big: 9007199254740991, exponent: 1e3}",
        "allowed-tools: Read Bash(git:*)",
        "empty:",
        "list: [1, 1.0, true, ~, 'é']",
    )
    skill(folder / "odd-values", description="'Says: \"no\" # and more'", more="\n".join((*odd, "")))
    skill(folder / "windows").write_bytes(
        b"\xef\xbb\xbf---\r\nname: windows\r\ndescription: Has CRLF.\r\n---\r\nDo it.\r\n"
    )
    for number in range(more):
        skill(folder / f"filler-{number:04}")
    return folder


def expected_files(folder: Path) -> dict[str, dict[str, str]]:
    """Return the files of each skill in a folder, and their digests."""
    return {
        top.name: {
            path.relative_to(top).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(top.rglob("*"))
            if path.is_file()
        }
        for top in sorted(folder.iterdir())
    }


def serve_command(folder: Path, *options: str) -> list[str]:
    """Return the command that serves the skills of a folder and no others."""
    nothing = folder.parent / "nothing"
    nothing.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "prowess", "mcp", "serve", str(nothing), "--home", str(nothing)]
    return [*command, "--skill-dir", str(folder), *options]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the skills of a folder over HTTP; the value is the URL."""
    with subprocess.Popen(
        serve_command(folder, "--http", "127.0.0.1:0"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"http://\S+/mcp", line):
                    yield found[0]
                    break
            else:
                raise RuntimeError("the server ended: " + "".join(lines))
        finally:
            process.terminate()


def node_environ() -> dict[str, str]:
    """Return the environment in which `node` is the installed one."""
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"}


def node(script: str, *arguments: str) -> list[str]:
    """Return the command that runs a script of `tests/mcp/conformance`.

    Packages are looked up from the place of a script, so it runs as a copy.
    """
    copy = INSTALLED / script
    copy.write_bytes((SCRIPTS / script).read_bytes())
    return [str(BIN / "node"), str(copy), *arguments]


def suite(*arguments: str) -> list[dict[str, Any]]:
    """Run one scenario of the suite, and return its checks."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [str(BIN / "conformance"), *arguments, "--spec-version", "2026-07-28", "--force", "-o", out],
            env=node_environ(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        files = list(Path(out).rglob("checks.json"))
        if len(files) != 1:
            raise RuntimeError(done.stdout + done.stderr)
        checks: list[dict[str, Any]] = json.loads(files[0].read_text("utf-8"))
        return checks


def successes(checks: Sequence[dict[str, Any]]) -> int:
    """Return how many checks succeeded."""
    return sum(check["status"] == "SUCCESS" for check in checks)


def failures(checks: Sequence[dict[str, Any]]) -> list[str]:
    """Return the checks without success, each with its reason."""
    return [
        f"{check['id']}: {check['status']}: {check.get('errorMessage') or ''}"
        for check in checks
        if check["status"] not in ("SUCCESS", "INFO")
    ]


def check_server(scenario: str, url: str) -> list[dict[str, Any]]:
    """Run a scenario for servers."""
    return suite("server", "--url", url, "--scenario", scenario, "--timeout", str(SECONDS * 1000))


def check_client(scenario: str) -> list[dict[str, Any]]:
    """Run a scenario for clients."""
    command = f"{sys.executable} {TOP / 'tests/mcp/conformance_client.py'}"
    return suite("client", "--command", command, "--scenario", scenario)


def read_with_typescript(era: str, *target: str) -> dict[str, Any]:
    """Return what the TypeScript client reads from a server, every file verified by it."""
    done = subprocess.run(
        node("read_skills.mjs", era, *target),
        env=node_environ(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def read_with_prowess(folder: Path, command: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the files of each skill that our client reads from a server, and their digests."""
    (empty := folder.parent / "empty").mkdir(exist_ok=True)
    with McpSkillProvider("it", command=command, cache=tempfile.mkdtemp(dir=folder.parent)) as provider:
        catalog = discover(empty, home=empty, cache=False, providers=[provider])
        if catalog.findings:
            raise RuntimeError("\n".join(finding.message for finding in catalog.findings))
        return {
            entry.name.removeprefix("it:"): {
                path: hashlib.sha256(provider.read_file(entry, path)).hexdigest() for path, _ in provider.files(entry)
            }
            for entry in catalog.active
        }


def read_with_fastmcp(folder: Path, command: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the files of each skill that FastMCP's helpers write to a folder, and their digests.

    Raises:
        RuntimeError: they fail, or the lists of files are not what they wrote.
    """
    folder.mkdir()
    script = [str(FASTMCP), str(SCRIPTS / "read_with_fastmcp.py"), str(folder)]
    done = subprocess.run([*script, *command], capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    written = expected_files(folder)
    if {name: one["files"] for name, one in json.loads(done.stdout).items()} != written:
        raise RuntimeError(done.stdout)
    return written


def by_path(skills: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the files of skills as `expected_files` does."""
    result: dict[str, dict[str, str]] = {}
    for uri, one in skills.items():
        top = uri.removesuffix("SKILL.md")
        files = {unquote(file.removeprefix(top)): digest for file, digest in one["files"].items()}
        result[top.rstrip("/").rpartition("/")[2]] = files
    return result


def agreed(one: dict[str, dict[str, str]], other: dict[str, dict[str, str]]) -> int:
    """Return how many files two readings agree about; 0 if the second has others."""
    pairs = [
        {(name, path, digest) for name, files in part.items() for path, digest in files.items()}
        for part in (one, other)
    ]
    return len(pairs[0] & pairs[1]) if len(pairs[1] - pairs[0]) == 0 else 0


def rows(folder: Path) -> Iterator[tuple[str, int, int, list[str]]]:
    """Yield what was tried, how much of it succeeded and how much must, and the reasons for the rest."""
    skills = write_skills(folder / "skills")
    many = write_skills(folder / "many/skills", more=1100)
    expected = expected_files(skills)
    count = sum(map(len, expected.values()))
    with served(skills) as url:
        for scenario, least in SERVER.items():
            checks = check_server(scenario, url)
            yield f"server, {scenario}", successes(checks), least, failures(checks)
        for era in ("modern", "older"):
            read = by_path(read_with_typescript(era, url))
            yield f"TypeScript client reads ours over HTTP, {era} era", agreed(expected, read), count, []
    for era in ("modern", "older"):
        read = by_path(read_with_typescript(era, *serve_command(skills)))
        yield f"TypeScript client reads ours over stdio, {era} era", agreed(expected, read), count, []
    with served(many) as url:
        checks = check_server("sep-2640-skills-enumeration", url)
        yield (
            "server, enumeration of many pages",
            successes(checks),
            SERVER["sep-2640-skills-enumeration"],
            failures(checks),
        )
    for scenario, least in CLIENT.items():
        checks = check_client(scenario)
        yield f"client, {scenario}", successes(checks), least, failures(checks)
    read = read_with_prowess(skills, node("serve_skills.mjs", str(skills), "2"))
    yield "our client reads the TypeScript server", agreed(expected, read), count, []
    plain = write_skills(folder / "plain/skills", odd_names=False)
    read = read_with_fastmcp(folder / "synced", serve_command(plain))
    yield "FastMCP's helpers read ours", agreed(expected_files(plain), read), count - 2, []
    # It serves no skill with unusual numbers in its front matter.
    expected.pop("odd-values")
    read = read_with_prowess(skills, [str(FASTMCP), str(SCRIPTS / "serve_fastmcp.py"), str(skills)])
    yield "our client reads the server of FastMCP", agreed(expected, read), count - 1, []


def main() -> int:
    """Print a table of all; return 1 if something failed."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for what, got, least, reasons in rows(Path(folder)):
            failed |= got < least
            print(f"{'ok  ' if got >= least else 'FAIL'} {got:3} of {least:<3} {what}", flush=True)
            if got < least:
                print(*(f"     {reason}" for reason in reasons), sep="\n", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
