"""Hostile clients fill all connection slots in different ways. A new valid client is still served within a second.
Connections are closed in a defined order, and none with an outstanding request is closed."""
import json
import os
import resource
import select
import signal
import socket
import ssl
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from harness import Rest, wait_for
from metrics import look
from patience import PATIENCE
from raw import connect, receive_all, receive_answer
from shop import Shop, path_of
from strangers import HELLO, UNKEYED, Strangers

pytestmark = pytest.mark.plain
NEWCOMER_SECONDS = 0.3  # a little more than a new connection is protected
LISTENS = "0A"  # the state of a listening socket in /proc/net/tcp


def limited(service, descriptors):
    """The command of serve with a limit on open files."""
    return ["bash", "-c", f'ulimit -n {descriptors}; exec "$@"', "serve", *service.command()]


class Small:
    """A shop on a service with few connection slots, and a client for it."""

    def __init__(self, new_service, certificate=None, threads=1, descriptors=300, options=()):
        options = [*options]
        self.tls = None
        if certificate:
            options += ["--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1])]
            self.tls = ssl.create_default_context(cafile=certificate[0])
        self.service = new_service(start=False, shards=1, http_threads=threads, options=options)
        self.service.start(command=limited(self.service, descriptors))
        self.shop = Shop(self.service, ("balance",))
        self.shop.client.tls = self.tls
        self.pass_id = self.shop.create()["id"]
        self.shop.client.close()
        self.places = int(look(self.service).get("stampede_http_connections_limit"))

    def connect(self, source=None):
        connection = socket.create_connection(self.service.http, 10 * PATIENCE, source_address=source and (source, 0))
        return self.tls.wrap_socket(connection, server_hostname="127.0.0.1") if self.tls else connection

    def get(self, *fields):
        lines = [f"GET {path_of(self.pass_id)} HTTP/1.1", "Host: x", f"Authorization: Bearer {self.shop.key}", *fields, "", ""]
        return "\r\n".join(lines).encode()

    def ask(self, connection):
        connection.sendall(self.get())
        return receive_answer(connection)[0].status

    def be_served(self):
        """Sends a request over a new connection. Returns the seconds that it took.

        On a slow machine this client itself may pause so long between its handshake and its request that it is taken for
        one of the strangers. Then it connects again."""
        begin = time.monotonic()
        for attempt in range(int(PATIENCE), 0, -1):
            try:
                with closing(self.connect()) as connection:
                    assert self.ask(connection) == 200
                break
            except (AssertionError, OSError):
                if attempt == 1:
                    raise
        return time.monotonic() - begin

    def evicted(self):
        numbers = look(self.service)
        return {kind: int(count) for kind in ("handshake", "idle", "head", "body", "answer", "linger")
                if (count := numbers.get("stampede_http_connections_evicted_total", during=kind))}


def has_ended(connection):
    try:
        connection.setblocking(False)
        return connection.recv(65536) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    finally:
        connection.setblocking(True)


# New clients are served

POST = b"POST /v1/passes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
WAYS = {
    "silent": {},
    "a letter": {"first": b"G"},
    "a head that drips": {"first": b"GET / HTTP/1.1\r\nX: ", "more": b"a"},
    "idle after a refusal": {"first": UNKEYED},
    "refusal after refusal": {"first": UNKEYED, "more": UNKEYED},
    "idle after the document": {"first": b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"},
    "bad requests": {"first": b"GET nowhere HTTP/1.1\r\n\r\n"},
    "a body that drips": {"first": POST + b"Content-Length: 100000\r\n", "more": b" "},
    "half a body": {"first": POST + b"Content-Length: 100000\r\n"},
    "answers that nobody reads": {"first": b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 80, "small": True},
}


def post(key, body):
    lines = ["POST /v1/passes HTTP/1.1", "Host: x", f"Authorization: Bearer {key}", "Content-Type: application/json",
             f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(lines).encode()


def way_of(shop, way):
    """A hostile client's key has the right form, so only the shard can refuse it."""
    made_up = shop.key[:-8] + "a" * 8
    first = way.get("first", b"")
    if first.startswith(POST):
        first += f"Authorization: Bearer {made_up}\r\n\r\n".encode()
    return {**way, "first": first}


def test_strangers_that_stand_before_a_client(new_service):
    """They do not come again. At first they fill the places and the queue of those that are to be accepted."""
    small = Small(new_service)
    with ExitStack() as stack:
        for _ in range(6 * small.places):
            stranger = stack.enter_context(closing(socket.socket()))
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            stranger.connect(small.service.http)
            stranger.sendall(WAYS["answers that nobody reads"]["first"])
        assert small.be_served() < PATIENCE
    small.shop.close()


def test_creations_that_wait_leave_places_to_others(new_service):
    """One account creates passes whose images come from a silent host, each over its own connection."""
    small = Small(new_service, options=["--egress-allow-private"])
    half = small.places // 2
    with ExitStack() as stack:
        silent = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0), backlog=2 * small.places)))
        waiting = [stack.enter_context(closing(connect(small.service.http))) for _ in range(small.places - 2)]
        for number, connection in enumerate(waiting):
            body = json.dumps({"pass_id": f"p{number}", "visible": {"name": "A"},
                               "appearance": {"logo": f"http://127.0.0.1:{silent.getsockname()[1]}/{number}.png"}})
            connection.sendall(post(small.shop.key, body))

        def answered():
            return select.select(waiting, [], [], 0)[0]

        wait_for(lambda: len(answered()) == len(waiting) - half, 5, "all but half of the places to be answered")
        for _ in range(half):
            newcomer = stack.enter_context(closing(connect(small.service.http)))
            assert small.ask(newcomer) == 200
        assert len(answered()) == len(waiting) - half
        assert {receive_answer(connection)[0].status for connection in waiting} == {202}
    small.shop.close()


