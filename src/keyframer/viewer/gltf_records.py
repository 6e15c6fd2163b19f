"""The parts of a glTF file as records: chunks, the lists of the JSON text and what is in them, views and accessors."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from keyframer.exchange.gltf.read.file_layout import Layout
from keyframer.exchange.gltf.read.json_text import Item
from keyframer.viewer.json_data import shown
from keyframer.viewer.record_bytes import Records

_INNER = {"animations": ("samplers", "channels")}
"""lists in what lists of the text hold, that tracks are made of"""

Row = tuple[int, int, str, str]
"""first byte, end, path and name"""


class GltfRecords(Records):
    """Of one file. ``numbers`` are those of the records by path, such as ``/nodes[3]``."""

    def __init__(self, layout: Layout, size: int) -> None:
        super().__init__()
        self._names: list[str] = []
        self.numbers: dict[str, int] = {}
        rows = [*_chunks(layout, size), *_text(layout), *_numbers(layout)]
        rows.sort(key=lambda row: (row[0], -row[1]))
        self._nest(rows)

    def name(self, number: int) -> str:
        return self._names[number]

    def _nest(self, rows: list[Row]) -> None:
        self.ends = array("q", [row[1] for row in rows])
        around: list[int] = []
        for number, (start, end, path, name) in enumerate(rows):
            while around and self.ends[around[-1]] < end:  # views may overlap: a record is in what holds all of it
                around.pop()
            self.starts.append(start)
            self.parents.append(around[-1] if around else -1)
            self._names.append(name)
            self.numbers.setdefault(path, number)
            around.append(number)


def _chunks(layout: Layout, size: int) -> Iterator[Row]:
    if not layout.is_binary:
        yield 0, size, "", "glTF text"
        return
    yield 0, 12, "", "GLB header"
    yield 12, layout.text_end, "", "JSON chunk"
    if layout.binary is not None:
        yield layout.binary[0] - 8, layout.binary[1], "", "BIN chunk"


def _text(layout: Layout) -> Iterator[Row]:
    for name, span in layout.text.entries("/").items():
        yield *span, f"/{name}", shown(str(name))
        found = layout.root.value.get(str(name))
        is_path = name and "/" not in str(name)  # what is called otherwise would be taken for something else
        if is_path and type(found) is list and found and type(found[0]) is dict:
            yield from _listed(layout, "", str(name))


def _listed(layout: Layout, above: str, name: str) -> Iterator[Row]:
    path = f"{above}/{name}"
    for number, span in layout.text.entries(path).items():
        if type(number) is not int:  # an object where a list should be
            return
        here = f"{path}[{number}]"
        yield *span, here, _called(layout.root, name, number) if not above else f"{name}[{number}]"
        for inner in _INNER.get(name, ()):
            yield from _listed(layout, here, inner)
        if name == "nodes":
            yield from _listed(layout, f"{here}/extras/keyframer", "tracks")


def _called(root: Item, name: str, number: int) -> str:
    """With the name that it has itself."""
    found = root.value[name][number]
    own = found.get("name") if type(found) is dict else None
    return f"{name}[{number}] {shown(own)}" if type(own) is str and own else f"{name}[{number}]"


def _numbers(layout: Layout) -> Iterator[Row]:
    """Views and accessors in the chunk; accessors only where they have the bytes to themselves."""
    for number in range(len(layout.root.entries("bufferViews"))):
        view = layout.view(number)
        if view is not None:
            yield *view, f"bufferViews[{number}]", f"bytes of bufferViews[{number}]"
    for number, item in enumerate(layout.root.children("accessors")):
        run = layout.run(number)
        if run is not None:
            kind, count = shown(str(item.value.get("type"))), item.value.get("count")
            yield *run, f"accessors[{number}]", f"numbers of accessors[{number}], {count} {kind}"
