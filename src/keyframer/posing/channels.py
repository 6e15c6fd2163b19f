"""The channels of a clip, sorted: which never change and which move, what they move and where a bank keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.curves import CurveBank, Place
from keyframer.scene import Clip

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Samples = dict[str, Floats]
"""values of the channels that move, as `CurveBank.evaluate_moving` gives them"""


@dataclass(frozen=True)
class Movers:
    """Channels of one kind and family that change, and the nodes they belong to (in rising order)."""

    nodes: Indices
    family: str
    slots: Indices | slice

    def values(self, samples: Samples) -> Floats:
        """(T, nodes, k)"""
        return samples[self.family][:, self.slots]


class _StillValues(Mapping[int, Floats]):
    """Node to the value (k,) of a channel that never changes; an array is made for those that are asked for."""

    def __init__(self, bank: CurveBank, places: dict[int, Place]) -> None:
        self._bank = bank
        self._places = places

    def __getitem__(self, node: int) -> Floats:
        value = self._bank.still_value(self._places[node])
        assert value is not None
        return value

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Channels:
    """All channels of a clip, compiled. Of two of a kind on one node the later counts; a channel without usable keys
    leaves the node at rest; a channel of a node that does not exist is left out."""

    def __init__(self, clip: Clip, node_count: int) -> None:
        channels = [channel for channel in clip.channels if 0 <= channel.node < node_count]
        self.bank = CurveBank([channel.track for channel in channels])
        empty = self.bank.empty
        chosen: dict[str, dict[int, Place]] = {}
        for number, channel in enumerate(channels):
            if number not in empty:
                chosen.setdefault(channel.track.kind, {})[channel.node] = self.bank.places[number]
        self.still: dict[str, Mapping[int, Floats]] = {}
        """kind to node to the value (k,) that never changes"""
        self.movers: dict[str, list[Movers]] = {}
        """kind to what does change"""
        for kind, places in chosen.items():
            self._sort(kind, places)

    def _sort(self, kind: str, places: dict[int, Place]) -> None:
        moving: dict[str, list[tuple[int, int]]] = {}
        still: dict[int, Place] = {}
        self.still[kind] = _StillValues(self.bank, still)
        for node, place in places.items():
            if self.bank.still_value(place) is None:
                moving.setdefault(place.family, []).append((node, place.slot))
            else:
                still[node] = place
        for family, pairs in moving.items():
            pairs.sort()
            nodes, slots = np.array(pairs, np.int64).T
            self.movers.setdefault(kind, []).append(Movers(nodes, family, as_slice(slots)))

    def moving_nodes(self, kinds: Iterable[str]) -> Indices:
        """The nodes that have a channel of one of these kinds that changes, in rising order."""
        found = [movers.nodes for kind in kinds for movers in self.movers.get(kind, ())]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def set_still(self, kind: str, rows: Floats) -> None:
        """Put the values that never change into ``rows`` (nodes, k)."""
        for node, value in self.still.get(kind, {}).items():
            rows[node] = value

    def one(self, samples: Samples, kind: str, node: int) -> Floats | None:
        """(T, k) of one node, (1, k) if it never changes, None if no channel says anything."""
        for movers in self.movers.get(kind, ()):
            found = np.flatnonzero(movers.nodes == node)
            if len(found):
                return movers.values(samples)[:, found[0]]
        value = self.still.get(kind, {}).get(node)
        return None if value is None else value[None]


def as_slice(numbers: Indices) -> Indices | slice:
    """Numbers that follow each other as a slice, which numpy reads without a copy."""
    if len(numbers) == 1:
        return slice(int(numbers[0]), int(numbers[0]) + 1)
    if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1 and (np.diff(numbers) == 1).all():
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers
