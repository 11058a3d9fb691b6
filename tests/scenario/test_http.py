"""HTTP itself: routes and methods, HEAD, sizes, TLS. What only an attacker or a very old client sends is in test_heads.py."""
import json
import ssl
import subprocess

import pytest
from raw import take_answers, talk
from shop import Shop, new_id, path_of

ALLOWED = {
    "/v1/passes": {"GET", "POST"},
    "/v1/passes/x": {"GET", "PATCH", "DELETE"},
    "/v1/passes/x/loyalty": {"POST"},
    "/v1/pass-templates/accepted-fields": {"GET"},
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


def test_head_is_get_without_the_body(till):
    made = till.create()
    for path in (path_of(made["id"]), "/v1/passes?limit=1", "/v1/pass-templates/accepted-fields", "/v1/passes/nobody",
                 "/v1/passes?limit=0"):
        whole, head = till.client.get(path), till.client.head(path)
        assert (head.status, head.body) == (whole.status, b"")
        for name in ("content-type", "content-length", "x-total-count", "x-has-more"):
            assert head.headers.get(name) == whole.headers.get(name), name
    assert till.client.head(path_of(made["id"]), key="bad").status == 401
    assert till.client.head("/v1/passes/x/loyalty").status == 405


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


# Sizes

def big_body(size):
    body = json.dumps({"pass_id": new_id(), "visible": {"name": "A"}}).encode()
    return body + b" " * (size - len(body))


def test_the_operators_cap_on_bodies(new_service):
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


def test_the_default_cap_and_none(new_service, till):
    till.client.post_raw("/v1/passes", big_body((16 << 20) + 1)).is_error(413, "PAYLOAD_TOO_LARGE")
    assert till.client.post_raw("/v1/passes", big_body(16 << 20)).status == 201
    shop = Shop(new_service(shards=1, options=["--max-body", "0"]), ("balance",))
    assert shop.client.post_raw("/v1/passes", big_body((16 << 20) + 1)).status == 201
    shop.close()


def test_chunked_bodies_are_read(till):
    chunks = [big_body(300)[i:i + 7] for i in range(0, 300, 7)]
    body = {"body": iter(chunks), "headers": {"Content-Type": "application/json"}}
    assert till.client.request("POST", "/v1/passes", **body).status == 201


# TLS

@pytest.fixture
def certificate(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True,
                   capture_output=True)
    return cert, key


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
def test_tls(new_service, certificate):
    cert, key = certificate
    service = new_service(shards=1, options=["--tls-cert", str(cert), "--tls-key", str(key)])
    shop = Shop(service, ("balance",))
    context = ssl.create_default_context(cafile=cert)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with service.client(shop.key, tls=context) as client:
        made = client.post("/v1/passes", {"pass_id": "x", "visible": {"name": "A"}})
        assert made.status == 201
        assert client.connection.sock.selected_alpn_protocol() in (None, "http/1.1")
        assert client.connection.sock.version() in ("TLSv1.2", "TLSv1.3")
        assert client.get("/v1/passes/x").json == made.json
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError), service.client(shop.key, tls=old) as client:
        client.get("/v1/passes/x")
