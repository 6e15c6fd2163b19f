"""BVH: the joints of a scene and their motion, which programs for characters read. See ``docs/converting.md``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.exchange.contract import FPS, Exporter

if TYPE_CHECKING:
    from keyframer.exchange.contract import SceneSaver
    from keyframer.formats.kit.declared_fields import Capabilities


class BvhExporter(Exporter):
    """Writes ``.bvh`` files."""

    name = "bvh"
    title = "BVH motion"
    extensions = (".bvh",)
    axes = ("y", "right")
    options = (FPS,)

    def capabilities(self) -> Capabilities:
        from keyframer.exchange.bvh.write import CAPABILITIES

        return CAPABILITIES

    def writer(self) -> SceneSaver:
        from keyframer.exchange.bvh import write

        return write


EXPORTER = BvhExporter()
