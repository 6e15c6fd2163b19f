"""The registry of batch operations. An operation whose package is missing is not available."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from keyframer.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from keyframer.batch.job import Result
    from keyframer.batch.operations.job_input import JobInput


class Operation:
    """``module`` has ``carry_out(subject, result)``, which fills the result and may raise."""

    __slots__ = ("_ending", "loads", "module", "name", "needs", "replaces_extension", "words")

    def __init__(
        self,
        name: str,
        words: str,
        module: str,
        ending: str,
        needs: tuple[str, ...] = (),
        *,
        loads: tuple[str, ...] = (),
        replaces_extension: bool = False,
    ) -> None:
        self.name = name
        self.words = words
        self.module = module
        self._ending = ending
        """of the names of outputs; or the module whose ``suffix(options)`` tells it. The coordinator loads no more"""
        self.needs = needs
        """modules without which it cannot work"""
        self.loads = ("keyframer.batch.operations.job_input", module, *loads)
        """modules that most files will need: workers load them while files are still looked for"""
        self.replaces_extension = replaces_extension
        """``a.3ds`` becomes ``a.glb``; else the suffix is added: ``a.3ds.check.json``"""

    @property
    def available(self) -> bool:
        return all(_there(module) for module in self.needs)

    def suffix(self, options: Mapping[str, Any]) -> str:
        """How the names of outputs end; ValueError for options that make no sense."""
        if self._ending.startswith("."):
            return self._ending
        suffix: str = import_module(self._ending).suffix(options)
        return suffix

    def function(self) -> Callable[[JobInput, Result], None]:
        function: Callable[[JobInput, Result], None] = import_module(self.module).carry_out
        return function


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even its package
        return False


_READING = ("keyframer.exchange.opening", *(module for known in FORMATS for module in known.preload))

_ALL = (
    Operation(
        "convert",
        "convert every file to glTF 2.0 or another format",
        "keyframer.batch.operations.convert",
        "keyframer.batch.operations._export_target",
        ("keyframer.exchange",),
        loads=(*_READING, "keyframer.exchange.gltf.write", "keyframer.scene.consistency"),
        replaces_extension=True,
    ),
    Operation(
        "check",
        "check every file and write one JSON report each",
        "keyframer.batch.operations.check",
        ".check.json",
        ("keyframer.checking",),
        loads=_READING,
    ),
    Operation(
        "info",
        "write the tables of every file as JSON",
        "keyframer.batch.operations.info",
        ".info.json",
        loads=_READING,
    ),
    Operation(
        "identify", "identify every file and write JSON", "keyframer.batch.operations.identify", ".identify.json"
    ),
    Operation(
        "thumbnail",
        "render a picture of every file",
        "keyframer.batch.operations.thumbnail",
        "keyframer.batch.operations.thumbnail",
        ("keyframer.rendering", "PIL"),
        loads=(*_READING, "keyframer.textures.pillow"),
    ),
)

OPERATIONS: dict[str, Operation] = {known.name: known for known in _ALL if known.available}
