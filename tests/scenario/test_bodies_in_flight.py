"""Limits on the memory that incoming bodies hold: which requests are refused at the limit, and which are always
accepted."""
import json
import os
import re
import resource
import select
import selectors
import signal
import socket
import subprocess
import threading
import time
from base64 import b32encode
from contextlib import ExitStack, closing

import pytest
from harness import wait_for
from metrics import look
from patience import PATIENCE
from raw import connect, receive_all, receive_answer, take_answers
from shop import Shop, path_of

MIB = 1 << 20
BODIES = 128 * MIB
SMALL, STRANGERS = 65_000, 1500  # bytes of a body that no other bodies of customers refuse; more than fit into half of BODIES
JSON = "Content-Type: application/json"


def key_of_nobody(number):
    """A well-formed key of an account that does not exist."""
    return f"sk_{b32encode(number.to_bytes(10, 'big')).decode().lower()}_{'a' * 52}"


def head(key, line, *fields):
    given = [f"Authorization: Bearer {key}"] if key else []
    return "\r\n".join([line, "Host: x", *given, JSON, *fields, "", ""]).encode()


def held(service):
    return look(service).get("stampede_http_body_bytes")


def is_readable(connection):
    poll = select.poll()  # for any number of descriptors
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def part_of_a_body(stack, shop, key, size):
    """Sends the first `size` bytes of a 16 MiB body. Returns the answer if it is refused, or None if the service holds
    the bytes."""
    before = held(shop.service)
    connection = stack.enter_context(closing(connect(shop.service.http)))
    connection.sendall(head(key, "POST /v1/passes HTTP/1.1", f"Content-Length: {16 * MIB}"))
    connection.sendall(b" " * size)
    connection.settimeout(0.02)
    answers = []

    def decided():
        try:
            answers.append(receive_answer(connection)[0])
        except TimeoutError:
            pass
        return answers or held(shop.service) >= before + size

    wait_for(decided, 10, "the body to be held or refused")
    return answers[0] if answers else None


def is_served_in_two_parts(shop, pass_id, size=0):
    """Sends the body after a 100 Continue. Returns the status of the answer."""
    body = json.dumps({"balance_to_add": 1}).encode().ljust(size)
    with closing(connect(shop.service.http)) as connection:
        connection.sendall(head(shop.key, f"POST {path_of(pass_id, '/loyalty')} HTTP/1.1",
                                f"Content-Length: {len(body)}", "Expect: 100-continue"))
        assert receive_answer(connection)[0].status == 100
        connection.sendall(body)
        return receive_answer(connection)[0].status


@pytest.mark.parametrize("line, key, status", [
    ("POST /v1/passes", None, 401), ("POST /v1/passes", "sk_x", 401), ("PUT /v1/nothing", None, 401),
    ("POST /nowhere", None, 404), ("POST /nowhere", key_of_nobody(1), 404)])
@pytest.mark.parametrize("fields", [[f"Content-Length: {16 * MIB}"], ["Transfer-Encoding: chunked"],
                                    ["Content-Length: 2", "Expect: 100-continue"]], ids=lambda fields: fields[-1])
def test_a_request_without_a_valid_key_is_refused_before_its_body(service, line, key, status, fields):
    with closing(connect(service.http)) as connection:
        connection.sendall(head(key, line + " HTTP/1.1", *fields))
        answer, rest = receive_answer(connection)
        answer.check_form()
        assert (answer.status, answer.headers["connection"], rest) == (status, "close", b"")
        connection.shutdown(socket.SHUT_WR)
        assert receive_all(connection) == b""


