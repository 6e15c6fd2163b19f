"""Finding an image by its name: exact, in another case, with another extension, by eight characters; folder by folder.

Names are those of DOS: eight characters, any case, and often of an image that was converted since. The order is that of
the folders given (the file's own first); in each folder the exact name wins, then the guesses in the order above. With
``recursive`` the folders inside it come after the folder itself. Every guess is named in the result.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from keyframer.issues import IssueType
from keyframer.text import safe_text
from keyframer.textures.naming import Name, take_apart

EXTENSIONS = (
    ".png", ".jpg", ".jpeg", ".tga", ".bmp", ".gif", ".tif", ".tiff", ".pcx", ".dds", ".webp",
    ".psd", ".ppm", ".pgm", ".sgi", ".rgb", ".rgba", ".jp2", ".flc", ".fli", ".cel", ".ifl",
)  # fmt: skip
"""of images, best first: what a name with another extension may be found as"""
MOST_ENTRIES = 200_000
"""files and folders looked at below one folder"""
_RANK = {extension: rank for rank, extension in enumerate(EXTENSIONS)}

HOW = {
    "exact": "under its own name",
    "case": "in another case",
    "extension": "with another extension",
    "prefix": "by its first eight characters",
    "embedded": "inside the file",
    "missing": "not found",
    "refused": "refused",
}
"""what `TextureMatch.how` may be"""


@dataclass(frozen=True, slots=True)
class TextureMatch:
    """What became of one name."""

    name: str
    """as the file has it"""
    path: Path | None
    """the image, inside one of the folders; None where there is none"""
    how: str
    """one of `HOW`"""
    refusal: IssueType | None = None
    """why the path in the name was not followed (the image may still be found by its last part)"""
    from_inside: bool = False
    """found in a folder inside the one given (``recursive``)"""
    others: tuple[str, ...] = ()
    """names that would have served as well; the first in order was taken"""

    @property
    def is_guess(self) -> bool:
        """Whether something else was taken than the name says."""
        return self.path is not None and (self.how != "exact" or self.refusal is not None or self.from_inside)

    def __str__(self) -> str:
        """One safe line."""
        said = [f"{safe_text(self.name)[:200]}: "]
        if self.refusal is not None:
            said.append(f"{self.refusal.code}, its path is not followed; ")
        if self.path is None:
            return "".join([*said, HOW[self.how]])
        said.append(f"{safe_text(self.path.name)} {HOW[self.how]}")
        said.append(" in a folder inside" if self.from_inside else "")
        said.append(f" (others: {', '.join(map(safe_text, self.others[:3]))})" if self.others else "")
        return "".join(said)

    def as_dict(self) -> dict[str, object]:
        """For reports: JSON values, names made safe."""
        return {
            "name": safe_text(self.name)[:1000],
            "found": None if self.path is None else safe_text(self.path.name),
            "how": self.how,
            "guess": self.is_guess,
            "refusal": None if self.refusal is None else self.refusal.code,
            "others": [safe_text(other) for other in self.others[:10]],
        }


class TextureFinder:
    """Looks in ``folders``, the first one first, and in the folders inside each if ``recursive``."""

    def __init__(self, folders: Sequence[str | os.PathLike[str]], *, recursive: bool = False) -> None:
        self.folders = list(dict.fromkeys(Path(folder) for folder in folders))
        self.recursive = recursive
        self._listings: dict[Path, _Listing] = {}
        self._inside: dict[Path, list[Path]] = {}
        self._matches: dict[str, TextureMatch] = {}

    @property
    def matches(self) -> list[TextureMatch]:
        """Every name that was asked for, in that order."""
        return list(self._matches.values())

    def find(self, name: str) -> TextureMatch:
        """The image of this name, or why there is none; never raises."""
        if name not in self._matches:
            self._matches[name] = self._look(name)
        return self._matches[name]

    def _look(self, text: str) -> TextureMatch:
        name = take_apart(text)
        if not name.parts:
            return TextureMatch(text, None, "refused" if name.refusal else "missing", name.refusal)
        for top in self.folders:
            for folder in self._places(top):
                found = self._in_folder(top, folder, name)
                if found is not None:
                    path, how, others = found
                    return TextureMatch(text, path, how, name.refusal, folder != top, others)
        return TextureMatch(text, None, "refused" if name.refusal else "missing", name.refusal)

    def _places(self, top: Path) -> Iterator[Path]:
        yield top
        if self.recursive:
            if top not in self._inside:
                self._inside[top] = list(_folders_inside(top))
            yield from self._inside[top]

    def _in_folder(self, top: Path, folder: Path, name: Name) -> tuple[Path, str, tuple[str, ...]] | None:
        """``MAPS\\WOOD.TGA`` is looked for in the folder ``maps`` first, then without it."""
        for place in dict.fromkeys((self._below(folder, name.parts[:-1]), folder)):
            found = None if place is None else self._list(place).search(name.parts[-1])
            if place is not None and found is not None:
                checked = self._checked(top, place, found)
                if checked is not None:
                    return checked
        return None

    def _below(self, folder: Path, parts: tuple[str, ...]) -> Path | None:
        for part in parts:
            inside = self._list(folder).folders.get(part.casefold())
            if inside is None:
                return None
            folder = folder / (part if part in inside else inside[0])
        return folder

    def _checked(
        self, top: Path, folder: Path, found: tuple[list[str], str]
    ) -> tuple[Path, str, tuple[str, ...]] | None:
        """The first of the names that is a file below ``top`` when all links are followed."""
        names, how = found
        usable = [name for name in names if _is_file_below(top, folder / name)]
        return (folder / usable[0], how, tuple(usable[1:])) if usable else None

    def _list(self, folder: Path) -> _Listing:
        if folder not in self._listings:
            self._listings[folder] = _listing_of(folder)
        return self._listings[folder]


class _Listing:
    """The names in a folder, ready for every way of looking."""

    def __init__(self, folder: Path) -> None:
        self.exact: set[str] = set()
        self.folded: dict[str, list[str]] = {}
        self.stems: dict[str, list[str]] = {}
        self.prefixes: dict[str, list[str]] = {}
        self.folders: dict[str, list[str]] = {}
        try:
            with os.scandir(folder) as entries:
                names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in _some(entries))
        except OSError:
            return
        for name, is_folder in names:
            if is_folder:
                self.folders.setdefault(name.casefold(), []).append(name)
                continue
            self.exact.add(name)
            self.folded.setdefault(name.casefold(), []).append(name)
            stem, extension = os.path.splitext(name.casefold())
            if extension in _RANK:
                self.stems.setdefault(stem, []).append(name)
                self.prefixes.setdefault(stem[:8], []).append(name)

    def search(self, name: str) -> tuple[list[str], str] | None:
        """Names that fit, best first, and how they fit."""
        if name in self.exact:
            return [name], "exact"
        folded = name.casefold()
        if folded in self.folded:
            return self.folded[folded], "case"
        stem, extension = os.path.splitext(folded)
        if stem in self.stems:
            return _ranked(self.stems[stem], extension), "extension"
        return self._by_prefix(stem, extension)

    def _by_prefix(self, stem: str, extension: str) -> tuple[list[str], str] | None:
        """DOS kept eight characters: the name in the file was cut (or is ``STONEW~1``), or the one on the disk was."""
        short, tilde, number = stem.partition("~")
        if tilde and number.isdigit() and short:
            fits = [name for key, names in self.prefixes.items() if key.startswith(short[:8]) for name in names]
        elif len(stem) >= 8:
            candidates = self.prefixes.get(stem[:8], [])
            cut = len(stem) == 8
            fits = [name for name in candidates if cut or len(os.path.splitext(name)[0]) == 8]
        else:
            return None
        return (_ranked(fits, extension), "prefix") if fits else None


_KEPT: dict[Path, tuple[int, _Listing]] = {}
"""listings by folder, with its time: thousands of files of one folder look for their images in it, one by one"""
_MOST_KEPT = 16
_YOUNG = 2_000_000_000
"""nanoseconds: a folder that changed so recently may change again without a new time"""


def _listing_of(folder: Path) -> _Listing:
    try:
        changed = os.stat(folder).st_mtime_ns
    except OSError:
        return _Listing(folder)
    kept = _KEPT.get(folder)
    if kept is not None and kept[0] == changed:
        return kept[1]
    listing = _Listing(folder)
    if changed < time.time_ns() - _YOUNG:
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        _KEPT[folder] = (changed, listing)
    return listing


def _ranked(names: Sequence[str], extension: str) -> list[str]:
    """The same extension first, then the order of `EXTENSIONS`, then that of names."""

    def rank(name: str) -> tuple[bool, int, str]:
        own = os.path.splitext(name)[1].casefold()
        return own != extension, _RANK.get(own, len(_RANK)), name

    return sorted(names, key=rank)


def _is_file_below(top: Path, path: Path) -> bool:
    """Whether the path is an ordinary file inside the folder even when links are followed."""
    try:
        real = os.path.realpath(path, strict=True)
        root = os.path.realpath(top, strict=True)
        return os.path.commonpath([real, root]) == root and stat.S_ISREG(os.stat(real).st_mode)
    except (OSError, ValueError):
        return False


def _folders_inside(top: Path) -> Iterator[Path]:
    """In the order of names, nearer ones first on each way down; links are not followed."""
    seen = 0
    for where, folders, names in os.walk(top, followlinks=False):
        folders.sort()
        seen += len(folders) + len(names)
        if seen > MOST_ENTRIES:
            return
        if Path(where) != top:
            yield Path(where)


def _some(entries: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    for count, entry in enumerate(entries):
        if count >= MOST_ENTRIES:
            return
        yield entry
