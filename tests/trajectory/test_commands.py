"""Which files a command of the shell reads and runs."""

from __future__ import annotations

import pytest

from prowess.trajectory._commands import files_of_command


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("python3 scripts/a.py --x b.py", ["run /w/scripts/a.py"]),
        ("python3 -u scripts/a.py", ["run /w/scripts/a.py"]),
        ("python3 -c 'import a' scripts/a.py", []),
        ("python3 -m scripts.a", []),
        ("./scripts/a.sh", ["run /w/scripts/a.sh"]),
        ("~/s/a.sh && $HOME/s/b.sh", ["run /h/s/a.sh", "run /h/s/b.sh"]),
        ("A=1 env B=2 timeout 5 sudo bash scripts/a.sh", ["run /w/scripts/a.sh"]),
        ("uv run scripts/a.py; deno run -A scripts/b.ts", ["run /w/scripts/a.py", "run /w/scripts/b.ts"]),
        ("cd 'a b' && node c.js", ["run /w/a b/c.js"]),
        ('bash -lc "cd s && ./x.sh"', ["run /w/s/x.sh"]),
        ("cat a/SKILL.md b.md | head -n 3", ["read /w/a/SKILL.md", "read /w/b.md"]),
        ("sed -n '1,20p' /s/SKILL.md", ["read /s/SKILL.md"]),
        ("sed -i s/a/b/ /s/SKILL.md", []),
        ("ls /s; grep x /s/SKILL.md; rg SKILL.md; git add s/a.py", []),
        ("cat > s/a.py <<EOF\npython3 s/b.py\nEOF", []),
        ("echo python3 s/a.py > s/b.py 2>&1", []),
        ("(python3 s/a.py 2>/dev/null)", ["run /w/s/a.py"]),
        ("'unclosed python3 s/a.py", []),
        ("", []),
        ("cd", []),
        ("\\", []),
    ],
)
def test_files_of_a_command(command: str, files: list[str]) -> None:
    assert [f"{how} {path}" for how, path in files_of_command(command, "/w", "/h")] == files
