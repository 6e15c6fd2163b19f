"""The files that the page saves: the scene in any format, the records of the file as text, and its poses as a table."""

from __future__ import annotations

import io
import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from keyframer.exchange import EXPORTERS, Exporter
from keyframer.exchange.conversion import save_opened
from keyframer.inspecting.samples import Sample
from keyframer.inspecting.text_dump import dump_parts
from keyframer.scene.loss_report import CannotWrite, LossReport

if TYPE_CHECKING:
    from keyframer.viewer.viewed_file import LoadedFile

_LONGEST_STEM = 80
"""maximum number of characters of the name of a saved file, without its extension"""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file to download; several files are in one zip archive."""

    name: str
    data: bytes
    report: LossReport | None
    """the losses; None for text, which is not a scene"""


class SaveChoice:
    """One kind of file that the page can save."""

    def __init__(self, title: str, ending: str) -> None:
        self.title = title
        self.ending = ending

    def is_possible(self, loaded: LoadedFile) -> bool:
        raise NotImplementedError

    def write(self, loaded: LoadedFile, path: Path) -> LossReport | None:
        raise NotImplementedError

    def save(self, loaded: LoadedFile, name: str) -> SavedFile:
        """Make the file; ``name`` is that of the source. Raises `CannotWrite` if the format cannot store the scene,
        `FormatError` if a limit is exceeded."""
        stem = re.sub(r"[^\w .()+-]+", "_", os.path.splitext(os.path.basename(name))[0]).strip(" .")[:_LONGEST_STEM]
        with TemporaryDirectory(prefix="keyframer-") as folder:
            path = Path(folder, (stem or "scene") + self.ending)
            try:
                report = self.write(loaded, path)
            except (ValueError, OSError) as error:
                raise CannotWrite(str(error)) from None
            files = {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}
        if len(files) == 1:
            return SavedFile(path.name, files[path.name], report)
        return SavedFile(f"{path.name}.zip", _zip(files), report)


class _InFormat(SaveChoice):
    def __init__(self, exporter: Exporter, dialect: str | None = None) -> None:
        super().__init__(exporter.title, exporter.extension(dialect))
        self._exporter = exporter
        self._dialect = dialect

    def is_possible(self, loaded: LoadedFile) -> bool:
        scene = loaded.scene
        return scene is not None and (self._exporter.takes_any_scene or scene.source_format == self._exporter.name)

    def write(self, loaded: LoadedFile, path: Path) -> LossReport:
        assert loaded.scene is not None
        return save_opened(
            loaded.opened, loaded.scene, path, self._exporter, textures=loaded.textures, dialect=self._dialect
        )


class _Records(SaveChoice):
    def is_possible(self, loaded: LoadedFile) -> bool:
        return loaded.document is not None

    def write(self, loaded: LoadedFile, path: Path) -> None:
        assert loaded.document is not None
        path.write_text("".join(dump_parts(loaded.document)), encoding="utf-8")


class _Poses(SaveChoice):
    def is_possible(self, loaded: LoadedFile) -> bool:
        return loaded.scene is not None and bool(loaded.scene.nodes)

    def write(self, loaded: LoadedFile, path: Path) -> None:
        assert loaded.scene is not None
        path.write_text(Sample(loaded.scene, frames=None, times=None).csv(), encoding="utf-8")


def _zip(files: dict[str, bytes]) -> bytes:
    """Return a zip archive that depends only on names and contents."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


SAVE_CHOICES: tuple[SaveChoice, ...] = (
    *(_InFormat(each, dialect) for each in EXPORTERS for dialect in each.choices()),
    _Records("Records of the file as text", ".json"),
    _Poses("World transforms by frame", ".csv"),
)
"""all kinds of files that the page can save; requests contain their index"""
