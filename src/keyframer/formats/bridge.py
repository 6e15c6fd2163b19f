"""What a format's bridge offers: a reader, a writer and a merger of scenes, with defaults for what is optional."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from keyframer.formats._matching import Matching
from keyframer.formats.document import Document
from keyframer.formats.kit.declared_fields import Holdings
from keyframer.formats.kit.frame_times import counted_like
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames
from keyframer.formats.kit.scene_writing import CannotMerge, Written
from keyframer.formats.kit.unsupported_features import tell_dropped
from keyframer.formats.merging import RecordRules, Tree
from keyframer.formats.scene_reader import KeyLayout, SceneReader
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.wire.record import Record

__all__ = [
    "CannotMerge",
    "Holdings",
    "KeyLayout",
    "Merged",
    "Merger",
    "Original",
    "Reporter",
    "SceneReader",
    "SceneWriter",
    "UniqueNames",
    "Written",
    "tell_dropped",
]

O = TypeVar("O")  # noqa: E741  # a dataclass of options


class SceneWriter(ABC, Generic[O]):
    """Makes documents of scenes."""

    options: type[O]
    """a dataclass; all its fields have defaults"""
    holdings: ClassVar[Holdings] = Holdings(())
    """what of a scene its documents hold"""

    @abstractmethod
    def from_scene(self, scene: Scene, options: O) -> Written:
        """A new document, and what was lost on the way."""


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


class Merged(NamedTuple):
    """A document that took over an edit."""

    document: Document
    reading: Mapping[str, object] = {}
    """options that its readers need besides those of the original: companions that changed"""
    places: tuple[Mapping[int, int], Mapping[int, int]] | None = None
    """numbers of nodes and of materials in the edited scene, to those that its readers will give them; None: they are
    found by their records"""


class Merger(ABC, Generic[O]):
    """Merges edited scenes into the documents that they came from. ``O`` are the options of the reader."""

    rules: ClassVar[RecordRules] = RecordRules()
    """how records are matched"""
    stores_unit: ClassVar[bool] = False
    """whether documents say how long a unit of length is"""
    equivalent_records: ClassVar[tuple[type[Record], ...]] = ()
    """record types that mean the same as others which the writer uses"""

    @abstractmethod
    def read(self, document: Document, options: O) -> tuple[Scene, Any]:
        """What a document means, and what else helps to find its records again."""

    @abstractmethod
    def tree(self, document: Document, scene: Scene, links: Any) -> Tree:
        """The document as it is merged, and which of its records stand for the nodes and materials of its scene."""

    @abstractmethod
    def write(self, scene: Scene, original: Original) -> Written:
        """A document of the scene with the choices of the original, and ``parts``: the other two trees of a merge."""

    def holdings(self, original: Document) -> Holdings:
        """What documents like the original hold."""
        return original.format.scene_writer().holdings

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """The scene as the format would say it."""
        return counted_like(scene, before)

    def align(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """The same for what depends on how a part was; ``before`` has its parts where the scene has them."""
        return scene

    def finish(self, merged: Tree, theirs: Written, original: Original) -> Merged:
        """The document of a merged tree; ``theirs`` is what `write` made of the edited scene."""
        return Merged(merged.document)

    def keeps_layout(self, original: Document, asked: Mapping[str, object], options: Mapping[str, object]) -> bool:
        """Whether the options of writing ask for the layout that the original has; it was read with ``options``."""
        return not asked

    def choose_file(self, written: Written, asked: Mapping[str, object]) -> Written:
        """Of several files that belong together, the one that is asked for first."""
        return written

    def companion_files(self, original: Document, options: Mapping[str, object]) -> tuple[tuple[str, bytes], ...]:
        """Suffix and bytes of each companion."""
        return ()

    def companion_options(self, written: Written) -> dict[str, object]:
        """Options of reading that name the companions of a new file."""
        return {}
