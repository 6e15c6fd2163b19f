"""Starts worker processes: forked from a process that has loaded all modules, or spawned if fork is not available.

Loading takes half a second of a core. The fork server does it once, while the coordinator still lists files, and then
forks a worker in milliseconds, also after a file has killed one.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Protocol

from keyframer.batch import worker

CAN_FORK = sys.platform.startswith("linux")
"""other systems spawn processes: macOS has fork, but its system libraries do not support it"""
_NUMBER = struct.Struct("<q")


class Process(Protocol):
    """A worker process and its pipes."""

    pid: int
    calls: IO[bytes]
    answers: IO[bytes]

    def kill(self) -> None: ...

    def wait(self) -> int:
        """Wait for the end of a process that was killed or is about to end; returns its exit code, -N for signal N."""


class Spawned:
    """A worker process started as a program."""

    def __init__(self, memory: int | None) -> None:
        self._process = _start("from keyframer.batch.worker import main; main()")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.calls, self.answers = self._process.stdin, self._process.stdout
        self.pid = self._process.pid
        with suppress(OSError):  # the process is dead: reading its answer will show that
            self.calls.write(pickle.dumps({"path": sys.path, "memory": memory}))

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        return self._process.wait()


class Forked:
    """A worker process forked by the fork server. The server reports its exit code and reserves its id until then."""

    def __init__(self, server: ForkServer, pid: int, calls: IO[bytes], answers: IO[bytes]) -> None:
        self._server = server
        self._code: int | None = None
        self.pid = pid
        self.calls = calls
        self.answers = answers

    def kill(self) -> None:
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._code is None:
            self._code = self._server.exit_code_of(self.pid)
        return self._code


class ForkServer:
    """The process that forks workers.

    Requests go over a private socket: a process id asks for the exit code of that process, 0 with the ends of two pipes
    asks for a new process.
    """

    def __init__(self, memory: int | None, modules: Sequence[str] = ()) -> None:
        self._lock = threading.Lock()
        self._socket, server_end = socket.socketpair()
        with server_end:
            self._process = _start(
                f"from keyframer.batch.fork_server import main; main({server_end.fileno()})", server_end.fileno()
            )
        setup = pickle.dumps({"path": sys.path, "memory": memory, "modules": [*modules], "parent": os.getpid()})
        self._socket.sendall(_NUMBER.pack(len(setup)) + setup)

    def fork(self) -> Forked:
        """Fork a new worker; raises OSError if that is impossible."""
        call_end, calls = os.pipe()
        answers, answer_end = os.pipe()
        try:
            with self._lock:
                socket.send_fds(self._socket, [_NUMBER.pack(0)], [call_end, answer_end])
                pid = self._receive_number()
            if pid < 0:
                raise OSError(-pid, os.strerror(-pid))
        except BaseException:
            os.close(calls)
            os.close(answers)
            raise
        finally:
            os.close(call_end)
            os.close(answer_end)
        return Forked(self, pid, os.fdopen(calls, "wb"), os.fdopen(answers, "rb"))

    def exit_code_of(self, pid: int) -> int:
        try:
            with self._lock:
                self._socket.sendall(_NUMBER.pack(pid))
                return self._receive_number()
        except OSError:  # the fork server is dead, and its workers with it
            return -signal.SIGKILL

    def _receive_number(self) -> int:
        data = self._socket.recv(_NUMBER.size, socket.MSG_WAITALL)
        if len(data) < _NUMBER.size:
            raise OSError("the process that forks workers has died")
        return int(_NUMBER.unpack(data)[0])

    def close(self) -> None:
        """End the fork server and its workers."""
        self._socket.close()
        self._process.kill()
        self._process.wait()


def _start(code: str, *descriptors: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        stdin=subprocess.DEVNULL if descriptors else subprocess.PIPE,
        stdout=subprocess.DEVNULL if descriptors else subprocess.PIPE,
        stderr=None if os.environ.get("KEYFRAMER_DEBUG") else subprocess.DEVNULL,
        env={**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=os.name == "posix",  # Ctrl-C is for the coordinator
        pass_fds=descriptors,
    )


def main(descriptor: int) -> None:
    """Run the fork server."""
    worker.ignore_interrupts()
    requests = socket.socket(fileno=descriptor)
    setup = _receive_setup(requests)
    if setup is None:
        return
    worker.die_with_parent(setup["parent"])
    sys.path[:] = setup["path"]
    gc.disable()  # searching for cycles while modules are loaded took a tenth of the time
    for module in setup["modules"]:
        with suppress(Exception):  # the module reports its own problem when it is used
            importlib.import_module(module)
    gc.freeze()  # shared memory stays shared
    gc.enable()
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, _NUMBER.size, 2, socket.MSG_CMSG_CLOEXEC)
        if len(data) < _NUMBER.size:
            return
        (pid,) = _NUMBER.unpack(data)
        requests.sendall(_NUMBER.pack(_exit_code_of(pid) if pid else _fork(descriptors, requests, setup["memory"])))


def _receive_setup(requests: socket.socket) -> dict[str, Any] | None:
    head = requests.recv(_NUMBER.size, socket.MSG_WAITALL)
    if len(head) < _NUMBER.size:
        return None
    (size,) = _NUMBER.unpack(head)
    data = requests.recv(size, socket.MSG_WAITALL)
    setup: dict[str, Any] | None = pickle.loads(data) if len(data) == size else None  # noqa: S301
    return setup


def _exit_code_of(pid: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0


def _fork(descriptors: list[int], requests: socket.socket, memory: int | None) -> int:
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        pid = -(error.errno or 1)
    if pid == 0:
        try:
            worker.die_with_parent(parent)
            os.setsid()  # Linux divides a busy processor among sessions, not among processes
            requests.close()
            calls, answers = descriptors
            worker.serve(os.fdopen(calls, "rb"), os.fdopen(answers, "wb"), memory)
        finally:
            os._exit(0)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid
