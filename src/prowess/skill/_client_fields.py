"""The fields of single clients, and the agents that honour them.

`make docs` writes this module from `hosts/*.toml`: change those files, never this one. It is in this package because a
rule about a field must not load any host.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = (
{'agent': ((), ('aam', 'claude-code')),
 'allowedTools': ((), ('qwen-code',)),
 'argument-hint': ((), ('claude-code', 'copilot', 'vscode')),
 'arguments': ((), ('claude-code',)),
 'context': ((), ('aam', 'claude-code')),
 'disable-model-invocation': (('claude-code',
                               'copilot',
                               'kimi-code',
                               'mistral-vibe',
                               'pi',
                               'pi@0.7',
                               'prowess',
                               'qwen-code'),
                              ('aam', 'camel', 'cursor', 'vscode')),
 'disableModelInvocation': (('kimi-code',), ()),
 'disable_model_invocation': (('kimi-code', 'mistral-vibe'), ()),
 'disabled': (('cline',), ()),
 'disallowed-tools': ((), ('claude-code',)),
 'effort': ((), ('claude-code',)),
 'enabled': (('cline',), ()),
 'has-sub-skill': ((), ('kimi-code',)),
 'hooks': ((), ('claude-code', 'qwen-code')),
 'model': ((), ('claude-code', 'qwen-code')),
 'paths': (('claude-code', 'qwen-code'), ('cursor',)),
 'requires': (('prowess',), ('initrunner',)),
 'shell': ((), ('claude-code',)),
 'tools': (('prowess',), ('initrunner',)),
 'type': (('kimi-code',), ()),
 'user-invocable': (('claude-code', 'prowess'), ('copilot', 'mistral-vibe', 'vscode')),
 'version': ((), ('claude-code',)),
 'when-to-use': (('kimi-code',), ()),
 'when_to_use': (('claude-code', 'kimi-code', 'qwen-code'), ())}
)
"""Field to the agents that were seen to honour it, and those that only document it."""
