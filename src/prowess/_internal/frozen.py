"""Define immutable values by their annotations, without importing `dataclasses`.

`Frozen` does what `@dataclass(frozen=True, slots=True)` does. Importing `dataclasses` takes as long as starting Python,
and each dataclass half a millisecond more. `replace`, `fields`, `asdict` and `is_dataclass` of the standard library
accept these values as dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import MappingProxyType
    from typing import Any, NoReturn, Protocol, Self, dataclass_transform

    class FieldLoader(Protocol):
        """An object that can load the missing fields of a value."""

        def load_field(self, subject: Any, name: str) -> Any:
            """Return a field of the value for a subject."""
else:
    MappingProxyType = type(type.__dict__)  # as `types` does, which takes longer to load

    def dataclass_transform(**_: object) -> object:
        """Replace the decorator of `typing`, which only type checkers need."""
        return lambda cls: cls


EMPTY: Mapping[str, Any] = MappingProxyType({})
"""The default of a field that is a mapping. Each value gets an empty mapping of its own."""


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
    """Computes `__dataclass_fields__`, which `dataclasses` looks up, on first use."""

    def __get__(self, value: object, cls: _FrozenMeta) -> Any:
        if not cls._field_names:
            raise AttributeError(f"{cls.__name__!r} has no fields")
        return _make_dataclass_fields(cls)


class Frozen(metaclass=_FrozenMeta):
    """An immutable value whose fields are given by name.

    Class arguments: `not_compared` names fields that comparison and `repr` ignore; with `kw_only=False` the fields may
    be given by position too; `extra_slots` names attributes that are not fields.

    Raises:
        TypeError: a field is missing or unknown.
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
        """Return a copy with other values in some fields."""
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


class LazyFrozen(Frozen, extra_slots=("_source", "_known")):
    """A value some of whose fields are loaded on first use."""

    @classmethod
    def from_loader(cls, loader: FieldLoader, subject: object, **known: object) -> Self:
        """Make a value of which only some fields are known.

        Args:
            loader: loads the other fields.
            subject: what the loader is asked about.
            known: the fields that are known already.
        """
        value = _object_new(cls)
        _object_setattr(value, "_source", (loader, subject))
        _object_setattr(value, "_known", _shared(tuple(known)))
        for name, field_value in known.items():
            _object_setattr(value, name, field_value)
        return value

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            cls = type(self)
            if name not in cls._field_names:
                raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
            loader, subject = _object_getattribute(self, "_source")
            value = loader.load_field(subject, name)
            _object_setattr(self, name, value)
            return value

    @property
    def source(self) -> Any:
        """The loader of the missing fields and its subject; `None` if all fields were given."""
        return self.get_if_loaded("_source")

    def get_if_loaded(self, name: str) -> Any:
        """Return a field if it is loaded, or else `None`."""
        try:
            return _object_getattribute(self, name)
        except AttributeError:
            return None

    def with_changes(self, **changes: Any) -> Self:
        """Return a copy with other values in some fields; no field is loaded, and those that were are loaded again."""
        source = self.source
        if source is None:
            return super().with_changes(**changes)
        # To ask for each field whether it is loaded would take several times as long.
        known = _object_getattribute(self, "_known")
        value = _object_new(type(self))
        _object_setattr(value, "_source", source)
        for name in known:
            _object_setattr(value, name, _object_getattribute(self, name))
        for name, changed in changes.items():
            _object_setattr(value, name, changed)
        _object_setattr(value, "_known", _shared((*known, *changes)))
        return value


_shared_names: dict[tuple[str, ...], tuple[str, ...]] = {}


def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names without repetition, as one object for thousands of values with the same fields."""
    shared = _shared_names.get(names)
    if shared is None:
        shared = _shared_names[names] = tuple(dict.fromkeys(names))
    return shared


_object_new, _object_setattr, _object_getattribute = object.__new__, object.__setattr__, object.__getattribute__


def _unpickle(cls: type[Frozen], named: dict[str, Any]) -> Frozen:
    """Restore a value that was pickled or copied."""
    return cls(**named)


def _bind_positional(cls: type[Frozen], values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return all values by name, with those that were given by position.

    Raises:
        TypeError: there are too many, or one was given by name too.
    """
    positional = dict(zip(cls._field_names, values, strict=False))
    if len(positional) < len(values):
        raise TypeError(f"{cls.__name__} takes at most {len(positional)} positional arguments")
    for name in positional.keys() & named.keys():
        raise TypeError(f"{cls.__name__} got multiple values for {name!r}")
    return {**positional, **named}


def _raise_field_error(cls: type[Frozen], named: Mapping[str, object]) -> NoReturn:
    """Report an unknown or a missing field.

    Raises:
        TypeError: always.
    """
    unknown = [name for name in named if name not in cls._field_names]
    missing = [name for name in cls._field_names if name not in named]
    problem = f"has no field {unknown[0]!r}" if unknown else f"is missing the field {missing[0]!r}"
    raise TypeError(f"{cls.__name__} {problem}")


def _make_dataclass_fields(cls: _FrozenMeta) -> Any:
    """Return the fields of a class as `dataclasses` describes them, and keep them in the class."""
    import dataclasses

    fields: list[Any] = []
    for name in cls._field_names:
        shown = name not in cls._not_compared
        default = cls._defaults.get(name, dataclasses.MISSING)
        options: dict[str, Any] = {"default_factory": dict} if default is EMPTY else {"default": default}
        fields.append((name, cls.__annotations__[name], dataclasses.field(**options, compare=shown, repr=shown)))
    dataclass_twin: Any = dataclasses.make_dataclass(cls.__name__, fields, kw_only=True)
    described = dataclass_twin.__dataclass_fields__
    type.__setattr__(cls, "__dataclass_fields__", described)
    return described
