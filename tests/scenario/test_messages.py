"""Messages of refusals: one plain sentence for each cause, which names the value and what is expected. A row has a
request, its code, its field (None: no field is at fault), and words that the message must contain."""
import gzip
import json
import re

import pytest

from harness import refusal
from hooks import HOOKS, KINDS, subscribe, try_subscribe
from rewards import REWARDS, offer, reward_path, terms
from shop import Shop, new_id, path_of, template_file

PASSES = "/v1/passes"
SENTENCE = re.compile(r"[A-Z`][^\n]{10,400}\.")


@pytest.fixture(scope="module")
def shop(shared_service):
    shop = Shop(shared_service, ("balance", "none"), functions=("--rewards", "--webhooks"))
    shop.templates["floor"] = shop.put_template(template_file("balance", min_balance=-5))
    yield shop
    shop.close()


@pytest.fixture(scope="module")
def a_pass(shop):
    return shop.create()["id"]


def told(answer, status, code, field, *words):
    error = answer.is_error(status, code)
    assert error.get("field") == field, answer
    message = error["message"]
    assert SENTENCE.fullmatch(message), message
    for word in words:
        assert word in message, (word, message)
    return message


def status_of(code):
    return {"PASS_TEMPLATE_DATA_INVALID": 422, "RESOURCE_CONFLICT": 409, "UNSUPPORTED_MEDIA_TYPE": 415,
            "PAYLOAD_TOO_LARGE": 413}.get(code, 400)


# Bodies as a whole

GOOD = '{"pass_id":"a"}'
BODIES = [
    (b"", "is empty", "JSON object"),
    (b" \n", "is empty"),
    (b"\xef\xbb\xbf" + GOOD.encode(), "begins with a byte order mark"),
    (GOOD.encode("utf-16"), "UTF-16", "UTF-8"),
    (GOOD.encode("utf-16-le"), "UTF-16"),
    (GOOD.encode("utf-16-be"), "UTF-16"),
    (b"\xfe\xff" + GOOD.encode("utf-16-be"), "UTF-16"),
    (GOOD.encode("utf-32"), "UTF-32"),
    (gzip.compress(GOOD.encode()), "compressed", "gzip"),
    (b"pass_id=a&visible%5Bname%5D=b", "form"),
    (b"--x\r\nContent-Disposition: form-data; name=a\r\n", "multipart"),
    (b"<pass/>", "XML"),
    (b'{"pass_id":"caf\xe9"}', "not UTF-8", "offset 15"),
    (b'{"pass_id":"\\ud800"}', "surrogate", "offset 12"),
    (b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", "too deep", "32"),
    (b'{"pass_id":"a","visible":{"x":1,"x":2}}', "`x` twice"),
    (b'{"pass_id":"a"', "truncated", "line 1, column 15"),
    (b'{"pass_id":"a', "truncated"),
    (b'{"pass_id":"a",}', "comma", "line 1, column 16"),
    (b'{\n  "pass_id": "a",\n}', "comma", "line 3, column 1"),
    (b"{'pass_id':'a'}", "double quotes", "line 1, column 2"),
    (b"{pass_id:1}", "double quotes", "column 2"),
    (b'{"pass_id":\'a\'}', "double quotes", "column 12"),
    (b'{"pass_id":None}', "`N` is unexpected", "column 12"),
    (b'{"pass_id" "a"}', "unexpected", "column 12"),
    (b'{"pass_id":01}', "number", "column 12"),
    (b'{"pass_id":"\\x"}', "escape", "column 13"),
    (b'{"pass_id":"a\nb"}', "control character", "column 14"),
    (GOOD.encode() + b"{}", "more behind", "column 16"),
    (GOOD.encode() + b'"', "more behind", "column 16"),
    (GOOD.encode() + b'\n"}', "more behind", "line 2, column 1"),
    (b"[]", "empty array", "send {}"),
    (b'["a"]', "is an array", "JSON object"),
    (b'"a"', "is a string"),
    (b"null", "is null"),
    (b"5", "is a number"),
    (b"true", "is a boolean"),
]


@pytest.mark.parametrize("row", BODIES, ids=lambda row: row[1] if row else "")
def test_invalid_json_bodies(shop, service, row):
    body, *words = row
    told(shop.client.post_raw(PASSES, body), 400, "INVALID_REQUEST", None, "The body", *words)


def test_a_body_of_another_type(shop, service):
    for headers, words in (({}, ["no Content-Type", "application/json"]),
                           ({"Content-Type": "application/x-www-form-urlencoded"}, ["not application/x-www-form-urlencoded"]),
                           ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, ["Content-Encoding"])):
        answer = shop.client.post(PASSES, body=GOOD.encode(), headers=headers)
        told(answer, 415, "UNSUPPORTED_MEDIA_TYPE", None, *words)


