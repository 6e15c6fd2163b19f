"""Options given as text, as a bridge wants them: numbers, and yes or no, where they are that."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def typed(wanted: Mapping[str, str], given: Mapping[str, object]) -> dict[str, object]:
    """Values of the types in ``wanted`` (see `Format.option_types`); ValueError names one that does not fit."""
    return {name: _value(name, value, wanted.get(name, "")) for name, value in given.items()}


def _value(name: str, value: object, kind: str) -> object:
    if not isinstance(value, str):
        return value
    if kind == "bool":
        if value.lower() not in _WORDS:
            raise ValueError(f"{name} is true or false, not {value!r}")
        return _WORDS[value.lower()]
    if kind.startswith("int"):
        try:
            return int(value)
        except ValueError:
            raise ValueError(f"{name} is a whole number, not {value!r}") from None
    if kind.startswith("float"):
        try:
            return float(value)
        except ValueError:
            raise ValueError(f"{name} is a number, not {value!r}") from None
    return value
