"""--access-log: one line of JSON for each answered request of the interface, without secrets, and without delaying
requests."""
import json
import os
import re
import signal
import socket
import threading
from urllib.parse import urlsplit

import outputs
import pytest
from harness import wait_for
from metrics import look
from patience import PATIENCE
from raw import take_answers, talk
from shop import Shop, path_of

pytestmark = pytest.mark.plain

KEYS = ["time", "request_id", "account", "key_id", "method", "route", "status", "bytes", "us"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Logged:
    """A service with an access log, and a shop on it."""

    def __init__(self, new_service, **options):
        self.service = new_service(start=False, shards=2, http_threads=2, **options)
        self.path = self.service.home / "access"
        self.service.options += ["--access-log", str(self.path)]
        self.service.start()
        self.shop = Shop(self.service, functions=("--rewards",))
        (key,) = self.service.cli("key", "list", self.shop.account)
        self.key_id = key["key_id"]

    def lines(self):
        text = self.path.read_text()
        return [json.loads(line) for line in text.splitlines()] if text.endswith("\n") else []

    def line_of(self, answer):
        """The only line about an answer."""
        own = answer.headers["x-request-id"]
        (line,) = wait_for(lambda: [line for line in self.lines() if line["request_id"] == own], 10, f"a line with request id {own}")
        assert list(line) == KEYS and line["status"] == answer.status, line
        assert TIME.fullmatch(line["time"]) and 0 <= line["us"] < 10**7, line
        return line

    def expect(self, answer, route, by_key=True, **wanted):
        line = self.line_of(answer)
        wanted = {"bytes": len(answer.body), "account": self.shop.account if by_key else None,
                  "key_id": self.key_id if by_key else None, **wanted}
        assert line["route"] == route and {key: line[key] for key in wanted} == wanted, line


@pytest.fixture
def logged(new_service):
    made = Logged(new_service)
    yield made
    made.shop.close()


def test_a_line_has_the_request_its_account_and_the_answer(logged):
    client, one = logged.shop.client, "/v1/passes/{pass_id}"
    body = {"pass_id": "secret-pass", "visible": {"name": "Ada Lovelace"}, "hidden": {"note": "hidden-note"}}
    logged.expect(client.post("/v1/passes", body), "/v1/passes", method="POST", status=201)
    logged.expect(client.get("/v1/passes?q=Lovelace"), "/v1/passes", method="GET", status=200)
    logged.expect(client.get(path_of("secret-pass")), one, status=200)
    logged.expect(client.head(path_of("secret-pass")), one, method="HEAD", bytes=0)
    logged.expect(client.post(path_of("secret-pass", "/loyalty"), {"balance_to_add": 2}), one + "/loyalty", status=202, bytes=0)
    logged.expect(client.patch(path_of("secret-pass"), {"hidden": {"x": 1}}), one, method="PATCH", status=204)
    logged.expect(client.get("/v1/rewards"), "/v1/rewards", status=200)
    logged.expect(client.get(path_of("nobody")), one, status=404)
    logged.expect(client.post("/v1/passes", body), "/v1/passes", status=409)
    logged.expect(client.post_raw("/v1/passes", "{"), "/v1/passes", status=400)
    logged.expect(client.get("/v1/secret-path"), None, status=404)
    logged.expect(client.request("PUT", "/v1/passes"), None, method="PUT", status=405)
    text = logged.path.read_text()
    for secret in ("secret-pass", "Ada", "Lovelace", "hidden-note", "secret-path", logged.shop.key.rsplit("_", 1)[1]):
        assert secret not in text


def test_a_line_of_a_malformed_chunked_body_has_its_request(logged):
    logged.shop.create("p")
    path = path_of("p")
    head = f"POST {path}/loyalty HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    for auth, by_key, status in [(f"Authorization: Bearer {logged.shop.key}\r\n", True, 400), ("", False, 401)]:
        (answer,) = take_answers(talk(logged.service.http, [(head + auth + "\r\nx\r\n").encode()]))
        route = "/v1/passes/{pass_id}/loyalty" if by_key else None
        logged.expect(answer, route, by_key=by_key, method="POST", status=status)


def test_a_line_has_the_request_id_that_the_client_sent(logged):
    own = '\\"{}[]' + "x" * 100
    answer = logged.shop.client.get("/v1/passes", headers={"X-Request-Id": own})
    assert answer.headers["x-request-id"] == own
    logged.expect(answer, "/v1/passes")


def test_a_line_has_the_id_of_the_key(logged):
    made = logged.service.cli("key", "create", logged.shop.account)
    assert made["key_id"] != logged.key_id
    client = logged.shop.client
    logged.expect(client.get("/v1/passes", key=made["api_key"]), "/v1/passes", key_id=made["key_id"])
    logged.expect(client.get("/v1/passes"), "/v1/passes", key_id=logged.key_id)
    answer = client.post("/v1/passes", {"pass_id": "p", "visible": {"name": "A"}}, key=made["api_key"])
    logged.expect(answer, "/v1/passes", status=201, key_id=made["key_id"])
    logged.service.cli("key", "revoke", logged.shop.account, made["key_id"])
    logged.expect(client.get("/v1/passes", key=made["api_key"]), "/v1/passes", by_key=False, status=401)


def test_refusals_and_replays_have_the_key_id_too(logged):
    """The line has the key's id for a creation, its replay, a 502 without the issuer, and a 402 of a suspended account."""
    client, head = logged.shop.client, {"Idempotency-Key": "once"}
    body = {"pass_id": "p", "visible": {"name": "A"}}
    logged.expect(client.post("/v1/passes", body, headers=head), "/v1/passes", status=201)
    logged.expect(client.post("/v1/passes", body, headers=head), "/v1/passes", status=201)
    logged.service.cli("issuer", "pause")
    logged.expect(client.post("/v1/passes", {**body, "pass_id": "q"}), "/v1/passes", status=502)
    logged.service.cli("issuer", "resume")
    logged.shop.set("--suspended", "on")
    logged.expect(client.get("/v1/passes"), "/v1/passes", status=402)


def test_requests_without_a_valid_key_have_no_account(logged):
    client = logged.shop.client
    logged.expect(client.get("/v1/passes", key="sk_nonsense"), None, by_key=False, status=401)
    foreign = logged.shop.key[:-1] + ("b" if logged.shop.key[-1] == "a" else "a")
    logged.expect(client.get("/v1/passes", key=foreign), "/v1/passes", by_key=False, status=401)
    logged.expect(client.get("/elsewhere", key=""), None, by_key=False, status=404)
    logged.expect(client.get("/openapi.json", key=""), None, by_key=False, status=200)


def test_the_line_of_a_page_does_not_have_its_token(logged):
    made = logged.shop.create()
    path = urlsplit(made["download_url"]).path
    with logged.service.client() as visitor:
        logged.expect(visitor.get(path), "/p/{token}", by_key=False, account=logged.shop.account, status=200)
        logged.expect(visitor.get(path[:-2]), "/p/{token}", by_key=False, account=None, status=404)
    assert path.split("/")[2] not in logged.path.read_text()


def test_an_invalid_request_head_has_a_line(logged):
    with socket.create_connection(logged.service.http) as stranger:
        stranger.sendall(b"GET /\x01secret HTTP/1.1\r\n\r\n")
        answer = stranger.recv(65536)
    assert answer.startswith(b"HTTP/1.1 400")
    own = re.search(rb"(?i)x-request-id: (\S+)", answer)[1].decode()
    (line,) = wait_for(lambda: [line for line in logged.lines() if line["request_id"] == own], 10, "its line")
    assert (line["status"], line["method"], line["route"], line["account"]) == (400, None, None, None)
    assert "secret" not in logged.path.read_text()


def test_a_503_without_a_shard_has_the_account_and_no_key_id(logged):
    logged.service.expect_log("level=warn")
    made = logged.shop.create()["id"]
    for index in range(2):
        logged.service.signal("shard", index, 9)
    answer = logged.shop.client.get(path_of(made))
    if answer.status == 503:
        logged.expect(answer, "/v1/passes/{pass_id}", key_id=None)
    wait_for(logged.service.is_ready, 20, "readiness")


def test_requests_to_the_admin_listener_have_no_line(logged):
    logged.shop.create()
    assert logged.service.is_ready() and look(logged.service)
    logged.line_of(logged.shop.client.get("/v1/passes"))
    assert {line["route"] for line in logged.lines()} == {"/v1/passes"}


def test_the_file_has_mode_640_and_is_appended_to_after_restarts(logged):
    assert logged.path.stat().st_mode & 0o777 == 0o640 & ~current_umask()
    first = logged.shop.client.get("/v1/passes")
    logged.line_of(first)
    logged.service.expect_log("event=died child=http-0")
    logged.service.kill_child("http")
    logged.shop.client.close()
    logged.line_of(logged.shop.client.get("/v1/passes"))
    assert logged.service.stop() == 0
    logged.service.start()
    logged.shop.client.address = logged.service.http
    logged.line_of(logged.shop.client.get("/v1/passes"))
    logged.line_of(first)


@pytest.mark.parametrize("how", ["reload", "HUP"])
def test_a_reload_opens_the_file_again(logged, how):
    """Log rotation renames the file: it must stay unchanged after a reload, and a new file is created."""
    logged.line_of(logged.shop.client.get("/v1/passes"))
    rotated = logged.path.with_suffix(".1")
    logged.path.rename(rotated)
    if how == "reload":
        logged.service.cli("reload")
    else:
        logged.service.process.send_signal(signal.SIGHUP)
    wait_for(logged.path.exists, 10, "a new file")
    before = rotated.read_bytes()
    logged.line_of(logged.shop.client.get("/v1/passes"))
    assert rotated.read_bytes() == before


def current_umask():
    before = os.umask(0)
    os.umask(before)
    return before


def test_a_stop_writes_all_lines(logged):
    answers = [logged.shop.client.get("/v1/passes") for _ in range(50)]
    assert logged.service.stop() == 0
    assert {answer.headers["x-request-id"] for answer in answers} <= {line["request_id"] for line in logged.lines()}


def refused(service, where):
    service.expect_log("level=fatal")
    service.start(wait=False, command=[*service.command(), "--access-log", where])
    assert service.process.wait(20 * PATIENCE) == 1
    service.process = None
    (line,) = service.log_lines()
    assert "level=fatal" in line and "event=bad_option option=--access-log" in line, line
    assert not service.data.exists()
    return line


def test_a_log_file_that_cannot_be_opened_is_refused(new_service):
    service = new_service(start=False)
    assert "No such file or directory" in refused(service, service.home / "none" / "access")
    service = new_service(start=False)
    assert "Is a directory" in refused(service, service.home)
    service = new_service(start=False)
    os.mkfifo(pipe := service.home / "pipe")
    assert "a pipe that no process reads" in refused(service, pipe)


def test_a_reader_that_has_stopped_is_reported(new_service):
    """A pipe that is open but not read: no request waits, and once lines are dropped the log says so."""
    service = new_service(start=False, shards=1)
    os.mkfifo(pipe := service.home / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    service.expect_log("event=access_log_stalled ")
    service.start(command=[*service.command(), "--access-log", pipe])
    shop = Shop(service)

    def is_reported():
        for _ in range(500):
            assert shop.client.get("/v1/trigger-rules", headers={"X-Request-Id": "x" * 128}).status == 200
        return any("event=access_log_stalled " in line and "stopped reading" in line for line in service.log_lines())

    wait_for(is_reported, 30, "the stalled access log to be logged")
    shop.close()
    os.close(reader)


def test_a_refused_start_leaves_no_file(new_service):
    service = new_service(start=False)
    service.expect_log("level=fatal")
    where = service.home / "access"
    service.start(wait=False, command=[*service.command(), "--access-log", where, "--tls-cert", "none", "--tls-key", "none"])
    assert service.process.wait(20 * PATIENCE) == 1
    service.process = None
    assert not where.exists()


def test_the_access_log_can_share_stderr_with_the_log(new_service):
    service = new_service(start=False, shards=1, options=("--access-log", "-", "--log-format", "json"))
    service.expect_log(".")
    service.start()
    shop = Shop(service)
    shop.create()
    assert service.stop() == 0
    lines = [json.loads(line) for line in service.log_lines()]
    assert [(line["route"], line["status"]) for line in lines if "route" in line] == [("/v1/passes", 201)]
    assert [line["event"] for line in lines if line.get("event") == "ready"]


def test_a_full_stderr_delays_no_request_and_dropped_lines_are_counted(new_service):
    """Standard error is a full pipe. Every request is still answered, and a metric counts the lines that were dropped."""
    small_pipe = outputs.pipe()
    service = new_service(start=False, shards=1, options=("--access-log", "-"))
    service.start(log=small_pipe.fd)
    shop = Shop(service)
    small_pipe.fill()
    body = {"X-Request-Id": "x" * 128}

    def many():
        with service.client(shop.key) as client:
            for _ in range(800):
                assert client.get("/v1/trigger-rules", headers=body).status == 200

    def dropped():
        return look(service).get("stampede_access_log_lines_dropped_total")

    for _ in range(4):  # until the service's buffer is full too
        threads = [threading.Thread(target=many) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        if dropped():
            break
    assert dropped() > 0
    assert look(service).get("stampede_http_requests_total", route="RULE_LIST", status="200") % 3200 == 0
    assert service.stop() == 0
    small_pipe.close()
