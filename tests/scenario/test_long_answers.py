"""Answers of megabytes: they arrive whole and in order, with and without TLS, and neither a client
that reads slowly nor a stop cuts them or delays others."""
import json
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from harness import wait_for
from metrics import look
from raw import connect, receive_all, receive_answer, take_answers
from shop import Shop, clear_and_encrypted, encrypt

PASSES, HIDDEN = 8, 800_000
PAUSE_SECONDS = 0.9
LIST = f"/v1/passes?limit={PASSES}"


def fill(shop):
    for number in range(PASSES):
        shop.create(f"p{number}", hidden={"x": "y" * HIDDEN})


@pytest.fixture(scope="module")
def shops(module_services, certificate):
    made = clear_and_encrypted(module_services, certificate)
    for shop in made.values():
        fill(shop)
    yield made
    for shop in made.values():
        shop.close()


@pytest.fixture(params=["clear", "TLS"])
def shop(shops, request):
    return shops[request.param]


def head(shop, target, method="GET", more=""):
    return f"{method} {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shop.key}\r\n{more}\r\n".encode()


def opened(shop):
    return encrypt(shop, connect(shop.service.http, 30))


def expect_list(answer):
    assert answer.status == 200
    listed = json.loads(answer.body)
    assert sorted(one["id"] for one in listed) == [f"p{number}" for number in range(PASSES)]
    assert all(one["hidden"]["x"] == "y" * HIDDEN for one in listed)


def test_long_and_short_answers_follow_one_another_on_a_connection(shop):
    with closing(opened(shop)) as connection:
        connection.sendall(head(shop, LIST) + head(shop, "/v1/passes/p1") + head(shop, "/v1/passes/none") + head(shop, LIST))
        rest, answers = b"", []
        for _ in range(4):
            answer, rest = receive_answer(connection, rest)
            answers.append(answer)
        assert rest == b""
    expect_list(answers[0])
    assert json.loads(answers[1].body)["id"] == "p1" and answers[2].status == 404
    expect_list(answers[3])


def test_the_last_answer_of_a_connection_is_whole(shop):
    with closing(opened(shop)) as connection:
        connection.sendall(head(shop, LIST, more="Connection: close\r\n"))
        (answer,) = take_answers(receive_all(connection))
    expect_list(answer)


def test_many_at_once_are_whole(shop):
    def ask(_):
        with closing(opened(shop)) as connection:
            connection.sendall(head(shop, LIST))
            return receive_answer(connection)[0]

    with ThreadPoolExecutor(6) as pool:
        for answer in pool.map(ask, range(12)):
            expect_list(answer)


def test_a_client_that_does_not_read_delays_no_other(shop):
    with closing(socket.create_connection(shop.service.http, 30)) as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        deaf = encrypt(shop, plain)
        before = look(shop.service).sum("stampede_http_requests_total", route="PASS_LIST")
        deaf.sendall(head(shop, LIST))
        wait_for(lambda: look(shop.service).sum("stampede_http_requests_total", route="PASS_LIST") > before, 10,
                 "the list to be answered")
        assert shop.get("p1")["id"] == "p1"
        with closing(opened(shop)) as other:
            other.sendall(head(shop, LIST))
            expect_list(receive_answer(other)[0])
        answer, rest = receive_answer(deaf)
        expect_list(answer)
        assert rest == b""
        deaf.close()


def test_a_pause_of_the_http_process_delays_a_list(new_service):
    """Few parts are on their way, so a reader waits for the process to go on."""
    service = new_service(shards=1)
    shop = Shop(service, ("balance",))
    fill(shop)
    pid = service.pid_of("http")
    with closing(connect(service.http, 30)) as connection:
        for _ in range(3):
            connection.sendall(head(shop, LIST) * 3)
            time.sleep(0.002)  # a different place each time; any is right
            os.kill(pid, signal.SIGSTOP)
            time.sleep(PAUSE_SECONDS)
            os.kill(pid, signal.SIGCONT)
            rest = b""
            for _ in range(3):
                answer, rest = receive_answer(connection, rest)
                expect_list(answer)
    shop.close()


def test_a_stop_finishes_what_is_being_sent(new_service):
    service = new_service(shards=1)
    shop = Shop(service, ("balance",))
    fill(shop)
    with closing(socket.create_connection(service.http, 30)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        before = look(service).sum("stampede_http_requests_total", route="PASS_LIST")
        slow.sendall(head(shop, LIST))
        wait_for(lambda: look(service).sum("stampede_http_requests_total", route="PASS_LIST") > before, 10,
                 "the list to be answered")
        with ThreadPoolExecutor(1) as pool:
            stopped = pool.submit(service.stop)
            (answer,) = take_answers(receive_all(slow))
            stopped.result()
    expect_list(answer)
    shop.close()
