"""The rows of one file in a catalogue, as JSON values. Workers make them; the process with the database stores them."""

from __future__ import annotations

import base64
import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from keyframer import checking
from keyframer.batch.catalogue_schema import COLUMNS, NOTHING, NUMBERS
from keyframer.batch.file_catalogue import Rows, path_text
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.formats.contract import HEAD_SIZE
from keyframer.inspecting.document_tables import file_tables, has_scene, summary_of
from keyframer.inspecting.fingerprint import fingerprint
from keyframer.inspecting.identity import identify
from keyframer.inspecting.scene_tables import texture_table
from keyframer.inspecting.tables import shown
from keyframer.issues import IssueLog
from keyframer.scene import Scene
from keyframer.text import shortened
from keyframer.textures import TextureFinder, TextureUse, scene_textures

MOST_ROWS = 10_000
"""maximum number of rows of a file in each table"""
_LONGEST_NAME, _LONGEST_TEXT = 255, 1_000
_MOST_NAMES = 100_000
"""maximum number of characters of the names of a file in the full-text search"""


def file_rows(opened: OpenedFile, finder: TextureFinder | None) -> tuple[Rows, IssueLog]:
    """Return the rows of a file, readable or not, and its issues."""
    identity = identify(opened.data[:HEAD_SIZE], len(opened.data), opened.name, lambda: opened.data)
    file: Rows = {**NOTHING, **{name: _text(getattr(identity, name)) for name in ("version", "dialect", "pronom")}}
    scene, images = Scene(), list[TextureUse]()
    report = checking.check_opened(opened)
    with suppress(FormatError):
        overview = next(file_tables(opened, report.verdict, report.issues))
        if has_scene(opened):
            scene = opened.scene(salvage=True)
            images = scene_textures(scene, finder)
        summary = summary_of(opened, [overview, texture_table(images, finder)], report.verdict, report.issues)
        file |= {name: _number(summary[name]) for name in NUMBERS}
        file["writer"] = _text(summary["writer"])
        file["version"] = file["version"] or _text(summary["version"])
        if file["dialect"] is None and opened.importer is None and opened.document.dialect is not None:
            file["dialect"] = _text(str(opened.document.dialect))
    file["format"] = identity.format if report.format is None else report.format.name
    file["verdict"] = report.verdict
    file |= {"errors": report.count("error"), "warnings": report.count("warning")}
    rows: Rows = {"file": file, **_scene_rows(scene, images)}
    records = map(checking.issue_record, report.issues)
    rows["issues"] = [[record[name] for name in COLUMNS["issues"][2:]] for record in records]
    rows["search"] = [*searched_text(scene, images, file["writer"])]
    rows["fingerprint"] = _fingerprint(scene)
    return rows, report.issues


def _scene_rows(scene: Scene, images: Sequence[TextureUse]) -> Rows:
    meshes = [(m.name, len(m.positions), len(m.corners), m.uv is not None, m.colors is not None) for m in scene.meshes]
    materials = [
        (m.name, _color(m.diffuse), 1 - m.transparency, m.two_sided, ", ".join(m.maps)) for m in scene.materials
    ]
    rows = {
        "nodes": ((n.name, n.kind.value, n.parent, n.mesh, n.hidden) for n in scene.nodes),
        "tracks": _tracks(scene),
        "meshes": meshes,
        "materials": materials,
        "images": ((use.name, use.status, _found(use.match), use.image, ", ".join(use.users[:8])) for use in images),
        "cameras": ((c.name, c.fov_degrees) for c in scene.cameras),
        "lights": ((light.name, light.type.value, _color(light.color), light.multiplier) for light in scene.lights),
    }
    return {name: [list(map(_value, row)) for row in islice(found, MOST_ROWS)] for name, found in rows.items()}


def _tracks(scene: Scene) -> Iterable[Sequence[Any]]:
    for number, clip in enumerate(scene.clips):
        frame = clip.units_per_frame or 1.0
        for channel in clip.channels:
            track = channel.track
            ends = [float(end) / frame for end in (track.times.min(), track.times.max())] if len(track.times) else []
            shape = (track.kind, len(track.times), track.interpolation.value, track.wrap.value)
            yield number, channel.node, *shape, *(ends or (None, None))


def _found(match: Any) -> str | None:
    return None if match is None or match.path is None else path_text(os.path.abspath(match.path))


def _value(value: Any) -> Any:
    """Return a value of a scene as a JSON value: text safe to show and truncated, no NaN."""
    if isinstance(value, str):
        return shortened(value, _LONGEST_NAME)
    return value if value is None else _number(value)


def _number(value: Any) -> Any:
    """Return a Python number, None if it is not finite."""
    if value is None or isinstance(value, (bool, int)):
        return value if value is None else int(value)
    number = float(value)
    return number if math.isfinite(number) else None


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else shown(value, most=_LONGEST_NAME)


def _color(color: Any) -> str | None:
    if color is None or not all(map(math.isfinite, color)):
        return None
    return "#" + "".join(f"{round(255 * min(max(float(part), 0.0), 1.0)):02x}" for part in color)


def searched_text(scene: Scene, images: Sequence[TextureUse], writer: Any) -> tuple[str, str]:
    """Return what a search finds: the names of all parts, each once, and title, author, copyright and writer; one in a
    line, safe to show."""
    tables = (scene.nodes, scene.meshes, scene.materials, images, scene.cameras, scene.lights)
    names = dict.fromkeys(_value(part.name) for table in tables for part in table[:MOST_ROWS])
    words = (scene.title, scene.author, scene.copyright, _text(writer))
    return (
        "\n".join(filter(None, names))[:_MOST_NAMES],
        "\n".join(shortened(word, _LONGEST_TEXT) for word in words if word),
    )


def _fingerprint(scene: Scene) -> list[Any] | None:
    try:
        found = fingerprint(scene)
    except FormatError:  # more samples than the limits allow
        return None
    if found is None or len(found.parts) > MOST_ROWS:
        return None
    return [found.triangles, *found.key, base64.b64encode(found.to_bytes()).decode("ascii")]
