"""Hale3D: ``.anim`` skeletal animations and the ``.mdl`` models they move.

The binary form of Doom 3's MD5 files in a hobby engine. An animation has joints with their base pose, then frames of
equal size; a model has meshes, then joints in their bind pose. One real pair is known (``bob_lamp_update``); its text
ends with NUL. Unknown: how other writers store ``std::string`` (see `dialect`), and versions other than 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.formats.contract import Companion, Format, ImageNames, Match

if TYPE_CHECKING:
    from typing import Any

    from keyframer.formats.bridge import Merger, SceneReader, SceneWriter
    from keyframer.formats.contract import Codec, Rules
    from keyframer.formats.hale3d.bridge.scene import Options
    from keyframer.formats.hale3d.bridge.writing import WriteOptions


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

    def codec(self) -> Codec:
        from keyframer.formats.hale3d import document

        return document

    def reader(self) -> SceneReader[Options]:
        from keyframer.formats.hale3d.bridge.scene import Reader

        return Reader()

    def writer(self) -> SceneWriter[WriteOptions]:
        from keyframer.formats.hale3d.bridge.writing import Writer

        return Writer()

    def merger(self) -> Merger[Options]:
        from keyframer.formats.hale3d.bridge.merging import Merger

        return Merger()

    def rules(self) -> Rules:
        from keyframer.formats.hale3d.rules import apply_rules

        return apply_rules

    def dialect_type(self) -> type[Any]:
        from keyframer.formats.hale3d.dialect import Dialect

        return Dialect

    def options_for(self, suffix: str) -> dict[str, object]:
        """Return the writer option that selects the file of the pair with this suffix."""
        file = {".anim": "animation", ".mdl": "model"}.get(suffix)
        return {} if file is None else {"file": file}


FORMAT = Hale3D()
