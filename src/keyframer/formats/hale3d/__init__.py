"""Hale3D: ``.anim`` skeletal animations and the ``.mdl`` models they move.

A hobby engine's binary form of Doom 3's MD5 files: a header, joints with their base pose, then frames of one size. One
real pair is known (``bob_lamp_update``); it settles that text ends with NUL. Open: what other writers made of
``std::string`` (see `dialect`), and versions other than 1.
"""

from __future__ import annotations

from keyframer.formats._format import Format
from keyframer.formats.hale3d.sniff import sniff

FORMAT = Format(
    name="hale3d",
    title="Hale3D",
    extensions=(".anim", ".mdl"),
    sniff=sniff,
    package=__name__,
)
