"""The contract of exporters and importers: formats that scenes are written to and read from directly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from keyframer.formats.contract import options_from_text, refuse_unknown
from keyframer.plugins import PluginErrorBoundary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, Protocol

    from keyframer.formats.kit.declared_fields import Capabilities
    from keyframer.formats.kit.summary_tables import Table
    from keyframer.issues import IssueLog
    from keyframer.limits import Limits
    from keyframer.scene import Scene
    from keyframer.scene.loss_report import LossReport

    class SceneSaver(Protocol):
        """Writes scenes to files of one exchange format."""

        def save(
            self, scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]
        ) -> LossReport: ...

    class SceneLoader(Protocol):
        """Reads and checks files of one exchange format."""

        def load(
            self, data: bytes, folder: Path | None, limits: Limits, options: Mapping[str, Any], *, salvage: bool = False
        ) -> Scene:
            """Return the scene of a file; ``folder`` has the files that belong to it, None if there is none."""

        def check(self, data: bytes, scene: Scene, limits: Limits) -> None:
            """Add the issues that loading does not find to those of the scene."""


LENGTH = "length"
"""type of an option: a number of metres, or a name of `UNITS`, or ``file`` for the unit of the file"""
UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0, "inch": 0.0254, "foot": 0.3048}
"""lengths in metres"""


def parsed_length(value: object) -> object:
    """Return a length that is given as text as a number of metres, unless it is a name."""
    if not isinstance(value, str) or value in UNITS or value == "file":
        return value
    try:
        return float(value)
    except ValueError:
        raise ValueError(
            f"unit must be a number of metres, file, or one of {', '.join(UNITS)}, not {value!r}"
        ) from None


class WriteOption(NamedTuple):
    """An option of an exporter."""

    name: str
    type: str
    """``bool``, ``float``, ``str`` or `LENGTH`"""
    meaning: str
    """for ``--help`` and the documentation"""
    is_flag: bool = False
    """whether the command line has ``--name``, not only ``--write NAME=VALUE``"""
    choices: tuple[str, ...] | None = None
    """all values of a ``str``; the first is the default"""


MAX_ERROR = WriteOption(
    *("max_error", "float"),
    "largest error of motion that keys cannot store exactly, as a fraction of the size of the scene; 1e-4 by default. "
    "This also allows rotations an error of 0.01 degrees; both scale together",
    is_flag=True,
)
FPS = WriteOption("fps", "float", "frames per second, instead of the rate of the clip", is_flag=True)
SMOOTH = WriteOption(
    *("smooth", "bool"),
    "shading of meshes without smoothing groups; by default flat for formats that have smoothing groups, as their "
    "programs drew such meshes, smooth for the others",
)
UNIT = WriteOption(
    *("unit", LENGTH),
    "length of a unit: a number of metres, or mm, cm, m, km, inch, foot, or file for the unit of the file (default: "
    "numbers are not scaled)",
    is_flag=True,
)


class Exporter:
    """A format that scenes are written to. Subclasses set its properties and override `writer` or `save`."""

    name: str
    title: str
    extensions: tuple[str, ...]
    axes: tuple[str, str]
    """up axis and handedness of its files"""
    dialects: tuple[str, ...] = ()
    """variants; unless `extension` is overridden, one for each of ``extensions``"""
    takes_any_scene: bool = True
    """whether any scene can be written, or only scenes that were read from such a file"""
    takes_images: bool = False
    """whether `save` has the options ``fps``, ``images`` and ``source``: today's formats, which store everything"""
    preload: tuple[str, ...] = ()
    """modules that writing needs: the fork server of a batch loads them while files are still being listed"""
    options: tuple[WriteOption, ...] = ()
    """options of `save`: flags, ``--write``, refusals and documentation follow from them"""

    def writer(self) -> SceneSaver:
        """Return the object that writes files, usually a module, which is imported here: on first use."""
        raise NotImplementedError

    def check_dialect(self, dialect: str) -> None:
        """Raise ValueError for a dialect that cannot be written."""
        if dialect not in self.dialects:
            known = f"it has: {', '.join(self.dialects)}" if self.dialects else "it has none"
            raise ValueError(f"{self.name} has no dialect {dialect!r} ({known})")

    def extension(self, dialect: str | None) -> str:
        """Return the extension of new files; raises ValueError for a dialect that cannot be written."""
        if dialect is None:
            return self.extensions[0]
        self.check_dialect(dialect)
        return self.extensions[self.dialects.index(dialect)]

    def option_types(self) -> Mapping[str, str]:
        return {option.name: option.type for option in self.options}

    def capabilities(self) -> Capabilities | None:
        """Return what its files can store, as far as it is declared; None if everything can be stored somehow."""
        return None

    def choices(self) -> tuple[str | None, ...]:
        """Return the dialects that are files of their own kind, None for the usual one."""
        return self.dialects or (None,)

    def options_from_text(self, given: dict[str, object]) -> dict[str, object]:
        """Parse options of `save`; raises ValueError for an unknown name or an invalid value."""
        if not given:
            return {}
        types = self.option_types()
        refuse_unknown(self.name, types, given)
        given = {name: parsed_length(value) if types[name] == LENGTH else value for name, value in given.items()}
        return options_from_text(types, given)

    def save(
        self, scene: Scene, path: Path, *, dialect: str | None, overwrite: bool, options: dict[str, object]
    ) -> LossReport:
        if dialect is not None:
            self.check_dialect(dialect)
        with PluginErrorBoundary(self, OSError, ValueError):
            return self.writer().save(scene, path, dialect, overwrite, options)

    def __repr__(self) -> str:
        return f"<Exporter {self.name}: {self.title}>"


