"""A U3D document changed where a scene was: every record that does not have to change stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyframer.formats import bridge
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats.document import Document
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules
from keyframer.formats.kit.scene_writing import (
    Tolerance,
    Unpatchable,
    encode_name,
    plain_path,
    units_per_second,
)
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.options import Options
from keyframer.formats.uto3d.bridge.patch_structure import anchors, restructure
from keyframer.formats.uto3d.bridge.patch_surfaces import patch_skin, patch_surface
from keyframer.formats.uto3d.bridge.patch_terms import NO_PLACE, has_no_place, in_its_order, in_its_terms
from keyframer.formats.uto3d.bridge.scene import node_records, position_scale, segment_step, to_scene
from keyframer.formats.uto3d.bridge.write_controllers import write_controllers
from keyframer.formats.uto3d.bridge.write_things import Sort
from keyframer.formats.uto3d.bridge.writing import DIALECTS
from keyframer.formats.uto3d.dialect import Dialect, LightLayout
from keyframer.formats.uto3d.sections import ControllerSection, FileHeader, Main
from keyframer.scene import LightType, Scene
from keyframer.scene.report import LossReport, Outcome
from keyframer.wire.record import Record

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


def agrees(original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether the options ask for the layout that the original has."""
    if not set(asked) <= {"dialect"}:
        return False
    lights = original.dialect.lights if isinstance(original.dialect, Dialect) else None
    return "dialect" not in asked or (lights is not None and _SORTS[lights] is DIALECTS[asked["dialect"]])


class Patch(bridge.Patch):
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
        """Change the document where these fields of the scene changed."""
        tracks: dict[tuple[int, int], None] = {}
        surfaces: dict[int, set[str]] = {}
        skins: set[int] = set()
        main: set[str] = set()
        for path in changed:
            match path:
                case ("clips", 0, "channels", int(node), str(kind)) if kind in _TYPES:
                    tracks[node, _TYPES[kind]] = None
                case ("clips", 0, "start" | "end" | "rate" | "units_per_frame" as name):
                    main.add(name)
                case ("nodes", int(number), str(name)):
                    self._node(number, name)
                case ("meshes", int(number), str(name)):
                    surfaces.setdefault(number, set()).add(name)
                case ("skins", int(number), str()):
                    skins.add(number)
                case ("cameras", int(number), str(name)):
                    self._camera(number, name)
                case ("lights", int(number), str(name)):
                    self._light(number, name)
                case ("materials", int(number), "name"):
                    self.materials[number].name = self._raw(self.after.materials[number].name)
                case _:
                    raise Unpatchable("/".join(map(str, path)))
        for number, names in surfaces.items():
            self._surface(number, names)
        for number in skins:
            self._skin(self._number_of("skin", number))
        for node, kind_number in tracks:
            self._track(node, kind_number)
        if main:
            self._main()

    def _raw(self, name: str) -> bytes:
        return encode_name(name, self.options.encoding)

    def _main(self) -> None:
        """The active segment and the rate, in the unit that readers will take them for."""
        found, clip = self.document.first(Main), self.after.clips[0]
        if found is None:
            raise Unpatchable("there is no MAIN")
        found.delta_time = round(clip.units_per_frame)
        found.frame_rate = round(clip.rate / clip.units_per_frame)
        for step in (segment_step(self.document, found.last_frame, max(found.delta_time, 1)), found.delta_time, 1):
            found.first_frame, found.last_frame = round(clip.start / step), round(clip.end / step)
            if segment_step(self.document, found.last_frame, max(found.delta_time, 1)) == step:
                return

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
        elif name == "target" and isinstance(record, (r.Camera, r.Light)):
            record.target_id = -1 if node.target is None else self.records[node.target].id
        else:
            raise Unpatchable(f"{name} of nodes")

    def _number_of(self, attribute: str, number: int) -> int:
        for place, node in enumerate(self.before.nodes):
            if getattr(node, attribute) == number:
                return place
        raise Unpatchable(f"a {attribute} that no node carries")

    def _record_of(self, attribute: str, number: int) -> Any:
        return self.records[self._number_of(attribute, number)]

    def _surface(self, number: int, names: set[str]) -> None:
        place = self._number_of("mesh", number)
        record, mesh = self.records[place], self.after.meshes[number]
        ids = [each.id for each in self.materials]
        patch_surface(record, self.before.meshes[number], mesh, names, ids)
        if record.flags & r.SKINNED and "positions" in names:
            self._skin(place)

    def _skin(self, place: int) -> None:
        ids = {number: record.id for number, record in enumerate(self.records)}
        patch_skin(self.records[place], self.after, self.after.nodes[place], ids, Tolerance.of(self.after, 1e-4))

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
        told = LossReport("uto3d")
        fitter = KeyFitter(clip, rules, Tolerance.of(self.after, 1e-4), told)
        wanted = {}
        for name in (name for name, place in _TYPES.items() if place == kind):
            given = self.tracks.get((number, name))
            path = f"{plain_path('nodes', self.after.nodes[number].name)}/{name}"
            fitted = None if given is None else fitter.fit(given, path)
            if fitted is not None:
                wanted[name] = fitted
        self.report.losses += [loss for loss in told if loss.outcome is not Outcome.EXACT]
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
        if kind == r.POSITION:
            self._scale_back(made, place)
        if place is None:
            ids = [each.id for each in section.children if isinstance(each, r.Controller)]
            made.id = max([*ids, *(record.id for record in self.records)], default=0) + 1
            section.children.append(made)
        else:
            made.id = section.children[place].id  # type: ignore[attr-defined]
            section.children[place] = made

    def _scale_back(self, made: r.Controller, place: int | None) -> None:
        """Keys without the global scale that readers apply; keys whose value did not change keep their stored one."""
        factor = position_scale(self.document, self.options)
        old = None if place is None else self._section().children[place]
        stored = old.keys.value if isinstance(old, r.Controller) else np.empty((0, 3))
        wanted = np.asarray(made.keys.value, np.float64)
        value = (wanted / factor).astype("<f4")
        if stored.shape == value.shape:
            same = (np.asarray(stored, np.float64) * factor).astype("<f4") == made.keys.value
            value = np.where(same, stored, value)
        made.keys.value = value

    def _section(self) -> ControllerSection:
        found = self.document.first(ControllerSection)
        if found is None:
            header = self.document.first(FileHeader)
            assert header is not None
            found = ControllerSection()
            header.children.append(found)
        return found


class Patcher(bridge.Editor[Options]):
    unsupported_fields = NO_PLACE

    def patch(self, document: Document, options: Options, goal: Scene, report: LossReport) -> Patch:
        return Patch(document, options, goal, report)

    def is_unsupported(self, scene: Scene, path: Path) -> bool:
        return super().is_unsupported(scene, path) or has_no_place(scene, path)

    def keeps_layout(self, original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        return agrees(original, asked, options)

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
