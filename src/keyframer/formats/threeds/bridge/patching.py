"""A document changed where a scene was: every chunk that does not have to change stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyframer.formats import bridge
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats.document import Document
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules
from keyframer.formats.kit.scene_writing import Tolerance, Unpatchable, encode_name, units_per_second
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.nodes import Writer
from keyframer.formats.threeds.bridge.options import Options
from keyframer.formats.threeds.bridge.patch_environment import editor_of, patch_environment, patch_unit
from keyframer.formats.threeds.bridge.patch_materials import patch_material
from keyframer.formats.threeds.bridge.patch_meshes import MeshPatcher
from keyframer.formats.threeds.bridge.patch_morphs import MorphPatcher
from keyframer.formats.threeds.bridge.patch_nodes import NodePatcher
from keyframer.formats.threeds.bridge.patch_parts import patch_camera, patch_light
from keyframer.formats.threeds.bridge.patch_structure import anchors, restructure
from keyframer.formats.threeds.bridge.patch_terms import NO_PLACE, has_no_place, in_its_order, in_its_terms
from keyframer.formats.threeds.bridge.patch_values import set_color
from keyframer.formats.threeds.bridge.scene import to_linked_scene
from keyframer.posing import Rig
from keyframer.scene import LightType, NodeKind, Scene
from keyframer.scene.report import LossReport, Outcome
from keyframer.wire.record import Record

SAID_OTHERWISE = (r.ColorByte, r.ColorByteGamma, r.ColorFloatGamma, r.PercentInt, r.PercentFloat)
"""colours and percentages, which a new file has as floats or whole numbers"""


class Patch(bridge.Patch):
    def __init__(self, document: Document, options: Options, after: Scene, report: LossReport) -> None:
        self.document = document
        self.after = after
        self.report = report
        self.fitted = LossReport("3ds")
        """what became of changed tracks"""
        self.before, self.links = to_linked_scene(document, options)
        self.tracks = tuple(by_kind(scene.clips[0]) or {} if scene.clips else {} for scene in (self.before, after))
        fitter = None
        if after.clips:
            rules = KeyRules(units_per_second(after.clips[0]), 1.0, wraps=True)
            fitter = KeyFitter(after.clips[0], rules, Tolerance.of(after, 1e-4), self.fitted)
        self.nodes = NodePatcher(self.before, after, self.links, fitter)
        self.meshes = MeshPatcher(after, self.links)
        self.morphs = MorphPatcher(self.before, after, self.links, fitter)

    def apply(self, changed: list[Path]) -> None:
        """Change the document where these fields of the scene changed."""
        surfaces: dict[int, set[str]] = {}
        for path in changed:
            match path:
                case ("clips", 0, "channels", int(node), "morph") | ("nodes", int(node), "morph"):
                    self.morphs.patch(node)
                case ("clips", 0, "channels", int(node), str(kind)):
                    before, after = (tracks.get((node, kind)) for tracks in self.tracks)
                    self.nodes.patch_track(node, kind, before, after)
                case ("clips", 0, "start" | "end"):
                    self._segment()
                case ("clips", 0, "current"):
                    self._current()
                case ("clips", 0, "name"):
                    self._clip_name()
                case ("nodes", int(number), str(name)):
                    self.nodes.patch_field(number, name)
                case ("meshes", int(number), str(name)):
                    surfaces.setdefault(number, set()).add(name)
                case ("materials", int(number), *rest):
                    material, chunk = self.after.materials[number], self.links.materials[number]
                    patch_material(self.document, chunk, material, tuple(map(str, rest)), self.report)
                case ("cameras", int(number), str(name)):
                    patch_camera(self.links.cameras[number], self.after.cameras[number], name)
                case ("lights", int(number), str(name)):
                    self._light(number, name)
                case ("environment", str(name)):
                    patch_environment(self.document, self.after.environment, name)
                case ("space",):
                    patch_unit(self.document, self.after.space.metres_per_unit)
                case _:
                    raise Unpatchable("/".join(map(str, path)))
        for number, names in surfaces.items():
            self.meshes.patch_fields(number, names)
        if self.after.clips:
            self._settle()
        self.report.losses += [loss for loss in self.fitted if loss.outcome is not Outcome.EXACT]

    def _light(self, number: int, name: str) -> None:
        light = self.after.lights[number]
        if light.type is LightType.AMBIENT and name == "color":
            set_color(editor_of(self.document), r.AmbientColor, light.color)
        else:
            patch_light(self.links.lights[number], light, name)

    def _segment(self) -> None:
        keyframer, clip = self._keyframer(), self.after.clips[0]
        frames = child(keyframer, r.Frames)
        if frames is None:
            frames = r.Frames()
            keyframer.children.insert(1 if child(keyframer, r.KeyframerHeader) else 0, frames)
        frames.start, frames.end = round(clip.start), round(clip.end)

    def _keyframer(self) -> r.Keyframer:
        found = self.document.first(r.Keyframer)
        if found is None:
            raise Unpatchable("there is no keyframer section")
        return found

    def _current(self) -> None:
        """The frame that is shown; where 3ds Max wrote the file, vertices stand as they are there."""
        keyframer, now = self._keyframer(), self.after.clips[0].current
        header, time = child(keyframer, r.KeyframerHeader), child(keyframer, r.CurrentTime)
        if now is None or (header is not None and Writer(header.revision, header.name).is_max):
            raise Unpatchable("the frame that is shown")
        if time is None:
            time = r.CurrentTime()
            places = [i for i, each in enumerate(keyframer.children) if isinstance(each, (r.KeyframerHeader, r.Frames))]
            keyframer.children.insert(max(places, default=-1) + 1, time)
        time.time = round(now)

    def _clip_name(self) -> None:
        header = child(self._keyframer(), r.KeyframerHeader)
        if header is None:
            raise Unpatchable("there is no header of the keyframer section")
        header.name = encode_name(self.after.clips[0].name)

    def _settle(self) -> None:
        """Nodes that stand elsewhere at rest take their stored vertices and matrix along."""
        frame = [self.links.rest_frame]
        worlds = []
        for scene in (self.before, self.after):
            rig = Rig(scene)
            worlds.append(rig.world(rig.sample(frame), 1)[0])
        before, after = worlds
        for number, node in enumerate(self.after.nodes):
            if np.allclose(before[number], after[number], rtol=1e-7, atol=1e-9) or self.links.nodes[number] is None:
                continue
            if node.mesh is not None:
                sharing = sum(other.mesh == node.mesh for other in self.after.nodes)
                self.meshes.move(node.mesh, before[number], after[number], node.pivot, shared=sharing > 1)
            self._move_stored(node.camera, node.light, before[number], after[number])

    def _move_stored(self, camera: int | None, light: int | None, before: Any, after: Any) -> None:
        """The editor's place of a camera or light, where it was that of the keyframer."""
        chunk = None
        if camera is not None:
            chunk = self.links.cameras[camera]
        elif light is not None:
            chunk = self.links.lights[light]
        body: Any = None if chunk is None else child(chunk, r.Camera) or child(chunk, r.Light)
        if body is not None and np.allclose(body.position, before[:3, 3], rtol=1e-4, atol=1e-3):
            body.position = tuple(float(value) for value in after[:3, 3])


class Patcher(bridge.Editor[Options]):
    stores_unit = True
    """0100 is the unit of length"""
    equivalent_records = SAID_OTHERWISE
    unsupported_fields = NO_PLACE

    def patch(self, document: Document, options: Options, goal: Scene, report: LossReport) -> Patch:
        return Patch(document, options, goal, report)

    def is_unsupported(self, scene: Scene, path: Path) -> bool:
        return super().is_unsupported(scene, path) or has_no_place(scene, path)

    def normalise_for_format(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        return in_its_terms(scene, before, report)

    def align_with_document(self, scene: Scene, stored: Scene, report: LossReport) -> Scene:
        return in_its_order(scene, stored, report)

    def anchors(self, document: Document, options: Options) -> tuple[Sequence[Record], Sequence[Record]]:
        return anchors(document, options)

    def restructure(
        self, document: Document, options: Options, change: bridge.Change
    ) -> tuple[Mapping[int, Record], Mapping[int, Record]]:
        return restructure(document, options, *change)

    def is_overridden(self, scene: Scene, path: Path) -> bool:
        """A target has the name of its camera or light."""
        return path[:1] == ("nodes",) and path[2:] == ("name",) and scene.nodes[int(path[1])].kind is NodeKind.TARGET
