"""``keyframer view``: play files in the browser."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser

from keyframer.cli import inputs, scene_loading, texture_search
from keyframer.cli.each_input import LOAD_FAILURES, READ_FAILURES
from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.cli.inputs import BadInput, FileInput, Input, MemberInput
from keyframer.cli.messages import as_format_error, failure, note
from keyframer.cli.outputs import check_file, refused, write_file
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.limits import Budget, limits_of
from keyframer.operations import reading_options
from keyframer.text import counted
from keyframer.textures import TextureSource
from keyframer.viewer import LoadedFile, ViewedFile, Viewer, packed_page
from keyframer.viewer.access_control import BrowserHandoff
from keyframer.viewer.standalone_page import Assets, PageMissing

ABOUT = """Play files in the browser, with tree, timeline, curves, issues and bytes.

The page is served to this machine only, until Ctrl-C, at an address that
contains a secret. The address is printed and, unless --no-open is given, opened
(through a page that only you can read, so that ps does not show the secret).
--export writes one page that works offline and without a server; it contains
the bytes of the files. More files can be dropped on a page that is served; they
are kept in memory. Problems of a file are shown in the page even if nothing can
be played (--salvage leaves out the unsafe parts). If none of the files can be
opened, the command ends."""

EXAMPLES = (
    "keyframer view scene.3ds",
    "keyframer view -r models/ --texture-path textures/",
    "keyframer view scene.3ds --export scene.html",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    reading_options.add_scene_arguments(parser)
    page = parser.add_argument_group("page")
    page.add_argument("--export", metavar="PAGE", help="write one self-contained HTML file instead of serving")
    page.add_argument("-f", "--force", action="store_true", help="overwrite an existing page")
    page.add_argument("--no-open", action="store_true", help="print the address without opening a browser")
    page.add_argument("--port", type=int, default=0, metavar="N", help="port of the server (default: any free port)")
    reading_options.add_textures(parser)


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    if not 0 <= options.port <= 65_535:
        options.parser.error("--port must be from 0 to 65535")
    if options.export is not None and (options.port or options.no_open):
        options.parser.error("--export starts no server: --port and --no-open cannot be given with it")
    if options.export is not None and not options.force and os.path.lexists(options.export):
        options.parser.error(f"{options.export} exists (-f overwrites it)")
    try:
        Assets()
    except PageMissing as missing:
        options.parser.error(str(missing))
    opened = []
    unreadable: list[tuple[str, Exception]] = []
    for item in inputs.inputs_of(options, inputs.LOADABLE):
        opened.append(_viewed(item, options))
        problem = _problem(item)
        unreadable += [] if problem is None else [(item.name, problem)]
    if options.export is not None:
        return _export(opened, options)
    if len(unreadable) == len(opened):
        for name, problem in unreadable:
            failure(name, problem)
        return INPUTS_FAILED
    return _serve(opened, options)


def _problem(item: Input) -> Exception | None:
    """Return why an input does not exist or is none; None for one that can be opened."""
    if isinstance(item, FileInput):
        try:
            os.stat(item.name)
        except OSError as error:
            return error
    return item.error if isinstance(item, BadInput) else None


def _viewed(item: Input, options: argparse.Namespace) -> ViewedFile:
    """Return a file for the page; stdin is read now, files and members of archives when they are shown."""
    budget = item.budget or Budget(limits_of(dict(options.limit)))
    with budget.opened():
        if isinstance(item, (FileInput, MemberInput)):
            return ViewedFile(item.name, lambda: _loaded_file(item, _open(item, options), options), budget)
        opened = _open(item, options)
    return ViewedFile(item.name, lambda: _loaded_file(item, opened, options), budget)


def _open(item: Input, options: argparse.Namespace) -> OpenedFile | FormatError:
    """Open an input; returns the error if it cannot be read."""
    try:
        return scene_loading.open_input(item, options)
    except READ_FAILURES as error:
        return as_format_error(error)


def _loaded_file(item: Input, opened: OpenedFile | FormatError, options: argparse.Namespace) -> LoadedFile:
    """Load as much of an input as possible; failures are printed on stderr and shown in the page."""
    if isinstance(opened, FormatError):
        failure(item.name, opened)
        return LoadedFile(OpenedFile(b"", name=item.name), failure=opened)
    finder = texture_search.finder_for(item, options)
    loaded = LoadedFile(opened, textures=None if finder is None else TextureSource(finder))
    try:
        loaded.scene = scene_loading.scene_of_opened(item, opened, options)
    except LOAD_FAILURES as error:
        loaded.failure = as_format_error(error)
        failure(item.name, error)
    return loaded


def _export(opened: list[ViewedFile], options: argparse.Namespace) -> int:
    try:
        check_file(options.export, force=options.force)
        if not any(file.loaded.document or file.loaded.scene or file.loaded.importer for file in opened):
            note(options, f"{options.export} not written: none of the files can be shown")
            return INPUTS_FAILED
        page = packed_page(opened)
        write_file(options.export, page, force=options.force)
    except FormatError as error:
        failure(options.export, error)
        return INPUTS_FAILED
    note(options, f"{options.export}: {counted(len(page), 'byte')}, {counted(len(opened), 'file')}")
    return INPUTS_FAILED if any(file.loaded.failure is not None for file in opened) else SUCCESS


def _serve(opened: list[ViewedFile], options: argparse.Namespace) -> int:
    try:
        limits = limits_of(dict(options.limit))
        viewer = Viewer(opened, options.port, limits=limits, salvage=options.salvage)
    except OSError as error:
        failure(f"127.0.0.1:{options.port}", refused(f"the server cannot be started: {error.strerror or error}"))
        return INPUTS_FAILED
    handoff: BrowserHandoff | None = None
    try:  # the user may interrupt as soon as the address is printed
        if not options.no_open:
            try:
                handoff = BrowserHandoff(viewer.url)
                viewer.when_opened = handoff.remove
            except OSError as error:  # no folder for temporary files
                failure("the browser", refused(f"the browser cannot be opened: {error.strerror or error}"))
        sys.stdout.write(f"{viewer.url}\n")
        sys.stdout.flush()
        note(options, "serving to this machine only; Ctrl-C stops the server")
        if handoff is not None:
            webbrowser.open(handoff.url)
        viewer.wait()
    except KeyboardInterrupt:
        pass
    finally:
        if handoff is not None:
            handoff.remove()
        viewer.close()
    return SUCCESS
