"""opencode: `opencode debug skill`, and the system prompt of `opencode run`."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from clients._probe import Answer, ClientError, Clients, Listed, Probe, Question, Shown
from prowess._internal.files import real_path

SKILL = re.compile(
    r"^  <skill>\n    <name>(.*?)</name>\n    <description>(.*?)</description>\n"
    r"    <location>(.*?)</location>\n  </skill>$",
    re.MULTILINE | re.DOTALL,
)
BUNDLED = "<built-in>"
REFUSED = re.compile(r"Configuration is invalid|is not valid JSON|Failed to parse YAML frontmatter|default agent \"")
"""It does not start if it cannot read its configuration: no list, and no catalog."""
BROKEN = "Unexpected server error"
"""It lists skills, but fails when it starts to work: no catalog. Its agent may be missing, for example."""
DUPLICATE = re.compile(r'message="duplicate skill name" .*?existing=(".*?"|\S+) duplicate=(".*?"|\S+)$', re.MULTILINE)
"""The log names both sides of each collision; the last one that is read wins, and it reads all at once."""
OFFLINE = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
}


def ask(question: Question, clients: Clients) -> Answer:
    """Ask for the list, then have a conversation with a model that only its last configuration knows."""
    # What it keeps for itself is outside the tree. Its configuration is the tree's.
    own = {name: str(question.scratch / name) for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    opencode = [str(clients.file("opencode-linux-x64/bin/opencode"))]
    with clients.model() as model:
        closed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), model.url)
        env = {**own, **OFFLINE, **closed, "NO_PROXY": "127.0.0.1", "npm_config_registry": model.url}
        ended = clients.run([*opencode, "debug", "skill", "--print-logs", "--log-level", "WARN"], question, env)
        undefined = races(ended.stderr)
        if ended.returncode and REFUSED.search(ended.stderr):
            return Answer()
        try:
            entries = json.loads(ended.stdout)
        except ValueError:
            raise ClientError(f"opencode debug skill gave no list: {ended.stderr[-500:]}") from None
        listed = [
            Listed(entry["name"], entry["location"], entry.get("description"))
            for entry in entries
            if entry["location"] != BUNDLED
        ]
        command = [*opencode, "run", "--model", "local/model", "--title", "title", *question.args, "hi"]
        env |= connection(question, model.url)
        ended = clients.run(command, question, env)
        if BROKEN in ended.stderr:  # it says no more; if it is the configuration, it says so again
            ended = clients.run(command, question, env)
        sent = [request.json() for request in model.requests if request.path.endswith("/messages")]
    requests = [request for request in sent if request and request.get("system")]
    if not requests and (REFUSED.search(ended.stderr) or BROKEN in ended.stderr):
        return Answer(listed=listed, undefined=undefined)
    if not requests:
        raise ClientError(f"opencode sent no request: {ended.stderr[-500:]}")
    return Answer(listed=listed, shown=shown(requests[0]), undefined=undefined)


def races(log: str) -> list[str]:
    """Return the files that take part in a collision. The same file by two paths is not one."""
    found: list[str] = []
    for pair in DUPLICATE.findall(log):
        paths = [json.loads(path) if path.startswith('"') else path for path in pair]
        # A skill always replaces the bundled one, which has no path.
        # `existing=undefined` is a name that every object of JavaScript has.
        if paths[0].startswith("/") and len({real_path(path) for path in paths}) > 1:
            found += paths
    return found


def connection(question: Question, url: str) -> dict[str, str]:
    """Return the variable with the configuration that connects it to the model, and nothing else."""
    provider = {
        "npm": "@ai-sdk/anthropic",
        "name": "Local",
        "options": {"baseURL": f"{url}/v1", "apiKey": "key"},
        "models": {"model": {"name": "Model"}},
    }
    config = json.dumps({"$schema": "https://opencode.ai/config.json", "provider": {"local": provider}})
    if "OPENCODE_CONFIG_CONTENT" not in question.env:
        return {"OPENCODE_CONFIG_CONTENT": config}
    managed = question.scratch / "managed"
    managed.mkdir()
    (managed / "opencode.json").write_text(config, "utf-8")
    return {"OPENCODE_TEST_MANAGED_CONFIG_DIR": str(managed)}


def shown(request: dict[str, Any]) -> list[Shown]:
    """Return the catalog in the system prompt: an element in `<available_skills>` for each."""
    text = "\n".join(part["text"] for part in request["system"])
    catalog = text.partition("<available_skills>\n")[2].rpartition("\n</available_skills>")[0]
    found = [(name, description, html.unescape(location)) for name, description, location in SKILL.findall(catalog)]
    return [Shown(name, description, location) for name, description, location in found if location != BUNDLED]


PROBE = Probe(
    client="opencode",
    packages={"opencode-linux-x64": "1.18.33"},
    project=".opencode/skills",
    user=".config/opencode/skills",
    ask=ask,
)
