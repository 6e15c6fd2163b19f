"""Detect node animation files from the first bytes and the size.

The format has no signature, so the evidence must be strong. Chunks with sizes are strong evidence if they lead to the
end of the file. If chunks have no sizes or no headers, the nodes must be plausible in every respect.
"""

from __future__ import annotations

import struct
from functools import partial

from keyframer.formats.contract import Match
from keyframer.formats.nodeanim.dialect import options_on
from keyframer.formats.nodeanim.dialect_search import after_other_chunks, after_prefix, from_start
from keyframer.formats.nodeanim.dialect_trial import MatchedPart, Walk
from keyframer.text import counted

_HUGE = 1e12


def sniff(head: bytes, size: int) -> Match | None:
    """Return the best score of any dialect."""
    after_any_bytes = partial(after_prefix, bare=False)
    for attempt, weight in ((from_start, 1.0), (after_other_chunks, 0.8), (after_any_bytes, 0.8)):
        scored = [(_score(walk, head) * weight, -options_on(walk.dialect), walk) for walk in attempt(head, size)]
        scored = [entry for entry in scored if entry[0] > 0 and (weight == 1 or entry[2].titled)]
        if scored:
            score, _, walk = max(scored, key=lambda entry: entry[:2])
            return Match(round(score, 2), _reason(walk), dialect=str(walk.dialect))
    return None


def _score(walk: Walk, head: bytes) -> float:
    if walk.flags != 0 or walk.count < 0:
        return 0
    return _score_sized(walk) if walk.dialect.has_sizes else _score_bare(walk, head)


def _score_sized(walk: Walk) -> float:
    if walk.matched is MatchedPart.END:
        if walk.nodes:
            return 0.95 if walk.perfect else 0.7
        return 0.8 if walk.titled and walk.printable else 0.5
    if walk.matched is not MatchedPart.ANIMATIONS or not walk.printable:
        return 0
    if walk.tiled:
        if walk.cut and walk.known_types:
            return 0.9 if walk.titled or walk.heads > walk.nameless else 0
        return 0.5 if walk.titled else 0
    return 0.4 if walk.heads > walk.nameless and walk.known_types else 0


def _score_bare(walk: Walk, head: bytes) -> float:
    """Score a file without sizes: readable names, known types, and at least one key with plausible numbers."""
    if not walk.perfect or walk.heads == 0 or walk.nameless or not _first_key_is_plausible(walk, head):
        return 0
    if walk.matched is MatchedPart.END:
        return 0.9 if walk.dialect.id_size else 0.8
    if walk.cut:
        return 0.6 if walk.dialect.id_size else 0.5
    return 0.4 if walk.nodes and walk.dialect.id_size else 0


def _first_key_is_plausible(walk: Walk, head: bytes) -> bool:
    if walk.first_key is None:
        return False
    at, size = walk.first_key
    if at + size > len(head):
        return False
    numbers = struct.unpack_from(f"{walk.dialect.order}{size // 4 - 1}f", head, at + 4)
    return all(-_HUGE < number < _HUGE for number in numbers)


def _reason(walk: Walk) -> str:
    where = f" {counted(walk.start, 'byte')} from the beginning" if walk.start else ""
    text = f"chunk 1 for {counted(walk.count, 'node')}{where}, then chunk 2"
    if walk.matched is MatchedPart.END:
        return f"{text}, whose nodes end with the file"
    if walk.cut:
        return f"{text}, with plausible nodes in the head of the file"
    return f"{text}, with nodes that do not lead to the end of the file"
