"""Opens files: detects the format, finds the reader and companions, and makes document and scene on demand.

`load`, `read`, checking, the commands, batch and the viewer all use `OpenedFile`. They differ only in the source of the
bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from keyframer.catalogue import IO_EMPTY, IO_UNRECOGNISED
from keyframer.errors import FormatError
from keyframer.exchange import IMPORTERS, Importer, importer_for, reader_by_name
from keyframer.files import PathLike, check_size, read_bytes
from keyframer.formats import FORMATS, UNKNOWN, Detection, Format, detect, match_format
from keyframer.formats.contract import HEAD_SIZE, options_from_text
from keyframer.formats.document import Document
from keyframer.limits import DEFAULT_LIMITS, Limits, budgeted, open_or_new_budget

if TYPE_CHECKING:  # reading a document needs no scene
    from functools import cached_property

    from numpy.typing import ArrayLike

    from keyframer.formats.recovery import Recovery
    from keyframer.posing import Pose, Rig
    from keyframer.scene import Scene
else:

    class cached_property:
        """`functools.cached_property` without its lock: before Python 3.12 one thread would wait for the file of
        another.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __get__(self, instance: object, owner: type[Any]) -> Any:
            if instance is None:
                return self
            value = vars(instance)[self._compute.__name__] = self._compute(instance)
            return value


Source = PathLike | IO[bytes] | bytes | bytearray | memoryview
"""what can be opened: a path, a stream open for binary reading, or bytes"""


