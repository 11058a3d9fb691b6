"""Raw requests on a socket that no client library would send, and a strict parser of the answers."""
import json
import socket
from contextlib import closing

from patience import PATIENCE

ERROR_KEYS = {"code", "message", "request_id"}


class RawAnswer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # names in lower case
        self.body = body

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:200]!r}"

    def check_form(self, is_head=False):
        """Every answer has a request id. An error is JSON of the documented form with the same id."""
        assert self.headers.get("x-request-id"), self
        if self.status >= 400 and not is_head:
            assert self.headers["content-type"] == "application/json", self
            error = json.loads(self.body)
            assert set(error) - {"field"} == ERROR_KEYS, self
            assert error["request_id"] == self.headers["x-request-id"], self


def read_head(head, is_head=False):
    """(status, headers, size of the body)."""
    first, *lines = head.decode("latin-1").split("\r\n")
    version, status, _ = first.split(" ", 2)
    assert version == "HTTP/1.1", first
    headers = {}
    for line in lines:
        name, value = line.split(": ", 1)
        assert name.lower() not in headers, f"{name} twice: {head}"
        headers[name.lower()] = value
    assert "transfer-encoding" not in headers, head
    return int(status), headers, 0 if is_head or int(status) in (100, 204) else int(headers["content-length"])


def take_answer(data, is_head=False):
    """(answer, rest) of bytes that begin with a complete answer; None if it is incomplete."""
    head, found, rest = data.partition(b"\r\n\r\n")
    if not found:
        return None
    status, headers, size = read_head(head, is_head)
    if len(rest) < size:
        return None
    return RawAnswer(status, headers, rest[:size]), rest[size:]


def take_answers(data, is_head=False):
    answers = []
    while data:
        taken = take_answer(data, is_head)
        assert taken, f"an incomplete answer: {data!r}"
        answers.append(taken[0])
        data = taken[1]
    return answers


def receive_all(connection):
    """Everything until the server closes the connection. It must close without a reset, which could cost the client an
    unread answer."""
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def connect(address, seconds=10):
    connection = socket.create_connection(address, seconds * PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def refuses(address):
    """True if connections to the address are refused. A connection that waits is not refused."""
    try:
        connect(address, 1).close()
    except OSError as error:
        return isinstance(error, ConnectionRefusedError)
    return False


def talk(address, parts, seconds=10):
    """Sends the parts one by one, shuts down the sending side, and returns all bytes received."""
    with closing(connect(address, seconds)) as connection:
        for part in parts:
            connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        return receive_all(connection)


def receive_answer(connection, data=b"", is_head=False):
    """(answer, rest): waits for one complete answer. It copies each byte once: a client that is slow by itself is closed."""
    data, wanted = bytearray(data), None
    while wanted is None or len(data) < wanted:
        end = data.find(b"\r\n\r\n") if wanted is None else -1
        if end >= 0:
            wanted = end + 4 + read_head(bytes(data[:end]), is_head)[2]
            continue
        part = connection.recv(65536)
        assert part, f"closed after {len(data)} bytes, {bytes(data[:1000])!r}"
        data += part
    return take_answer(bytes(data), is_head)
