"""annotations -> a frozen value

What `@dataclass(frozen=True, slots=True)` gives, without importing `dataclasses`: that alone takes as long as starting
Python does, and each class half a millisecond more. Whoever asks for it later gets it all the same: `replace`,
`fields`, `asdict` and `is_dataclass` of the standard library take these values for the dataclasses they could be.
"""

from __future__ import annotations

from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn, Protocol, Self, dataclass_transform

    class FieldLoader(Protocol):
        """Who knows the fields that a value was not given."""

        def load_field(self, subject: Any, name: str) -> Any:
            """Return a field of the value that this is about."""
else:

    def dataclass_transform(**_: object) -> object:
        """Stand in for what type checkers alone look at."""
        return lambda cls: cls


__all__ = ["EMPTY", "Frozen", "LazyFrozen"]

EMPTY: Mapping[str, Any] = MappingProxyType({})
"""The default of a field that is a mapping: each value gets one of its own."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _FrozenMeta(type):
    """Turns the annotations of a class into slots and defaults."""

    _field_names: tuple[str, ...]
    _defaults: Mapping[str, object]
    _not_compared: frozenset[str]

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        space: dict[str, Any],
        *,
        not_compared: tuple[str, ...] = (),
        kw_only: bool = True,  # noqa: ARG004 - for type checkers
        extra_slots: tuple[str, ...] = (),
    ) -> Any:
        names = tuple(space.get("__annotations__", ()))
        defaults = {field: space.pop(field) for field in names if field in space}
        made = super().__new__(cls, name, bases, {**space, "__slots__": (*names, *extra_slots)})
        made._field_names, made._defaults, made._not_compared = names, defaults, frozenset(not_compared)
        return made


class _DataclassFields:
    """What the standard library asks a dataclass or its value for."""

    def __get__(self, value: object, cls: _FrozenMeta) -> Any:
        if not cls._field_names:
            raise AttributeError(f"{cls.__name__!r} has no fields")
        return _make_dataclass_fields(cls)


class Frozen(metaclass=_FrozenMeta):
    """A value: its fields are given once, by name, and never change.

    The class argument `aside` names fields that neither comparing nor `repr` looks at; with `kw_only=False` the fields
    may be given in order too; `beside` are attributes that are no fields, for a value that is made before its fields
    are.

    Raises:
        TypeError: a field is missing, or not one of the class.
    """

    __dataclass_fields__ = _DataclassFields()

    def __init__(self, *values: Any, **named: Any) -> None:
        cls = type(self)
        if values:
            named = _bind_positional(cls, values, named)
        if len(named) != len(cls._field_names):
            named = {**cls._defaults, **named}
        if len(named) != len(cls._field_names):
            _raise_field_error(cls, named)
        try:
            for name, value in named.items():
                _object_setattr(self, name, {} if value is EMPTY else value)
        except AttributeError:
            _raise_field_error(cls, named)

    @classmethod
    def _fields(cls) -> tuple[str, ...]:
        return cls._field_names

    def with_changes(self, **changes: Any) -> Self:
        """Return the value with other values in some fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self._fields()}, **changes})

    __replace__ = with_changes

    def __setattr__(self, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _comparison_values(self) -> tuple[object, ...]:
        cls = type(self)
        return tuple(getattr(self, name) for name in cls._field_names if name not in cls._not_compared)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._comparison_values() == other._comparison_values()

    def __hash__(self) -> int:
        return hash(self._comparison_values())

    def __repr__(self) -> str:
        cls = type(self)
        shown = (f"{name}={getattr(self, name)!r}" for name in cls._field_names if name not in cls._not_compared)
        return f"{cls.__qualname__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), {name: getattr(self, name) for name in self._fields()})


class LazyFrozen(Frozen, extra_slots=("_source",)):
    """A value of which some fields are worked out only when they are asked for."""

    @classmethod
    def from_loader(cls, loader: FieldLoader, subject: object, **known: object) -> Self:
        """Make a value of which only some fields are known; a teller, asked about it, tells the others."""
        value = _object_new(cls)
        _object_setattr(value, "_source", (loader, subject))
        for name, given in known.items():
            _object_setattr(value, name, given)
        return value

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name not in self._fields():
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            loader, subject = _object_getattribute(self, "_source")
            value = loader.load_field(subject, name)
            _object_setattr(self, name, value)
            return value

    @property
    def source(self) -> Any:
        """Who tells the fields that were not given, and about what; None for a value whose fields were all given."""
        return self.get_if_loaded("_source")

    def get_if_loaded(self, name: str) -> Any:
        """Return a field if it is known already, else None."""
        try:
            return _object_getattribute(self, name)
        except AttributeError:
            return None

    def with_changes(self, **changes: Any) -> Self:
        """Return the value with other values in some fields; what nobody asked for yet stays unasked."""
        cls = type(self)
        value = _object_new(cls)
        for name in ("_source", *cls._field_names):
            try:
                _object_setattr(value, name, _object_getattribute(self, name))
            except AttributeError:
                continue
        for name, given in changes.items():
            _object_setattr(value, name, given)
        return value


_object_new, _object_setattr, _object_getattribute = object.__new__, object.__setattr__, object.__getattribute__


def _unpickle(cls: type[Frozen], named: dict[str, Any]) -> Frozen:
    """Make a value that was pickled or copied."""
    return cls(**named)


def _bind_positional(cls: type[Frozen], values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Give names to values that have none.

    Raises:
        TypeError: there are too many, or one was given by name too.
    """
    first = dict(zip(cls._field_names, values, strict=False))
    if len(first) < len(values):
        raise TypeError(f"{cls.__name__} takes {len(first)} values")
    for name in first.keys() & named.keys():
        raise TypeError(f"{cls.__name__} was given {name!r} twice")
    return {**first, **named}


def _raise_field_error(cls: type[Frozen], named: Mapping[str, object]) -> NoReturn:
    """Say which field is missing, or is none.

    Raises:
        TypeError: always.
    """
    unknown = [name for name in named if name not in cls._field_names]
    missing = [name for name in cls._field_names if name not in named]
    raise TypeError(f"{cls.__name__} " + (f"has no field {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"))


def _make_dataclass_fields(cls: _FrozenMeta) -> Any:
    """Describe the fields of a class as `dataclasses` does, once it is asked for."""
    import dataclasses

    rows: list[Any] = []
    for name in cls._field_names:
        shown = name not in cls._not_compared
        default = cls._defaults.get(name, dataclasses.MISSING)
        given: dict[str, Any] = {"default_factory": dict} if default is EMPTY else {"default": default}
        rows.append((name, cls.__annotations__[name], dataclasses.field(**given, compare=shown, repr=shown)))
    twin: Any = dataclasses.make_dataclass(cls.__name__, rows, kw_only=True)
    made = twin.__dataclass_fields__
    type.__setattr__(cls, "__dataclass_fields__", made)
    return made
