"""Makes damaged inputs from valid ones: by bytes, by records, by JSON values, by archive members.

Only the `random.Random` argument decides: the same seed gives the same inputs.
"""

from __future__ import annotations

import base64
import io
import json
import lzma
import marshal
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

import keyframer
from keyframer.inspecting.text_build import build_bytes
from tests.building.editing import dump_text

LARGEST = 64 * 1024
"""bytes of an input: up to this size SAFETY promises two seconds and 300 MB for everything"""

WHOLE = (0, 1, 2, 5, 6, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x15555556, 0x40000000)
WHOLE += (0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
FLOATS = ("0000c07f", "0000a07f", "0000807f", "000080ff", "ffff7f7f", "01000000", "00000080", "f9021550", "00f0c2c7")
"""quiet and signalling NaN, infinities, the largest, a denormal, -0.0, 1e10 and -1e5, as they lie in a file"""
NUMBERS = (0, -1, 1, 2, 3, 255, 65_535, 2**31 - 1, 2**31, 2**32 - 1, 2**63, -(2**31), 10**400)
NUMBERS += (-0.0, 0.5, 1e-45, 1e-300, 1e10, -1e10, 1e38, 3.5e38, 1e300)
TEXTS = (
    "",
    "nan",
    "inf",
    "-inf",
    "a" * 300,
    "../../x",
    "\x1b[31m",
    "\u202e",
    "<b>",
    "\x00",
    "é",
    "\ud800",
    "=1+1",
    "://",
)
OTHERS = ("null", "true", "{}", "[]", "[[]]", '{"a": 1}', '"0"', "0")
SAME_WHOLE = (0, 1, 2, 3, -1, -2, 127, 255, 256, 32_767, 65_535, 2**31 - 1, -(2**31), 2**32 - 1)
SAME_FLOAT: tuple[Any, ...] = ("nan", "inf", "-inf", 0.0, -0.0, 1.0, -1.0, 1e-40, 1e10, -1e5, 3e38, 100.5)


@dataclass(frozen=True)
class Seed:
    """An input to start from: valid, or damaged in a known way."""

    kind: str
    """the id of a format, or gltf, zip, text"""
    suffix: str
    data: bytes
    companions: tuple[tuple[str, bytes], ...] = ()
    """companion files: the end of the name after the stem (``.mdl``), or a whole name (``map.png``)"""

    @cached_property
    def document(self) -> keyframer.Document | None:
        try:
            return keyframer.decode(self.data, format=self.kind)
        except (keyframer.FormatError, ValueError):
            return None

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Return the offsets where records begin: ids, lengths and counts follow them."""
        todo = [] if self.document is None else list(self.document.records)
        offsets: list[int] = []
        while todo:
            record = todo.pop()
            todo += record.children
            if record.offset is not None:
                offsets.append(record.offset)
        return tuple(sorted(offsets))

    @cached_property
    def tree(self) -> Any:
        """Return the input as a JSON value if it is one: the text of a document, the JSON of a glTF file."""
        if self.kind == "gltf":
            return _gltf_json(self.data)
        text = self.data.decode("utf-8", "replace") if self.kind == "text" else None
        if text is None and self.document is not None:
            text = dump_text(self.document, offsets=False)
        try:
            return None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True)
class Input:
    """An input of the operations."""

    kind: str
    suffix: str
    data: bytes
    companions: tuple[tuple[str, bytes], ...] = ()
    how: tuple[str, ...] = field(default=(), compare=False)
    """names of the mutations"""


def mutate(seed: Seed, others: Sequence[Seed], random: Random) -> Input:
    """Return an input: a seed after one to four mutations."""
    companions = seed.companions
    if companions and random.random() < 0.5:  # the companion is damaged, the file itself is not
        at = random.randrange(len(companions))
        name, content = companions[at]
        companions = (*companions[:at], (name, _bytes_changed(content, (), others, random)), *companions[at + 1 :])
        if random.random() < 0.8:
            return Input(seed.kind, seed.suffix, seed.data, companions, ("beside",))
    data, how = seed.data, []
    if random.random() < 0.5:
        ways = _STRUCTURE.get(seed.kind, _records_changed)
        data = ways(seed, others, random)
        how += ["structure"] if data is not seed.data else []
    if not how or random.random() < 0.4:
        places = seed.places if data is seed.data else ()
        data = _bytes_changed(data, places, others, random)
        how.append("bytes")
    return Input(seed.kind, seed.suffix, data[:LARGEST], companions, tuple(how))


# -- bytes ------------------------------------------------------------------------------------------------------------


def _bytes_changed(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        data = random.choice(_BYTEWISE)(data, places, others, random)
    return data


Bytewise = Callable[[bytes, Sequence[int], Sequence[Seed], Random], bytes]


def _spot(data: bytes, places: Sequence[int], random: Random) -> int:
    """Return an offset in the file, usually shortly after the beginning of a record."""
    if places and random.random() < 0.6:
        return min(random.choice(places) + random.randrange(24), max(0, len(data) - 1))
    return random.randrange(len(data)) if data else 0


def _put(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def cut(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Truncate."""
    return data[: _spot(data, places, random)]


def flip(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Flip some bits."""
    for _ in range(random.choice((1, 1, 2, 8))):
        at = _spot(data, places, random)
        data = _put(data, at, bytes([data[at] ^ (1 << random.randrange(8))])) if data else b""
    return data


def change_integer(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Replace a length, count or index, of two or four bytes in either byte order."""
    value, form = random.choice(WHOLE), random.choice(("<H", "<I", "<I", ">I", "<B"))
    return _put(data, _spot(data, places, random), struct.pack(form, value & ((1 << 8 * struct.calcsize(form)) - 1)))


def change_float(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Insert an unusual float."""
    return _put(data, _spot(data, places, random), bytes.fromhex(random.choice(FLOATS)))


def nudge(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Change a byte by a small amount."""
    at = _spot(data, places, random)
    return _put(data, at, bytes([(data[at] + random.choice((-3, -1, 1, 2, 16))) & 255])) if data else b""


def repeat(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Repeat a range twice or hundreds of times."""
    begin = _spot(data, places, random)
    part = data[begin : begin + random.choice((1, 2, 4, 12, 40, 200))]
    return (data[:begin] + part * random.choice((2, 2, 3, 400)) + data[begin + len(part) :])[:LARGEST]


def drop(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Remove a range."""
    begin = _spot(data, places, random)
    return data[:begin] + data[begin + random.choice((1, 2, 4, 6, 30, 300)) :]


def splice(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Insert a range of another file, or replace the end by that of another file."""
    other = random.choice(others).data
    begin, source = _spot(data, places, random), random.randrange(len(other) + 1)
    if random.random() < 0.5:
        return (data[:begin] + other[source:])[:LARGEST]
    return (data[:begin] + other[source : source + random.choice((4, 16, 64, 512))] + data[begin:])[:LARGEST]


def noise(data: bytes, places: Sequence[int], others: Sequence[Seed], random: Random) -> bytes:
    """Replace a range by random bytes."""
    return _put(data, _spot(data, places, random), random.randbytes(random.choice((1, 2, 4, 16))))


_BYTEWISE: tuple[Bytewise, ...] = (
    cut,
    flip,
    change_integer,
    change_integer,
    change_float,
    nudge,
    repeat,
    drop,
    splice,
    noise,
)


# -- records and JSON -------------------------------------------------------------------------------------------------


def copied(tree: Any) -> Any:
    """Copy a JSON value, several times faster than `copy.deepcopy`: copying was a tenth of a run."""
    return marshal.loads(marshal.dumps(tree))


def tree_changed(tree: Any, random: Random, other: Any = None) -> Any:
    """Return a JSON value with one to four of its parts replaced, dropped, repeated, moved or swapped."""
    tree = copied(tree)
    for _ in range(random.choice((1, 1, 2, 4))):
        holder, key = _part(tree, random)
        if holder is None:
            return tree
        _change(holder, key, _part(tree, random), _part(other, random), random)
    return tree


def _part(tree: Any, random: Random) -> tuple[Any, Any]:
    """Return a list or object of the tree, and an index or key of it."""
    holder, key = None, None
    while isinstance(tree, (dict, list)) and tree:
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        holder, key = tree, random.choice(keys)
        tree = tree[key]
        if random.random() < 0.1:
            break
    return holder, key


def _change(holder: Any, key: Any, second: tuple[Any, Any], foreign: tuple[Any, Any], random: Random) -> None:
    old = holder[key]
    deed = random.random()
    if deed < 0.5:
        holder[key] = _other_value(old, random)
    elif deed < 0.62:
        del holder[key]
    elif deed < 0.74 and isinstance(holder, list):
        holder[key:key] = [copied(old) for _ in range(random.choice((1, 1, 3, 100)))]
    elif deed < 0.82 and isinstance(holder, list):
        random.shuffle(holder)
    elif deed < 0.92 and second[0] is not None:
        holder[key] = copied(second[0][second[1]])  # replaced by another part of the tree
    elif foreign[0] is not None:
        holder[key] = copied(foreign[0][foreign[1]])
    else:
        holder[key] = _of_another_type(random)


def _of_another_type(random: Random) -> Any:
    return json.loads(random.choice(OTHERS))


def _other_value(old: Any, random: Random) -> Any:
    if isinstance(old, bool) or random.random() < 0.05:
        return _of_another_type(random)
    if isinstance(old, (int, float)):
        near = old + random.choice((-1, 1, 2)) if isinstance(old, int) else old * random.choice((-1.0, 1e-3, 1e6))
        return near if random.random() < 0.3 else random.choice((*NUMBERS, *TEXTS[1:4]))
    if isinstance(old, str):
        return random.choice((*TEXTS, old[::-1], old * 40, old[:-1]))
    if isinstance(old, list) and old:
        return random.choice((old[: len(old) // 2], old[::-1], old * 3, [old] * 2, []))
    return _of_another_type(random)


def _records_changed(seed: Seed, others: Sequence[Seed], random: Random) -> bytes:
    """Return the seed with records or keys moved, dropped, repeated or changed; encoded again, so that lengths
    match."""
    if seed.tree is None:
        return seed.data
    other = random.choice(others)
    for _ in range(6):  # some changes give a text that no file can be built from
        changed = copied(seed.tree)
        for _ in range(random.choice((1, 1, 2, 4))):
            _change_records(changed, other.tree if other.kind == seed.kind else None, random)
        try:
            rebuilt = build_bytes(json.dumps(changed))[1]
        except (keyframer.FormatError, ValueError, OverflowError):
            continue
        if rebuilt != seed.data:
            return rebuilt[:LARGEST]
    return seed.data


def _homes(tree: Any) -> list[list[Any]]:
    """Return every list that contains records."""
    homes, todo = [], [tree["records"]]
    while todo:
        here = todo.pop()
        if here:
            homes.append(here)
            todo += [record["children"] for record in here if record.get("children")]
    return homes


def _change_records(tree: Any, other: Any, random: Random) -> None:
    homes = _homes(tree)
    if not homes:
        return
    home, target = random.choice(homes), random.choice(homes)
    at = random.randrange(len(home))
    deed = random.random()
    if deed < 0.6:
        _change_field(home[at].get("fields"), random)
    elif deed < 0.7:
        del home[at]
    elif deed < 0.8:
        home[at:at] = [copied(home[at]) for _ in range(random.choice((1, 1, 2, 60)))]
    elif deed < 0.86:
        target.insert(random.randrange(len(target) + 1), copied(home[at]))
    elif deed < 0.91:
        random.shuffle(home)
    elif deed < 0.96 and other is not None and other.get("records"):
        foreign = random.choice(_homes(other) or [[]])
        home.insert(at, copied(random.choice(foreign)))
    else:
        home[at]["tail"] = random.randbytes(random.choice((1, 4, 30))).hex()


def _change_field(fields: Any, random: Random) -> None:
    """Replace a value by one of the same type, or drop, repeat or reorder rows of a table."""
    holder, key = _part(fields, random)
    if holder is None:
        return
    old = holder[key]
    if isinstance(old, list) or (isinstance(holder, list) and random.random() < 0.3):
        rows = old if isinstance(old, list) else holder
        deed = random.randrange(4)
        if deed == 0:
            del rows[random.randrange(len(rows) + 1) :]
        elif deed == 1:
            rows += copied(rows) * random.choice((1, 3, 20))
        elif deed == 2:
            random.shuffle(rows)
        else:
            del rows[:1]
    elif isinstance(old, bool):
        holder[key] = not old
    elif isinstance(old, int):
        holder[key] = random.choice((*SAME_WHOLE, old + 1, old - 1, 2 * old))
    elif isinstance(old, float) or old in SAME_FLOAT:
        holder[key] = random.choice(SAME_FLOAT)
    elif isinstance(old, str):
        holder[key] = random.choice(("", "a" * 300, old * 3, old[:-1], "..\\x", "<b>", "\x1b", "00"))


def _text_changed(seed: Seed, others: Sequence[Seed], random: Random) -> bytes:
    changed = tree_changed(seed.tree, random, random.choice(others).tree)
    text = json.dumps(changed, indent=random.choice((None, 1)))
    deed = random.random()
    if deed < 0.1 and ":" in text:  # a repeated key
        text = text.replace("{", '{"record": 1, "record": 2, ', 1)
    elif deed < 0.2:
        text = text.replace("0", "NaN", 1)
    elif deed < 0.25:
        text = "[" * random.choice((10, 900, 5_000)) + text
    return text.encode("utf-8", "surrogatepass")


# -- glTF -------------------------------------------------------------------------------------------------------------


def _gltf_json(data: bytes) -> Any:
    try:
        if data[:4] != b"glTF":
            return json.loads(data)
        length = struct.unpack_from("<I", data, 12)[0]
        return json.loads(data[20 : 20 + length])
    except (ValueError, struct.error, RecursionError):
        return None


def _gltf_changed(seed: Seed, others: Sequence[Seed], random: Random) -> bytes:
    """Change the JSON of a glTF file and pack it again; or move a chunk of the container, or change its length."""
    if seed.tree is None:
        return seed.data
    other = random.choice(others)
    changed = tree_changed(seed.tree, random, other.tree if other.kind == "gltf" else None)
    text = json.dumps(changed).encode("utf-8", "surrogatepass")
    if seed.data[:4] != b"glTF":
        return _buffer_changed(text, changed, random)
    length = struct.unpack_from("<I", seed.data, 12)[0]
    rest = seed.data[20 + length :]
    text += b" " * (-len(text) % 4)
    claimed = len(text) if random.random() < 0.95 else random.choice(WHOLE)
    parts = struct.pack("<II", claimed & 0xFFFFFFFF, 0x4E4F534A) + text + rest
    total = 12 + len(parts) if random.random() < 0.95 else random.choice(WHOLE)
    return b"glTF" + struct.pack("<II", 2, total & 0xFFFFFFFF) + parts


def _buffer_changed(text: bytes, tree: Any, random: Random) -> bytes:
    """Sometimes change numbers in the buffer of a glTF text."""
    if random.random() < 0.7 or not isinstance(tree, dict):
        return text
    prefix = b";base64,"
    at = text.find(prefix)
    end = text.find(b'"', at)
    if at < 0 or end < 0:
        return text
    try:
        numbers = base64.b64decode(text[at + len(prefix) : end])
    except ValueError:
        return text
    numbers = _bytes_changed(numbers, range(0, len(numbers), 4), [Seed("gltf", "", numbers)], random)
    return text[: at + len(prefix)] + base64.b64encode(numbers) + text[end:]


# -- archives ---------------------------------------------------------------------------------------------------------

NAMES = (
    "",
    "a.3ds",
    "a.3ds",
    "../x.3ds",
    "/x.3ds",
    "a://b.3ds",
    "b/",
    "A.3DS",
    "x" * 250 + ".3ds",
    "a\\b.3ds",
    "é.3ds",
)


def _members(data: bytes) -> list[tuple[str, bytes]]:
    """Return names and contents of an archive; none if any of them cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as source:
            return [(info.filename, source.read(info)) for info in source.infolist()]
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, EOFError, zlib.error, lzma.LZMAError):
        return []


def _archive_changed(seed: Seed, others: Sequence[Seed], random: Random) -> bytes:
    """Change members, names, compression methods and order of an archive; sometimes put one inside another."""
    archive_bytes = io.BytesIO()
    members = _members(seed.data)
    for _ in range(random.randrange(3)):
        other = random.choice(others)
        members.append((random.choice(NAMES) or f"m{other.suffix}", other.data))
    random.shuffle(members)
    with zipfile.ZipFile(archive_bytes, "w") as archive:
        for number, (name, content) in enumerate(members[:6]):
            method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
            info = zipfile.ZipInfo(f"m{number}.3ds")
            info.filename = name if random.random() < 0.6 else random.choice(NAMES)
            info.compress_type = method
            if random.random() < 0.3:
                content = _bytes_changed(content, (), others, random)
            archive.NameToInfo.pop(info.filename, None)  # a second member with the same name is a warning
            archive.writestr(info, content)
    return archive_bytes.getvalue()


# -- stage archives ---------------------------------------------------------------------------------------------------

_TAG = re.compile(rb"<[^>]*>")
_VALUE = re.compile(rb'(?<=")[^"<>]*(?=")|(?<=>)[^<>]+(?=<)')
XML_VALUES = (b"", b"0", b"-1", b"nan", b"1e300", b"{1,0,0}", b"{0,0,0}{0,0,0}{0,0,0}{0,0,0}", b"../x.3ds", b"&amp;")
XML_VALUES += (b"a" * 300, b"\xff", b"&#0;", b"&x;", b"65536", b"Base", b"Default", b"floor.3ds", b"<!--")


def _stage_changed(seed: Seed, others: Sequence[Seed], random: Random) -> bytes:
    """Change, rename, repeat or drop one member of a show or fixture, and pack it as a valid archive."""
    members = _members(seed.data)
    if not members:
        return seed.data
    at = random.randrange(len(members)) if random.random() < 0.5 else 0  # the description is the first member
    name, content = members[at]
    deed = random.random()
    if deed < 0.8:
        members[at] = (name, _member_changed(name, content, others, random))
    elif deed < 0.87:
        members[at] = (random.choice((*NAMES, name.upper(), name.replace(".", "..")))[:200], content)
    elif deed < 0.94:
        del members[at]
    else:
        members.append((random.choice(members)[0], content))
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in members:
            archive.NameToInfo.pop(name, None)  # a second member with the same name is a warning
            archive.writestr(zipfile.ZipInfo(name), content)
    return archive_bytes.getvalue()


def _member_changed(name: str, content: bytes, others: Sequence[Seed], random: Random) -> bytes:
    if name.endswith(".xml"):
        for _ in range(random.choice((1, 1, 2, 4))):
            content = _xml_changed(content, random)
        return content
    if name.endswith(".gdtf"):
        return _stage_changed(Seed("gdtf", ".gdtf", content), others, random)
    return _bytes_changed(content, (), others, random)


def _xml_changed(text: bytes, random: Random) -> bytes:
    """Replace a value in XML, or drop, repeat or move a range between two tags."""
    values, tags = list(_VALUE.finditer(text)), list(_TAG.finditer(text))
    if random.random() < 0.6 and values:
        value = random.choice(values)
        new = random.choice(values).group() if random.random() < 0.3 else random.choice(XML_VALUES)
        return text[: value.start()] + new + text[value.end() :]
    if not tags:
        return text
    first = random.randrange(len(tags))
    last = min(first + random.choice((0, 1, 2, 5)), len(tags) - 1)
    begin, end = tags[first].start(), tags[last].end()
    deed = random.random()
    if deed < 0.4:
        return text[:begin] + text[end:]
    at = end if deed < 0.7 else random.choice(tags).end()
    return (text[:at] + text[begin:end] * random.choice((1, 1, 2, 100)) + text[at:])[:LARGEST]


_STRUCTURE: dict[str, Callable[[Seed, Sequence[Seed], Random], bytes]] = {
    "gltf": _gltf_changed,
    "text": _text_changed,
    "zip": _archive_changed,
    "mvr": _stage_changed,
    "gdtf": _stage_changed,
}
