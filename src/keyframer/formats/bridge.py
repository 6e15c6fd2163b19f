"""The interface of a bridge: reading documents as scenes, writing scenes, and merging edits into originals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from keyframer.formats.document import Document
from keyframer.formats.kit.declared_fields import Capabilities
from keyframer.formats.kit.frame_times import in_time_unit_of
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames
from keyframer.formats.kit.scene_writing import CannotMerge, Written
from keyframer.formats.kit.summary_tables import Table
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.formats.merging import RecordRules, Tree
from keyframer.scene import Channel, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats._matching import Matching
    from keyframer.formats._matching import Path as FieldPath

__all__ = [
    "Bridge",
    "CannotMerge",
    "Capabilities",
    "KeyLocation",
    "Merger",
    "Original",
    "Outcome",
    "Reporter",
    "SceneWriter",
    "UniqueNames",
    "Written",
    "report_dropped",
]

O = TypeVar("O")  # noqa: E741  # a dataclass of options


class KeyLocation(NamedTuple):
    """Where a record stores the keys of a track: rows of a table."""

    field: str = "keys"
    """field of the record: a table with one row for each key"""
    holder: type[Record] | None = None
    """type of the record that has the table, if it is not the record of the track"""
    columns: tuple[int, int] | None = None
    """first byte and number of bytes in each row; None for the whole row"""
    order: Sequence[int | None] | None = None
    """the row of each key, None for a key that is not stored; by default row n is key n"""


class Bridge(ABC, Generic[O]):
    """Gives documents a meaning: reads, checks and summarises them. ``BRIDGE`` in the module ``bridge`` of a format."""

    options: type[O] = object  # type: ignore[assignment]
    """options for reading: a dataclass whose fields all have defaults; by default there are none"""
    internal_options: ClassVar[tuple[str, ...]] = ()
    """options that `companions` sets, not the user"""

    @abstractmethod
    def read(self, document: Document, options: O) -> Scene:
        """Return the scene of a document."""

    def writer(self) -> SceneWriter[Any] | None:
        """Return the writer of scenes; None if the format has none. A large one is imported here, on first use."""
        return None

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        """Report issues beyond those of decoding and reading; there is no scene if it cannot be built."""

    def summarise(self, document: Document) -> Iterable[Table]:
        """Yield tables that only this format has: first an overview, whose rows are added to that of every format. Who
        needs nothing else stops there.
        """
        return ()

    def describe(self, cls: type[Any]) -> Mapping[str, str]:
        """Return columns for a record type in the documentation."""
        return {}

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        """Return options for the companions in the folder of a file."""
        return {}

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        """Return where the record of a channel stores its keys; None if they are not stored."""
        return KeyLocation() if hasattr(record, "keys") else None


class SceneWriter(ABC, Generic[O]):
    """Writes documents from scenes. Without a merger of its own, an edited scene becomes a new document."""

    options: type[O] = object  # type: ignore[assignment]
    """a dataclass whose fields all have defaults; by default there are none"""
    capabilities: ClassVar[Capabilities] = Capabilities(())
    """the features and fields that its documents can store"""

    def __init__(self, merger: Merger[Any] | None = None) -> None:
        self.merger = merger or Merger[Any]()

    @abstractmethod
    def write(self, scene: Scene, options: O) -> Written:
        """Return a new document with its loss report."""

    def options_for(self, suffix: str) -> dict[str, object]:
        """Return options that follow from the extension of the output."""
        return {}


class Original(NamedTuple):
    """The original document of a scene, whose conventions the writer follows."""

    document: Document
    scene: Scene
    """the scene of the document"""
    options: Any
    """the options of the reader"""
    matching: Matching
    """maps numbers of nodes and materials in the scene that is written to those in ``scene``"""
    links: Any = None
    """the links to records that `Merger.read` returned"""
    untouched: Collection[int] = frozenset()
    """nodes that the edit does not affect, numbered as in the scene that is written: their records are not written,
    since they would not change
    """
    changes: Collection[FieldPath] = frozenset()
    """the changed fields, for the formats of one table"""

    def unrenamed(self, scene: Scene, kind: str = "nodes") -> dict[int, int]:
        """Map the nodes or materials of a scene that kept their name to their original numbers."""
        pairs = self.matching.nodes if kind == "nodes" else self.matching.materials
        after, before = getattr(scene, kind), getattr(self.scene, kind)
        return {new: old for new, old in pairs.items() if after[new].name == before[old].name}


class Merger(Generic[O]):
    """Merges edited scenes into their original documents. ``O`` are the options of the reader.

    This one merges nothing: a scene that was not edited gives its original, any other a new document.
    """

    rules: ClassVar[RecordRules] = RecordRules()
    """rules for matching records"""
    stores_unit: ClassVar[bool] = False
    """whether documents store the unit of length"""
    is_table: ClassVar[bool] = False
    """whether one table has the frames of all nodes: then `write` writes whole files, with the original numbers of
    everything but `Original.changes`, and there are no records to merge
    """
    equivalent_records: ClassVar[tuple[type[Record], ...]] = ()
    """record types that new documents replace by equivalent ones"""

    def read(self, document: Document, options: O) -> tuple[Scene, Any]:
        """Return the scene of a document, and links to its records."""
        return document.format.scene_bridge().read(document, options), None

    def tree(self, document: Document, scene: Scene, links: Any) -> Tree:
        """Return the document as a tree for merging, with the nodes and materials of its records."""
        return Tree(document, {})

    def write(self, scene: Scene, original: Original) -> Written:
        """Return a document of the scene with the conventions of the original, and its ``parts``, for `merge`."""
        raise CannotMerge("documents of this format cannot be edited")

    def stores(self, scene: Scene, path: FieldPath) -> bool:
        """Return whether a table stores a field of the scene."""
        return False

    def capabilities(self, original: Document) -> Capabilities:
        """Return the features and fields that documents like the original can store."""
        return original.format.scene_writer().capabilities

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with values that the format can store; by default only the time unit changes."""
        return in_time_unit_of(scene, before, report)

    def finish(self, document: Document) -> Document:
        """Return an edited document with what depends on several of its records; by default unchanged."""
        return document

    def keeps_layout(self, original: Document, requested: Mapping[str, object], options: Mapping[str, object]) -> bool:
        """Return whether the options ``requested`` for writing allow the layout of the original.

        ``options`` are those with which the original was read.
        """
        layout = str(original.dialect)
        return set(requested) <= {"dialect"} and str(requested.get("dialect", layout)) == layout

    def choose_file(self, written: Written, requested: Mapping[str, object]) -> Written:
        """Return the written files with the requested one first."""
        return written

    def companion_files(self, document: Document, options: Mapping[str, object]) -> tuple[tuple[str, bytes], ...]:
        """Return suffix and bytes of each companion to write; ``options`` are those for reading the document."""
        return ()

    def companion_options(self, written: Written) -> dict[str, object]:
        """Return options for reading with the companions of a new file."""
        return {}
