"""A file in another format, and what was lost."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from keyframer.batch import beside, stores
from keyframer.batch.job import Result
from keyframer.batch.operations._outputs import Output, drafted, foreign, noted, refusing
from keyframer.batch.operations._subject import Subject, note_issues
from keyframer.batch.operations._targets import exporter_of
from keyframer.exchange import Exporter, save
from keyframer.exchange.provenance import source_note
from keyframer.exchange.report import LossReport, Outcome
from keyframer.formats import format_by_name
from keyframer.formats._option_values import typed
from keyframer.scene import Scene

if TYPE_CHECKING:
    from keyframer.exchange.gltf.images import ImageSource
    from keyframer.textures import TextureFinder

_MOVES = (".gltf",)
"""outputs whose writer moves what it replaces out of the way itself; all others get their names when they are on the
disk, while the next file is worked on"""
_EXPORT = ("core_only", "unit", "fps")


def carry_out(subject: Subject, result: Result) -> None:
    options = subject.options
    exporter = exporter_of(options)
    scene = subject.scene(result)
    note_issues(result, scene.issues)
    scene = _changed(scene, options, exporter, result)
    chosen = {"format": exporter.name, "dialect": options.get("dialect"), "max_error": options.get("max_error")}
    finder = None
    if exporter.name != "gltf":
        chosen |= typed(format_by_name(exporter.name).write_option_types(), options.get("write", {}))
    else:
        finder = subject.finder() if any(material.maps for material in scene.materials) else None
        chosen |= {name: options[name] for name in _EXPORT if options.get(name) is not None}
        chosen |= {"source": _source(subject, result), "images": _images(finder)}
    report = _upload(scene, subject, chosen) if stores.is_url(subject.job.output) else _write(scene, subject, chosen)
    subject.note_images(result, finder)
    losses = {outcome.value: report.count(outcome) for outcome in Outcome}
    result["details"] = {"losses": losses, "measured": dict(report.measured)}


def _changed(scene: Scene, options: Mapping[str, Any], exporter: Exporter, result: Result) -> Scene:
    """The scene after what is to be done on the way."""
    steps, fps = options.get("steps", {}), None if exporter.name == "gltf" else options.get("fps")
    if not steps and fps is None:
        return scene
    from keyframer.operating.steps import take_steps

    if "merge" in steps:
        result["also"].append(beside.file_of(steps["merge"]))
    return take_steps(scene, {**steps, "max_error": options.get("max_error")}, fps, exporter.axes)


def _images(finder: TextureFinder | None) -> ImageSource:
    if finder is None:
        from keyframer.exchange.gltf.images import no_images

        return no_images
    from keyframer.exchange.gltf.pictures import Pictures
    from keyframer.textures import TextureSource

    return Pictures(TextureSource(finder))


def _write(scene: Scene, subject: Subject, chosen: dict[str, Any]) -> LossReport:
    path = subject.job.output
    with refusing(path):
        if path.endswith(_MOVES):
            if not subject.job.replaces:
                _refuse_foreign(scene, path, chosen)
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            report = save(scene, path, overwrite=True, **chosen)
            subject.outputs += [Output(each, partial(noted, each)) for each in report.written]
            return report
        with drafted(path, replaces=subject.job.replaces) as outputs:
            report = save(scene, path, overwrite=True, **chosen)
        subject.outputs += outputs
    return report


def _refuse_foreign(scene: Scene, path: str, chosen: dict[str, Any]) -> None:
    """A glTF text, or the file for its numbers, that is not known to be ours."""
    numbers = f"{os.path.splitext(path)[0]}.bin"
    if os.path.lexists(path):
        if not _is_ours(path):
            raise foreign(path)
    elif os.path.lexists(numbers) and not _stands_for(scene, numbers, chosen):
        raise foreign(numbers)


def _is_ours(path: str) -> bool:
    """Whether it is a glTF text that keyframer wrote; the head tells."""
    with open(path, "rb") as stream:
        return b'"generator":"keyframer ' in stream.read(4096).replace(b'": "', b'":"')


def _stands_for(scene: Scene, numbers: str, chosen: dict[str, Any]) -> bool:
    """Whether the file is what is written there now, as a run leaves it that is killed before it writes the text; or
    nothing is written there."""
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        _, *own = save(scene, os.path.join(folder, "a.gltf"), **chosen).written
        wanted = [noted(path)["sha256"] for path in own]
    try:
        return not wanted or wanted == [noted(numbers)["sha256"]]
    except OSError:  # a link to nowhere, a folder
        return False


def _upload(scene: Scene, subject: Subject, chosen: dict[str, Any]) -> LossReport:
    """Files for a store are made in a folder of this job alone; the main one goes last: where it is, all is."""
    place, _, name = subject.job.output.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        report = save(scene, os.path.join(folder, name), **chosen)
        for path in reversed(report.written):
            with open(path, "rb") as stream:
                subject.write(f"{place}/{os.path.basename(path)}", stream.read())
    subject.outputs.reverse()
    return report


def _source(subject: Subject, result: Result) -> dict[str, object]:
    dialect = None if subject.importer is not None else subject.document.dialect
    name = subject.name.rpartition(stores.MEMBER)[2]
    return source_note(name, result["sha256"], subject.format_name, subject.detection.version, dialect)
