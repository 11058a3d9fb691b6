"""HTTP: routes and methods, sizes, TLS. Requests that only attackers or very old clients send are in
test_heads.py."""
import json
import socket
import ssl
from contextlib import closing

import pytest
from raw import connect, receive_all, receive_answer, take_answers, talk
from shop import Shop, new_id, path_of

ALLOWED = {
    "/v1/passes": {"GET", "POST"},
    "/v1/passes/x": {"GET", "PATCH", "DELETE"},
    "/v1/passes/x/loyalty": {"POST"},
    "/v1/pass-templates/accepted-fields": {"GET"},
    "/v1/rewards/x": {"GET", "PUT", "DELETE"},
}
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FROB"]


def head_of(till, line="GET /v1/passes HTTP/1.1", **headers):
    lines = [line, "Host: x", f"Authorization: Bearer {till.key}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join(lines) + "\r\n"


# Routes

@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/pass", "/v1/passes/x/y", "/v1/passes/x/loyalty/y", "/v1/rewardz",
                                  "/v2/passes", "/", "/v1passes", "/V1/passes", "//v1/passes", "/v1//passes"])
def test_unknown_paths(till, path):
    till.client.get(path).is_error(404, "ROUTE_NOT_FOUND")
    till.client.post(path, {}).is_error(404, "ROUTE_NOT_FOUND")


def test_paths_outside_v1_need_no_key(service):
    with service.client() as client:
        client.get("/nowhere").is_error(404, "ROUTE_NOT_FOUND")


@pytest.mark.parametrize("path", ALLOWED)
def test_methods(till, path):
    for method in METHODS:
        if method in ALLOWED[path]:
            continue
        answer = till.client.request(method, path)
        answer.is_error(405, "METHOD_NOT_ALLOWED")
        allow = {name.strip() for name in answer.headers["allow"].split(",")}
        assert allow - {"HEAD", "OPTIONS"} == ALLOWED[path], answer
        assert ("HEAD" in allow) == ("GET" in ALLOWED[path]), answer


def test_empty_answers_have_no_body_and_keep_the_connection(till):
    pass_id = till.create()["id"]
    loyalty = json.dumps({"balance_to_add": 2})
    first = head_of(till, f"POST /v1/passes/{pass_id}/loyalty HTTP/1.1", **{
        "Content-Type": "application/json", "Content-Length": len(loyalty)}) + "\r\n" + loyalty
    second = head_of(till, f"PATCH /v1/passes/{pass_id} HTTP/1.1") + "\r\n"
    third = head_of(till, f"GET /v1/passes/{pass_id} HTTP/1.1", Connection="close") + "\r\n"
    answers = take_answers(talk(till.service.http, [(first + second + third).encode()]))
    assert [answer.status for answer in answers] == [202, 204, 200], answers
    assert json.loads(answers[2].body)["balance"] == 2


def test_the_admin_listener_has_methods_too(service):
    with service.admin() as admin:
        for path in ("/healthz", "/readyz", "/metrics"):
            whole, head = admin.get(path), admin.head(path)
            assert (whole.status, head.status, head.body) == (200, 200, b"")
            assert head.headers["content-type"] == whole.headers["content-type"]
            for method in ("POST", "DELETE", "OPTIONS"):
                answer = admin.request(method, path)
                answer.is_error(405, "METHOD_NOT_ALLOWED")
                assert answer.headers["allow"] == "GET, HEAD"
        admin.get("/nowhere").is_error(404, "ROUTE_NOT_FOUND")
        admin.head("/nowhere").is_empty(404)


# Sizes

