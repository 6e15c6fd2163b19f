"""The catalogue of losses: each type is used, and every place that reports one gives the values in its sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import keyframer
from keyframer.scene.loss_report import LossReport, LossType, Outcome
from keyframer.scene.losses import (
    CLIPS_UNSUPPORTED,
    DETAIL_UNSUPPORTED,
    EXTRAS_KEPT,
    FEATURES_UNSUPPORTED,
    FIELD_KEPT,
    FIELD_UNSUPPORTED,
    GEOMETRY_LEFT_OUT,
    KEYS_CONVERTED,
    LIGHT_CHANGED,
    LIGHTS_UNSUPPORTED,
    LOSSES,
    MORPHS_UNSUPPORTED,
    MOTION_INCOMPLETE,
    MOTION_WRITTEN,
    NODES_UNSUPPORTED,
    NORMALS_CHANGED,
    PART_WRITTEN,
    SKINS_UNSUPPORTED,
    TEXTURES_UNSUPPORTED,
    TIMES_ROUNDED,
    TRACK_WITHOUT_EFFECT,
    TRANSFORM_APPLIED,
    loss_type,
)

ROOT = Path(__file__).parents[2]
TYPES = [kind for kinds in LOSSES.values() for kind in kinds.values()]
_OPTIONS = {"outcome", "advice", "error", "unit", "extras"}
"""arguments of `LossReport.add` that are not values of the sentence"""


def _values(template: str | None) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template or "") if name}


def _kinds(tree: ast.AST) -> Iterator[LossType]:
    """Yield the types named in an expression: ``LINK_INVALID``, ``KEYS_CONVERTED["ease"]``."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and "" in LOSSES.get(part.id, ()):
            yield LOSSES[part.id][""]
        elif isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id in LOSSES:
            case = part.slice  # FEATURES_UNSUPPORTED and others have names
            assert isinstance(case, ast.Constant), ast.unparse(part)
            yield LOSSES[part.value.id][case.value]