def test_a_body_that_is_too_large(shop, service):
    most = str(1 << 20)
    big = {"pass_id": "big", "visible": {"name": "a"}, "hidden": {"a": "x" * (1100 << 10)}}
    told(shop.client.post(PASSES, big), 413, "PAYLOAD_TOO_LARGE", None, "pass", most)
    big["hidden"]["a"] *= 2
    told(shop.client.post(PASSES, big), 413, "PAYLOAD_TOO_LARGE", None, "body", most)


# Fields of a creation, each as a change of a valid body

INPUT, DATA = "INVALID_INPUT", "PASS_TEMPLATE_DATA_INVALID"
DATE, URL = "such as 2026-11-26", "http or https URL"
CREATIONS = [
    ({"pass_id": None}, INPUT, "pass_id", "is null", "a string"),
    ({"pass_id": ...}, INPUT, "pass_id", "is missing", "a string"),
    ({"pass_id": 7}, INPUT, "pass_id", "a string, not a number"),
    ({"pass_id": True}, INPUT, "pass_id", "a string, not a boolean"),
    ({"pass_id": {}}, INPUT, "pass_id", "a string, not an object"),
    ({"pass_id": ""}, INPUT, "pass_id", "1 to 200 bytes"),
    ({"pass_id": "x" * 201}, INPUT, "pass_id", "1 to 200 bytes"),
    ({"pass_id": ".."}, INPUT, "pass_id", '".."'),
    ({"pass_id": "a\nb"}, INPUT, "pass_id", "control characters"),
    ({"passid": "a"}, INPUT, "passid", "perhaps `pass_id` is meant"),
    ({"visble": {}}, INPUT, "visble", "perhaps `visible` is meant"),
    ({"Hidden": {}}, INPUT, "Hidden", "perhaps `hidden` is meant"),
    ({"status": "active"}, INPUT, "status", "known are pass_id, pass_template_id, visible"),
    ({"pass_template_id": 5}, INPUT, "pass_template_id", "a string, not a number"),
    ({"visible": []}, INPUT, "visible", "empty array", "send {} or leave it out"),
    ({"hidden": []}, INPUT, "hidden", "empty array", "send {} or leave it out"),
    ({"appearance": []}, INPUT, "appearance", "empty array", "send {} or leave it out"),
    ({"visible": ["a"]}, INPUT, "visible", "an object, not an array"),
    ({"hidden": "x"}, INPUT, "hidden", "an object, not a string"),
    ({"appearance": {}}, INPUT, "appearance", "no property", "leave it out"),
    ({"appearance": {"colour": "#112233"}}, INPUT, "appearance.colour", "background_color, logo, banner, title"),
    ({"appearance": {"background_color": "red"}}, INPUT, "appearance.background_color", "such as #112233"),
    ({"appearance": {"background_color": 5}}, INPUT, "appearance.background_color", "such as #112233"),
    ({"appearance": {"logo": "l.png"}}, INPUT, "appearance.logo", URL),
    ({"appearance": {"banner": "ftp://a/b"}}, INPUT, "appearance.banner", URL),
    ({"appearance": {"title": 5}}, INPUT, "appearance.title", "a string"),
    ({"initial_platform": "web"}, "INVALID_REQUEST", "initial_platform", '"ios" or "android"'),
    ({"initial_platform": None}, "INVALID_REQUEST", "initial_platform", '"ios" or "android"'),
    ({"visible": {"nme": "a"}}, INPUT, "visible.nme", "not a field of this template", "perhaps `name` is meant"),
    ({"visible": {"holder": "a"}}, INPUT, "visible.holder", "known are name, visits, birthday, site, vip"),
    ({"visible": {"points": 5}}, INPUT, "visible.points", "locked", "loyalty"),
    ({"visible": {"visits": 5}}, DATA, "visible.name", "is missing", "requires"),
    ({"visible": {"name": None}}, DATA, "visible.name", "cannot be removed"),
    ({"visible": {"name": 5}}, DATA, "visible.name", "must be a string"),
    ({"visible": {"name": "é" * 81}}, DATA, "visible.name", "at most 80 characters"),
    ({"visible": {"name": "a", "visits": "5"}}, DATA, "visible.visits", "must be a number"),
    ({"visible": {"name": "a", "birthday": "26.11.2026"}}, DATA, "visible.birthday", "RFC 3339", DATE),
    ({"visible": {"name": "a", "birthday": 5}}, DATA, "visible.birthday", "RFC 3339", DATE),
    ({"visible": {"name": "a", "birthday": "2026-02-30"}}, DATA, "visible.birthday", "a day that exists"),
    ({"visible": {"name": "a", "birthday": "2026-11-20T20:43:00"}}, DATA, "visible.birthday", "time zone"),
    ({"visible": {"name": "a", "site": "example.com"}}, DATA, "visible.site", URL),
    ({"visible": {"name": "a", "vip": "yes"}}, DATA, "visible.vip", "true or false"),
    ({"visible": {"name": "a", "vip": {}}}, DATA, "visible.vip", "true or false"),
]


