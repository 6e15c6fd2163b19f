"""Skinning: the real Hale3D model over its 141 frames, and generated models of 100,000 vertices over 100 frames.

The times are compared with one pass over the memory of the output: filling it with zeros, and copying it to new memory.
Posing the joints is not included. The generated models have four influences per vertex and 60 bones. In one of them,
neighbouring vertices follow the same bones, as in a real mesh; in the other, each vertex follows random bones, which is
the worst case.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks._timing import best_of_each, headline, row

import keyframer
from keyframer.posing.vertices import skinned
from keyframer.scene import Skin

MODEL = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "hale3d" / "bob_lamp_update.anim"
VERTICES, TIMES, BONES, INFLUENCES = 100_000, 100, 60, 4


def generated_skin(local: bool) -> tuple[Skin, np.ndarray, np.ndarray]:
    """Return a skin, the vertices of its mesh (1, V, 3) and the world matrices of its bones (T, J, 4, 4).

    ``local``: neighbouring vertices follow the same bones.
    """
    rng = np.random.default_rng(7)
    if local:
        first = np.sort(rng.integers(0, BONES, VERTICES))
        bones = (first[:, None] + rng.integers(0, 3, (VERTICES, INFLUENCES))) % BONES
    else:
        bones = rng.integers(0, BONES, (VERTICES, INFLUENCES))
    owners = np.repeat(np.arange(VERTICES), INFLUENCES)
    weights = rng.random(VERTICES * INFLUENCES)
    world, bind = (_random_matrices(rng, shape) for shape in ((TIMES, BONES), (BONES,)))
    skin = Skin("generated", list(range(BONES)), bind, owners, bones.ravel(), weights)
    return skin, rng.random((1, VERTICES, 3)), world


def _random_matrices(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    matrices = rng.random((*shape, 4, 4))
    matrices[..., 3, :] = (0, 0, 0, 1)
    return matrices


def reference(skin: Skin, mesh: np.ndarray, world: np.ndarray) -> np.ndarray:
    """Return the skinned vertices by the plain formula, which is too slow for more than a few times."""
    weights = skin.weights / np.bincount(skin.vertex_indices, skin.weights)[skin.vertex_indices]
    matrices = (world[:, skin.joints] @ skin.inverse_bind)[:, skin.joint_indices]
    moved = np.einsum("tnij,nj->tni", matrices[..., :3, :3], mesh[0, skin.vertex_indices]) + matrices[..., :3, 3]
    out = np.zeros((len(world), mesh.shape[1], 3))
    for slot in range(INFLUENCES):
        out += (moved * weights[:, None])[:, slot::INFLUENCES]
    return out


def measure(title: str, work: object, output: np.ndarray, runs: int) -> None:
    """Print the time of ``work``, compared with filling and copying its output."""
    seconds = best_of_each(
        {"zeros": lambda: output.fill(0.0), "copy": output.copy, "skin": work},  # type: ignore[dict-item]
        runs=runs,
    )
    size = output.nbytes / 1e6
    row(f"{title}: fill {size:.1f} MB", seconds["zeros"])
    row(f"{title}: copy to new memory", seconds["copy"])
    passes = f"{seconds['skin'] / seconds['zeros']:.1f} x a fill, {seconds['skin'] / seconds['copy']:.1f} x a copy"
    rate = output.shape[0] * output.shape[1] / seconds["skin"] / 1e6
    row(f"{title}: skinned", seconds["skin"], passes, f"{rate:.0f} million vertices per second")


def measure_real_model() -> None:
    if not MODEL.is_file():
        print("  the real model was not found")
        return
    scene = keyframer.load(MODEL)
    pose = keyframer.pose(scene, frames=range(141))
    nodes = [number for number, node in enumerate(scene.nodes) if node.skin is not None]
    output = np.concatenate([pose.vertices(number) for number in nodes], axis=1)
    title = f"real model, {output.shape[1]} vertices x 141"
    measure(title, lambda: [pose.vertices(number) for number in nodes], output, 9)


def main() -> None:
    headline("Skinning against a memory pass over the output")
    measure_real_model()
    for local, name in ((True, "generated, neighbours alike"), (False, "generated, random bones")):
        skin, mesh, world = generated_skin(local)
        np.testing.assert_allclose(skinned(skin, mesh, world[:2]), reference(skin, mesh, world[:2]), atol=1e-9)
        output = skinned(skin, mesh, world)
        measure(f"{name}, {VERTICES} x {TIMES}", lambda: skinned(skin, mesh, world), output, 5)  # noqa: B023


if __name__ == "__main__":
    main()
