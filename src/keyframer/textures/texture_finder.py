"""Finding an image by its name: exact, in another case, with another extension, by eight characters; folder by folder.

Names are those of DOS: eight characters, any case, and often of an image that was converted since. The order is that of
the folders given (the file's own first); in each folder the exact name wins, then the guesses in the order above. With
``recursive`` the folders inside it come after the folder itself. Every guess is named in the result.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from keyframer.issues import IssueType
from keyframer.limits import MOST_ENTRIES
from keyframer.text import safe_text
from keyframer.textures.file_names import Name, split_name
from keyframer.textures.folder_listing import Listing, listing_of

HOW = {
    "exact": "under its own name",
    "case": "in another case",
    "extension": "with another extension",
    "prefix": "by its first eight characters",
    "embedded": "inside the file",
    "outside": "a link that leads outside the folders, which is not followed",
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
    without_folder: bool = False
    """found where the folder that the name puts it in should be, or is without it"""
    others: tuple[str, ...] = ()
    """names that would have served as well; the first in order was taken"""

    @property
    def is_guess(self) -> bool:
        """Whether something else was taken than the name says."""
        moved = self.refusal is not None or self.from_inside or self.without_folder
        return self.path is not None and (self.how != "exact" or moved)

    def __str__(self) -> str:
        """One safe line."""
        said = [f"{safe_text(self.name)[:200]}: "]
        if self.refusal is not None:
            said.append(f"{self.refusal.code}, its path is not followed; ")
        if self.path is None:
            return "".join([*said, HOW[self.how]])
        said.append(f"{safe_text(self.path.name)} {HOW[self.how]}")
        said.append(" in a folder inside" if self.from_inside else "")
        said.append(" without its folder" if self.without_folder else "")
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
        self._listings: dict[Path, Listing] = {}
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
        name = split_name(text)
        how = "missing"
        for top, folder, place, names, fit in self._ways(name):
            kinds = {name: _kind(top, place / name) for name in names}
            usable = [name for name in names if kinds[name] == "file"]
            how = "outside" if "outside" in kinds.values() else how
            if usable:
                astray = len(name.parts) > 1 and place == folder
                return TextureMatch(
                    text, place / usable[0], fit, name.refusal, folder != top, astray, tuple(usable[1:])
                )
        return TextureMatch(text, None, "refused" if name.refusal else how, name.refusal)

    def _ways(self, name: Name) -> Iterator[tuple[Path, Path, Path, list[str], str]]:
        """Names that fit, the likeliest first, and how: the folder given, one inside it, and where they are in that.
        ``MAPS\\WOOD.TGA`` is looked for in the folder ``maps`` first, then without it."""
        for top in self.folders if name.parts else ():
            for folder in self._places(top):
                subfolder = self._below(folder, name.parts[:-1])
                for place in dict.fromkeys((folder if subfolder is None else subfolder, folder)):
                    for names, fit in self._list(place).search(name.parts[-1]):
                        yield top, folder, place, names, fit

    def _places(self, top: Path) -> Iterator[Path]:
        yield top
        if self.recursive:
            if top not in self._inside:
                self._inside[top] = list(_folders_inside(top))
            yield from self._inside[top]

    def _below(self, folder: Path, parts: tuple[str, ...]) -> Path | None:
        for part in parts:
            inside = self._list(folder).folders.get(part.casefold())
            if inside is None:
                return None
            folder = folder / (part if part in inside else inside[0])
        return folder

    def _list(self, folder: Path) -> Listing:
        if folder not in self._listings:
            self._listings[folder] = listing_of(folder)
        return self._listings[folder]


def _kind(top: Path, path: Path) -> str:
    """``file`` for an ordinary file inside the folder even when links are followed, ``outside`` for one that is not
    inside, ``other`` for anything else."""
    try:
        real = os.path.realpath(path, strict=True)
        root = os.path.realpath(top, strict=True)
        if os.path.commonpath([real, root]) != root:
            return "outside"
        return "file" if stat.S_ISREG(os.stat(real).st_mode) else "other"
    except (OSError, ValueError):
        return "other"


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
