"""Read a scene from an animation, geometry and a scene file, or from some of them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import (
    DATA_NON_FINITE,
    DATA_OUT_OF_RANGE,
    LINK_SKELETON_MISMATCH,
    LINK_UNRESOLVED_NAME,
    SCENE_NO_HIERARCHY,
    STRUCT_SYNTAX,
)
from keyframer.curves import RotationForm, Track
from keyframer.errors import FormatError
from keyframer.files import PathLike
from keyframer.formats.document import Document
from keyframer.formats.horde3d.bridge.materials import materials_beside, read_material
from keyframer.formats.horde3d.bridge.scene_graph import Part, SceneFile
from keyframer.formats.horde3d.bridge.surface import Surface
from keyframer.formats.horde3d.document import (
    Animation,
    Entity,
    Geometry,
    OldEntity,
    SceneGraph,
    decode,
    entities_of,
    name_of,
)
from keyframer.formats.kit.scene_reading import (
    COMPANION,
    Reporter,
    UniqueNames,
    companion_error,
    companion_prefix,
    files_among,
    read_companion,
)
from keyframer.issues import Issue, Severity
from keyframer.maths import affine, quat
from keyframer.scene import Channel, Clip, Material, Node, NodeKind, Scene, Space
from keyframer.text import decode_name

_KINDS = {"Joint": NodeKind.BONE, "Mesh": NodeKind.OBJECT}
_MATERIAL = re.compile(r"(?:.*[\\/])?([^\\/]*?)(?:\.material)?(?:\.xml)?")


@dataclass(frozen=True, slots=True)
class Options:
    """Options. An animation has no meshes, geometry no hierarchy: with the scene file they are a whole scene."""

    model: PathLike | Document | None = None
    """the ``.scene.xml`` that an animation moves, or that has the meshes of a ``.geo``"""
    geometry: PathLike | Document | None = None
    """the ``.geo`` of a scene file"""
    animation: PathLike | Document | None = None
    """the ``.anim`` that moves a model"""
    fps: float = 30.0
    """frames per second, which animations do not store"""
    materials: Mapping[str, bytes] = field(default_factory=dict)
    """the material files beside the scene file, by the paths that it states"""
    found: tuple[str, ...] = ()
    """options whose files were found beside the file: if one cannot be used, this is a warning, not an error"""

    def __post_init__(self) -> None:
        if not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be positive and finite, not {self.fps}")


KINDS: dict[str, type[Any]] = {"model": SceneGraph, "geometry": Geometry, "animation": Animation}
"""the record at the top of each kind of file, by the option that names such a file"""


def kind_of(document: Document) -> str | None:
    """Return the kind of a file as the name of an option; None if its header could not be read."""
    return next((kind for kind, cls in KINDS.items() if document.first(cls) is not None), None)


def to_scene(document: Document, options: Options) -> Scene:
    """Return the scene of a document and of its companions, if the options have some."""
    scene = Scene(source_format="horde3d", space=Space("y"))
    kind = kind_of(document)
    if kind is None:
        return scene
    if getattr(options, kind) is not None:
        raise ValueError(f"this file is the {kind} itself: the options for its companions are the other two")
    reporters = {kind: Reporter(document, scene.issues)}
    documents = {kind: document}
    for other in KINDS:
        given = getattr(options, other)
        if given is not None:
            found = _companion(scene, given, other, other in options.found)
            if found is not None:
                documents[other] = found
                reporters[other] = Reporter(found, scene.issues, companion_prefix(given))
        elif other == "geometry" and "model" in documents and isinstance(options.model, (str, os.PathLike)):
            path = geometry_beside(Path(options.model), documents["model"])
            if path is not None:
                documents[other] = decode(read_companion(path, "the geometry"))
                reporters[other] = Reporter(documents[other], scene.issues, companion_prefix(path))
    if isinstance(options.model, (str, os.PathLike)) and "model" in documents:
        options = replace(options, materials=materials_beside(Path(options.model), documents["model"]))
    _Reader(scene, documents, reporters, options).read()
    return scene


def _companion(scene: Scene, given: object, kind: str, is_found: bool) -> Document | None:
    """Return a companion; None if it was found beside the file and cannot be used, which is reported."""
    role = f"the {kind}"
    if isinstance(given, Document):
        companion = given
    elif isinstance(given, (str, os.PathLike)):
        try:
            companion = decode(read_companion(given, role))
        except FormatError as error:
            raise error if error.path.startswith(COMPANION) else companion_error(error, role) from None
    else:
        raise ValueError(f"{role} must be a path or a document, not {given!r}")
    unsafe = companion.issues.first_unsafe()
    reason = "" if unsafe is None or not is_found else f"{role} is damaged ({unsafe.code} at {unsafe.offset:#x})"
    if companion.first(KINDS[kind]) is None and not reason:
        reason = f"the file given as {role} is another kind of Horde3D file"
    if reason:
        severity = Severity.WARNING if is_found else None
        scene.issues.add(LINK_SKELETON_MISMATCH, "/", 0, severity=severity, reason=reason)
        return None
    for issue in companion.issues:
        path = f"{companion_prefix(given)}{issue.path}"
        scene.issues.add_issue(Issue(issue.type, path, issue.offset, issue.args, issue.severity_override))
    return companion


def geometry_beside(path: Path, model: Document) -> Path | None:
    """Return the geometry in the folder of a scene file that has the name there; the scene file states its path in the
    engine's content (``models/man/man.geo``)."""
    name = re.split(r"[\\/]", SceneFile(model, Reporter(model, model.issues.copy())).geometry)[-1]
    return next(iter(files_among([path.parent / name] if name.lower().endswith(".geo") else [])), None)


