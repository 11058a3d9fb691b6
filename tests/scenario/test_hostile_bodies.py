"""Generated hostile bodies and ids: every operation with a body, every field, every wrong type, and all kinds of
invalid JSON. The error names the field, nothing is stored, and the same processes answer the next request.

`untouched` compares the service before and after a test: the account's list byte for byte, the histories, the counts,
and the journal, which must not grow by a record."""
import json
import socket
from contextlib import closing
from pathlib import Path

import pytest
from exact import exact
from harness import serve_to_the_end, wait_for
from hostile import BROKEN, IMPOSSIBLE, VALUES, bodies_around, keys_that_meet, nested, raw, values_but
from hooks import hooks_of, subscribe
from operations import IDS, OPERATIONS, code_of
from patience import PATIENCE
from rewards import offer, rewards_of
from routes import ROUTES
from shop import Shop, new_id, path_of

JSON = {"Content-Type": "application/json"}
MB = 1 << 20
RESIDENT_KB_MAX = 200_000  # peak of any process
each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def resident_kb_most(pid):
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])


@pytest.fixture(scope="module")
def shared_service():
    """A service for this module alone. Retries of deliveries that other files left would make its journal grow."""
    yield from serve_to_the_end()


@pytest.fixture(scope="module")
def victim(shared_service):
    """A shop with the pass that all tests target. At the end the same processes must run and verify must find no fault."""
    shop = Shop(shared_service, ("balance",), functions=("--webhooks", "--rewards"))
    IDS["subscription_id"] = subscribe(shop, kinds=["scan.created"])["id"]  # no scans are made, so no delivery is attempted
    offer(shop, slug="victim")
    shop.create("victim", hidden={"a": 1.50}, appearance={"title": "T"})
    shop.add("victim", 3)
    before = processes(shared_service)
    for pid, _ in before.values():
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets the peak resident size
    yield shop
    assert processes(shared_service) == before
    verdict = shared_service.cli("verify")
    assert verdict["ok"] is True and verdict["faults"] == []
    shop.close()


def processes(service):
    return {(one["role"], one["index"]): (one["pid"], one["epoch"]) for one in service.status()["processes"]}


def all_of_it(shop):
    listed = shop.client.get("/v1/passes?include_deleted=1")
    counts = [{key: shard[key] for key in ("index", "accounts", "passes", "journal_seq")}
              for shard in shop.service.status()["shards"]]
    scans = shop.client.get("/v1/scans").body
    return (listed.body, listed.headers["x-total-count"], shop.history("victim"), hooks_of(shop), scans,
            rewards_of(shop, "?include_archived=1"), counts)


@pytest.fixture
def untouched(victim, service):
    before = all_of_it(victim)
    yield victim
    assert all_of_it(victim) == before
    victim.client.patch("/v1/passes/victim", {}).is_empty(204)


class Verdicts:
    """Sends bodies and collects all unexpected answers, so that one run shows all of them."""

    def __init__(self, shop):
        self.shop, self.wrong, self.count = shop, [], 0

    def send(self, operation, body, status, code, field=None, headers=JSON):
        answer = self.shop.client.request(operation.method, operation.path, body=body, headers=headers)
        self.count += 1
        try:
            error = answer.is_error(status, code, field)
            if code == "INVALID_INPUT" or code.startswith("INVALID_WEBHOOK"):
                assert "field" in error
        except (AssertionError, ValueError):
            self.wrong.append((operation.method, raw(body)[:200], len(body), (status, code, field), answer))

    def close(self):
        assert self.count and not self.wrong, "\n".join(map(str, [len(self.wrong), *self.wrong[:20]]))


@pytest.fixture
def verdicts(untouched):
    gathered = Verdicts(untouched)
    yield gathered
    gathered.close()


# Wrong types

@pytest.mark.drawn(2)
@each_operation
def test_wrong_types(verdicts, operation):
    for field, kinds in operation.fields.items():
        wrong = values_but("number" if kinds[0] == "integer" else kinds[0])
        for value in wrong if "null" in kinds else [*wrong, "null"]:
            verdicts.send(operation, operation.body(field, value), 400, code_of(field), field)


