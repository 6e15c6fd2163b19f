"""Merge an edited scene into its Blitz3D document: how records are matched, and how the whole scene is written."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from keyframer.formats import bridge
from keyframer.formats.b3d import document as d
from keyframer.formats.b3d.bridge.materials import MaterialWriter
from keyframer.formats.b3d.bridge.scene import KINDS, Links, Options, read_scene, rows_of_kind
from keyframer.formats.b3d.bridge.writing import OriginalConventions, RecordWriter, WriteOptions
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import CannotMerge, Written, first_clip
from keyframer.formats.merging import RecordRules, Tree
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.wire.record import Record


class ChunkRules(RecordRules):
    """Rules for the chunks of Blitz3D documents."""

    flags: ClassVar = {(d.Brush, "fx"): 0}

    def key(self, record: Record) -> Hashable:
        return record.flags if isinstance(record, d.Keys) else None

    def update_dependent_fields(self, record: Record, ours: Record) -> None:
        """Give changed vertices the columns that scenes do not model: unused colours, further coordinates."""
        if not isinstance(record, d.Vertices) or not isinstance(ours, d.Vertices):
            return
        old, new = ours.vertices, record.vertices
        if new.dtype == old.dtype:
            return
        names = new.dtype.names or ()
        columns = {name: new[name] for name in ("position", "normal", "color") if name in names}
        if "color" not in names and ours.flags & d.COLOURS:
            columns["color"] = old["color"] if len(old) == len(new) else np.ones((len(new), 4), "<f4")
        coordinates, width = new["coordinates"], ours.sets * ours.components
        if coordinates.shape[1] < width:
            rest = old["coordinates"] if len(old) == len(new) else np.zeros((len(new), width), "<f4")
            coordinates = np.column_stack([coordinates, rest[:, coordinates.shape[1] :]])
            record.sets, record.components = ours.sets, ours.components
        record.flags = d.NORMALS * ("normal" in columns) | d.COLOURS * ("color" in columns)
        record.vertices = d.VERTICES.make(record, **columns, coordinates=coordinates)


class Merger(bridge.Merger[Options]):
    rules = ChunkRules()

    def read(self, document: Document, options: Options) -> tuple[Scene, Links]:
        return read_scene(document, options)

    def tree(self, document: Document, scene: Scene, links: Links) -> Tree:
        parts: dict[int, Hashable] = {id(record): ("nodes", number) for number, record in enumerate(links.nodes)}
        return Tree(document, parts | {id(record): ("materials", i) for i, record in enumerate(links.brushes)})

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        report = LossReport("b3d")
        document, links, matching = original.document, original.links, original.matching
        records = {new: links.nodes[old] for new, old in matching.nodes.items()}
        for record in records.values():
            if any(len(rows_of_kind(record, kind)[0]) > 1 for kind in KINDS):
                raise CannotMerge("a node has several chunks of keys of one kind")
        if sum(node.parent is None for node in scene.nodes) != 1:
            raise CannotMerge("a file has one root node")
        encoding = original.options.encoding or "cp1252"
        animated = (
            new for new, record in records.items() if any(isinstance(child, d.Animation) for child in record.children)
        )
        conventions = OriginalConventions(
            records=records,
            names={new: links.nodes[old].name for new, old in original.unrenamed(scene).items()},
            animation=min(animated, default=None),
        )
        counts = [(len(chunk.children), chunk.texture_count) for chunk in document.find(d.Brushes)]
        materials = MaterialWriter(scene, report, encoding, list(document.find(d.Texture)), counts)
        options = WriteOptions(encoding=encoding)
        writer = RecordWriter(scene, first_clip(scene, report), options, report, conventions, materials)
        if None in writer.skin_roots:
            raise CannotMerge("a bone is not below its mesh")
        return Written(writer.document(), report, parts=writer.parts)
