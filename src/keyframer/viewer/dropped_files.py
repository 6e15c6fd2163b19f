"""Files that a user drops on the page: scenes, and what belongs to them. They are a container in memory, so that a
scene finds its images and companions among them as on a disk; the members of archives are among them, too.

The body of ``POST /open`` is the length of an index (four bytes, little endian), the index in JSON (a name and a size
for each file), and the contents one after the other. Names are only compared with each other, never used as paths.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count

from keyframer.errors import FormatError
from keyframer.exchange import importer_for
from keyframer.exchange.opening import OpenedFile
from keyframer.files.container_contract import Container
from keyframer.files.containers import kind_of, open_container
from keyframer.files.member_names import member_name, root_folder, safe_parts
from keyframer.files.members import keep_in_memory
from keyframer.limits import Budget, Limits
from keyframer.textures import TextureFinder, TextureSource
from keyframer.textures.texture_finder import EXTENSIONS
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


@dataclass(frozen=True, slots=True, eq=False)
class DroppedFile:
    """A file that was dropped on the page, or a member of a dropped archive."""

    filename: str
    """with its folders, separated by ``/``"""
    data: bytes

    @property
    def file_size(self) -> int:
        return len(self.data)

    @property
    def base(self) -> str:
        return self.filename.rpartition("/")[2]

    def is_dir(self) -> bool:
        return False


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


_NUMBERS = count(1)


class Drop(Container[DroppedFile]):
    """Files that were dropped together."""

    def __init__(self, files: Sequence[DroppedFile], limits: Limits) -> None:
        """Raises `BadDrop` if an archive among the files cannot be read, or holds too much."""
        super().__init__(limits)
        self._room = limits.file_size
        self.members = list(self._unpacked(files))
        self.name = os.path.join(os.devnull, f"dropped {next(_NUMBERS)}")  # no file on a disk can have this name
        keep_in_memory(self.name, self)
        self._opened = [
            OpenedFile(file.data, name=file.base, path=self._path(file), limits=limits) for file in self.members
        ]
        self._scenes = {id(file) for file, opened in zip(self.members, self._opened, strict=True) if _is_known(opened)}

    def _path(self, file: DroppedFile) -> str:
        return member_name(self.name, "/".join(safe_parts(file.filename)) or "file")

    def _unpacked(self, files: Sequence[DroppedFile]) -> Iterator[DroppedFile]:
        """Yield the files, in place of archives their members, unless a reader takes the whole archive."""
        for file in files:
            stream = io.BytesIO(file.data)
            if kind_of(stream) is None or importer_for(file.data, file.base) is not None:
                yield file
                continue
            try:
                archive = open_container(stream, len(file.data), self._limits)
                members = [member for member in archive.members if not member.is_dir()]
                self._room -= sum(member.file_size for member in members)
                if self._room < 0:
                    raise TooLarge(self._limits.file_size)
                if len(members) > MOST_FILES:
                    raise BadDrop(f"1 to {MOST_FILES} files can be opened at once")
                for member in members:
                    name = f"{file.filename}/{member.filename}".replace("\\", "/")
                    yield DroppedFile(name, archive.read(member))
            except FormatError as error:
                raise BadDrop(f"{file.base}: {error.message}") from None

    def _content(self, member: DroppedFile) -> bytes:
        return member.data

    def folder(self, path: str) -> dict[str, DroppedFile | None]:
        """Return the files that can be images: a scene is not its own image."""
        return {name: file for name, file in super().folder(path).items() if id(file) not in self._scenes}

    def file(self, path: str) -> DroppedFile | None:
        """Return the file at a path, or one of its name in another folder: single files are dropped without folders."""
        parts = safe_parts(path)
        exact = super().file(path)
        if exact is not None or not parts:
            return exact
        return next((file for file in self.members if file.base == parts[-1]), None)

    def close(self) -> None:
        pass

    @property
    def root(self) -> str:
        """Path of the folder with all files."""
        return root_folder(self.name)

    def joined_to(self, viewed: ViewedFile) -> ViewedFile | None:
        """Return an open file with the images among these files that it misses; None if it misses none of them."""
        loaded = viewed.loaded_or_none
        if loaded is None or loaded.scene is None or loaded.textures is None:
            return None
        missing, known = loaded.textures.not_found(loaded.scene), loaded.textures.finder
        folders = {"/".join(safe_parts(file.filename)[:-1]) for file in self.members}
        searched = [*map(str, known.folders), *(os.path.join(self.root, folder) for folder in sorted(folders))]
        finder = TextureFinder(searched, recursive=known.recursive)
        if not any(finder.find(name).path for name in missing):
            return None
        joined = replace(loaded, textures=TextureSource(finder), beside=(*loaded.beside, self))
        return viewed.loaded_as(joined)

    def viewed(self, *, salvage: bool) -> list[ViewedFile]:
        """Return the files that a reader recognises; if none is recognised, all except images."""
        return [
            self._viewed(file, opened, salvage)
            for file, opened in zip(self.members, self._opened, strict=True)
            if id(file) in self._scenes
            or (not self._scenes and os.path.splitext(file.base)[1].lower() not in EXTENSIONS)
        ]

    def _viewed(self, file: DroppedFile, opened: OpenedFile, salvage: bool) -> ViewedFile:
        def load() -> LoadedFile:
            finder = TextureFinder([opened.folder or self.root, self.root], recursive=True)
            loaded = LoadedFile(opened, textures=TextureSource(finder), beside=(self,))
            try:
                loaded.scene = opened.scene(salvage=salvage)
            except FormatError as error:
                loaded.failure = error
            return loaded

        return ViewedFile(file.filename, load, Budget(opened.limits, len(opened.data)))


def _is_known(opened: OpenedFile) -> bool:
    with suppress(FormatError):
        return opened.reader is not None
    return False


NO_SCENE = "there is no scene among these files: drop the scene together with its images"


def view_dropped(files: Sequence[DroppedFile], limits: Limits, *, salvage: bool = False) -> list[ViewedFile]:
    """Return the files of a drop that can be shown. Raises `BadDrop` if there are only images, or if an archive cannot
    be read."""
    shown = Drop(files, limits).viewed(salvage=salvage)
    if not shown:
        raise BadDrop(NO_SCENE)
    return shown
