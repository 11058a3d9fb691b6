"""Hostile request heads as raw bytes. Each row lists the expected statuses in order. A smuggled request follows each
refused one and must not be executed. Every row is sent whole, in two pieces, and byte by byte; the answers must be the
same. Afterwards a request on a new connection succeeds, and exactly the acknowledged deltas were applied."""
import pytest
from harness import wait_for
from metrics import look
from raw import take_answers, talk
from shop import path_of

HEAD = "GET /v1/passes?limit=1 HTTP/1.1\r\n"
HOST = "Host: shop.example\r\n"
AUTH = "Authorization: Bearer KEY\r\n"
JSON = "Content-Type: application/json\r\n"
BODY = '{"balance_to_add":1}'
END = "\r\n"
PREFLIGHT = "Origin: https://shop.example\r\nAccess-Control-Request-Method: POST\r\n"
SMUGGLED = HEAD + HOST + AUTH + END


def get(extra="", line=HEAD, host=HOST):
    return line + host + AUTH + extra + END


def post(extra, body, line="POST PASS/loyalty HTTP/1.1\r\n"):
    return line + HOST + AUTH + JSON + extra + END + body


def sized(extra="", body=BODY, size=None):
    return post(f"Content-Length: {len(body) if size is None else size}\r\n" + extra, body)


def chunked(body, extra=""):
    return post("Transfer-Encoding: chunked\r\n" + extra, body)


def whole(body=BODY):
    return f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"


# Ambiguous bytes, which allow request smuggling: each is refused, and the bytes behind it are not read.

LENGTHS = ["Content-Length: 20\r\nContent-Length: 20\r\n", "Content-Length: 20\r\nContent-Length: 0\r\n",
           "Content-Length: 0\r\ncontent-length: 20\r\n", "Content-Length: 20, 20\r\n", "Content-Length: 20,0\r\n",
           "Content-Length: +20\r\n", "Content-Length: -20\r\n", "Content-Length: -0\r\n", "Content-Length: 2 0\r\n",
           "Content-Length: 0x14\r\n", "Content-Length: 20.0\r\n", "Content-Length: 2e1\r\n", "Content-Length: \r\n",
           "Content-Length:\r\n", "Content-Length: 20;\r\n", 'Content-Length: "20"\r\n', "Content-Length: ２０\r\n",
           "Content-Length: 20\x00\r\n", "Content-Length: 2\x000\r\n", "Content-Length: twenty\r\n",
           "Content-Length: 99999999999999999999\r\n", "Content-Length: 18446744073709551636\r\n",
           "Content-Length: 00000000000000000000000000000000000020\r\n", "Content-Length : 20\r\n",
           "Content-Length\t: 20\r\n", " Content-Length: 20\r\n", "\tContent-Length: 20\r\n", "Content-Length: 20\n",
           "Content-Length:\r\n 20\r\n", "Content-Length: 20\r\n 0\r\n", "Content-Length: 20\x0b\r\n",
           "Content-Length: 20\x0c\r\n", "Content-Length: 20\r\nX: y\rContent-Length: 0\r\n",
           "X: y\nContent-Length: 20\r\n", "Content-Length: 20\r\r\n"]
CODINGS = ["Transfer-Encoding: chunked\r\nContent-Length: 20\r\n", "Content-Length: 20\r\nTransfer-Encoding: chunked\r\n",
           "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
           "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n",
           "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked, gzip\r\n",
           "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: chunked,\r\n", "Transfer-Encoding: ,chunked\r\n",
           "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunkedx\r\n", "Transfer-Encoding: chunked;q=1\r\n",
           'Transfer-Encoding: "chunked"\r\n', "Transfer-Encoding:\r\n", "Transfer-Encoding: \x0bchunked\r\n",
           "Transfer-Encoding:\x00chunked\r\n", "Transfer-Encoding: chunk\r\n ed\r\n", "Transfer-Encoding:\r\n chunked\r\n",
           "Transfer-Encoding : chunked\r\n", "Transfer-Encoding\t: chunked\r\n", " Transfer-Encoding: chunked\r\n",
           "X: y\nTransfer-Encoding: chunked\r\n", "X: y\rTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n", "\x00Transfer-Encoding: chunked\r\n",
           "Transfer\x00-Encoding: chunked\r\n", "Transfer-Encoding: chunked\x7f\r\n"]
