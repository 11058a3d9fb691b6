"""An endpoint for webhooks and images: HTTPS with a given certificate, or HTTP. The path selects its behaviour.

    /status/N…       N and no body            /body/N/SIZE    N and that many bytes, keeping the connection open
    /hang            never answers             /drip           a byte of the head now and then
    /drip-body       a head, then a byte now and then           /endless   a head, then bytes without end
    /redirect[/N]    302, or N, to /status/200 /provisional    100 and 103, then 200
    /held/N          N, after release()        /slow/MS/N      N, after that many milliseconds
    /reset           closes with RST                           /reset-in-head  the same in the middle of the head
    /close           closes without an answer                  /short     200, and less than Content-Length
    /garbage         not HTTP                  /long-head      a head without end
    /long-header     one header of 1 MiB

`receiver.answers[path] = bytes` answers a path with these bytes. A function of the request may return the bytes
instead; text names a path to behave like. `receiver.play(path, "/reset", "/status/200")` uses one behaviour for each
request in turn. All requests are in `receiver.requests`, and by path in `receiver.to`.
"""
import asyncio
import contextlib
import socket
import ssl
import struct
import threading
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass
from itertools import count

DRIP_SECONDS = 0.05


@dataclass
class Request:
    method: str
    path: str
    headers: list
    body: bytes
    connection: int
    at: float  # when it was complete, on the monotonic clock

    def header(self, name):
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(found) == 1, f"{name}: {found}"
        return found[0]


