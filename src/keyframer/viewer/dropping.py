"""Opens files that a user drops on the page. A dropped file finds others, such as its images, in memory; a zip archive
stands for its members.

The body of ``POST /open`` is the length of an index (four bytes, little endian), the index in JSON (a name and a size
for each file), and the contents one after the other. Names are only compared with each other, never used as paths.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from keyframer.errors import FormatError
from keyframer.exchange import importer_for
from keyframer.exchange.opening import OpenedFile
from keyframer.files.zip_archives import Archive
from keyframer.limits import Budget, Limits
from keyframer.textures import TextureFinder, TextureSource
from keyframer.textures.file_names import split_name
from keyframer.textures.texture_finder import EXTENSIONS, Listing
from keyframer.viewer.viewed_file import LoadedFile, ViewedFile

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
