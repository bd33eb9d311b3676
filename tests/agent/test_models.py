"""The model of a role or of `--model`, without a framework."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.models import model_findings, model_name, resolve_model
from prowess.agent.role import ModelConfig, Role
from prowess.errors import ConfigError
from support.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

ROLE = Role(path="/r.yaml", name="a", prompt="x", model=ModelConfig(name="m", temperature=0.5, api_key_env="MINE"))


@pytest.mark.parametrize(
    ("override", "expected"), rows(__file__, "a_model_from_the_command_line_keeps_the_role_s_settings")
)
def test_a_model_from_the_command_line_keeps_the_role_s_settings(
    override: str | None, expected: dict[str, Any] | None
) -> None:
    """Such as the temperature; API key and URL belong to the model."""
    assert resolve_model(ROLE.model, override) == (None if expected is None else ModelConfig(**expected))


@pytest.mark.parametrize(("model", "override", "message", "hint"), rows(__file__, "an_invalid_model_is_an_error"))
def test_an_invalid_model_is_an_error(model: dict[str, Any], override: str | None, message: str, hint: str) -> None:
    """Without a framework; `validate` reports the same."""
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$") as caught:
        resolve_model(ModelConfig(**model), override)
    assert (caught.value.hint or "").startswith(hint)
    (item,) = model_findings(ROLE.with_changes(model=ModelConfig(**model)), override)
    assert (item.code, item.path, item.message, item.hint) == ("role-invalid", "/r.yaml", message, caught.value.hint)


def test_errors_in_a_scripted_model_are_findings(tmp_path: Path) -> None:
    """Before the role runs."""
    file = tmp_path / "script.yaml"
    file.write_text("- say: Hello.\n")
    assert model_findings(ROLE, f"script:{file}") == ()
    file.write_text("- sy: Hello.\n- call: ''\n")
    (item,) = model_findings(ROLE, f"script:{file}")
    assert f"{file}:1:3: unknown key `[0].sy`" in item.message
    assert f"{file}:2:3" in item.message or f"{file}:2:9" in item.message
    (item,) = model_findings(ROLE, f"script:{file}-not")
    assert "script.yaml-not" in item.message


def test_a_model_has_a_name_for_reports() -> None:
    assert model_name(ModelConfig(name="m")) == "openai:m"
    assert model_name(ModelConfig(name="m", base_url="http://h/v1")) == "openai:m@http://h/v1"
