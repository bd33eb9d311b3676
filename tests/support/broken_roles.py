# ruff: noqa: E501 - each message is on one line, as it is printed
"""Invalid roles, each with one mistake and its error: `line:column: message (hint)`."""

from __future__ import annotations

from prowess.agent.role._tool_schemas import TOOL_FIELDS

FLAT_ROLE = "name: a\nprompt: Help.\nmodel: openai:gpt-4o-mini\n"
INITRUNNER_ROLE = "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: a\nspec:\n  role: Help.\n  model: {provider: openai, name: m}\n"
_TYPES = ", ".join(TOOL_FIELDS)

BROKEN: dict[str, tuple[str, str]] = {
    "no name": ("prompt: Help.\nmodel: openai:m\n", "1:1: missing key `name` (add `name: ...`)"),
    "no prompt": ("name: a\nmodel: openai:m\n", "1:1: missing key `prompt` (add `prompt: ...`)"),
    "blank prompt": ("name: a\nprompt: '  '\nmodel: openai:m\n", "2:9: `prompt` is empty (give it a value)"),
    "prompt is a list": (
        "name: a\nprompt: [x]\nmodel: openai:m\n",
        "2:9: `prompt` is a list, not text (put it in quotes)",
    ),
    "unknown key": (FLAT_ROLE + "skils: [x]\n", "4:1: unknown key `skils` (did you mean `skills`?)"),
    "unknown key inside": (
        FLAT_ROLE + "auto_skills:\n  max_skill: 3\n",
        "5:3: unknown key `auto_skills.max_skill` (did you mean `max_skills`?)",
    ),
    "skills is a text": (
        FLAT_ROLE + "skills: pdf\n",
        "4:9: `skills` is text (`pdf`), not a list of texts (write it below `skills:`, after a dash)",
    ),
    "a skill is a map": (
        FLAT_ROLE + "skills:\n- name: pdf\n",
        "5:3: `skills[0]` is a map, not text (put it in quotes)",
    ),
    "enabled is a word": (
        FLAT_ROLE + "auto_skills: {enabled: maybe}\n",
        "4:24: `auto_skills.enabled` is text (`maybe`), not true or false (write it as `true` or `false`, without quotes)",
    ),
    "max_skills is too high": (
        FLAT_ROLE + "auto_skills: {max_skills: 201}\n",
        "4:27: `auto_skills.max_skills` is a number (`201`), not a whole number from 1 to 200",
    ),
    "max_skills is zero": (
        FLAT_ROLE + "auto_skills: {max_skills: 0}\n",
        "4:27: `auto_skills.max_skills` is a number (`0`), not a whole number from 1 to 200",
    ),
    "auto_skills is true": (
        FLAT_ROLE + "auto_skills: true\n",
        "4:14: `auto_skills` is true or false (`true`), not a map (write `key: value` lines below `auto_skills:`)",
    ),
    "temperature is too high": (
        "name: a\nprompt: Help.\nmodel: {name: m, temperature: 3}\n",
        "3:31: `model.temperature` is a number (`3`), not a number from 0 to 2",
    ),
    "timeout is in quotes": (
        FLAT_ROLE + "guardrails: {timeout_seconds: '9'}\n",
        "4:31: `guardrails.timeout_seconds` is text (`9`), not a number above 0 and at most 86400 (write it without quotes)",
    ),
    "tokens are negative": (
        FLAT_ROLE + "guardrails: {max_tokens_per_run: -1}\n",
        "4:34: `guardrails.max_tokens_per_run` is a number (`-1`), not a whole number from 1 to 1000000000",
    ),
    "tool has no type": (
        FLAT_ROLE + "tools:\n- read_only: true\n",
        "5:3: missing key `tools[0].type` (add `type: ...`)",
    ),
    "unknown tool": (
        FLAT_ROLE + "tools:\n- type: filesytem\n",
        "5:9: unknown tool type `filesytem` (did you mean `filesystem`?)",
    ),
    "unknown tool in the short form": (
        FLAT_ROLE + "tools: [git, filesytem]\n",
        "4:14: unknown tool type `filesytem` (did you mean `filesystem`?)",
    ),
    "blank tool": (
        FLAT_ROLE + "tools:\n- type: ' '\n",
        f"5:9: unknown tool type ` ` (the types are {_TYPES})",
    ),
    "tool has another key in the short form": (
        FLAT_ROLE + "tools:\n- git: {red_only: true}\n",
        "5:9: unknown key `tools[0].git.red_only` (did you mean `read_only`?)",
    ),
    "option of a tool that is not run": (
        FLAT_ROLE + "tools:\n- think: {max_thoughts: many}\n",
        "5:25: `tools[0].think.max_thoughts` is text (`many`), not a whole number from 1 to 200",
    ),
    "two types in one entry": (
        FLAT_ROLE + "tools:\n- git: {}\n  shell: {}\n",
        "5:3: missing key `tools[0].type` (add `type: ...`)",
    ),
    "tool has another key": (
        FLAT_ROLE + "tools:\n- type: filesystem\n  root: .\n",
        "6:3: unknown key `tools[0].root` (did you mean `root_path`?)",
    ),
    "http has no base_url": (
        FLAT_ROLE + "tools:\n- type: http\n",
        "5:3: missing key `tools[0].base_url` (add `base_url: ...`)",
    ),
    "http has an unknown method": (
        FLAT_ROLE + "tools:\n- type: http\n  base_url: https://example.com\n  allowed_methods: [GRAB]\n",
        "7:20: invalid value `GRAB` in `tools[0].allowed_methods` (use one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS)",
    ),
    "tools is a map": (
        FLAT_ROLE + "tools:\n  type: git\n",
        "5:3: `tools` is a map, not a list (write each item below `tools:`, after a dash)",
    ),
    "a tool is a number": (
        FLAT_ROLE + "tools: [3]\n",
        "4:9: `tools[0]` is a number (`3`), not the type of a tool, or a map",
    ),
    "a tool is a list": (
        FLAT_ROLE + "tools: [[git]]\n",
        "4:9: `tools[0]` is a list, not the type of a tool, or a map",
    ),
    "a type is a number": (
        FLAT_ROLE + "tools:\n- type: 5\n",
        "5:9: `tools[0].type` is a number (`5`), not the type of a tool",
    ),
    "a tool is empty": (
        FLAT_ROLE + "tools: ['']\n",
        "4:9: `tools[0]` is text, not the type of a tool, or a map",
    ),
    "deny is a word": (
        FLAT_ROLE + "security: {deny: shell}\n",
        "4:18: `security.deny` is text (`shell`), not a list of texts (write it below `deny:`, after a dash)",
    ),
    "another version": (
        INITRUNNER_ROLE.replace("/v1", "/v2"),
        "1:13: invalid value `initrunner/v2` of `apiVersion` (did you mean `initrunner/v1`?)",
    ),
    "another kind": (
        INITRUNNER_ROLE.replace("Agent", "Robot"),
        "2:7: invalid value `Robot` of `kind` (use one of Agent)",
    ),
    "no metadata": (
        INITRUNNER_ROLE.replace("metadata:\n  name: a\n", ""),
        "1:1: missing key `metadata` (add `metadata: ...`)",
    ),
    "no spec": (
        INITRUNNER_ROLE.partition("spec:")[0],
        "1:1: missing key `spec` (add `spec: ...`)",
    ),
    "spec is a word": (
        INITRUNNER_ROLE.partition("spec:")[0] + "spec: later\n",
        "5:7: `spec` is text (`later`), not a map (write `key: value` lines below `spec:`)",
    ),
    "unknown key in spec": (
        INITRUNNER_ROLE + "  prompt: x\n",
        "8:3: unknown key `spec.prompt` (the known keys are role, model, skills, auto_skills, tools, guardrails, security)",
    ),
}
"""Mistakes that the JSON Schema reports too, but for those of `NOT_IN_SCHEMA`."""
NOT_IN_SCHEMA = ("unknown tool", "unknown tool in the short form")
"""Misspelt types: a schema knows no similar names."""

UNREADABLE: dict[str, tuple[str, str]] = {
    "empty": ("", "the file is empty (add its content, or remove the file)"),
    "a list": ("- a\n", "1:1: the file is a list, not `key: value` lines (write `key: value` lines)"),
    "a word": ("role\n", "1:1: the file is text (`role`), not `key: value` lines (write `key: value` lines)"),
    "a key twice": ("name: a\nname: b\n", "2:1: duplicate key `name` (remove one of them)"),
    "an anchor": (
        "name: &a b\nprompt: *a\n",
        "1:7: YAML anchors and aliases are not allowed (write the value itself, or put it in quotes)",
    ),
    "not closed": (
        "name: [a\n",
        "2:1: the file is not valid YAML: did not find expected ',' or ']' while parsing a flow sequence (fix the YAML there)",
    ),
}
"""Files that are not a map."""
