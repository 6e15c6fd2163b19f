"""Loading one input as a scene, and the arguments of every command that does so."""

from __future__ import annotations

from keyframer.cli import clips, operations, reading, salvaging
from keyframer.errors import FormatError
from keyframer.formats import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from keyframer.cli.inputs import Input
    from keyframer.formats.document import Document
    from keyframer.scene import Scene

READ_FAILURES = reading.READ_FAILURES
LOAD_FAILURES = (*READ_FAILURES, ValueError)
"""what loading an input may raise; ValueError is an option that its format does not have"""


COMPANIONS = [companion for known in FORMATS for companion in known.companions]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reading.add_arguments(parser)
    scenes = parser.add_argument_group("meaning")
    parser.set_defaults(salvaged=False)
    scenes.add_argument("--salvage", action="store_true", help="leave out what is unsafe instead of refusing the file")
    for companion in COMPANIONS:
        scenes.add_argument(f"--{companion.option}", metavar="FILE", help=companion.words)
    scenes.add_argument("--fps", type=operations.rate, metavar="N", help="frames a second, for formats that store none")
    scenes.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the format, such as geometry=raw (see docs/formats)",
    )


def options_of(options: argparse.Namespace) -> dict[str, object]:
    """The options of the bridge, from the command line."""
    found = pairs_of(options.set, "--set")
    for name in (*(companion.option for companion in COMPANIONS), "fps"):
        value = getattr(options, name)
        if value is not None:
            found[name] = value
    return found


def pairs_of(given: list[str], argument: str) -> dict[str, object]:
    """NAME=VALUE pairs; ValueError where one is none."""
    found: dict[str, object] = {}
    for pair in given:
        name, mark, value = pair.partition("=")
        if not mark:
            raise ValueError(f"{argument} wants NAME=VALUE, not {pair!r}")
        found[name.replace("-", "_")] = value
    return found


def load_scene(item: Input, options: argparse.Namespace, data: bytes | None = None) -> tuple[Scene, Document | None]:
    """The scene of an input, and the document it was made from, if it is of a format that has documents. ``data`` are
    its bytes where they have been read."""
    from functools import partial

    from keyframer.formats.contract import options_from_text
    from keyframer.formats.kit.scene_reading import scene_of

    data = item.read() if data is None else data
    document: Document | None = None
    make: Callable[..., Scene]
    importer = reading.find_importer(data, item, options.from_format)
    if importer is not None:
        make = partial(importer.load, data, reading.folder_of(item), options=_numbers(options_of(options)))
    else:
        document, _ = reading.read_document(item, options.from_format, data)
        chosen = options_from_text(document.format.option_types(), options_of(options))
        path = reading.path_of(item)
        if path is not None:
            chosen = {**document.format.find_companions(document, path, chosen), **chosen}
        make = partial(scene_of, document, chosen)
    try:
        scene = make(salvage=options.salvage)
    except FormatError as error:
        if not options.salvage:
            salvaging.add_hint(error, partial(make, salvage=True))
        raise
    salvaging.tell(item, scene, options)
    clips.choose(item, scene, options)
    return scene, document


def _numbers(given: dict[str, object]) -> dict[str, object]:
    """Values of ``--set`` for importers, whose options are numbers."""
    from keyframer.formats.contract import options_from_text

    return options_from_text(dict.fromkeys(given, "float"), given)
