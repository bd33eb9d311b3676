"""a role's model, or another -> a model of Pydantic AI, with its key

provider:name         whom Pydantic AI knows; `openai` where none is named
openai:NAME@URL       a server that speaks OpenAI's API, with a key or without one
script:FILE           a script, without any server
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prowess.agent.role import ModelConfig, model_of
from prowess.errors import ConfigError
from prowess.findings import quoted
from prowess.testing.script import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["make_model", "model_name"]

_NO_KEY = "or run without a key: `--model script:FILE`, `--model openai:NAME@http://localhost:PORT/v1`, or `--dry-run`"
_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "cohere": "CO_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "google": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "xai": "XAI_API_KEY",
}
"""Providers that need a key, and the variable they look for it in."""


def model_name(config: ModelConfig) -> str:
    """Return what a model is called in reports."""
    at = f"@{config.base_url}" if config.base_url else ""
    return f"{config.provider}:{config.name or '?'}{at}"


def make_model(config: ModelConfig, given: str | None, env: Mapping[str, str] | None = None) -> tuple[Any, str]:
    """Return a model of Pydantic AI, and what it is called.

    Args:
        config: of the role.
        given: what the user names instead; settings such as `temperature` stay the role's.
        env: the environment that keys are taken from; the process's by default.

    Raises:
        ConfigError: no model is named, there is no key for it, or it is not known.
        ImportError: Pydantic AI, or what a provider needs, is not installed.
    """
    env = os.environ if env is None else env
    if given is not None:
        if given.startswith("script:"):
            return ScriptedModel(os.path.expanduser(given.removeprefix("script:"))).pydantic_ai(), given
        other = model_of(given)
        config = config.but(provider=other.provider, name=other.name, base_url=other.base_url, api_key_env=None)
    if not config.name:
        raise ConfigError(
            "no model is named", hint="write `model: provider:name` in the role, or give `--model provider:name`"
        )
    if config.provider == "script":
        raise ConfigError("a role does not bring a script", hint="give it as `--model script:FILE`")
    if config.provider == "openai":
        return _openai(config, env), model_name(config)
    if config.base_url:
        raise ConfigError(
            f"`base_url` is for servers that speak OpenAI's API, not for {quoted(config.provider)}",
            hint="write `provider: openai`",
        )
    _key(config, env)
    return _known(config), model_name(config)


def _key(config: ModelConfig, env: Mapping[str, str]) -> str | None:
    """Return the key of a provider, None for one that needs none.

    Raises:
        ConfigError: there is none.
    """
    variable = config.api_key_env or _KEYS.get(config.provider)
    if variable is None:
        return None
    key = env.get(variable, "").strip()
    if not key:
        words = f"there is no key for {quoted(config.provider)}: the variable {variable} is not set"
        raise ConfigError(words, hint=f"set {variable}, {_NO_KEY}")
    return key


def _openai(config: ModelConfig, env: Mapping[str, str]) -> Any:
    from prowess.adapters import missing_extra

    try:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
    except ImportError as error:
        raise ImportError(missing_extra("pydantic-ai-slim[openai]", "agent")) from error
    url = config.base_url or env.get("OPENAI_BASE_URL") or None
    # A server of one's own often wants no key; the client wants one of any kind.
    key = env.get(config.api_key_env or "OPENAI_API_KEY", "").strip() or "none" if url else _key(config, env)
    return OpenAIChatModel(str(config.name), provider=OpenAIProvider(base_url=url, api_key=key))


def _known(config: ModelConfig) -> Any:
    from prowess.adapters import missing_extra

    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        raise ImportError(missing_extra("pydantic-ai-slim", "agent")) from error
    try:
        return infer_model(f"{config.provider}:{config.name}")
    except (UserError, ValueError) as error:
        words = f"there is no model {quoted(f'{config.provider}:{config.name}')}: {error}"
        raise ConfigError(words, hint="name it as `provider:name`, as in `openai:gpt-4o-mini`") from None
    except ImportError as error:
        hint = f"`pip install 'pydantic-ai-slim[{config.provider}]'`"
        raise ConfigError(f"the provider {quoted(config.provider)} is not installed: {error}", hint=hint) from None
