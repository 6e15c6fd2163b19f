"""Options for reading ASE scenes."""

from __future__ import annotations

from dataclasses import dataclass

_ROTATION_KEYS = ("auto", "relative", "absolute")


@dataclass(frozen=True, slots=True)
class Options:
    """Options; the defaults match the exporter of 3ds Max."""

    rotation_keys: str = "auto"
    """meaning of linear, Bezier and TCB rotation keys: ``relative`` to the key before, ``absolute``, or ``auto``: TCB
    and Bezier keys are relative, linear ones absolute (sampled tracks are always relative)"""
    encoding: str | None = None
    """encoding of names; None: UTF-8 if valid, else Windows code page 1252"""

    def __post_init__(self) -> None:
        if self.rotation_keys not in _ROTATION_KEYS:
            raise ValueError(f"rotation_keys must be one of {', '.join(_ROTATION_KEYS)}, not {self.rotation_keys!r}")
