"""An imitation of APNs, as far as a provider of passes sees it: HTTP/2 over TLS on localhost, by python3-h2. A provider shows
itself by the certificate of a pass type, or by a provider token.

    apns = Apns(authority, apple.wwdr)
    service = new_service(options=apns.options(authority))
    apns.answers[token].append((410, "Unregistered", 1700000000000))

A push is answered with 200 (or what `otherwise` is), or with the next of `answers[its token]`: (status, reason), (status, reason, timestamp in ms), or one of
`REFUSE` (the stream is refused), `RESET` (it is reset), `SILENT` and `CHATTER` (no answer, but other frames). All that was taken is in `pushes`."""
import asyncio
import base64
import json
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from harness import wait_for

REFUSE, RESET, SILENT, CHATTER = "refuse", "reset", "silent", "chatter"


@dataclass
class Push:
    token: str
    topic: str
    headers: dict
    body: bytes
    connection: int
    answer: object
    at: float  # on the monotonic clock


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def der_of(signature):
    """The DER of an ECDSA signature that is two numbers of 32 bytes."""
    def number(data):
        data = data.lstrip(b"\0") or b"\0"
        return (b"\x02" + bytes([len(data) + (data[0] >> 7)]) + (b"\0" if data[0] >> 7 else b"") + data)
    both = number(signature[:32]) + number(signature[32:])
    return b"\x30" + bytes([len(both)]) + both


def is_signed_by(public, text, signature):
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "signature").write_bytes(der_of(signature))
        done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", public, "-signature", f"{place}/signature"],
                              input=text, capture_output=True)
    return done.returncode == 0


class Apns:
    def __init__(self, authority, wwdr, streams=1000, latency=0.0):
        self.pushes, self.answers = [], defaultdict(deque)
        self.connections = 0       # that were made
        self.streams, self.latency = streams, latency
        self.otherwise = (200, None)  # the answer where `answers` has none
        self.goaway_after = None   # requests of a connection; of the last three then none was begun
        self.public_keys = {}      # of teams: (team, key id) -> file with the public key
        self.tokens = set()        # provider tokens that came
        self.expired = set()       # of them those that are answered with ExpiredProviderToken
        self.open_most = 0         # streams that were open at once, of any connection
        self.host = "localhost"
        certificate, key = authority.leaf(f"apns{id(self)}", "DNS:localhost")
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.tls.load_verify_locations(wwdr)
        self.tls.verify_mode = ssl.CERT_OPTIONAL
        self.tls.set_alpn_protocols(["h2"])
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.port = chosen.getsockname()[1]
        self.open = set()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.server = None
        self.listen()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)

    def listen(self):
        async def begin():
            self.server = await asyncio.start_server(lambda *streams: Connection(self, *streams).serve(), "127.0.0.1", self.port,
                                                     ssl=self.tls)
        self.run(begin())

    def kill(self):
        """Ends the listener and all connections, in the middle of whatever is going on."""
        async def end():
            self.server.close()
            for connection in list(self.open):
                connection.writer.transport.abort()
        self.run(end())

    def close(self):
        self.kill()
        wait_for(lambda: not self.open, 10, "the connections to end")
        self.loop.call_soon_threadsafe(self.loop.stop)

    def options(self, authority, *more):
        """For a service that is to push here."""
        return ["--wallet-apns", f"{self.host}:{self.port}", "--egress-ca", authority.root, "--egress-allow", "127.0.0.0/8",
                "--public-url", "https://passes.example", *more]

    def of(self, token):
        return [push for push in list(self.pushes) if push.token == token]

    def wait(self, token, count=1, seconds=15):
        """Waits until so many pushes to that phone have come, and returns them."""
        wait_for(lambda: len(self.of(token)) >= count, seconds,
                 lambda: f"push {count} to {token[:8]}; there are {[(push.token[:8], push.answer) for push in self.pushes]}")
        return self.of(token)


