"""Answers the requests of a page that runs Python itself, in a web worker (docs/page.md)."""

from __future__ import annotations

from collections.abc import Callable

from keyframer.errors import FormatError
from keyframer.limits import Limits
from keyframer.scene.loss_report import CannotWrite
from keyframer.text import safe_text
from keyframer.viewer.dropped_files import BadDrop, DroppedFile, view_dropped
from keyframer.viewer.resources import Resources, error_line
from keyframer.viewer.standalone_page import packed_page

LIMITS = Limits(file_size=256 * 1024 * 1024)
"""WebAssembly has at most 4 GiB of memory, and needs several times the size of a file"""
NO_MEMORY = "There is not enough memory in this browser for this: open fewer or smaller files."

Answer = tuple[bytes | None, str]
"""the content, None if there is none; the error in one line, empty if there is none"""
Request = Callable[[str, memoryview | None], Answer]
"""answers a request: a path, and a body if files are opened"""


def example_resources(name: str, example: bytes) -> Resources:
    """Return the resources of a page whose first file is the example."""
    files = view_dropped([DroppedFile(name, example)], LIMITS)
    return Resources(files, LIMITS, page=lambda file: packed_page([file]))


def start(name: str, example: memoryview) -> Request:
    """Return the function that answers requests. File 0 is the example."""
    resources = example_resources(name, bytes(example))

    def answer(path: str, body: memoryview | None) -> Answer:
        try:
            if body is not None:
                return resources.post(path, bytes(body)), ""
            resource = resources.get(path)
        except (FormatError, CannotWrite, BadDrop) as error:
            return None, error_line(error)
        except MemoryError:
            return None, NO_MEMORY
        except Exception as error:  # a bug; the page goes on with the other files
            return None, safe_text(f"internal error: {type(error).__name__}: {error}")
        return (None if resource is None else resource[1]), ""

    return answer
