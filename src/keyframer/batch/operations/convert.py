"""The batch operation ``convert``: writes a file in another format and reports losses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any

from keyframer.batch import dependencies, storage
from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput, note_issues
from keyframer.batch.operations.outputs import drafted, refusing
from keyframer.exchange import Exporter, exporter_for, save
from keyframer.exchange.gltf.write.images import ImageSource, Pictures, no_images
from keyframer.exchange.opening import source_note
from keyframer.operating.operation_sequence import apply_operations
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.textures import TextureFinder, TextureSource

_EXPORT = ("keys", "core_only", "unit", "fps")


def carry_out(subject: JobInput, result: Result) -> None:
    options = subject.options
    exporter = exporter_for("", options.get("to", "gltf"))
    scene = subject.scene(result)
    note_issues(result, scene.issues)
    scene = _changed(scene, options, exporter, result)
    chosen = {"format": exporter.name, "dialect": options.get("dialect"), "max_error": options.get("max_error")}
    finder = None
    chosen |= exporter.options_from_text(options.get("write", {}))
    if exporter.name == "gltf":
        finder = subject.finder() if any(material.maps for material in scene.materials) else None
        chosen |= {name: options[name] for name in _EXPORT if options.get(name) is not None}
        chosen |= {"source": _source(subject, result), "images": _images(finder)}
    report = _upload(scene, subject, chosen) if storage.is_url(subject.job.output) else _write(scene, subject, chosen)
    subject.note_images(result, finder)
    losses = {outcome.value: report.count(outcome) for outcome in Outcome}
    result["details"] = {"losses": losses, "measured": dict(report.measured)}


def _changed(scene: Scene, options: Mapping[str, Any], exporter: Exporter, result: Result) -> Scene:
    """Return the scene after the chosen operations."""
    steps, fps = options.get("steps", {}), None if exporter.name == "gltf" else options.get("fps")
    if not steps and fps is None:
        return scene
    if "merge" in steps:
        result["also"].append(dependencies.file_of(steps["merge"]))
    return apply_operations(scene, {**steps, "max_error": options.get("max_error")}, fps, exporter.axes)


def _images(finder: TextureFinder | None) -> ImageSource:
    if finder is None:
        return no_images
    return Pictures(TextureSource(finder))


def _write(scene: Scene, subject: JobInput, chosen: dict[str, Any]) -> LossReport:
    path = subject.job.output
    with refusing(path), drafted(path, replaces=subject.job.replaces) as outputs:
        report = save(scene, path, overwrite=True, **chosen)
    subject.outputs += outputs
    return report


def _upload(scene: Scene, subject: JobInput, chosen: dict[str, Any]) -> LossReport:
    """Write files to a store: made in a temporary folder of this job and uploaded, the main one last, so that it is
    complete.
    """
    place, _, name = subject.job.output.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        report = save(scene, os.path.join(folder, name), **chosen)
        for path in reversed(report.written):
            with open(path, "rb") as stream:
                subject.write(f"{place}/{os.path.basename(path)}", stream.read())
    subject.outputs.reverse()
    return report


def _source(subject: JobInput, result: Result) -> dict[str, object]:
    return source_note(subject.name.rpartition(storage.MEMBER)[2], result["sha256"], subject.opened)
