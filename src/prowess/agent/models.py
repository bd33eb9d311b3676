"""Make the model of a role, or of `--model`, for Pydantic AI.

provider:name         a provider that Pydantic AI knows; by default `openai`
openai:NAME@URL       a server with OpenAI's API, with or without an API key
script:FILE           a scripted model, without a server
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from prowess._internal.text import PATH_LIMIT, did_you_mean, neutral, quoted
from prowess.errors import ConfigError, RoleError
from prowess.findings import finding

from .role import ROLE_INVALID, parse_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.findings import Finding
    from prowess.testing import ScriptedModel

    from .role import ModelConfig, Role

__all__ = ["make_model", "model_findings", "model_name", "resolve_model"]

_NO_KEY_HINT = (
    "or run without a key: `--model script:FILE`, `--model openai:NAME@http://localhost:PORT/v1`, or `--dry-run`"
)
_API_KEY_VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""Providers that need an API key, and the variables that may contain it."""
PROVIDERS = (
    "alibaba", "anthropic", "azure", "azure-responses", "bedrock", "bedrock-mantle", "cerebras", "cohere", "crusoe",
    "deepseek", "fireworks", "github", "github-copilot", "google", "google-cloud", "google-decisions", "groq", "heroku",
    "huggingface", "litellm", "meta", "mistral", "moonshotai", "nebius", "ollama", "openai", "openai-chat",
    "openai-chatgpt", "openai-codex", "openai-decisions", "openai-responses", "openrouter", "ovhcloud", "sambanova",
    "snowflake", "system-one", "together", "typesafe", "vercel", "vllm", "xai", "zai",
)  # fmt: skip
"""The providers of chat models in Pydantic AI 2.68; `gateway/` may come before a name."""


def model_name(config: ModelConfig) -> str:
    """Return a model's name for reports: `provider:name`, with its URL if it has one."""
    url = f"@{config.base_url}" if config.base_url else ""
    return f"{config.provider}:{config.name or '?'}{url}"


def resolve_model(config: ModelConfig, override: str | None) -> ModelConfig | None:
    """Return the model to use, without a framework or an API key.

    Args:
        config: the role's model.
        override: the model of `--model`; settings such as `temperature` stay the role's.

    Returns:
        The model, or `None` for a scripted model.

    Raises:
        RoleError: the role has no model, or an invalid one.
        ConfigError: `override` is invalid.
    """
    error_type = RoleError if override is None else ConfigError
    if override is not None:
        if override.startswith("script:"):
            return None
        other = parse_model(override)
        config = config.with_changes(
            provider=other.provider, name=other.name, base_url=other.base_url, api_key_env=None
        )
    if not (config.name or "").strip():
        raise error_type(
            "no model given", hint="write `model: provider:name` in the role, or use `--model provider:name`"
        )
    if config.provider == "script":
        raise error_type("a role cannot name a scripted model", hint="use `--model script:FILE`")
    if config.provider.removeprefix("gateway/") not in PROVIDERS:
        hint = did_you_mean(config.provider, PROVIDERS, "write `provider:name`, for example `openai:gpt-4o-mini`")
        raise error_type(f"unknown model provider {quoted(config.provider)}", hint=hint)
    if config.base_url and config.provider != "openai":
        raise error_type(
            f"`base_url` needs the provider `openai`, not {quoted(config.provider)}",
            hint="write `provider: openai`, which is for every server with OpenAI's API",
        )
    if config.base_url and not _match_url(config.base_url):
        raise error_type(
            f"invalid server URL {quoted(config.base_url, PATH_LIMIT)}", hint="write it as `http://HOST:PORT/v1`"
        )
    return config


def model_findings(role: Role, override: str | None) -> tuple[Finding, ...]:
    """Return what is wrong with a role's model, or with that of `--model`."""
    try:
        if resolve_model(role.model, override) is None:
            _scripted_model(str(override))
    except ConfigError as error:
        return (finding(ROLE_INVALID, str(error), path=role.path, hint=error.hint),)
    return ()


