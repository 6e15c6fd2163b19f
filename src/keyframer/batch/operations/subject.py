"""The file that an operation works on: its bytes, its document, its scene, its images, and where its output goes."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer.batch import beside, stores
from keyframer.batch.defaults import FINDINGS
from keyframer.batch.job import Job, Result
from keyframer.batch.operations.outputs import Output, write
from keyframer.catalogue import IO_EMPTY
from keyframer.errors import FormatError
from keyframer.exchange import importer_for
from keyframer.formats import detect, format_by_name
from keyframer.formats.contract import options_from_text
from keyframer.limits import DEFAULT_LIMITS, open_budget

if TYPE_CHECKING:
    from keyframer.exchange import Importer
    from keyframer.formats import Detection, Format
    from keyframer.formats.document import Document
    from keyframer.scene import Scene
    from keyframer.textures import TextureFinder


class Subject:
    """One job at work."""

    def __init__(self, job: Job, outputs: list[Output]) -> None:
        self.job = job
        self.outputs = outputs
        self.options = job.options
        self.data = stores.read(job.source, job.occurrence)

    @property
    def name(self) -> str:
        return os.path.basename(self.job.source)

    @property
    def folder(self) -> Path | None:
        """Where things that belong to the file may stand; None for members of archives and URLs."""
        return None if self.path is None else self.path.parent

    @property
    def path(self) -> Path | None:
        """The file itself; None for members of archives and URLs."""
        return None if self._is_remote else Path(self.job.source)

    @cached_property
    def _is_remote(self) -> bool:
        return stores.is_url(self.job.source) or stores.split_member(self.job.source) is not None

    @cached_property
    def detection(self) -> Detection:
        return detect(self.data, name=self.job.source)

    @cached_property
    def importer(self) -> Importer | None:
        """Who makes a scene of bytes that no document can be made of."""
        chosen = self.options.get("from")
        if chosen is None and self.detection.format is not None:
            return None
        return importer_for(self.data, self.job.source, None if chosen is None else str(chosen))

    @cached_property
    def format(self) -> Format:
        """The format of the document."""
        if not self.data:
            raise IO_EMPTY.failure(0, "/")
        chosen = self.options.get("from")
        if chosen is not None:
            return format_by_name(str(chosen))
        if self.detection.format is None:
            raise FormatError("IO_UNRECOGNISED", 0, "/", self.detection.reason)
        return self.detection.format

    @property
    def format_name(self) -> str | None:
        """As far as it is known by now."""
        known = vars(self).get("importer") or vars(self).get("format")
        return None if known is None else str(known.name)

    @cached_property
    def document(self) -> Document:
        return self.format.decode(self.data, open_budget(DEFAULT_LIMITS, 0).limits)

    def scene(self, result: Result) -> Scene:
        """The scene; what was read or looked for besides is noted in the result."""
        given, salvage = self.options.get("scene", {}), bool(self.options.get("salvage"))
        scene = self._imported(result, given, salvage) if self.importer else self._of_document(result, given, salvage)
        if salvage and scene.issues.unsafe_counts():
            result["status"] = FINDINGS
        return scene

    def _imported(self, result: Result, given: dict[str, Any], salvage: bool) -> Scene:
        assert self.importer is not None
        self.note_parts(result)
        chosen = options_from_text(dict.fromkeys(given, "float"), given)
        return self.importer.load(self.data, self.folder, options=chosen, salvage=salvage)

    def _of_document(self, result: Result, given: dict[str, Any], salvage: bool) -> Scene:
        from keyframer.formats.kit.scene_reading import scene_of

        chosen = options_from_text(self.format.option_types(), given)
        result["also"] += [beside.file_of(value) for value in chosen.values() if isinstance(value, (str, Path))]
        if self.path is not None:
            self.note_companions(result)
            chosen = {**self.format.find_companions(self.document, self.path, chosen), **chosen}
        return scene_of(self.document, chosen, salvage=salvage)

    def note_companions(self, result: Result) -> None:
        """Remember what stands beside the file, if its format has companions."""
        if not self._is_remote and self.format.companions:
            result["also"] += beside.companions_of(self.job.source)

    def note_parts(self, result: Result) -> None:
        """Remember the files that a glTF file names: its buffers and images."""
        if self.folder is not None:
            from keyframer.batch.operations._parts import named_files

            result["also"] += [beside.file_of(self.folder / name) for name in named_files(self.data)]

    def finder(self) -> TextureFinder | None:
        """Looks beside the file, then in the folders given; None if no image is wanted."""
        if self.options.get("no_textures"):
            return None
        from keyframer.textures import TextureFinder

        folders = [*([self.folder] if self.folder is not None else []), *(self.options.get("texture_path") or ())]
        return TextureFinder(folders, recursive=bool(self.options.get("texture_recursive")))

    def note_images(self, result: Result, finder: TextureFinder | None) -> None:
        """Remember which images were looked for, and which were found."""
        if finder is None:
            return
        from keyframer.textures.naming import take_apart

        matches = finder.matches
        names = [parts for match in matches if (parts := take_apart(match.name).parts)]
        result["also"] += beside.images_of(finder.folders, names, recursive=finder.recursive)
        result["also"] += [beside.file_of(match.path) for match in matches if match.path is not None]

    def write(self, path: str, data: bytes) -> None:
        """Write an output; `FormatError` where that is refused."""
        self.outputs.append(write(path, data, replaces=self.job.replaces))


def note_issues(result: Result, issues: Any) -> None:
    """Counts of an `IssueLog`."""
    worst = issues.worst()
    result["issues"] = dict(sorted(issues.counts.items()))
    result["worst"] = None if worst is None else worst.label
