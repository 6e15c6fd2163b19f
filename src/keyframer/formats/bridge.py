"""What a format's bridge offers: a reader, a writer and an editor of scenes, with defaults for what is optional."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from keyframer.formats._matching import Matching, Rebuilt
from keyframer.formats._scenediff import Path
from keyframer.formats._unheld import Pattern
from keyframer.formats.document import Document
from keyframer.formats.kit.frame_times import counted_like
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames
from keyframer.formats.kit.scene_writing import Unpatchable, Written
from keyframer.formats.kit.unsupported_features import tell_dropped
from keyframer.formats.merging import Parts, RecordRules
from keyframer.formats.scene_reader import KeyLayout, SceneReader
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.wire.record import Record

__all__ = [
    "Change",
    "Editor",
    "KeyLayout",
    "Merger",
    "Original",
    "Patch",
    "Reporter",
    "Saver",
    "SceneReader",
    "SceneWriter",
    "UniqueNames",
    "Unpatchable",
    "Written",
    "tell_dropped",
]

O = TypeVar("O")  # noqa: E741  # a dataclass of options


class SceneWriter(ABC, Generic[O]):
    """Makes documents of scenes."""

    options: type[O]
    """a dataclass; all its fields have defaults"""

    @abstractmethod
    def from_scene(self, scene: Scene, options: O) -> Written:
        """A new document, and what was lost on the way."""


class Patch(ABC):
    """One document on its way to mean another scene."""

    reading: Mapping[str, object] = {}
    """options that readers of the patched document need besides those of the original"""

    @abstractmethod
    def apply(self, changed: list[Path]) -> None:
        """Change the document in place where these fields of the scene changed; `Unpatchable` for what cannot be."""


class Change(NamedTuple):
    """Nodes and materials that come and go."""

    before: Scene
    after: Scene
    matching: Matching
    report: LossReport


class Original(NamedTuple):
    """The document that a scene came from: a writer that follows it takes its choices from there."""

    document: Document
    scene: Scene
    """what it means"""
    options: Any
    """of the reader, as it was read"""
    matching: Matching
    """numbers of nodes and materials in the scene that is written, to those in ``scene``"""
    links: Any = None
    """what `Merger.read` told besides the scene"""
    untouched: Collection[int] = frozenset()
    """nodes that the edit has nothing to do with, as they are numbered in the scene that is written: no record needs to
    be written for them, as they say the same before and after"""


class Saver(ABC, Generic[O]):
    """Saves edited scenes into the documents that they came from. ``O`` are the options of the reader."""

    stores_unit: ClassVar[bool] = False
    """whether documents say how long a unit of length is"""
    equivalent_records: ClassVar[tuple[type[Record], ...]] = ()
    """record types that mean the same as others which the writer uses"""

    def keeps_layout(self, original: Document, asked: Mapping[str, object], options: Mapping[str, object]) -> bool:
        """Whether the options of writing ask for the layout that the original has; it was read with ``options``."""
        return not asked

    def choose_file(self, written: Written, asked: Mapping[str, object]) -> Written:
        """Of several files that belong together, the one that is asked for first."""
        return written

    def copy_companions(self, options: Mapping[str, object]) -> dict[str, object]:
        """The options of reading with companions that may be changed."""
        return dict(options)

    def companion_files(self, original: Document, options: Mapping[str, object]) -> tuple[tuple[str, bytes], ...]:
        """Suffix and bytes of each companion."""
        return ()


class Merger(Saver[O]):
    """Merges edited scenes into the documents that they came from."""

    rules: ClassVar[RecordRules] = RecordRules()
    """how records are matched"""

    @abstractmethod
    def read(self, document: Document, options: O) -> tuple[Scene, Any]:
        """What a document means, and what else helps to find its records again."""

    @abstractmethod
    def parts(self, document: Document, scene: Scene, links: Any) -> Parts:
        """Which records of a document stand for the nodes and materials of its scene: those that `write` tells, too."""

    @abstractmethod
    def write(self, scene: Scene, original: Original) -> Written:
        """A document of the scene with the choices of the original, and ``parts``."""

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """The scene as the format would say it."""
        return counted_like(scene, before)

    def align(self, scene: Scene, before: Scene) -> Scene:
        """The same for what depends on how a part was; ``before`` has its parts where the scene has them."""
        return scene

    def finish(self, document: Document) -> None:
        """Bring up to date what a merged document says about itself."""


class Editor(Saver[O]):
    """Changes documents whose nodes are columns of a table, where their scenes changed."""

    unsupported_fields: ClassVar[Sequence[Pattern]] = ()
    """the fields of scenes that no document of the format can hold"""

    @abstractmethod
    def patch(self, document: Document, options: O, goal: Scene, report: LossReport) -> Patch:
        """What changes a document so that it means ``goal``."""

    @abstractmethod
    def rebuild(self, document: Document, options: O, change: Change) -> Rebuilt:
        """The document with other nodes."""

    def is_overridden(self, scene: Scene, path: Path) -> bool:
        """Whether a field of a scene has no effect because the format derives it from something else."""
        return False

    def normalise_for_format(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """The scene as the format would say it."""
        return scene

    def align_with_document(self, scene: Scene, stored: Scene, report: LossReport) -> Scene:
        """The same for its lists, when they stand in the order of the document."""
        return scene

    def needs_reordering(self, scene: Scene) -> bool:
        """Whether nodes that all stay need another order."""
        return False
