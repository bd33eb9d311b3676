# ruff: noqa: INP001 - a script, not a package
"""Write the comment of the action on a pull request: once, and the same one again after each push.

    python pull_request_comment.py FILE

The first line of FILE is a mark, by which the comment is found. The environment is that of GitHub Actions, with TOKEN
and NUMBER, the number of the pull request. Without the permission to write, as for forks, only a notice is printed: the
summary of the job has the same text. Nothing of the repository is imported or run.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MAX_CHARACTERS = 65_000
"""Of a comment; GitHub takes 65,536."""
MAX_PAGES = 10
"""Pages of 100 comments that are searched."""
SECONDS = 30


def request(method: str, url: str, token: str, value: object = None) -> Any:
    """Return the answer of GitHub.

    Raises:
        urllib.error.URLError: it refuses the request, or cannot be reached.
    """
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise urllib.error.URLError("the address of GitHub is invalid")
    data = None if value is None else json.dumps(value).encode()
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "Content-Type": "application/json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    with urllib.request.urlopen(  # noqa: S310 - the scheme was checked
        urllib.request.Request(url, data, headers, method=method),  # noqa: S310
        timeout=SECONDS,
    ) as answer:
        return json.load(answer)


def find_comment(comments: str, mark: str, token: str) -> int | None:
    """Return the number of the comment with the mark that a program wrote; anyone could copy the mark."""
    for page in range(1, MAX_PAGES + 1):
        found = request("GET", f"{comments}?per_page=100&page={page}", token)
        for item in found:
            is_program = (item.get("user") or {}).get("type") == "Bot"
            if is_program and str(item.get("body") or "").startswith(mark):
                return int(item["id"])
        if len(found) < 100:
            break
    return None


def main(file: str) -> int:
    """Write the comment, and return 0: the check itself says whether the change is good."""
    body = Path(file).read_text(encoding="utf-8")
    mark = body.split("\n", 1)[0]
    if len(body) > MAX_CHARACTERS:
        body = f"{body[:MAX_CHARACTERS].rpartition(chr(10))[0]}\n\nThe rest is left out."
    repository, number = os.environ["GITHUB_REPOSITORY"], os.environ["NUMBER"]
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository) or not number.isdecimal():
        print("::notice::no comment: this is not a pull request")
        return 0
    api = f"{os.environ.get('GITHUB_API_URL', 'https://api.github.com')}/repos/{repository}/issues"
    token = os.environ["TOKEN"]
    try:
        comment = find_comment(f"{api}/{number}/comments", mark, token)
        if comment is not None:
            request("PATCH", f"{api}/comments/{comment}", token, {"body": body})
        elif "\n**" in body:  # a first comment needs something to say
            request("POST", f"{api}/{number}/comments", token, {"body": body})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = getattr(error, "code", None) or type(error).__name__
        print(
            f"::notice::no comment on the pull request ({reason}): the job needs the permission `pull-requests: write`"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