class _Reader:
    """Reads one scene from one to three documents."""

    def __init__(
        self, scene: Scene, documents: dict[str, Document], reporters: dict[str, Reporter], options: Options
    ) -> None:
        self.scene = scene
        self.documents = documents
        self.reporters = reporters
        self.options = options
        self.names = UniqueNames()
        self.joints: dict[int, int] = {}
        """the node of each joint of the geometry"""
        self.materials: dict[str, int] = {}
        self.surface: Surface | None = None

    def read(self) -> None:
        if "geometry" in self.documents:
            self.surface = Surface(self.documents["geometry"], self.reporters["geometry"])
        if "model" in self.documents:
            self._model(SceneFile(self.documents["model"], self.reporters["model"]))
        elif self.surface is not None:
            self._geometry_alone(self.surface)
        if "animation" in self.documents:
            self._animation(self.documents["animation"], self.reporters["animation"])

    def _model(self, graph: SceneFile) -> None:
        scene, reporter = self.scene, self.reporters["model"]
        assert graph.record is not None
        if graph.geometry and self.surface is None:
            reporter.report(LINK_UNRESOLVED_NAME, graph.record, kind="geometry file", name=graph.geometry)
        for part in graph.parts:
            node = Node(self.names.claim(part.name or part.tag), _KINDS.get(part.tag, NodeKind.DUMMY), part.parent)
            node.raw_name = part.name.encode("utf-8", "replace")
            node.position, node.rotation_xyzw, node.scale = graph.transform(part)
            reporter.mark(node, "horde3d", graph.record, {"element": part.tag})
            number = len(scene.nodes)
            scene.nodes.append(node)
            if part.tag == "Joint":
                index = graph.count(part, "jointIndex", -1)
                node.extras["horde3d"]["joint_index"] = index
                self.joints[index] = number
        for number, part in enumerate(graph.parts):
            if part.tag == "Mesh":
                self._mesh(graph, part, number)

    def _mesh(self, graph: SceneFile, part: Part, number: int) -> None:
        node, surface = self.scene.nodes[number], self.surface
        level = graph.count(part, "lodLevel")
        node.hidden = level > 0  # only the most detailed level is shown
        batch = (graph.count(part, "batchStart"), graph.count(part, "batchCount"))
        node.extras["horde3d"] |= {"batch": list(batch), "lod_level": level}
        if surface is None:
            return
        if part.element.get("primType", "TriangleList").lower() != "trianglelist":
            assert graph.record is not None
            allowed, found = "only TriangleList is shown", part.element.get("primType")
            self.reporters["model"].report(
                DATA_OUT_OF_RANGE, graph.record, what=f"primType of {part.name!r}", value=repr(found), allowed=allowed
            )
            return
        self._add_surface(surface, number, *batch, self._material(part.element.get("material")))

    def _material(self, path: str) -> int:
        if path not in self.materials:
            match = _MATERIAL.fullmatch(path)
            name = match[1] if match else path
            material = Material(name, raw_name=path.encode("utf-8", "replace"), diffuse=(1.0, 1.0, 1.0))
            extras = {"path": path, **self._material_file(material, path)}
            self.reporters["model"].mark(material, "horde3d", self.documents["model"].records[0], extras)
            self.materials[path] = len(self.scene.materials)
            self.scene.materials.append(material)
        return self.materials[path]

    def _material_file(self, material: Material, path: str) -> dict[str, Any]:
        """Read the file of a material, if it was found; return its extras. One that cannot be read is reported."""
        if path not in self.options.materials:
            return {}
        try:
            return read_material(material, self.options.materials[path], path, self.documents["model"].limits)
        except FormatError as error:
            self.scene.issues.add(
                *(STRUCT_SYNTAX, f"{companion_prefix(path)}{error.path}", error.offset),
                severity=Severity.WARNING,
                wanted="a material of Horde3D",
                found=f"{error.code}: {error.message}",
            )
            return {}

    def _geometry_alone(self, surface: Surface) -> None:
        """Add one mesh with all triangles, and the joints side by side in their bind pose."""
        scene = self.scene
        scene.nodes.append(Node(self.names.claim("mesh")))
        surface.reporter.mark(scene.nodes[0], "horde3d", surface.record)
        bind = surface.bind_pose()
        positions, rotations, scales = affine.decompose(bind)
        for joint in range(1, len(bind)):
            node = Node(self.names.claim(f"joint{joint}"), NodeKind.BONE)
            node.position, node.rotation_xyzw, node.scale = positions[joint], rotations[joint], scales[joint]
            surface.reporter.mark(node, "horde3d", surface.record, {"joint_index": joint})
            self.joints[joint] = len(scene.nodes)
            scene.nodes.append(node)
        if self.joints:
            missing = "the scene file, .scene.xml"
            surface.reporter.report(SCENE_NO_HIERARCHY, surface.record, count=len(self.joints), missing=missing)
        self._add_surface(surface, 0, 0, len(surface.corners), None)

    def _add_surface(self, surface: Surface, number: int, first: int, count: int, material: int | None) -> None:
        """Add the mesh of a node, its morph targets and its skin."""
        scene, node = self.scene, self.scene.nodes[number]
        corners, used = surface.part(first, count)
        mesh = surface.mesh(node.name, corners, used)
        if material is not None:
            mesh.face_materials = np.full(len(corners), material, np.int32)
        node.mesh = len(scene.meshes)
        scene.meshes.append(mesh)
        node.morph = surface.morph(used, mesh.positions)
        skin = surface.skin(node.name, used, self.joints, number)
        if skin is not None:
            skin.joints = self._joints_below(number, skin.joints)
            node.skin = len(scene.skins)
            scene.skins.append(skin)

    def _joints_below(self, number: int, joints: list[int]) -> list[int]:
        """Return the joints that move a mesh: the engine applies the transform of its node after that of the joints.

        Usually this node is where its model is, and the joints can be used. Otherwise the mesh gets joints of its own.
        """
        scene = self.scene
        model = _model_above(scene, number)
        above, node = number, scene.nodes[number]
        while above != model and _stands_at_its_parent(scene.nodes[above]) and not self._is_moving(above):
            parent = scene.nodes[above].parent
            assert parent is not None
            above = parent
        if above == model:
            return joints
        copies: dict[int, int] = {model: number}
        for joint in sorted(self.joints.values()):
            original = scene.nodes[joint]
            copies[joint] = len(scene.nodes)
            parent = copies.get(original.parent if original.parent is not None else model, number)
            name = self.names.claim(f"{original.name} of {node.name}")
            scene.nodes.append(replace(original, name=name, parent=parent, extras=dict(original.extras)))
        return [copies.get(joint, joint) for joint in joints]

    def _is_moving(self, number: int) -> bool:
        entities = _entities(self.documents["animation"]) if "animation" in self.documents else {}
        record = entities.get(self.scene.nodes[number].raw_name or b"")
        if record is None or not len(record.frames):
            return False
        still = np.concatenate([np.ptp(record.frames[name], axis=0) for name in ("position", "rotation", "scale")])
        first = [record.frames[name][0] for name in ("position", "rotation", "scale")]
        return bool(still.any()) or not _is_identity(*first)

    def _animation(self, document: Document, reporter: Reporter) -> None:
        top = document.first(Animation)
        assert top is not None
        clip = Clip(rate=self.options.fps, end=float(max(top.frame_count - 1, 0)))
        clip.extras["horde3d"] = {"version": top.version}
        self.scene.clips.append(clip)
        entities = _entities(document)
        nodes = {number: node for number, node in enumerate(self.scene.nodes) if node.raw_name in entities}
        nodes = {number: node for number, node in nodes.items() if node.kind in _KINDS.values()}
        if not nodes:
            if "model" in self.documents:
                severity = Severity.WARNING if "model" in self.options.found else None
                reason = "no joint or mesh of the scene file has the name of an entity of the animation"
                reporter.report(LINK_SKELETON_MISMATCH, top, severity=severity, reason=reason)
                return
            nodes = self._side_by_side(entities, reporter)
            if nodes:
                missing = "the scene file, .scene.xml"
                reporter.report(SCENE_NO_HIERARCHY, top, count=len(nodes), missing=missing)
        unknown = entities.keys() - {node.raw_name for node in nodes.values()}
        for name in entities:
            if name in unknown:
                reporter.report(
                    LINK_UNRESOLVED_NAME, entities[name], "name", kind="joint or mesh", name=repr(decode_name(name))
                )
        for number, node in nodes.items():
            clip.channels += self._channels(number, entities[node.raw_name or b""], reporter)

    def _side_by_side(self, entities: dict[bytes, Entity | OldEntity], reporter: Reporter) -> dict[int, Node]:
        """Add a node for each entity, which rests as in the first frame."""
        nodes = {}
        for name, entity in entities.items():
            node = Node(self.names.claim(decode_name(name)), NodeKind.BONE, raw_name=name)
            for values in entity.frames[:1]:
                if all(np.isfinite(values[part]).all() for part in ("rotation", "position", "scale")):
                    node.position, node.scale = np.array(values["position"], float), np.array(values["scale"], float)
                    node.rotation_xyzw = _unit(np.array([values["rotation"]], np.float64))[0]
            reporter.mark(node, "horde3d", entity)
            nodes[len(self.scene.nodes)] = node
            self.scene.nodes.append(node)
        return nodes

    @staticmethod
    def _channels(number: int, entity: Entity | OldEntity, reporter: Reporter) -> Iterator[Channel]:
        if not len(entity.frames):
            return
        for kind in ("position", "rotation", "scale"):
            values = np.asarray(entity.frames[kind], np.float64)
            non_finite = ~np.isfinite(values)
            if non_finite.any():
                first = int(non_finite.any(axis=1).argmax())
                count = np.count_nonzero(non_finite)
                reporter.report(DATA_NON_FINITE, entity, f"frames[{first}]", count=count, index=first)
            form = RotationForm.QUATERNION_ABSOLUTE if kind == "rotation" else RotationForm.NONE
            track = Track.sampled(kind, _unit(values) if kind == "rotation" else values, form=form)
            reporter.mark(track, "horde3d", entity)
            yield Channel(number, track)