def _scripted_model(override: str) -> ScriptedModel:
    from prowess.testing import ScriptedModel

    return ScriptedModel(os.path.expanduser(override.removeprefix("script:")))


_match_url = re.compile(r"https?://[^\s/]+(/\S*)?").fullmatch


def make_model(config: ModelConfig, override: str | None, env: Mapping[str, str] | None = None) -> tuple[Any, str]:
    """Return a model of Pydantic AI, and its name for reports.

    Args:
        config: the role's model.
        override: the model of `--model`.
        env: the environment that contains API keys, instead of the process's.

    Raises:
        ConfigError: no model is given, it is invalid, or its API key is missing.
        ImportError: Pydantic AI is not installed.
    """
    env = os.environ if env is None else env
    chosen = resolve_model(config, override)
    if chosen is None:
        return _scripted_model(str(override)).pydantic_ai(), str(override)
    if chosen.provider == "openai":
        return _openai_model(chosen, env), model_name(chosen)
    return _provider_model(chosen, _api_key(chosen, env)), model_name(chosen)


def _api_key(config: ModelConfig, env: Mapping[str, str]) -> str | None:
    """Return a provider's API key, or `None` if it does not need one.

    Raises:
        ConfigError: the key is missing.
    """
    variables = (config.api_key_env,) if config.api_key_env else _API_KEY_VARIABLES.get(config.provider, ())
    if not variables:
        return None
    key = next((env[name].strip() for name in variables if env.get(name, "").strip()), None)
    if not key:
        message = f"no API key for {quoted(config.provider)}: {variables[0]} is not set"
        raise ConfigError(message, hint=f"set {variables[0]}, {_NO_KEY_HINT}")
    return key


def _openai_model(config: ModelConfig, env: Mapping[str, str]) -> Any:
    from prowess._internal.installer import missing_extra

    try:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.profiles.openai import OpenAIModelProfile
        from pydantic_ai.providers.openai import OpenAIProvider
    except ImportError as error:
        raise ImportError(missing_extra("pydantic-ai-slim[openai]", "agent", "this model")) from error
    url = config.base_url or env.get("OPENAI_BASE_URL") or None
    # Many local servers need no key, but the client does.
    key = env.get(config.api_key_env or "OPENAI_API_KEY", "").strip() or "none" if url else _api_key(config, env)
    # An answer without a finish reason is incomplete, even if the connection was closed properly.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return OpenAIChatModel(str(config.name), provider=OpenAIProvider(base_url=url, api_key=key), profile=profile)


def _provider_model(config: ModelConfig, key: str | None) -> Any:
    from prowess._internal.installer import missing_extra

    try:
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider, infer_provider_class
    except ImportError as error:
        raise ImportError(missing_extra("pydantic-ai-slim", "agent", "this model")) from error

    def with_key(name: str) -> Any:
        provider: Any = infer_provider_class(name)
        return provider(api_key=key)

    # Only a key from `api_key_env` is passed on: a provider reads its usual variable itself.
    has_own_key = config.api_key_env is not None and not config.provider.startswith("gateway/")
    try:
        return infer_model(f"{config.provider}:{config.name}", with_key if has_own_key else infer_provider)
    except ImportError as error:
        hint = f"install it with `pip install 'pydantic-ai-slim[{config.provider}]'`"
        raise ConfigError(f"the provider {quoted(config.provider)} is not installed: {error}", hint=hint) from None
    except Exception as error:  # noqa: BLE001 - each provider raises its own exception if it is not set up
        detail = neutral(" ".join(str(error).split()))[:500]
        message = f"cannot use the model {quoted(f'{config.provider}:{config.name}')}: {detail}"
        raise ConfigError(message, hint=f"set up the provider, {_NO_KEY_HINT}") from None
