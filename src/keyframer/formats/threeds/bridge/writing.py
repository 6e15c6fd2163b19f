"""The whole way from a scene to a 3D Studio document, so that all readers see the same.

Vertices stand in the scene's own space as they are at frame 0, 4160 is the node's matrix there, and the keyframer
says the same: readers that know no keyframer and readers that do show one picture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.key_tracks import KeyFitter
from keyframer.formats.kit.mesh_writing import with_still_shapes
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    Tolerance,
    Written,
    check_max_error,
    first_clip,
    whole_frame,
)
from keyframer.formats.kit.skin_writing import without_skins
from keyframer.formats.kit.unsupported_features import every, tell_dropped
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.editor import METRES_PER_INCH
from keyframer.formats.threeds.bridge.write_materials import (
    MapNames,
    material_names,
    write_environment,
    write_material,
)
from keyframer.formats.threeds.bridge.write_nodes import NodeWriter
from keyframer.formats.threeds.bridge.write_stage import Stage
from keyframer.formats.threeds.bridge.write_tracks import names_shapes
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Clip, Scene, Space
from keyframer.scene.report import LossReport, NothingToWrite, Outcome

HOLDS = (
    *(
        "tree",
        "meshes",
        "materials",
        "textures",
        "other maps",
        "cameras",
        "lights",
        "smoothing",
        "hidden",
        "environment",
        "pivots",
    ),
    *("cast shadows", "received shadows"),
    "scale axes",  # the vertices are placed by them
    *("segment", "morphs", "fov", "roll", "color", "hotspot", "falloff", "visible", "kinds"),
    *("nodes.bounding_box", "meshes.edges", "meshes.axes", "clips.current"),
    *(*every("materials"), *every("maps"), *every("cameras"), *every("lights")),
)
_WRITER = b"KEYFRAMER"
_MOST_NODES = 32_000


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Defaults are what the original programs read."""

    fps: float = 30.0
    """frames a second; the format does not store it, 3D Studio played 30"""
    max_error: float = DEFAULT_MAX_ERROR
    """how far motion may be off where keys cannot hold it exactly: a fraction of the scene's size"""
    find_rate: bool = False
    """where whole frames cannot hold ``max_error``, try more frames a second and report which rate would (slow)"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be positive, not {self.fps}")


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions

    def from_scene(self, scene: Scene, options: WriteOptions) -> Written:
        return from_scene(scene, options)


def from_scene(scene: Scene, options: WriteOptions | None = None) -> Written:
    """A document of the scene, and what is not in it."""
    options = options or WriteOptions()
    report = LossReport("3ds")
    if not scene.nodes and not scene.materials:
        raise NothingToWrite("a 3D Studio file holds objects and materials, and this scene has none")
    placed = in_space(scene, Space("z", metres_per_unit=scene.space.metres_per_unit))
    placed = with_still_shapes(placed, report, names_shapes)
    placed = without_skins(placed, Tolerance.of(placed, options.max_error).length, report)
    if len(placed.nodes) > _MOST_NODES:
        raise NothingToWrite(f"a 3D Studio file numbers its nodes in 16 bits; {len(placed.nodes)} are too many")
    clip = first_clip(placed, report)
    tell_dropped(placed, clip, report, HOLDS)
    reading: dict[str, object] = {} if options.fps == 30.0 else {"fps": options.fps}
    if reading:
        report.add(Outcome.DROPPED, "/reading", f"readers must be told fps={options.fps:g}: the file does not say so")
    return Written(_document(placed, clip, options, report), report, reading=reading)


def _document(scene: Scene, clip: Clip, options: WriteOptions, report: LossReport) -> Document:
    stage = Stage(scene, clip, options.fps, options.max_error, report, options.find_rate)
    maps = MapNames(report)
    materials = material_names(scene.materials, report)
    nodes = NodeWriter(stage, materials, maps, report)
    nodes.place_all()
    editor: list[Chunk] = [r.MeshVersion(3)]
    editor += [write_material(each, name, maps) for each, name in zip(scene.materials, materials, strict=True)]
    metres = scene.space.metres_per_unit
    editor.append(r.MasterScale(1.0 if metres is None else metres / METRES_PER_INCH))
    editor += write_environment(scene.environment, maps)
    parts: list[Chunk] = [r.Version(3), r.Editor(children=[*editor, *nodes.objects])]
    if scene.nodes:
        parts.append(r.Keyframer(children=[*keyframer_head(stage.fitter, clip, report), *nodes.chunks()]))
    return new_document(*parts)


def keyframer_head(fitter: KeyFitter, clip: Clip, report: LossReport) -> list[Chunk]:
    """What stands before the nodes: the writer, the active segment, the time shown."""
    begin, end = (float(value) for value in fitter.times([clip.start, clip.end]))
    first, last = whole_frame(begin), whole_frame(end)
    if (first, last) != (begin, end):
        report.add(Outcome.APPROXIMATED, "/clips/segment", f"the active segment became {first} to {last}")
    shown = 0.0 if clip.current is None else float(fitter.times(clip.current))
    now = round(shown) if math.isfinite(shown) else 0
    if now != shown:
        report.add(Outcome.APPROXIMATED, "/clips/current", f"the frame that is shown became {now}")
    return [r.KeyframerHeader(5, _WRITER, last), r.Frames(first, last), r.CurrentTime(now)]
