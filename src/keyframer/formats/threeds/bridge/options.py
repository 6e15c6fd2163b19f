"""Options for reading 3D Studio files."""

from __future__ import annotations

import codecs
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading; the defaults follow the original programs."""

    geometry: str = "auto"
    """what to do if stored vertices and keyframer disagree: ``auto`` decides for each node (see `vertex_space`),
    ``keyframer`` applies the keyframer, as 3ds Max does, ``raw`` keeps the stored vertices"""
    rotation_keys: str = "auto"
    """``relative`` as in 3D Studio, ``absolute`` as in Blender's exporter; ``auto`` recognises that exporter"""
    sign_flips: str = "auto"
    """3ds Max writes some small rotations as nearly 360 degrees within one frame, because a quaternion changed its
    sign: ``auto`` repairs these keys in files of 3ds Max, ``keep`` leaves them unchanged"""
    fps: float = 30.0
    """frames per second, which the format does not store; 3D Studio plays 30"""
    encoding: str | None = None
    """encoding of names; None: UTF-8 if valid, else Windows 1252"""

    def __post_init__(self) -> None:
        for name, allowed in (
            ("geometry", ("auto", "keyframer", "raw")),
            ("rotation_keys", ("auto", "relative", "absolute")),
            ("sign_flips", ("auto", "keep")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if not 0 < self.fps < float("inf"):
            raise ValueError(f"fps must be positive and finite, not {self.fps}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(f"no encoding is named {self.encoding!r}") from None