@pytest.mark.parametrize("row", CREATIONS, ids=lambda row: str(row[2]) if row else "")
def test_fields_of_a_creation(shop, service, row):
    changes, code, field, *words = row
    body = {"pass_id": new_id(), "visible": {"name": "Ada"}, **changes}
    body = {name: value for name, value in body.items() if value is not ...}
    told(shop.client.post(PASSES, body), status_of(code), code, field, f"`{field}`", *words)


def test_only_the_beginning_of_a_long_value_is_repeated(shop, service):
    answer = shop.client.post(PASSES, {"pass_id": "a", "x" * 5000: 1})
    message = told(answer, 400, INPUT, "x" * 200, "x...`")
    assert len(message) < 400
    secret = "top-secret-value"
    for body in ({"pass_id": [secret]}, {"pass_id": "a", "visible": {"name": "a", "site": secret}},
                 {"pass_id": "a", "visible": secret}, {"pass_id": "a", "appearance": {"logo": secret}}):
        assert secret not in shop.client.post(PASSES, body).json["message"]
    answer = try_subscribe(shop, f"https://user:{secret}@hooks.example/")
    assert secret not in answer.json["message"] and "credentials" in answer.json["message"]


def test_a_pass_that_exists_and_an_account_without_templates(shop, service, a_pass, new_shop):
    told(shop.client.post(PASSES, {"pass_id": a_pass, "visible": {"name": "a"}}), 409, "RESOURCE_CONFLICT", None, "exists")
    without = new_shop().client
    told(without.post(PASSES, {"pass_id": "a"}), 422, "PASS_TEMPLATE_NOT_FOUND", None, "has no pass template")
    told(without.get("/v1/pass-templates/accepted-fields"), 422, "PASS_TEMPLATE_NOT_FOUND", None, "has no pass template")


