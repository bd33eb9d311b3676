"""Validate SARIF 2.1.0 by what the standard requires of the parts that Prowess writes, and by the published schema."""

from __future__ import annotations

import json
import os
from typing import Any

from jsonschema import Draft202012Validator, validators

OFFICIAL = os.environ.get("PROWESS_SARIF_SCHEMA")
"""The path of the schema that OASIS publishes, to validate with that too; the tests have no network to get it."""

TEXT = {"type": "string", "minLength": 1}
INDEX = {"type": "integer", "minimum": 0}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
URI = {"type": "string", "pattern": r"^([A-Za-z0-9._~!$&'()*+,;=:@/?#-]|%[0-9A-F]{2})*$"}


def closed(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def array(items: dict[str, Any], smallest: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": smallest}


MESSAGE = closed({"text": TEXT}, markdown=TEXT)
ARTIFACT = closed({"uri": URI}, uriBaseId={"const": "SRCROOT"})
REGION = closed({"startLine": {"type": "integer", "minimum": 1}}, startColumn={"type": "integer", "minimum": 1})
LOCATION = closed({"physicalLocation": closed({"artifactLocation": ARTIFACT}, region=REGION)})
RULE = closed(
    {
        "id": TEXT,
        "name": {"type": "string", "pattern": "^[A-Z][A-Za-z0-9]+$"},
        "shortDescription": closed({"text": {**TEXT, "maxLength": 1024}}),
        "fullDescription": closed({"text": {**TEXT, "maxLength": 1024}}),
        "help": closed({"text": TEXT, "markdown": TEXT}),
        "helpUri": {**URI, "pattern": "^https://[^ ]+$"},
        "defaultConfiguration": closed({"level": LEVEL}),
    },
    properties=closed(
        {
            "tags": {**array(TEXT), "uniqueItems": True, "maxItems": 20},
            "problem.severity": {"enum": ["error", "warning", "recommendation"]},
        }
    ),
)
SUPPRESSION = closed({"kind": {"enum": ["inSource", "external"]}}, justification=TEXT, status={"const": "accepted"})
RESULT = closed(
    {
        "ruleId": TEXT,
        "ruleIndex": INDEX,
        "level": LEVEL,
        "message": closed({"text": TEXT}),
        "locations": array(LOCATION, 1),  # GitHub requires one
        "partialFingerprints": {"type": "object", "additionalProperties": TEXT, "minProperties": 1},
    },
    suppressions=array(SUPPRESSION, 1),
)
NOTIFICATION = closed(
    {"message": closed({"text": TEXT}), "level": LEVEL},
    descriptor=closed({"id": TEXT}),
    associatedRule=closed({"id": TEXT, "index": INDEX}),
)
INVOCATION = closed({"executionSuccessful": {"type": "boolean"}}, toolConfigurationNotifications=array(NOTIFICATION))
DRIVER = closed(
    {"name": TEXT, "version": TEXT, "rules": {**array(RULE), "uniqueItems": True}},
    semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
    informationUri=URI,
)
RUN = closed(
    {"tool": closed({"driver": DRIVER}), "results": array(RESULT)},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    originalUriBaseIds={
        "type": "object",
        "additionalProperties": closed({"uri": {**URI, "pattern": "^file:///(.*/)?$"}}),
    },
    invocations=array(INVOCATION),
)
SCHEMA = closed({"version": {"const": "2.1.0"}, "runs": array(RUN)}, **{"$schema": URI})
"""What the standard requires of the parts that Prowess writes. Objects are closed, as in the published schema."""


def validate(log: Any) -> None:
    """Assert that a log is valid SARIF: by this file's schema, and by the published one where it is given."""
    Draft202012Validator(SCHEMA).validate(log)
    if OFFICIAL:
        with open(OFFICIAL, encoding="utf-8") as file:
            schema = json.load(file)
        validators.validator_for(schema)(schema).validate(log)