@pytest.mark.parametrize("is_encrypted, threads", [(False, 3), (True, 1)])
@pytest.mark.parametrize("way", WAYS)
def test_strangers_in_every_slot(new_service, certificate, way, is_encrypted, threads):
    small = Small(new_service, certificate if is_encrypted else None, threads)
    with Strangers(small.service.http, small.places + 40, tls=small.tls, **way_of(small.shop, WAYS[way])) as strangers:
        # Connections that are closed after each request do not fill all slots if the strangers are slow to connect.
        wait_for(lambda: strangers.come > small.places * 4 or strangers.come > small.places and
                 look(small.service).get("stampede_http_connections") >= small.places * 0.9, 20, "the strangers")
        for _ in range(5):
            assert small.be_served() < PATIENCE
        assert strangers.come > small.places
    small.shop.close()


@pytest.mark.parametrize("first", [b"", HELLO, HELLO + b"\0" * 100])
def test_strangers_that_never_finish_their_handshake(new_service, certificate, first):
    small = Small(new_service, certificate)
    with Strangers(small.service.http, small.places + 40, first=first, more=first and b"\0") as strangers:
        wait_for(lambda: strangers.come > small.places, 20, "the strangers")
        for _ in range(5):
            assert small.be_served() < PATIENCE
        assert small.evicted().get("handshake", 0) > 0
    small.shop.close()


def test_strangers_that_send_a_part_of_a_tls_record(new_service, certificate):
    """When one byte has come on every connection, none may become one that cannot be evicted."""
    small = Small(new_service, certificate)
    with ExitStack() as stack:
        held = [stack.enter_context(closing(small.connect())) for _ in range(small.places)]
        time.sleep(NEWCOMER_SECONDS)
        pid = small.service.signal("http", 0, signal.SIGSTOP)
        for one in held:
            os.write(one.fileno(), b"\x17")
        stack.enter_context(closing(socket.create_connection(small.service.http, 10 * PATIENCE)))  # it needs a place
        os.kill(pid, signal.SIGCONT)
        for _ in range(5):
            assert small.be_served() < PATIENCE
    small.shop.close()


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_strangers_that_reconnect_while_other_slots_are_idle(new_service, certificate, is_encrypted):
    """Nearly all slots are idle after a refused request, so a new connection is often the only one without a complete
    request. The next new connection must not evict it."""
    small = Small(new_service, certificate if is_encrypted else None)
    with Strangers(small.service.http, small.places - 2, first=UNKEYED, tls=small.tls) as idle:
        wait_for(lambda: idle.come >= small.places - 2, 20, "the idle connections")
        with Strangers(small.service.http, 30):
            for _ in range(10):
                assert small.be_served() < PATIENCE
    small.shop.close()