PATCHES = [
    ({"visible": {"name": None}}, DATA, "visible.name", "cannot be removed"),
    ({"visible": {"points": None}}, INPUT, "visible.points", "locked"),
    ({"visible": []}, INPUT, "visible", "empty array"),
    ({"appearance": []}, INPUT, "appearance", "empty array"),
    ({"appearance": "x"}, INPUT, "appearance", "an object or null, not a string"),
    ({"pass_id": "b"}, INPUT, "pass_id", "known are visible, hidden, appearance"),
]


@pytest.mark.parametrize("row", PATCHES, ids=lambda row: str(row[2]) if row else "")
def test_fields_of_an_edit(shop, service, a_pass, row):
    changes, code, field, *words = row
    told(shop.client.patch(path_of(a_pass), changes), status_of(code), code, field, f"`{field}`", *words)


# Loyalty

BOUND = str((1 << 53) - 1)
LOYALTY = [
    ('{"balance_to_add":"5"}', "balance_to_add", "an integer, not a string"),
    ('{"balance_to_add":null}', "balance_to_add", "is null", "an integer"),
    ("{}", "balance_to_add", "is missing", "an integer"),
    ('{"balance_to_add":1.0}', "balance_to_add", "integer", "fraction"),
    ('{"balance_to_add":1e2}', "balance_to_add", "integer", "exponent"),
    ('{"balance_to_add":true}', "balance_to_add", "an integer, not a boolean"),
    (f'{{"balance_to_add":{1 << 53}}}', "balance_to_add", f"from -{BOUND} to {BOUND}"),
    ('{"balance_to_add":99999999999999999999}', "balance_to_add", f"from -{BOUND} to {BOUND}"),
    ('{"balance_to_add":1,"message":5}', "message", "a string, not a number"),
    ('{"balance_to_add":1,"message":"%s"}' % ("x" * 2001), "message", "1 to 2000 characters"),
    ('{"balance_toadd":1}', "balance_toadd", "perhaps `balance_to_add` is meant"),
]


@pytest.mark.parametrize("row", LOYALTY, ids=lambda row: row[0][:30] if row else "")
def test_fields_of_a_delta(shop, service, a_pass, row):
    body, field, *words = row
    told(shop.client.post_raw(path_of(a_pass, "/loyalty"), body), 400, INPUT, field, f"`{field}`", *words)


def test_a_delta_that_the_counter_cannot_take(shop, service):
    full, floor = shop.create()["id"], shop.create(kind="floor")["id"]
    shop.add(full, int(BOUND))
    told(shop.try_add(full, 1), 400, INPUT, "balance_to_add", "out of its range", BOUND)
    told(shop.try_add(floor, -6), 409, "INSUFFICIENT_BALANCE", None, "would be -6", "minimum of -5")
    shop.event(floor, "deactivated")
    told(shop.try_add(floor, 1), 409, "RESOURCE_CONFLICT", None, "deactivated")


# Queries