def test_a_well_formed_key_is_recognized_in_any_spelling(service):
    """A body is read when the key has the right form. Case and white space of the header do not matter."""
    with closing(connect(service.http)) as connection:
        line = b"POST /v1/passes?x=/v2 HTTP/1.1\r\nHost: x\r\naUTHORIZATION:\tbearer  " + key_of_nobody(1).encode()
        connection.sendall(line + b" \r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert receive_answer(connection)[0].status == 100
        connection.sendall(b"{}")
        assert receive_answer(connection)[0].status == 401


@pytest.fixture
def keys(own):
    """Those of twelve accounts, each of which has been valid once."""
    shops = [Shop(own.service, ()) for _ in range(12)]
    for shop in shops:
        assert shop.client.get("/v1/passes").status == 200
        shop.close()
    return [shop.key for shop in shops]


def first_refused(stack, own):
    """Strangers send bodies without their last byte until one is refused. Returns its answer, or None if the first ones
    were closed meanwhile, for being slow themselves."""
    kept = stack.enter_context(ExitStack())
    large = [part_of_a_body(kept, own, key_of_nobody(number), 15 * MIB) for number in range(4)]
    assert large == [None] * 4
    for number in range(4, STRANGERS):
        connection = kept.enter_context(closing(connect(own.service.http)))
        connection.sendall(head(key_of_nobody(number), "POST /v1/passes HTTP/1.1", f"Content-Length: {SMALL}"))
        connection.sendall(b" " * (SMALL - 1))
        if is_readable(connection):
            return receive_answer(connection)[0]
    kept.close()
    wait_for(lambda: held(own.service) == 0, 5, "the bodies to be forgotten")
    return None


@pytest.mark.plain
def test_small_bodies_of_strangers_have_a_limit(own):
    """No body of a customer is refused that is small. Invented keys need only connections for as many as they like."""
    service, pass_id = own.service, own.create()["id"]
    before = service.peak_memory("http")
    with ExitStack() as stack:
        open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, open_files)
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files[1], open_files[1]))
        refused = first_refused(stack, own) or first_refused(stack, own)
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert held(service) <= BODIES + MIB
        assert service.peak_memory("http") - before < 2 * BODIES
        assert is_served_in_two_parts(own, pass_id) == 202
    wait_for(lambda: held(service) == 0, 5, "the bodies to be forgotten")


