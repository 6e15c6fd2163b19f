"""Assigns names of outputs before any work starts, so that no two files get the same name. Names that differ only in
case or Unicode normalisation are treated as equal, as some file systems do.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from keyframer.files.member_names import safe_parts

LONGEST_NAME = 255
"""maximum number of bytes of a name on most file systems"""


@dataclass(frozen=True, slots=True)
class OutputRequest:
    """One source and its path below its folder or archive (``/`` between folders)."""

    source: str
    relative: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """An output that could not get its usual name."""

    source: str
    wanted: str
    given: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.given} instead of {self.wanted}: {self.reason}"


def key_of(name: str) -> str:
    """Return a key that is equal for names that some file system treats as the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def safe_relative(name: str) -> str:
    """Return a relative path for a name from an archive or a store; the path never leads outside its folder."""
    parts = safe_parts(name)
    return "/".join(part.rstrip(" .") or "_" if part.strip(" .") == "" else part for part in parts) or "file"


def is_below(name: str) -> bool:
    """Return whether the name of an output, in the form that `assign` returns, stays below the output folder."""
    parts = (name.replace(os.sep, "/") if os.sep != "/" else name).split("/")
    return not any(part in ("", ".", "..") for part in parts) and os.path.splitdrive(name)[0] == ""


def assign(
    files: Sequence[OutputRequest],
    suffix: str,
    *,
    replace: bool,
    reserved: Sequence[str] = (),
    earlier_output: Callable[[str], str | None] = lambda source: None,
    owner: Callable[[str], str | None] = lambda key: None,
) -> tuple[list[str], list[Renamed]]:
    """Return an output for each file, and the outputs that could not get their usual name.

    With ``replace`` the suffix replaces the extension, otherwise it is appended. No output has one of the ``reserved``
    names. Files keep their outputs when others are added: ``earlier_output(source)`` is the output of a source in an
    earlier run, ``owner(key)`` the source of the output with this key. The order of the files makes no difference.
    """
    plain = [_shortened_name(usual_name(file.relative, suffix, replace), file.source, suffix) for file in files]
    full = [_shortened_name(file.relative + suffix, file.source, suffix) for file in files] if replace else plain
    plain_counts = Counter(map(key_of, plain))
    full_counts = Counter(map(key_of, full))
    folders = _folders(plain)
    blocked = folders | {key_of(name) for name in reserved}

    def is_free(key: str, source: str) -> bool:
        return key not in blocked and owner(key) in (None, source)

    given: list[str] = []
    renamed: list[Renamed] = []
    for file, plain_name, full_name in zip(files, plain, full, strict=True):
        earlier = earlier_output(file.source)
        if earlier is not None and earlier.endswith(suffix) and key_of(earlier) not in blocked:
            given.append(earlier)
            continue
        wanted = usual_name(file.relative, suffix, replace)
        key = key_of(plain_name)
        if plain_counts[key] == 1 and is_free(key, file.source):
            given.append(plain_name)
            if plain_name != wanted:
                renamed.append(Renamed(file.source, wanted, plain_name, "the name is too long for the file system"))
            continue
        full_key = key_of(full_name)
        if replace and full_counts[full_key] == 1 and not plain_counts[full_key] and is_free(full_key, file.source):
            name = full_name
        else:
            name = _name_with_hash(plain_name, file.source, suffix)
        given.append(name)
        renamed.append(Renamed(file.source, wanted, name, _reason(key, plain_counts, blocked)))
    return given, renamed


def _reason(key: str, plain_counts: Counter[str], blocked: set[str]) -> str:
    if plain_counts[key] > 1:
        return f"{plain_counts[key]} files have this output name, or names that some file systems treat as equal"
    return f"{'a folder, a source or the ledger' if key in blocked else 'the output of another file'} has this name"


def usual_name(relative: str, suffix: str, replace: bool) -> str:
    """Return the name of the output of a file, unless it is taken."""
    if not replace:
        return relative + suffix
    folder, slash, name = relative.rpartition("/")
    return folder + slash + os.path.splitext(name)[0] + suffix


def folders_with_suffix(relative: str, suffix: str) -> Iterator[str]:
    """Yield the folders in a path whose names end like outputs: no output may have their names."""
    ending = key_of(suffix)
    folder = relative.rpartition("/")[0]
    while folder and ending in (key := key_of(folder)):
        if key.endswith(ending):
            yield folder
        folder = folder.rpartition("/")[0]


def _folders(names: Sequence[str]) -> set[str]:
    folders: set[str] = set()
    for name in names:
        folder = name.rpartition("/")[0]
        while folder and (key := key_of(folder)) not in folders:
            folders.add(key)
            folder = folder.rpartition("/")[0]
    return folders


def _shortened_name(name: str, source: str, suffix: str) -> str:
    """Return the name with every part short enough for a file system; truncated parts get a hash."""
    if len(name) * 4 <= LONGEST_NAME:
        return name
    folder, slash, last = name.rpartition("/")
    if len(os.fsencode(last)) > LONGEST_NAME:
        last = _stem_with_hash(last[: len(last) - len(suffix)], source, suffix)
    folders = folder.split("/")
    parts = [part if len(os.fsencode(part)) <= LONGEST_NAME else _stem_with_hash(part, part, "") for part in folders]
    return "/".join(parts) + slash + last


def _name_with_hash(name: str, source: str, suffix: str) -> str:
    folder, slash, stem = name[: len(name) - len(suffix)].rpartition("/")
    return folder + slash + _stem_with_hash(stem, source, suffix)


def _stem_with_hash(stem: str, source: str, suffix: str) -> str:
    """Return ``stem~1a2b3c4d5e.glb``: as much of the stem as fits, cut between characters."""
    mark = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    room = LONGEST_NAME - len(mark) - 1 - len(os.fsencode(suffix))
    while len(os.fsencode(stem)) > room:
        stem = stem[:-1]
    return f"{stem}~{mark}{suffix}"
