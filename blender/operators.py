# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators, menus, drag and drop, and the panel of clips."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, FloatProperty, StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from keyframer.errors import FormatError
from keyframer.exchange import EXPORTERS, IMPORTERS, Exporter, Importer, exporter_for
from keyframer.exchange.opening import open_file
from keyframer.formats import FORMATS
from keyframer.formats.contract import Format, companion_names, options_from_text
from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.text import counted

from . import animation, exporting, importing, report

FAILURES = (FormatError, OSError, ValueError, MemoryError)
"""exceptions for damaged, missing or unsuitable files"""
_READABLE: tuple[Format | Importer, ...] = (*FORMATS, *IMPORTERS)
EXTENSIONS = sorted({ending for known in _READABLE for ending in known.extensions})
_READERS = [("AUTO", "Automatic", "Detect the format from the content of the file")]
_READERS += [(known.name, known.title, f"Read as {known.title}") for known in _READABLE]
_WRITERS = [
    (known.name, known.title, f"Write {known.title} ({', '.join(known.extensions)})")
    for known in EXPORTERS
    if known.takes_any_scene
]


def _reason(error: Exception) -> str:
    """Return the reason in one line; the console shows a traceback for errors that no file should cause."""
    if isinstance(error, FAILURES):
        return " ".join(str(error).split())
    traceback.print_exception(error)
    return f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:300]} (please report it)"


def _is_damage(error: Exception) -> bool:
    return isinstance(error, FormatError) and not error.code.startswith(("IO_", "LIMIT_"))


def _parse_options(text: str) -> dict[str, object]:
    """Parse ``name=value`` pairs, separated by commas; raises ValueError for anything else."""
    pairs: dict[str, object] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"options are written as name=value, not {part!r}")
        pairs[name.strip()] = value.strip()
    return pairs


def _companion_names(names: Iterable[str]) -> set[str]:
    """Return the names of companions of other files in the list, such as models and skeletons of animations."""
    available = set(names)
    endings = [companion.extension for known in FORMATS for companion in known.companions]
    owners = [name for name in available if Path(name).suffix.lower() not in endings]
    return available & {other for name in owners for other in companion_names(name, endings)}


def _is_recognised(path: Path) -> bool:
    """Return False for a file that only has the extension of a format, such as the buffer of a glTF file."""
    try:
        return open_file(path).reader is not None
    except FormatError as error:
        return error.code != "IO_UNRECOGNISED"
    except OSError:
        return True  # importing it reports the problem