TIME = "RFC 3339 date-time such as 2026-11-26T10:00:00Z"
QUERIES = [
    ("passes?limit=0", "limit", "from 1 to 100"), ("passes?limit=101", "limit", "from 1 to 100"),
    ("passes?limit=", "limit", "integer"), ("passes?limit=ten", "limit", "integer"), ("passes?limit=1.5", "limit", "integer"),
    ("passes?limit=1&limit=2", "limit", "more than once"), ("passes?limit=%zz", "limit", "percent-encoding"),
    ("passes?limit[]=1", "limit", "brackets"), ("passes?status[x]=issued", "status", "brackets"),
    ("passes?offset=-1", "offset", "0 or more"), ("passes?offset=x", "offset", "integer"),
    ("passes?offset=99999999999999999999", "offset", "from 0 to"),
    ("passes?include_deleted=yes", "include_deleted", "true or false"), ("passes?include_deleted=", "include_deleted", "true or false"),
    ("passes?status=gone", "status", "one of creating, creation_failed, issued, active"), ("passes?status=%ff", "status", "percent-encoding"),
    ("passes?sort_by=size", "sort_by", "one of", "created_at", "updated_at", "id", "name"),
    ("passes?sort_dir=up", "sort_dir", "asc or desc"), ("passes?q=" + "a" * 201, "q", "at most 200 characters"),
    ("passes?q=%ff", "q", "percent-encoding"),
    *[(f"passes?{name}=yesterday", name, TIME) for name in ("created_from", "created_to", "updated_from", "updated_to")],
    ("passes?created_from=2026-11-26T10:00:00", "created_from", "time zone: Z, or an offset such as -06:00"),
    ("passes?created_from=2026-02-30T10:00:00%2B01:00", "created_from", "a day that exists"),
    ("passes?created_from=2026-13-01T10:00:00Z", "created_from", "a day that exists"),
    ("passes?created_from=2026-11-26T24:00:00-06:00", "created_from", "from 00:00:00 to 23:59:59"),
    ("passes?created_from=0001-01-01T00:00:00%2B01:00", "created_from", "years 0001 to 9999"),
    ("passes?created_from=2026-11-26", "created_from", TIME), ("passes?created_from=", "created_from", TIME),
    ("passes?created_from=2026-02-02T00:00:00Z&created_to=2026-01-01T00:00:00Z", "created_from", "later than `created_to`"),
    ("passes?updated_from=2026-02-02T00:00:00Z&updated_to=2026-01-01T00:00:00Z", "updated_from", "later than `updated_to`"),
    ("scans?status=fine", "status", "one of succeeded, failed, processing"), ("scans?sort_by=id", "sort_by", "created_at"),
    ("scans?pass_info=maybe", "pass_info", "true or false"), ("scans?created_to=x", "created_to", TIME),
    ("notifications?status=lost", "status", "one of scheduled, sent, failed"),
    ("notifications?sort_by=id", "sort_by", "scheduled_at or created_at"),
    ("notifications?scheduled_from=x", "scheduled_from", TIME), ("notifications?sort_dir=1", "sort_dir", "asc or desc"),
    ("notifications?scheduled_from=2026-02-02T00:00:00Z&scheduled_to=2026-01-01T00:00:00Z", "scheduled_from",
     "later than `scheduled_to`"),
    ("trigger-rules?limit=1000", "limit", "from 1 to 100"), ("rewards?include_archived=2", "include_archived", "true or false"),
]


@pytest.mark.parametrize("row", QUERIES, ids=lambda row: row[0][:50] if row else "")
def test_parameters_of_a_query(shop, service, row):
    target, field, *words = row
    told(shop.client.get(f"/v1/{target}"), 400, INPUT, field, f"`{field}`", *words)


def test_an_idempotency_key(shop, service, a_pass):
    for key in ("a key", "x" * 256):
        answer = shop.client.post(path_of(a_pass, "/loyalty"), {"balance_to_add": 1}, headers={"Idempotency-Key": key})
        told(answer, 400, INPUT, "Idempotency-Key", "1 to 255 visible ASCII")


# Scans

SCANS = [({}, "pass_id", "both are missing"), ({"pass_id": "a", "qr_value": "a"}, "qr_value", "not both"),
         ({"pass_id": "."}, "pass_id", "1 to 200 bytes"), ({"qr_value": 5}, "qr_value", "a string, not a number"),
         ({"pass_id": "a", "reader_id": ""}, "reader_id", "1 to 200 bytes"),
         ({"qr": "a"}, "qr", "known are pass_id, qr_value, reader_id")]


@pytest.mark.parametrize("row", SCANS, ids=lambda row: str(row[0]) if row else "")
def test_fields_of_a_scan(shop, service, row):
    body, field, *words = row
    told(shop.client.post("/v1/scans", body), 400, INPUT, field, *words)


def test_a_scan_of_an_unknown_pass(shop, service):
    told(shop.client.post("/v1/scans", {"pass_id": "nobody"}), 404, "RESOURCE_NOT_FOUND", None, "no pass `nobody`")
    told(shop.client.post("/v1/scans", {"qr_value": "nobody"}), 404, "RESOURCE_NOT_FOUND", None, "qr_value")


# Rewards

