"""Detect node animation files from the first bytes and the size.

The format has no signature, so the evidence must be strong. Chunks with sizes are strong evidence if they lead to the
end of the file. If chunks have no sizes or no headers, the nodes must be plausible in every respect.
"""

from __future__ import annotations

import struct
from functools import partial

from keyframer.formats.contract import Match
from keyframer.formats.nodeanim.dialect import option_count
from keyframer.formats.nodeanim.dialect_search import after_other_chunks, after_prefix, from_start
from keyframer.formats.nodeanim.dialect_trial import MatchedPart, Trial
from keyframer.text import counted

_HUGE = 1e12


def sniff(head: bytes, size: int) -> Match | None:
    """Return a match for the dialect with the best score; None if no dialect matches."""
    after_any_bytes = partial(after_prefix, headerless=False)
    for attempt, weight in ((from_start, 1.0), (after_other_chunks, 0.8), (after_any_bytes, 0.8)):
        scored = [(_score(trial, head) * weight, -option_count(trial.dialect), trial) for trial in attempt(head, size)]
        scored = [entry for entry in scored if entry[0] > 0 and (weight == 1 or entry[2].has_title)]
        if scored:
            score, _, trial = max(scored, key=lambda entry: entry[:2])
            return Match(round(score, 2), _reason(trial), dialect=str(trial.dialect))
    return None


def _score(trial: Trial, head: bytes) -> float:
    if trial.flags != 0 or trial.node_count < 0:
        return 0
    return _score_sized(trial) if trial.dialect.has_sizes else _score_bare(trial, head)


def _score_sized(trial: Trial) -> float:
    if trial.matched is MatchedPart.END:
        if trial.complete_nodes:
            return 0.95 if trial.perfect else 0.7
        return 0.8 if trial.has_title and trial.printable else 0.5
    if trial.matched is not MatchedPart.ANIMATIONS or not trial.printable:
        return 0
    if trial.sizes_match:
        if trial.head_matches and trial.known_types:
            return 0.9 if trial.has_title or trial.nodes_begun > trial.nameless_nodes else 0
        return 0.5 if trial.has_title else 0
    return 0.4 if trial.nodes_begun > trial.nameless_nodes and trial.known_types else 0


def _score_bare(trial: Trial, head: bytes) -> float:
    """Score a file without sizes: readable names, known types, and at least one key with plausible numbers."""
    if not trial.perfect or trial.nodes_begun == 0 or trial.nameless_nodes or not _first_key_is_plausible(trial, head):
        return 0
    if trial.matched is MatchedPart.END:
        return 0.9 if trial.dialect.id_size else 0.8
    if trial.head_matches:
        return 0.6 if trial.dialect.id_size else 0.5
    return 0.4 if trial.complete_nodes and trial.dialect.id_size else 0


def _first_key_is_plausible(trial: Trial, head: bytes) -> bool:
    if trial.first_key is None:
        return False
    at, size = trial.first_key
    if at + size > len(head):
        return False
    numbers = struct.unpack_from(f"{trial.dialect.order}{size // 4 - 1}f", head, at + 4)
    return all(-_HUGE < number < _HUGE for number in numbers)


def _reason(trial: Trial) -> str:
    where = f" {counted(trial.start, 'byte')} from the beginning" if trial.start else ""
    text = f"chunk 1 for {counted(trial.node_count, 'node')}{where}, then chunk 2"
    if trial.matched is MatchedPart.END:
        return f"{text}, whose nodes end with the file"
    if trial.head_matches:
        return f"{text}, with plausible nodes in the head of the file"
    return f"{text}, with nodes that do not lead to the end of the file"