@each_operation
def test_required_fields_left_out(verdicts, operation):
    for field in operation.required():
        rest = {name: value for name, value in operation.good.items() if name != field}
        verdicts.send(operation, json.dumps(rest), 400, code_of(field), field)
        first = operation.required()[0]
        if not operation.bare:
            verdicts.send(operation, "{}", 400, code_of(first), first)
            verdicts.send(operation, "", 400, "INVALID_REQUEST")
    if not operation.required():
        verdicts.send(operation, "[]", 400, "INVALID_REQUEST")


@pytest.mark.drawn(2)
@each_operation
def test_unknown_fields(verdicts, operation):
    names = ["x", "", " ", "Hidden", "VISIBLE", "pass_id ", "_id", "__proto__", "constructor", "status", "balance", "created_at",
             "\0", "pass_id\0", "é", "\U0001f600", "a.b", "a" * 200, *(name.upper() for name in operation.fields)]
    for name in set(names) - set(operation.ignored):
        for value in ("null", "1", '"x"', "{}"):
            key = json.dumps(name).encode()
            whole = raw(json.dumps(operation.good))
            verdicts.send(operation, whole[:-1] + b"," + key + b":" + raw(value) + b"}", 400, "INVALID_INPUT", name)
            verdicts.send(operation, b"{" + key + b":" + raw(value) + b"," + whole[1:], 400, "INVALID_INPUT", name)
    for other in set().union(*(each.fields for each in OPERATIONS.values())) - set(operation.fields):
        verdicts.send(operation, operation.body(other, '"x"'), 400, "INVALID_INPUT", other)


VISIBLE = {"name": "string", "visits": "number", "birthday": "string", "site": "string", "vip": "boolean"}


@pytest.mark.parametrize("operation", [OPERATIONS["PASS_CREATE"], OPERATIONS["PASS_PATCH"]], ids=["create", "patch"])
def test_wrong_types_in_nested_values(verdicts, operation):
    for key, kind in VISIBLE.items():
        for value in values_but(kind):
            body = operation.body("visible", '{"name":"A","vip":true,"%s":%s}' % (key, value) if key not in ("name", "vip")
                                  else '{"%s":%s,"visits":1%s}' % (key, value, "" if key == "name" else ',"name":"A"'))
            verdicts.send(operation, body, 422, "PASS_TEMPLATE_DATA_INVALID")
    for key in ("nobody", "points", "", "NAME", "name\\u0000"):
        for value in ("null", '"x"', "1", "{}", "[]"):
            body = operation.body("visible", '{"name":5,"%s":%s}' % (key, value))
            verdicts.send(operation, body, 400, "INVALID_INPUT")
    for key in ("background_color", "logo", "banner", "title"):
        for value in values_but("string"):
            verdicts.send(operation, operation.body("appearance", '{"%s":%s}' % (key, value)), 400, "INVALID_INPUT")
    for key in ("background_color", "logo", "banner"):
        for value in VALUES["string"]:
            verdicts.send(operation, operation.body("appearance", '{"%s":%s}' % (key, value)), 400, "INVALID_INPUT")
    for key in ("font", "", "Title", "title\\u0000"):
        verdicts.send(operation, operation.body("appearance", '{"%s":null}' % key), 400, "INVALID_INPUT")


# Invalid JSON

@pytest.mark.drawn(2)
@each_operation
def test_values_that_are_invalid_json(verdicts, operation):
    for field in [*operation.fields, "unknown"]:
        for value in BROKEN:
            verdicts.send(operation, operation.body(field, value), 400, "INVALID_REQUEST")


@pytest.mark.parametrize("operation", [OPERATIONS["PASS_CREATE"], OPERATIONS["PASS_PATCH"]], ids=["create", "patch"])
def test_nested_values_that_are_invalid_json(verdicts, operation):
    for value in BROKEN:
        for wrapped in (b'{"x":{"y":%s}}', b'{"x":[0,{"y":%s}]}'):
            verdicts.send(operation, operation.body("hidden", wrapped % raw(value)), 400, "INVALID_REQUEST")