FIELDS = ["X y: z\r\n", "X\x00: z\r\n", "X: \x00\r\n", "X: a\x01b\r\n", "X: a\x08\r\n", "X: a\x1b[31m\r\n", "X: a\x7f\r\n", ": z\r\n",
          "X\r\n", "X z\r\n", "X(: z\r\n", "X): z\r\n", "X<y>: z\r\n", "X@y: z\r\n", "X,y: z\r\n", "X;y: z\r\n", "X\\: z\r\n",
          'X"y": z\r\n', "X/y: z\r\n", "[X]: z\r\n", "X?: z\r\n", "X=y: z\r\n", "{X}: z\r\n", "Xé: z\r\n", "X: y\r\n folded\r\n",
          "X: y\r\n\tfolded\r\n", "X:\r\n \r\n", "X: y\n", "X: y\n\r\n", "X: y\r", "X: y\rZ: z\r\n", "\nX: y\r\n", "\rX: y\r\n",
          "Expect: 200-ok\r\n", "Expect: 100-continue, x\r\n", "Expect: 100-continue\r\nExpect: 100-continue\r\n",
          "Expect:\r\n"]
HOSTS = ["", "Host: a\r\nHost: a\r\n", "Host: a\r\nHost: b\r\n", "Host: a\r\nhost: b\r\n", "Host : a\r\n", "Host: a b\r\n",
         "Host: a, b\r\n", "Host: a/b\r\n", "Host: a@b\r\n", "Host: a#b\r\n", "Host: a?b\r\n", "Host: a\\b\r\n", "Host: <a>\r\n",
         "Host: a\tb\r\n", "Host: é\r\n", "Host: http://a\r\n", ' Host: a\r\n', 'Host: "a"\r\n', "Host: a\x00\r\n", "Host: {a}\r\n",
         "X: y\r\n Host: a\r\n"]
