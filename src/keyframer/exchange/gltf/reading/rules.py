"""What is odd about names in a glTF file: what could harm whoever shows them, and files that they lead to."""

from __future__ import annotations

from urllib.parse import unquote

from keyframer.catalogue import SEM_NAME_TOO_LONG
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.opening import open_container
from keyframer.exchange.gltf.reading.values import Item
from keyframer.formats._names import LONGEST, name_problems, path_problems, shown
from keyframer.issues import IssueLog, IssueType
from keyframer.limits import Limits

_NAMED = ("scenes", "nodes", "meshes", "materials", "cameras", "skins", "animations", "images", "textures", "buffers")
_LOOK = 4096
"""characters of a name that are looked at"""


def check(data: bytes, limits: Limits, issues: IssueLog) -> None:
    """Add what is found to the issues of a file that could be loaded."""
    _Names(data, limits, issues).check()


class _Names:
    def __init__(self, data: bytes, limits: Limits, issues: IssueLog) -> None:
        opened = Findings(limits, salvage=True)
        self._root = open_container(data, limits, opened).root
        self._places = opened.places
        self._issues = issues

    def check(self) -> None:
        for kind in _NAMED:
            for item in self._root.children(kind):
                self._name(item)
                if kind == "images":  # buffers were opened, or refused, when the file was loaded
                    self._file(item)

    def _name(self, item: Item) -> None:
        name = item.value.get("name")
        if type(name) is not str:
            return
        if len(name) > LONGEST:
            self._add(SEM_NAME_TOO_LONG, item.at("name"), size=len(name), most=LONGEST)
        for kind in name_problems(name[:_LOOK]):
            self._add(kind, item.at("name"), name=shown(name))

    def _file(self, item: Item) -> None:
        uri = item.value.get("uri")
        if type(uri) is not str or uri[:5].lower() == "data:":
            return
        name = unquote(uri[:_LOOK])
        for kind in (*name_problems(name), *path_problems(name)):
            self._add(kind, item.at("uri"), name=shown(name))

    def _add(self, kind: IssueType, path: str, **args: object) -> None:
        """With its place, as long as issues of its kind are listed and not only counted."""
        listed = self._issues.counts[kind.code] < self._issues.most_listed
        offset = self._places.find(path) if listed and self._places is not None else 0
        self._issues.add(kind, path, offset, severity=None, **args)