class IMPORT_SCENE_OT_keyframer(bpy.types.Operator, ImportHelper):
    """Import old keyframed files: objects, materials, and every clip as an action"""

    bl_idname = "import_scene.keyframer"
    bl_label = "Import Legacy Animation"
    bl_options = {"UNDO", "PRESET"}  # noqa: RUF012

    filter_glob: StringProperty(default=";".join(f"*{ending}" for ending in EXTENSIONS), options={"HIDDEN"})
    directory: StringProperty(subtype="DIR_PATH", options={"SKIP_SAVE", "HIDDEN"})
    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"SKIP_SAVE", "HIDDEN"})
    scale: FloatProperty(
        name="Scale",
        default=1.0,
        min=1e-6,
        soft_min=0.001,
        soft_max=1000.0,
        description="Multiply all lengths by this factor",
    )
    unit: EnumProperty(
        name="Unit",
        items=[
            ("KEEP", "Keep Numbers", "A new scene gets the unit of the file; lengths keep their numbers"),
            ("CONVERT", "Convert", "Convert lengths from the unit of the file to that of the scene"),
        ],
        default="KEEP",
    )
    fps: FloatProperty(
        name="Frame Rate",
        default=0.0,
        min=0.0,
        max=1000.0,
        description="Frames per second; 0 uses the rate of the file",
    )
    keys: EnumProperty(
        name="Keys",
        items=[
            ("KEEP", "Keep", "F-curves with the keys of the file, or other keys where Blender cannot play them"),
            ("BAKE", "Bake", "One key for each frame"),
        ],
        default="KEEP",
    )
    salvage: BoolProperty(
        name="Salvage",
        default=False,
        description="Import damaged files without their unsafe parts, instead of refusing them",
    )
    format: EnumProperty(name="Format", items=_READERS, default="AUTO")
    options: StringProperty(
        name="Options", default="", description="Options of the format, such as geometry=raw; separated by commas"
    )

    def execute(self, context: Any) -> set[str]:
        paths = list(self._paths())
        if not paths:
            self.report({"ERROR"}, "no file was chosen, and none in the folder can be read")
            return {"CANCELLED"}
        if context.mode != "OBJECT" and bpy.ops.object.mode_set.poll():
            bpy.ops.object.mode_set(mode="OBJECT")
        reports: list[report.FileReport] = []
        failed = 0
        for path in paths:
            try:
                built = importing.import_file(context, path, self._import_options())
            except Exception as error:
                failed += 1
                # Reporting an error raises an exception in scripts: for one of several files it is only a warning.
                advice = "" if self.salvage or not _is_damage(error) else "; the option Salvage imports what is whole"
                self.report({"ERROR" if len(paths) == 1 else "WARNING"}, f"{path.name}: {_reason(error)}{advice}")
                continue
            reports.append(report.FileReport("Imported", path.name, built.report, built.scene.issues, built.tracks))
            report.write_text_block(reports[-1])
            self.report({"WARNING" if reports[-1].needs_attention else "INFO"}, reports[-1].line)
        if failed and len(paths) > 1:
            self.report(
                {"ERROR" if not reports else "WARNING"}, f"{failed} of {len(paths)} files could not be imported"
            )
        report.show(context, "Imported", [entry for entry in reports if entry.needs_attention])
        return {"FINISHED"} if reports else {"CANCELLED"}

    def _paths(self) -> Iterator[Path]:
        """Yield the chosen files, or all files with a known format in the chosen folder, without companions."""
        folder = Path(self.directory or self.filepath or ".")
        names = [chosen.name for chosen in self.files if chosen.name]
        if names:
            yield from (Path(self.directory) / name for name in names)
        elif self.filepath and not Path(self.filepath).is_dir():
            yield Path(self.filepath)
        elif folder.is_dir():
            candidates = sorted(
                path for path in folder.iterdir() if path.suffix.lower() in EXTENSIONS and path.is_file()
            )
            companions = _companion_names(path.name for path in candidates)
            for path in (candidate for candidate in candidates if candidate.name not in companions):
                if _is_recognised(path):
                    yield path
                else:
                    self.report({"INFO"}, f"{path.name} was skipped: unknown format")

    def _import_options(self) -> importing.Options:
        return importing.Options(
            scale=self.scale,
            convert_unit=self.unit == "CONVERT",
            fps=self.fps or None,
            salvage=self.salvage,
            bake=self.keys == "BAKE",
            format=None if self.format == "AUTO" else self.format,
            reader_options=_parse_options(self.options),
        )

    def invoke(self, context: Any, event: Any) -> Any:
        """Open a dialog with the options for dropped files, otherwise the file browser."""
        return self.invoke_popup(context)


class EXPORT_SCENE_OT_keyframer(bpy.types.Operator, ExportHelper):
    """Export the scene to an old keyframed format"""

    bl_idname = "export_scene.keyframer"
    bl_label = "Export Legacy Animation"
    bl_options = {"PRESET"}  # noqa: RUF012

    filename_ext = FORMATS[0].extensions[0]
    filter_glob: StringProperty(default=";".join(f"*{ending}" for ending in EXTENSIONS), options={"HIDDEN"})
    format: EnumProperty(
        name="Format",
        items=[("AUTO", "By Extension", "From the extension of the file name"), *_WRITERS],
        default="AUTO",
    )
    selected: BoolProperty(name="Selected Only", default=False, description="Export only the selected objects")
    animated: BoolProperty(
        name="Animation", default=True, description="Export the animation from the first to the last frame"
    )
    scale: FloatProperty(name="Scale", default=1.0, min=1e-6, description="Multiply all lengths by this factor")
    into: EnumProperty(
        name="Into",
        items=[
            ("ORIGINAL", "The Original", "What was not changed in Blender stays as it is in the imported file"),
            ("NEW", "A New File", "Everything is written as Blender has it"),
        ],
        default="ORIGINAL",
        description="Used if a file of this format was imported; otherwise a new file is written",
    )
    options: StringProperty(
        name="Options", default="", description="Options of the format, such as max_error=0.001; separated by commas"
    )

    def check(self, context: Any) -> bool:
        """Keep the extension that the user typed: several formats share this operator."""
        return False

    def execute(self, context: Any) -> set[str]:
        path = Path(self.filepath)
        try:
            exporter = exporter_for(path, None if self.format == "AUTO" else self.format)
            if not path.suffix:
                path = path.with_suffix(exporter.extension(None))
            if not path.parent.is_dir():
                raise FileNotFoundError(f"there is no folder {path.parent}")
            losses = LossReport(exporter.name)
            scene, why_new = self._scene(context, exporter, losses)
            options = options_from_text(exporter.option_types(), _parse_options(self.options))
            written = exporting.save(scene, path, exporter, options)
        except Exception as error:
            self.report({"ERROR"}, f"{path.name}: {_reason(error)}")
            return {"CANCELLED"}
        written.losses += losses.losses
        summary = report.FileReport("Exported", path.name, written)
        if why_new:
            summary.line += f" (a new file: {why_new})"
        report.write_text_block(summary)
        self.report({"WARNING" if summary.needs_attention else "INFO"}, summary.line)
        report.show(context, "Exported", [summary] if summary.needs_attention else [])
        return {"FINISHED"}

    def _scene(self, context: Any, exporter: Exporter, losses: LossReport) -> tuple[Scene, str]:
        """Return the scene to write: the imported file with its edits, or all as Blender has it and why."""
        collection, why_new = None, ""
        if self.into == "ORIGINAL" and self.animated and not self.selected:
            collection, why_new = exporting.source_of(context, exporter.name)
        if collection is None:
            choice = {"selected": self.selected, "animated": self.animated, "scale": self.scale}
            return exporting.scene_of(context, losses, **choice), why_new
        scene = exporting.edited_original(context, collection, losses)
        return scene if self.scale == 1.0 else in_space(scene, scene.space, self.scale), ""


