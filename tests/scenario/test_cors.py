"""Browsers: which origins may call the interface, the answers to preflights, and headers that are never exposed."""
import json

import pytest
from shop import Shop, path_of

SHOP, OFFICE = "https://shop.example", "http://localhost:3000"
STRANGERS = ["https://shop.example.evil", "https://evil.example", "https://shop.example:443", "http://shop.example",
             "https://SHOP.example", "https://shop.example/", "null", "*", "", "https://shop.example, " + OFFICE,
             "https://shop.example " + OFFICE]
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}


@pytest.fixture(scope="module")
def own(module_services):
    shop = Shop(module_services(shards=1, options=["--cors-origin", SHOP, "--cors-origin", OFFICE]), ("balance",))
    yield shop
    shop.close()


def cors_headers(answer):
    return {name for name in answer.headers if name.startswith("access-control-")}


def names(answer, header):
    return {name.strip().lower() for name in answer.headers[header].split(",")}


@pytest.mark.parametrize("origin", [SHOP, OFFICE])
@pytest.mark.parametrize("path", ["/v1/passes", "/v1/passes/x/loyalty", "/v1/nothing", "/nowhere"])
def test_a_preflight_from_an_allowed_origin_needs_no_key(own, origin, path):
    with own.service.client() as client:
        answer = client.request("OPTIONS", path, headers={"Origin": origin, **PREFLIGHT})
    answer.is_empty(204)
    assert answer.headers["access-control-allow-origin"] == origin
    assert names(answer, "access-control-allow-methods") == {"get", "head", "post", "put", "patch", "delete"}
    assert names(answer, "access-control-allow-headers") >= {"authorization", "content-type", "idempotency-key"}
    assert int(answer.headers["access-control-max-age"]) > 0
    assert "content-length" not in answer.headers


@pytest.mark.parametrize("origin", STRANGERS)
def test_other_origins_get_no_cors_headers(own, origin):
    with own.service.client() as client:
        preflight = client.request("OPTIONS", "/v1/passes", headers={"Origin": origin, **PREFLIGHT})
        preflight.is_error(401, "UNAUTHENTICATED")
    answer = own.client.get("/v1/passes", headers={"Origin": origin})
    assert answer.status == 200, "the service answers other origins; the browser enforces CORS"
    for one in (preflight, answer):
        assert cors_headers(one) == set(), one


def test_every_answer_allows_the_origin_and_varies_by_it(own):
    made = own.create()
    path, head = path_of(made["id"]), {"Origin": SHOP}
    body = json.dumps({"balance_to_add": 1}).encode()
    answers = [own.client.get("/v1/passes", headers=head), own.client.get(path, headers=head),
               own.client.head(path, headers=head), own.client.patch(path, {}, headers=head),
               own.client.request("POST", path + "/loyalty", body=body,
                                  headers={**head, "Content-Type": "application/json"}),
               own.client.get("/v1/passes/nobody", headers=head), own.client.get("/v1/nothing", headers=head),
               own.client.get("/v1/passes", headers=head, key="bad"), own.client.get("/nowhere", headers=head),
               own.client.request("PUT", "/v1/passes", headers=head),
               own.client.get("/v1/passes?limit=0", headers=head)]
    assert [answer.status for answer in answers] == [200, 200, 200, 204, 202, 404, 404, 401, 404, 405, 400]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == SHOP, answer
        assert "origin" in names(answer, "vary"), answer
        assert cors_headers(answer) == {"access-control-allow-origin"}, answer
    without = own.client.get(path)
    assert cors_headers(without) == set()
    assert "origin" in names(without, "vary"), "a cache must not give the answer to one origin to another"


def test_count_headers_of_lists_are_not_exposed(own):
    answer = own.client.get("/v1/passes?limit=1", headers={"Origin": SHOP})
    assert "x-total-count" in answer.headers and "access-control-expose-headers" not in answer.headers


def test_options_without_preflight_headers_is_an_ordinary_method(own):
    for headers in ({}, {"Origin": SHOP}, PREFLIGHT):
        own.client.request("OPTIONS", "/v1/passes", headers=headers).is_error(405, "METHOD_NOT_ALLOWED")
        own.client.request("OPTIONS", "/v1/nothing", headers=headers).is_error(404, "ROUTE_NOT_FOUND")


def test_without_allowed_origins_there_is_no_cors(till):
    answer = till.client.get("/v1/passes", headers={"Origin": SHOP})
    assert cors_headers(answer) == set() and "vary" not in answer.headers
    till.client.request("OPTIONS", "/v1/passes", headers={"Origin": SHOP, **PREFLIGHT}).is_error(
        405, "METHOD_NOT_ALLOWED")