def test_errors_checked_before_the_size_of_a_body(new_shop):
    shop = new_shop("balance")
    pass_id = shop.create()["id"]
    typed = {"Content-Type": "application/json"}

    def send(method, path, **options):
        return shop.client.request(method, path, body=b" " * ((16 << 20) + 1), **{"headers": typed, **options})

    loyalty = path_of(pass_id, "/loyalty")
    send("POST", loyalty, key="bad").is_error(401, "UNAUTHENTICATED")
    send("POST", "/v1/nothing").is_error(404, "ROUTE_NOT_FOUND")
    send("PUT", loyalty).is_error(405, "METHOD_NOT_ALLOWED")
    send("POST", loyalty, headers={"Content-Type": "text/plain"}).is_error(413, "PAYLOAD_TOO_LARGE")
    send("POST", path_of("nobody", "/loyalty")).is_error(413, "PAYLOAD_TOO_LARGE")
    shop.set("--suspended", "on")
    send("POST", loyalty).is_error(402, "ACCOUNT_SUSPENDED")
    shop.set("--suspended", "off")
    assert shop.get(pass_id)["balance"] == 0


def big_body(size):
    body = json.dumps({"pass_id": new_id(), "visible": {"name": "A"}}).encode()
    return body + b" " * (size - len(body))


def test_the_operators_limit_on_bodies(new_service):
    service = new_service(shards=1, options=["--max-body", "1000"])
    shop = Shop(service, ("balance",))
    assert shop.client.post_raw("/v1/passes", big_body(1000)).status == 201
    for size in (1001, 5000):
        shop.client.post_raw("/v1/passes", big_body(size)).is_error(413, "PAYLOAD_TOO_LARGE")
    chunks = [big_body(1001)[i:i + 100] for i in range(0, 1001, 100)]
    chunked = shop.client.request("POST", "/v1/passes", body=iter(chunks), headers={"Content-Type": "application/json"})
    chunked.is_error(413, "PAYLOAD_TOO_LARGE")
    shop.client.post_raw("/v1/passes", big_body(1001), Authorization="Bearer x").is_error(401, "UNAUTHENTICATED")
    assert shop.list()[1] == 1
    shop.close()


def test_the_default_limit_on_bodies_and_no_limit(new_service, till):
    till.client.post_raw("/v1/passes", big_body((16 << 20) + 1)).is_error(413, "PAYLOAD_TOO_LARGE")
    assert till.client.post_raw("/v1/passes", big_body(16 << 20)).status == 201
    shop = Shop(new_service(shards=1, options=["--max-body", "0"]), ("balance",))
    assert shop.client.post_raw("/v1/passes", big_body((16 << 20) + 1)).status == 201
    shop.close()


def test_chunked_bodies_are_read(till):
    whole = big_body(300)
    chunks = [whole[i:i + 7] for i in range(0, 300, 7)]
    body = {"body": iter(chunks), "headers": {"Content-Type": "application/json"}}
    assert till.client.request("POST", "/v1/passes", **body).status == 201


# TLS

@pytest.fixture(scope="module")
def encrypted(module_services, certificate):
    """(shop, context): a service with TLS."""
    cert, key = certificate
    shop = Shop(module_services(shards=1, options=["--tls-cert", str(cert), "--tls-key", str(key)]), ("balance",))
    shop.client.tls = ssl.create_default_context(cafile=cert)
    yield shop, shop.client.tls
    shop.close()


@pytest.mark.parametrize("request_line", [b"GET / HTTP/1.1", b"POST /v1/passes HTTP/1.1", b"HEAD / HTTP/1.0"])
def test_clear_text_to_tls_gets_an_answer_that_it_can_read(encrypted, request_line):
    shop, _ = encrypted
    with closing(connect(shop.service.http)) as connection:
        connection.sendall(request_line + b"\r\nHost: x\r\n\r\n")
        answer, rest = receive_answer(connection)
        answer.check_form()
        assert answer.status == 400 and json.loads(answer.body) == {
            "code": "INVALID_REQUEST", "message": "This port takes HTTPS, not HTTP.", "request_id": answer.headers["x-request-id"]}
        assert rest == b"" and connection.recv(1) == b""


