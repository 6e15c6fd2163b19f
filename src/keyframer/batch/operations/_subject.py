"""The file that an operation works on: its bytes, its document, its scene, and where its output goes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer.batch import stores
from keyframer.batch.job import Job, Result
from keyframer.catalogue import IO_EMPTY, RUN_OUTPUT_REFUSED
from keyframer.errors import FormatError
from keyframer.formats import detect, format_by_name
from keyframer.formats._bridging import neighbours
from keyframer.formats._option_values import typed
from keyframer.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from keyframer.formats import Format
    from keyframer.formats._document import Document
    from keyframer.scene import Scene


class Subject:
    """One job at work."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.options = job.options
        self.data = stores.read(job.source, job.occurrence)

    @property
    def name(self) -> str:
        return os.path.basename(self.job.source)

    @property
    def folder(self) -> Path | None:
        """Where things that belong to the file may stand; None for members of archives and URLs."""
        return None if self._is_remote else Path(self.job.source).parent

    @cached_property
    def _is_remote(self) -> bool:
        return stores.is_url(self.job.source) or stores.split_member(self.job.source) is not None

    @cached_property
    def format(self) -> Format:
        if not self.data:
            raise IO_EMPTY.failure(0, "/")
        chosen = self.options.get("from")
        if chosen is not None:
            return format_by_name(str(chosen))
        found = detect(self.data, name=self.job.source)
        if found.format is None:
            raise FormatError("IO_UNRECOGNISED", 0, "/", found.reason)
        return found.format

    @cached_property
    def document(self) -> Document:
        return self.format.decode(self.data, DEFAULT_LIMITS)

    def scene(self, result: Result) -> Scene:
        """The scene; files that were read besides are noted in the result."""
        from keyframer.formats._loading import scene_of

        chosen = typed(self.format.option_types(), self.options.get("scene", {}))
        if not self._is_remote:
            beside = self.format.companions(self.document, Path(self.job.source), chosen)
            if beside:
                note_also(result, self._companions())
            chosen = {**beside, **chosen}
        note_also(result, (value for value in chosen.values() if isinstance(value, (str, Path))))
        return scene_of(self.document, chosen, salvage=bool(self.options.get("salvage")))

    def _companions(self) -> list[Path]:
        """What the format may have read besides; it says what was in it, not where it was."""
        path = Path(self.job.source)
        return [each for suffix in (*self.format.extensions, ".skel") for each in neighbours(path, suffix)]

    def write(self, result: Result, path: str, data: bytes) -> None:
        """Write an output and note it; `FormatError` where that is refused."""
        try:
            written = stores.write(path, data)
        except OSError as error:
            reason = f"{path} cannot be written: {error.strerror or error}"
            raise RUN_OUTPUT_REFUSED.failure(0, "/", reason=reason) from None
        result["outputs"].append({**written, "sha256": hashlib.sha256(data).hexdigest()})


def note_also(result: Result, paths: Iterable[str | Path]) -> None:
    """Files besides the source that the output depends on, with size and time."""
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue  # an option that is no file
        result["also"].append([os.path.abspath(path), status.st_size, status.st_mtime_ns])


def note_issues(result: Result, issues: Any) -> None:
    """Counts of an `IssueLog`."""
    worst = issues.worst()
    result["issues"] = dict(sorted(issues.counts.items()))
    result["worst"] = None if worst is None else worst.label
