"""Resources of the page by path, the same for the server, the web worker and the standalone page. Paths contain the
numbers of files and of their parts, never the name of a file or a name that a file contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from keyframer.catalogue import LIMIT_MEMORY
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import safe_text
from keyframer.viewer.dropped_files import NO_SCENE, BadDrop, Drop, TooLarge, dropped_files
from keyframer.viewer.file_description import SCHEMA, SCHEMA_VERSION
from keyframer.viewer.json_data import to_json
from keyframer.viewer.viewed_file import BLOCK, LoadedFile, ViewedFile

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
        or close all that was opened with a file (``/close/N``). Images without a scene join the open files that miss
        them.

        Returns JSON: the numbers of the new files, those of files that images joined, and all files. Raises `BadDrop`
        if nothing can be opened, `FormatError` if nothing can be recovered.
        """
        first = drop = len(self.files)
        new: list[ViewedFile] = []
        joined: dict[int, ViewedFile] = {}
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
            dropped_together = Drop(dropped, self._limits)
            new = dropped_together.viewed(salvage=self._salvage)
            if not new:
                results = ((number, dropped_together.joined_to(file)) for number, file in enumerate(self.files))
                joined = {number: file for number, file in results if file is not None}
                if not joined:
                    raise BadDrop(NO_SCENE)
            if joined:
                drop = self._drops.setdefault(min(joined), min(joined))
            self.room -= size
            self._sizes[drop] = self._sizes.get(drop, 0) + size
        self.files.extend(new)
        for number, file in joined.items():
            self.files[number] = file
        self._drops |= dict.fromkeys(range(first, len(self.files)), drop)
        opened = list(range(first, len(self.files)))
        return to_json({"opened": opened, "joined": list(joined), "files": self.names()})

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