def test_strangers_on_the_admin_listener(new_service):
    small = Small(new_service)
    ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with Strangers(small.service.admin_address, 50), Strangers(small.service.admin_address, 50, first=ask) as strangers:
        wait_for(lambda: strangers.come > 50, 10, "the strangers")
        for _ in range(5):
            begin = time.monotonic()
            assert small.service.is_ready()
            assert time.monotonic() - begin < PATIENCE
    small.shop.close()


# The order of eviction

def test_the_order_of_eviction(new_service):
    small = Small(new_service)
    with ExitStack() as stack:
        def come(first=b""):
            connection = stack.enter_context(closing(connect(small.service.http)))
            if first:
                connection.sendall(first)
            return connection

        def idle():
            connection = come(UNKEYED)
            assert receive_answer(connection)[0].status == 401
            return connection

        idlers = [idle() for _ in range(small.places - 4)]
        silent, half = come(), come(b"GET /")
        again = idle()
        again.sendall(b"GET /")
        lately = idlers.pop(0)
        lately.sendall(UNKEYED)  # the oldest connection, but the last one to become idle
        assert receive_answer(lately)[0].status == 401
        time.sleep(0.4)  # longer than a new connection is protected
        wait_for(lambda: look(small.service).get("stampede_http_connections") == small.places - 1, 5, "all connections")
        order = [None, silent, half, again, *idlers[:20]]
        newcomers = []
        for goes in order:
            newcomers.append(idle())
            if goes:
                wait_for(lambda: has_ended(goes), 5, "the next eviction")
        for stays in (lately, *idlers[20:], *newcomers):
            assert not has_ended(stays)
        wait_for(lambda: small.evicted() == {"head": 3, "idle": 20}, 5, lambda: small.evicted())
        numbers = look(small.service)
        assert numbers.get("stampede_http_connections") == numbers.get("stampede_http_connections_idle") == small.places
    small.shop.close()


def test_no_eviction_while_a_thread_has_room(new_service):
    small = Small(new_service, threads=3)
    with ExitStack() as stack:
        crowd = [stack.enter_context(closing(connect(small.service.http))) for _ in range(small.places)]
        for connection in crowd:
            connection.sendall(UNKEYED)
            assert receive_answer(connection)[0].status == 401
        wait_for(lambda: look(small.service).get("stampede_http_connections_idle") == small.places, 5,
                 lambda: f"all to be idle: {small.evicted()}")
        assert small.evicted() == {}
        assert small.be_served() < PATIENCE
        assert sum(has_ended(connection) for connection in crowd) == 1 == small.evicted()["idle"]
    small.shop.close()


def test_a_connection_whose_request_has_arrived_is_not_evicted(new_service):
    """While http is stopped, the longest idle connections send their next request and new connections arrive. All
    requests must be answered, in whatever order http sees them."""
    small = Small(new_service)
    service, http = small.service, small.service.pid_of("http")
    with ExitStack() as stack:
        def idle():
            connection = stack.enter_context(closing(connect(service.http)))
            connection.sendall(UNKEYED)
            assert receive_answer(connection)[0].status == 401
            return connection

        crowd = [idle() for _ in range(small.places)]
        for _ in range(5):
            asking, crowd = crowd[:10], crowd[10:]
            os.kill(http, signal.SIGSTOP)
            wait_for(lambda: all(") T " in task.read_text() for task in Path(f"/proc/{http}/task").glob("*/stat")), 5, "the stop")
            newcomers = [stack.enter_context(closing(connect(service.http))) for _ in range(20)]
            for connection in [*asking, *newcomers]:
                connection.sendall(UNKEYED)
            os.kill(http, signal.SIGCONT)
            for connection in [*asking, *newcomers]:
                assert receive_answer(connection)[0].status == 401
            crowd = crowd[20:] + asking + newcomers
    small.shop.close()