@pytest.mark.parametrize("noise, is_cut", [
    (b"\0" * 64, False), (b"SSH-2.0-x\r\n", False), (b"\x16\x03\x01\x00\x05hello" + b"x" * 64, False),
    (b"\x16\x03\x01\x02\0\x01\0\x01\xfc", True), (b"", True)])
def test_noise_to_tls_gets_no_answer_of_http(encrypted, noise, is_cut):
    """The client of a cut ClientHello sends nothing more."""
    shop, _ = encrypted
    with closing(connect(shop.service.http)) as connection:
        connection.sendall(noise)
        if is_cut:
            connection.shutdown(socket.SHUT_WR)
        assert b"HTTP" not in receive_all(connection)
    assert shop.client.get("/v1/passes?limit=1").status == 200


def test_tls(encrypted):
    shop, context = encrypted
    context.set_alpn_protocols(["h2", "http/1.1"])
    with shop.service.client(shop.key, tls=context) as client:
        made = client.post("/v1/passes", {"pass_id": "x", "visible": {"name": "A"}})
        assert made.status == 201
        assert client.connection.sock.selected_alpn_protocol() == "http/1.1"
        assert client.connection.sock.version() == "TLSv1.3"
        assert client.get("/v1/passes/x").json == made.json


@pytest.mark.parametrize("version, good", [("TLSv1_1", False), ("TLSv1_2", True), ("TLSv1_3", True)])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
def test_tls_versions(encrypted, version, good):
    shop, _ = encrypted
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    with shop.service.client(shop.key, tls=context) as client:
        if good:
            assert client.get("/v1/passes").status == 200
        else:
            with pytest.raises((ssl.SSLError, ConnectionResetError)):
                client.get("/v1/passes")


def over_tls(shop, parts):
    """Sends the parts over TLS, each in its own records. Returns all answers until the server closes."""
    with closing(connect(shop.service.http)) as plain, shop.client.tls.wrap_socket(
            plain, server_hostname="127.0.0.1") as connection:
        for part in parts:
            connection.sendall(part)
        return take_answers(receive_all(connection))


def test_hostile_heads_over_tls(encrypted):
    shop, _ = encrypted
    pass_id = shop.create()["id"]
    delta = json.dumps({"balance_to_add": 1})
    typed = {"Content-Type": "application/json"}
    line = f"POST {path_of(pass_id)}/loyalty HTTP/1.1"
    sized = (head_of(shop, line, **typed, **{"Content-Length": len(delta)}) + "\r\n" + delta).encode()
    chunked = (head_of(shop, line, **typed, **{"Transfer-Encoding": "chunked"}) +
               f"\r\n{len(delta):x}\r\n{delta}\r\n0\r\n\r\n").encode()
    last = (head_of(shop, Connection="close") + "\r\n").encode()
    bad = (head_of(shop, **{"Bad name": "x"}) + "\r\n").encode()
    for data, statuses in [(sized + chunked + last, [202, 202, 200]), (sized * 50 + bad + sized, [202] * 50 + [400]),
                           (bad, [400]), (b"\0" * 100, [400]), (chunked.replace(b"0\r\n", b"x\r\n"), [400]),
                           ((head_of(shop, line, **{"Content-Length": 17 << 20}) + "\r\n").encode(), [413])]:
        for parts in ([data], [data[i:i + 1] for i in range(min(len(data), 600))] + [data[600:]]):
            answers = over_tls(shop, [part for part in parts if part])
            assert [answer.status for answer in answers] == statuses
            for answer in answers:
                answer.check_form()
            assert answers[-1].headers["connection"] == "close"
    assert shop.get(pass_id)["balance"] == 2 * (2 + 50)


def test_large_bodies_and_answers_over_tls(encrypted):
    shop, _ = encrypted
    made = shop.create(hidden={"x": "y" * 900_000})
    assert shop.get(made["id"]) == made
    assert shop.client.post_raw("/v1/passes", big_body(16 << 20)).status == 201
    shop.client.post_raw("/v1/passes", big_body((16 << 20) + 1)).is_error(413, "PAYLOAD_TOO_LARGE")
