"""The loss report of conversions; it lives with the scene, because formats give one too."""

from __future__ import annotations

from keyframer.scene.report import LOSS_SCHEMA, SCHEMA, SCHEMA_VERSION, Loss, LossReport, Outcome

__all__ = ["LOSS_SCHEMA", "SCHEMA", "SCHEMA_VERSION", "Loss", "LossReport", "Outcome"]