def _reports() -> Iterator[tuple[str, LossType, set[str] | None]]:
    """Yield the place, the type and the values of each report of a loss; None if values come from a dictionary."""
    for folder in ("src", "blender"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                    continue
                if node.func.attr == "add":
                    given = {keyword.arg for keyword in node.keywords if keyword.arg is not None}
                    spread = any(keyword.arg is None for keyword in node.keywords)
                    for kind in _kinds(node.args[0]):
                        yield f"{path.name}:{node.lineno}", kind, None if spread else given - _OPTIONS


def test_every_report_gives_the_values_in_its_sentence() -> None:
    reports = list(_reports())
    assert len(reports) > 120
    wrong = []
    for place, kind, given in reports:
        wanted = (_values(kind.template) | _values(kind.summary)) - {"target"}
        if given is not None and not wanted <= given:
            wrong.append(f"{place}: {kind.key} needs {sorted(wanted - given)}")
    assert wrong == []


def test_values_have_other_names_than_options() -> None:
    assert [kind.key for kind in TYPES if _values(kind.template) & _OPTIONS] == []


def test_every_type_is_used() -> None:
    used = {kind.key for kind in FEATURES_UNSUPPORTED.values()}
    for folder in ("src", "blender"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "losses.py" and "losses import" in (text := path.read_text("utf-8")):
                tree = ast.parse(text)
                named = {part for part in ast.walk(tree) if not isinstance(part, ast.ImportFrom)}
                used |= {kind.key for part in named for kind in _kinds(part)}
    assert [kind.key for kind in TYPES if kind.key not in used] == []


def test_codes_are_declared_once() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        loss_type("MOTION_WRITTEN", Outcome.EXACT, "again")


def test_sentences_name_no_format() -> None:
    from keyframer.formats import FORMATS

    titles = [name for format in FORMATS for name in (format.name, format.title) if name != "ase"]
    words = " ".join(f"{kind.template} {kind.summary} {kind.advice}" for kind in TYPES)
    assert [title for title in titles if title in words] == []


def test_every_feature_has_a_code() -> None:
    source = (ROOT / "src/keyframer/formats/kit/unsupported_features.py").read_text("utf-8")
    present = next(
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "_present"
    )
    pairs = [node.elts for node in ast.walk(present) if isinstance(node, ast.Tuple) and len(node.elts) in (2, 4)]
    features = {first.value for first, *_ in pairs if isinstance(first, ast.Constant)}
    assert len(features) > 20
    assert features <= FEATURES_UNSUPPORTED.keys()


def test_outcome_advice_and_unit_come_from_the_type() -> None:
    report = LossReport("example")
    report.add(CLIPS_UNSUPPORTED["second"], "/clips/walk")
    report.add(SKINS_UNSUPPORTED["bending"], "/nodes/body/skin", error=0.5, bent=3, count=12)
    report.add(
        TIMES_ROUNDED["keys"], "/nodes/body/position", outcome=Outcome.EXACT, error=0.0, unit="degree", seconds=0.1
    )
    clip, skin, times = report
    assert (clip.outcome, clip.advice, clip.unit) == (Outcome.DROPPED, "--clip NAME, once for each clip", None)
    assert str(clip).endswith("this format can store only one clip; --clip NAME, once for each clip")
    assert (skin.outcome, skin.unit) == (Outcome.DROPPED, "scene unit")
    assert skin.detail == "several joints bend 3 of 12 faces; each face is now attached to one joint"
    assert (times.outcome, times.unit) == (Outcome.EXACT, "degree")
    assert report.counts() == {"CLIPS_UNSUPPORTED:second": 1, "SKINS_UNSUPPORTED:bending": 1}
    entry = report.as_dict()["losses"][1]
    assert (entry["code"], entry["case"], entry["args"]) == ("SKINS_UNSUPPORTED", "bending", {"bent": 3, "count": 12})


SENTENCES: list[tuple[LossType, dict[str, object], str]] = [
    (LOSSES["LIGHTS_UNSUPPORTED"]["lights"], {"target": "USD", "what": "2 lights"}, "USD cannot store 2 lights"),
    (FIELD_UNSUPPORTED["value"], {"what": "lens shift"}, "this format cannot store lens shift"),
    (
        FIELD_UNSUPPORTED["field"],
        {"field": "edges", "parts": "4 meshes"},
        "this format cannot store 'edges' of 4 meshes",
    ),
    (KEYS_CONVERTED["wrap"], {"wrap": "loop", "keys": "9 linear keys"}, (
        "tracks with the wrap 'loop' cannot be stored in this format: written as 9 linear keys"
    )),
    (KEYS_CONVERTED["other keys"], {"count": 1, "keys": "4 keys"}, "1 key became 4 keys"),
    (TIMES_ROUNDED["keys"], {"seconds": 1 / 30000}, "times were rounded by up to 3.3e-05 s"),
    (LOSSES["NAME_CHANGED"]["rule"], {"name": "it's", "rule": ""}, 'renamed to "it\'s"'),
    (LOSSES["KEYS_LEFT_OUT"]["too late"], {"last": 1e7}, "keys after frame 10,000,000 are ignored"),
    (LOSSES["MESH_SPLIT"]["pieces"], {"pieces": 2, "reason": "one for each material"}, (
        "written as 2 meshes: one for each material"
    )),
    (LOSSES["ORIGINAL_DATA_LOST"]["more bytes"], {"count": 525, "places": 1}, "525 more unknown bytes in 1 place"),
    (LOSSES["ORIGINAL_REWRITTEN"][""], {"reason": "a joint is scaled"}, (
        "the original could not be edited in place (a joint is scaled): a new file was written"
    )),
    (LOSSES["CLIP_RANGE_CHANGED"]["segment"], {"unit_name": "frames", "first": 0.0, "last": 9.0}, (
        "the active segment became frames 0 to 9"
    )),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "args", "wanted"), SENTENCES, ids=lambda value: getattr(value, "key", ""))
def test_sentences(kind: LossType, args: dict[str, object], wanted: str) -> None:
    report = LossReport("example")
    report.add(kind, "/nodes/a", **args)  # type: ignore[arg-type]
    assert report.losses[0].detail == wanted
    assert str(report.losses[0]).startswith(f"{kind.outcome.value}: /nodes/a: {wanted}")
    assert report.as_dict()["losses"][0]["args"] == args


def summary(*losses: tuple[Any, ...], **measured: float) -> str:
    """Return the summary of losses: type, path, and values of its sentence or options."""
    report = LossReport("example")
    for kind, path, values in losses:
        report.add(kind, path, **values)
    report.measured |= measured
    return report.summary()


def test_summary_begins_with_what_is_lost() -> None:
    assert summary() == "no losses"
    kept = (MOTION_WRITTEN["keys"], "/nodes/a/position", {"keys": "2 keys"})
    assert summary(kept) == "nothing lost"
    missing = {"target": "it", "field": "edges", "parts": "4 meshes"}
    losses = [(MORPHS_UNSUPPORTED["unused"], f"/nodes/{name}/morph", {}) for name in "ab"]
    text = summary(kept, (FIELD_UNSUPPORTED["field"], "/meshes/edges", missing), *losses)
    assert text == "lost: unused shapes of 2 nodes, edges of 4 meshes"


def test_summary_says_what_looks_or_moves_differently_and_by_how_much() -> None:
    turns = [
        (
            KEYS_CONVERTED["other keys"],
            f"/nodes/{name}/rotation",
            {"count": 9, "keys": "4 keys", "error": error, "unit": "degree"},
        )
        for name, error in (("Rotor", 0.25), ("Cock", 0.0004))
    ]
    lens = {"count": 9, "keys": "4 keys", "error": 0.1, "unit": "degree"}
    text = summary(
        *turns,
        (KEYS_CONVERTED["other keys"], "/nodes/Eye/fov", lens),
        (LIGHT_CHANGED["dimming"], "/lights/Lamp", {"difference": ""}),
    )
    differs = "rotation of 2 nodes (up to 0.25 degrees), field of view of Eye (up to 0.1 degrees), brightness of Lamp"
    assert text == f"nothing lost; differs: {differs}"
    text = summary(turns[0], world_error=0.013, world_error_allowed=0.04)
    assert text.endswith("; largest error 0.013 scene units (allowed 0.04)")


def test_summary_tells_notes_from_losses_and_leaves_out_what_nobody_sees() -> None:
    text = summary(
        (FIELD_KEPT["field"], "/meshes/Box/smoothing", {}), (TRANSFORM_APPLIED["pivot"], "/nodes/Box/pivot", {})
    )
    assert text == "nothing lost; kept as notes: smoothing groups of Box"
    stored = {"target": "it", "field": "name", "parts": "the clip"}
    assert summary((DETAIL_UNSUPPORTED["field"], "/clips/name", stored)) == "nothing lost"
    assert summary((EXTRAS_KEPT["part"], "/cameras/Camera", {"field": "Camera", "parts": "1 camera"})) == "nothing lost"


def test_summary_names_whole_parts() -> None:
    gone = {"nodes": "cameras"}
    assert summary((NODES_UNSUPPORTED["kind"], "/nodes/Eye", gone)) == "lost: node Eye"
    assert summary(*((NODES_UNSUPPORTED["kind"], f"/nodes/{name}", gone) for name in "ab")) == "lost: 2 nodes"
    assert summary((CLIPS_UNSUPPORTED["second"], "/clips/walk", {})) == "lost: clip walk"
    assert summary((FIELD_KEPT["field"], "/meshes//edges", {})) == "nothing lost; kept as notes: edges of mesh"


def test_summary_says_that_motion_is_incomplete_and_images_are_missing() -> None:
    assert summary((PART_WRITTEN["part"], "/meshes/Box", {}), missing_images=2.0) == "2 images missing"
    incomplete = (MOTION_INCOMPLETE, "/nodes/Camera/aim", {"reason": "it changes faster than keys can follow"})
    assert summary(incomplete, missing_images=1.0) == "lost: incomplete motion of Camera; 1 image missing"


def test_summary_is_short() -> None:
    losses = [(TRACK_WITHOUT_EFFECT["no geometry"], "/nodes/a/visible", {})]
    losses += [
        (FIELD_UNSUPPORTED["value"], "/cameras/Eye/clip", {"what": "clip planes"}),
        (FIELD_UNSUPPORTED["value"], "/cameras/Eye/shift", {"what": "lens shift"}),
    ]
    losses += [
        (TEXTURES_UNSUPPORTED["amount"], "/maps/a.tga/amount", {}),
        (LIGHTS_UNSUPPORTED["ambient"], "/lights/ambient", {}),
    ]
    losses += [
        (MORPHS_UNSUPPORTED["unused"], "/nodes/a/morph", {}),
        (GEOMETRY_LEFT_OUT["faces"], "/meshes/a/corners", {"count": 1}),
    ]
    assert summary(*losses) == "lost: clip planes of Eye, lens shift of Eye, amounts and 3 more"


@pytest.mark.parametrize(
    ("error", "unit", "text"),
    [
        (0.5, "degree", "0.5 degrees"),
        (1.0, "scene unit", "1 scene unit"),
        (12.0, "scene unit", "12 scene units"),
        (0.5, "of full light", "0.5 of full light"),
        (0.5, "1", "0.5"),
        (0.5, None, "0.5"),
    ],
)
def test_errors_are_shown_with_the_plural_of_their_unit(error: float, unit: str | None, text: str) -> None:
    report = LossReport("3ds")
    report.add(NORMALS_CHANGED["groups"], "/meshes/a/normals", error=error, unit=unit)
    assert str(report.losses[0]).endswith(f" (error {text})")
    assert report.summary() == f"nothing lost; differs: normals of a (up to {text})"
    assert report.as_dict()["losses"][0]["error"] == {"value": error, "unit": unit or ""}


def test_summaries_of_real_conversions_are_in_words(tmp_path: Path) -> None:
    scene = keyframer.Scene(cameras=[keyframer.Camera("Eye", clip=(1.0, 9.0))], nodes=[])
    scene.nodes.append(keyframer.Node("Eye", keyframer.NodeKind.CAMERA, camera=0))
    assert keyframer.save(scene, tmp_path / "a.3ds").summary().startswith("lost: clip planes of Eye; ")
    mill = keyframer.load(ROOT / "examples/windmill.3ds")
    words = keyframer.save(mill, tmp_path / "a.u3d").summary()
    assert words.startswith("lost: smoothing groups (6 meshes), maps (1 material), ambient light")
    words = keyframer.save(mill, tmp_path / "a.glb").summary()
    assert words.startswith(
        "1 image missing; differs: look of 3 materials, brightness of 2 lights, rotation of 2 nodes"
    )
    for unwanted in ("dropped", "extras", "Camera of cameras", "name of", " of clips"):
        assert unwanted not in words
