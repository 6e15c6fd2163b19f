"""Stage lighting archives: GDTF fixtures and MVR shows, read into scenes and written again with other models."""

from keyframer.exchange.stage.importing import load
from keyframer.exchange.stage.rules import check

__all__ = ["check", "load"]