class KEYFRAMER_OT_play_clip(bpy.types.Operator):
    """Play this clip on everything that it animates"""

    bl_idname = "keyframer.play_clip"
    bl_label = "Play Clip"
    bl_options = {"UNDO"}  # noqa: RUF012

    action: StringProperty(name="Action")

    def execute(self, context: Any) -> set[str]:
        action = bpy.data.actions.get(self.action)
        if action is None or animation.CLIP_MARK not in action:
            self.report({"ERROR"}, f"{self.action!r} is not the action of an imported clip")
            return {"CANCELLED"}
        count = animation.switch_to(action)
        context.scene.frame_start = max(0, int(action.frame_start))
        context.scene.frame_end = max(context.scene.frame_start, int(action.frame_end))
        self.report({"INFO"}, f"{action.name} plays on {counted(count, 'data-block')}")
        return {"FINISHED"}


class VIEW3D_PT_keyframer_clips(bpy.types.Panel):
    bl_label = "Clips"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Keyframer"

    @classmethod
    def poll(cls, context: Any) -> bool:
        return bool(animation.clip_actions())

    def draw(self, context: Any) -> None:
        for action in animation.clip_actions():
            self.layout.operator(KEYFRAMER_OT_play_clip.bl_idname, text=action.name, icon="PLAY").action = action.name


class IO_FH_keyframer(bpy.types.FileHandler):
    bl_idname = "IO_FH_keyframer"
    bl_label = "Legacy Animation"
    bl_import_operator = IMPORT_SCENE_OT_keyframer.bl_idname
    bl_export_operator = EXPORT_SCENE_OT_keyframer.bl_idname
    bl_file_extensions = ";".join(EXTENSIONS)

    @classmethod
    def poll_drop(cls, context: Any) -> bool:
        return context.area is not None and context.area.type in {"VIEW_3D", "OUTLINER"}


_CLASSES = (
    IMPORT_SCENE_OT_keyframer,
    EXPORT_SCENE_OT_keyframer,
    KEYFRAMER_OT_play_clip,
    VIEW3D_PT_keyframer_clips,
    IO_FH_keyframer,
)


def _import_entry(menu: Any, context: Any) -> None:
    menu.layout.operator(IMPORT_SCENE_OT_keyframer.bl_idname, text="Legacy Animation (.3ds and others)")


def _export_entry(menu: Any, context: Any) -> None:
    menu.layout.operator(EXPORT_SCENE_OT_keyframer.bl_idname, text="Legacy Animation (.3ds and others)")


def register() -> None:
    for known in _CLASSES:
        bpy.utils.register_class(known)
    bpy.types.TOPBAR_MT_file_import.append(_import_entry)
    bpy.types.TOPBAR_MT_file_export.append(_export_entry)


def unregister() -> None:
    bpy.types.TOPBAR_MT_file_export.remove(_export_entry)
    bpy.types.TOPBAR_MT_file_import.remove(_import_entry)
    for known in reversed(_CLASSES):
        bpy.utils.unregister_class(known)
