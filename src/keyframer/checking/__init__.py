"""Finds all problems of a file: runs the readers, the bridges and the rules, and collects their issues."""

from keyframer.checking.check_report import (
    PASSES,
    VERDICTS,
    Report,
    check,
    check_document,
    check_opened,
    pass_of,
    unreadable,
)

__all__ = ["PASSES", "VERDICTS", "Report", "check", "check_document", "check_opened", "pass_of", "unreadable"]
