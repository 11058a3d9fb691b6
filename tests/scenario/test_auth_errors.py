"""Keys, suspension, the error body, request ids, and the order in which a request is checked."""
import json

import pytest
from harness import refusal
from raw import take_answers, talk
from shop import new_id, path_of

FIELDS_PATH = "/v1/pass-templates/accepted-fields"


def unauthenticated(answer):
    answer.is_error(401, "UNAUTHENTICATED")
    assert answer.headers["www-authenticate"] == "Bearer"
    return answer


# Keys

@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Bearer x", "Basic dTpw", "Bearer sk_", "sk_x_y",
                                    "Bearer sk_aaaaaaaaaaaaaaaa_" + "a" * 52, "Bearer " + "a" * 4000])
def test_no_key(till, service, header):
    with service.client() as client:
        headers = {} if header is None else {"Authorization": header}
        unauthenticated(client.get("/v1/passes", headers=headers))


@pytest.mark.parametrize("blanks", [" ", "\t", " \t "])
def test_white_space_around_header_values_is_ignored(till, service, blanks):
    lines = ["GET /v1/passes?limit=1 HTTP/1.1", "Host: x", f"Authorization:{blanks}Bearer {till.key}{blanks}",
             f"X-Request-Id:{blanks}mine{blanks}", "Connection: close", "", ""]
    answer, = take_answers(talk(service.http, ["\r\n".join(lines).encode()]))
    assert (answer.status, answer.headers["x-request-id"]) == (200, "mine")


def test_keys_are_made_listed_and_revoked(new_shop, service):
    shop = new_shop("balance")
    pass_id = shop.create()["id"]
    made = service.cli("key", "create", shop.account)
    assert set(made) == {"key_id", "api_key"}
    assert made["api_key"].startswith(f"sk_{shop.account.removeprefix('acc_')}_")
    path = path_of(pass_id)
    assert shop.client.get(path, key=made["api_key"]).status == 200
    listed = service.cli("key", "list", shop.account)
    assert [set(key) for key in listed] == [{"key_id", "created_at", "revoked_at"}] * 2
    assert [key["revoked_at"] for key in listed] == [None, None]
    assert made["key_id"] == listed[1]["key_id"]
    revoked = service.cli("key", "revoke", shop.account, made["key_id"])
    assert (revoked["key_id"], bool(revoked["revoked_at"])) == (made["key_id"], True)
    unauthenticated(shop.client.get(path, key=made["api_key"]))
    assert shop.client.get(path).status == 200
    assert service.cli("key", "list", shop.account)[1] == revoked
    service.cli("key", "revoke", shop.account, listed[0]["key_id"])
    unauthenticated(shop.client.get(path))


def test_revoking_an_unknown_key_is_refused(new_shop, service):
    shop, other = new_shop(), new_shop()
    foreign = service.cli("key", "list", other.account)[0]["key_id"]
    for key in ("nothing", foreign, "0198c0de-0000-7000-8000-000000000000"):
        assert refusal(service.cli, "key", "revoke", shop.account, key).code == "RESOURCE_NOT_FOUND"
    assert other.list() == ([], 0, False)


# Suspension

def test_a_suspended_account(shop):
    made, gone = shop.create(), shop.create()
    assert shop.set("--suspended", "on")["suspended"] is True
    path = path_of(made["id"])
    for answer in (shop.client.get("/v1/passes"), shop.client.get(path), shop.client.get(FIELDS_PATH),
                   shop.client.post("/v1/passes", {"pass_id": new_id(), "visible": {"name": "A"}}),
                   shop.client.patch(path, {"hidden": {"a": 1}}), shop.try_add(made["id"], 1)):
        answer.is_error(402, "ACCOUNT_SUSPENDED")
    shop.delete(gone["id"])
    shop.client.delete(path_of(gone["id"])).is_error(404, "RESOURCE_NOT_FOUND")
    assert shop.set("--suspended", "off")["suspended"] is False
    assert shop.get(made["id"]) == made
    assert shop.list()[1] == 1


def test_operator_commands_work_for_a_suspended_account(shop):
    made = shop.create()
    shop.set("--suspended", "on")
    assert shop.event(made["id"], "installed")["status"] == "active"
    assert shop.history(made["id"])


# Request ids and the error body

def test_the_request_id_is_the_clients_if_valid(till):
    for given in ("a", "x" * 128, "!~{}[]\"';,", "0198c0de-0000-7000-8000-000000000000"):
        answer = till.client.get("/v1/passes/nobody", headers={"X-Request-Id": given})
        assert answer.headers["x-request-id"] == given
        answer.is_error(404, "RESOURCE_NOT_FOUND")
    for given in ("", "x" * 129, "a b", "é".encode(), "tab\tbed"):
        answer = till.client.get("/v1/passes/nobody", headers={"X-Request-Id": given})
        assert answer.headers["x-request-id"] not in ("", given)
        answer.is_error(404, "RESOURCE_NOT_FOUND")
    made = {till.client.get("/v1/passes").headers["x-request-id"] for _ in range(20)}
    assert len(made) == 20