END, WINDOW = {"kind": "fixed_end"}, {"kind": "relative_window"}
TERMS = [
    ({"name": None}, "name", "is missing"), ({"name": ""}, "name", "must not be empty"),
    ({"name": "é" * 201}, "name", "at most 200 characters"), ({"name": "x" * 5000}, "name", "at most 200 characters"),
    ({"description": "é" * 2001}, "description", "at most 2000 characters"),
    ({"kind": "free"}, "kind", "one of gift, discount, custom"), ({"kind": None}, "kind", "is missing"),
    ({"slug": "Free Coffee"}, "slug", "a-z and 0-9", "80"), ({"slug": "a" * 81}, "slug", "1 to 80"),
    ({"repeat_assignment": "yes"}, "repeat_assignment", "true or false, not a string"),
    ({"redemption_allowance": -1}, "redemption_allowance", "from 0 to 2147483647"),
    ({"assignment_limit": 0}, "assignment_limit", "from 1 to"),
    ({"expiration": []}, "expiration", "empty array"), ({"expiration": None}, "expiration", "is missing", "an object"),
    ({"expiration": {}}, "expiration.kind", "one of none, relative_window, fixed_end"),
    ({"expiration": {"kind": "soon"}}, "expiration.kind", "one of none, relative_window, fixed_end"),
    ({"expiration": {"kind": "none", "windowseconds": 5}}, "expiration.windowseconds", "perhaps `window_seconds` is meant"),
    ({"expiration": {"kind": "none", "end": 5}}, "expiration.end", "known are kind, window_seconds, fixed_end"),
    ({"expiration": WINDOW}, "expiration.window_seconds", "needed where kind is relative_window", "from 1 to"),
    ({"expiration": {**WINDOW, "window_seconds": 0}}, "expiration.window_seconds", "must be an integer from 1 to"),
    ({"expiration": {**WINDOW, "window_seconds": "5"}}, "expiration.window_seconds", "must be an integer from 1 to"),
    ({"expiration": {**WINDOW, "window_seconds": 1.5}}, "expiration.window_seconds", "must be an integer from 1 to"),
    ({"expiration": {**END, "window_seconds": 5}}, "expiration.window_seconds", "leave it out"),
    ({"expiration": END}, "expiration.fixed_end", "needed where kind is fixed_end", TIME),
    ({"expiration": {**END, "fixed_end": "2026-11-26"}}, "expiration.fixed_end", "must be an " + TIME),
    ({"expiration": {**END, "fixed_end": 1700000000}}, "expiration.fixed_end", "must be an " + TIME),
    ({"expiration": {"kind": "none", "fixed_end": "2026-11-26T10:00:00Z"}}, "expiration.fixed_end", "leave it out"),
]


@pytest.mark.parametrize("row", TERMS, ids=lambda row: str(row[0])[:50] if row else "")
def test_terms_of_a_reward(shop, service, row):
    changes, field, *words = row
    told(shop.client.post(REWARDS, terms(**changes)), 400, INPUT, field, f"`{field}`", *words)


