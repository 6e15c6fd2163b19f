"""Resources of the page by path, the same for the server and for the standalone page. Paths contain the numbers of
files and of their parts, never the name of a file or a name that a file contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from keyframer.viewer.file_description import SCHEMA, SCHEMA_VERSION
from keyframer.viewer.json_data import to_json
from keyframer.viewer.viewed_file import BLOCK, ViewedFile

JSON, BINARY, GLB = "application/json", "application/octet-stream", "model/gltf-binary"

_NUMBER = "(0|[1-9][0-9]{0,8})"
_FILE = re.compile(f"/data/{_NUMBER}/(scene|model|losses|records|(?:clip|lamps|track|bytes|records)/{_NUMBER})")

Resource = tuple[str, bytes]
"""content type and content"""


class Resources:
    """The resources of the files of one page."""

    def __init__(self, files: Sequence[ViewedFile], limit: int = 0) -> None:
        self.files = list(files)
        self.limit = limit
        """maximum number of bytes of all files that can be dropped on the page"""

    def names(self) -> list[dict[str, object]]:
        """Return number and name of each file, for the list of files."""
        return [{"id": number, "name": file.name} for number, file in enumerate(self.files)]

    def get(self, path: str) -> Resource | None:
        """Return the resource at a path; None if there is none."""
        if path == "/data/files":
            about = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "block": BLOCK, "limit": self.limit}
            return JSON, to_json({**about, "files": self.names()})
        match = _FILE.fullmatch(path)
        if match is None or int(match[1]) >= len(self.files):
            return None
        return _part(self.files[int(match[1])], match[2], match[3])

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


def _part(file: ViewedFile, part: str, number: str | None) -> Resource | None:
    kind, content = JSON, None
    if part == "scene":
        content = file.scene()
    elif part == "model":
        kind, content = GLB, file.model()
    elif part == "losses":
        content = file.losses()
    elif part == "records":
        content = file.records()
    elif part.startswith("clip/") and number is not None:
        content = file.clip(int(number))
    elif part.startswith("lamps/") and number is not None:
        content = file.lights(int(number))
    elif part.startswith("track/") and number is not None:
        content = file.track(int(number))
    elif part.startswith("records/") and number is not None:
        content = file.record_page(int(number))
    elif number is not None:
        kind, content = BINARY, file.block(int(number))
    return None if content is None else (kind, content)
