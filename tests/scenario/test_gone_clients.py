"""Clients that go away, or are sent away, with requests of theirs unanswered: nothing is done any more for who is gone."""
import socket
import ssl
import struct
from contextlib import ExitStack, closing

import pytest
from harness import wait_for
from metrics import look, told_of
from raw import connect
from shop import Shop


def head(shop, line):
    return f"{line}\r\nHost: x\r\nAuthorization: Bearer {shop.key}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def shops(module_services, certificate):
    """One in clear and one with TLS, both with a list that is large."""
    cert, key = certificate
    encrypted = Shop(module_services(shards=1, options=["--tls-cert", str(cert), "--tls-key", str(key)]), ("balance",))
    encrypted.client.tls = ssl.create_default_context(cafile=cert)
    made = {"clear": Shop(module_services(shards=1), ("balance",)), "TLS": encrypted}
    for shop in made.values():
        for _ in range(8):
            shop.create(hidden={"x": "y" * 800_000})
    yield made
    for shop in made.values():
        shop.close()


def opened(shop, plain):
    return shop.client.tls.wrap_socket(plain, server_hostname="127.0.0.1") if shop.client.tls else plain


def lists(shop):
    return look(shop.service).sum("stampede_http_requests_total", route="PASS_LIST")


def await_its_end(shop):
    """Nobody but the operator is connected then, and nothing is held."""
    shop.client.close()
    wait_for(lambda: look(shop.service).get("stampede_http_connections") == 0, 5, "the connection to be closed")
    assert look(shop.service).get("stampede_http_answer_bytes") == 0


@pytest.mark.plain
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("kind", ["clear", "TLS"])
def test_what_a_client_left_behind_is_not_begun(shops, kind, reset):
    shop = shops[kind]
    before = lists(shop)
    connection = opened(shop, connect(shop.service.http))
    connection.sendall(head(shop, "GET /v1/passes?limit=1 HTTP/1.1") * 2000)
    wait_for(lambda: lists(shop) > before, 5, "the first of them to be answered")
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    await_its_end(shop)
    assert lists(shop) - before < 20


@pytest.mark.plain
def test_whoever_is_sent_away_for_not_reading_is_not_served_on(shops):
    before = {kind: lists(shop) for kind, shop in shops.items()}
    with ExitStack() as stack:
        for shop in shops.values():
            plain = stack.enter_context(closing(connect(shop.service.http)))
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf = stack.enter_context(closing(opened(shop, plain)))
            deaf.sendall(head(shop, "GET /v1/passes?limit=8 HTTP/1.1") * 100)
        for kind, shop in shops.items():
            wait_for(lambda: look(shop.service).get("stampede_http_connections_closed_total", during="answer") > 0,
                     30, lambda: f"who does not read to be closed, {kind}:\n{told_of(shop.service)}")
            await_its_end(shop)
            assert lists(shop) - before[kind] < 20
