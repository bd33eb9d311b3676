"""a role's model, or another -> a model of Pydantic AI, with its key

provider:name         whom Pydantic AI knows; `openai` where none is named
openai:NAME@URL       a server that speaks OpenAI's API, with a key or without one
script:FILE           a script, without any server
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from prowess._internal.text import nearest_names, neutral, quoted
from prowess.errors import ConfigError
from prowess.findings import finding
from prowess.testing import ScriptedModel

from .role import ROLE_INVALID, parse_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.findings import Finding

    from .role import ModelConfig, Role

__all__ = ["resolve_model", "make_model", "model_findings", "model_name"]

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
"""Providers that need a key, and the variables they look for it in."""
PROVIDERS = (
    "alibaba", "anthropic", "azure", "azure-responses", "bedrock", "bedrock-mantle", "cerebras", "cohere", "crusoe",
    "deepseek", "fireworks", "github", "github-copilot", "google", "google-cloud", "google-decisions", "groq", "heroku",
    "huggingface", "litellm", "meta", "mistral", "moonshotai", "nebius", "ollama", "openai", "openai-chat",
    "openai-chatgpt", "openai-codex", "openai-decisions", "openai-responses", "openrouter", "ovhcloud", "sambanova",
    "snowflake", "system-one", "together", "typesafe", "vercel", "vllm", "xai", "zai",
)  # fmt: skip
"""Whom Pydantic AI 2.68 asks for a model that talks; besides, `gateway/` before one of them."""


def model_name(config: ModelConfig) -> str:
    """Return what a model is called in reports."""
    at = f"@{config.base_url}" if config.base_url else ""
    return f"{config.provider}:{config.name or '?'}{at}"


def resolve_model(config: ModelConfig, override: str | None) -> ModelConfig | None:
    """Return the model that will be asked, as far as that can be said without a framework or a key.

    Args:
        config: of the role.
        override: what the user names instead; settings such as `temperature` stay the role's.

    Returns:
        None where it is a script.

    Raises:
        ConfigError: no model is named, or it cannot be one.
    """
    if override is not None:
        if override.startswith("script:"):
            return None
        other = parse_model(override)
        config = config.with_changes(
            provider=other.provider, name=other.name, base_url=other.base_url, api_key_env=None
        )
    if not (config.name or "").strip():
        raise ConfigError(
            "no model is named", hint="write `model: provider:name` in the role, or give `--model provider:name`"
        )
    if config.provider == "script":
        raise ConfigError("a role does not bring a script", hint="give it as `--model script:FILE`")
    if config.provider.removeprefix("gateway/") not in PROVIDERS:
        near = nearest_names(config.provider, PROVIDERS)
        hint = f"did you mean {quoted(near[0])}?" if near else "name it as `provider:name`, as in `openai:gpt-4o-mini`"
        raise ConfigError(f"there is no provider of models {quoted(config.provider)}", hint=hint)
    if config.base_url and config.provider != "openai":
        raise ConfigError(
            f"`base_url` is for servers that speak OpenAI's API, not for {quoted(config.provider)}",
            hint="write `provider: openai`",
        )
    if config.base_url and not _match_url(config.base_url):
        raise ConfigError(
            f"{quoted(config.base_url, 200)} is no address of a server", hint="write it as `http://HOST:PORT/v1`"
        )
    return config


def model_findings(role: Role, override: str | None) -> tuple[Finding, ...]:
    """Return what keeps a role's model, or the one that is given instead, from being asked."""
    try:
        if resolve_model(role.model, override) is None:
            _scripted_model(str(override))
    except ConfigError as error:
        return (finding(ROLE_INVALID, str(error), path=role.path, hint=error.hint),)
    return ()


def _scripted_model(override: str) -> ScriptedModel:
    return ScriptedModel(os.path.expanduser(override.removeprefix("script:")))


_match_url = re.compile(r"https?://[^\s/]+(/\S*)?").fullmatch


def make_model(config: ModelConfig, override: str | None, env: Mapping[str, str] | None = None) -> tuple[Any, str]:
    """Return a model of Pydantic AI, and what it is called.

    Args:
        config: of the role.
        override: what the user names instead.
        env: the environment that keys are taken from; the process's by default.

    Raises:
        ConfigError: no model is named, there is no key for it, or it is not known.
        ImportError: Pydantic AI, or what a provider needs, is not installed.
    """
    env = os.environ if env is None else env
    chosen = resolve_model(config, override)
    if chosen is None:
        return _scripted_model(str(override)).pydantic_ai(), str(override)
    if chosen.provider == "openai":
        return _openai_model(chosen, env), model_name(chosen)
    return _provider_model(chosen, _api_key(chosen, env)), model_name(chosen)


def _api_key(config: ModelConfig, env: Mapping[str, str]) -> str | None:
    """Return the key of a provider, None for one that needs none.

    Raises:
        ConfigError: there is none.
    """
    names = (config.api_key_env,) if config.api_key_env else _API_KEY_VARIABLES.get(config.provider, ())
    if not names:
        return None
    variable, key = names[0], next((env[name].strip() for name in names if env.get(name, "").strip()), None)
    if not key:
        words = f"there is no key for {quoted(config.provider)}: the variable {variable} is not set"
        raise ConfigError(words, hint=f"set {variable}, {_NO_KEY_HINT}")
    return key


def _openai_model(config: ModelConfig, env: Mapping[str, str]) -> Any:
    from prowess.adapters import missing_extra

    try:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.profiles.openai import OpenAIModelProfile
        from pydantic_ai.providers.openai import OpenAIProvider
    except ImportError as error:
        raise ImportError(missing_extra("pydantic-ai-slim[openai]", "agent")) from error
    url = config.base_url or env.get("OPENAI_BASE_URL") or None
    # A server of one's own often wants no key; the client wants one of any kind.
    key = env.get(config.api_key_env or "OPENAI_API_KEY", "").strip() or "none" if url else _api_key(config, env)
    # Without a reason at its end an answer has broken off, however well its connection was closed.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return OpenAIChatModel(str(config.name), provider=OpenAIProvider(base_url=url, api_key=key), profile=profile)


def _provider_model(config: ModelConfig, key: str | None) -> Any:
    from prowess.adapters import missing_extra

    try:
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider, infer_provider_class
    except ImportError as error:
        raise ImportError(missing_extra("pydantic-ai-slim", "agent")) from error

    def with_key(name: str) -> Any:
        made: Any = infer_provider_class(name)
        return made(api_key=key)

    # Only a key from a variable of one's own must be handed on: the provider finds its own by itself.
    own = config.api_key_env is not None and not config.provider.startswith("gateway/")
    try:
        return infer_model(f"{config.provider}:{config.name}", with_key if own else infer_provider)
    except ImportError as error:
        hint = f"`pip install 'pydantic-ai-slim[{config.provider}]'`"
        raise ConfigError(f"the provider {quoted(config.provider)} is not installed: {error}", hint=hint) from None
    except Exception as error:  # noqa: BLE001 - each provider has its own way of saying that it is not set up
        said = neutral(" ".join(str(error).split()))[:500]
        words = f"the model {quoted(f'{config.provider}:{config.name}')} cannot be used: {said}"
        raise ConfigError(words, hint=f"set what it asks for, {_NO_KEY_HINT}") from None