@pytest.mark.plain
@pytest.mark.parametrize("limit", [BODIES, BODIES // 2], ids=["customers", "strangers"])
def test_incoming_bodies_share_a_limit(own, keys, limit):
    """Twelve clients of different accounts send 15 MB of a body of 16 MB and stop. Those beyond the common limit get
    503 at once. Keys that have never been valid have half of it."""
    service, pass_id = own.service, own.create()["id"]
    if limit < BODIES:
        keys = [key_of_nobody(number) for number in range(12)]
    size = 16 * MIB
    part = b" " * MIB
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        starts, sent, refused = {}, {}, 0
        for key in keys:
            connection = stack.enter_context(closing(connect(service.http)))
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_WRITE | selectors.EVENT_READ)
            starts[connection] = head(key, "POST /v1/passes HTTP/1.1", f"Content-Length: {size}")
            sent[connection] = -len(starts[connection])
        end = time.monotonic() + 30 * PATIENCE
        while selector.get_map():
            assert time.monotonic() < end
            for key, events in selector.select(1):
                connection = key.fileobj
                if events & selectors.EVENT_READ:
                    selector.unregister(connection)
                    connection.settimeout(5 * PATIENCE)
                    connection.shutdown(socket.SHUT_WR)
                    answers = take_answers(receive_all(connection))
                    assert [answer.status for answer in answers] == [503], answers
                    answers[0].check_form()
                    assert answers[0].headers["retry-after"] == "1"
                    refused += 1
                elif sent[connection] < 0:
                    sent[connection] += connection.send(starts[connection][sent[connection]:])
                elif sent[connection] < size - MIB:
                    sent[connection] += connection.send(part)
                else:
                    selector.modify(connection, selectors.EVENT_READ)
            stalled = [key for key in selector.get_map().values() if key.events == selectors.EVENT_READ]
            if len(stalled) == len(selector.get_map()):
                break
        assert refused >= 4 and len(stalled) >= limit // (32 * MIB)
        assert 0 < held(service) <= limit
        assert service.peak_memory("http") < limit + 128 * MIB
        own.add(pass_id, 1)
        if limit < BODIES:
            assert is_served_in_two_parts(own, pass_id, 15 * MIB) == 202, "a customer has the other half"
    wait_for(lambda: held(service) == 0, 5, "the memory of the bodies to be released")
    body = json.dumps({"pass_id": "big", "visible": {"name": "A"}}).encode()
    assert own.client.post_raw("/v1/passes", body + b" " * (size - len(body))).status == 201


@pytest.mark.plain
def test_a_small_body_is_accepted_at_the_limit(own, keys):
    pass_id = own.create()["id"]
    with ExitStack() as stack:
        refused = [part_of_a_body(stack, own, key, 15 * MIB) for key in keys[:9]]
        assert refused[:7] == [None] * 7 and [answer.status for answer in refused[8:]] == [503]
        for size in (0, 20_000, 65_536):
            assert is_served_in_two_parts(own, pass_id, size) == 202
        assert held(own.service) <= BODIES
    wait_for(lambda: held(own.service) == 0, 5, "the memory of the bodies to be released")
    assert own.get(pass_id)["balance"] == 3


@pytest.mark.plain
def test_one_accounts_bodies_have_a_lower_limit(own):
    other = Shop(own.service, ("balance",))
    pass_id = other.create()["id"]
    with ExitStack() as stack:
        statuses = [part_of_a_body(stack, own, own.key, 15 * MIB) for _ in range(3)]
        assert statuses[:2] == [None] * 2 and statuses[2].status == 503
        assert held(own.service) <= BODIES / 4
        assert is_served_in_two_parts(other, pass_id, 15 * MIB) == 202
    wait_for(lambda: held(own.service) == 0, 5, "the memory of the bodies to be released")
    assert part_of_a_body(stack, own, own.key, 15 * MIB) is None, "the account can use its share again"
    stack.close()
    other.close()


@pytest.mark.plain
def test_a_pipelined_request_does_not_end_the_count_of_a_body(own):
    """Ten bodies of 3 MB wait for a stopped shard, each followed by part of the next request. All ten must still be
    counted."""
    size = 3 * MIB
    shard = own.service.signal("shard", 0, signal.SIGSTOP)
    try:
        with ExitStack() as stack:
            for number in range(1, 11):
                connection = stack.enter_context(closing(connect(own.service.http)))
                chunked = head(key_of_nobody(number), "POST /v1/passes HTTP/1.1", "Transfer-Encoding: chunked")
                body = b"%x\r\n" % size + b" " * size + b"\r\n0\r\n\r\n"
                connection.sendall(chunked + body + b"GET /" + b"x" * 8000 + b" HTTP/1.1\r\n" + b"X: y\r\n" * 4000)

            def numbers():
                seen = look(own.service)
                return seen if seen.sum("stampede_http_calls_waiting") >= 10 else None

            seen = wait_for(numbers, 20, "ten calls to wait for the shard")
            assert seen.get("stampede_http_body_bytes") >= 10 * size
    finally:
        os.kill(shard, signal.SIGCONT)
    wait_for(lambda: held(own.service) == 0, 10, "the memory of the bodies to be released")


@pytest.mark.plain  # the sanitizers take memory of their own
def test_the_least_memory_suffices_for_bodies_of_many_values(new_service):
    """Every thread reads one while others arrive. The start names the least memory that it accepts."""
    service = new_service(start=False, shards=1, options=["--http-threads", "8", "--memory", str(64 * MIB)])
    command = [str(word) for word in service.command()]
    done = subprocess.run(["prlimit", f"--data={64 * MIB}", *command], capture_output=True, text=True, check=False, timeout=60,
                          env=service.environment())
    needed = int(re.search(r"limit=RLIMIT_DATA needed=([0-9]+) ", done.stderr)[1])
    service.start(command=["prlimit", f"--data={needed}", *command])
    pid, shops = service.pid_of("http"), [Shop(service, ()) for _ in range(10)]
    values = ",".join(['"' + "x" * 26 + '"'] * 520_000)
    body = f'{{"pass_id":"x","hidden":{{"a":[{values}]}}}}'.encode()

    def post(shop):
        for _ in range(2):
            with closing(connect(service.http)) as connection:
                connection.settimeout(60 * PATIENCE)
                try:
                    connection.sendall(head(shop.key, "POST /v1/passes HTTP/1.1", f"Content-Length: {len(body)}") + body)
                    statuses.append(receive_answer(connection)[0].status)
                except (BrokenPipeError, ConnectionResetError):
                    statuses.append(None)  # refused while it was sent

    statuses = []
    posts = [threading.Thread(target=post, args=(shop,)) for shop in shops for _ in range(2)]
    for each in posts:
        each.start()
    for each in posts:
        each.join()
    assert len(statuses) == 2 * len(posts) and 413 in statuses and set(statuses) <= {413, 503, None}, statuses
    assert service.pid_of("http") == pid
    for shop in shops:
        shop.close()
