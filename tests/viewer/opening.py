"""Files for the viewer, opened as by the command."""

from __future__ import annotations

from pathlib import Path

from keyframer.cli import inputs, view
from keyframer.cli.parser import Parser
from keyframer.viewer import ViewedFile
from keyframer.viewer.standalone_page import FOLDER, Assets

EXAMPLE = Path(__file__).parents[2] / "examples/windmill.3ds"
SAMPLES = Path(__file__).parents[1] / "samples"
FILES = (
    EXAMPLE,
    SAMPLES / "3ds/tracks.3ds",
    SAMPLES / "hale3d/wave-nul-ended.anim",
    SAMPLES / "midtown/retail.anim",
    SAMPLES / "uto3d/maxscript.u3d",
    SAMPLES / "nodeanim/default_mixed.nanim",
    SAMPLES / "3ds/cut.3ds",
)
"""one of each format, and one that cannot play"""
CUT = len(FILES) - 1


def viewed(*arguments: object) -> list[ViewedFile]:
    """Return the files that ``keyframer view ARGUMENTS`` would show."""
    parser = Parser(prog="keyframer view")
    view.add_arguments(parser)
    options = parser.parse_args([str(argument) for argument in arguments])
    options.parser, options.quiet, options.verbose = parser, True, False
    return [view._viewed(item, options) for item in inputs.inputs_of(options, inputs.LOADABLE)]


def assets(folder: Path) -> Assets:
    """Return the page if it is built, otherwise a placeholder: the server does not depend on the content."""
    if (FOLDER / "index.html").is_file():
        return Assets()
    (folder / "assets").mkdir(exist_ok=True)
    (folder / "index.html").write_text("<!doctype html><title>stand-in</title>")
    (folder / "assets/index-x.js").write_text("'</script><!--'")
    (folder / "assets/index-x.css").write_text("body { margin: 0 }")
    return Assets(folder)
