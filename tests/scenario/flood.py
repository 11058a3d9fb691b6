"""Many connections from one thread: more outstanding requests than a service accepts.

Flood: `count` connections. Each sends a delta to its account's passes, waits for the answer, and sends the next one.
After a 503 it waits as long as Retry-After says. Results go to the account's Book.
"""
import json
import random
import selectors
import socket
import threading
import time
from collections import Counter

from shop import path_of

KNOWN = {202: "acknowledged", 503: "refused", 504: "unknown"}


class Line:
    """One connection and its outstanding request."""

    def __init__(self, flood, number):
        self.flood = flood
        self.pass_id = flood.passes[number % len(flood.passes)]
        self.socket = socket.create_connection(flood.address)
        self.socket.setblocking(False)
        self.got = b""
        self.due = 0.0  # when to send; None while an answer is awaited
        self.sent_at = 0.0
        self.amount = 0

    def send(self):
        self.amount = self.flood.rng.choice((1, -1)) * self.flood.rng.getrandbits(45)
        body = json.dumps({"balance_to_add": self.amount}).encode()
        head = (f"POST {path_of(self.pass_id, '/loyalty')} HTTP/1.1\r\nHost: flood\r\n"
                f"Authorization: Bearer {self.flood.book.shop.key}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        self.sent_at = time.monotonic()
        self.due = None
        assert self.socket.send(head + body) == len(head) + len(body)

    def receive(self):
        """(status, headers) once the answer is complete, else None."""
        part = self.socket.recv(65536)
        assert part, f"the connection broke: {self.got!r}"
        self.got += part
        head, found, body = self.got.partition(b"\r\n\r\n")
        if not found:
            return None
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        if len(body) < int(headers.get("content-length", 0)):
            return None
        self.got = b""
        return int(first.split()[1]), headers


class Flood(threading.Thread):
    """`with Flood(book, address, count) as flood:` runs until the block ends and the last answer has arrived."""

    def __init__(self, book, address, count, passes):
        super().__init__(daemon=True)
        self.book = book
        self.address = address
        self.rng = random.Random(count)
        self.passes = list(book.usable)[:passes]
        self.lines = [Line(self, number) for number in range(count)]
        self.statuses = Counter()
        self.slowest = Counter()  # seconds, by status
        self.wrong = []
        self.waiting = 0  # outstanding requests
        self.ending = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending = True
        self.join(30)
        for line in self.lines:
            line.socket.close()

    def run(self):
        try:
            with selectors.DefaultSelector() as selector:
                for line in self.lines:
                    selector.register(line.socket, selectors.EVENT_READ, line)
                while not self.ending or self.waiting:
                    self.turn(selector)
        except Exception as error:
            self.wrong.append(f"the flood broke: {error!r}")

    def turn(self, selector):
        now = time.monotonic()
        for line in self.lines:
            if line.due is not None and line.due <= now and not self.ending:
                line.send()
                self.waiting += 1
        for key, _ in selector.select(0.05):
            answer = key.data.receive()
            if answer:
                self.waiting -= 1
                self.enter(key.data, *answer)

    def enter(self, line, status, headers):
        now = time.monotonic()
        self.statuses[status] += 1
        self.slowest[status] = max(self.slowest[status], now - line.sent_at)
        if status not in KNOWN or (status == 503 and headers.get("retry-after") != "1"):
            self.wrong.append(f"{status} {headers}")
        self.book.added(line.pass_id, line.amount, KNOWN.get(status, "refused"))
        line.due = now + (1.0 if status == 503 else 0.0)
