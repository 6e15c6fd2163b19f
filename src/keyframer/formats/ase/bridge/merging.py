"""Merge an edited scene into its ASE document: how records are matched, and where new ones are placed.

Lines are matched by keyword; nodes, their animations and materials by the part of the scene that they store. Keys of
positions match keys of positions even if the controller changed; the same holds for rotations and scales. The writer
makes no groups and no sub-materials for a merge; here nodes and materials are moved into the groups and materials that
contain them in the original.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from keyframer.formats import bridge
from keyframer.formats.ase.bridge.declared_fields import line
from keyframer.formats.ase.bridge.scene import Links, Options, read_scene
from keyframer.formats.ase.bridge.writing import OriginalConventions, write_records
from keyframer.formats.ase.records import Block, Keys, Line
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import CannotMerge, Written, rest_world
from keyframer.formats.merging import RecordRules, Tree
from keyframer.scene import Scene
from keyframer.wire.record import Record

_CONTAINERS = {b"GROUP": None, b"MATERIAL": "NUMSUBMTLS", b"SUBMATERIAL": "NUMSUBMTLS"}
"""blocks that contain nodes or materials, and the keyword of the line that counts materials"""


class LineRules(RecordRules):
    def kind(self, record: Record) -> object:
        if isinstance(record, (Line, Block)):
            return record.keyword
        return record.keyword.split(b"_")[1] if isinstance(record, Keys) else type(record)

    def key(self, record: Record) -> Hashable:
        """Return the name of a group or the number of a material, which identifies it; None for other records."""
        return record.values if isinstance(record, Block) and record.keyword in _CONTAINERS else None


class Merger(bridge.Merger[Options]):
    rules = LineRules()

    def read(self, document: Document, options: Options) -> tuple[Scene, Links]:
        return read_scene(document, options)

    def tree(self, document: Document, scene: Scene, links: Links) -> Tree:
        return Tree(document, links.parts)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        links, matching = original.links, original.matching
        _check_groups(scene, original)
        stored = {new: original.scene.nodes[old].raw_name for new, old in original.unrenamed(scene).items()}
        names = {new: raw_name for new, raw_name in stored.items() if raw_name}
        matched = matching.materials
        first_unused = max((reference for reference, _ in links.materials.values()), default=-1) + 1
        materials = {
            number: links.materials.get(matched[number], (first_unused, 0))
            if number in matched
            else (first_unused + number, 0)
            for number in range(len(scene.materials))
        }
        rest_matrices = rest_world(original.scene)
        matrices = {new: (links.world[old], rest_matrices[old]) for new, old in matching.nodes.items()}
        return _Nesting(original).apply(
            write_records(scene, OriginalConventions(names, materials, matrices, original.untouched))
        )


def _check_groups(scene: Scene, original: bridge.Original) -> None:
    """Raise `CannotMerge` if a group was renamed, removed or emptied, or a node left the group around its block."""
    numbers = {old: new for new, old in original.matching.nodes.items()}
    unrenamed = original.unrenamed(scene)
    for node, group in original.links.parents_by_group.items():
        number = numbers.get(node)
        if number is not None and scene.nodes[number].parent != (None if group is None else numbers.get(group)):
            raise CannotMerge(f"{original.scene.nodes[node].name} left its group")
    for node in original.links.group_nodes:
        if numbers.get(node) not in unrenamed:
            raise CannotMerge(f"the group {original.scene.nodes[node].name} was renamed or removed")
        members = [member for member, group in original.links.parents_by_group.items() if group == node]
        if members and not any(member in numbers for member in members):
            raise CannotMerge(f"all nodes of the group {original.scene.nodes[node].name} were removed")


class _Nesting:
    """Moves written nodes and materials into copies of the groups and materials that contain them in the original."""

    def __init__(self, original: bridge.Original) -> None:
        matching, parts = original.matching, original.links.parts
        self.parents: dict[int, Block] = {}
        records: dict[Any, Block] = {}
        for record in original.document.find(Block):
            self.parents |= {id(child): record for child in record.children}
            records[parts.get(id(record))] = record
        self.originals: dict[Hashable, Block] = {}
        """original record of each node or material of the written scene that has one"""
        for kind, numbers in (("nodes", matching.nodes), ("materials", matching.materials)):
            known = {new: old for new, old in numbers.items() if (kind, old) in records}
            self.originals |= {(kind, new): records[kind, old] for new, old in known.items()}
        self.containers: dict[int, Block] = {}
        """copy of each group or material of the original that contains others, by the `id` of the original record"""
        self.parts: dict[int, Hashable] = {}

    def apply(self, written: Written) -> Written:
        self.parts = dict(written.parts)
        records = self._with_containers(written.document.records)
        return written._replace(document=replace(written.document, records=records), parts=self.parts)

    def _with_containers(self, records: list[Record]) -> list[Record]:
        nested: list[Record] = []
        for record in records:
            original = self.originals.get(self.parts.get(id(record)))
            if original is not None and type(original) is not type(record):
                copied = type(original)(original.values)
                copied.children = record.children
                self.parts[id(copied)] = self.parts.pop(id(record))
                record = copied
            if isinstance(record, Block) and record.keyword == b"MATERIAL_LIST":
                materials = self._with_containers([child for child in record.children if isinstance(child, Block)])
                record.children = [line("MATERIAL_COUNT", len(materials)), *materials]
            outermost = self._container(original, record)
            if not any(added is outermost for added in nested):
                nested.append(outermost)
        return nested

    def _container(self, original: Block | None, record: Record) -> Record:
        """Put a record into copies of the blocks that contain its original; return the outermost copy, or the record if
        there are none.
        """
        parent = None if original is None else self.parents.get(id(original))
        while parent is not None and parent.keyword in _CONTAINERS:
            container = self.containers.setdefault(id(parent), type(parent)(parent.values))
            if not any(child is record for child in container.children):
                children = [*(child for child in container.children if not isinstance(child, Line)), record]
                counter = _CONTAINERS[parent.keyword]
                container.children = [*([] if counter is None else [line(counter, len(children))]), *children]
            record, parent = container, self.parents.get(id(parent))
        return record
