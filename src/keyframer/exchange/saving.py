"""Saves scenes in any format, and converts files: `save` and `convert`."""

from __future__ import annotations

import io
import os
from collections import Counter
from pathlib import Path
from typing import IO

from keyframer.exchange import exporter_for
from keyframer.exchange.opening import load, size_in_memory
from keyframer.files import PathLike, running
from keyframer.limits import Limits, budgeted
from keyframer.posing.bounds_and_duration import measured_once
from keyframer.scene import Scene
from keyframer.scene.loss_report import Loss, LossReport, Outcome
from keyframer.scene.scene import check_consistency
from keyframer.text import counted


def save(
    scene: Scene,
    path: PathLike | IO[bytes],
    *,
    format: str | None = None,
    dialect: str | None = None,
    max_error: float | None = None,
    overwrite: bool = False,
    limits: Limits | None = None,
    **options: object,
) -> LossReport:
    """Write a scene in the format of the extension (or ``format``); returns a loss report.

    If several formats share the extension, the format from which the scene was loaded is written.
    Instead of a path, a stream that is open for binary writing can be given, with the id of a ``format``. It gets one
    file: a scene that becomes several files raises ValueError.

    ``max_error`` is the allowed error of motion that the format cannot store exactly, as a fraction of the scene's size
    (default 1e-4, and 0.01 degree for rotations). ``options`` are those of the format; for glTF `GltfOptions`: ``keys``
    (``linear``, ``cubic`` or ``frames``), ``core_only``, ``embed_source``, ``unit``, ``fps`` …, for the formats of
    `keyframer.formats` the `WriteOptions` of their bridge. If a scene was loaded from a file of the same format, what
    did not change keeps its records byte for byte. Companion files (the model of a Hale3D animation, the skeleton of a
    Midtown clip) are written, too. Files are written atomically; existing ones are replaced only with
    ``overwrite``. Motion that exceeds ``limits`` is cut short or less exact, and the report says so; other excess
    raises `FormatError`. Raises ValueError if the format can store nothing of the scene, or if a scene built by hand is
    inconsistent.
    """
    check_consistency(scene)
    if max_error is not None:
        options["max_error"] = max_error
    with budgeted(limits, scene.stored_bytes), measured_once():
        if isinstance(path, (str, os.PathLike)):
            exporter = exporter_for(path, format, scene.source_format)
            report = exporter.save(scene, Path(path), dialect=dialect, overwrite=overwrite, options=options)
        else:
            report = _save_to_stream(scene, path, format, dialect, options)
    if len(scene.issues):
        if scene.origin is None:
            _report_unimported(scene, report)
        if scene.issues.first_unsafe() is not None:
            _report_salvaged(scene, report)
    return report


def _save_to_stream(
    scene: Scene, stream: IO[bytes], format: str | None, dialect: str | None, options: dict[str, object]
) -> LossReport:
    if format is None:
        raise ValueError("a stream has no extension: give the id of a format, such as format='gltf'")
    if isinstance(stream, io.TextIOBase):
        raise ValueError("expected a binary stream (open the file with mode 'wb')")
    import tempfile  # rarely needed

    exporter = exporter_for("", format)
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        path = Path(folder, f"scene{exporter.extension(dialect)}")
        report = exporter.save(scene, path, dialect=dialect, overwrite=False, options=options)
        others = sorted(file.name for file in Path(folder).iterdir() if file != path)
        if others:
            raise ValueError(f"this scene becomes several files in the format {format}: give a path ({others[0]}, …)")
        stream.write(path.read_bytes())
    report.written = []
    return report


_LEFT_OUT = {"SEM_UNKNOWN_ENUM": "/{value}", "SEM_EXTENSION_UNKNOWN": "/{name}", "LINK_NOT_SHOWN": "/nodes"}
"""codes of issues about content that an importer left out, and its path in the report, with arguments of the issue"""


def _report_unimported(scene: Scene, report: LossReport) -> None:
    """Add an entry for each kind of content of an imported file that is not in the scene: points, lines, instances,
    animated colours, a second set of texture coordinates …
    """
    counts: Counter[tuple[str, str]] = Counter()
    for issue in scene.issues:
        if issue.code in _LEFT_OUT and not issue.unsafe:
            counts[_LEFT_OUT[issue.code].format_map(issue.args), issue.message] += 1
    for (path, message), count in counts.items():
        times = f", {count} times" if count > 1 else ""
        report.add(Outcome.DROPPED, path, f"left out while reading: {message}{times}")


def _report_salvaged(scene: Scene, report: LossReport) -> None:
    """Add an entry for each part that salvage left out, and one for each code with more issues than are listed."""
    unlisted = scene.issues.unsafe_counts()
    for issue in scene.issues:
        if issue.unsafe:
            unlisted[issue.code] -= 1
            message = f"left out by salvage: {issue.code}: {issue.message}"
            report.losses.append(Loss(Outcome.DROPPED, "/", message, None, None, issue.path, issue.offset))
    for code, count in unlisted.items():
        if count > 0:
            report.add(Outcome.DROPPED, "/", f"left out by salvage: {code}, {counted(count, 'more time')}")


def convert(
    source: PathLike | IO[bytes] | bytes,
    target: PathLike,
    *,
    format: str | None = None,
    dialect: str | None = None,
    max_error: float | None = None,
    overwrite: bool = False,
    salvage: bool = False,
    limits: Limits | None = None,
    reader_options: dict[str, object] | None = None,
    **options: object,
) -> LossReport:
    """Convert a file to the format of the target's extension (or ``format``): `load` and `save` in one call.

    ``options`` are those of the written format, ``reader_options`` those of the read format. The target must not be the
    source, even with ``overwrite``. Returns a loss report.
    """
    with running(), budgeted(limits, size_in_memory(source)):
        scene = load(source, salvage=salvage, limits=limits, **(reader_options or {}))  # type: ignore[arg-type]
        return save(
            scene,
            target,
            format=format,
            dialect=dialect,
            max_error=max_error,
            overwrite=overwrite,
            limits=limits,
            **options,
        )
