"""Hale3D: ``.anim`` skeletal animations and the ``.mdl`` models they move.

A hobby engine's binary form of Doom 3's MD5 files: a header, joints with their base pose, then frames of one size. One
real pair is known (``bob_lamp_update``); it settles that text ends with NUL. Open: what other writers made of
``std::string`` (see `dialect`), and versions other than 1.
"""

from __future__ import annotations

from keyframer.formats.contract import Companion, Format, ImageNames


class Hale3D(Format):
    name = "hale3d"
    title = "Hale3D"
    extensions = (".anim", ".mdl")
    dialects = ("nul-ended", "length-with-nul", "length")
    companions = (Companion("model", ".mdl", "the Hale3D model that an animation moves"),)
    image_names = ImageNames(60, slots=("texture1",))

    def options_for(self, suffix: str) -> dict[str, object]:
        """Which file of the pair is meant."""
        file = {".anim": "animation", ".mdl": "model"}.get(suffix)
        return {} if file is None else {"file": file}


FORMAT = Hale3D()