@pytest.mark.drawn(2)
@each_operation
def test_bodies_that_are_not_an_object(verdicts, operation):
    for body in bodies_around(json.dumps(operation.good)):
        verdicts.send(operation, body, 400, "INVALID_REQUEST")


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_bodies_of_operations_without_one_and_empty_bodies(untouched, route):
    """Operations without a body ignore one. Where a body is required an empty one is invalid JSON, whatever its
    Content-Type."""
    operation = OPERATIONS.get(route.message)
    if not operation:
        path = route.at(**dict.fromkeys(route.ids, "nobody"))
        bare = untouched.client.request(route.method, path)
        for body in (b"{", b"\0" * 1000, b"[" * 100_000):
            for headers in ({}, {"Content-Type": "a/b"}, JSON):
                answer = untouched.client.request(route.method, path, body=body, headers=headers)
                assert (answer.status, len(answer.body)) == (bare.status, len(bare.body)), (body[:10], headers, answer)
    elif operation.required() and not operation.bare:
        for headers in ({}, {"Content-Type": "a/b"}, JSON):
            answer = untouched.client.request(operation.method, operation.path, headers=headers)
            answer.is_error(400, "INVALID_REQUEST")


@each_operation
def test_duplicate_fields(verdicts, operation):
    for field in operation.good:
        value = raw(json.dumps(operation.good[field]))
        escaped = b"".join(b"\\u%04x" % byte for byte in raw(field))
        for name in (raw(field), escaped, b"\\u%04x" % ord(field[0]) + raw(field[1:])):
            body = operation.body(field, value)
            verdicts.send(operation, body[:-1] + b',"%s":%s}' % (name, value), 400, "INVALID_REQUEST")
            verdicts.send(operation, b'{"%s":null,%s' % (name, body[1:]), 400, "INVALID_REQUEST")


@pytest.mark.drawn(2)
@each_operation
def test_limit_of_depth(verdicts, operation):
    """The body is the first level. Values within 32 levels are parsed and then fail the field's type check; deeper ones
    are invalid JSON."""
    for field, kinds in {**operation.fields, "unknown": []}.items():
        code = code_of(field)
        for opening, ending in (("[", "]"), ('{"x":', "}")):
            if opening != "[" and "object" in kinds:
                continue
            inside = "" if opening == "[" else "1"
            for depth in (30, 31):
                value = opening * depth + inside + ending * depth
                verdicts.send(operation, operation.body(field, value), 400, code, field)
            for depth in (32, 33, 64):
                value = opening * depth + inside + ending * depth
                verdicts.send(operation, operation.body(field, value), 400, "INVALID_REQUEST")


@each_operation
def test_content_types(verdicts, operation):
    for kind in (None, "", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                 "application/jsonp", "application/json-seq", "application/problem+json", "json", "application", "*/*", "application/*",
                 "x, application/json", "application/json, text/plain", "text/plain; application/json"):
        headers = {} if kind is None else {"Content-Type": kind}
        for body in (json.dumps(operation.good), "{", "x"):
            verdicts.send(operation, body, 415, "UNSUPPORTED_MEDIA_TYPE", headers=headers)


# Sizes