class Connection:
    def __init__(self, apns, reader, writer):
        self.apns, self.reader, self.writer = apns, reader, writer
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.bodies, self.headers = defaultdict(bytes), {}
        self.count = 0
        self.is_ending = False
        apns.connections += 1
        self.number = apns.connections

    def topic_of_certificate(self):
        certificate = self.writer.get_extra_info("ssl_object").getpeercert() or {}
        return next((value for part in certificate.get("subject", ()) for key, value in part if key == "userId"), None)

    async def serve(self):
        self.apns.open.add(self)
        try:
            await self.begin()
            while data := await self.reader.read(65536):
                for event in self.h2.receive_data(data):
                    await self.take(event)
                await self.flush()
        except (OSError, ProtocolError):  # the peer, or kill()
            pass
        finally:
            self.apns.open.discard(self)
            self.writer.close()

    async def begin(self):
        self.h2.initiate_connection()
        self.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: self.apns.streams})
        await self.flush()

    async def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.writer.write(data)
            await self.writer.drain()

    async def take(self, event):
        if isinstance(event, RequestReceived):
            self.headers[event.stream_id] = dict(event.headers)
            self.apns.open_most = max(self.apns.open_most, len(self.headers))
        elif isinstance(event, DataReceived):
            self.bodies[event.stream_id] += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamReset):
            self.headers.pop(event.stream_id, None)
        elif isinstance(event, StreamEnded):
            await self.request(event.stream_id)
        elif isinstance(event, ConnectionTerminated):
            self.writer.close()

    async def request(self, stream):
        self.count += 1
        if self.apns.goaway_after and self.count >= self.apns.goaway_after:
            if not self.is_ending:
                self.is_ending = True
                self.h2.close_connection(last_stream_id=stream - 6)
            return
        if self.apns.latency:
            asyncio.get_running_loop().call_later(self.apns.latency, lambda: asyncio.ensure_future(self.answer(stream)))
        else:
            await self.answer(stream)

    def judge(self, headers, token):
        """The answer to a request."""
        topic = headers.get("apns-topic")
        bearer = headers.get("authorization", "")
        if bearer:
            refusal = self.judge_bearer(bearer.removeprefix("bearer "))
            if refusal:
                return refusal
        elif self.topic_of_certificate() is None:
            return 403, "MissingProviderToken"
        elif self.topic_of_certificate() != topic:
            return 400, "BadTopic"
        if (headers.get("apns-push-type"), headers.get("apns-priority"), headers[":method"]) != ("alert", "10", "POST"):
            return 400, "BadPushType"
        if not time.time() + 23 * 3600 < int(headers["apns-expiration"]) < time.time() + 25 * 3600:
            return 400, "BadExpirationDate"
        waiting = self.apns.answers[token]
        answer = waiting.popleft() if waiting else self.apns.otherwise
        return answer() if callable(answer) else answer

    def judge_bearer(self, bearer):
        self.apns.tokens.add(bearer)
        if bearer in self.apns.expired:
            return 403, "ExpiredProviderToken"
        signed, signature = bearer.rsplit(".", 1)
        header, claims = (json.loads(from_base64url(part)) for part in signed.split("."))
        public = self.apns.public_keys.get((claims["iss"], header["kid"]))
        if not public or header["alg"] != "ES256" or abs(claims["iat"] - time.time()) > 600:
            return 403, "InvalidProviderToken"
        return None if is_signed_by(public, signed.encode(), from_base64url(signature)) else (403, "InvalidProviderToken")

    async def chatter(self, stream):
        if not self.writer.is_closing():
            self.say(stream, CHATTER)
            await self.flush()

    async def answer(self, stream):
        headers, body = self.headers.pop(stream, None), self.bodies.pop(stream, b"")
        if headers is None or self.is_ending:
            return
        token = headers[":path"].removeprefix("/3/device/")
        answer = self.judge(headers, token)
        self.apns.pushes.append(Push(token, headers.get("apns-topic"), headers, body, self.number, answer, time.monotonic()))
        try:
            self.say(stream, answer)
            await self.flush()
        except (ConnectionError, ProtocolError):
            pass

    def say(self, stream, answer):
        if answer == SILENT:
            self.headers[stream] = {}
        elif answer == CHATTER:  # no answer either, but the connection is never silent
            self.h2.increment_flow_control_window(1)
            asyncio.get_running_loop().call_later(0.5, lambda: asyncio.ensure_future(self.chatter(stream)))
        elif answer in (REFUSE, RESET):
            self.h2.reset_stream(stream, ErrorCodes.REFUSED_STREAM if answer == REFUSE else ErrorCodes.INTERNAL_ERROR)
        elif answer[0] == 200:
            self.h2.send_headers(stream, [(":status", "200"), ("apns-id", "0")], end_stream=True)
        else:
            text = {"reason": answer[1], **({"timestamp": answer[2]} if len(answer) > 2 else {})}
            self.h2.send_headers(stream, [(":status", str(answer[0]))])
            self.h2.send_data(stream, json.dumps(text).encode(), end_stream=True)
