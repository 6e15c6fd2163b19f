"""How an edited scene gets back into its ASE document: which records are the same.

Lines go by their keywords, nodes and materials by the part of the scene that they are. Keys of one kind of motion are
the same track, whatever controller it has.
"""

from __future__ import annotations

from keyframer.formats import bridge
from keyframer.formats.ase.bridge.options import Options
from keyframer.formats.ase.bridge.scene import read_scene
from keyframer.formats.ase.bridge.writing import write_records
from keyframer.formats.ase.records import Block, Keys, Line
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.merging import Parts, RecordRules, Tree
from keyframer.scene import Scene
from keyframer.wire.record import Record


class LineRules(RecordRules):
    def kind(self, record: Record) -> object:
        if isinstance(record, (Line, Block)):
            return record.keyword
        return record.keyword.split(b"_")[1] if isinstance(record, Keys) else type(record)


class Merger(bridge.Merger[Options]):
    rules = LineRules()

    def read(self, document: Document, options: Options) -> tuple[Scene, Parts]:
        return read_scene(document, options)

    def tree(self, document: Document, scene: Scene, links: Parts) -> Tree:
        return Tree(document, links)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        return write_records(scene)
