"""Scenes saved in the five formats themselves."""

from __future__ import annotations

from pathlib import Path

from keyframer.exchange.image_extraction import Unpacked
from keyframer.files import write_set
from keyframer.formats import Format, encode
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport


def save(
    format: Format, scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, object]
) -> LossReport:
    """Write the document and what belongs beside it, images from inside the source too: all of it, or nothing where a
    file is in the way. An image never is: another image of its name makes it get the next name that is free."""
    if dialect is not None:
        options = {**options, "dialect": dialect}
    options = {**format.options_for(path.suffix.lower()), **options}
    unpacked = Unpacked(format.image_names, scene, path.parent)
    written = format.from_scene(unpacked.scene, options)
    unpacked.report(written.report)
    main = (path, encode(written.document) if written.data is None else written.data)
    pair = [(path.with_suffix(suffix), content) for suffix, content in written.companions]
    images = [(path.parent / each, content) for each, content in unpacked.files.items()]
    write_set(main, pair=pair, shared=images, overwrite=overwrite)
    written.report.written = [str(each) for each, _ in (main, *pair, *images)]
    return written.report
