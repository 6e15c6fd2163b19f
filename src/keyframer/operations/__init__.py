"""Operations on files: what a command does with one file, and a batch with many.

An operation is a subclass of `Operation` in a module of its own. The class has everything: options, names of outputs,
and the work. Commands use their class; `keyframer.batch.operation_table` lists those of batches. Importing the modules
loads no code that processes files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyframer.formats import FORMATS
from keyframer.operations import reading_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from keyframer.batch.base_run import InputFile
    from keyframer.batch.ledger import Ledger
    from keyframer.exchange import Exporter
    from keyframer.exchange.opening import OpenedFile
    from keyframer.issues import IssueLog
    from keyframer.scene import Scene
    from keyframer.scene.loss_report import LossReport
    from keyframer.textures import TextureFinder, TextureSource

READING = (
    *("keyframer.checking", "keyframer.formats.recovery", "keyframer.inspecting.listing"),
    *(name for known in FORMATS for name in known.preload),
)
"""modules that read most files"""


class WorkFile:
    """A file that an operation works on. A command and a batch load, write and report in their own ways: each has a
    subclass."""

    name: str
    """a path, a URL, or ``ARCHIVE!/MEMBER``"""
    values: Mapping[str, Any]
    """the options: what `Operation.values_of` returned"""
    output: str
    """path or URL of the output; empty for stdout"""
    opened: OpenedFile
    occurrence = 0
    """index among the members of the archive that have the same name"""
    out = ""
    """the output folder of a batch"""

    details: Mapping[str, Any] = {}
    """what a ledger keeps: JSON values"""
    format: str | None = None
    """the id of the format, if the operation finds it without loading the file"""
    has_findings = False

    def scene(self) -> Scene:
        """Load the scene, with the chosen clip, without its unsafe parts if ``salvage`` is chosen."""
        raise NotImplementedError

    def finder(self) -> TextureFinder | None:
        """Return a finder for the images of the file; None with ``no_textures``."""
        raise NotImplementedError

    def textures(self) -> TextureSource | None:
        """Return a source that opens the images found; None with ``no_textures``."""
        from keyframer.textures import TextureSource

        finder = self.finder()
        return None if finder is None else TextureSource(finder)

    def write(self, data: bytes, path: str = "") -> None:
        """Write a file, by default the output."""
        raise NotImplementedError

    def save(self, scene: Scene, exporter: Exporter, **options: Any) -> LossReport:
        """Write a scene as the output, with the options of `exchange.conversion.save_opened`."""
        raise NotImplementedError

    def depend_on(self, path: str) -> None:
        """Note that the output depends on another file."""

    def note_issues(self, issues: IssueLog) -> None:
        """Note the issues of the file."""

    def note(self, text: str) -> None:
        """Tell the user something about the output."""


class Operation:
    """What is done with a file."""

    name: str
    help: str
    """what a batch does, for the help text"""
    loads: tuple[str, ...] = ()
    """modules that most files need: the fork server loads them while files are still being listed"""
    plain: tuple[str, ...] = ()
    """the names of its own options whose values are plain as they are parsed"""
    about = ""
    """the text of ``--help`` of a command that has no module in `keyframer.cli`: it writes outputs like a batch"""
    examples: tuple[str, ...] = ()
    noun, is_text = "file", True
    """what its outputs are"""
    ending = ""
    """the suffix of output names, if it does not depend on options"""
    replaces_extension = False
    """whether ``a.3ds`` becomes ``a.glb``; otherwise the suffix is added: ``a.3ds.check.json``"""
    reads_scenes = finds_images = False
    """whether it has the options of loading scenes, and those of images"""
    reads_companions = True
    needs = "keyframer"
    """a package without which the operation is not offered"""
    counts_findings = False
    """whether the summary of a run always tells how many files have issues"""
    shows_pictures = False
    """whether reports show its outputs"""

    def add_options(self, parser: argparse.ArgumentParser, *, in_batch: bool = False) -> None:
        """Add the options that the operation has as a command and in a batch."""
        if self.reads_scenes:
            reading_options.add_scene_arguments(parser)
        else:
            reading_options.add_arguments(parser)
        self.add_own_options(parser, in_batch=in_batch)
        if self.finds_images:
            reading_options.add_textures(parser)

    def add_own_options(self, parser: argparse.ArgumentParser, *, in_batch: bool) -> None:
        """Add the options that only this operation has."""

    def values_of(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return the given options as JSON values, which can be hashed and sent to workers; raises ValueError."""
        values = {name: getattr(options, name, None) for name in self.plain}
        values |= reading_options.values_of(options) | self.own_values(options)
        return {name: value for name, value in values.items() if value not in (None, False, [], {})}

    def own_values(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return the values of options of this operation that are not plain; raises ValueError."""
        return {}

    def fit_output(self, options: argparse.Namespace) -> None:
        """Set options that the extension of ``options.output`` decides; raises ValueError if others differ from it."""

    def suffix(self, values: Mapping[str, Any]) -> str:
        """Return the suffix of output names; raises ValueError for invalid options."""
        return self.ending

    def skipped_extensions(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return extensions of files that are not taken from folders and archives, although they could be read."""
        return ()

    def perform(self, file: WorkFile) -> None:
        """Do the work; any exception is a failure of the file."""
        raise NotImplementedError

    def inputs_of(self, inputs: Iterable[InputFile], out: str) -> Iterable[InputFile]:
        """Return the inputs of a batch with their places in the output folder, before its outputs are planned."""
        return inputs

    def before(self, out: str, ledger: Ledger, *, force: bool) -> None:
        """Check a batch before it begins; raises `LedgerError`."""

    def after(self, out: str, ledger: Ledger, sources: Iterable[str]) -> tuple[str, int]:
        """Finish a batch over these sources; returns the page to open, and the number of damaged files: both are empty
        for most operations."""
        return "", 0

    def index(self, out: str) -> Iterable[str]:
        """Return the names of files about all outputs, which `after` has written to the output folder."""
        return ()
