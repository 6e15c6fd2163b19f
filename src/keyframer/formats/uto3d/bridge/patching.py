"""A U3D document changed where a scene was: every record that does not have to change stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from keyframer.formats._document import Document
from keyframer.formats._keys import KeyFitter, KeyRules
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats._writing import Tolerance, Unpatchable, encode_name, units_per_second
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.options import Options
from keyframer.formats.uto3d.bridge.scene import is_flexporter, node_records, to_scene
from keyframer.formats.uto3d.bridge.write_controllers import write_controllers
from keyframer.formats.uto3d.bridge.write_things import Sort
from keyframer.formats.uto3d.bridge.writing import DIALECTS
from keyframer.formats.uto3d.dialect import Dialect, LightLayout
from keyframer.formats.uto3d.sections import ControllerSection, FileHeader
from keyframer.scene import LightType, Scene
from keyframer.scene.report import LossReport

_TYPES = {
    "position": r.POSITION,
    "rotation": r.ROTATION,
    "scale": r.SCALE,
    "scale_axes": r.SCALE,
    "fov": r.FOV,
    "roll": r.ROLL,
}
_SORTS = {
    LightLayout.FLEXPORTER: Sort.FLEXPORTER,
    LightLayout.MAXSCRIPT: Sort.MAXSCRIPT,
    LightLayout.LITERAL: Sort.LITERAL,
}
_PLACES = {"position": "position", "rotation_xyzw": "rotation", "scale": "scale"}


def agrees(original: Document, asked: Mapping[str, Any]) -> bool:
    """Whether the options ask for the layout that the original has."""
    if not set(asked) <= {"dialect"}:
        return False
    lights = original.dialect.lights if isinstance(original.dialect, Dialect) else None
    return "dialect" not in asked or (lights is not None and _SORTS[lights] is DIALECTS[asked["dialect"]])


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
        self.options = options
        self.after = after
        self.report = report
        self.before = to_scene(document, options)
        self.records: list[Any] = node_records(document)
        self.materials = list(document.find(r.Material))
        self.tracks = by_kind(after.clips[0]) or {} if after.clips else {}

    def apply(self, changed: list[Path]) -> None:
        tracks: dict[tuple[int, int], None] = {}
        for path in changed:
            match path:
                case ("clips", 0, "channels", int(node), str(kind)) if kind in _TYPES:
                    tracks[node, _TYPES[kind]] = None
                case ("nodes", int(number), str(name)):
                    self._node(number, name)
                case ("meshes", int(number), str(name)):
                    self._mesh(number, name)
                case ("cameras", int(number), str(name)):
                    self._camera(number, name)
                case ("lights", int(number), str(name)):
                    self._light(number, name)
                case ("materials", int(number), "name"):
                    self.materials[number].name = self._raw(self.after.materials[number].name)
                case _:
                    raise Unpatchable("/".join(map(str, path)))
        for node, kind_number in tracks:
            self._track(node, kind_number)

    def _raw(self, name: str) -> bytes:
        return encode_name(name, self.options.encoding)

    def _node(self, number: int, name: str) -> None:
        node, record = self.after.nodes[number], self.records[number]
        if name in _PLACES:
            setattr(record, _PLACES[name], tuple(float(value) for value in getattr(node, name)))
        elif name == "hidden":
            record.hidden = int(node.hidden)
        elif name == "name":
            record.name = self._raw(node.name)
        elif name == "parent":
            record.parent_id = -1 if node.parent is None else self.records[node.parent].id
        else:
            raise Unpatchable(f"{name} of nodes")

    def _record_of(self, attribute: str, number: int) -> Any:
        for node, record in zip(self.before.nodes, self.records, strict=True):
            if getattr(node, attribute) == number:
                return record
        raise Unpatchable(f"a {attribute} that no node carries")

    def _mesh(self, number: int, name: str) -> None:
        record, mesh = self._record_of("mesh", number), self.after.meshes[number]
        counts = (len(mesh.positions), len(mesh.corners)) == (len(record.vertices), len(record.faces))
        if name == "name":
            return
        if not counts:
            raise Unpatchable("another number of vertices or faces")
        if name == "positions":
            if record.flags & r.SKINNED and record.skin_type == r.SIMPLE_SKIN:
                raise Unpatchable("vertices that a rigid skin places")
            record.vertices = np.asarray(mesh.positions).astype("<f4")
        elif name == "corners":
            record.faces = np.asarray(mesh.corners).astype("<i4")
        elif name == "uv" and mesh.uv is not None and len(mesh.uv) == len(record.uvs):
            record.uvs = np.asarray(mesh.uv).astype("<f4")
        elif name == "uv_corners" and mesh.uv_corners is not None:
            record.uv_faces = np.asarray(mesh.uv_corners).astype("<i4")
        elif name == "colors" and mesh.colors is not None and len(mesh.colors) == len(record.colours):
            record.colours = np.asarray(mesh.colors).astype("<f4")
        elif name == "face_materials":
            ids = np.array([*(each.id for each in self.materials), -1], np.int64)
            owners = np.asarray(mesh.face_materials, np.int64)
            stored = np.asarray(self.before.meshes[number].face_materials)
            record.face_materials = np.where(owners == stored, record.face_materials, ids[owners]).astype("<i4")
        elif name == "edges":
            record.edges = (np.asarray(record.edges) & 0xF8 | np.asarray(mesh.edges) & 7).astype(np.uint8)
        else:
            raise Unpatchable(f"{name} of meshes")

    def _camera(self, number: int, name: str) -> None:
        record, camera = self._record_of("camera", number), self.after.cameras[number]
        if name == "fov_degrees":
            record.fov = camera.fov_degrees
        elif name in ("clip", "ranges") and getattr(camera, name) is not None:
            record.near, record.far = getattr(camera, name)
        elif name != "name":
            raise Unpatchable(f"{name} of cameras")

    def _light(self, number: int, name: str) -> None:
        record, light = self._record_of("light", number), self.after.lights[number]
        fields = {"multiplier": "multiplier", "inner_range": "attenuation_start", "outer_range": "attenuation_end"}
        if name == "color":
            record.colour = light.color
        elif name == "attenuated":
            record.use_attenuation = int(light.attenuated)
        elif name in fields and getattr(light, name) is not None:
            setattr(record, fields[name], getattr(light, name))
        elif isinstance(record, r.Light) and light.type is not LightType.OMNI and name == "target":
            record.target_position = light.target or (0.0, 0.0, 0.0)
        elif isinstance(record, r.Light) and light.type is LightType.SPOT and name == "falloff_degrees":
            record.cut_off = 0.5 * (light.falloff_degrees or 0.0)
        elif isinstance(record, r.Light) and light.type is LightType.SPOT and name == "hotspot_degrees":
            record.exponent = light.hotspot_degrees or 0.0
        elif name != "name":
            raise Unpatchable(f"{name} of lights")

    def _track(self, number: int, kind: int) -> None:
        """The controller of a kind, made anew with its old ids and in its old place."""
        clip = self.after.clips[0]
        rules = KeyRules(units_per_second(clip), clip.units_per_frame, full_turns=False)
        fitter = KeyFitter(clip, rules, Tolerance.of(self.after, 1e-4), LossReport("uto3d"))
        wanted = {}
        for name in (name for name, place in _TYPES.items() if place == kind):
            given = self.tracks.get((number, name))
            fitted = None if given is None else fitter.fit(given, name)
            if fitted is not None:
                wanted[name] = fitted
        if "position" in wanted and is_flexporter(self.document):
            raise Unpatchable("position keys that the global scale applies to")
        owner = self.records[number].id
        section = self._section()
        place = next(
            (
                i
                for i, each in enumerate(section.children)
                if isinstance(each, r.Controller) and (each.owner_id, each.type) == (owner, kind)
            ),
            None,
        )
        if not wanted:
            if place is not None:
                del section.children[place]
            return
        (made,) = write_controllers(self.after, self.after.nodes[number], wanted, False, True, self.report)
        made.owner_id = owner
        if place is None:
            ids = [each.id for each in section.children if isinstance(each, r.Controller)]
            made.id = max([*ids, *(record.id for record in self.records)], default=0) + 1
            section.children.append(made)
        else:
            made.id = section.children[place].id  # type: ignore[attr-defined]
            section.children[place] = made

    def _section(self) -> ControllerSection:
        found = self.document.first(ControllerSection)
        if found is None:
            header = self.document.first(FileHeader)
            assert header is not None
            found = ControllerSection()
            header.children.append(found)
        return found
