"""What goes from a document: nodes, objects and materials with everything that refers to them."""

from __future__ import annotations

from keyframer.formats._matching import Matching
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import encode_name, plain_path
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.links import Links
from keyframer.formats.threeds.bridge.patch_environment import editor_of
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.scene import Node, Scene
from keyframer.scene.report import LossReport, Outcome


def object_of(links: Links, node: Node) -> r.NamedObject | None:
    """The object of the editor that a node shows."""
    if node.mesh is not None:
        return links.meshes[node.mesh]
    if node.camera is not None:
        return links.cameras[node.camera]
    return None if node.light is None else links.lights[node.light]


def name_of(chunk: r.Material) -> bytes:
    name = child(chunk, r.MaterialName)
    return b"" if name is None else name.name


def _without(parent: Chunk, gone: list[Chunk]) -> None:
    numbers = {id(each) for each in gone}
    parent.children = [each for each in parent.children if id(each) not in numbers]


class Removal:
    """Takes out of a document what a scene no longer has."""

    def __init__(
        self, document: Document, links: Links, before: Scene, after: Scene, matching: Matching, report: LossReport
    ) -> None:
        self.document = document
        self.links = links
        self.before = before
        self.after = after
        self.matching = matching
        self.report = report
        self.editor = editor_of(document)
        self.keyframer = document.first(r.Keyframer)
        self.instead: dict[int, r.Node] = {}
        """new nodes to the chunk that they take the place of, which stays until they do"""

    def take_out_nodes(self) -> None:
        gone = self.matching.gone_nodes(self.before)
        kept = {id(object_of(self.links, self.before.nodes[old])) for old in self.matching.nodes.values()}
        shapes = {encode_name(name) for node in self.after.nodes if node.morph is not None for name in node.morph.names}
        heirs = {old: new for new, old in self.matching.instead.items()}
        objects: list[Chunk] = []
        nodes: list[Chunk] = []
        for old in gone:
            chunk, thing = self.links.nodes[old], object_of(self.links, self.before.nodes[old])
            if chunk is not None:
                nodes.append(chunk)
                if old in heirs:
                    self.instead[heirs[old]] = chunk
            if thing is not None and id(thing) not in kept and thing.name not in shapes:
                objects.append(thing)
                self._tell_unknown(self.before.nodes[old].name, thing)
        _without(self.editor, objects)
        if self.keyframer is not None:
            stay = {id(chunk) for chunk in self.instead.values()}
            _without(self.keyframer, [each for each in nodes if id(each) not in stay])
            self._let_go([old for old in gone if old not in heirs])

    def _let_go(self, gone: list[int]) -> None:
        """Nodes that hung on what is gone hang on nothing, until the scene says otherwise."""
        left = [self.before.nodes[old] for old in range(len(self.before.nodes)) if old not in set(gone)]
        numbers = {self.before.nodes[old].file_id for old in gone} - {node.file_id for node in left}
        names = {self.before.nodes[old].raw_name for old in gone} - {node.raw_name for node in left}
        for header in self.document.find(r.NodeHeader):
            if header.parent in numbers:
                header.parent = -1
        for home in [*self.document.find(r.Node), *self.document.find(r.NodeHeader)]:
            _without(home, [each for each in home.children if isinstance(each, r.ParentName) and each.name in names])

    def _tell_unknown(self, name: str, gone: Chunk) -> None:
        """Unknown chunks that go with what they stood in."""
        stack, count = [gone], 0
        while stack:
            each = stack.pop()
            count += isinstance(each, RawChunk)
            stack += each.children  # type: ignore[arg-type]
        if count:
            words = f"{count} unknown chunk{'s' if count > 1 else ''} inside it went with it"
            self.report.add(Outcome.DROPPED, plain_path("nodes", name), words)

    def take_out_materials(self) -> None:
        kept = set(self.matching.materials.values())
        gone = [chunk for old, chunk in enumerate(self.links.materials) if old not in kept]
        if not gone:
            return
        left = {name_of(chunk).lower() for old, chunk in enumerate(self.links.materials) if old in kept}
        names = {name_of(chunk).lower() for chunk in gone} - left
        for home in [*self.document.records, *self.document.find(r.Editor)]:
            _without(home, list(gone))  # type: ignore[arg-type]
        for body in [*self.document.find(r.Mesh), *self.document.find(r.FaceArray)]:
            groups = [each for each in body.children if isinstance(each, r.MaterialGroup)]
            _without(body, [each for each in groups if each.material.lower() in names])
        for chunk in gone:
            shown = name_of(chunk).decode("latin-1")
            self.report.add(Outcome.EXACT, plain_path("materials", shown), "was taken out of the original")
