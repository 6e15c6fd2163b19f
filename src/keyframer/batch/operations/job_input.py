"""The input of a running job: the opened file with its options, images and companions."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from keyframer.batch import dependencies, storage
from keyframer.batch.defaults import FINDINGS
from keyframer.batch.job import Job, Result
from keyframer.batch.operations.outputs import Output, write
from keyframer.exchange import Importer
from keyframer.exchange.opening import OpenedFile
from keyframer.textures import TextureFinder
from keyframer.textures.file_names import split_name

if TYPE_CHECKING:
    from keyframer.scene import Scene


class JobInput:
    """The input of one running job."""

    def __init__(self, job: Job, outputs: list[Output]) -> None:
        self.job = job
        self.outputs = outputs
        self.options = job.options
        source = job.source
        has_no_path = storage.is_url(source) or storage.split_member(source) is not None
        self.opened = OpenedFile(
            storage.read(source, job.occurrence),
            name=source,
            path=None if has_no_path else source,
            format=self.options.get("from"),
            options=self.options.get("scene"),
        )

    @property
    def data(self) -> bytes:
        return self.opened.data

    @property
    def name(self) -> str:
        return os.path.basename(self.job.source)

    @property
    def format_name(self) -> str | None:
        """The id of the format; None if it is not known yet."""
        reader = self.opened.known_reader
        return None if reader is None else reader.name

    def scene(self, result: Result) -> Scene:
        """Return the scene; other files that were read or searched for are recorded in the result."""
        self.note_companions(result)
        salvage = bool(self.options.get("salvage"))
        scene = self.opened.scene(salvage=salvage)
        if salvage and scene.issues.unsafe_counts():
            result["status"] = FINDINGS
        return scene

    def note_companions(self, result: Result) -> None:
        """Record the files that belong to the input: its companions, or the files that a glTF file names."""
        reader, folder = self.opened.reader, self.opened.folder
        if isinstance(reader, Importer):
            if folder is not None:
                result["also"] += [dependencies.file_entry(folder / name) for name in named_files(self.data)]
            return
        values = (self.opened.given_options.get(companion.option) for companion in reader.companions)
        result["also"] += [dependencies.file_entry(value) for value in values if isinstance(value, (str, Path))]
        if folder is not None and reader.companions:
            result["also"] += dependencies.companion_entries(self.job.source)

    def finder(self) -> TextureFinder | None:
        """Return a finder for the folder of the file and those of ``texture_path``; None with ``no_textures``."""
        if self.options.get("no_textures"):
            return None
        folder = self.opened.folder
        folders = [*([folder] if folder is not None else []), *(self.options.get("texture_path") or ())]
        return TextureFinder(folders, recursive=bool(self.options.get("texture_recursive")))

    def note_images(self, result: Result, finder: TextureFinder | None) -> None:
        """Record which images were searched for, and which were found."""
        if finder is None:
            return
        matches = finder.matches
        names = [parts for match in matches if (parts := split_name(match.name).parts)]
        result["also"] += dependencies.image_entries(finder.folders, names, recursive=finder.recursive)
        result["also"] += [dependencies.file_entry(match.path) for match in matches if match.path is not None]

    def write(self, path: str, data: bytes) -> None:
        """Write an output; raises `FormatError` if it cannot be written."""
        self.outputs.append(write(path, data, replaces=self.job.replaces))


def note_issues(result: Result, issues: Any) -> None:
    """Record the counts of an `IssueLog`."""
    worst = issues.worst()
    result["issues"] = dict(sorted(issues.counts.items()))
    result["worst"] = None if worst is None else worst.label


_URI = re.compile(rb'"uri"\s{0,100}:\s{0,100}"(?!data:)([^"\\]{1,1000})"')
_HEAD = 20
"""bytes of a .glb before its JSON text"""


def named_files(data: bytes) -> list[str]:
    """Return the paths of the files that a glTF file names, without those outside its folder, which are never read."""
    text = data[_HEAD : _HEAD + int.from_bytes(data[12:16], "little")] if data[:4] == b"glTF" else data
    names = dict.fromkeys(unquote(uri.decode("utf-8", "replace")) for uri in _URI.findall(text))
    split_names = [split_name(name) for name in names]
    return ["/".join(name.parts) for name in split_names if name.parts and name.refusal is None]
