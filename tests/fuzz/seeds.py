"""The inputs that fuzzing starts from: every small sample, every golden file and crasher, and files that we write."""

from __future__ import annotations

import io
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from PIL import Image

import keyframer
from keyframer.formats import FORMATS
from tests.building.editing import dump_text
from tests.building.images import encoded
from tests.fuzz.mutating import Seed
from tests.samples import all_samples
from tests.stage.archives import UNIT, model, moving_head, scene_object, show

TESTS = Path(__file__).resolve().parents[1]
SMALL = 10_000
SKELETON = b"NumBones 2\nbone hips {\n\toffset 0 0 0\n\tbone leg {\n\t\toffset 0 -1 0\n\t}\n}\n"


@cache
def all_seeds() -> dict[str, tuple[Seed, ...]]:
    """Return all seeds by kind, always in the same order."""
    native = [Seed(name, path.suffix, path.read_bytes()) for name, path in all_samples()]
    native += [_golden(path) for path in sorted((TESTS / "golden" / "files").rglob("*")) if _is_small(path)]
    native += pairs(native)
    seeds = [*native, *textured(), *written(native), *texts(native), *archives(native), *stages()]
    kinds = [*(known.name for known in FORMATS), "gltf", "mvr", "gdtf", "text", "zip"]
    return {kind: tuple(dict.fromkeys(seed for seed in seeds if seed.kind == kind)) for kind in kinds}


def _is_small(path: Path) -> bool:
    return path.is_file() and path.suffix not in (".json", ".py", ".md") and 0 < path.stat().st_size <= SMALL


def _golden(path: Path) -> Seed:
    data = path.read_bytes()
    detected = keyframer.detect(data, name=path.name).format
    return Seed("gltf" if path.suffix in (".glb", ".gltf") else detected.name if detected else "3ds", path.suffix, data)


def pairs(native: list[Seed]) -> list[Seed]:
    """Return animations with their model or skeleton, and models with an animation."""
    moves = [seed for seed in native if seed.kind == "hale3d" and seed.suffix == ".anim"]
    models = [seed for seed in native if seed.kind == "hale3d" and seed.suffix == ".mdl"]
    clips = [seed for seed in native if seed.kind == "midtown"]
    seeds = [Seed("hale3d", ".anim", move.data, ((".mdl", models[0].data),)) for move in moves[:4]]
    seeds += [Seed("hale3d", ".mdl", model.data, ((".anim", moves[0].data),)) for model in models[:2]]
    return [*seeds, *(Seed("midtown", ".anim", clip.data, ((".skel", SKELETON),)) for clip in clips[:4])]


def textured() -> list[Seed]:
    """Return the windmill, whose wall has an image, with images of several kinds under that name."""
    data = (TESTS / "samples" / "3ds" / "windmill.3ds").read_bytes()
    picture, images = Image.radial_gradient("L").resize((16, 16)).convert("RGB"), []
    for kind in ("PNG", "BMP", "TGA", "GIF", "JPEG", "TIFF"):
        images.append(Seed("3ds", ".3ds", data, (("stone.png", encoded(picture, kind)),)))
    return images


def written(native: list[Seed]) -> list[Seed]:
    """Return glTF of both kinds, written from the samples."""
    seeds: list[Seed] = []
    for seed in native[:80:5]:
        with tempfile.TemporaryDirectory() as name:
            source = Path(name) / f"in{seed.suffix}"
            source.write_bytes(seed.data)
            try:
                scene = keyframer.load(source, format=seed.kind, salvage=True)
                keyframer.save(scene, Path(name) / "out.glb")
                keyframer.save(scene, Path(name) / "out.gltf")
            except (keyframer.FormatError, ValueError):
                continue
            binary, text = (Path(name) / "out.glb").read_bytes(), (Path(name) / "out.gltf").read_bytes()
            companions = tuple((path.name, path.read_bytes()) for path in sorted(Path(name).glob("*.bin")))
        if len(binary) <= SMALL:
            seeds += [Seed("gltf", ".glb", binary), Seed("gltf", ".gltf", text, companions)]
    return seeds


def texts(native: list[Seed]) -> list[Seed]:
    """Return the dumped texts of documents."""
    small = [seed.document for seed in native if seed.document is not None and len(seed.data) < 1_500]
    return [Seed("text", ".json", dump_text(document, offsets=False).encode()) for document in small[::3]]


def stages() -> list[Seed]:
    """Return shows and fixtures: the example, and those of the tests of stage archives."""
    example = (TESTS.parent / "examples" / "stage.mvr").read_bytes()
    heads = {ending: moving_head(ending) for ending in (".3ds", ".glb")}
    placed = scene_object('<Geometry3D fileName="box.glb"/>', f"{UNIT}{{0,0,1000}}")
    lit = '<Fixture name="Spot" uuid="f1"><GDTFSpec>spot</GDTFSpec><GDTFMode>Default</GDTFMode></Fixture>'
    shows = [example, show(placed + lit, {"box.glb": model(".glb"), "spot.gdtf": heads[".3ds"]})]
    return [*(Seed("mvr", ".mvr", data) for data in shows), *(Seed("gdtf", ".gdtf", data) for data in heads.values())]


def archives(native: list[Seed]) -> list[Seed]:
    """Return zip archives of three samples each."""
    seeds = []
    for at in range(0, 30, 3):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, seed in enumerate(native[at : at + 3]):
                archive.writestr(zipfile.ZipInfo(f"m{number}{seed.suffix}"), seed.data)
        seeds.append(Seed("zip", ".zip", stream.getvalue()))
    return seeds
