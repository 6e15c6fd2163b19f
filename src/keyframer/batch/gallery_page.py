"""The folder of one file in a gallery: a page, pictures, curves, a GLB and the viewer. Workers make it.

A file that cannot be read has a page, too: it shows the issues. Text from files is never markup.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from keyframer import checking
from keyframer.batch.catalogue_rows import searched_text
from keyframer.batch.gallery_index import ASSETS, PAGE, path_below
from keyframer.errors import FormatError
from keyframer.exchange.conversion import source_options
from keyframer.exchange.gltf.write import export
from keyframer.exchange.gltf.write.asset import glb_parts
from keyframer.exchange.gltf.write.options import GltfOptions
from keyframer.exchange.opening import OpenedFile
from keyframer.formats.kit.summary_tables import Table
from keyframer.inspecting.charts import chart
from keyframer.inspecting.document_tables import Summary, summary_table
from keyframer.inspecting.panels import chosen_panels
from keyframer.inspecting.tables import shown
from keyframer.issues import IssueLog
from keyframer.markup import HtmlPage, Markup, fragment, heading_row, opening, row, tag
from keyframer.operations.info import summarise
from keyframer.rendering import Renderer
from keyframer.rendering.encoding import encode_still
from keyframer.rendering.renderer import Settings
from keyframer.scene import Scene
from keyframer.text import counted, shortened
from keyframer.textures import TextureFinder, TextureSource, pillow, scene_textures
from keyframer.viewer.standalone_page import packed_page
from keyframer.viewer.viewed_file import LoadedFile, ViewedFile

STRIP, PICTURE, CURVES, MODEL, VIEWER = "strip.jpg", "picture.jpg", "curves.svg", "model.glb", "viewer.html"
"""the files of a folder next to its page; a strip has the pictures of a playback next to each other"""

_SIDE, _FRAMES = 160, 12
"""size in pixels and maximum number of the pictures of a strip"""
_WIDTH, _HEIGHT = 640, 480
_MOST_PANELS, _MOST_ROWS, _MOST_LEVELS = 24, 1_000, 30
_LONGEST_NAME, _LONGEST_WORDS = 255, 500


def make_folder(
    opened: OpenedFile,
    sha256: str,
    finder: TextureFinder | None,
    folder: str,
    date: str = "",
    *,
    is_quick: bool = False,
) -> tuple[dict[str, bytes], dict[str, Any], IssueLog]:
    """Return the content of the files of the folder by name, the page last; the entry of the index, as JSON values; and
    the issues of the file.

    ``folder`` is its path below that of the index, ``date`` when it was last changed. A quick folder has pictures and
    facts, but no GLB, viewer and curves.
    """
    up = "../" * len(folder.split("/")) if folder else ""
    scene, facts, summary = Scene(), Table("summary", "Summary", ("what", "value")), dict[str, Any]()
    try:
        summary, tables, report = summarise(opened, None, finder)
    except FormatError:
        report = checking.check_opened(opened)
        facts.add("size", f"{len(opened.data):,} {'byte' if len(opened.data) == 1 else 'bytes'}")
        facts.add("check", report.verdict)
    else:
        facts = summary_table(summary, tables)
        if opened.importer is not None or opened.document.format.bridge() is not None:
            scene = opened.scene(salvage=True)
    name = os.path.basename(opened.name)
    facts.add("path", f"{place}/{name}" if (place := os.path.dirname(path_below(folder))) else name)
    if date:
        facts.add("date", date.replace("T", " "))
    facts.add("sha256", sha256)
    files: dict[str, bytes] = {}
    problems: list[str] = []
    is_animated = bool(summary.get("animated_nodes"))
    known = ("title", "triangles", *(("seconds",) if is_animated else ()))
    entry: dict[str, Any] = {
        "verdict": report.verdict,
        **{part: summary[part] for part in known if _is_known(summary.get(part))},
        "features": _features(summary, scene),
        "words": _words(scene, summary.get("writer")),
        **({"writer": shown(writer, most=_LONGEST_NAME)} if (writer := summary.get("writer")) else {}),
        **({"date": date} if date else {}),
    }
    source = None if finder is None else TextureSource(finder)
    is_damaged = report.verdict == "damaged"
    is_moving = any(clip.channels or clip.raw_channels for clip in scene.clips)
    loaded = LoadedFile(opened, scene, textures=source, report=report)

    def add(file: str, what: str, make: Callable[[], bytes]) -> None:
        try:
            files[file] = make()
        except (FormatError, ValueError, LookupError) as error:
            problems.append(f"{what}: {error}")

    def pictures() -> bytes:
        renderer = Renderer(scene, Settings(_SIDE, _SIDE), textures=source)
        strip, frames, still = _strip(renderer, is_animated)
        files[PICTURE], is_empty = _picture(renderer.sized(_WIDTH, _HEIGHT))
        if is_empty:
            readable = "what could be read" if is_damaged else "the file"
            has_faces = any(len(mesh.corners) for mesh in scene.meshes)
            reason = f"no face of {readable} is in view" if has_faces else f"{readable} has no faces"
            problems.append(f"the picture is empty: {reason}")
        entry.update(frames=frames, still=still)
        return strip

    def model() -> bytes:
        textures = None if finder is None else TextureSource(finder)  # not the source of the pictures: it has a budget
        asset, losses = export(scene, GltfOptions(**source_options(opened, textures)))
        data = b"".join(glb_parts(asset))
        # the page plays other keys, and has the pixels of images
        has_images = textures is not None and any(opening.texture is not None for opening in textures.opened)
        loaded.exported = None if has_images or is_moving else (data, losses)
        return data

    def viewer() -> bytes:
        return packed_page([ViewedFile(name, lambda: loaded)], shared=f"{up}{ASSETS}/")

    if not scene.nodes:
        is_known = report.verdict in ("clean", "readable with problems")
        problems.append(f"no picture: {'the file has no nodes' if is_known else 'no node could be read'}")
    else:
        add(STRIP, "no picture", pictures)
    if scene.nodes and not is_quick:
        add(MODEL, "no GLB", model)
        add(VIEWER, "no viewer", viewer)
    if not is_quick and is_moving:
        add(CURVES, "no curves", lambda: _curves(scene))
    left_out = " (without the parts that could not be read)" if is_damaged else ""
    page = "".join(_page(name, up, facts, report.issues, scene, files, problems, left_out))
    files[PAGE] = page.encode("utf-8", "backslashreplace")
    return files, entry, report.issues


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _features(summary: Summary, scene: Scene) -> list[str]:
    """Return what a file has, in the words of the filter."""
    wanted = ("animated_nodes", "meshes", "cameras", "lights", "images", "missing_images")
    words = ("animation", "meshes", "cameras", "lights", "images", "missing images")
    found = [word for name, word in zip(wanted, words, strict=True) if summary.get(name)]
    return [*found, *(["skins"] if scene.skins else [])]


def _words(scene: Scene, writer: Any) -> str:
    names, words = searched_text(scene, scene_textures(scene, None), writer)
    return shortened(f"{words}\n{names}".replace("\n", " ").strip(), _LONGEST_WORDS)


def _picture(renderer: Renderer) -> tuple[bytes, bool]:
    """Return the picture, and whether it is empty."""
    picture = renderer.picture(renderer.default_frame)
    pixels = np.asarray(picture)
    return encode_still(picture, "jpg"), bool((pixels == pixels[:, :1]).all())  # only the gradient behind the scene


def _strip(renderer: Renderer, is_animated: bool) -> tuple[bytes, int, int]:
    """Return the pictures of the playback next to each other, their number, and the index of the default one."""
    renderer.frames = frames = renderer.spread(_FRAMES, with_last=False) if is_animated else [renderer.default_frame]
    strip = pillow.Image.new("RGB", (_SIDE * len(frames), _SIDE))
    for number, picture in enumerate(renderer.pictures(frames)):
        strip.paste(picture, (_SIDE * number, 0))
    still = min(range(len(frames)), key=lambda number: abs(frames[number] - renderer.default_frame))
    return encode_still(strip, "jpg"), len(frames), still


def _curves(scene: Scene) -> bytes:
    panels, _ = chosen_panels(scene, [], [], None, _MOST_PANELS)
    return chart(panels).svg().encode("utf-8", "backslashreplace")


_SOURCES = dict.fromkeys(("style-src", "img-src", "frame-src"), "'self' file:")
"""of the policy: the style, the pictures and the viewer are files next to the page"""


def _page(
    name: str,
    up: str,
    facts: Table,
    issues: IssueLog,
    scene: Scene,
    files: dict[str, bytes],
    problems: Iterable[str],
    left_out: str,
) -> Iterator[str]:
    """Yield the pieces of the page; ``files`` has the other files of the folder; ``left_out``: what the GLB lacks."""
    style = tag("link", rel="stylesheet", href=f"{up}{ASSETS}/gallery.css")
    page = HtmlPage(f"{_text(name)} – Keyframer gallery", _SOURCES, head=[style], css_class="file")
    yield page.begin()
    yield tag("nav", tag("a", "All files", href=f"{up}index.html"))
    yield opening("main") + tag("h1", _text(name))
    picture, model = Markup(), Markup()
    if PICTURE in files:
        of_file = f"Picture of {_text(name)}"
        picture = tag("img", class_="picture", src=PICTURE, width=_WIDTH, height=_HEIGHT, alt=of_file)
    rows = (tag("tr", tag("th", what, scope="row"), tag("td", _text(value))) for what, value in facts.rows)
    table = tag("table", tag("caption", "Facts"), *rows)
    if MODEL in files:
        file = f"{_text(os.path.splitext(name)[0])}.glb"
        button = tag("a", "Download GLB", class_="button", href=MODEL, download=file)
        model = tag("p", button, f" {len(files[MODEL]):,} bytes{left_out}")
    yield tag("div", picture, tag("div", table, model, class_="facts"), class_="top")
    yield from (tag("p", _text(problem), class_="problem") for problem in problems)
    if VIEWER in files:
        frame = tag("iframe", src=VIEWER, loading="lazy", title=f"Viewer of {_text(name)}")
        link = tag("p", tag("a", "Open the viewer in its own page", href=VIEWER))
        yield tag("details", tag("summary", "Play in the viewer"), frame, link)
    yield _issues(issues)
    if scene.nodes:
        yield opening("section") + tag("h2", f"Nodes ({len(scene.nodes):,})")
        yield from _tree(scene)
        yield "</section>"
    if CURVES in files:
        image = tag("img", class_="curves", src=CURVES, loading="lazy", alt="Curves of the tracks")
        yield tag("section", tag("details", tag("summary", "Curves"), image))
    yield f"</main>{page.end()}"


def _issues(issues: IssueLog) -> Markup:
    """Return the section with the listed issues; of each code only the first are. Equal ones are one row, with their
    number and the first place."""
    listed = f"{len(issues):,} of {issues.total:,} listed" if issues.truncated else f"{issues.total:,}"
    heading = tag("h2", f"Issues ({listed})")
    if not len(issues):
        return tag("section", heading, tag("p", "None."))
    equal: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for issue in map(checking.issue_record, issues):
        equal.setdefault((issue["severity"], issue["code"], issue["message"]), []).append(issue)
    rows = [heading_row(("severity", "code", "message", "count", "first at", "in"))]
    for facts, found in equal.items():
        values = (*facts, len(found), found[0].get("offset"), found[0].get("path"))
        rows.append(row(map(_text, values), class_=facts[0]))
    table = tag("div", tag("table", *rows), class_="wide", tabindex=0, role="region", aria_label="Issues")
    return tag("section", heading, table)


def _tree(scene: Scene) -> Iterator[str]:
    """Yield nested lists. Deep trees continue on the last level: browsers limit how deep elements are nested."""
    children: dict[int, list[int]] = {}
    for number, node in enumerate(scene.nodes):
        is_child = node.parent is not None and 0 <= node.parent < len(scene.nodes) and node.parent != number
        children.setdefault(node.parent if is_child and node.parent is not None else -1, []).append(number)
    stack = [(number, 1) for number in reversed(children.get(-1, []))]
    level = count = 0
    while stack and count < _MOST_ROWS:
        number, depth = stack.pop()
        count += 1
        yield "<ul>" * (depth - level) if depth > level else "</li>" + "</ul></li>" * (level - depth)
        node = scene.nodes[number]
        yield opening("li") + fragment(_text(node.name) or "(no name)", " ", tag("small", node.kind.value)) + "\n"
        level = depth
        stack += [(child, min(depth + 1, _MOST_LEVELS)) for child in reversed(children.get(number, []))]
    yield "</li></ul>" * level
    if count < len(scene.nodes):
        yield tag("p", counted(len(scene.nodes) - count, "more node"))


def _text(value: Any) -> str:
    """Return a value as short text."""
    return "" if value is None else shown(value, most=_LONGEST_NAME)
