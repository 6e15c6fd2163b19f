"""What a format's module ``bridge.patching`` offers, and what is taken where it leaves something out.

It has a class ``Patch(document, options, after, report)`` whose ``apply(changed)`` changes a document in place where
fields of the scene changed, and raises `Unpatchable` for what has no place in it. Where nodes or materials may come and
go it also has ``anchors(document, options)``, the records that nodes and materials of the scene stand for, and
``restructure(document, options, before, after, matching, report)``, which takes records out and puts new ones in and
returns those of new nodes and materials by their numbers in ``after``. Where nodes are rows of a table instead it has
``rebuild`` with the same arguments, which returns `Rebuilt`.

What else it may have:

* ``NO_PLACE``: the fields of scenes that no document of the format can say, and ``has_no_place(scene, path)`` for
  those that depend on more than their names
* ``in_its_terms(scene, before, report)``: the scene as the format would say it
* ``in_its_order(scene, stored, report)``: the same for its lists, when they stand as the document has them
* ``out_of_order(scene)``: whether nodes that all stay need another order
* ``with_copies(options)``: the files beside the document as copies that may be changed
* ``companions(document, options)``: the bytes of those files
* ``agrees(document, asked, options)``: whether options for writing ask for what the document is
* ``as_asked(written, asked)``: of several files that belong together the one that is asked for first
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from keyframer.errors import FormatError
from keyframer.formats._document import Document
from keyframer.formats._format import Format
from keyframer.formats._matching import Matching, Rebuilt
from keyframer.formats._scenediff import Path
from keyframer.formats._unheld import fits
from keyframer.formats._writing import Unpatchable, Written
from keyframer.scene import Scene
from keyframer.scene.report import LossReport
from keyframer.wire.record import Record

Key = tuple[int, int]
"""of a record"""


class Change(NamedTuple):
    """What nodes and materials that come and go are made of."""

    before: Scene
    after: Scene
    matching: Matching
    report: LossReport


class PatchModule:
    """A format's module ``bridge.patching``, and what is taken where it leaves something out."""

    def __init__(self, format: Format) -> None:
        self.format = format

    def _own(self, name: str) -> Any:
        return self.format._load_if_there("bridge.patching", name)

    def _options(self, given: Mapping[str, object]) -> Any:
        return self.format._load("bridge", "Options")(**given)

    @property
    def holds_unit(self) -> bool:
        """Whether documents say how long a unit of length is."""
        return bool(self._own("HOLDS_UNIT"))

    @property
    def said_otherwise(self) -> tuple[type[Record], ...]:
        """Kinds of records that mean the same as others that writers use."""
        found: tuple[type[Record], ...] = self._own("SAID_OTHERWISE") or ()
        return found

    def no_place(self, scene: Scene, path: Path) -> bool:
        """Whether a field of a scene is one that no document of the format can say."""
        own = self._own("has_no_place")
        return fits(path, self._own("NO_PLACE") or ()) or (own is not None and bool(own(scene, path)))

    def agrees(self, original: Document, asked: dict[str, object], options: Mapping[str, object]) -> bool:
        """Whether the layout that is asked for is the original's, which was read with these options."""
        own = self._own("agrees")
        return bool(own(original, asked, options)) if own is not None else not asked

    def as_asked(self, written: Written, asked: dict[str, object]) -> Written:
        """What was written, the file that is asked for first."""
        own = self._own("as_asked")
        found: Written = written if own is None else own(written, asked)
        return found

    def with_copies(self, options: Mapping[str, object]) -> dict[str, object]:
        own = self._own("with_copies")
        return dict(options) if own is None else dict(own(options))

    def in_its_terms(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        own = self._own("in_its_terms")
        found: Scene = scene if own is None else own(scene, before, report)
        return found

    def in_its_order(self, scene: Scene, stored: Scene, report: LossReport) -> Scene:
        own = self._own("in_its_order")
        found: Scene = scene if own is None else own(scene, stored, report)
        return found

    def out_of_order(self, scene: Scene) -> bool:
        own = self._own("out_of_order")
        return own is not None and bool(own(scene))

    def companions(self, original: Document, options: Mapping[str, object]) -> tuple[tuple[str, bytes], ...]:
        own = self._own("companions")
        found: tuple[tuple[str, bytes], ...] = own(original, options) if own is not None else ()
        return found

    def patch(self, made: Document, options: Mapping[str, object], goal: Scene, report: LossReport) -> Any:
        own = self._own("Patch")
        if own is None:
            raise Unpatchable("this format's documents cannot be patched")
        return own(made, self._options(options), goal, report)

    def anchors(self, made: Document, options: Mapping[str, object]) -> tuple[list[Key], list[Key]]:
        """A key for the record of each node and of each material of the scene."""
        own = self._own("anchors")
        if own is None:
            raise Unpatchable("nodes came or went")
        nodes, materials = own(made, self._options(options))
        return _keys(nodes), _keys(materials)

    def rebuild(self, made: Document, options: Mapping[str, object], change: Change) -> Rebuilt | None:
        """The document with other nodes, where its nodes are rows of a table; None where they are records."""
        own = self._own("rebuild")
        if own is None:
            return None
        found: Rebuilt = own(made, self._options(options), *change)
        return found

    def restructure(
        self, made: Document, options: Mapping[str, object], change: Change
    ) -> tuple[dict[int, Key], dict[int, Key]]:
        """Takes records out and puts new ones in; keys for those of new nodes and of new materials."""
        nodes, materials = self._own("restructure")(made, self._options(options), *change)
        return (
            {number: (id(record), 0) for number, record in nodes.items()},
            {number: (id(record), 0) for number, record in materials.items()},
        )

    def read_again(self, made: Document, options: Mapping[str, object]) -> Scene:
        """What readers of the file will find."""
        try:
            document = self.format.decode(self.format.encode(made), made.limits)
        except (FormatError, ValueError) as error:
            raise Unpatchable(f"it would not be a readable file: {error}") from None
        if document.dialect != made.dialect:
            raise Unpatchable(f"readers would take it for {document.dialect}")
        scene = self.format.to_scene(document, options)
        for issues in (document.issues, scene.issues):
            unsafe = issues.first_unsafe()
            if unsafe is not None:
                raise Unpatchable(f"it would not be a sound file: {unsafe.code} in {unsafe.path}")
        return scene


def _keys(records: Iterable[object]) -> list[Key]:
    """Records as keys; one that stands for several nodes is a key for each of them."""
    seen: Counter[int] = Counter()
    found = []
    for record in records:
        found.append((id(record), seen[id(record)]))
        seen[id(record)] += 1
    return found
