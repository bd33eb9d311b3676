"""Frozen values are dataclasses to everybody but the clock."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess._internal.frozen import EMPTY, Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


class Point(Frozen, not_compared=("note",), kw_only=False):
    x: int
    y: int = 2
    note: str = ""
    tags: Mapping[str, str] = EMPTY


def test_a_value_is_what_the_standard_library_calls_a_frozen_dataclass() -> None:
    """So `replace`, `asdict` and `fields` work on it."""
    point = Point(x=1)
    assert dataclasses.is_dataclass(point)
    assert [field.name for field in dataclasses.fields(Point)] == ["x", "y", "note", "tags"]
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "note": "", "tags": {}}
    assert dataclasses.replace(point, y=5) == Point(x=1, y=5) == point.with_changes(y=5)


def test_a_value_may_be_asked_for_its_fields_before_its_class_is() -> None:
    """What is worked out on first use must be there on any first use."""

    class Pair(Frozen):
        left: int
        right: int = 1

    assert [field.name for field in dataclasses.fields(Pair(left=0))] == ["left", "right"]
    assert not dataclasses.is_dataclass(Frozen)


def test_no_field_can_be_set_or_deleted() -> None:
    """Nor can one be added."""
    point = Point(x=1)
    for name in ("x", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(point, name, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ((), {}, "Point needs 'x'"),
        ((), {"x": 1, "z": 2}, "Point has no field 'z'"),
        ((), {"x": 1, "y": 2, "note": "", "tags": {}, "z": 2}, "Point has no field 'z'"),
        ((), {"z": 1, "y": 2, "note": "", "tags": {}}, "Point has no field 'z'"),
        ((1, 2, "", {}, 5), {}, "Point takes 4 values"),
        ((1,), {"x": 2}, "Point was given 'x' twice"),
    ],
)
def test_what_is_given_must_be_the_fields(values: tuple[object, ...], named: dict[str, object], words: str) -> None:
    """As with any function."""
    with pytest.raises(TypeError, match=words):
        Point(*values, **named)  # type: ignore[arg-type]


def test_values_compare_by_what_is_not_aside() -> None:
    """And by their class."""
    assert Point(1, note="a") == Point(1, note="b") != Point(2)
    assert repr(Point(1, note="a")) == "Point(x=1, y=2, tags={})"
    assert Point(1) != (1, 2, {})


def test_each_value_has_a_mapping_of_its_own() -> None:
    """A default that all share could be changed for all."""
    one, other = Point(1), Point(2)
    assert one.tags is not other.tags


def test_values_can_be_copied_and_pickled() -> None:
    """Between processes, for one."""
    point = Point(1, tags={"a": "b"})
    assert copy.deepcopy(point) == point == pickle.loads(pickle.dumps(point))  # noqa: S301 - it was written here


def test_it_costs_no_import() -> None:
    """Which is its reason to be."""
    code = "import sys, prowess._internal.frozen; print({'dataclasses', 'inspect', 'typing'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
