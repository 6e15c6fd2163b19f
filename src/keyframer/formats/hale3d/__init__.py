"""Hale3D: ``.anim`` skeletal animations and the ``.mdl`` models they move.

The binary form of Doom 3's MD5 files in a hobby engine. An animation has joints with their base pose, then frames of
equal size; a model has meshes, then joints in their bind pose. One real pair is known (``bob_lamp_update``); its text
ends with NUL. Unknown: how other writers store ``std::string`` (see `dialect`), and versions other than 1.
"""

from __future__ import annotations

from keyframer.formats.contract import Companion, Format, ImageNames, Match


class Hale3D(Format):
    name = "hale3d"
    title = "Hale3D"
    extensions = (".anim", ".mdl")
    dialects = ("nul-ended", "length-with-nul", "length")
    companions = (Companion("model", ".mdl", "the Hale3D model that an animation moves"),)
    image_names = ImageNames(60, slots=("texture1",))
    bookkeeping = ("flags", "model_version", "start_index", "version")

    def sniff(self, head: bytes, size: int) -> Match | None:
        from keyframer.formats.hale3d.sniff import sniff

        return sniff(head, size)


FORMAT = Hale3D()
