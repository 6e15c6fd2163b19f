"""Write Hale3D pairs: they have one option more than others, how text is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyframer.formats.hale3d.records import Dialect
from keyframer.formats.kit.joint_pairs.writing import WriteOptions, Writer


@dataclass(frozen=True)
class HaleWriteOptions(WriteOptions):
    """Options. An animation and its model are two files."""

    dialect: str = Dialect.NUL_ENDED.value
    """how text is stored"""

    def __post_init__(self) -> None:
        super().__post_init__()
        Dialect(self.dialect)


class HaleWriter(Writer):
    options = HaleWriteOptions

    def layout(self, options: WriteOptions) -> dict[str, Any]:
        assert isinstance(options, HaleWriteOptions)
        return {"dialect": Dialect(options.dialect)}
