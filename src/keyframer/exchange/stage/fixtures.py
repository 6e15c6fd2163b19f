"""GDTF fixtures: the tree of geometries of a mode, with its models, axes and beams."""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.catalogue import LINK_UNRESOLVED_NAME, STAGE_FILE_MISSING, STRUCT_CHUNK_MISSING
from keyframer.curves.lazy_fields import add_extras
from keyframer.exchange.stage.archives import Archive
from keyframer.exchange.stage.assembly import IDENTITY, Assembly, Model, to_archive_axes
from keyframer.exchange.stage.xmltree import Walk, fixture_matrix, number
from keyframer.limits import Limits
from keyframer.maths.trigonometry import sine_and_cosine
from keyframer.scene import Light, LightType, Mesh, NodeKind
from keyframer.wire.xml_tree import Element, parse

_SIDES = 24
_RINGS = 12
_BOX_CORNERS = np.array([(x, y, z) for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
_BOX_FACES = np.array(
    [
        *((0, 2, 3), (0, 3, 1), (4, 5, 7), (4, 7, 6), (0, 1, 5), (0, 5, 4)),
        *((2, 6, 7), (2, 7, 3), (0, 4, 6), (0, 6, 2), (1, 3, 7), (1, 7, 5)),
    ]
)
_ROUND, _LOWER_CAP, _UPPER_CAP = 1, 2, 4
"""smoothing groups"""
_ARM = 0.15
"""thickness of the arms and the bridge of a yoke, as a fraction of its box"""


def shape_of(primitive_type: str) -> Mesh | None:
    """Return the shape for a primitive type of a GDTF model; None for a type without one (``Undefined``).

    Bases hang: their upper side is at the origin. All others are centred.
    """
    kind = primitive_type.partition("1_1")[0]
    make = _MAKERS.get(kind)
    if make is None:
        return None
    positions, corners, smoothing = make()
    return Mesh(kind, positions, corners, smoothing=smoothing)


@cache
def _box() -> tuple[Floats, Ints, Ints]:
    return _BOX_CORNERS, _BOX_FACES, np.zeros(len(_BOX_FACES), np.int64)


@cache
def _hanging_box() -> tuple[Floats, Ints, Ints]:
    positions, corners, smoothing = _box()
    return positions - (0.0, 0.0, 0.5), corners, smoothing


@cache
def _cylinder() -> tuple[Floats, Ints, Ints]:
    """Return a cylinder along z."""
    angles = np.arange(_SIDES) * (2.0 * np.pi / _SIDES)
    sines, cosines = sine_and_cosine(angles)
    ring = np.column_stack([cosines / 2, sines / 2])
    lower, upper = (np.column_stack([ring, np.full(_SIDES, z)]) for z in (-0.5, 0.5))
    positions = np.concatenate([lower, upper, [(0.0, 0.0, -0.5), (0.0, 0.0, 0.5)]])
    sides = np.arange(_SIDES)
    next_sides = (sides + 1) % _SIDES
    bottom, top = np.full(_SIDES, 2 * _SIDES), np.full(_SIDES, 2 * _SIDES + 1)
    corners = np.concatenate(
        [
            np.column_stack([sides, next_sides, next_sides + _SIDES]),
            np.column_stack([sides, next_sides + _SIDES, sides + _SIDES]),
            np.column_stack([next_sides, sides, bottom]),
            np.column_stack([sides + _SIDES, next_sides + _SIDES, top]),
        ]
    )
    smoothing = np.repeat(np.array([_ROUND, _ROUND, _LOWER_CAP, _UPPER_CAP], np.int64), _SIDES)
    return positions, corners, smoothing


@cache
def _sphere() -> tuple[Floats, Ints, Ints]:
    polar_angles = np.arange(1, _RINGS) * (np.pi / _RINGS)
    azimuths = np.arange(_SIDES) * (2.0 * np.pi / _SIDES)
    polar, azimuth = (part.ravel() for part in np.meshgrid(polar_angles, azimuths, indexing="ij"))
    (radii, heights), (sines, cosines) = sine_and_cosine(polar), sine_and_cosine(azimuth)
    rings = np.column_stack([radii * cosines, radii * sines, heights]) / 2
    positions = np.concatenate([rings, [(0.0, 0.0, 0.5), (0.0, 0.0, -0.5)]])
    sides = np.arange(_SIDES)
    next_sides = (sides + 1) % _SIDES
    north, south = np.full(_SIDES, len(rings)), np.full(_SIDES, len(rings) + 1)
    faces = [np.column_stack([north, sides, next_sides])]
    for ring in range(_RINGS - 2):
        above, below = ring * _SIDES, (ring + 1) * _SIDES
        faces += [np.column_stack([sides + above, sides + below, next_sides + below])]
        faces += [np.column_stack([sides + above, next_sides + below, next_sides + above])]
    last = (_RINGS - 2) * _SIDES
    faces.append(np.column_stack([south, next_sides + last, sides + last]))
    corners = np.concatenate(faces)
    return positions, corners, np.full(len(corners), _ROUND, np.int64)


@cache
def _yoke() -> tuple[Floats, Ints, Ints]:
    """Return two arms, one at each end of the tilt axis (x), and a bridge above them."""
    boxes = (
        ((-0.5, -0.5, -0.5), (-0.5 + _ARM, 0.5, 0.5 - _ARM)),
        ((0.5 - _ARM, -0.5, -0.5), (0.5, 0.5, 0.5 - _ARM)),
        ((-0.5, -0.5, 0.5 - _ARM), (0.5, 0.5, 0.5)),
    )
    parts = [np.asarray(low) + (_BOX_CORNERS + 0.5) * np.subtract(high, low) for low, high in boxes]
    corners = np.concatenate([_BOX_FACES + 8 * number for number in range(len(boxes))])
    return np.concatenate(parts), corners, np.zeros(len(corners), np.int64)


_MAKERS = {
    "Cube": _box,
    "Cylinder": _cylinder,
    "Sphere": _sphere,
    "Base": _hanging_box,
    "Yoke": _yoke,
    "Head": _cylinder,
    "Scanner": _box,
    "Conventional": _cylinder,
    "Pigtail": _box,
}


DESCRIPTION = "description.xml"
MODEL_FOLDERS = (("models/gltf/", ".glb"), ("models/gltf/", ".gltf"), ("models/3ds/", ".3ds"))
"""folders that are searched for the file of a model, with its extension; the preferred one first"""
GEOMETRIES = (
    *("Geometry", "Axis", "Beam", "FilterBeam", "FilterColor", "FilterGobo", "FilterShaper", "MediaServerLayer"),
    *("MediaServerCamera", "MediaServerMaster", "Display", "GeometryReference", "Laser", "WiringObject", "Inventory"),
    *("Structure", "Support", "Magnet"),
)
LEAST_DIMENSION = 1e-6
"""metres: smaller dimensions are treated as not stated, and shapes are at least this large"""
_DARK_BEAMS = ("None", "Glow")
"""types of beams that do not light other objects"""
_WIDEST_SPOT = 179.0
"""degrees: a wider beam becomes an omni light"""
_STAND_IN, _STAND_IN_SIZE = "Base", 0.3
"""shape and size in metres of a fixture that states none: a box that hangs from its origin"""
_AXES = {"Pan": "z", "Tilt": "x"}


class Fixture:
    """An opened GDTF archive."""

    def __init__(self, archive: Archive, limits: Limits) -> None:
        self.archive = archive
        member = archive.member(DESCRIPTION)
        self.description = parse(archive.read(member), f"{archive.path}{member.filename}", limits)
        fixture_type = self.description.child("FixtureType")
        if fixture_type is None:
            raise STRUCT_CHUNK_MISSING.failure(0, self.description.path, name="FixtureType")
        self.type = fixture_type

    @cached_property
    def models(self) -> dict[str, Element]:
        return {model.get("Name"): model for model in self._listed("Models", "Model")}

    @cached_property
    def modes(self) -> dict[str, Element]:
        return {mode.get("Name"): mode for mode in self._listed("DMXModes", "DMXMode")}

    @cached_property
    def geometries(self) -> dict[str, Element]:
        """Return the top-level geometries by name."""
        return {geometry.get("Name"): geometry for geometry in self._listed("Geometries", *GEOMETRIES)}

    @property
    def name(self) -> str:
        return self.type.get("LongName") or self.type.get("Name") or "fixture"

    def _listed(self, list_tag: str, *tags: str) -> list[Element]:
        element = self.type.child(list_tag)
        return [] if element is None else list(element.all(*tags))

    def model_file(self, model: Element) -> str | None:
        """Return the name of the preferred member with the file of a model; None if there is none."""
        name = model.get("File")
        if not name:
            return None
        for folder, extension in MODEL_FOLDERS:
            member = self.archive.find(f"{folder}{name}{extension}")
            if member is not None:
                return member.filename
        return None


class FixtureBuilder:
    """Adds one fixture to a scene, as often as a show uses it."""

    def __init__(self, fixture: Fixture, assembly: Assembly) -> None:
        self._fixture = fixture
        self._assembly = assembly
        self._shapes: dict[str, int] = {}

    def add(self, parent: int | None, mode: str | None, path: str) -> None:
        """Add the geometries of a mode under a node.

        If there is no such mode, the first mode is used; if there is no such geometry, the first geometry.
        """
        fixture, issues = self._fixture, self._assembly.issues
        if mode and mode not in fixture.modes:
            issues.add(LINK_UNRESOLVED_NAME, path, 0, kind="mode", name=repr(mode))
        mode_element = fixture.modes.get(mode or "") or next(iter(fixture.modes.values()), None)
        roots = list(fixture.geometries.values())[:1]
        rotations: dict[str, str] = {}
        if mode_element is not None:
            root = fixture.geometries.get(mode_element.get("Geometry"))
            if root is not None:
                roots = [root]
            rotations = _rotated_geometries(mode_element)
        nodes = self._assembly.scene.nodes
        first = len(nodes)
        for geometry in roots:
            self._add_tree(geometry, parent, rotations)
        if all(node.mesh is None for node in nodes[first:]):  # 5 of 5 fixtures in a show of Capture state no shape
            shape = shape_of(_STAND_IN)
            assert shape is not None
            self._place(shape, _STAND_IN, f"{fixture.name} stand-in", parent, np.full(3, _STAND_IN_SIZE))

    def _add_tree(self, root: Element, parent: int | None, rotations: dict[str, str]) -> None:
        """Add, without recursion, a geometry and its descendants, which may refer to other geometries."""
        walk = Walk(iter([root]), parent)
        for element, parent_number in walk:
            referenced = self._referenced(element)
            walk.refuse_cycle(element, referenced, element.get("Name") or element.tag)
            number = self._add_geometry(element, referenced, parent_number, rotations)
            walk.descend(referenced, referenced.all(*GEOMETRIES), number)

    def _referenced(self, element: Element) -> Element:
        """Return the geometry that a reference names; the element itself if there is no such geometry."""
        if element.tag != "GeometryReference":
            return element
        referenced = self._fixture.geometries.get(element.get("Geometry"))
        if referenced is None:
            name = element.get("Geometry")
            self._assembly.issues.add(LINK_UNRESOLVED_NAME, element.path, element.offset, kind="geometry", name=name)
            return element
        return referenced

    def _add_geometry(
        self, element: Element, referenced: Element, parent: int | None, rotations: dict[str, str]
    ) -> int:
        """Add one node with its model and its light; ``referenced`` is the result of `_referenced` for the element."""
        assembly = self._assembly
        matrix = fixture_matrix(element, assembly.units_per_metre)
        name = element.get("Name") or element.tag
        node_number = assembly.add_node(name, parent, matrix)
        attribute = rotations.get(name)
        if element.tag != "Geometry" or attribute:
            extras = {"type": element.tag}
            if attribute:
                extras |= {"turns": attribute, "about": _AXES[attribute]}
            add_extras(assembly.scene.nodes[node_number], "gdtf", extras)
        model = self._fixture.models.get(element.get("Model") or referenced.get("Model"))
        if model is not None:
            self._add_model(model, node_number)
        if referenced.tag == "Beam":
            self._add_beam(referenced, node_number, name)
        return node_number

    def _add_model(self, element: Element, parent: int) -> None:
        assembly = self._assembly
        size = dimensions(element)
        file = self._fixture.model_file(element)
        if file is not None:
            model = assembly.model(self._fixture.archive, file)
            if model is not None:
                assembly.add_model(model, parent, scale_to_dimensions(model, size, assembly.units_per_metre))
            return
        if element.get("File"):
            model_label = f"the model {element.get('Name')!r}"
            path = f"{element.path}/@File"
            assembly.issues.add(STAGE_FILE_MISSING, path, element.offset, what=model_label, name=element.get("File"))
        primitive_type = element.get("PrimitiveType", "Undefined")
        shape = shape_of(primitive_type) or (shape_of("Cube") if element.get("File") else None)
        if shape is None:
            return
        self._place(shape, primitive_type, f"{element.get('Name')} body", parent, size)

    def _place(self, shape: Mesh, kind: str, name: str, parent: int | None, size: Floats) -> None:
        """Add a node with a shape of this size in metres; equal kinds share a mesh."""
        assembly = self._assembly
        if kind not in self._shapes:
            self._shapes[kind] = len(assembly.scene.meshes)
            assembly.scene.meshes.append(shape)
        matrix = np.eye(4)
        matrix[[0, 1, 2], [0, 1, 2]] = np.maximum(size, LEAST_DIMENSION) * assembly.units_per_metre
        body = assembly.add_node(name, parent, matrix, NodeKind.OBJECT)
        assembly.scene.nodes[body].mesh = self._shapes[kind]

    def _add_beam(self, element: Element, parent: int, name: str) -> None:
        """Add the light of a beam, along -z of its geometry like the lights of a scene; none for `_DARK_BEAMS`."""
        if element.get("BeamType") in _DARK_BEAMS:
            return
        assembly = self._assembly
        angles = number(element, "BeamAngle", 25.0), number(element, "FieldAngle", 25.0)
        light = Light(f"{name} light", LightType.SPOT, light_color(number(element, "ColorTemperature", 6000.0)))
        if max(angles) > _WIDEST_SPOT:
            light.type = LightType.OMNI
        else:
            light.hotspot_degrees, light.falloff_degrees = min(angles), max(angles)
            light.rectangular = element.get("BeamType") == "Rectangle"
            light.aspect = number(element, "RectangleRatio", 1.0) if light.rectangular else 1.0
        add_extras(light, "gdtf", {"luminous_flux": number(element, "LuminousFlux", 10_000.0)})
        node_number = assembly.add_node(light.name, parent, IDENTITY, NodeKind.LIGHT)
        assembly.scene.nodes[node_number].light = len(assembly.scene.lights)
        assembly.scene.lights.append(light)


def dimensions(model: Element) -> Floats:
    """Return length, width and height of a model in metres: along x, y and z."""
    return np.array([abs(number(model, name)) for name in ("Length", "Width", "Height")])


def scale_to_dimensions(model: Model, size: Floats, units_per_metre: float) -> Floats:
    """Return the matrix that scales the box of a model to its stated size, for any unit of its file.

    An axis without extent or without a stated size is scaled by the mean factor of the others; if there are none, by
    the unit of the file.
    """
    if model.box is None:
        return to_archive_axes(model.space, units_per_metre)
    extent = model.box[1] - model.box[0]
    usable = (extent > 1e-9 * max(extent.max(), 1e-300)) & (size > LEAST_DIMENSION)
    factors = np.full(3, 1.0 if model.metres_per_unit is None else model.metres_per_unit)
    if usable.any():
        stated_factors = size[usable] / extent[usable]
        factors = np.full(3, np.exp(np.log(stated_factors).mean()))
        factors[usable] = stated_factors
    matrix = to_archive_axes(model.space, 1.0).copy()
    matrix[:3, :3] *= (factors * units_per_metre)[:, None]
    return matrix


def light_color(kelvin: float) -> tuple[float, float, float]:
    """Return the colour of a black body relative to 6500 K, its maximum 1: Planck's law at 611, 549 and 464 nm."""
    waves = np.array([611e-9, 549e-9, 464e-9])
    exponents = 1.438777e-2 / (waves * min(max(kelvin, 1000.0), 40_000.0))
    radiance = waves**-5 / np.expm1(exponents)
    white = waves**-5 / np.expm1(1.438777e-2 / (waves * 6500.0))
    red, green, blue = radiance / white / (radiance / white).max()
    return float(red), float(green), float(blue)


def _rotated_geometries(mode: Element) -> dict[str, str]:
    """Return the names of the geometries that the channels of a mode rotate, each with ``Pan`` or ``Tilt``."""
    rotations: dict[str, str] = {}
    channels = mode.child("DMXChannels")
    for channel in () if channels is None else channels.all("DMXChannel"):
        for logical in channel.all("LogicalChannel"):
            if logical.get("Attribute") in _AXES:
                rotations.setdefault(channel.get("Geometry"), logical.get("Attribute"))
    return rotations
