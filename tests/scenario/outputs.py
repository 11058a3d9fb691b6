"""Pipes, sockets and terminals for a service's standard error, with readers that read or do not read."""
import contextlib
import fcntl
import os
import pty
import socket
import termios
import threading
import tty

F_SETPIPE_SZ = 1031


class Output:
    """`fd` is the service's end and `reader` is ours. The harness shares the open file, as a shell does."""

    def __init__(self, reader, fd, hold=lambda: None, release=lambda: None):
        self.reader, self.fd, self.hold, self.release = reader, fd, hold, release
        self.flags = fcntl.fcntl(fd, fcntl.F_GETFL)

    def fill(self):
        """Fills the output until no byte fits. No reader runs."""
        self.hold()
        os.set_blocking(self.fd, False)
        for piece in (b"x" * 63 + b"\n", b"\n"):
            with contextlib.suppress(BlockingIOError):
                while os.write(self.fd, piece):
                    pass
        os.set_blocking(self.fd, True)

    def is_as_it_was(self):
        return fcntl.fcntl(self.fd, fcntl.F_GETFL) == self.flags

    def read_all(self):
        """Closes our copy of the service's end, and reads until the service closes its own."""
        self.release()
        os.close(self.fd)
        text = b""
        with contextlib.suppress(OSError):  # a terminal reports its end this way
            while piece := os.read(self.reader, 1 << 16):
                text += piece
        return text.decode()

    def close(self):
        for fd in (self.reader, self.fd):
            with contextlib.suppress(OSError):
                os.close(fd)


def pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    return Output(reader, writer)


def stream():
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return Output(ours.detach(), its.detach())


def terminal():
    controller, its = pty.openpty()
    tty.setraw(its)
    return Output(controller, its, lambda: termios.tcflow(its, termios.TCOOFF), lambda: termios.tcflow(its, termios.TCOON))


KINDS = {"pipe": pipe, "socket": stream, "terminal": terminal}


class Reader:
    """Reads an output continuously in a thread."""

    def __init__(self, output):
        self.text, self.output = b"", output
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        with contextlib.suppress(OSError):
            while piece := os.read(self.output.reader, 1 << 16):
                self.text += piece

    def lines(self):
        return self.text.decode().splitlines()