def test_a_reward_in_the_wrong_state(shop, service, a_pass):
    conflict, client = "RESOURCE_CONFLICT", shop.client
    latte = offer(shop, slug="latte", redemption_allowance=2)
    told(client.post(REWARDS, terms(slug="latte")), 409, conflict, None, "slug exists")
    told(client.request("PUT", reward_path("latte"), {**latte, "slug": "tea"}), 400, INPUT, "slug", "that of the path")
    told(client.post(reward_path("latte", "/restore")), 409, conflict, None, "is active")
    assign = path_of(a_pass, "/rewards/assign")
    told(client.post(assign, {"slug": "water"}), 404, "RESOURCE_NOT_FOUND", None, "no reward `water`")
    told(client.post(path_of("nobody", "/rewards/assign"), {"slug": "latte"}), 404, "RESOURCE_NOT_FOUND", None, "no pass `nobody`")
    made = client.post(assign, {"slug": "latte"}).json
    told(client.post(assign, {"slug": "latte"}), 409, "REWARD_NOT_ASSIGNABLE", None, "has the reward already")
    told(client.delete(reward_path("latte")), 409, conflict, None, "has entitlements")
    redeem = path_of(a_pass, f"/rewards/{made['id']}/redeem")
    told(client.post(redeem, {"amount": 0}), 400, INPUT, "amount", "1 or more")
    told(client.post(redeem, {"amount": 1, "context": "x" * 201}), 400, INPUT, "context", "at most 200 characters")
    told(client.post(redeem, {"amount": 1, "note": "x" * 2001}), 400, INPUT, "note", "at most 2000 characters")
    told(client.post(redeem, {"amount": 3}), 409, "REWARD_INSUFFICIENT_REDEMPTIONS", None, "remains", ": 2")
    assert client.post(redeem, {"amount": 2}).status < 300
    told(client.post(redeem, {}), 409, "REWARD_NOT_REDEEMABLE", None, "redeemed already")
    told(client.post(path_of(a_pass, "/rewards/x/redeem"), {}), 404, "RESOURCE_NOT_FOUND", None, "no entitlement `x`")
    offer(shop, slug="old")
    assert client.post(reward_path("old", "/archive")).status < 300
    told(client.post(reward_path("old", "/archive")), 409, conflict, None, "archived already")
    told(client.post(assign, {"slug": "old"}), 409, "REWARD_NOT_ASSIGNABLE", None, "is archived")


# Webhooks

URLS = [
    (..., "is missing", "https"), (None, "is missing"), (5, "a string"), ([], "a string"), ("", "begin with https://"),
    ("http://hooks.example/", "begin with https://"), ("hooks.example", "begin with https://"),
    (" https://hooks.example/", "no blanks"), ("\thttps://hooks.example/", "no blanks"),
    ("https://hooks.example/" + "a" * 1800, "too long", "1800 bytes"), ("https://hooks.example/café", "ASCII", "percent-encode"),
    ("https://hooks.example/a b", "blanks"), ("https://hooks.example\\x", "backslashes"),
    ("https://user:word@hooks.example/", "credentials"), ("https://@hooks.example/", "credentials"),
    ("https:///path", "no host"), ("https://:443/", "no host"), ("https://localhost/", "localhost"),
    ("https://a.localhost./", "localhost"), ("https://db.internal/", ".internal"), ("https://127.0.0.1/", "loopback, private"),
    ("https://10.0.0.1/", "private"), ("https://[::1]/", "private"), ("https://0x7f.1/", "private"), ("https://169.254.169.254/", "private"),
    ("https://hooks.example:0/", "port", "1 to 65535"), ("https://hooks.example:70000/", "port"),
    ("https://a..b/", "neither a domain name nor an address"), ("https://1.2.3.4.5/", "neither a domain name nor an address"),
    ("https://[::1", "neither a domain name nor an address"),
]


@pytest.mark.parametrize("row", URLS, ids=lambda row: str(row[0])[:40] if row else "")
def test_a_webhooks_url(shop, service, row):
    url, *words = row
    body = {"event_types": KINDS} if url is ... else {"url": url, "event_types": KINDS}
    told(shop.client.post(HOOKS, body), 400, "INVALID_WEBHOOK_URL", "url", "`url`", *words)


@pytest.mark.parametrize("kinds, word", [(..., "is missing"), (None, "is missing"), ([], "is empty"), ("pass.created", "must be a list"),
                                         ({}, "must be a list"), (["pass.gone"], "does not exist"), ([5], "does not exist")])
def test_a_webhooks_event_types(shop, service, kinds, word):
    word = (word, "at least one of " + ", ".join(KINDS))
    body = {"url": "https://hooks.example/k"} if kinds is ... else {"url": "https://hooks.example/k", "event_types": kinds}
    told(shop.client.post(HOOKS, body), 400, "INVALID_WEBHOOK_EVENT_TYPE", "event_types", *word)


