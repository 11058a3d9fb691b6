"""The OpenAPI document: it is the same from every source, complete, and accepted by a public checker. The service obeys
it: every status and code of every operation is provoked (refusals.py) and validated (contract.py, which also validates
the answers of all other scenarios)."""
import json
import os
import signal
import subprocess

import pytest
from contract import Contract, contract, held_by
from good_requests import GOOD, MORE, OPERATIONS, Shops, ask, body_of, create, nothing, target_of
from harness import ROOT
from hooks import KINDS
from refusals import ELSEWHERE, provoke
from routes import ROUTES
from shop import Shop, new_id

pytestmark = pytest.mark.plain  # tests the contents of answers

DOCUMENT = contract()


def codes_of(response):
    return DOCUMENT.resolved(response)["content"]["application/json"]["schema"]["allOf"][1]["properties"]["code"]["enum"]


SUCCESSES = [(name, int(status)) for name, (_, _, operation) in OPERATIONS.items() for status in operation["responses"]
             if int(status) < 400]
REFUSALS = [(name, int(status), code) for name, (_, _, operation) in OPERATIONS.items()
            for status, response in operation["responses"].items() if int(status) >= 400 for code in codes_of(response)]


@pytest.fixture(scope="module")
def shops(module_services):
    shops = Shops(module_services(shards=1, options=["--max-body", "65536"]))
    yield shops
    shops.close()


def test_the_command_and_the_route_return_the_same_document(service):
    printed = json.loads(service.run("openapi", data=False).stdout)
    with service.client() as client:
        answer, head = client.get("/openapi.json"), client.head("/openapi.json?v=1")
        client.post("/openapi.json", {}).is_error(405, "METHOD_NOT_ALLOWED")
        refused = client.request("DELETE", "/openapi.json")
    assert (answer.status, answer.headers["content-type"], answer.json) == (200, "application/json", printed)
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(answer.body)))
    refused.is_error(405, "METHOD_NOT_ALLOWED")
    assert refused.headers["allow"] == "GET, HEAD"
    with service.admin() as admin:
        assert admin.get("/openapi.json").status == 404


def test_the_document_has_exactly_the_routes_of_the_service():
    got = [(path, method) for path, method, _ in OPERATIONS.values()]
    assert sorted(got) == sorted((route.path, route.method) for route in ROUTES)
    ids = [operation["operationId"] for _, _, operation in DOCUMENT.operations()]
    assert len(ids) == len(set(ids)) == len(ROUTES)
    for route in ROUTES:
        operation = DOCUMENT.document["paths"][route.path][route.method.lower()]
        assert str(route.status) in operation["responses"], route
        parameters = [DOCUMENT.resolved(one) for one in operation["parameters"]]
        assert [one["name"] for one in parameters if one["in"] == "path"] == route.ids, route
        assert ("Idempotency-Key" in [one["name"] for one in parameters]) == (route.method != "GET"), route


def test_the_document_has_exactly_the_events_of_the_service():
    assert list(DOCUMENT.document["webhooks"]) == KINDS
    for kind, item in DOCUMENT.document["webhooks"].items():
        names = [DOCUMENT.resolved(one)["name"] for one in item["post"]["parameters"]]
        assert names == ["Service-Webhook-Id", "Service-Webhook-Timestamp", "Service-Webhook-Signature"], kind


def test_a_public_checker_finds_nothing(tmp_path):
    found = subprocess.run([ROOT / "ops" / "redocly"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"no checker: {found.stderr}")
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(DOCUMENT.document, indent=1))
    env = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    run = subprocess.run([found.stdout.strip(), "lint", file, "--max-problems", "20", "--format", "json"], cwd=tmp_path, env=env,
                         capture_output=True, text=True, check=False)
    verdict = json.loads(run.stdout)
    assert run.returncode == 0 and verdict["problems"] == [], run.stdout


@pytest.mark.parametrize("name", [name for name, status in SUCCESSES if status != 202 or "passLoyalty" in name])
def test_valid_requests_are_answered_as_documented(shops, name):
    """Without an idempotency key, with one, and repeated with it."""
    wanted = min(status for each, status in SUCCESSES if each == name)
    assert ask(shops.shop, name).status == wanted
    key = {"Idempotency-Key": new_id("key")}
    target, body = target_of(name, GOOD[name][0](shops.shop)), body_of(shops.shop, name)
    first = ask(shops.shop, name, target, body, headers=key)
    again = ask(shops.shop, name, target, body, headers=key)
    assert (first.status, again.status) == (wanted, wanted)
    assert ("idempotency-replayed" in again.headers) == (OPERATIONS[name][1] != "GET")
    if OPERATIONS[name][1] == "GET":
        assert shops.shop.client.head(target).status == wanted


@pytest.mark.parametrize(("name", "status", "code"), [one for one in REFUSALS if one[2] not in ELSEWHERE])
def test_invalid_requests_are_refused_as_documented(shops, name, status, code):
    provoke(shops, name, code).is_error(status, code)
    shops.service.unexpected_lines()


def test_a_failed_creation_is_202(shops):
    answer = create(shops, appearance={"logo": "https://127.0.0.1/logo.png"})
    assert (answer.status, answer.json["status"]) == (202, "creation_failed")


def test_every_member_is_returned_and_optional_ones_are_sometimes_absent(shops):
    looks = Contract(DOCUMENT.document)
    with held_by(looks):
        for name in OPERATIONS:
            MORE.get(name, nothing)(shops)
            ask(shops.shop, name)
    expected = set()
    for name, schema in DOCUMENT.document["components"]["schemas"].items():
        for member in schema.get("properties", {}) if name != "Error" and not name.endswith(("Change", "Request", "Event")) else ():
            expected.add((name, member, True))
            if member not in schema["required"]:
                expected.add((name, member, False))
    assert expected - looks.seen == set()


def test_answers_while_a_shard_is_stopped(new_service):
    """Reads get 503 after their deadline, and writes, which may have been executed, 504. Both are as documented."""
    shop = Shop(new_service(shards=1), ("balance",), functions=("--webhooks", "--rewards"))
    ready = {name: (target_of(name, GOOD[name][0](shop)), body_of(shop, name)) for name in OPERATIONS}
    clients = {name: shop.service.client(shop.key) for name in OPERATIONS}
    pid = shop.service.signal("shard", 0, signal.SIGSTOP)
    for name, (target, body) in ready.items():
        clients[name].send(OPERATIONS[name][1], target, body)
    answers = {name: client.receive() for name, client in clients.items()}
    os.kill(pid, signal.SIGCONT)
    for name, answer in answers.items():
        reads = OPERATIONS[name][1] == "GET"
        answer.is_error(*((503, "SHARD_UNAVAILABLE") if reads else (504, "OUTCOME_UNKNOWN")))
        clients[name].close()
    shop.close()