@pytest.mark.drawn(2)
@each_operation
def test_long_strings_and_keys(verdicts, operation):
    long = "é" * (MB // 2)
    for field, kinds in operation.fields.items():
        if field == "pass_template_id":
            verdicts.send(operation, operation.body(field, f'"{long}"'), 422, "PASS_TEMPLATE_NOT_FOUND")
        elif "string" not in kinds or field in ("pass_id", "url", "name", "kind", "description") or "name" in operation.fields:
            verdicts.send(operation, operation.body(field, f'"{long}"'), 400, code_of(field), field)
    for key in (long, "k" * MB, "\\u0000" * 1000):
        body = operation.body(key, "1")
        answer = verdicts.shop.client.request(operation.method, operation.path, body=body, headers=JSON)
        named = answer.is_error(400, "INVALID_INPUT")["field"]
        assert named and json.loads(f'"{key}"').startswith(named), "the error does not name the field by the beginning of its key"
        assert len(named.encode()) < 1000
    for field, kinds in operation.fields.items():
        if "object" in kinds and field != "hidden":
            answer = verdicts.shop.client.request(operation.method, operation.path, headers=JSON,
                                                  body=operation.body(field, '{"%s":1}' % long))
            named = answer.is_error(400, "INVALID_INPUT")["field"]
            assert named.startswith(field) and len(named.encode()) < 1000
        elif "object" in kinds:
            for value in ('{"x":"%s!"}' % long, '{"%s!":1}' % long):
                verdicts.send(operation, operation.body(field, value), 413, "PAYLOAD_TOO_LARGE")


@pytest.mark.drawn(2)
@each_operation
def test_ten_thousand_keys(verdicts, operation):
    many = ",".join(f'"k{n}":{n}' for n in range(10_000))
    verdicts.send(operation, "{%s}" % many, 400, "INVALID_INPUT", "k0")
    verdicts.send(operation, '{%s,"k0":1}' % many, 400, "INVALID_REQUEST")
    for field, kinds in operation.fields.items():
        if "object" in kinds and field != "hidden":
            verdicts.send(operation, operation.body(field, "{%s}" % many), 400, "INVALID_INPUT")
        if "object" in kinds:
            verdicts.send(operation, operation.body(field, '{%s,"k9999":1}' % many), 400, "INVALID_REQUEST")


def filled(opening, item, closing, size):
    count = (size - len(opening) - len(closing) - len(item)) // len(item)
    return (opening + item * count + closing).ljust(size).encode()


HUGE = {
    "a list of numbers": filled('{"%s":[', "1,", "1]}", 16 * MB), "a list of lists": filled('{"%s":[', "[],", "1]}", 16 * MB),
    "a list of objects": filled('{"%s":[', '{"":{}},', "1]}", 16 * MB), "a string": filled('{"%s":"', "x", '"}', 16 * MB),
    "a string of escapes": filled('{"%s":"', "\\u0041", '"}', 16 * MB), "a number": filled('{"%s":', "1", "}", 16 * MB),
    "a key": filled('{"', "x", '":1}', 16 * MB), "brackets": b"[" * (16 * MB), "objects": filled("", '{"x":', "", 16 * MB),
    "quotes": b'"' * (16 * MB), "backslashes": b"\\" * (16 * MB), "noughts": b"\0" * (16 * MB), "space": b" " * (16 * MB),
    "many keys": ('{"%s":{' + ",".join(f'"{n:x}":0' for n in range(1_400_000)) + "}}").encode().ljust(16 * MB),
}


@pytest.mark.drawn(4)
@each_operation
def test_huge_bodies(untouched, operation):
    """Bodies of 16 MB are read and then refused with one of the errors that apply."""
    names = ("hidden", "message", "url", "slug", "note", "qr_value", "name")
    field = next(field for field in names if field in operation.fields)
    for name, body in HUGE.items():
        body = body.replace(b"%s", raw(field), 1)[:16 * MB]
        answer = untouched.client.request(operation.method, operation.path, body=body, headers=JSON)
        assert answer.status in (400, 413), (name, answer)
        answer.is_error(answer.status, answer.json["code"])
        assert answer.json["code"] in ("INVALID_REQUEST", code_of(field), "INVALID_INPUT", "PAYLOAD_TOO_LARGE"), (name, answer)
    if operation.method == "POST":
        answer = untouched.client.request(operation.method, operation.path, body=b" " * (16 * MB + 1), headers=JSON)
        answer.is_error(413, "PAYLOAD_TOO_LARGE")


@pytest.mark.plain
def test_huge_bodies_do_not_raise_peak_memory(victim, service):
    """Checks the peak memory of each process after all tests above."""
    for (role, index), (pid, _) in processes(service).items():
        assert resident_kb_most(pid) < RESIDENT_KB_MAX, (role, index)


def test_keys_with_colliding_checksums(untouched):
    """Keys with the same checksum must not be slower than others: the shard answers within its deadline."""
    chosen = json.dumps(dict.fromkeys(keys_that_meet(120_000)))
    for body, method, path, status in [('{"hidden":%s}', "PATCH", "/v1/passes/victim", 204),
                                       ('{"pass_id":"hostile","colour":%s}', "POST", "/v1/passes", 400)]:
        answer = untouched.client.post_raw(path, body % chosen, method)
        assert answer.status == status, answer


# Unusual but valid values

def test_numbers_in_hidden_are_kept_unchanged(shop):
    numbers = [text for text in VALUES["number"]] + ["-0.0", "0e0", "0E-0", "-1e-1", "9007199254740991", "1.10", "1E+05"]
    hidden = "{" + ",".join(f'"n{n}":{text}' for n, text in enumerate(numbers)) + ',"all":[' + ",".join(numbers) + "]}"
    pass_id = new_id()
    body = f'{{"pass_id":"{pass_id}","visible":{{"name":"A"}},"hidden":{hidden}}}'
    assert shop.client.post_raw("/v1/passes", body).status == 201
    change = f'{{"hidden":{{"again":{hidden}}}}}'
    shop.client.post_raw(path_of(pass_id), change, "PATCH").is_empty(204)
    want = [*exact(hidden), ("again", exact(hidden))]
    assert dict(exact(shop.client.get(path_of(pass_id)).body))["hidden"] == want
    assert dict(exact(shop.client.get("/v1/passes").body)[0])["hidden"] == want


@pytest.mark.parametrize("depth", [30, 31, 32])
def test_hidden_may_have_32_levels(shop, depth):
    """Body, hidden and its values together have at most 32 levels, on creation and in an edit."""
    value = nested(depth - 2)
    other = '{"x":' * (depth - 2) + "null" + "}" * (depth - 2)
    pass_id = new_id()
    body = f'{{"pass_id":"{pass_id}","visible":{{"name":"A"}},"hidden":{{"a":{value}}}}}'
    assert shop.client.post_raw("/v1/passes", body).status == 201
    shop.client.post_raw(path_of(pass_id), f'{{"hidden":{{"b":{other}}}}}', "PATCH").is_empty(204)
    assert shop.get(pass_id)["hidden"] == {"a": json.loads(value), "b": json.loads(other)}
    for refused in (nested(31), '{"x":' * 31 + "null" + "}" * 31):
        shop.client.post_raw(path_of(pass_id), f'{{"hidden":{{"b":{refused}}}}}', "PATCH").is_error(400, "INVALID_REQUEST")


def test_the_longest_message_is_accepted(shop):
    pass_id = shop.create()["id"]
    shop.add(pass_id, 2, message="é\0" * 1000)
    shop.try_add(pass_id, 2, message="é\0" * 1000 + "x").is_error(400, "INVALID_INPUT", "message")
    shop.try_add("nobody", 2, message="é\0" * (MB // 3)).is_error(400, "INVALID_INPUT", "message")
    assert shop.get(pass_id)["balance"] == 2
    # Otherwise the next test would find its sending in the journal.
    wait_for(lambda: shop.client.get("/v1/notifications").json[0]["status"] == "sent", 10, "the message to be sent")


# Ids

UUID = "01900000-0000-7000-8000-000000000000"
NO_UUIDS = ["x", "0", UUID, UUID.replace("-", ""), UUID[:-1], UUID + "0", "{" + UUID + "}", UUID[:-1] + "g", UUID[:-1] + "%00",
            "urn:uuid:" + UUID, UUID.replace("-", "_"), "%20" + UUID, UUID + "%20", UUID.replace("0", "%EF%BC%90"), "victim"]


@pytest.mark.parametrize("route", [route for route in ROUTES if route.ids], ids=str)
def test_invalid_ids_in_a_path(untouched, route):
    body = OPERATIONS[route.message].good if route.message in OPERATIONS else None
    if body and "reward_slug" in route.ids:  # the slug of another path would be refused first
        body = {field: value for field, value in body.items() if field != "slug"}
    for name in route.ids:
        code = "WEBHOOK_SUBSCRIPTION_NOT_FOUND" if name == "subscription_id" else "RESOURCE_NOT_FOUND"
        for each in [*IMPOSSIBLE, *(NO_UUIDS if name in ("subscription_id", "entitlement_id") else [])]:
            answer = untouched.client.request(route.method, route.at(**{**IDS, name: each}), body)
            assert (answer.status, answer.json["code"]) == (404, code), (each, answer)
        for each in ("", "a/b", "/", IDS[name] + "/"):
            answer = untouched.client.request(route.method, route.at(**{**IDS, name: each}), body)
            assert answer.status in (404, 405) and answer.json["code"] != code, (each, answer)


KINDS = ['["x"]', '[""]', '["pass.created",null]', '["pass.created",1]', '[["pass.created"]]', '["PASS.CREATED"]', '["pass.created "]',
         '["pass.created\\u0000"]', '["pass.balanceupdate"]', '["scan.created",{}]', '["*"]', '[true]', "[1.5]", '["pass.created","x"]',
         "[" + '"pass.created",' * 2000 + '"pass.created"]', '["' + "x" * 20_000 + '"]']


@pytest.mark.parametrize("name", ["SUBSCRIPTION_CREATE", "SUBSCRIPTION_PATCH"])
def test_lists_of_invalid_event_types(verdicts, name):
    operation = OPERATIONS[name]
    for kinds in KINDS:
        verdicts.send(operation, operation.body("event_types", kinds), 400, "INVALID_WEBHOOK_EVENT_TYPE", "event_types")
    if name == "SUBSCRIPTION_CREATE":
        verdicts.send(operation, operation.body("event_types", "[]"), 400, "INVALID_WEBHOOK_EVENT_TYPE", "event_types")


def test_invalid_ids_in_a_body(verdicts):
    operation = OPERATIONS["PASS_CREATE"]
    for point in (*range(0x20), *range(0x7f, 0xa0)):
        for text in ("\\u%04x", "a\\u%04x", "\\u%04xa"):
            verdicts.send(operation, operation.body("pass_id", f'"{text % point}"'), 400, "INVALID_INPUT", "pass_id")
    for text in ("", ".", "..", "\\u002e", "\\u002e.", "a" * 201, "é" * 101, "\U0001f600" * 51, "\\u00e9" * 101, "a" * 100_000):
        verdicts.send(operation, operation.body("pass_id", f'"{text}"'), 400, "INVALID_INPUT", "pass_id")


def test_ids_of_any_character_can_be_read(new_shop):
    """Every character of Latin-1, percent-encoded bytes, and ids that look like paths."""
    shop = new_shop("none")
    letters = [chr(point) for point in range(0x20, 0x100) if not 0x7f <= point <= 0x9f and chr(point) != "."]
    ids = ["".join(letters[at:at + 3]) for at in range(0, len(letters), 3)]
    ids += ["a/b", "/", "//", "a/../b", "/..", "%2F", "%2e%2e", "a%00", "a b", "+", "a+b", "?x=1", "#x", "a;b", "a&b=c", " ", "  ", "...",
            "a" * 199, "a" * 200, "é" * 100, "日" * 66 + "ab", "\U0001f600" * 50, "\u202e\u200b", "e\u0301", "loyalty", "a/loyalty", "\\", "\"", "null"]
    for pass_id in ids:
        made = shop.create(pass_id)
        every_byte = "".join(f"%{byte:02x}" for byte in pass_id.encode())
        assert shop.get(pass_id) == shop.client.get(f"/v1/passes/{every_byte}").json == made
        assert made["id"] == made["qr_value"] == pass_id
        shop.client.patch(f"/v1/passes/{every_byte}", {"hidden": {"a": 1}}).is_empty(204)
    assert shop.list()[1] == len(ids)
    assert sorted(entry["id"] for entry in shop.list("?limit=100")[0] + shop.list("?limit=100&offset=100")[0]) == sorted(ids)


def test_raw_bytes_in_a_path(untouched):
    """Every raw byte in the middle of an id: the service answers or closes the connection. It must not find a pass or
    hang."""
    host = f"Host: x\r\nAuthorization: Bearer {untouched.key}\r\nConnection: close\r\n\r\n".encode()
    for byte in range(256):
        with closing(socket.create_connection(untouched.service.http, 10 * PATIENCE)) as connection:
            connection.sendall(b"GET /v1/passes/vic" + bytes([byte]) + b"tim HTTP/1.1\r\n" + host)
            answer = b""
            try:
                while part := connection.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass
        assert not answer or answer.split(b" ")[1] in (b"400", b"404"), (byte, answer)
        assert answer.count(b"HTTP/1.1 ") <= 1, (byte, answer)


def test_the_service_answers_as_before(victim, service):
    """Runs after all tests above, on a new connection, on every shard."""
    with service.client(victim.key) as client:
        wait_for(lambda: client.get("/v1/passes/victim").status == 200, 5, "an answer")
    shop = Shop(service, ("balance",))
    shop.add(shop.create()["id"], 1)
    shop.close()
