"""Loading, editing and saving scenes in tests, without files on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.inspecting.text_dump import dump_parts
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome
from tests.samples import FOLDER

Edit = Callable[[Scene], object]


def load(format: str, data: bytes, *, salvage: bool = False, **options: object) -> Scene:
    """The scene of the bytes of a file; the file is not checked."""
    return scene_of(keyframer.decode(data, format=format), options, salvage=salvage)


def load_sample(name: str) -> Scene:
    """The scene of a file of ``tests/samples``, named with its folder: ``3ds/windmill.3ds``."""
    return load(name.partition("/")[0], (FOLDER / name).read_bytes())


def save(scene: Scene, **options: object) -> Written:
    """Write the scene in the format that it was read from."""
    return format_by_name(str(scene.source_format)).from_scene(scene, options)


def save_edited(format: str, data: bytes, edit: Edit, **reading: object) -> Written:
    """Load the bytes of a file, edit the scene and write it in its format. An edit may also return another scene."""
    scene = load(format, data, **reading)
    edited = edit(scene)
    return save(edited if isinstance(edited, Scene) else scene)


class Merge(NamedTuple):
    """An edit that is merged into a file: the bytes of the file, the edit, and the bytes of a file built with it."""

    data: bytes
    edit: Edit
    wanted: bytes | tuple[bytes, ...]
    reading: dict[str, object] = {}  # noqa: RUF012 never changed


class NewFile(NamedTuple):
    """An edit that cannot be merged into a file, and the reported reason."""

    data: bytes
    edit: Edit
    words: str
    reading: dict[str, object] = {}  # noqa: RUF012 never changed


def merged(written: Written) -> bytes:
    """The bytes of a file whose edits were merged into its original."""
    assert rewrite_reasons(written) == []
    return keyframer.encode(written.document)


def save_in_place(scene: Scene, path: Path) -> tuple[bytes, LossReport]:
    """Save an edited scene into its original. Saving again changes nothing, nor does saving the file read again."""
    report = keyframer.save(scene, path, overwrite=True)
    assert not [loss for loss in report if loss.code == "ORIGINAL_REWRITTEN"], [str(loss) for loss in report]
    data = path.read_bytes()
    for again in (scene, keyframer.load(path)):
        keyframer.save(again, path, overwrite=True)
        assert path.read_bytes() == data
    return data, report


def read_again(written: Written) -> Scene:
    """The scene of a written document, read from its bytes with the reading options of the writer."""
    return load(written.document.format.name, keyframer.encode(written.document), **written.reader_options)


class RoundTrip(NamedTuple):
    """A written document, its loss report, and the scene read again."""

    document: Document
    report: LossReport
    scene: Scene


def write(format: str, scene: Scene, **options: object) -> RoundTrip:
    """Write the scene in a format and read it again."""
    written = format_by_name(format).from_scene(scene, options)
    return RoundTrip(written.document, written.report, read_again(written))


def set_fields(part: Callable[[Scene], Any], /, **values: Any) -> Edit:
    """An edit that sets attributes of a part of the scene."""

    def edit(scene: Scene) -> None:
        for name, value in values.items():
            setattr(part(scene), name, value)

    return edit


def set_node(which: str, /, **values: Any) -> Edit:
    """An edit that sets attributes of a node."""
    return set_fields(lambda scene: scene.node(which), **values)


def rewrite_reasons(written: Written) -> list[str]:
    """The reported reasons why an edit could not be merged into the original file."""
    return [str(loss.args["reason"]) for loss in written.report if loss.code == "ORIGINAL_REWRITTEN"]


def losses_of(report: LossReport, outcome: Outcome) -> dict[str, tuple[str, dict[str, object]]]:
    """Code with case, and arguments, of all losses with this outcome, by path."""
    return {loss.path: (loss.type.key, dict(loss.args)) for loss in report.of(outcome)}


def dump_text(document: Document, *, offsets: bool = True) -> str:
    """The whole document as text."""
    return "".join(dump_parts(document, offsets=offsets))
