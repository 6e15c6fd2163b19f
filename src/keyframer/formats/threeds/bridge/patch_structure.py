"""Nodes, objects and materials that come into a document or go from it; everything else stays byte for byte.

What goes takes along its node of the keyframer, its object of the editor where nothing else shows that, and the groups
of faces that name it (see `patch_removals`). What comes is written as in a new file and stands behind the last of its
kind. An object that the keyframer does not know gets a node there when it is moved, turned or hung on something.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.formats._matching import Matching, new_parts
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, NamesThatFit, Unpatchable, encode_name, plain_path
from keyframer.formats.kit.unsupported_features import tell_dropped
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.options import Options
from keyframer.formats.threeds.bridge.patch_morphs import shape_object
from keyframer.formats.threeds.bridge.patch_removals import Removal, name_of, object_of
from keyframer.formats.threeds.bridge.scene import to_linked_scene
from keyframer.formats.threeds.bridge.write_materials import MapNames, write_material
from keyframer.formats.threeds.bridge.write_nodes import Known, NodeWriter
from keyframer.formats.threeds.bridge.write_stage import Stage
from keyframer.formats.threeds.bridge.writing import HOLDS, keyframer_head
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.scene import Clip, Scene
from keyframer.scene.report import LossReport, Outcome


def anchors(document: Document, options: Options) -> tuple[list[Chunk], list[Chunk]]:
    """The chunks that nodes and materials of the scene stand for: objects where the keyframer does not know them."""
    scene, links = to_linked_scene(document, options)
    nodes = [
        object_of(links, node) if chunk is None else chunk for node, chunk in zip(scene.nodes, links.nodes, strict=True)
    ]
    return [_there(each) for each in nodes], list(links.materials)


def restructure(
    document: Document, options: Options, before: Scene, after: Scene, matching: Matching, report: LossReport
) -> tuple[dict[int, Chunk], dict[int, Chunk]]:
    """Take out what is gone and put in what is new; the chunks of new nodes and materials by their numbers."""
    work = _Structure(document, options, before, after, matching, report)
    materials = work.put_in_materials()
    nodes = work.put_in_nodes()
    work.put_in_shapes()
    return nodes, materials


def _there(chunk: Chunk | None) -> Chunk:
    if chunk is None:
        raise Unpatchable("a node that stands nowhere in the file")
    return chunk


class _Structure:
    def __init__(
        self,
        document: Document,
        options: Options,
        before: Scene,
        after: Scene,
        matching: Matching,
        report: LossReport,
    ) -> None:
        self.document = document
        self.before = before
        self.after = after
        self.matching = matching
        self.report = report
        _, self.links = to_linked_scene(document, options)
        removal = Removal(document, self.links, before, after, matching, report)
        removal.take_out_nodes()
        removal.take_out_materials()
        self.instead = removal.instead
        self.editor = removal.editor
        self.keyframer = removal.keyframer

    def put_in_materials(self) -> dict[int, Chunk]:
        """New materials behind the others; the names of all of them."""
        stored = [name_of(chunk) for chunk in self.links.materials]
        names, maps = NamesThatFit(16, reserved=stored), MapNames(self.report)
        made: dict[int, Chunk] = {}
        self.materials: list[bytes] = []
        for number, material in enumerate(self.after.materials):
            if number in self.matching.materials:
                self.materials.append(stored[self.matching.materials[number]])
                continue
            name = names.claim(material.name, material.raw_name, "material")
            words = "was added to the original"
            if names.shown(name) != material.name:
                words += f" as {names.shown(name)!r}: names have 16 letters and are unique"
            self.report.add(Outcome.EXACT, plain_path("materials", material.name), words)
            self.materials.append(name)
            made[number] = write_material(material, name, maps)
        kinds = (r.Material, r.MeshVersion)
        last = max((i for i, each in enumerate(self.editor.children) if isinstance(each, kinds)), default=-1)
        self.editor.children[last + 1 : last + 1] = list(made.values())
        return made

    def put_in_nodes(self) -> dict[int, Chunk]:
        roused = self._roused()
        new = {*self.matching.new_nodes(self.after), *roused}
        if not new:
            return {}
        clip = self.after.clips[0] if self.after.clips else Clip()
        told = LossReport("3ds")
        stage = Stage(self.after, clip, clip.rate, DEFAULT_MAX_ERROR, told)
        writer = NodeWriter(stage, self.materials, MapNames(self.report), told, self._known(new))
        writer.place_all()
        self._pass_on(told, new)
        chunks = writer.chunks()
        made = {number: chunks[place] for number, place in writer.first.items()}
        self._add_objects(writer, roused)
        for number, thing in roused.items():
            self._rouse(writer, number, made[number], thing)
        self._add_nodes(chunks, made, keyframer_head(stage.fitter, clip, told))
        return made

    def _roused(self) -> dict[int, r.NamedObject]:
        """Nodes that the keyframer does not know and now has to."""
        parents = {node.parent for node in self.after.nodes}
        moved = {each.node for each in (self.after.clips[0].channels if self.after.clips else [])}
        found: dict[int, r.NamedObject] = {}
        for new, old in self.matching.nodes.items():
            node, thing = self.after.nodes[new], object_of(self.links, self.before.nodes[old])
            if self.links.nodes[old] is None and thing is not None:
                placed = node.mesh is not None and (np.any(node.position) or np.any(np.asarray(node.scale) != 1))
                turned = bool(np.any(np.asarray(node.rotation_xyzw)[:3])) and node.mesh is not None
                if node.parent is not None or new in parents or new in moved or placed or turned:
                    found[new] = thing
        return found

    def _known(self, new: set[int]) -> Known:
        nodes: dict[int, tuple[bytes, int]] = {}
        for number, old in self.matching.nodes.items():
            if number not in new:
                chunk = self.links.nodes[old]
                header = None if chunk is None else child(chunk, r.NodeHeader)
                there = self.before.nodes[old].file_id
                nodes[number] = (b"" if header is None else header.name, -1 if there is None else there)
        names = {each.name for each in self.document.find(r.NamedObject)}
        names |= {each.name for each in self.document.find(r.InstanceName)}
        names |= {each.name for each in self.document.find(r.NodeHeader)}
        for chunk in self.instead.values():  # its name is free again
            for each in chunk.children:
                if isinstance(each, (r.NodeHeader, r.InstanceName)):
                    names.discard(each.name)
        numbers = [node.file_id for node in self.before.nodes if node.file_id is not None]
        return Known(nodes, frozenset(names), max(numbers, default=-1) + 1)

    def _pass_on(self, told: LossReport, new: set[int]) -> None:
        """What the report says of new nodes; the others were not written."""
        old = [plain_path("nodes", node.name) for i, node in enumerate(self.after.nodes) if i not in new]
        for loss in told:
            if not any(loss.path == path or loss.path.startswith(f"{path}/") for path in old):
                self.report.losses.append(loss)
        scene, clip = new_parts(self.after, new)
        tell_dropped(scene, clip, self.report, HOLDS)

    def _add_objects(self, writer: NodeWriter, roused: dict[int, r.NamedObject]) -> None:
        known = {id(each) for number in roused for each in writer.shown[number]}
        self._append_objects([each for each in writer.objects if id(each) not in known])

    def _append_objects(self, objects: list[Chunk]) -> None:
        kinds = [i for i, each in enumerate(self.editor.children) if isinstance(each, r.NamedObject)]
        place = kinds[-1] + 1 if kinds else len(self.editor.children)
        self.editor.children[place:place] = objects

    def _rouse(self, writer: NodeWriter, number: int, chunk: Chunk, thing: r.NamedObject) -> None:
        """The object keeps its name and everything but its vertices and matrix, which go with the node."""
        header, (made,) = child(chunk, r.NodeHeader), writer.shown[number] or (None,)
        if header is None or made is None:
            raise Unpatchable(f"the keyframer has no place for {self.after.nodes[number].name!r}")
        header.name = thing.name
        body, fresh = child(thing, r.Mesh), child(made, r.Mesh)
        if body is None or fresh is None:
            return
        for kind in (r.PointArray, r.MeshMatrix):
            new: Any = child(fresh, kind)
            old = child(body, kind)
            if old is None:
                body.children.append(new)
            else:
                body.children = [new if each is old else each for each in body.children]

    def _add_nodes(self, chunks: list[Chunk], made: dict[int, Chunk], head: list[Chunk]) -> None:
        """New nodes behind the last; those that take the place of another where that stood, with its number."""
        if self.keyframer is None:
            self.keyframer = r.Keyframer(children=list(head))
            home = next((top for top in self.document.records if self.editor in top.children), None)
            if home is None:
                raise Unpatchable("there is no place for a keyframer section")
            home.children.insert(home.children.index(self.editor) + 1, self.keyframer)
        children = self.keyframer.children
        placed = {id(made[number]) for number in self.instead}
        kinds = [i for i, each in enumerate(children) if isinstance(each, r.Node)]
        last = kinds[-1] + 1 if kinds else len(children)
        children[last:last] = [each for each in chunks if id(each) not in placed]
        for number, old in self.instead.items():
            new = made[number]
            self._take_number(old, new)
            new.children += [each for each in old.children if isinstance(each, RawChunk)]
            children[next(i for i, each in enumerate(children) if each is old)] = new

    def put_in_shapes(self) -> None:
        """Hidden objects for new shapes of meshes that were there before."""
        names = NamesThatFit(10, reserved=[each.name for each in self.document.find(r.NamedObject)])
        for new, old in self.matching.nodes.items():
            node, there = self.after.nodes[new], self.before.nodes[old]
            if node.morph is None or there.mesh is None:
                continue
            known = {self.links.surfaces[name][0].name for name in self.links.surfaces}
            for word, shape in zip(node.morph.names, node.morph.positions, strict=True):
                if encode_name(word) not in known:
                    made = shape_object(self.links, there.mesh, names.claim(word), shape)
                    self.links.surfaces[made.name] = (made, None)
                    known.add(made.name)
                    self._append_objects([made])

    def _take_number(self, old: Chunk, new: Chunk) -> None:
        was, now = child(old, r.NodeId), child(new, r.NodeId)
        if was is None or now is None:
            return
        number, now.id_ = now.id_, was.id_
        for header in self.document.find(r.NodeHeader):
            if header.parent == number:
                header.parent = was.id_
