"""The detail that an operator sees of a failed attempt: the phase and the cause."""
import socket
import ssl
import struct
import threading
import warnings

import pytest
from certificates import Authority
from drive import details, drive, words
from receiver import Hole, Mute, Receiver


class Raw:
    """A port that calls `act` with each connection."""

    def __init__(self, act, wrap=None):
        self._act, self._wrap = act, wrap
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.url = "https://127.0.0.1:%d/" % self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            try:
                one, _ = self._socket.accept()
                one.settimeout(10)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # the sent bytes leave before the reset
            except OSError:
                return
            try:
                self._act(self._wrap.wrap_socket(one, server_side=True) if self._wrap else one)
            except OSError:
                pass
            one.close()

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def raw():
    made = []

    def make(*args):
        made.append(Raw(*args))
        return made[-1].url

    yield make
    for one in made:
        one.close()


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def read_head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return
        data += more


def plain(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    connection.shutdown(socket.SHUT_WR)
    connection.recv(65536)


def server_context(chain, **members):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*chain)
    for name, value in members.items():
        setattr(context, name, value)
    return context


# Connect and TLS

def test_each_certificate_fault_has_its_detail(tmp_path, authority, trusting):
    stranger = Authority(tmp_path / "stranger")
    faults = {
        "expired": (authority.leaf("expired", days=-1), "TLS: a certificate has expired"),
        "early": (authority.leaf("early", begins="20990101000000Z"), "TLS: a certificate is not yet valid"),
        "name": (authority.leaf("name", names="DNS:example.com,IP:127.0.0.2"), "TLS: the certificate is for another host name"),
        "stranger": (stranger.leaf(), "TLS: unknown issuer of the certificate"),
        "unchained": (authority.leaf("unchained", chain=False),
                      "TLS: unknown issuer, and the endpoint sent no intermediate certificate"),
        "own": (stranger.own(), "TLS: self-signed certificate"),
    }
    whole, _ = rooted = stranger.leaf("rooted")
    whole.write_text(whole.read_text() + stranger.root.read_text())
    faults["rooted"] = (rooted, "TLS: unknown issuer of the certificate")
    receivers = {name: Receiver(leaf) for name, (leaf, _) in faults.items()}
    got = details(drive([f"post {name} {receiver.url()}" for name, receiver in receivers.items()], *trusting))
    assert got == {name: ("tls", text) for name, (_, text) in faults.items()}
    for receiver in receivers.values():
        assert receiver.requests == []
        receiver.close()


def test_each_failed_handshake_has_its_detail(chain, trusting, raw, mute):
    with warnings.catch_warnings(), Hole() as hole:
        warnings.simplefilter("ignore")
        old = server_context(chain, maximum_version=ssl.TLSVersion.TLSv1_1)
        old.set_ciphers("ALL:@SECLEVEL=0")
        gone = Mute()
        gone.close()
        urls = {"old": raw(read_head, old), "plain": raw(plain), "closed": raw(lambda one: one.recv(65536)),
                "reset": raw(lambda one: (one.recv(65536), reset(one))), "mute": mute.url(), "refused": gone.url(),
                "hole": f"https://127.0.0.1:{hole.port}/", "banner": raw(lambda one: one.sendall(b"220 mail.example ESMTP\r\n"))}
        got = details(drive([f"post {name} {url}" for name, url in urls.items()], *trusting, "--attempt-ms", 3000))
    assert got == {
        "old": ("tls", "TLS: the endpoint supports no TLS version from 1.2 on"),
        "plain": ("tls", "TLS: the endpoint answered in plain text (HTTP instead of HTTPS)"),
        "banner": ("tls", "TLS: the endpoint answered in plain text (HTTP instead of HTTPS)"),
        "closed": ("tls", "TLS: connection reset or closed in the handshake"),
        "reset": ("tls", "TLS: connection reset or closed in the handshake"),
        "mute": ("timeout", "TLS: timeout in the handshake"),
        "refused": ("connect", "connect: connection refused"),
        "hole": ("timeout", "connect: timeout, no address took the connection")}


def test_an_endpoint_that_resets_at_once(trusting, raw):
    """Whether it resets before or after the handshake begins depends on the scheduler; both have a detail."""
    got = details(drive([f"post {number} {raw(reset)}" for number in range(20)], *trusting))
    assert set(got.values()) <= {("connect", "connect: connection reset"), ("tls", "TLS: connection reset or closed in the handshake")}, got


