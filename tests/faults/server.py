"""Runs commands with faults, each in a process forked from this one, which has imported all modules already.

Started with the shim preloaded. A line of JSON requests a run, a line of JSON answers.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import keyframer.cli
from keyframer.cli.parser import COMMANDS

MODULES = (
    *(f"keyframer.cli.{name}" for name in COMMANDS if name != "thumbnail"),
    "keyframer.cli.file_command",
    "PIL.PngImagePlugin",
    "keyframer.exchange.gltf.read",
    "keyframer.exchange.gltf.write",
    "keyframer.exchange.saving",
    "keyframer.inspecting.text_build",
    "keyframer.inspecting.charts",
    "keyframer.inspecting.samples",
    "keyframer.rendering.renderer",
    "keyframer.viewer",
)


def answer(asked: dict[str, Any], shim: ctypes.CDLL, counter: str, place: str) -> dict[str, Any]:
    Path(counter).write_bytes(bytes(16))
    child = os.fork()
    if not child:
        _run(asked, shim, counter, place)
    _, status = os.waitpid(child, 0)
    calls, kinds = struct.unpack("ll", Path(counter).read_bytes())
    return {
        "code": os.waitstatus_to_exitcode(status),
        "calls": calls,
        "kinds": kinds,
        "err": Path(place, "err").read_text(),
    }


def _run(asked: dict[str, Any], shim: ctypes.CDLL, counter: str, place: str) -> None:
    os.setsid()  # a fault may kill all processes of a run, but no others
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(os.path.join(place, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    skipped = asked["skip"]
    armed = {
        "ROOT": asked["root"],
        "SKIP": skipped,
        "AT": str(asked["at"]),
        "MODE": str(asked["mode"]),
        "COUNTER": counter,
        "LEADER": str(os.getpid()),
    }
    os.environ.update({f"FAULT_{name}": value for name, value in armed.items()})
    shim.fault_arm(
        asked["root"].encode(), skipped.encode(), ctypes.c_long(asked["at"]), asked["mode"], counter.encode()
    )
    code = keyframer.cli.main(asked["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    for name in MODULES:
        importlib.import_module(name)
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    with tempfile.TemporaryDirectory(prefix="keyframer-faults-") as place:
        counter = os.path.join(place, "counter")
        for line in sys.stdin:
            sys.stdout.write(json.dumps(answer(json.loads(line), shim, counter, place)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
