"""Find everything that is wrong with a file: run the readers, the bridges and the rules, and collect their issues."""

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
