"""Images that stand inside the file: in buffer views and data URIs, taken out as bytes and not decoded."""

from __future__ import annotations

from keyframer.exchange.gltf.reading.buffers import Buffers, inline
from keyframer.exchange.gltf.reading.values import Item
from keyframer.limits import Budget
from keyframer.scene import EmbeddedImage

_KINDS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"RIFF", "image/webp"),
    (b"\xabKTX", "image/ktx2"),
)


class ImageReader:
    """Each image is taken out once, whatever uses it."""

    def __init__(self, root: Item, buffers: Buffers, budget: Budget) -> None:
        self.items = root.children("images")
        self._buffers = buffers
        self._budget = budget
        self._taken: dict[int, tuple[bytes, str]] = {}

    def name(self, number: int) -> str:
        """What it is called where the file calls it anything."""
        return self.items[number].text("name", "") or f"image {number}"

    def is_inside(self, number: int) -> bool:
        uri = self.items[number].text("uri", "")
        return not uri or uri[:5].lower() == "data:"

    def take(self, number: int, role: str, makes_holes: bool = True) -> EmbeddedImage | None:
        """The image, None where it is a file of its own."""
        if not self.is_inside(number):
            return None
        if number not in self._taken:
            self._taken[number] = self._take(self.items[number])
        data, kind = self._taken[number]
        return EmbeddedImage(self.name(number), data, kind, role, makes_holes)

    def _take(self, item: Item) -> tuple[bytes, str]:
        if item.has("uri"):
            uri = item.text("uri")
            data = inline(item, uri)
            claimed = uri[5:].partition(",")[0].partition(";")[0]
        else:
            view = item.needed_index("bufferView", self._buffers.view_count, "buffer view")
            content, _ = self._buffers.view(view)
            self._budget.spend("copies", len(content), item.at("bufferView"))
            data, claimed = bytes(content), ""
        known = next((kind for head, kind in _KINDS if data.startswith(head)), None)
        return data, known or item.text("mimeType", claimed)