def test_an_endpoint_that_switches_protocols(chain, trusting, raw):
    """It answers at once, though no request asked for another protocol, and keeps the connection open."""
    def answer(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        connection.recv(1)

    url = raw(answer, server_context(chain))
    (end,) = drive([f"post 0 {url}"], *trusting)
    assert (end.word, end.status, end.detail) == ("-", 101, "")


# TLS_DHE_RSA_WITH_...: AES in CBC, GCM and CCM, CHACHA20
DHE = {0x33, 0x39, 0x67, 0x6B, 0x9E, 0x9F, 0xC09E, 0xC09F, 0xC0A2, 0xC0A3, 0xCCAA}
FFDHE = set(range(0x100, 0x105))


def numbers(data, at):
    """A list of 16-bit numbers behind its length, and where it ends."""
    end = at + 2 + int.from_bytes(data[at:at + 2], "big")
    return {int.from_bytes(data[i:i + 2], "big") for i in range(at + 2, end, 2)}, end


def test_no_diffie_hellman_over_finite_fields_is_offered(trusting, raw):
    """An endpoint chooses its prime: a large one would take a second of the thread that serves all accounts."""
    hellos = []
    drive([f"post one {raw(lambda one: hellos.append(one.recv(65536)))}"], *trusting)
    hello = hellos[0]
    at = 5 + 4 + 2 + 32  # record, message, version, random
    suites, at = numbers(hello, at + 1 + hello[at])
    assert 0x1301 in suites and 0xC02F in suites and not suites & DHE
    at += 1 + hello[at] + 2
    groups = None
    while at < len(hello):
        kind, size = (int.from_bytes(hello[i:i + 2], "big") for i in (at, at + 2))
        if kind == 10:
            groups, _ = numbers(hello, at + 4)
        at += 4 + size
    assert 0x1D in groups and not groups & FFDHE


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_an_endpoint_that_requires_a_client_certificate(authority, chain, trusting, raw, newest):
    context = server_context(chain, verify_mode=ssl.CERT_REQUIRED, maximum_version=newest)
    context.load_verify_locations(authority.root)
    url = raw(read_head, context)
    got = details(drive([f"post {i} {url}" for i in range(3)], *trusting, "--endpoint", 1))
    assert set(got.values()) == {("tls", "TLS: the endpoint requires a client certificate")}


def test_an_endpoint_that_only_requests_a_client_certificate(authority, chain, trusting, raw):
    def answer(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 204 Said\r\n\r\n")

    context = server_context(chain, verify_mode=ssl.CERT_OPTIONAL)
    context.load_verify_locations(authority.root)
    assert words(drive([f"post one {raw(answer, context)}"], *trusting)) == {"one": ("-", 204)}


# The answer

def test_each_failure_without_an_answer_has_its_detail(receiver, trusting):
    want = {"/hang": ("timeout", "response: timeout, no whole head of an answer came"),
            "/drip": ("timeout", "response: timeout, no whole head of an answer came"),
            "/reset": ("reset", "response: connection reset before the answer"),
            "/reset-in-head": ("reset", "response: connection reset before the answer"),
            "/close": ("reset", "response: connection closed before the answer"),
            "/garbage": ("protocol", "response: no valid HTTP"), "/long-head": ("protocol", "response: the head is too large"),
            "/long-header": ("protocol", "response: the head is too large"),
            "/status/500": ("-", "")}
    assert details(drive([f"post {path} {receiver.url(path)} {{}}" for path in want], *trusting, "--attempt-ms", 3000)) == want


HEAD = b"HTTP/1.1 200 Said\r\nContent-Length: 10\r\n\r\n"


@pytest.mark.parametrize("after", [
    pytest.param(lambda one: reset(one), id="reset"),
    pytest.param(lambda one: one.unwrap(), id="closed"),
    pytest.param(lambda one: socket.socket(fileno=one.detach()).close(), id="without TLS's last word"),
    pytest.param(lambda one: one.sendall(b"x" * 3), id="short"),
    pytest.param(lambda one: one.sendall(b"\0" * 1000), id="more than promised"),
])
def test_an_answer_with_a_complete_head_counts(chain, trusting, raw, after):
    def answer(connection):
        read_head(connection)
        connection.sendall(HEAD)
        after(connection)

    url = raw(answer, server_context(chain))
    # Each by a process of its own: a request on a kept connection could meet the bytes that were too many.
    got = [end for i in range(3) for end in drive([f"post {i} {url}"], *trusting, "--endpoint", 1)]
    assert {(end.word, end.status, end.detail) for end in got} == {("-", 200, "")}
