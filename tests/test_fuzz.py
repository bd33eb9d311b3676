"""Thousands of damaged skills: nothing but our own errors, and nothing takes long.

`PROWESS_FUZZ_SEED` repeats a run, `PROWESS_FUZZ_INPUTS` makes it longer.
"""

from __future__ import annotations

import os
import random

import pytest

from prowess import skill
from prowess.errors import SkillSyntaxError
from prowess.skill import check_body, check_links, check_skill
from prowess.skill._fences import frontmatter_end
from prowess.skill._frontmatter import parse_frontmatter
from support.growth import ends
from test_golden import CASES, golden_bytes

INPUTS = int(os.environ.get("PROWESS_FUZZ_INPUTS", "5000"))
SEED = int(os.environ.get("PROWESS_FUZZ_SEED", "20261121"))

TOKENS = [
    *(b": ", b"|- ", b"? ", b"@", b"*a", b"&a ", b"!", b"!!binary ", b"%", b"`", b"{{", b"}}", b"[", b"]", b"{", b"}"),
    *(b",", b"#", b" #", b"'", b'"', b">", b">-", b"~", b"\t", b"  ", b"\n", b"\n  ", b"\n\t", b"\n- ", b"---"),
    *(b"\n---\n", b"\\", b"<<: ", b"|\n", b"\x00", b"\r", b"\r\n", b"...\n", b"](a/../../b)", b"```", b"[" * 70),
    *(b"a: b: c\n", b"\\U00110000", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *(mark.encode() for mark in "\ufeff\u2028\x85\u202e\U000e0041"),
]

REAL = [
    b"""---
name: pdf-forms
description: Fill and read forms. Use when: a form is a PDF.
license: MIT
allowed-tools: Read, Bash(python:*)
metadata:
  author: me
  version: "1.0"
---

# Forms

See [the guide](references/guide.md) and `[not](this)`.

```sh
run [a](b)
```
""",
    b"""---
name: review
description: >-
  Look at a change
  and say what: is wrong.
disable-model-invocation: true
argument-hint: '[branch]'
paths:
  - src/**
  - "*.py"
---
Do it.
""",
    b"""---
name: tools
description: |
  One

  - two: three
tools:
- type: git
  read_only: true
requires:
  env: [KEY]
  bins: [git]
---
Text
""".replace(b"\n", b"\r\n"),
]


def mutated(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Damage a file in one to six ways."""
    text = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(text))
        to = min(len(text), at + rng.randint(0, 1 << rng.randint(0, 8)))
        match rng.randint(0, 6):
            case 0 if at < len(text):
                text[at] ^= 1 << rng.randint(0, 7)
            case 1:
                del text[at:to]
            case 2:
                text[at:at] = text[at:to] * rng.randint(1, 20)
            case 3:
                start = rng.randint(0, len(other))
                text[at:to] = other[start : start + rng.randint(0, 200)]
            case 4:
                text[at:at] = rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 30))
            case 5:
                # At the beginning of a line, or after a colon.
                mark = text.find(rng.choice((b"\n", b": ", b"---")), at)
                text[mark + 1 : mark + 1] = rng.choice(TOKENS)
            case _:
                text[at:at] = rng.randbytes(rng.randint(1, 8))
    return bytes(text[: 1 << 20])


def read_everything(data: bytes, path: str) -> None:
    """Run everything that Prowess does with a SKILL.md before it is used."""
    frontmatter_end(data)
    parsed_skill = skill.from_document(parse_frontmatter(data, path), path)
    found = [*check_skill(parsed_skill), *check_body(parsed_skill), *check_links(parsed_skill, os.path.isabs)]
    assert all(item.path == path for item in found)
    try:
        parsed = skill.parse(data, path=path)
    except SkillSyntaxError as error:
        assert str(error)  # noqa: PT017
        return
    text = skill.render(parsed)
    assert parse_frontmatter(text.encode()).frontmatter is None or skill.parse(text) == parsed


@pytest.mark.slow
def test_damaged_skills_raise_only_our_errors() -> None:
    """And no input keeps them for ever."""
    rng = random.Random(SEED)  # noqa: S311
    seeds = [*REAL * 8, *(data for name in CASES if len(data := golden_bytes(name)) < 4000)]
    for number in range(INPUTS):
        data = mutated(rng.choice(seeds), rng.choice(seeds), rng)
        try:
            with ends():
                read_everything(data, "x/SKILL.md")
        except BaseException:
            print(f"seed {SEED}, input {number}: {data!r}")
            raise
