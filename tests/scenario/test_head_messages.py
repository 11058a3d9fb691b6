"""Messages for invalid request heads, keys, body sizes and chunks. A row has the bytes of a request (KEY and PASS are
filled in) and words that the message must contain. Status and code follow from the cause."""
import json
import re

import pytest

from raw import take_answers, talk
from shop import Shop, path_of

GET = "GET /v1/passes?limit=1 HTTP/1.1\r\n"
HOST = "Host: shop.example\r\n"
AUTH = "Authorization: Bearer KEY\r\n"
POST = "POST PASS/loyalty HTTP/1.1\r\n" + HOST + AUTH + "Content-Type: application/json\r\n"
CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n"
SENTENCE = re.compile(r"[A-Z`][^\n]{10,400}\.")


def get(extra="", line=GET, host=HOST, auth=AUTH):
    return line + host + auth + extra + "\r\n"


HEADS = [
    (get(line="GET /v1/passes HTTP/1.1\n"), "line feed", "offset 23"), (get("X: a\rb\r\n"), "carriage return"),
    (get("X: a\x00b\r\n"), "control character", "byte 0"), ("\x16\x03\x01\x02\x00\x01", "TLS", "http://"),
    (get(line="\r\n\r\n" + GET), "empty line"), (get(line="GET /v1/passes\r\n"), "a method, a target and a version"),
    (get(line="GET /v1/passes?q=two words HTTP/1.1\r\n"), "one space between"), (get(line="G(T / HTTP/1.1\r\n"), "method"),
    (get(line="GET / HTTP/2.0\r\n"), "HTTP/1.1 or HTTP/1.0"), (get(line="GET v1/passes HTTP/1.1\r\n"), "begins with /"),
    (get(line="OPTIONS * HTTP/1.1\r\n"), "begins with /"), (get(line="GET http://me:pw@x/ HTTP/1.1\r\n"), "password"),
    (get(line="GET /\t HTTP/1.1\r\n"), "%09"), (get("X: y\r\n folded\r\n"), "Header 4", "blank"),
    (get("X y\r\n"), "Header 3", "no colon"), (get(": y\r\n"), "Header 3", "no name"), (get("X-Till : 1\r\n"), "`X-Till `", "colon"),
    (get("X@y: z\r\n"), "`X@y`", "letters"), (get("Xé: z\r\n"), "`Xé`"), (get(host=""), "Host is missing"),
    (get(host=HOST * 2), "Host is given more than once"), (get(host="Host: a, b\r\n"), "Host must be"),
    (get("Content-Length: 5, 5\r\n"), "Content-Length must be a number"), (get("Content-Length: +5\r\n"), "digits"),
    (get("Content-Length: 5\r\nContent-Length: 5\r\n"), "Content-Length is given more than once"),
    (get("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), "both Content-Length and Transfer-Encoding"),
    (get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "Transfer-Encoding is given more than once"),
    (get("Transfer-Encoding: gzip, chunked\r\n"), "must be chunked"),
    (get("Transfer-Encoding: chunked\r\n", line="GET / HTTP/1.0\r\n"), "HTTP/1.0 cannot"),
    (get("Expect: 200-ok\r\n"), "100-continue"), (get("Expect: 100-continue\r\nExpect: 100-continue\r\n"), "Expect is given"),
    (CHUNKED + "x\r\n", "size", "hexadecimal"), (CHUNKED + "1" * 16 + "\r\n", "more than 15 digits"),
    (CHUNKED + "1\r\nab\r\n", "its size may be wrong"), (CHUNKED + "1;" + "x" * 300 + "\r\n", "256 bytes"),
    (CHUNKED + "1\n", "does not end with"), (CHUNKED + "1;\x01\r\n", "control character"),
    (CHUNKED + "0\r\nX y: z\r\n\r\n", "trailer"), (CHUNKED + "0\r\n" + "X: yyyyyyyyyy\r\n" * 400 + "\r\n", "4096 bytes"),
]
LARGE = [
    (get(line=f"GET /{'a' * 9000} HTTP/1.1\r\n"), 414, "URI_TOO_LONG", "8192 bytes"),
    (get(f"X: {'a' * 17000}\r\n"), 431, "HEAD_TOO_LARGE", "16384 bytes"),
    (get("X: y\r\n" * 120), 431, "HEAD_TOO_LARGE", "100 headers"),
    (POST + "Content-Length: 17000000\r\n\r\n", 413, "PAYLOAD_TOO_LARGE", "The body", "16777216 bytes"),
]
KEYS = [
    (get(auth=""), "no header Authorization", "Bearer"), (get(auth=AUTH * 2), "more than once"),
    (get(auth="Authorization: KEY\r\n"), "the word Bearer"), (get(auth="Authorization: Basic a2V5\r\n"), "the word Bearer"),
    (get(auth="Authorization: Bearer sk_short\r\n"), "no API key", "sk_", "72 bytes"),
    (get(auth=AUTH.replace("KEY", "KEYx")), "no API key"),
    (POST.replace(AUTH, "") + "Content-Length: 500\r\n\r\n", "no header Authorization"),
]


@pytest.fixture(scope="module")
def shop(shared_service):
    shop = Shop(shared_service, ("balance",))
    yield shop
    shop.close()


@pytest.fixture(scope="module")
def card(shop):
    return shop.create()["id"]


def told(shop, card, text, status, code, words):
    data = text.replace("KEY", shop.key).replace("PASS", path_of(card)).encode()
    answer, = take_answers(talk(shop.service.http, [data]))
    error = json.loads(answer.body)
    assert (answer.status, error["code"]) == (status, code), answer
    assert SENTENCE.fullmatch(error["message"]) and "field" not in error, answer
    for word in words:
        assert word in error["message"], answer
    return error["message"]


@pytest.mark.parametrize("row", HEADS, ids=lambda row: row[1] if row else "")
def test_invalid_heads_and_chunks(shop, service, card, row):
    text, *words = row
    told(shop, card, text, 400, "INVALID_REQUEST", words)


@pytest.mark.parametrize("row", LARGE, ids=lambda row: row[2] if row else "")
def test_exceeded_limits(shop, service, card, row):
    text, status, code, *words = row
    told(shop, card, text, status, code, words)


@pytest.mark.parametrize("row", KEYS, ids=lambda row: row[1] if row else "")
def test_no_key(shop, service, card, row):
    text, *words = row
    told(shop, card, text, 401, "UNAUTHENTICATED", words)


def test_wrong_keys_get_the_same_message(shop, service, card):
    """The message is the same for an existing account, an unknown one, and a secret of another account."""
    other, last = shop.key[:3] + shop.key[3:19][::-1] + shop.key[19:], "a" if shop.key[-1] != "a" else "b"
    told_of = {told(shop, card, get(auth=f"Authorization: Bearer {key}\r\n"), 401, "UNAUTHENTICATED", ["unknown", "revoked"])
               for key in (other, shop.key[:-1] + last)}
    assert len(told_of) == 1


def test_messages_are_distinct(shop, service, card):
    sentences = [told(shop, card, text, 400, "INVALID_REQUEST", []) for text, *_ in HEADS]
    assert len(set(sentences)) >= 35, sorted(sentences)


def test_too_large_bodies_and_passes_have_distinct_messages(new_service):
    """The operator's limit on bodies, and the size limit of a pass."""
    shop = Shop(new_service(shards=1, options=["--max-body", "3000000"]), ("balance",))
    big = {"pass_id": "big", "visible": {"name": "a"}, "hidden": {"a": "x" * (1100 << 10)}}
    messages = []
    for _ in range(3):
        messages.append(shop.client.post("/v1/passes", big).is_error(413, "PAYLOAD_TOO_LARGE")["message"])
        big["hidden"]["a"] *= 2
    shop.close()
    stored, larger, beyond = messages
    assert "as it is stored" in stored and "1048576 bytes" in stored
    assert "any pass" in larger and "1048576 bytes" in larger
    assert "this service takes" in beyond and "3000000 bytes" in beyond
