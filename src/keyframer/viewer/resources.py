"""Resources of the page by path, the same for the server, the web worker and the standalone page. Paths contain the
numbers of files and of their parts, never the name of a file or a name that a file contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from keyframer.errors import FormatError
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import safe_text
from keyframer.viewer.dropping import BadDrop, TooLarge, dropped_files, view_dropped
from keyframer.viewer.file_description import SCHEMA, SCHEMA_VERSION
from keyframer.viewer.json_data import to_json
from keyframer.viewer.viewed_file import BLOCK, ViewedFile

JSON, BINARY, GLB = "application/json", "application/octet-stream", "model/gltf-binary"

_NUMBER = "(0|[1-9][0-9]{0,8})"
_FILE = re.compile(f"/data/{_NUMBER}/([a-z]+)(?:/{_NUMBER})?")
_RECOVER = re.compile(f"/recover/{_NUMBER}")

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

    def names(self) -> list[dict[str, object]]:
        """Return number and name of each file, for the list of files."""
        return [{"id": number, "name": file.name} for number, file in enumerate(self.files)]

    def get(self, path: str) -> Resource | None:
        """Return the resource at a path; None if there is none.

        Raises `FormatError` if a limit is exceeded, `CannotWrite` if the scene cannot be saved in a format.
        """
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
        return path == "/open" or _RECOVER.fullmatch(path) is not None

    def post(self, path: str, body: bytes) -> bytes:
        """Open the files in the body (``/open``), or a damaged file again without its unsafe parts (``/recover/N``).

        Returns JSON: the numbers of the new files, and all files. Raises `BadDrop` if nothing can be opened,
        `FormatError` if nothing can be recovered.
        """
        match = _RECOVER.fullmatch(path)
        if match is not None:
            if int(match[1]) >= len(self.files):
                raise BadDrop("there is no such file")
            new = [self.files[int(match[1])].recovered()]
        else:
            dropped = dropped_files(body)
            size = sum(len(file.data) for file in dropped)
            if size > self.room:
                raise TooLarge(self.room)
            new = view_dropped(dropped, self._limits, salvage=self._salvage)
            self.room -= size
        first = len(self.files)
        self.files.extend(new)
        return to_json({"opened": list(range(first, len(self.files))), "files": self.names()})
