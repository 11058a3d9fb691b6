"""Clients that disconnect, or are disconnected, with unanswered requests: their remaining requests are not executed."""
import socket
import struct
from contextlib import ExitStack, closing

import pytest
from harness import wait_for
from metrics import look, told_of
from raw import connect
from shop import clear_and_encrypted, encrypt


def head(shop, line):
    return f"{line}\r\nHost: x\r\nAuthorization: Bearer {shop.key}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def shops(module_services, certificate):
    """One shop without TLS and one with, both with a large list."""
    made = clear_and_encrypted(module_services, certificate)
    for shop in made.values():
        for _ in range(8):
            shop.create(hidden={"x": "y" * 800_000})
    yield made
    for shop in made.values():
        shop.close()


def lists(shop):
    return look(shop.service).sum("stampede_http_requests_total", route="PASS_LIST")


def await_its_end(shop):
    """Waits until only the admin connection is left and no answer bytes are held."""
    shop.client.close()
    wait_for(lambda: look(shop.service).get("stampede_http_connections") == 0, 5, "the connection to be closed")
    assert look(shop.service).get("stampede_http_answer_bytes") == 0


@pytest.mark.plain
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("kind", ["clear", "TLS"])
def test_requests_of_a_client_that_disconnected_are_not_executed(shops, kind, reset):
    shop = shops[kind]
    before = lists(shop)
    connection = encrypt(shop, connect(shop.service.http))
    connection.sendall(head(shop, "GET /v1/passes?limit=1 HTTP/1.1") * 2000)
    wait_for(lambda: lists(shop) > before, 5, "the first requests to be answered")
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    await_its_end(shop)
    assert lists(shop) - before < 20


@pytest.mark.plain
def test_requests_of_a_client_closed_for_not_reading_are_not_executed(shops):
    before = {kind: lists(shop) for kind, shop in shops.items()}
    with ExitStack() as stack:
        for shop in shops.values():
            plain = stack.enter_context(closing(connect(shop.service.http)))
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf = stack.enter_context(closing(encrypt(shop, plain)))
            deaf.sendall(head(shop, "GET /v1/passes?limit=8 HTTP/1.1") * 100)
        for kind, shop in shops.items():
            wait_for(lambda: look(shop.service).get("stampede_http_connections_closed_total", during="answer") > 0,
                     30, lambda: f"the connection that does not read to be closed, {kind}:\n{told_of(shop.service)}")
            await_its_end(shop)
            assert lists(shop) - before[kind] < 20
