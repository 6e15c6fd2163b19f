"""MVR shows: layers, groups, objects, symbols and fixtures."""

from __future__ import annotations

import os

from keyframer.arrays import Floats
from keyframer.catalogue import LINK_UNRESOLVED_NAME, STAGE_FILE_MISSING, STRUCT_CHUNK_MISSING
from keyframer.curves.lazy_fields import add_extras
from keyframer.exchange.stage.archives import Archive
from keyframer.exchange.stage.assembly import IDENTITY, Assembly, Model, to_archive_axes
from keyframer.exchange.stage.fixtures import Fixture, FixtureBuilder
from keyframer.exchange.stage.xmltree import Walk, show_matrix
from keyframer.limits import Limits
from keyframer.wire.xml_tree import Element, parse

DESCRIPTION = "GeneralSceneDescription.xml"
DEFAULT_EXTENSION = ".3ds"
"""extension of models whose file names have none"""
FIXTURE_EXTENSION = ".gdtf"
OBJECTS = ("SceneObject", "GroupObject", "Fixture", "Truss", "Support", "VideoScreen", "FocusPoint", "Projector")
_GEOMETRIES = ("Geometry3D", "Symbol")
METRES_PER_UNIT = 0.001
_TEXTS_IN_EXTRAS = ("GDTFSpec", "GDTFMode", "FixtureID", "UnitNumber", "Function")
"""child elements whose text is stored in extras"""


class Show:
    """An opened MVR archive."""

    def __init__(self, archive: Archive, limits: Limits) -> None:
        self.limits = limits
        self.archive = archive
        member = archive.member(DESCRIPTION)
        self.description = parse(archive.read(member), member.filename, limits)
        scene = self.description.child("Scene")
        if scene is None:
            raise STRUCT_CHUNK_MISSING.failure(0, self.description.path, name="Scene")
        self.scene = scene
        aux_data = scene.child("AUXData")
        self.symbols = {} if aux_data is None else {symbol.get("uuid"): symbol for symbol in aux_data.all("Symdef")}

    def layers(self) -> list[Element]:
        layers = self.scene.child("Layers")
        return [] if layers is None else list(layers.all("Layer"))


def model_name(geometry: Element) -> str:
    """Return the file name of a ``Geometry3D``, with the default extension if it has none."""
    name = geometry.get("fileName")
    return name if "." in os.path.basename(name) else f"{name}{DEFAULT_EXTENSION}"  # ".3ds" is an extension, too


def fixture_name(spec: str) -> str:
    """Return the file name of a ``GDTFSpec``, with the extension of fixtures."""
    return spec if spec.lower().endswith(FIXTURE_EXTENSION) else f"{spec}{FIXTURE_EXTENSION}"


class ShowBuilder:
    """Adds the objects of a show to a scene."""

    def __init__(self, show: Show, assembly: Assembly) -> None:
        self._show = show
        self._assembly = assembly
        self._fixtures: dict[str, FixtureBuilder | None] = {}

    def build(self) -> None:
        self._assembly.expect_objects(sum(element.tag in OBJECTS for element in self._show.description.walk()))
        for layer in self._show.layers():
            self._add(layer, None)

    def _add(self, top: Element, root: int | None) -> None:
        """Add an object and all its descendants; groups may be nested as deep as the XML."""
        waiting: list[tuple[Element, int | None]] = [(top, root)]
        while waiting:
            element, parent = waiting.pop()
            number = self._add_object(element, parent)
            child_list = element.child("ChildList")
            children = [] if child_list is None else list(child_list.all(*OBJECTS))
            waiting.extend((child, number) for child in reversed(children))

    def _add_object(self, element: Element, parent: int | None) -> int:
        assembly = self._assembly
        matrix = assembly.attempt(lambda: show_matrix(element))
        name = element.get("name") or element.tag
        number = assembly.add_node(name, parent, IDENTITY if matrix is None else matrix)
        extras: dict[str, object] = {"type": element.tag, "uuid": element.get("uuid")}
        extras.update((name, text) for name in _TEXTS_IN_EXTRAS if (text := element.child_text(name)))
        if assembly.scene.nodes[number].name != name:
            extras["name"] = name  # several objects have it
        addresses = element.child("Addresses")
        if addresses is not None:
            extras["Address"] = ", ".join(address.text.strip() for address in addresses.all("Address"))
        add_extras(assembly.scene.nodes[number], "mvr", extras)
        geometries = element.child("Geometries")
        if geometries is not None:
            self._add_geometries(geometries, number)
        if element.tag in ("Fixture", "Truss", "Support", "Projector", "VideoScreen", "SceneObject"):
            self._add_fixture(element, number)
        return number

    def _add_geometries(self, geometries: Element, root: int) -> None:
        """Add the geometries of an object and those of its symbols, which may refer to other symbols, without
        recursion.
        """
        assembly = self._assembly
        walk = Walk(geometries.all(*_GEOMETRIES), root)
        for element, parent in walk:
            matrix = assembly.attempt(lambda element=element: show_matrix(element))  # type: ignore[misc]
            placement = IDENTITY if matrix is None else matrix
            if element.tag == "Geometry3D":
                model = self._model(element)
                if model is not None:
                    number = assembly.add_node(model.name, parent, placement)
                    assembly.add_model(model, number, self._model_to_show(model))
                continue
            symbol = self._show.symbols.get(element.get("symdef"))
            if symbol is None:
                name = element.get("symdef")
                assembly.issues.add(LINK_UNRESOLVED_NAME, element.path, element.offset, kind="symbol", name=name)
                continue
            walk.refuse_cycle(element, symbol, symbol.get("name"))
            number = assembly.add_node(symbol.get("name") or "symbol", parent, placement)
            children = symbol.child("ChildList")
            if children is not None:
                walk.descend(symbol, children.all(*_GEOMETRIES), number)

    def _model(self, element: Element) -> Model | None:
        name = model_name(element)
        if self._show.archive.find(name) is None:
            path = f"{element.path}/@fileName"
            self._assembly.issues.add(STAGE_FILE_MISSING, path, element.offset, what="a geometry", name=name)
            return None
        return self._assembly.model(self._show.archive, name)

    def _model_to_show(self, model: Model) -> Floats:
        """Return the matrix from a model to the show; models use millimetres unless their format defines a unit."""
        metres = METRES_PER_UNIT if model.metres_per_unit is None else model.metres_per_unit
        return to_archive_axes(model.space, metres * self._assembly.units_per_metre)

    def _add_fixture(self, element: Element, parent: int) -> None:
        spec = element.child_text("GDTFSpec")
        if not spec:
            return
        name = fixture_name(spec)
        if name not in self._fixtures:
            self._fixtures[name] = self._assembly.attempt(lambda: self._open_fixture(name, element))
        builder = self._fixtures[name]
        if builder is not None:
            mode = element.child_text("GDTFMode")
            self._assembly.attempt(lambda: builder.add(parent, mode or None, element.path))

    def _open_fixture(self, name: str, element: Element) -> FixtureBuilder | None:
        archive = self._show.archive
        member = archive.find(name)
        if member is None:
            self._assembly.issues.add(STAGE_FILE_MISSING, element.path, element.offset, what="a fixture", name=name)
            return None
        fixture_archive = Archive(archive.read(member), self._show.limits, f"{member.filename}!/")
        return FixtureBuilder(Fixture(fixture_archive, self._show.limits), self._assembly)