def answer(status, body=b"", headers=()):
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Receiver:
    def __init__(self, certificate, host="127.0.0.1", port=0, newest=None):
        self.requests = []
        self.to = defaultdict(list)
        self.answers = {}
        self._held = []
        self.connections = 0
        self._tls = certificate and ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._scheme = "https" if certificate else "http"
        if certificate:
            self._tls.load_cert_chain(*certificate)
        if newest:
            self._tls.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._tls.maximum_version = newest
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._tasks = set()
        self._server = self._call(asyncio.start_server(self._serve, host, port, ssl=self._tls, backlog=4096))
        self.port = self._server.sockets[0].getsockname()[1]
        self.host = f"[{host}]" if ":" in host else host

    def url(self, path="/status/200", host=None):
        return f"{self._scheme}://{host or self.host}:{self.port}{path}"

    def play(self, path, *parts):
        """The first request to `path` is answered like the first of the other paths, and so on. The last one repeats."""
        turn = count()
        self.answers[path] = lambda _: parts[min(next(turn), len(parts) - 1)]

    def release(self):
        """Answers all requests that are held now."""
        async def let_go():
            held, self._held = self._held, []
            for future in held:
                future.set_result(None)

        self._call(let_go())

    def close(self):
        async def end():
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    # Connections

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        self.connections += 1
        connection = self.connections
        try:
            while (request := await self._read(reader, connection)) and await self._answer(request, writer):
                pass
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _read(self, reader, connection):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, path, version = first.split(" ")
        assert version == "HTTP/1.1"
        headers = [tuple(line.split(": ", 1)) for line in lines]
        size = next((int(value) for key, value in headers if key.lower() == "content-length"), 0)
        request = Request(method, path, headers, await reader.readexactly(size), connection, time.monotonic())
        self.requests.append(request)
        self.to[path].append(request)
        return request

    async def _answer(self, request, writer):
        """False when the connection is to end."""
        said = self.answers.get(request.path, request.path)
        if callable(said):
            said = said(request)
        if isinstance(said, bytes):
            writer.write(said)
            await writer.drain()
            return True
        word, *rest = said.lstrip("/").split("/")
        return await getattr(self, "_do_" + word.replace("-", "_"))(writer, rest)

    async def _do_status(self, writer, rest):
        writer.write(answer(int(rest[0])))
        return True

    async def _do_body(self, writer, rest):
        writer.write(answer(int(rest[0]), b"x" * int(rest[1])))
        await writer.drain()
        return True

    async def _do_hang(self, writer, rest):
        await asyncio.Event().wait()

    async def _drip(self, writer, text):
        for byte in text:
            if writer.transport.is_closing():
                return
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(DRIP_SECONDS)

    async def _do_drip(self, writer, rest):
        await self._drip(writer, b"HTTP/1.1 200 Said\r\nX-Long: " + b"x" * 1_000_000)

    async def _do_drip_body(self, writer, rest):
        writer.write(b"HTTP/1.1 200 Said\r\nContent-Length: 1000000\r\n\r\n")
        await self._drip(writer, b"x" * 1_000_000)

    async def _for_ever(self, writer, text):
        """As fast as the other side reads; asyncio's drain() does not notice that it is gone."""
        while not writer.transport.is_closing():
            writer.write(text)
            await writer.drain()
            await asyncio.sleep(0)

    async def _do_endless(self, writer, rest):
        writer.write(b"HTTP/1.1 200 Said\r\nTransfer-Encoding: chunked\r\n\r\n")
        await self._for_ever(writer, b"1000\r\n" + b"x" * 4096 + b"\r\n")

    async def _do_redirect(self, writer, rest):
        status = int(rest[0]) if rest else 302
        writer.write(answer(status, headers=[f"Location: {self.url('/status/200')}"]))
        return True

    async def _do_held(self, writer, rest):
        future = self._loop.create_future()
        self._held.append(future)
        await future
        return await self._do_status(writer, rest)

    async def _do_slow(self, writer, rest):
        await asyncio.sleep(int(rest[0]) / 1000)
        return await self._do_status(writer, rest[1:])

    async def _do_provisional(self, writer, rest):
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: <x>\r\n\r\n" + answer(200))
        return True

    async def _do_reset(self, writer, rest):
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def _do_reset_in_head(self, writer, rest):
        writer.write(b"HTTP/1.1 200 Sa")
        await writer.drain()
        await self._do_reset(writer, rest)

    async def _close(self, writer):
        """Without it, the end of the connection's task would be a reset."""
        writer.close()
        with contextlib.suppress(OSError, ssl.SSLError, asyncio.TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), 5)

    async def _do_close(self, writer, rest):
        await self._close(writer)

    async def _do_short(self, writer, rest):
        writer.write(b"HTTP/1.1 200 Said\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        await self._close(writer)

    async def _do_garbage(self, writer, rest):
        writer.write(b"220 mail.example ESMTP\r\n" * 10)
        await writer.drain()
        await self._close(writer)

    async def _do_long_head(self, writer, rest):
        writer.write(b"HTTP/1.1 200 Said\r\n")
        await self._for_ever(writer, b"X-Long: " + b"x" * 1000 + b"\r\n")

    async def _do_long_header(self, writer, rest):
        writer.write(b"HTTP/1.1 200 Said\r\nX-Long: " + b"x" * (1 << 20) + b"\r\n\r\n")
        await writer.drain()
        writer.close()


class Hole:
    """A port with a full accept queue. The kernel drops further SYNs, as a dead host would."""

    def __init__(self, host="127.0.0.1", port=0):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=0)
        self.port = self._socket.getsockname()[1]
        self._waiting = []
        for _ in range(4):
            one = socket.socket(family)
            one.setblocking(False)
            one.connect_ex((host, self.port))
            self._waiting.append(one)

    def close(self):
        for one in (*self._waiting, self._socket):
            one.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Mute:
    """A port that accepts connections and sends nothing, so that no handshake completes. With `host` 0.0.0.0 it listens
    on all loopback addresses."""

    def __init__(self, host="127.0.0.1"):
        self._socket = socket.create_server((host, 0), backlog=4096)
        self.port = self._socket.getsockname()[1]

    def url(self, path="/", host="127.0.0.1"):
        return f"https://{host}:{self.port}{path}"

    def close(self):
        self._socket.close()