class OpenedFile:
    """The bytes of one file, and its document and scene. Everything is computed once, on first use.

    ``name`` is the file name (its extension breaks ties in detection); ``path`` is its path on a disk or in a
    container, where its companions are; None for streams and URLs. ``format`` is the id of a format or importer and
    overrides detection; ``options`` are those of its reader, as values or as text.
    """

    def __init__(
        self,
        data: bytes,
        *,
        name: str = "",
        path: PathLike | None = None,
        format: str | None = None,
        options: Mapping[str, object] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.data = data
        self.name = name
        self._path = path
        self.given_options = dict(options or {})
        """options before their text is converted to values"""
        self.limits = limits or open_or_new_budget(DEFAULT_LIMITS, 0).limits
        self._chosen_reader = None if format is None else reader_by_name(format)
        self._scene: Scene | None = None

    @classmethod
    def of_scene(cls, scene: Scene) -> OpenedFile:
        """Return the opened file of a scene, as if just read; it has no bytes if the scene has no document."""
        origin = scene.origin
        if origin is None:
            opened = cls(b"")
        else:
            document = origin.document
            opened = cls(document.format.encode(document), format=document.format.name, options=origin.options)
            opened.__dict__["document"] = document
        opened._scene = scene
        return opened

    @cached_property
    def path(self) -> Path | None:
        """Path of the file on disk; None if it has none."""
        return None if self._path is None else Path(self._path)

    @cached_property
    def folder(self) -> Path | None:
        """Folder of the file and its companions; None without a path."""
        return None if self._path is None else Path(os.path.dirname(self._path))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the bytes, in hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def detection(self) -> Detection:
        """Detection from the content; if the user chose a format, the result for that format (empty for importers)."""
        if self._chosen_reader is None:
            return detect(self.data, name=self.name)
        if isinstance(self._chosen_reader, Importer):
            return Detection(None, 0.0, "")
        match = match_format(self._chosen_reader, self.data[:HEAD_SIZE], len(self.data))
        if match is None:
            return Detection(self._chosen_reader, 0.0, "")
        return Detection(self._chosen_reader, *match)

    @cached_property
    def reader(self) -> Format | Importer:
        """The reader of the file; raises `FormatError` if the file is empty or not recognised."""
        if not self.data:
            raise IO_EMPTY.failure(0, "/")
        reader = self._chosen_reader or self.detection.format or importer_for(self.data, self.name)
        if reader is None:
            reason = self.detection.reason
            if reason == UNKNOWN:
                titles = [*(known.title for known in FORMATS), *(known.title for known in IMPORTERS)]
                reason = f"{reason} ({', '.join(titles)})"
            raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
        return reader

    @property
    def known_reader(self) -> Format | Importer | None:
        """The reader, if it is already known."""
        return vars(self).get("reader", self._chosen_reader)

    @property
    def importer(self) -> Importer | None:
        """The reader if it is an importer, else None; raises `FormatError` like `reader`."""
        return self.reader if isinstance(self.reader, Importer) else None

    @cached_property
    def document(self) -> Document:
        """The document; raises `FormatError` if the file cannot be read or its format has no documents."""
        if isinstance(self.reader, Importer):
            reason = f"{self.reader.name} has no document: it can be loaded, but not kept byte for byte"
            raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
        return self.reader.decode(self.data, self.limits)

    @cached_property
    def options(self) -> dict[str, object]:
        """The options for making the scene: the given ones and, if they name no companions, those next to the file.

        Raises ValueError for an option with an invalid value, `FormatError` for an unfinished pair of files.
        """
        reader = self.reader
        given = options_from_text(reader.option_types(), self.given_options) if self.given_options else {}
        if isinstance(reader, Importer) or self.path is None or not reader.companions:
            return given
        companions = reader.scene_bridge().companions(self.document, self.path)
        return given if set(companions) & set(given) else {**companions, **given}

    def recover(self) -> Recovery:
        """Return what is left of a damaged file, for a scene and for a clean file.

        Raises `FormatError` if nothing can be read, or the format has no documents.
        """
        from keyframer.formats.recovery import recover

        reader = self._reader_if_damaged()
        if isinstance(reader, Importer):
            reason = f"{reader.title} has no records that could be kept one by one (--salvage loads its valid parts)"
            raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
        decoded: Document | None = vars(self).get("document")
        recovery = recover(self.data, reader, self.limits, decoded)
        vars(self).setdefault("reader", recovery.document.format)
        return recovery

    def _reader_if_damaged(self) -> Format | Importer | None:
        """Return the reader; if the beginning of the file is damaged, that of its extension, or None."""
        try:
            return self.reader
        except FormatError:
            if not self.data or self.detection.stranger is not None:
                raise
            return next((known for known in FORMATS if self.name.lower().endswith(known.extensions)), None)

    def scene(self, *, salvage: bool = False) -> Scene:
        """Return the scene, always the same object.

        Raises `FormatError` for the first unsafe part, unless ``salvage`` leaves it out.
        """
        if self._scene is None:
            self._scene = self._make_scene(salvage)
        elif not salvage:
            unsafe = self._scene.issues.first_unsafe()
            if unsafe is not None:
                raise unsafe.as_error()
        return self._scene

    def _make_scene(self, salvage: bool) -> Scene:
        reader = self._reader_if_damaged() if salvage else self.reader
        if isinstance(reader, Importer):
            return reader.load(self.data, self.folder, self.limits, self.options, salvage=salvage)
        from keyframer.formats.kit.scene_reading import scene_of

        document = self.recover().document if salvage else self.document
        return scene_of(document, self.options, salvage=salvage, folder=self.folder)


def open_file(
    source: Source,
    *,
    format: str | None = None,
    options: Mapping[str, object] | None = None,
    limits: Limits | None = None,
) -> OpenedFile:
    """Read and open a file: a path, a binary stream, or its bytes.

    Raises OSError if it cannot be read, `FormatError` if it is too large, ValueError for an unknown ``format``.
    """
    path = source if isinstance(source, (str, os.PathLike)) else None
    if isinstance(source, (bytes, bytearray, memoryview)):
        check_size(len(source), limits or DEFAULT_LIMITS)
        data = bytes(source)
    else:
        data = read_bytes(source, limits or DEFAULT_LIMITS)
    name = "" if path is None else os.fspath(path)
    return OpenedFile(data, name=name, path=path, format=format, options=options, limits=limits)


def size_in_memory(source: Source) -> int:
    """Return the number of bytes if bytes are given, otherwise 0: the budget grows when a file or stream is read."""
    return len(source) if isinstance(source, (bytes, bytearray, memoryview)) else 0


def load(
    source: Source | Document,
    *,
    format: str | None = None,
    salvage: bool = False,
    limits: Limits | None = None,
    **options: object,
) -> Scene:
    """Load the scene of a file: a path, a binary stream, bytes, or a document. ``options`` are those of the format (for
    example ``geometry="raw"`` for 3D Studio). Companions (a model, a skeleton, buffers, images) are found only for a
    path.

    Strict by default: the first error in structure, links or counts raises `FormatError` with code, offset and path.
    With ``salvage`` unsafe parts are left out instead and ``scene.issues`` lists them; merely unusual parts are always
    listed there.
    """
    from keyframer.scene.moving import LoadedRest

    if isinstance(source, Document):
        from keyframer.formats.kit.scene_reading import scene_of

        scene = scene_of(source, options, salvage=salvage)
    else:
        limits = limits or DEFAULT_LIMITS
        with budgeted(limits, size_in_memory(source)):
            scene = open_file(source, format=format, options=options, limits=limits).scene(salvage=salvage)
    scene.loaded_rest = LoadedRest.of(scene)
    return scene


def scene_from(source: Scene | Source | Document, clip: int | str) -> Scene:
    """Return a scene that is given as such, or load it with `load`; for functions that a user calls.

    Warns of rest values that were assigned in vain, because a track of the clip overrides them.
    """
    from keyframer.scene import Scene
    from keyframer.scene.moving import warn_of_overridden

    if not isinstance(source, Scene):
        return load(source)
    warn_of_overridden(source, 3, clip)
    return source


def pose(
    scene: Scene | Source | Document,
    times: ArrayLike | None = None,
    *,
    frames: ArrayLike | None = None,
    clip: int | str = 0,
    rig: Rig | None = None,
) -> Pose:
    """Return the pose of a scene or a file at ``times`` (seconds) or ``frames``; exactly one of them must be given.

    ``clip`` is the index or the name of a clip. For many calls, load the scene and make a `Rig` once, and pass both;
    the rig replaces ``clip``. Make a new Rig after an edit. Evaluation never raises for bad keys. A track overrides the
    rest value of its property: the ``position`` of a node with a ``position`` track has no effect, and a warning says
    so if it was changed after `load` (not with ``rig``); use `Scene.move`.
    """
    from keyframer.posing import pose
    from keyframer.scene import Scene

    if rig is None or not isinstance(scene, Scene):
        scene = scene_from(scene, clip)
    return pose(scene, times, frames=frames, clip=clip, rig=rig)


def read(source: PathLike | IO[bytes], *, format: str | None = None, limits: Limits | None = None) -> Document:
    """Read the document of a file: a path or a binary stream. Raises `FormatError` or OSError."""
    return open_file(source, format=format, limits=limits or DEFAULT_LIMITS).document
