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

    class Teller(Protocol):
        """Who knows the fields that a value was not given."""

        def tell(self, about: Any, name: str) -> Any:
            """Return a field of the value that this is about."""
else:

    def dataclass_transform(**_: object) -> object:
        """Stand in for what type checkers alone look at."""
        return lambda cls: cls


__all__ = ["EMPTY", "Frozen", "Later"]

EMPTY: Mapping[str, Any] = MappingProxyType({})
"""The default of a field that is a mapping: each value gets one of its own."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _Fields(type):
    """Turns the annotations of a class into slots and defaults."""

    _names: tuple[str, ...]
    _defaults: Mapping[str, object]
    _aside: frozenset[str]

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        space: dict[str, Any],
        *,
        aside: tuple[str, ...] = (),
        kw_only: bool = True,  # noqa: ARG004 - for type checkers
        beside: tuple[str, ...] = (),
    ) -> Any:
        names = tuple(space.get("__annotations__", ()))
        defaults = {field: space.pop(field) for field in names if field in space}
        made = super().__new__(cls, name, bases, {**space, "__slots__": (*names, *beside)})
        made._names, made._defaults, made._aside = names, defaults, frozenset(aside)
        return made


class _Described:
    """What the standard library asks a dataclass or its value for."""

    def __get__(self, value: object, cls: _Fields) -> Any:
        if not cls._names:
            raise AttributeError(f"{cls.__name__!r} has no fields")
        return _as_dataclass(cls)


class Frozen(metaclass=_Fields):
    """A value: its fields are given once, by name, and never change.

    The class argument `aside` names fields that neither comparing nor `repr` looks at; with `kw_only=False` the fields
    may be given in order too; `beside` are attributes that are no fields, for a value that is made before its fields
    are.

    Raises:
        TypeError: a field is missing, or not one of the class.
    """

    __dataclass_fields__ = _Described()

    def __init__(self, *values: Any, **named: Any) -> None:
        cls = type(self)
        if values:
            named = _in_order(cls, values, named)
        if len(named) != len(cls._names):
            named = {**cls._defaults, **named}
        if len(named) != len(cls._names):
            _complain(cls, named)
        try:
            for name, value in named.items():
                _put(self, name, {} if value is EMPTY else value)
        except AttributeError:
            _complain(cls, named)

    @classmethod
    def _fields(cls) -> tuple[str, ...]:
        return cls._names

    def but(self, **changes: Any) -> Self:
        """Return the value with other values in some fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self._fields()}, **changes})

    __replace__ = but

    def __setattr__(self, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _compared(self) -> tuple[object, ...]:
        cls = type(self)
        return tuple(getattr(self, name) for name in cls._names if name not in cls._aside)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def __repr__(self) -> str:
        cls = type(self)
        shown = (f"{name}={getattr(self, name)!r}" for name in cls._names if name not in cls._aside)
        return f"{cls.__qualname__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), {name: getattr(self, name) for name in self._fields()})


class Later(Frozen, beside=("_source",)):
    """A value of which some fields are worked out only when they are asked for."""

    @classmethod
    def later(cls, teller: Teller, about: object, **known: object) -> Self:
        """Make a value of which only some fields are known; a teller, asked about it, tells the others."""
        value = _new(cls)
        _put(value, "_source", (teller, about))
        for name, given in known.items():
            _put(value, name, given)
        return value

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name not in self._fields():
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            teller, about = _get(self, "_source")
            value = teller.tell(about, name)
            _put(self, name, value)
            return value

    @property
    def source(self) -> Any:
        """Who tells the fields that were not given, and about what; None for a value whose fields were all given."""
        return self.known("_source")

    def known(self, name: str) -> Any:
        """Return a field if it is known already, else None."""
        try:
            return _get(self, name)
        except AttributeError:
            return None

    def but(self, **changes: Any) -> Self:
        """Return the value with other values in some fields; what nobody asked for yet stays unasked."""
        cls = type(self)
        value = _new(cls)
        for name in ("_source", *cls._names):
            try:
                _put(value, name, _get(self, name))
            except AttributeError:
                continue
        for name, given in changes.items():
            _put(value, name, given)
        return value


_new, _put, _get = object.__new__, object.__setattr__, object.__getattribute__


def _again(cls: type[Frozen], named: dict[str, Any]) -> Frozen:
    """Make a value that was pickled or copied."""
    return cls(**named)


def _in_order(cls: type[Frozen], values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Give names to values that have none.

    Raises:
        TypeError: there are too many, or one was given by name too.
    """
    first = dict(zip(cls._names, values, strict=False))
    if len(first) < len(values):
        raise TypeError(f"{cls.__name__} takes {len(first)} values")
    for name in first.keys() & named.keys():
        raise TypeError(f"{cls.__name__} was given {name!r} twice")
    return {**first, **named}


def _complain(cls: type[Frozen], named: Mapping[str, object]) -> NoReturn:
    """Say which field is missing, or is none.

    Raises:
        TypeError: always.
    """
    unknown = [name for name in named if name not in cls._names]
    missing = [name for name in cls._names if name not in named]
    raise TypeError(f"{cls.__name__} " + (f"has no field {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"))


def _as_dataclass(cls: _Fields) -> Any:
    """Describe the fields of a class as `dataclasses` does, once it is asked for."""
    import dataclasses

    rows: list[Any] = []
    for name in cls._names:
        shown = name not in cls._aside
        default = cls._defaults.get(name, dataclasses.MISSING)
        given: dict[str, Any] = {"default_factory": dict} if default is EMPTY else {"default": default}
        rows.append((name, cls.__annotations__[name], dataclasses.field(**given, compare=shown, repr=shown)))
    twin: Any = dataclasses.make_dataclass(cls.__name__, rows, kw_only=True)
    made = twin.__dataclass_fields__
    type.__setattr__(cls, "__dataclass_fields__", made)
    return made
