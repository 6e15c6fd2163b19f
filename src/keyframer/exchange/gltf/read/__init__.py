"""Reads glTF 2.0 into scenes, and checks the names of parts and of image files.

Extras of files that Keyframer wrote add what glTF has no place for.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from keyframer.arrays import Array
from keyframer.catalogue import IO_EMPTY, SEM_NAME_TOO_LONG, SEM_SOURCE_OUTDATED, SEM_UNKNOWN_ENUM, STRUCT_SYNTAX
from keyframer.curves import Track
from keyframer.errors import FormatError
from keyframer.exchange.gltf.conventions import content_hash
from keyframer.exchange.gltf.read.accessors import Accessors, DracoReader
from keyframer.exchange.gltf.read.animations import (
    DEFAULT_FPS,
    AnimationReader,
    ClipSettings,
    NodeAnimations,
    environment,
    stated_space,
)
from keyframer.exchange.gltf.read.cameras_lights import CameraReader, LightReader, TargetReader, restored_light
from keyframer.exchange.gltf.read.container import NUMBERS_PER_BYTE, Buffers, check_extensions, open_container
from keyframer.exchange.gltf.read.json_text import Findings, Item, Sources
from keyframer.exchange.gltf.read.materials import ImageReader, MaterialReader
from keyframer.exchange.gltf.read.meshes import ImportedMesh, MeshReader
from keyframer.exchange.gltf.read.nodes import Hierarchy, NodeReader, SkinReader
from keyframer.exchange.kit.axes import Axes
from keyframer.formats import FORMATS
from keyframer.formats.contract import make_options, refuse_unknown
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import LONGEST_NAME, name_problems, path_problems, shown
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.issues import IssueLog, IssueType
from keyframer.limits import Limits, open_or_new_budget
from keyframer.scene import Morph, Scene, Space
from keyframer.scene.loss_report import LossReport
from keyframer.text import safe_text


def load(
    data: bytes, folder: Path | None, limits: Limits, options: Mapping[str, Any], *, salvage: bool = False
) -> Scene:
    """Return the scene of a ``.glb`` or ``.gltf``. Separate buffers are read from ``folder`` only.

    The option ``fps`` is the frame rate of animations that we did not write. With ``salvage``, parts that cannot be
    read (such as primitives, channels, links and images) are left out and listed as issues.
    """
    refuse_unknown("gltf", ["fps"], options)
    fps = float(options.get("fps") or DEFAULT_FPS)
    if not (np.isfinite(fps) and fps > 0):
        raise ValueError(f"fps must be positive and finite, not {fps:g}")
    if not data:
        raise IO_EMPTY.failure(0, "/")
    issues = Findings(limits, salvage=salvage)
    try:
        importer = Importer(data, folder, limits, issues)
        embedded = importer.embedded_source()
        scene = importer.make_scene(fps) if embedded is None else None
    except FormatError as error:
        raise issues.located(error) from None
    if embedded is not None:
        return scene_of(*embedded, salvage=salvage, folder=folder)
    assert scene is not None
    scene.issues = issues.copy()  # without the JSON text, which is needed only to locate issues
    scene.folder, scene.sources = folder, Sources(importer.axes.unit)
    return scene


class Importer:
    """Imports one file: materials, cameras and lights, then nodes with their meshes and skins, then animations."""

    def __init__(self, data: bytes, folder: Path | None, limits: Limits, issues: Findings) -> None:
        self.issues = issues
        opened = open_container(data, limits, self.issues)
        self.root = opened.root
        self._check_asset()
        check_extensions(self.root, self.issues)
        self.budget = open_or_new_budget(limits, len(data))
        self.budget.grant("copies", NUMBERS_PER_BYTE * len(data))
        self._limits = limits
        self.buffers = buffers = Buffers(self.root, opened.binary, folder, limits, self.budget, self.issues)
        self.accessors = Accessors(self.root, buffers, self.budget, self.issues)
        self.draco = DracoReader(buffers, self.accessors, self.budget)
        self.images = ImageReader(self.root, buffers, self.budget)
        stated = self.issues.attempt(stated_space, self.root)
        self.scene_extras = None if stated is None else stated[1]
        moving = NodeAnimations(self.root, self.accessors, self.budget, self.issues)
        stated_axes = None if stated is None else Axes(stated[0])
        self.hierarchy = Hierarchy(self.root, self.issues, stated_axes, moving.moving, moving.only_helps)
        root_helper = self.hierarchy.root_helper
        unit = 1.0
        if root_helper is not None:
            unit = self.hierarchy.items[root_helper].numbers("scale", 3, (1.0, 1.0, 1.0))[0]
        if stated is None or (stated[0].up != "y" and root_helper is None):
            up = "y" if root_helper is None else "z"
            self.space = Space(up, metres_per_unit=unit, v_up=False, unit_rule="glTF uses metres")
        else:
            self.space = stated[0]
        self.axes = Axes(self.space, unit)

    @property
    def from_keyframer(self) -> bool:
        """Whether Keyframer wrote the file: extras have what glTF has no place for."""
        return self.scene_extras is not None

    def embedded_source(self) -> tuple[Document, dict[str, object]] | None:
        """Return the document of the embedded source, and the options for reading it; None if there is none, or if the
        content of the file is no longer the one that it was embedded for. Companions are embedded, too: options that
        name other files are ignored.
        """
        asset = self.root.child("asset")
        extras = None if asset is None else asset.keyframer_extras
        embedded = None if extras is None else extras.child("embedded")
        if embedded is None:
            return None
        main, *companions = embedded.children("files") or [Item({}, embedded.at("files"))]
        name = safe_text(main.text("name", ""))[:80] or "the source"
        contents = self.issues.attempt(self.buffers.contents)
        if contents is None or content_hash(self.root.value, contents) != embedded.text("sha256", ""):
            self.issues.add(SEM_SOURCE_OUTDATED, embedded.path, 0, name=name)
            return None
        format = next((known for known in FORMATS if known.name == embedded.value.get("format")), None)
        if format is None:
            value, known_names = str(embedded.value.get("format"))[:80], ", ".join(known.name for known in FORMATS)
            raise embedded.fail(SEM_UNKNOWN_ENUM, "format", value=value, known=known_names)
        document = format.decode(self._embedded_file(main), self._limits)
        files = tuple((item.text("suffix"), self._embedded_file(item)) for item in companions)
        merger, bridge = format.scene_writer().merger, format.scene_bridge()
        stored = embedded.child("options")
        paths = {name for name, declared in format.option_types().items() if "PathLike" in declared}
        options = {} if stored is None else {name: value for name, value in stored.value.items() if name not in paths}
        try:
            if files:
                options |= merger.companion_options(Written(document, LossReport(format.name), files))
            make_options(format.name, bridge.options, options, bridge.internal_options)
        except (KeyError, TypeError, ValueError):  # suffixes and values are those of the file
            wanted = f"companions and options for reading {format.name}"
            raise embedded.fail(STRUCT_SYNTAX, "options", wanted=wanted, found="others") from None
        return document, options

    def _embedded_file(self, item: Item) -> bytes:
        view = item.needed_index("bufferView", self.buffers.view_count, "buffer view")
        content, _ = self.buffers.view(view)
        self.budget.spend("copies", len(content), item.path)
        return bytes(content)

    def make_scene(self, fps: float) -> Scene:
        """Return the scene of the file; ``fps`` is the frame rate of animations that we did not write."""
        root, from_keyframer = self.root, self.from_keyframer
        cameras = CameraReader(root, self.issues, self.axes.unit)
        lights = LightReader(root, self.issues, self.axes.unit)
        scene = Scene(space=self.space, issues=self.issues, source_format="gltf")
        materials = MaterialReader(root, self.images, self.issues, from_keyframer=from_keyframer)
        scene.materials, scene.cameras, scene.lights = materials.read(), cameras.read(), lights.read()
        meshes = MeshReader(root, self.accessors, self.draco, self.budget, self.issues, materials.numbers)
        skins = SkinReader(root, self.accessors, self.hierarchy, self.axes, self.budget)
        nodes = NodeReader(self.hierarchy, self.axes, self.budget, self.issues)
        nodes.read(scene, _SceneMeshes(meshes, scene, self), skins)
        scene.skins = skins.skins
        _remove_unreadable_links(scene, cameras.lost, lights.lost)
        self._animate(scene, nodes, cameras.aspects, len(lights.items), fps)
        if lights.items:
            lights.set_multipliers(scene)
        if from_keyframer:
            _remove_unused_shapes(scene)
        items = [self.hierarchy.items[number] for number in self.hierarchy.order]
        TargetReader(scene, items).restore(cameras.targets, lights.targets)
        self.issues.attempt(self._read_metadata, scene)
        _close_gaps(scene, cameras.lost, lights.lost)
        return scene

    def _check_asset(self) -> None:
        asset = self.root.child("asset")
        if asset is None:
            raise self.root.missing("asset")
        version = asset.text("version")
        if version.split(".")[0] != "2":
            raise asset.fail(SEM_UNKNOWN_ENUM, "version", value=version[:40], known="2.0")
        needed = asset.text("minVersion", "2.0")
        if re.fullmatch(r"2\.0*[1-9]\d*|([3-9]|[1-9]\d+)(\..*)?", needed):
            self.issues.leave_out(asset.fail(SEM_UNKNOWN_ENUM, "minVersion", value=needed[:40], known="2.0"))

    def _animate(self, scene: Scene, nodes: NodeReader, aspects: list[float], light_count: int, fps: float) -> None:
        reader = AnimationReader(
            scene, self.hierarchy, self.axes, self.accessors, self.budget, self.issues, aspects, light_count
        )
        all_settings = [] if self.scene_extras is None else self.scene_extras.children("clips")
        read = [self.issues.attempt(ClipSettings, item, self.budget, self.issues) for item in all_settings]
        settings = {entry.animation: entry for entry in read if entry is not None}
        for items in self._animations_of_clips():
            name = self.issues.attempt(items[0].text, "name", "") or ""
            clip = self.issues.attempt(reader.read, items, fps, settings.get(name) if name else None)
            scene.clips += [] if clip is None else [clip]
        scene.clips += [entry.clip for entry in read if entry is not None and not entry.animation]
        order = {id(entry.clip): place for place, entry in enumerate(read) if entry is not None}
        scene.clips.sort(key=lambda clip: order.get(id(clip), len(order)))
        nodes.add_rest_weights(scene, fps)

    def _animations_of_clips(self) -> list[list[Item]]:
        """Return the animations of each clip: our exporter puts properties of cameras and lights, and visibility, into
        an animation beside the one with the motion.
        """
        animations = self.root.children("animations")
        clips = {number: [item] for number, item in enumerate(animations)}
        names = {str(item.value.get("name")): number for number, item in enumerate(animations)}
        for number, item in enumerate(animations):
            extras = item.keyframer_extras
            motion = None if extras is None else names.get(str(extras.value.get("settings_of")))
            if motion is not None and motion != number and motion in clips:
                clips[motion] += clips.pop(number)
        return list(clips.values())

    def _read_metadata(self, scene: Scene) -> None:
        """Set data of the whole scene: copyright, source format, title, author, environment, extras, ambient lights."""
        asset = self.root.child("asset")
        assert asset is not None
        scene.copyright = asset.text("copyright", "")
        if self.scene_extras is None:
            scene.extras = {"gltf": {"generator": asset.text("generator", "")}}
            return
        source = asset.keyframer_extras.child("source") if asset.keyframer_extras is not None else None
        scene.source_format = source.text("format", "gltf") if source is not None else "gltf"
        shown = self.root.children("scenes")[self.root.index("scene", len(self.root.children("scenes")), "scene") or 0]
        scene.title, scene.author = shown.text("name", ""), self.scene_extras.text("author", "")
        scene.environment = environment(self.scene_extras)
        extras = self.scene_extras.value.get("extras")
        scene.extras = dict(extras) if type(extras) is dict else {}
        ambient_count = sum(light.type.value == "ambient" for light in scene.lights)
        for item in self.scene_extras.children("ambient_lights")[ambient_count:]:
            light = self.issues.attempt(restored_light, item, "ambient")
            scene.lights += [] if light is None else [light]


def _remove_unused_shapes(scene: Scene) -> None:
    """Remove the mesh itself from the shapes of nodes in whose clips it has no weight. glTF adds shapes to the mesh;
    scenes blend whole shapes, so reading makes it the first one.
    """
    all_tracks: dict[int, list[Track]] = {}
    for channel in (channel for clip in scene.clips for channel in clip.channels if channel.track.kind == "morph"):
        all_tracks.setdefault(channel.node, []).append(channel.track)
    for number, node in enumerate(scene.nodes):
        tracks = all_tracks.get(number, [])
        if node.morph is None or any(np.abs(track.values[:, 0]).max(initial=0.0) > 1e-5 for track in tracks):
            continue
        node.morph = Morph(node.morph.names[1:], list(node.morph.positions)[1:])
        for track in tracks:
            for name in ("values", "tangents_in", "tangents_out"):
                if getattr(track, name) is not None:
                    setattr(track, name, getattr(track, name)[:, 1:])


def _remove_unreadable_links(scene: Scene, cameras: set[int], lights: set[int]) -> None:
    """Remove references of nodes to cameras and lights that could not be read."""
    for node in scene.nodes if cameras or lights else ():
        node.camera = None if node.camera in cameras else node.camera
        node.light = None if node.light in lights else node.light


def _close_gaps(scene: Scene, cameras: set[int], lights: set[int]) -> None:
    """Remove the placeholders of cameras and lights that could not be read, and renumber the others."""
    scene.cameras = [camera for number, camera in enumerate(scene.cameras) if number not in cameras]
    scene.lights = [light for number, light in enumerate(scene.lights) if number not in lights]
    removed = sorted(cameras), sorted(lights)
    for node in scene.nodes if cameras or lights else ():
        if node.camera is not None:
            node.camera -= bisect(removed[0], node.camera)
        if node.light is not None:
            node.light -= bisect(removed[1], node.light)


class _SceneMeshes:
    """Reads meshes as nodes need them, each once."""

    def __init__(self, reader: MeshReader, scene: Scene, importer: Importer) -> None:
        self._reader = reader
        self._scene = scene
        self._importer = importer
        self._meshes: dict[int, tuple[int, ImportedMesh, Morph | None] | None] = {}
        self._converted: dict[int, tuple[Array, Array, list[Array]]] = {}
        """key: id() of stored vertices, which meshes may share; value: these, then vertices and shapes in scene axes"""

    def __len__(self) -> int:
        return len(self._reader.items)

    def take(self, number: int) -> tuple[int, ImportedMesh, Morph | None] | None:
        """Return the index of a mesh in the scene, its data and its morph; None if it has no readable triangles."""
        if number not in self._meshes:
            importer = self._importer
            v_up, from_keyframer = importer.space.v_up, importer.from_keyframer
            grid = importer.hierarchy.grids.get(number)
            imported = importer.issues.attempt(
                self._reader.read, number, grid, v_up=v_up, from_keyframer=from_keyframer
            )
            self._meshes[number] = None if imported is None else self._add_mesh(imported)
        return self._meshes[number]

    def _add_mesh(self, imported: ImportedMesh) -> tuple[int, ImportedMesh, Morph | None]:
        mesh = imported.mesh
        key = id(mesh.positions)
        if key not in self._converted:
            self._converted[key] = mesh.positions, *self._in_scene_axes(imported)
        _, mesh.positions, shapes = self._converted[key]
        if mesh.normals is not None and self._importer.axes.mirrored:
            mesh.normals = self._importer.axes.vectors(np.asarray(mesh.normals, np.float64))
        morph = None
        if shapes:
            morph = Morph(["", *imported.names], list(shapes))
        self._scene.meshes.append(mesh)
        return len(self._scene.meshes) - 1, imported, morph

    def _in_scene_axes(self, imported: ImportedMesh) -> tuple[Array, list[Array]]:
        """Return vertices and shapes in the axes of the scene."""
        axes = self._importer.axes
        stored = imported.mesh.positions
        base = np.asarray(stored, np.float64)
        shapes: list[Array] = [axes.vectors(base + target) for target in imported.targets]
        # a scene blends whole shapes, so the mesh itself becomes the first one; glTF adds differences to the mesh
        if shapes:
            shapes = [axes.vectors(base), *shapes]
        vertices = axes.vectors(base) if axes.mirrored else stored
        for positions in (vertices, *shapes):  # meshes share them
            positions.flags.writeable = False
        return vertices, shapes


_NAMED = ("scenes", "nodes", "meshes", "materials", "cameras", "skins", "animations", "images", "textures", "buffers")
"""lists of parts that have names"""
_EXAMINED = 4096
"""number of characters of a name or URI that are examined"""


def json_root(data: bytes, limits: Limits) -> dict[str, Any]:
    """Return the JSON of a file as it is."""
    return open_container(data, limits, Findings(limits, salvage=True)).root.value


def check(data: bytes, scene: Scene, limits: Limits) -> None:
    """Add the issues of the names of parts and image files to those of the loaded scene."""
    _NameCheck(data, limits, scene.issues).check()


class _NameCheck:
    """Checks the names of parts and image files in one file."""

    def __init__(self, data: bytes, limits: Limits, issues: IssueLog) -> None:
        findings = Findings(limits, salvage=True)
        self._root = open_container(data, limits, findings).root
        self._places = findings.places
        self._issues = issues

    def check(self) -> None:
        for kind in _NAMED:
            for item in self._root.children(kind):
                self._name(item)
                if kind == "images":  # URIs of buffers are checked when the file is loaded
                    self._file(item)

    def _name(self, item: Item) -> None:
        name = item.value.get("name")
        if type(name) is not str:
            return
        size = len(name.encode("utf-8", "surrogatepass"))
        if size > LONGEST_NAME:
            self._add(SEM_NAME_TOO_LONG, item.at("name"), size=size, most=LONGEST_NAME)
        for kind in name_problems(name[:_EXAMINED]):
            self._add(kind, item.at("name"), name=shown(name))

    def _file(self, item: Item) -> None:
        uri = item.value.get("uri")
        if type(uri) is not str or uri[:5].lower() == "data:":
            return
        name = unquote(uri[:_EXAMINED])
        for kind in (*name_problems(name), *path_problems(name)):
            self._add(kind, item.at("uri"), name=shown(name))

    def _add(self, kind: IssueType, path: str, **args: object) -> None:
        """Add an issue; it is located only if it will be listed and not only counted."""
        is_listed = self._issues.counts[kind.code] < self._issues.most_listed
        offset = self._places.find(path) if is_listed and self._places is not None else 0
        self._issues.add(kind, path, offset, severity=None, **args)
