"""Requests and answers as bytes: one kept-alive socket for each account, and the command line in its own processes.

Both can be outstanding while others are sent: `start` and `finish` are separate."""
import json
import socket

from commands import Commands
from values import Mismatch, load


class Gone(Exception):
    """The connection closed before an answer arrived."""


class Answer:
    def __init__(self, status, head, body):
        self.status, self.head, self.body = status, head, body

    def header(self, name):
        """A header's value, or None; `name` in lower case."""
        at = self.head.find(b"\r\n" + name + b": ")
        if at < 0:
            return None
        at += len(name) + 4
        end = self.head.find(b"\r\n", at)
        return self.head[at:end if end >= 0 else None].decode()

    @property
    def json(self):
        try:
            return load(self.body)
        except ValueError:
            raise Mismatch(f"no JSON: {self!r}") from None

    def __repr__(self):
        return f"{self.status} {self.body.decode(errors='replace')[:1500]}"


class Wire:
    """A connection to the interface."""

    def __init__(self, address):
        self.address, self.socket, self.rest = address, None, b""

    def send(self, request):
        if self.socket is None:
            self.socket = socket.create_connection(self.address, timeout=60)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.rest = b""
        try:
            self.socket.sendall(request)
        except OSError:
            self.close()
            raise Gone from None

    def receive(self):
        data = self.rest
        try:
            while (end := data.find(b"\r\n\r\n")) < 0:
                data += self.more()
            head = data[:end].lower()
            at = head.find(b"\r\ncontent-length: ")
            length = 0
            if at >= 0:
                stop = head.find(b"\r\n", at + 18)
                length = int(head[at + 18:stop if stop >= 0 else None])
            end += 4
            if len(data) < end + length:
                parts, have = [data], len(data)
                while have < end + length:
                    parts.append(self.more())
                    have += len(parts[-1])
                data = b"".join(parts)
        except OSError:
            self.close()
            raise Gone from None
        self.rest = data[end + length:]
        return Answer(int(data[9:12]), head, data[end:end + length])

    def more(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError
        return data

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None


def http(method, path, key, body=None, headers=()):
    """A request's bytes; `body` is text."""
    lines = [f"{method} {path} HTTP/1.1", "Host: m"]
    if key is not None:
        lines.append(f"Authorization: Bearer {key}")
    data = b""
    if body is not None:
        data = body.encode()
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    elif method in ("POST", "PUT", "PATCH"):
        lines.append("Content-Length: 0")
    lines += headers
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


class Operator(Commands):
    """The command line, with its output as answers."""

    def __init__(self, service):
        super().__init__(service.build / "tests/model/commands", {**service.environment(), "STAMPEDE_DATA": str(service.data)})

    def receive(self):
        """(True, the output) or (False, the refusal)."""
        try:
            status, out, err = super().receive()
        except EOFError:
            raise Mismatch("commands ended") from None
        try:
            if status == 0:
                return True, load(out)
            if status == 1:
                return False, json.loads(err)
        except ValueError:
            pass
        raise Mismatch(f"exit {status}: {out!r} {err!r}")
