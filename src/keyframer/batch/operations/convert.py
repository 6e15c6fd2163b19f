"""The batch operation ``convert``: writes a file in another format and reports losses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any

from keyframer.batch import dependencies, storage
from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput, note_issues
from keyframer.batch.operations.outputs import collect_outputs, output_errors
from keyframer.exchange import Exporter, exporter_for
from keyframer.exchange.gltf.write.images import ImageSource, Pictures, no_images
from keyframer.exchange.opening import source_note
from keyframer.exchange.saving import save
from keyframer.operating.operation_sequence import apply_operations
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.textures import TextureFinder, TextureSource

_GLTF_OPTIONS = ("keys", "core_only", "embed_source", "unit", "fps")


def execute(job_input: JobInput, result: Result) -> None:
    options = job_input.options
    exporter = exporter_for("", options.get("to", "gltf"))
    scene = job_input.scene(result)
    note_issues(result, scene.issues)
    operations = LossReport(exporter.name)
    scene = _apply_operations(scene, options, exporter, result, operations)
    save_options = {"format": exporter.name, "dialect": options.get("dialect"), "max_error": options.get("max_error")}
    finder = None
    save_options |= exporter.options_from_text(options.get("write", {}))
    if exporter.name == "gltf":
        finder = job_input.finder() if any(material.maps for material in scene.materials) else None
        save_options |= {name: options[name] for name in _GLTF_OPTIONS if options.get(name) is not None}
        save_options |= {"source": _source(job_input, result), "images": _images(finder)}
    write = _upload if storage.is_url(job_input.job.output) else _write
    report = write(scene, job_input, save_options)
    job_input.note_images(result, finder)
    losses = {outcome.value: report.count(outcome) + operations.count(outcome) for outcome in Outcome}
    result["details"] = {"losses": losses, "measured": dict(report.measured)}


def _apply_operations(
    scene: Scene, options: Mapping[str, Any], exporter: Exporter, result: Result, report: LossReport
) -> Scene:
    """Return the scene after the chosen operations; ``report`` gets what they did."""
    steps, fps = options.get("steps", {}), None if exporter.name == "gltf" else options.get("fps")
    if not steps and fps is None:
        return scene
    if "merge" in steps:
        result["also"].append(dependencies.file_entry(steps["merge"]))
    return apply_operations(scene, {**steps, "max_error": options.get("max_error")}, fps, exporter.axes, report)


def _images(finder: TextureFinder | None) -> ImageSource:
    if finder is None:
        return no_images
    return Pictures(TextureSource(finder))


def _write(scene: Scene, job_input: JobInput, save_options: dict[str, Any]) -> LossReport:
    path = job_input.job.output
    with output_errors(path), collect_outputs(path, replaces=job_input.job.replaces) as outputs:
        report = save(scene, path, overwrite=True, **save_options)
    job_input.outputs += outputs
    return report


def _upload(scene: Scene, job_input: JobInput, save_options: dict[str, Any]) -> LossReport:
    """Save in a temporary folder and upload the files, the main file last: it never refers to missing files."""
    parent, _, name = job_input.job.output.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        report = save(scene, os.path.join(folder, name), **save_options)
        for path in reversed(report.written):
            with open(path, "rb") as stream:
                job_input.write(f"{parent}/{os.path.basename(path)}", stream.read())
    job_input.outputs.reverse()
    return report


def _source(job_input: JobInput, result: Result) -> dict[str, object]:
    return source_note(job_input.name.rpartition(storage.MEMBER)[2], result["sha256"], job_input.opened)
