"""What reading may cost at most: every limit is an option, and breaking one is an error with a code of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one reading. The defaults are far above any real file we know and far below harm."""

    file_size: int = 512 * 1024 * 1024
    """bytes of input (LIMIT_FILE_SIZE)"""
    records: int = 4_000_000
    """chunks or records in one file (LIMIT_RECORDS)"""
    depth: int = 16
    """nesting of known chunks (LIMIT_DEPTH); the deepest real 3DS files reach 6"""
    name: int = 1024 * 1024
    """bytes of one name (LIMIT_NAME)"""
    samples_per_channel: int = 1_000_000
    """times at which one thing may be sampled (LIMIT_SAMPLES)"""
    samples: int = 50_000_000
    """things x times that may be sampled of one file (LIMIT_SAMPLES)"""
    copies: int = 4_000_000
    """numbers that a scene may hold beyond four times those of the file, where many parts of a file use the same data
    (LIMIT_COPIES): a few hundred bytes must not become gigabytes"""
    issues: int = 1_000
    """issues kept of one file; all are counted"""
    issues_per_code: int = 20
    """issues kept of one code; all are counted"""


DEFAULT_LIMITS = Limits()
MOST_ENTRIES = 200_000
"""files and folders looked at below one folder, where images are looked for"""
