"""Immutable values that behave like dataclasses."""

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


def test_the_standard_library_accepts_a_value_as_a_dataclass() -> None:
    point = Point(x=1)
    assert dataclasses.is_dataclass(point)
    assert [field.name for field in dataclasses.fields(Point)] == ["x", "y", "note", "tags"]
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "note": "", "tags": {}}
    assert dataclasses.replace(point, y=5) == Point(x=1, y=5) == point.with_changes(y=5)


def test_the_fields_of_a_value_are_known_before_those_of_its_class_are_used() -> None:
    """They are computed on first use, whichever that is."""

    class Pair(Frozen):
        left: int
        right: int = 1

    assert [field.name for field in dataclasses.fields(Pair(left=0))] == ["left", "right"]
    assert not dataclasses.is_dataclass(Frozen)


def test_fields_cannot_be_set_added_or_deleted() -> None:
    point = Point(x=1)
    for name in ("x", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(point, name, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ((), {}, "Point is missing the field 'x'"),
        ((), {"x": 1, "z": 2}, "Point has no field 'z'"),
        ((), {"x": 1, "y": 2, "note": "", "tags": {}, "z": 2}, "Point has no field 'z'"),
        ((), {"z": 1, "y": 2, "note": "", "tags": {}}, "Point has no field 'z'"),
        ((1, 2, "", {}, 5), {}, "Point takes at most 4 positional arguments"),
        ((1,), {"x": 2}, "Point got multiple values for 'x'"),
    ],
)
def test_wrong_arguments_are_a_type_error(values: tuple[object, ...], named: dict[str, object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Point(*values, **named)  # type: ignore[arg-type]


def test_values_compare_by_class_and_fields() -> None:
    """Except the fields in `not_compared`."""
    assert Point(1, note="a") == Point(1, note="b") != Point(2)
    assert repr(Point(1, note="a")) == "Point(x=1, y=2, tags={})"
    assert Point(1) != (1, 2, {})


def test_each_value_has_a_mapping_of_its_own() -> None:
    """A shared default could be changed for all of them."""
    one, other = Point(1), Point(2)
    assert one.tags is not other.tags


def test_values_can_be_copied_and_pickled() -> None:
    point = Point(1, tags={"a": "b"})
    assert copy.deepcopy(point) == point == pickle.loads(pickle.dumps(point))  # noqa: S301 - our own data


def test_no_module_of_dataclasses_is_imported() -> None:
    code = "import sys, prowess._internal.frozen; print({'dataclasses', 'inspect', 'typing'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