def test_every_kind_of_answer_has_a_request_id(till):
    pass_id = till.create()["id"]
    head = {"X-Request-Id": "mine"}
    path = path_of(pass_id)
    for answer in (till.client.get(path, headers=head), till.client.patch(path, {}, headers=head),
                   till.client.post(path + "/loyalty", {"balance_to_add": 1}, headers=head),
                   till.client.head(path, headers=head), till.client.get("/nowhere", headers=head),
                   till.client.get("/v1/passes", key="bad", headers=head), till.client.delete(path, headers=head)):
        assert answer.headers["x-request-id"] == "mine", answer


# Bodies

def test_white_space_and_escapes_in_json_are_accepted(till):
    pass_id = new_id()
    text = f'\r\n\t {{ "pass\\u005fid" :\n"{pass_id}" , "visible":{{"name":"\\u0041\\/\\ud83d\\ude00"}} }} \n'
    answer = till.client.post_raw("/v1/passes", text)
    assert answer.status == 201 and answer.json["visible"]["name"] == "A/\U0001f600"


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON",
                                  "application/json;charset=UTF-8;v=1"])
def test_json_content_types(till, kind):
    body = json.dumps({"pass_id": new_id(), "visible": {"name": "A"}}).encode()
    assert till.client.request("POST", "/v1/passes", body=body, headers={"Content-Type": kind}).status == 201


@pytest.mark.parametrize("coding, status", [("gzip", 415), ("br", 415), ("x", 415), ("identity, gzip", 415), ("identity;q=1", 415),
                                            ("identity", 201), ("Identity", 201), ("", 201)])
def test_content_encodings(till, coding, status):
    body = json.dumps({"pass_id": new_id(), "visible": {"name": "A"}}).encode()
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    answer = till.client.request("POST", "/v1/passes", body=body, headers=headers)
    assert answer.status == status, answer
    if status == 415:
        answer.is_error(415, "UNSUPPORTED_MEDIA_TYPE")
        headers["Content-Encoding"] = "identity"
        assert till.client.request("POST", "/v1/passes", body=body, headers=headers).status == 201, "the refused request changed something"
    coded = {"Content-Encoding": coding}
    assert till.client.request("GET", "/v1/passes", body=b"x", headers=coded).status == 200, "operations without a body ignore one"
    assert till.client.request("PATCH", path_of(json.loads(body)["pass_id"]), headers=coded).status == 204, "an empty body needs no content encoding"


# The order of checks: each request has every fault from `code` on. The answer must name the first one.

def test_the_order_of_checks(new_shop, service):
    shop, other = new_shop("balance"), new_shop("balance")
    taken = shop.create()["id"]
    text, json_type = {"Content-Type": "text/plain"}, {"Content-Type": "application/json"}
    foreign = other.templates["balance"]

    def send(method, path, body=None, headers=None, key=None):
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        return shop.client.request(method, path, body=data, headers=headers, key=key)

    shop.set("--suspended", "on")
    send("PUT", "/v1/nowhere", b"{", text, "bad").is_error(401, "UNAUTHENTICATED")
    send("PUT", "/v1/nowhere", b"{", text).is_error(402, "ACCOUNT_SUSPENDED")
    send("PUT", "/v1/passes", b"{", text).is_error(402, "ACCOUNT_SUSPENDED")
    shop.set("--suspended", "off")
    send("PUT", "/v1/nowhere", b"{", text).is_error(404, "ROUTE_NOT_FOUND")
    send("PUT", "/v1/passes", b"{", text).is_error(405, "METHOD_NOT_ALLOWED")
    send("POST", "/v1/passes", b"{", text).is_error(415, "UNSUPPORTED_MEDIA_TYPE")
    send("POST", "/v1/passes", b'{"pass_id":5,"pass_id":5}', json_type).is_error(400, "INVALID_REQUEST")
    loyalty = "/v1/passes/nobody/loyalty"
    send("POST", loyalty, {"balance_to_add": "x"}, json_type).is_error(400, "INVALID_INPUT", "balance_to_add")
    send("PATCH", "/v1/passes/nobody", {"hidden": 1}, json_type).is_error(400, "INVALID_INPUT", "hidden")
    send("GET", "/v1/passes/nobody?include_deleted=x").is_error(400, "INVALID_INPUT", "include_deleted")
    body = {"pass_id": taken, "pass_template_id": foreign, "visible": {"name": 5}, "hidden": 1}
    send("POST", "/v1/passes", body, json_type).is_error(400, "INVALID_INPUT", "hidden")
    del body["hidden"]
    send("POST", "/v1/passes", body, json_type).is_error(403, "UNAUTHORIZED")
    del body["pass_template_id"]
    send("POST", "/v1/passes", body, json_type).is_error(422, "PASS_TEMPLATE_DATA_INVALID")
    body["visible"] = {"name": "A"}
    send("POST", "/v1/passes", body, json_type).is_error(409, "RESOURCE_CONFLICT")
