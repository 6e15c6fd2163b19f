"""Resources of the page by path, the same for the server, the web worker and the standalone page. Paths contain the
numbers of files and of their parts, never the name of a file or a name that a file contains.

Files that a user drops on the page find others, such as their images, in memory; a zip archive stands for its members.
The body of ``POST /open`` is the length of an index (four bytes, little endian), the index in JSON (a name and a size
for each file), and the contents one after the other. Names are only compared with each other, never used as paths.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from keyframer.catalogue import LIMIT_MEMORY
from keyframer.errors import FormatError
from keyframer.exchange import importer_for
from keyframer.exchange.opening import OpenedFile
from keyframer.files.zip_archives import Archive
from keyframer.limits import DEFAULT_LIMITS, Budget, Limits
from keyframer.text import safe_text
from keyframer.textures import TextureFinder, TextureSource
from keyframer.textures.file_names import split_name
from keyframer.textures.texture_finder import EXTENSIONS, Listing
from keyframer.viewer.file_description import SCHEMA, SCHEMA_VERSION
from keyframer.viewer.json_data import to_json
from keyframer.viewer.viewed_file import BLOCK, LoadedFile, ViewedFile

MOST_FILES = 10_000
LONGEST_INDEX = 4 << 20
"""maximum number of bytes of the index"""


class BadDrop(ValueError):
    """The body of a request cannot be opened; the message is for the user."""


class TooLarge(BadDrop):
    """The files need more memory than is left."""

    def __init__(self, room: int) -> None:
        super().__init__(f"too large: dropped files are kept in memory, with room for {max(room, 0):,} more bytes")


@dataclass(frozen=True, slots=True)
class DroppedFile:
    """A file that was dropped on the page."""

    name: str
    """with its folders, separated by ``/``"""
    data: bytes

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def base(self) -> str:
        return self.name.rpartition("/")[2]


def dropped_files(body: bytes) -> list[DroppedFile]:
    """Return the files in the body of a request; raises `BadDrop` if it is invalid."""
    length = int.from_bytes(body[:4], "little")
    if len(body) < 4 or length > min(LONGEST_INDEX, len(body) - 4):
        raise BadDrop("the list of files is truncated or too long")
    try:
        index = json.loads(body[4 : 4 + length])
    except (ValueError, RecursionError):
        raise BadDrop("the list of files is not JSON") from None
    if not isinstance(index, list) or not 0 < len(index) <= MOST_FILES:
        raise BadDrop(f"1 to {MOST_FILES} files can be opened at once")
    files, at = [], 4 + length
    for entry in index:
        match entry:
            case [str(name), int(size)] if type(size) is int and 0 <= size <= len(body) - at:
                files.append(DroppedFile(name.replace("\\", "/").strip("/"), body[at : at + size]))
                at += size
            case _:
                raise BadDrop("the list of files does not match the data")
    if at != len(body):
        raise BadDrop("the list of files does not match the data")
    return files


def view_dropped(files: Sequence[DroppedFile], limits: Limits, *, salvage: bool = False) -> list[ViewedFile]:
    """Return the files that a reader recognises, each with access to the others; if none is recognised, all except
    images. Raises `BadDrop` if there are only images, or if a zip archive cannot be read."""
    files = _unpacked(files, limits)
    neighbours = _Neighbours(files)
    opened = [
        OpenedFile(file.data, name=file.base, limits=limits, find_file=partial(neighbours.find, referrer=file))
        for file in files
    ]
    known = [_is_known(opening) for opening in opened]
    shown = [
        _viewed(file.name, opening, salvage)
        for file, opening, is_known in zip(files, opened, known, strict=True)
        if is_known or (not any(known) and os.path.splitext(file.base)[1].lower() not in EXTENSIONS)
    ]
    if not shown:
        raise BadDrop("there is no scene among these files: drop the scene together with its images")
    return shown


def _unpacked(files: Sequence[DroppedFile], limits: Limits) -> list[DroppedFile]:
    """Return the files with the members of zip archives in place of these, unless a reader takes the whole archive."""
    unpacked: list[DroppedFile] = []
    room = limits.file_size
    for file in files:
        if file.data[:4] != b"PK\x03\x04" or importer_for(file.data, file.base) is not None:
            unpacked.append(file)
            continue
        try:
            archive = Archive(io.BytesIO(file.data), len(file.data), limits)
            members = [member for member in archive.members if not member.is_dir()]
            room -= sum(member.file_size for member in members)
            if room < 0:
                raise TooLarge(limits.file_size)
            if len(unpacked) + len(members) > MOST_FILES:
                raise BadDrop(f"1 to {MOST_FILES} files can be opened at once")
            for member in members:
                name = f"{file.name}/{member.filename}".replace("\\", "/")
                unpacked.append(DroppedFile(name, archive.read(member)))
        except FormatError as error:
            raise BadDrop(f"{file.base}: {error.message}") from None
    return unpacked


def _is_known(opened: OpenedFile) -> bool:
    with suppress(FormatError):
        return opened.reader is not None
    return False


class _Neighbours:
    """Finds dropped files by the names in a scene: in the folder of the name, next to the scene, then anywhere."""

    def __init__(self, files: Sequence[DroppedFile]) -> None:
        self._folders: dict[str, dict[str, DroppedFile]] = {}
        for file in files:
            self._folders.setdefault(file.folder, {}).setdefault(file.base, file)
        self._listings = {
            folder: Listing([(name, False) for name in sorted(names)]) for folder, names in self._folders.items()
        }

    def find(self, wanted: str, referrer: DroppedFile) -> tuple[str, bytes] | None:
        """Return name and content of a dropped file with this name, or of an image with a similar name; never the file
        that refers to it."""
        parts = split_name(wanted).parts
        if not parts:
            return None
        named_folder = "/".join([*([referrer.folder] if referrer.folder else []), *parts[:-1]])
        for folder in dict.fromkeys((named_folder, referrer.folder, *sorted(self._folders))):
            for names, _ in self._listings[folder].search(parts[-1]) if folder in self._folders else ():
                for name in names:
                    file = self._folders[folder][name]
                    if file is not referrer:
                        return file.base, file.data
        return None


def _viewed(name: str, opened: OpenedFile, salvage: bool) -> ViewedFile:
    def load() -> LoadedFile:
        loaded = LoadedFile(opened, textures=TextureSource(TextureFinder([])))
        try:
            loaded.scene = opened.scene(salvage=salvage)
        except FormatError as error:
            loaded.failure = error
        return loaded

    return ViewedFile(name, load, Budget(opened.limits, len(opened.data)))


JSON, BINARY, GLB = "application/json", "application/octet-stream", "model/gltf-binary"

_NUMBER = "(0|[1-9][0-9]{0,8})"
_FILE = re.compile(f"/data/{_NUMBER}/([a-z]+)(?:/{_NUMBER})?")
_RECOVER = re.compile(f"/recover/{_NUMBER}")
_CLOSE = re.compile(f"/close/{_NUMBER}")

Resource = tuple[str, bytes]
"""content type and content"""


def error_line(error: Exception) -> str:
    """Return why a request failed, in one line; the page shows the code and the place of an error among the issues."""
    return safe_text(error.message if isinstance(error, FormatError) else str(error))


class Resources:
    """The resources of the files of one page, and the files that its user opens, which are kept in memory."""

    def __init__(
        self,
        files: Sequence[ViewedFile],
        limits: Limits = DEFAULT_LIMITS,
        *,
        salvage: bool = False,
        page: Callable[[ViewedFile], bytes] | None = None,
    ) -> None:
        """``limits`` and ``salvage`` apply to opened files; ``page`` makes the standalone page of a file."""
        self.files = list(files)
        self._limits = limits
        self._salvage = salvage
        self._page = page
        self.room = limits.file_size
        """number of bytes of files that can still be opened"""
        self._drops: dict[int, int] = {}
        """for each opened file: the number of the first file that was opened with it"""
        self._sizes: dict[int, int] = {}
        """bytes that were opened, by the number of the first file"""

    def names(self) -> list[dict[str, object]]:
        """Return number and name of each file, for the list of files."""
        return [{"id": number, "name": file.name} for number, file in enumerate(self.files)]

    def get(self, path: str) -> Resource | None:
        """Return the resource at a path; None if there is none.

        Raises `FormatError` if a limit is exceeded, `CannotWrite` if the scene cannot be saved in a format. If there is
        not enough memory for a file, all that was opened with it is closed.
        """
        try:
            return self._get(path)
        except MemoryError:
            match = _FILE.fullmatch(path)
            if match is not None:
                self._close(int(match[1]))
            raise

    def _get(self, path: str) -> Resource | None:
        if path == "/data/files":
            about = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "block": BLOCK}
            return JSON, to_json({**about, "limit": self._limits.file_size, "files": self.names()})
        match = _FILE.fullmatch(path)
        if match is None or int(match[1]) >= len(self.files):
            return None
        file, part = self.files[int(match[1])], match[2]
        if part == "page" and match[3] is None and self._page is not None:
            return BINARY, self._page(file)  # as a download, so that no browser runs it with our origin
        if match[3] is None:
            whole = {"scene": file.scene, "model": file.model, "losses": file.losses, "records": file.records}
            content = whole[part]() if part in whole else None
        else:
            parts = {
                "clip": file.clip,
                "lamps": file.lights,
                "track": file.track,
                "records": file.record_page,
                "bytes": file.block,
                "report": file.save_report,
                "save": file.save,
            }
            content = parts[part](int(match[3])) if part in parts else None
        kind = {"model": GLB, "bytes": BINARY, "save": BINARY}.get(part, JSON)
        return None if content is None else (kind, content)

    def paths(self) -> Iterator[str]:
        """Yield all paths, for a page that contains everything."""
        yield "/data/files"
        for number, file in enumerate(self.files):
            yield from (f"/data/{number}/{part}" for part in ("scene", "model", "losses", "records"))
            yield from (f"/data/{number}/clip/{clip}" for clip in range(file.clip_count))
            yield from (f"/data/{number}/records/{page}" for page in range(file.page_count))
            yield from (f"/data/{number}/lamps/{clip}" for clip in range(file.lights_resource_count))
            yield from (f"/data/{number}/track/{track}" for track in range(file.track_count))
            yield from (f"/data/{number}/bytes/{block}" for block in range(file.block_count))

    def accepts(self, path: str) -> bool:
        """Return whether `post` has an answer for a path."""
        return path == "/open" or _RECOVER.fullmatch(path) is not None or _CLOSE.fullmatch(path) is not None

    def post(self, path: str, body: bytes) -> bytes:
        """Open the files in the body (``/open``), open a damaged file again without its unsafe parts (``/recover/N``),
        or close all that was opened with a file (``/close/N``).

        Returns JSON: the numbers of the new files, and all files. Raises `BadDrop` if nothing can be opened,
        `FormatError` if nothing can be recovered.
        """
        first = drop = len(self.files)
        new: list[ViewedFile] = []
        match = _RECOVER.fullmatch(path) or _CLOSE.fullmatch(path)
        if match is not None:
            if int(match[1]) >= len(self.files):
                raise BadDrop("there is no such file")
            drop = self._drops.get(int(match[1]), first)
            if _CLOSE.fullmatch(path):
                self._close(int(match[1]))
            else:
                new = [self.files[int(match[1])].recovered()]
        else:
            dropped = dropped_files(body)
            size = sum(len(file.data) for file in dropped)
            if size > self.room:
                raise TooLarge(self.room)
            new = view_dropped(dropped, self._limits, salvage=self._salvage)
            self.room -= size
            self._sizes[drop] = size
        self.files.extend(new)
        self._drops |= dict.fromkeys(range(first, len(self.files)), drop)
        return to_json({"opened": list(range(first, len(self.files))), "files": self.names()})

    def _close(self, number: int) -> None:
        """Release the data of all files that were opened together with this one; they keep their numbers."""
        drop = self._drops.get(number)
        for other in [other for other, its_drop in self._drops.items() if its_drop == drop]:
            self.files[other] = _closed(self.files[other].name, self._limits)
        self.room += self._sizes.pop(drop, 0) if drop is not None else 0


def _closed(name: str, limits: Limits) -> ViewedFile:
    reason = "the file was closed, because there is not enough memory for it"
    failure = LIMIT_MEMORY.failure(0, "/", reason=reason)
    return ViewedFile(name, lambda: LoadedFile(OpenedFile(b"", name=name, limits=limits), failure=failure))