class Importer:
    """An exchange format that scenes are read from. Subclasses set its properties and override `sniff` and `loader`."""

    name: str
    title: str
    extensions: tuple[str, ...]
    tables: tuple[str, ...] = ()
    """names of the tables of `summarise`"""
    description: bytes = b""
    """name of the member that tells files from other zip archives, if they are such"""
    profiles: tuple[str, ...] = ()
    """engines that take only a part of such files, and whose rules `check_profile` knows"""
    holds_json: bool = False
    """whether its files have the JSON and buffers of glTF, which are compared value by value"""

    def loader(self) -> SceneLoader:
        """Return the object that reads files, usually a module, which is imported here: on first use."""
        raise NotImplementedError

    def sniff(self, head: bytes, name: str = "") -> str | None:
        """Return in a few words why a file that starts with ``head`` (or is ``head``) has this format; else None."""
        raise NotImplementedError

    def option_types(self) -> dict[str, str]:
        """Return the types of those options of `load` that are not text, like `Format.option_types`."""
        return {}

    def load(
        self,
        data: bytes,
        folder: Path | None,
        limits: Limits,
        options: Mapping[str, object],
        *,
        salvage: bool,
    ) -> Scene:
        from keyframer.formats.guard import guarded
        from keyframer.limits import budgeted

        with guarded(self, ValueError), budgeted(limits, len(data)):
            return self.loader().load(data, folder, limits, options, salvage=salvage)

    def check(self, data: bytes, scene: Scene, limits: Limits) -> None:
        """Add the issues that loading does not find to those of the scene."""
        from keyframer.formats.guard import guarded

        with guarded(self):
            self.loader().check(data, scene, limits)

    def check_profile(self, data: bytes, profile: str, issues: IssueLog, limits: Limits) -> None:
        """Add what an engine refuses or ignores."""

    def summarise(self, scene: Scene) -> list[Table]:
        """Return tables that only this format has, for a scene that it loaded."""
        return []

    def subjects(self, scene: Scene) -> list[int]:
        """Return the nodes that a picture of a scene must show, with their descendants, whatever stands before them."""
        return []

    def __repr__(self) -> str:
        return f"<Importer {self.name}: {self.title}>"
