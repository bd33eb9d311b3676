"""The chat templates of the tests refuse what those of the model families refuse."""

from __future__ import annotations

import pytest

pytest.importorskip("jinja2")

from adapters.chat_templates import FAMILIES, render
from prowess.testing import Call
from prowess.testing._scripted_endpoint import ModelMessage, ModelRequest

GOOD, AFTER_USER, AFTER_TOOL, TWO_SYSTEMS = "s u a u", "s u u", "s u c t u", "s s u"


def request(roles: str) -> ModelRequest:
    """Return a request of messages: `s`ystem, `u`ser, `a`nswer, `c`all and resul`t`."""
    names = {"s": "system", "u": "user", "a": "assistant", "c": "assistant", "t": "tool"}
    calls = (Call(tool="look", arguments={"at": "it"}),)
    return ModelRequest(
        messages=tuple(
            ModelMessage(role=names[role], text=f"text {number}", calls=calls if role == "c" else ())
            for number, role in enumerate(roles.split())
        )
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_template_shows_every_text_once_and_in_order(family: str) -> None:
    roles = GOOD if family == "gemma" else "s u c t t a u c t"
    shown = render(family, request(roles))
    texts = [f"text {number}" for number, role in enumerate(roles.split()) if role != "c"]
    places = [shown.index(text) for text in texts]
    assert places == sorted(places)
    assert all(shown.count(text) == 1 for text in texts)
    assert shown.count("look") == roles.count("c")


@pytest.mark.parametrize(
    ("family", "roles"),
    [
        *(("mistral", roles) for roles in (AFTER_USER, AFTER_TOOL, TWO_SYSTEMS, "u s")),
        *(("gemma", roles) for roles in (AFTER_USER, AFTER_TOOL, TWO_SYSTEMS, "s u c t", "a u")),
        *(("llama", roles) for roles in (TWO_SYSTEMS, "u t")),
        *(("qwen", roles) for roles in (TWO_SYSTEMS, "u a")),
    ],
)
def test_a_template_refuses(family: str, roles: str) -> None:
    with pytest.raises(ValueError, match=r"must alternate|not first|follows no call|of the model"):
        render(family, request(roles))