LINES = ["GET /v1/passes\r\n", "GET\r\n", "GET \r\n", "GET  /v1/passes HTTP/1.1\r\n", "GET /v1/passes  HTTP/1.1\r\n",
         "GET /v1/passes HTTP/1.1 \r\n", " GET /v1/passes HTTP/1.1\r\n", "\tGET /v1/passes HTTP/1.1\r\n",
         "GET\t/v1/passes HTTP/1.1\r\n", "GET /v1/passes\tHTTP/1.1\r\n", "GET /v1/passes HTTP/1.1\n", "GET /v1/passes HTTP/1.1\r",
         "GET /v1/ passes HTTP/1.1\r\n", "GET /v1/passes HTTP/1.2\r\n", "GET /v1/passes HTTP/1.10\r\n",
         "GET /v1/passes HTTP/1\r\n", "GET /v1/passes HTTP/0.9\r\n", "GET /v1/passes HTTP/2\r\n", "GET /v1/passes HTTP/2.0\r\n",
         "GET /v1/passes HTTP/3.0\r\n", "GET /v1/passes http/1.1\r\n", "GET /v1/passes HTTP 1.1\r\n", "GET /v1/passes HTTQ/1.1\r\n",
         "GET /v1/passes /1.1\r\n", "GET /v1/passes 1.1\r\n", "GET ftp://shop.example/v1/passes HTTP/1.1\r\n",
         "GET http:///v1/passes HTTP/1.1\r\n", "GET http://me@shop.example/v1/passes HTTP/1.1\r\n",
         "GET http://me:word@shop.example/v1/passes HTTP/1.1\r\n", "GET http://a\\@b/v1/passes HTTP/1.1\r\n",
         "GET http:/shop.example/v1/passes HTTP/1.1\r\n", "GET http://:80/v1/passes HTTP/1.1\r\n",
         "GET http://a:b/v1/passes HTTP/1.1\r\n", "GET http://a#b/v1/passes HTTP/1.1\r\n", "GET http://é/v1/passes HTTP/1.1\r\n",
         "GET http://a b/v1/passes HTTP/1.1\r\n", "GET http://a\x00/v1/passes HTTP/1.1\r\n", "GET http://[::1/v1/passes HTTP/1.1\r\n",
         "GET shop.example:80/v1/passes HTTP/1.1\r\n", "GET shop.example/v1/passes HTTP/1.1\r\n",
         "GET v1/passes HTTP/1.1\r\n", "GET \\v1\\passes HTTP/1.1\r\n", "GET * HTTP/1.1\r\n", "GET ?limit=1 HTTP/1.1\r\n",
         "OPTIONS * HTTP/1.1\r\n", "CONNECT shop.example:443 HTTP/1.1\r\n", "GET /v1/\x00passes HTTP/1.1\r\n",
         "GET /v1/\x01passes HTTP/1.1\r\n", "GET /v1/\x7fpasses HTTP/1.1\r\n", "G\x00T /v1/passes HTTP/1.1\r\n",
         "G(T /v1/passes HTTP/1.1\r\n", "GÉT /v1/passes HTTP/1.1\r\n", "GET/v1/passes HTTP/1.1\r\n",
         '"GET" /v1/passes HTTP/1.1\r\n', "GET: /v1/passes HTTP/1.1\r\n", "\r\n\r\n" + HEAD, "\n" + HEAD, "\r" + HEAD,
         "\x00" + HEAD, "A" * 40 + " /v1/passes HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n", "PRI /v1/passes HTTP/2.0\r\n",
         "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "\x80\x2e\x01\x03\x01", "SSH-2.0-x\r\n", "<xml/>\r\n", "{}\r\n"]

# Invalid chunked bodies.
CHUNKS = ["zz\r\n", "g\r\n", "-14\r\n", "+14\r\n", " 14\r\n", "\t14\r\n", "0x14\r\n", "14h\r\n", "14 \r\n", "14\t\r\n", "\r\n", ";\r\n", ";x\r\n",
          "14\n", "14\r", "14\rx\n", "1_4\r\n", "1,4\r\n", "14.0\r\n", "14 ; x\r\n", "14\x00\r\n", "14;\x00\r\n", "14;x\n", "14;x\rz\r\n",
          "14;" + "x" * 300 + "\r\n", "1" * 16 + "\r\n", "f" * 17 + "\r\n", "0" * 40 + "14\r\n", "ffffffffffffffff\r\n",
          "10000000000000014\r\n", "'14'\r\n", '"14"\r\n', "１４\r\n"]
CHUNK_ENDS = [f"14\r\n{BODY}0\r\n\r\n", f"14\r\n{BODY}\n0\r\n\r\n", f"14\r\n{BODY}\r0\r\n\r\n", f"14\r\n{BODY}\r\r\n0\r\n\r\n",
              f"14\r\n{BODY}x\r\n0\r\n\r\n", f"13\r\n{BODY}\r\n0\r\n\r\n", f"15\r\n{BODY}\r\n0\r\n\r\n",
              f"14\r\n{BODY}\r\n0\n\r\n", f"14\r\n{BODY}\r\n0\r\n\n", f"14\r\n{BODY}\r\n0\r\n\rx", f"14\r\n{BODY}\r\n\r\n0\r\n\r\n",
              f"14\r\n{BODY}\r\n0\r\nX y: z\r\n\r\n", f"14\r\n{BODY}\r\n0\r\nX\r\n\r\n", f"14\r\n{BODY}\r\n0\r\n: z\r\n\r\n",
              f"14\r\n{BODY}\r\n0\r\nX: y\n\r\n", f"14\r\n{BODY}\r\n0\r\n X: y\r\n\r\n", f"14\r\n{BODY}\r\n0\r\nX: \x00\r\n\r\n",
              f"14\r\n{BODY}\r\n0\r\n" + "X: yyyyyyyyyy\r\n" * 400 + "\r\n",
              f"14\r\n{BODY}\r\n0\r\nX: " + "y" * 5000 + "\r\n\r\n", f"14\r\n{BODY}\r\n00 \r\n\r\n", f"14\r\n{BODY}\r\n-0\r\n\r\n"]

REFUSED = [
    *(("length", post(extra, BODY)) for extra in LENGTHS),
    *(("coding", post(extra, whole())) for extra in CODINGS),
    ("coding", post("Transfer-Encoding: chunked\r\n", whole(), "POST PASS/loyalty HTTP/1.0\r\n")),
    *(("field", get(extra)) for extra in FIELDS),
    *(("host", get("", host=host)) for host in HOSTS),
    *(("line", get("", line=line)) for line in LINES),
    *(("chunk", chunked(size + BODY + "\r\n0\r\n\r\n")) for size in CHUNKS),
    *(("chunk end", chunked(body)) for body in CHUNK_ENDS),
]

# (name, bytes, statuses of the answers in order, whether the connection stays open for the next request; None: the
# client closes in the middle of a request)
OTHERS = [
    # Exceeded limits
    ("path 8192", get(line=f"GET /{'a' * 8191} HTTP/1.1\r\n"), [404], True),
    ("path 8193", get(line=f"GET /{'a' * 8192} HTTP/1.1\r\n"), [414], False),
    ("path 100 k", get(line=f"GET /{'a' * 100_000} HTTP/1.1\r\n"), [414], False),
    ("path 500 k", get(line=f"GET /{'a' * 500_000} HTTP/1.1\r\n"), [414], False),
    ("query 100 k", get(line=f"GET /v1/passes?{'a' * 100_000} HTTP/1.1\r\n"), [414], False),
    ("path without end", f"GET /{'a' * 20_000}", [414], False),
    ("method without end", "A" * 20_000, [400], False),
    ("head of 16 k", get(f"X: {'a' * 16_000}\r\n"), [200], True),
    ("head of 17 k", get(f"X: {'a' * 17_000}\r\n"), [431], False),
    ("head of 500 k", get(f"X: {'a' * 500_000}\r\n"), [431], False),
    ("many fields", get("X: y\r\n" * 98), [200], True),
    ("too many fields", get("X: y\r\n" * 99), [431], False),
    ("1000 fields", get("X: y\r\n" * 1000), [431], False),
    ("field name of 20 k", get("X" * 20_000 + ": y\r\n"), [431], False),
    ("head without end", HEAD + HOST + "X: y\r\n" * 5000, [431], False),
    # Bodies that are too large or announce too large a size
    ("body beyond the cap", post("Content-Length: 17000000\r\n", BODY), [413], False),
    ("body of 1 E", post("Content-Length: 1152921504606846976\r\n", BODY), [413], False),
    ("body of 19 nines", post("Content-Length: 9999999999999999999\r\n", BODY), [413], False),
    ("no key, too large", "POST PASS/loyalty HTTP/1.1\r\n" + HOST + "Content-Length: 17000000\r\n\r\n", [401], False),
    ("no route, too large", post("Content-Length: 17000000\r\n", "", "POST /v1/nothing HTTP/1.1\r\n"), [404], False),
    # Valid requests
    ("plain", get(), [200], True),
    ("one empty line first", "\r\n" + get(), [200], True),
    ("host with port", get(host="Host: shop.example:8080\r\n"), [200], True),
    ("host an address", get(host="Host: [::1]:8080\r\n"), [200], True),
    ("empty host", get(host="Host:\r\n"), [200], True),
    ("no space behind colons", get("X:y\r\n", host="Host:x\r\n"), [200], True),
    ("much space around values", get("X: \t y \t \r\n", host="Host:  x \r\n"), [200], True),
    ("high bytes in a value", get("X: é\r\n"), [200], True),
    ("empty value", get("X:\r\n"), [200], True),
    ("names like the dangerous ones", get("Content-Lengthy: 5\r\nX-Transfer-Encoding: chunked\r\nHosts: x\r\n"), [200], True),
    ("upgrade", get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"), [200], True),
    ("upgrade to websocket", get("Connection: Upgrade\r\nUpgrade: websocket\r\n"), [200], True),
    ("http 1.0", get(line="GET /v1/passes?limit=1 HTTP/1.0\r\n"), [200], False),
    ("http 1.0 without host", get(line="GET /v1/passes?limit=1 HTTP/1.0\r\n", host=""), [200], False),
    ("http 1.0 kept alive", get("Connection: keep-alive\r\n", line="GET /v1/passes?limit=1 HTTP/1.0\r\n"), [200], True),
    ("asked to close", get("Connection: close\r\n"), [200], False),
    ("asked to keep and to close", get("Connection: keep-alive, Close\r\n"), [200], False),
    ("asked for trailers", get("Connection: TE\r\nTE: trailers\r\n"), [200], True),
    ("asked to close and to keep", get("Connection: close\r\nConnection: keep-alive\r\n"), [200], False),
    ("asked to keep, 1.0, and to close", get("Connection: keep-alive,close\r\n", line="GET /v1/passes?limit=1 HTTP/1.0\r\n"), [200], False),
    ("trace", get(line="TRACE /v1/passes HTTP/1.1\r\n"), [405], True),
    ("connect with a path", get(line="CONNECT /v1/passes HTTP/1.1\r\n"), [405], True),
    ("pri with a path", get(line="PRI /v1/passes HTTP/1.1\r\n"), [405], True),
    ("unknown method", get(line="B-R!E'W /v1/passes HTTP/1.1\r\n"), [405], True),
    ("lower case method", get(line="get /v1/passes HTTP/1.1\r\n"), [405], True),
    ("double slash", get(line="GET //v1/passes HTTP/1.1\r\n"), [404], True),
    ("dots", get(line="GET /v1/../v1/passes HTTP/1.1\r\n"), [404], True),
    ("encoded nul", get(line="GET /v1/passes/a%00b HTTP/1.1\r\n"), [404], True),
    ("broken encoding", get(line="GET /v1/passes/%zz HTTP/1.1\r\n"), [404], True),
    # Targets in absolute form
    ("absolute", get(line="GET http://shop.example/v1/passes?limit=1 HTTP/1.1\r\n"), [200], True),
    ("absolute, another host", get(line="GET HTTPS://other.example:8443/v1/passes?limit=1 HTTP/1.1\r\n"), [200], True),
    ("absolute, an address", get(line="GET http://[::1]:80/v1/passes HTTP/1.1\r\n"), [200], True),
    ("absolute, two hosts", get(line="GET http://a/v1/passes HTTP/1.1\r\n", host=HOST * 2), [400], False),
    ("absolute, no host", get(line="GET http://a/v1/passes HTTP/1.1\r\n", host=""), [400], False),
    ("absolute, 1.0", get(line="GET http://a/v1/passes HTTP/1.0\r\n", host=""), [200], False),
    ("absolute, no path", get(line="GET http://a HTTP/1.1\r\n"), [404], True),
    ("absolute, a query alone", get(line="GET http://a?b=/v1/passes HTTP/1.1\r\n"), [404], True),
    ("absolute, the whole service", get(line="OPTIONS http://a HTTP/1.1\r\n"), [404], True),
    ("absolute, connect", get(line="CONNECT http://a/v1/passes HTTP/1.1\r\n"), [405], True),
    ("absolute, a bad query", get(line="GET http://a/v1/passes?limit=0 HTTP/1.1\r\n"), [400], True),
    ("absolute, an encoded id", get(line="GET http://aENCODED HTTP/1.1\r\n"), [200], True),
    ("absolute, after an empty line", "\r\n" + get(line="GET http://a/v1/passes HTTP/1.1\r\n"), [200], True),
    ("absolute, a long host", get(line=f"GET http://{'a' * 8000}/v1/passes HTTP/1.1\r\n"), [200], True),
    ("absolute, 8192", get(line=f"GET http://{'a' * 8176}/12345678 HTTP/1.1\r\n"), [404], True),
    ("absolute, beyond 8192", get(line=f"GET http://{'a' * 9000}/v1/passes HTTP/1.1\r\n"), [414], False),
    ("absolute, a body", post("Content-Length: 20\r\n", BODY, "POST http://aPASS/loyalty HTTP/1.1\r\n"), [202], True),
    ("absolute, chunked", post("Transfer-Encoding: chunked\r\n", whole(), "POST http://aPASS/loyalty HTTP/1.1\r\n"), [202], True),
    ("leave asked for, absolute", post("Content-Length: 20\r\nExpect: 100-continue\r\n", BODY,
                                       "POST http://aPASS/loyalty HTTP/1.1\r\n"), [202], True),
    ("absolute, no key, too large", "POST http://aPASS/loyalty HTTP/1.1\r\n" + HOST + "Content-Length: 17000000\r\n\r\n", [401],
     False),
    ("absolute, many", get(line="GET http://a/v1/passes?limit=1 HTTP/1.1\r\n") * 50
     + post("Content-Length: 20\r\n", BODY, "POST http://aPASS/loyalty HTTP/1.1\r\n") * 3 + get(), [200] * 50 + [202] * 3 + [200], True),
    ("body", sized(), [202], True),
    ("body, length with zeros", sized(size="0020"), [202], True),
    ("body, space behind the length", sized(size="20 \t"), [202], True),
    ("body, 1.0", post("Content-Length: 20\r\nConnection: keep-alive\r\n", BODY, "POST PASS/loyalty HTTP/1.0\r\n"), [202], True),
    ("body beside a get", "GET PASS HTTP/1.1\r\n" + HOST + AUTH + "Content-Length: 20\r\n\r\n" + SMUGGLED[:20], [200], True),
    ("body that is a request", sized(body=HEAD + HOST + END), [400], True),
    ("no length at all", post("", ""), [400], True),
    ("length 0", sized(body=""), [400], True),
    ("chunked", chunked(whole()), [202], True),
    ("chunked, upper case", post("TRANSFER-ENCODING: CHUNKED\r\n", whole()), [202], True),
    ("chunked, no space", post("Transfer-Encoding:chunked\r\n", whole()), [202], True),
    ("chunk of each byte", chunked("".join(f"1\r\n{c}\r\n" for c in BODY) + "0\r\n\r\n"), [202], True),
    ("chunk size with zeros", chunked(f"00014\r\n{BODY}\r\n000\r\n\r\n"), [202], True),
    ("chunk extensions", chunked(f'14;a;b=c;d="e f"\r\n{BODY}\r\n0;x\r\n\r\n'), [202], True),
    ("trailers", chunked(f"14\r\n{BODY}\r\n0\r\nX: y\r\nContent-Length: 5\r\n\r\n"), [202], True),
    ("empty chunked body", chunked("0\r\n\r\n"), [400], True),
    ("chunked beside a get", "GET PASS HTTP/1.1\r\n" + HOST + AUTH + "Transfer-Encoding: chunked\r\n\r\n" + whole("x"), [200], True),
    # Expect: 100-continue
    ("leave asked for, body already here", sized("Expect: 100-continue\r\n"), [202], True),
    ("leave asked for without a body", get("Expect: 100-continue\r\n"), [200], True),
    ("leave asked for in upper case", sized("EXPECT: 100-CONTINUE\r\n"), [202], True),
    # Pipelined requests
    ("two", get() * 2, [200, 200], True),
    ("a hundred", get() * 100, [200] * 100, True),
    ("different ones", get() + sized() + chunked(whole()) + get(line="TRACE /v1/passes HTTP/1.1\r\n") + sized() + get(),
     [200, 202, 202, 405, 202, 200], True),
    ("bodies in a row", sized() * 40, [202] * 40, True),
    ("chunked ones in a row", chunked(whole()) * 40, [202] * 40, True),
    ("an empty line between", get() + "\r\n" + get(), [200, 200], True),
    ("behind one that closes", get("Connection: close\r\n") + get(), [200], False),
    ("a bad one behind good ones", get() + sized() + get("X y: z\r\n") + sized(), [200, 202, 400], False),
    ("a bad chunk behind good ones", chunked(whole()) + chunked("x\r\n") + sized(), [202, 400], False),
    ("an error of ours in between", get(line="GET /v1/nothing HTTP/1.1\r\n") + get(), [404, 200], True),
    ("strangers in a row", get().replace(AUTH, "") * 3, [401] * 3, True),
    # Requests cut off by the client: no answer and no effect
    ("nothing", "", [], None),
    ("an empty line", "\r\n", [], None),
    ("half a line", "GET /v1/pas", [], None),
    ("a line", HEAD, [], None),
    ("no empty line", HEAD + HOST + AUTH, [], None),
    ("half an empty line", HEAD + HOST + AUTH + "\r", [], None),
    ("a body too short", sized(size=21), [], None),
    ("no body", sized(body="", size=20), [], None),
    ("a chunk too short", chunked(f"15\r\n{BODY}"), [], None),
    ("half a chunk size", chunked("1"), [], None),
    ("a chunk size and no line end", chunked("14\r"), [], None),
    ("no last chunk", chunked(f"14\r\n{BODY}\r\n"), [], None),
    ("no end of trailers", chunked(f"14\r\n{BODY}\r\n0\r\n"), [], None),
    ("half a trailer", chunked(f"14\r\n{BODY}\r\n0\r\nX: y"), [], None),
    ("a whole one, then half of one", sized() + sized()[:-3], [202], None),
]
ROWS = [*((what, data, [400], False) for what, data in REFUSED), *OTHERS]


@pytest.fixture(scope="module")
def card(module_shop):
    """A pass that receives the deltas."""
    return module_shop.create(kind="balance")["id"]


def splits(data):
    yield [data]
    yield [data[:len(data) // 2], data[len(data) // 2:]]
    if len(data) < 2000:
        yield [data[i:i + 1] for i in range(len(data))]


def test_there_are_enough_rows():
    assert len(ROWS) >= 200
    assert len({data for _, data, *_ in ROWS}) >= len(ROWS) - 3


@pytest.mark.parametrize("what, text, statuses, goes_on", ROWS, ids=[f"{i}-{row[0]}" for i, row in enumerate(ROWS)])
def test_raw_requests(till, card, what, text, statuses, goes_on):
    path = path_of(card)
    encoded = path[:-1] + f"%{ord(path[-1]):02X}"
    data = text.replace("KEY", till.key).replace("PASS", path).replace("ENCODED", encoded).encode()
    if goes_on is not None:
        # The smuggled request: executed only if the connection stays open.
        data += SMUGGLED.replace("KEY", till.key).encode()
        statuses = [*statuses, 200] if goes_on else statuses
    before, applied = till.get(card)["balance"], 0
    for parts in splits(data):
        answers = take_answers(talk(till.service.http, parts))
        if what.startswith("leave") and answers[0].status == 100:
            del answers[0]
        assert [answer.status for answer in answers] == statuses, answers
        applied += statuses.count(202)
        for answer in answers:
            answer.check_form()
        for answer in answers[:-1]:
            assert (answer.headers["connection"], answer.headers["keep-alive"]) == ("keep-alive", "timeout=75"), answer
        if goes_on is False:
            assert answers[-1].headers["connection"] == "close" and "keep-alive" not in answers[-1].headers, answers
    assert till.get(card)["balance"] == before + applied


def test_the_refusal_of_a_body_has_the_clients_request_id(till, card):
    mine = "X-Request-Id: mine\r\n"
    for text, status in [(chunked("x\r\n", mine), 400), (post(f"Content-Length: {17 << 20}\r\n" + mine, ""), 413)]:
        data = text.replace("KEY", till.key).replace("PASS", path_of(card)).encode()
        answers = take_answers(talk(till.service.http, [data]))
        assert [(answer.status, answer.headers["x-request-id"]) for answer in answers] == [(status, "mine")]


@pytest.mark.parametrize("what, auth, line, status", [
    ("no key", "", "POST PASS/loyalty", 401), ("an unknown key", AUTH.replace("KEY", "OTHER"), "POST PASS/loyalty", 401),
    ("no key and no route", "", "POST /v1/nothing", 401), ("no route", AUTH, "POST /v1/nothing", 404),
    ("no such method", AUTH, "PUT PASS/loyalty", 405), ("nothing else", AUTH, "POST PASS/loyalty", 400),
    ("a path without keys", "", "POST /nothing", 400), ("no preflight", PREFLIGHT, "OPTIONS /v1/passes", 401),
    ("a preflight's header", PREFLIGHT, "POST PASS/loyalty", 401)])
def test_errors_of_key_and_route_come_before_those_of_a_chunked_body(till, card, what, auth, line, status):
    text = line + " HTTP/1.1\r\n" + HOST + auth + JSON + "Transfer-Encoding: chunked\r\n" + END + "x\r\n"
    other = till.key[:-1] + ("a" if till.key[-1] != "a" else "b")
    data = text.replace("KEY", till.key).replace("OTHER", other).replace("PASS", path_of(card)).encode()
    answers = take_answers(talk(till.service.http, [data + SMUGGLED.replace("KEY", till.key).encode()]))
    assert [(answer.status, answer.headers["connection"]) for answer in answers] == [(status, "close")]


def test_a_refused_head_request_has_no_body(till):
    for text, status in [("HEAD / HTTP/1.1\r\nX y: z\r\n\r\n", 400), (f"HEAD /{'a' * 9000} HTTP/1.1\r\n\r\n", 414),
                         ("HEAD / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400)]:
        answers = take_answers(talk(till.service.http, [text.encode()]), is_head=True)
        assert [(answer.status, answer.headers["connection"]) for answer in answers] == [(status, "close")]


def test_a_target_in_absolute_form_means_its_path(till, card):
    """Tested for pages, the document, the admin listener, the metric by route, and idempotency keys."""
    def ask(address, line, *fields, body=""):
        data = "\r\n".join([line, "Host: x", *fields, "", body])
        answer, = take_answers(talk(address, [data.encode()]), is_head=line.startswith("HEAD"))
        return answer

    service, whole_url = till.service, "http://shop.example"
    page = till.get(card)["download_url"].partition("://")[2].partition("/")[2]
    assert ask(service.http, f"GET {whole_url}/{page} HTTP/1.1").headers["content-type"].startswith("text/html")
    for method in ("GET", "HEAD"):
        assert ask(service.http, f"{method} {whole_url}/openapi.json HTTP/1.1").status == 200
        assert ask(service.admin_address, f"{method} {whole_url}/healthz HTTP/1.1").status == 200
    assert ask(service.admin_address, f"GET {whole_url}/v1/passes HTTP/1.1").status == 404
    assert ask(service.admin_address, f"GET {whole_url} HTTP/1.1").status == 404

    def counted():
        return look(service).get("stampede_http_requests_total", route="PASS_GET", status="200")

    before = counted()
    assert ask(service.http, f"GET {whole_url}{path_of(card)} HTTP/1.1", f"Authorization: Bearer {till.key}").status == 200
    wait_for(lambda: counted() == before + 1, 5, "the metric of the route to count the request")

    fields = [f"Authorization: Bearer {till.key}", "Content-Type: application/json", f"Content-Length: {len(BODY)}",
              "Idempotency-Key: absolute"]
    balance = till.get(card)["balance"]
    for target in (f"{path_of(card)}/loyalty", f"{whole_url}{path_of(card)}/loyalty", f"HTTPS://other:1{path_of(card)}/loyalty"):
        assert ask(service.http, f"POST {target} HTTP/1.1", *fields, body=BODY).status == 202
    assert till.get(card)["balance"] == balance + 1
