"""USD: scenes as ``.usdz`` packages and ``.usda`` or ``.usdc`` layers. ``docs/usd.md`` describes the mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.exchange.contract import FPS, MAX_ERROR, SMOOTH, UNIT, Exporter

if TYPE_CHECKING:
    from keyframer.exchange.contract import SceneSaver
    from keyframer.formats.kit.declared_fields import Capabilities


class UsdExporter(Exporter):
    """Writes ``.usdz``, ``.usda`` and, if ``usd-core`` is installed, ``.usdc`` files."""

    name = "usd"
    title = "USD"
    extensions = (".usdz", ".usda", ".usdc")
    axes = ("y", "right")
    dialects = ("package", "text", "binary")
    takes_images = True
    options = (
        MAX_ERROR,
        UNIT._replace(
            meaning="length of a unit, which the file states: a number of metres, or mm, cm, m, km, inch, foot, or "
            "file for the unit of the source (the default; metres if it has none)",
            is_flag=False,
        ),
        FPS,
        SMOOTH,
    )

    def choices(self) -> tuple[str, ...]:
        return ("package", "text")  # the page has no usd-core

    def capabilities(self) -> Capabilities:
        from keyframer.exchange.usd.write import CAPABILITIES

        return CAPABILITIES

    def writer(self) -> SceneSaver:
        from keyframer.exchange.usd import write

        return write


EXPORTER = UsdExporter()
