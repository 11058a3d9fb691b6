"""Tests of contract.py, which validates answers against the OpenAPI document: faults that it must find."""
import json

import pytest
from contract import Contract, contract
from shop import path_of

DOCUMENT = contract().document


def spoilt_by(change):
    document = json.loads(json.dumps(DOCUMENT))
    change(document)
    return Contract(document)


def listed(document):
    return document["paths"]["/v1/passes"]["get"]["responses"]


def of_pass(document):
    return document["components"]["schemas"]["Pass"]


SPOILT = {
    "an operation": lambda document: document["paths"]["/v1/passes"].pop("get"),
    "a path": lambda document: document["paths"].pop("/v1/passes"),
    "a status": lambda document: listed(document).pop("200"),
    "a member": lambda document: of_pass(document)["properties"].pop("balance"),
    "a member that is always there": lambda document: of_pass(document)["required"].append("deleted_at"),
    "a type": lambda document: of_pass(document)["properties"]["balance"].update(type="string"),
    "a null": lambda document: of_pass(document)["properties"].update(appearance={"type": "object"}),
    "a word": lambda document: document["components"]["schemas"]["PassStatus"]["enum"].remove("issued"),
    "a form": lambda document: of_pass(document)["properties"]["id"].update(format="uuid"),
    "a time's form": lambda document: of_pass(document)["properties"]["id"].update(format="date-time"),
    "a header": lambda document: listed(document)["200"]["headers"].pop("X-Total-Count"),
    "a header's type": lambda document: document["components"]["headers"]["X-Has-More"]["schema"].update(type="integer"),
    "a header that is always there": lambda document: listed(document)["200"]["headers"].update(
        {"Retry-After": {"required": True, "schema": {"type": "integer"}}}),
    "a body": lambda document: listed(document)["200"].pop("content"),
    "a kind of body": lambda document: listed(document)["200"].update(content={"text/plain": {"schema": {}}}),
}


@pytest.mark.parametrize("change", SPOILT.values(), ids=SPOILT)
def test_the_checker_finds_undocumented_answers(shop, change):
    shop.create()
    answer = shop.client.get("/v1/passes")
    Contract(DOCUMENT).hold(("GET", "/v1/passes", None), answer)
    with pytest.raises(AssertionError):
        spoilt_by(change).hold(("GET", "/v1/passes", None), answer)


def test_the_checker_finds_requests_that_are_not_documented(shop):
    answer = shop.client.patch(path_of(shop.create()["id"]), {"appearance": {"title": "T"}, "visible": None})
    for body in ({"appearance": {"title": 1}}, {"hidden": []}, {"other": 1}):
        with pytest.raises(AssertionError):
            Contract(DOCUMENT).hold(("PATCH", "/v1/passes/x", json.dumps(body).encode()), answer)


def test_the_checker_finds_codes_and_methods_that_are_not_documented(shop):
    refused = shop.client.get("/v1/passes?limit=0")
    with pytest.raises(AssertionError):
        spoilt_by(lambda document: listed(document).update({"400": listed(document)["401"]})).hold(("GET", "/v1/passes", None), refused)
    stray = shop.client.request("PUT", "/v1/passes")
    with pytest.raises(AssertionError):
        spoilt_by(lambda document: document["paths"]["/v1/passes"].pop("get")).hold(("PUT", "/v1/passes", None), stray)
