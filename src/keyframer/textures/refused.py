"""Why an image is not used."""

from __future__ import annotations


class ImageRefused(Exception):
    """An image that is not used; ``reason`` is one line for a report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
