"""A document changed where a scene was: every chunk that does not have to change stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from keyframer.formats._document import Document
from keyframer.formats._keys import KeyFitter, KeyRules
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats._writing import Tolerance, Unpatchable, units_per_second
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.options import Options
from keyframer.formats.threeds.bridge.patch_meshes import MeshPatcher
from keyframer.formats.threeds.bridge.patch_nodes import NodePatcher
from keyframer.formats.threeds.bridge.patch_parts import patch_camera, patch_light, patch_material, set_color
from keyframer.formats.threeds.bridge.scene import to_linked_scene
from keyframer.posing import Rig
from keyframer.scene import Scene
from keyframer.scene.report import LossReport


def apply(
    document: Document, options: Mapping[str, Any], after: Scene, changed: list[Path], report: LossReport
) -> str | None:
    """Change the document so that it means ``after``; says what has no place in it, if something has none."""
    try:
        _Patch(document, Options(**options), after, report).apply(changed)
    except Unpatchable as why:
        return str(why)
    return None


class _Patch:
    def __init__(self, document: Document, options: Options, after: Scene, report: LossReport) -> None:
        self.document = document
        self.after = after
        self.before, self.links = to_linked_scene(document, options)
        self.tracks = (
            ({}, {}) if not after.clips else (by_kind(self.before.clips[0]) or {}, by_kind(after.clips[0]) or {})
        )
        fitter = None
        if after.clips:
            rules = KeyRules(units_per_second(after.clips[0]), 1.0, wraps=True)
            fitter = KeyFitter(after.clips[0], rules, Tolerance.of(after, 1e-4), LossReport("3ds"))
        self.nodes = NodePatcher(self.before, after, self.links, fitter)
        self.meshes = MeshPatcher(after, self.links)

    def apply(self, changed: list[Path]) -> None:
        for path in changed:
            match path:
                case ("clips", 0, "channels", int(node), str(kind)):
                    before, after = (tracks.get((node, kind)) for tracks in self.tracks)
                    self.nodes.patch_track(node, kind, before, after)
                case ("clips", 0, "start" | "end"):
                    self._segment()
                case ("nodes", int(number), str(name)):
                    self.nodes.patch_field(number, name)
                case ("meshes", int(number), str(name)):
                    self.meshes.patch_field(number, name)
                case ("materials", int(number), *rest):
                    material = self.after.materials[number]
                    patch_material(self.document, self.links.materials[number], material, tuple(map(str, rest)))
                case ("cameras", int(number), str(name)):
                    patch_camera(self.links.cameras[number], self.after.cameras[number], name)
                case ("lights", int(number), str(name)):
                    patch_light(self.links.lights[number], self.after.lights[number], name)
                case ("environment", "ambient"):
                    editor = self.document.first(r.Editor)
                    if editor is None:
                        raise Unpatchable("there is no editor section")
                    set_color(editor, r.AmbientColor, self.after.environment.ambient)
                case _:
                    raise Unpatchable("/".join(map(str, path)))
        if self.after.clips:
            self._settle()

    def _segment(self) -> None:
        keyframer = self.document.first(r.Keyframer)
        if keyframer is None:
            raise Unpatchable("there is no keyframer section")
        clip = self.after.clips[0]
        frames = child(keyframer, r.Frames)
        if frames is None:
            frames = r.Frames()
            keyframer.children.insert(1 if child(keyframer, r.KeyframerHeader) else 0, frames)
        frames.start, frames.end = round(clip.start), round(clip.end)

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
