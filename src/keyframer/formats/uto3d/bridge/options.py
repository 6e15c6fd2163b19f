"""Options for reading U3D (UTO!) scenes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading; the defaults match the known exporters."""

    scale_position_keys: str = "auto"
    """``yes`` applies the global scale to position keys, ``no`` does not; ``auto``: yes for files of the Flexporter
    (recognised by their layout), which applied it only to nodes and vertices"""
    fov_keys: str = "auto"
    """``degrees``, or ``radians`` as in linear keys of the Flexporter; ``auto``: radians in linear controllers
    whose values are all below 3.2"""
    encoding: str = "cp1252"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("scale_position_keys", ("auto", "yes", "no")),
            ("fov_keys", ("auto", "degrees", "radians")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