def _entities(document: Document) -> dict[bytes, Entity | OldEntity]:
    """Return the entities by name, the first of each."""
    found: dict[bytes, Entity | OldEntity] = {}
    for entity in entities_of(document):
        found.setdefault(name_of(entity.name), entity)
    return found


def _unit(rotations: Floats) -> Floats:
    """Return unit quaternions; no rotation for zeros. Rows with non-finite numbers stay."""
    usable = np.asarray(rotations.any(axis=1))
    rows = np.where(usable[:, None], rotations, (0.0, 0.0, 0.0, 1.0))
    return np.where(np.asarray(np.isfinite(rows).all(axis=1))[:, None], quat.normalise(rows), rows)


def _is_identity(position: Any, rotation: Any, scale: Any) -> bool:
    turned = np.abs(rotation[:3]).max()
    return not np.abs(position).max() and not turned and bool((scale == 1.0).all())


def _stands_at_its_parent(node: Node) -> bool:
    return _is_identity(node.position, node.rotation_xyzw, node.scale)


def _model_above(scene: Scene, number: int) -> int:
    """Return the node of the model that a mesh is part of; the node itself without one."""
    above: int | None = number
    while above is not None:
        if scene.nodes[above].extras.get("horde3d", {}).get("element") == "Model":
            return above
        above = scene.nodes[above].parent
    return number