def test_too_many_webhooks(service, new_shop):
    shop = new_shop("balance", functions=("--webhooks",))
    for _ in range(5):
        subscribe(shop)
    told(try_subscribe(shop), 409, "WEBHOOK_SUBSCRIPTION_LIMIT_REACHED", None, "5 active")


# Paths

PATHS = [
    ("GET", "/v1/passes/", 404, "leave out the slash at its end"), ("GET", "/v1/pass", 404, "GET /openapi.json"),
    ("POST", "/v1/passes/a/loyality", 404, "GET /openapi.json"), ("GET", "/passes", 404, "below /v1"),
    ("GET", "/v2/passes", 404, "below /v1"), ("GET", "/", 404, "below /v1"),
    ("PUT", "/v1/passes", 405, "it takes GET, HEAD, POST"), ("DELETE", "/v1/passes", 405, "it takes GET, HEAD, POST"),
    ("POST", "/v1/passes/a", 405, "it takes GET, HEAD, PATCH, DELETE"), ("POST", "/openapi.json", 405, "it takes GET, HEAD"),
    ("GET", "/v1/rewards/none", 404, "no reward `none` in this account"), ("PUT", "/v1/rewards/none", 404, "no reward `none`"),
    ("GET", "/v1/passes/none", 404, "no pass `none` in this account"), ("GET", "/v1/passes/caf%c3%a9", 404, "no pass `café`"),
    ("GET", "/v1/passes/%00", 404, "its id is empty, or none that"), ("GET", "/v1/passes/none/cards", 404, "no pass `none`"),
    ("GET", "/v1/passes/none/rewards", 404, "no pass `none`"),
    ("DELETE", "/v1/webhook-subscriptions/x", 404, "no webhook subscription `x`"),
]


@pytest.mark.parametrize("row", PATHS, ids=lambda row: " ".join(row[:2]) if row else "")
def test_unknown_ids_of_a_path(shop, service, row):
    method, path, status, word = row
    body = terms() if method == "PUT" and "/rewards/" in path else None
    answer = shop.client.request(method, path, body)
    code = {405: "METHOD_NOT_ALLOWED"}.get(status, "RESOURCE_NOT_FOUND" if "`" in word or "id is" in word else "ROUTE_NOT_FOUND")
    told(answer, status, "WEBHOOK_SUBSCRIPTION_NOT_FOUND" if "hook" in word else code, None, word)


def test_a_template_that_is_unknown(shop, service):
    unknown = shop.templates["balance"][:-1] + "9"
    for answer in (shop.client.post(PASSES, {"pass_id": new_id(), "pass_template_id": unknown}),
                   shop.client.get("/v1/pass-templates/accepted-fields?pass_template_id=" + unknown)):
        told(answer, 422, "PASS_TEMPLATE_NOT_FOUND", None, f"no pass template `{unknown}`")


# The operator's files

FILES = [(b"", "is empty"), (b"{", "truncated"), (b"null", "is null"), (b'{"name":"a","name":"b"}', "`name` twice"),
         (b'{"name":"a","fields":{"a":1,"a":2}}', "`a` twice"), (b"{'name':1}", "double quotes"), (b'{"name":1,}', "comma"),
         (b"[]", "is an array"),
         ('{"name":"é"}'.encode("latin-1"), "not UTF-8"), ('{"name":1}'.encode("utf-16"), "UTF-16")]


@pytest.mark.parametrize("file, word", FILES, ids=[word for _, word in FILES])
def test_invalid_files(shop, service, tmp_path, file, word):
    path = tmp_path / "file.json"
    path.write_bytes(file)
    for noun in ("template", "rule"):
        error = refusal(service.cli, noun, "put", shop.account, str(path))
        assert error.code == "INVALID_REQUEST" and word in error.message and "The file" in error.message, error.message


def test_a_file_may_begin_with_a_byte_order_mark(shop, service, tmp_path):
    path = tmp_path / "file.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(template_file("none")).encode())
    assert shop.service.cli("template", "put", shop.account, str(path))["pass_template_id"]
