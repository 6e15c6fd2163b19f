"""The channels of a clip, divided into constant and animated ones, with their positions in a curve bank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyframer.arrays import Flags, Floats, Indices
from keyframer.curves import CurveBank, RotationForm, SamplePlace
from keyframer.curves.key_columns import LARGEST_USABLE, largest
from keyframer.curves.rotation_forms import single_rotations
from keyframer.maths.distinct_values import unique_values
from keyframer.scene import Channel, Clip

Samples = dict[str, Floats]
"""values of the animated channels, as `CurveBank.evaluate_moving` returns them"""
CHANNELS_PER_BLOCK = 8_192
"""channels compiled at once if only one moment is needed"""


@dataclass(eq=False, repr=False)
class AnimatedChannels:
    """Animated channels of one kind in one family of a `CurveBank`, and their nodes (in ascending order)."""

    nodes: Indices
    family: str
    slots: Indices | slice
    """the columns of these channels in the samples of the family"""

    def values(self, samples: Samples) -> Floats:
        """Return the values of the nodes at the sampled times, (T, nodes, k)."""
        return samples[self.family][:, self.slots]


class StillValues:
    """The values of constant channels: pairs of columns, one with nodes and one with their values."""

    def __init__(self, parts: Iterable[tuple[Indices, Floats]]) -> None:
        self._parts = list(parts)

    def put_into(self, rows: Floats, first: int) -> None:
        """Set the rows of the nodes that have a value; ``rows`` begins with the node ``first``."""
        for nodes, values in self._sorted_parts:
            inside = slice(*np.searchsorted(nodes, (first, first + len(rows))))
            rows[nodes[inside] - first] = values[inside]

    @cached_property
    def _sorted_parts(self) -> list[tuple[Indices, Floats]]:
        """The columns in ascending order of nodes."""
        orders = [np.argsort(nodes) for nodes, _ in self._parts]
        return [(nodes[order], values[order]) for order, (nodes, values) in zip(orders, self._parts, strict=True)]

    @cached_property
    def by_node(self) -> dict[int, Floats]:
        """The value of each node: few kinds need this, and an array per node takes five times the memory of columns."""
        return {
            node: value for nodes, values in self._parts for node, value in zip(nodes.tolist(), values, strict=True)
        }


class Channels:
    """All channels of a clip, compiled. If a node has two channels of a kind, the later one is used; a channel without
    usable keys leaves the node at rest; channels of missing nodes are ignored.
    """

    def __init__(self, clip: Clip, node_count: int) -> None:
        channels = _valid_channels(clip, node_count)
        single = _single_keys(channels)
        compiled = [channel for channel in channels if len(channel.track.times) != 1] if single else channels
        self.bank = CurveBank([channel.track for channel in compiled])
        """the tracks that may change"""
        self.still: dict[str, StillValues] = {}
        """the values of constant channels, by kind"""
        self.animated: dict[str, list[AnimatedChannels]] = {}
        """animated channels, by kind"""
        places = _places(compiled, self.bank)
        for kind in dict.fromkeys((*single, *places)):
            constant = single.get(kind, [])
            if kind in places:
                constant += self._divide(kind, places[kind])
            self.still[kind] = StillValues(constant)

    def _divide(self, kind: str, places: dict[int, SamplePlace]) -> list[tuple[Indices, Floats]]:
        """Add the animated channels of a kind to `animated`, and return the nodes and values of the constant ones."""
        moving: dict[str, list[tuple[int, int]]] = {}
        still: dict[str, list[tuple[int, Floats]]] = {}
        for node, place in places.items():
            value = self.bank.still_value(place)
            if value is None:
                moving.setdefault(place.family, []).append((node, place.slot))
            else:
                still.setdefault(place.family, []).append((node, value))
        for family, pairs in moving.items():
            pairs.sort()
            nodes, slots = np.array(pairs, np.int64).T
            self.animated.setdefault(kind, []).append(AnimatedChannels(nodes, family, as_slice(slots)))
        return [
            (np.array([node for node, _ in pairs], np.int64), np.array([value for _, value in pairs]))
            for pairs in still.values()
        ]

    @classmethod
    def at_moment(cls, clip: Clip, node_count: int, time: float) -> Channels:
        """Return the channels at one time as if they were constant, compiled block by block to save memory."""
        result = cls(Clip(), node_count)
        channels = _valid_channels(clip, node_count)
        taken: dict[str, Flags] = {}
        parts: dict[str, list[tuple[Indices, Floats]]] = {}
        for end in range(len(channels), 0, -CHANNELS_PER_BLOCK):  # in reverse: the later of two is used
            block = channels[max(0, end - CHANNELS_PER_BLOCK) : end]
            bank = CurveBank([channel.track for channel in block], moment=time)
            values = bank.evaluate([time])
            for kind, places in _places(block, bank).items():
                done = taken.setdefault(kind, np.zeros(node_count, bool))
                slots: dict[str, dict[int, int]] = {}
                for node, place in places.items():
                    if not done[node]:
                        slots.setdefault(place.family, {})[node] = place.slot
                for family, slot_of in slots.items():
                    nodes = np.array(list(slot_of), np.int64)
                    done[nodes] = True
                    parts.setdefault(kind, []).append((nodes, values[family][0, list(slot_of.values())]))
        result.still = {kind: StillValues(_joined(reversed(still_parts))) for kind, still_parts in parts.items()}
        return result

    def moving_nodes(self, kinds: Iterable[str]) -> Indices:
        """Return the nodes with an animated channel of one of these kinds, in ascending order."""
        nodes = [animated.nodes for kind in kinds for animated in self.animated.get(kind, ())]
        if len(nodes) == 1:
            return nodes[0]
        return unique_values(np.concatenate(nodes)) if nodes else np.empty(0, np.int64)

    def set_still(self, kind: str, rows: Floats, first: int = 0) -> None:
        """Set constant values in ``rows`` (nodes, k), those of the nodes from ``first`` on."""
        if kind in self.still:
            self.still[kind].put_into(rows, first)

    def still_by_node(self, kind: str) -> dict[int, Floats]:
        """Return the constant value (k,) of each node that has one."""
        still = self.still.get(kind)
        return {} if still is None else still.by_node

    def node_values(self, samples: Samples, kind: str, node: int) -> Floats | None:
        """Return (T, k) for one node, (1, k) if its channel is constant, None without usable keys."""
        for animated in self.animated.get(kind, ()):
            rows = np.flatnonzero(animated.nodes == node)
            if len(rows):
                return animated.values(samples)[:, rows[0]]
        value = self.still_by_node(kind).get(node)
        return None if value is None else value[None]


def _single_keys(channels: Sequence[Channel]) -> dict[str, list[tuple[Indices, Floats]]]:
    """Return nodes and values of the channels with a single key, by kind. Most channels have one key and need no curve.

    The result is empty if one of these keys is not usable, or if a node has two channels of a kind.
    """
    groups: dict[tuple[str, RotationForm, tuple[int, ...]], tuple[list[int], list[Floats]]] = {}
    seen: set[tuple[int, str]] = set()
    numbers: list[Floats] = []
    for channel in channels:
        track = channel.track
        kind, values = track.kind, track.values
        seen.add((channel.node, kind))
        if len(values) == 1:
            nodes, rows = groups.setdefault((kind, track.form, values.shape), ([], []))
            nodes.append(channel.node)
            rows.append(values)
            numbers.append(track.times)
    keys_by_kind: dict[str, list[tuple[Indices, Floats]]] = {}
    if len(seen) < len(channels) or not groups:
        return keys_by_kind
    with np.errstate(all="ignore"):
        for (kind, form, _), (nodes, rows) in groups.items():
            values = np.concatenate(rows).reshape(len(nodes), -1)
            numbers.append(values.reshape(-1))
            absolute = values if form is RotationForm.NONE else single_rotations(values, form)
            keys_by_kind.setdefault(kind, []).append((np.array(nodes, np.int64), absolute))
    return keys_by_kind if largest(np.concatenate(numbers)) <= LARGEST_USABLE else {}  # false for NaN, too


def _valid_channels(clip: Clip, node_count: int) -> list[Channel]:
    return [channel for channel in clip.channels if 0 <= channel.node < node_count]


def _places(channels: Sequence[Channel], bank: CurveBank) -> dict[str, dict[int, SamplePlace]]:
    """Return the places of channels with usable keys in the bank, by kind and node. The bank has the tracks in the same
    order as ``channels``."""
    places: dict[str, dict[int, SamplePlace]] = {}
    for number, channel in enumerate(channels):
        if number not in bank.empty:
            places.setdefault(channel.track.kind, {})[channel.node] = bank.places[number]
    return places


def _joined(parts: Iterable[tuple[Indices, Floats]]) -> Iterator[tuple[Indices, Floats]]:
    """Join parts of the same width."""
    by_width: dict[int, tuple[list[Indices], list[Floats]]] = {}
    for nodes, values in parts:
        columns = by_width.setdefault(values.shape[1], ([], []))
        columns[0].append(nodes)
        columns[1].append(values)
    for all_nodes, all_values in by_width.values():
        yield np.concatenate(all_nodes), np.concatenate(all_values)


def as_slice(numbers: Indices) -> Indices | slice:
    """Return consecutive numbers as a slice, which numpy reads without a copy, and other numbers unchanged."""
    if len(numbers) == 1:
        return slice(int(numbers[0]), int(numbers[0]) + 1)
    if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1 and (numbers[1:] - numbers[:-1] == 1).all():
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers
