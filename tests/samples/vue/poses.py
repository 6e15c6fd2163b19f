"""The poses of the VUE samples, from the evaluator of the tests."""

from __future__ import annotations

from tests.oracles import vue as evaluator
from tests.samples.poses import Expected, expected_node
from tests.samples.vue.make import turning

SOURCE = "tests/oracles/vue.py: the matrices of the text, as the manual of 3ds Max says"


def poses() -> dict[str, Expected]:
    frames = evaluator.frames_of(turning())
    nodes = []
    for name, numbers in (("Box", (0, 1, 2)), ("Big Plate", (0, 0, 2))):
        found = [next(words for words in frames[number] if words[1] == name) for number in numbers]
        nodes.append(expected_node(name, [evaluator.matrix_of(words).tolist() for words in found]))
    return {"turning.vue": Expected([0.0, 1.0, 2.0], nodes[:1])}