def accepted(port):
    """The number of connections to the port that its owner has accepted and not closed: they have an inode.

    While other connections come and go, the kernel may show one twice, or leave one out."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return len({row[9] for row in rows if int(row[1].rpartition(":")[2], 16) == port and row[3] != LISTENS} - {"0"})


@pytest.mark.parametrize("threads", [1, 3])
def test_a_connection_with_an_outstanding_request_is_not_evicted(new_service, threads):
    """The shard is stopped and requests fill all slots. New connections wait in the accept queue, http does not spin,
    and all requests are answered in the end."""
    small = Small(new_service, threads=threads)
    service, http = small.service, small.service.pid_of("http")
    shard = service.signal("shard", 0, signal.SIGSTOP)

    def places_taken():
        return accepted(service.http[1])

    with ExitStack() as stack:
        idle = [stack.enter_context(closing(connect(service.http))) for _ in range(20)]
        for connection in idle:
            connection.sendall(UNKEYED)
            assert receive_answer(connection)[0].status == 401
        busy = []
        for _ in range(small.places + 30):
            busy.append(stack.enter_context(closing(connect(service.http))))
            busy[-1].sendall(small.get("Connection: close"))  # sent at once, since silent connections could be evicted after 250 ms
        wait_for(lambda: places_taken() == small.places and all(has_ended(connection) for connection in idle), 3, "all slots to be taken")
        with Rest(http, 0.5):
            pass
        wait_for(lambda: places_taken() == small.places, 1, "all slots to be still taken")
        os.kill(shard, signal.SIGCONT)
        for connection in busy:
            assert receive_answer(connection)[0].status == 200
            assert receive_all(connection) == b""
    wait_for(lambda: look(service).get("stampede_http_connections") == 0, 5, "all connections to be closed")
    assert set(small.evicted()) <= {"idle", "linger"}  # and answered connections whose clients do not close
    small.shop.close()


# Descriptors

def test_the_least_descriptors_suffice(new_service):
    """Each thread of http has a session of six descriptors with each shard; connections have half of the rest."""
    service = new_service(start=False, shards=8, http_threads=8)
    service.start(command=limited(service, 256 + 8 * 8 * 6))
    others = len(os.listdir(f"/proc/{service.pid_of('http')}/fd"))
    places = look(service).get("stampede_http_connections_limit")
    assert places == 256 / 2 and 8 * 8 * 6 <= others <= 256 + 8 * 8 * 6 - places


@pytest.mark.parametrize("are_busy", [False, True])
def test_without_descriptors_connections_are_evicted_and_http_does_not_spin(own, are_busy):
    """There are more slots than descriptors. If every connection has an outstanding request, none is evicted and http
    stops accepting."""
    service, pass_id = own.service, own.create()["id"]
    pid = service.pid_of("http")
    service.expect_log("level=warn .*descriptors_exhausted")
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    own.client.close()
    wait_for(lambda: look(service).get("stampede_http_connections") == 0, 5, "all other connections to be closed")
    ask = f"GET {path_of(pass_id)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {own.key}\r\n\r\n".encode()

    used = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))
    shard = service.signal("shard", 0, signal.SIGSTOP) if are_busy else None
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 10, before[1]))
    with ExitStack() as stack:
        crowd = []
        for _ in range(40):
            crowd.append(stack.enter_context(closing(connect(service.http))))
            if are_busy:
                crowd[-1].sendall(ask)
        wait_for(lambda: "descriptors_exhausted" in service.log_path.read_text(), 5, "descriptors to run out")
        with Rest(pid, 1) as rest:
            if not are_busy:
                with closing(connect(service.http)) as honest:
                    honest.sendall(ask)
                    assert receive_answer(honest)[0].status == 200
                assert time.monotonic() - rest.begin < PATIENCE
        assert service.log_path.read_text().count("descriptors_exhausted") == 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        if are_busy:
            os.kill(shard, signal.SIGCONT)
            assert [receive_answer(connection)[0].status for connection in crowd] == [200] * 40
            assert look(service).sum("stampede_http_connections_evicted_total") == 0
        else:
            assert look(service).get("stampede_http_connections_evicted_total", during="head") >= 30


# Connections per address

@pytest.mark.parametrize("is_encrypted, threads", [(False, 1), (False, 3), (True, 3)])
def test_the_limit_of_an_address(new_service, certificate, is_encrypted, threads):
    small = Small(new_service, certificate if is_encrypted else None, threads, 1024, ["--connections-per-address", "6"])
    service = small.service

    def refused():
        return look(service).get("stampede_http_connections_refused_total")

    def is_let_in(source="127.0.0.1"):
        try:
            with closing(small.connect(source)) as connection:
                return small.ask(connection) == 200
        except (ConnectionError, ssl.SSLEOFError):
            return False

    assert refused() == 0
    with ExitStack() as stack:
        held = [stack.enter_context(closing(small.connect("127.0.0.1"))) for _ in range(6)]
        assert [small.ask(connection) for connection in held] == [200] * 6
        for count in range(1, 20):
            with pytest.raises(ConnectionResetError):
                with closing(socket.create_connection(service.http, 10 * PATIENCE, source_address=("127.0.0.1", 0))) as one_more:
                    one_more.sendall(small.get())
                    assert one_more.recv(1), "closed without a reset"
            wait_for(lambda: refused() == count, 5, "the refused connection to be counted")
        assert all(is_let_in("127.0.0.2") for _ in range(3)), "another address has its own limit"
        assert service.is_ready(), "the admin listener has no such limit"
        assert [small.ask(connection) for connection in held] == [200] * 6
        held[0].close()
        wait_for(is_let_in, 5, "the slot of the closed connection")
        wait_for(lambda: look(service).get("stampede_http_connections") == 5, 5, "five")
        assert is_let_in()
    wait_for(lambda: look(service).get("stampede_http_connections") == 0, 5, "all connections to be closed")
    assert all(is_let_in() for _ in range(10))
    small.shop.close()


def test_by_default_an_address_has_no_limit(own):
    with ExitStack() as stack:
        crowd = [stack.enter_context(closing(connect(own.service.http))) for _ in range(200)]
        for connection in crowd:
            connection.sendall(UNKEYED)
        assert [receive_answer(connection)[0].status for connection in crowd] == [401] * 200
        assert look(own.service).get("stampede_http_connections_refused_total") == 0


# Idle timeout

@pytest.mark.parametrize("is_encrypted", [False, True])
def test_idle_connections_are_closed(new_service, certificate, is_encrypted):
    small = Small(new_service, certificate if is_encrypted else None, options=["--keep-alive", "2s"])
    with ExitStack() as stack:
        idle, busy = (stack.enter_context(closing(small.connect())) for _ in range(2))
        admin = stack.enter_context(closing(connect(small.service.admin_address)))
        admin.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert receive_answer(admin)[0].status == 200 == small.ask(idle) == small.ask(busy)
        begin = time.monotonic()
        idle.settimeout(0.5)
        while True:
            assert small.ask(busy) == 200
            try:
                assert idle.recv(1) == b"", "closed without an answer"
                break
            except TimeoutError:
                assert time.monotonic() - begin < 3 * PATIENCE
        assert time.monotonic() - begin > 1.8
        assert admin.recv(1) == b""
        assert small.ask(busy) == 200
    numbers = look(small.service)
    assert numbers.get("stampede_http_connections_closed_total", during="idle") >= 2
    small.shop.close()


@pytest.mark.parametrize("option, value, want", [
    ("--keep-alive", "0", "a duration from 1s to 3600s"), ("--keep-alive", "2", "a duration from 1s"),
    ("--memory", "1024", "a whole number, 67108864 or more"), ("--memory", "1G", "a whole number, 67108864"),
    ("--keep-alive", "2h", "a duration from 1s"), ("--connections-per-address", "x", "a whole number from 0")])
def test_invalid_options(new_service, option, value, want):
    service = new_service(start=False)
    refusal = service.run("serve", option, value)
    assert refusal.returncode == 2 and f"{option}: wants {want}" in refusal.stderr
