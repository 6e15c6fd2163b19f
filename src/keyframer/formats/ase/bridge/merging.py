"""Merge an edited scene into its ASE document: matching of records.

Lines are matched by keyword; nodes, their animations and materials by their scene part. Keys of one kind of motion are
the same track, whatever its controller. Nodes in groups and sub-materials are written flat, and then moved to where the
document has them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.curves import Interpolation
from keyframer.formats import bridge
from keyframer.formats.ase.bridge.options import Options
from keyframer.formats.ase.bridge.scene import Links, read_scene
from keyframer.formats.ase.bridge.tracks import interpolation_of
from keyframer.formats.ase.bridge.write_lines import line
from keyframer.formats.ase.bridge.writing import OriginalConventions, rest_world, write_records
from keyframer.formats.ase.records import Block, Keys, Line, Table
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.merging import RecordRules, Tree, equal
from keyframer.scene import Scene
from keyframer.wire.record import Record

_CONTAINERS = {b"GROUP": None, b"MATERIAL": "NUMSUBMTLS", b"SUBMATERIAL": "NUMSUBMTLS"}
"""blocks that contain nodes and other materials, and the line with their number"""


class LineRules(RecordRules):
    def kind(self, record: Record) -> object:
        if isinstance(record, (Line, Block)):
            return record.keyword
        return record.keyword.split(b"_")[1] if isinstance(record, Keys) else type(record)

    def key(self, record: Record) -> Hashable:
        """Return the name of a group, or the number of a material with sub-materials."""
        return record.values if isinstance(record, Block) and record.keyword in _CONTAINERS else None

    def corresponds(self, ours: Record, base: Record) -> bool:
        """Return whether tables correspond.

        Keys do if they have the same times, other tables if they have the same length.
        """
        if isinstance(ours, Keys) and isinstance(base, Keys):
            return ours.keyword == base.keyword and equal(ours.times, base.times)
        if not isinstance(ours, Table):
            return True
        names = [plan.name for plan in ours.plan.fields]
        return all(np.shape(getattr(ours, name)) == np.shape(getattr(base, name)) for name in names)


class Merger(bridge.Merger[Options]):
    rules = LineRules()

    def read(self, document: Document, options: Options) -> tuple[Scene, Links]:
        return read_scene(document, options)

    def tree(self, document: Document, scene: Scene, links: Links) -> Tree:
        return Tree(document, links.parts)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        document, links, matching = original.document, original.links, original.matching
        stored = {new: original.scene.nodes[old].raw_name for new, old in original.unrenamed(scene).items()}
        names = {new: raw_name for new, raw_name in stored.items() if raw_name}
        known, new = matching.materials, max((place[0] for place in links.surfaces.values()), default=-1) + 1
        surfaces = {
            number: links.surfaces.get(known[number], (new, 0)) if number in known else (new + number, 0)
            for number in range(len(scene.materials))
        }
        sampled = (keys for keys in document.find(Keys) if interpolation_of(keys) is Interpolation.SAMPLED)
        samples = {keys.offset: keys.times for keys in sampled if keys.offset is not None}
        rest = rest_world(original.scene)
        matrices = {new: (links.world[old], rest[old]) for new, old in matching.nodes.items()}
        return _Nesting(original).nested(
            write_records(scene, OriginalConventions(names, surfaces, samples, matrices, original.untouched))
        )


class _Nesting:
    """The position of the nodes and materials of a scene in its document."""

    def __init__(self, original: bridge.Original) -> None:
        matching, parts = original.matching, original.links.parts
        self.parents: dict[int, Block] = {}
        records: dict[Any, Block] = {}
        for record in original.document.find(Block):
            self.parents |= {id(child): record for child in record.children}
            records[parts.get(id(record))] = record
        self.homes: dict[Hashable, Block] = {}
        """record in the document of each node or material of the scene that is written"""
        for kind, numbers in (("nodes", matching.nodes), ("materials", matching.materials)):
            self.homes |= {(kind, new): records[kind, old] for new, old in numbers.items() if (kind, old) in records}
        self.containers: dict[int, Block] = {}
        """new block for each block of the document that contains others, by its `id`"""
        self.parts: dict[int, Hashable] = {}

    def nested(self, written: Written) -> Written:
        self.parts = dict(written.parts)
        records = self._placed(written.document.records)
        return written._replace(document=replace(written.document, records=records), parts=self.parts)

    def _placed(self, records: list[Record]) -> list[Record]:
        nested: list[Record] = []
        for record in records:
            home = self.homes.get(self.parts.get(id(record)))
            if home is not None and type(home) is not type(record):
                copied = type(home)(home.values)
                copied.children = record.children
                self.parts[id(copied)] = self.parts.pop(id(record))
                record = copied
            if isinstance(record, Block) and record.keyword == b"MATERIAL_LIST":
                materials = self._placed([child for child in record.children if isinstance(child, Block)])
                record.children = [line("MATERIAL_COUNT", len(materials)), *materials]
            place = self._container(home, record)
            if not any(known is place for known in nested):
                nested.append(place)
        return nested

    def _container(self, home: Block | None, record: Record) -> Record:
        """Return a record inside new blocks for all blocks that contain it in the document."""
        parent = None if home is None else self.parents.get(id(home))
        while parent is not None and parent.keyword in _CONTAINERS:
            known = self.containers.setdefault(id(parent), type(parent)(parent.values))
            if not any(child is record for child in known.children):
                inside = [*(child for child in known.children if not isinstance(child, Line)), record]
                word = _CONTAINERS[parent.keyword]
                known.children = [*([] if word is None else [line(word, len(inside))]), *inside]
            record, parent = known, self.parents.get(id(parent))
        return record
