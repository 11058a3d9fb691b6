"""Clauses about passes and loyalty that the other files leave out: null in every field and state, which changes move
updated_at, limits to the character, and what replacing a template leaves unchanged."""

import pytest
from entitlements import assign, given_path
from exact import exact
from harness import refusal
from rewards import offer
from rules import assign as assigning
from rules import put_rule
from shop import COUNTER, FIELDS, new_id, path_of, template_file
from test_passes import wait_a_tick

pytestmark = pytest.mark.plain

MOST = 2**53 - 1


def body_for(**fields):
    return {"pass_id": new_id(), "visible": {"name": "Ada"}, **fields}


def hidden_of(client, pass_id):
    return dict(exact(client.get(path_of(pass_id)).body))["hidden"]


# Null on creation

@pytest.mark.parametrize("body, shown", [
    ({"hidden": None}, {"hidden": {}}),
    ({"hidden": {"a": None, "b": {"c": None}}}, {"hidden": {"a": None, "b": {"c": None}}}),
    ({"appearance": None}, {"appearance": None}),
    ({"appearance": {"title": "T", "logo": None}}, {"appearance": {"title": "T"}}),
    ({"visible": {"name": "A", "vip": None}}, {"visible": {"name": "A", "points": 0}}),
    ({"pass_template_id": None}, {"loyalty_type": "balance"}),
])
def test_null_where_a_value_is_optional(till, body, shown):
    made = till.create(**body)
    assert {key: made[key] for key in shown} == shown
    assert till.get(made["id"]) == made


# Field limits to the character

@pytest.mark.parametrize("letter", ["a", "é", "日", "\U0001f600"])
def test_max_length_counts_characters(till, letter):
    made = till.create(visible={"name": letter * 80})
    too_long = {"visible": {"name": letter * 81}}
    till.client.post("/v1/passes", body_for(**too_long)).is_error(422, "PASS_TEMPLATE_DATA_INVALID")
    till.client.patch(path_of(made["id"]), too_long).is_error(422, "PASS_TEMPLATE_DATA_INVALID")
    assert till.get(made["id"]) == made


@pytest.mark.parametrize("pass_id, good", [
    ("a" * 199, True), ("a" * 200, True), ("a" * 201, False), ("é" * 99 + "a", True), ("é" * 100 + "a", False),
    ("日" * 66, True), ("日" * 66 + "ab", True), ("日" * 67, False), ("\U0001f600" * 50, True),
    ("\U0001f600" * 50 + "a", False), ("...", True), ("a\x80", False), ("\x9fa", False), ("\xa0", True),
    ("\u200b\ufeff", True), ("\ufffe\uffff", True),
])
def test_an_id_to_the_byte(till, pass_id, good):
    answer = till.client.post("/v1/passes", body_for(pass_id=pass_id))
    if good:
        assert answer.status == 201, answer
        assert till.get(pass_id)["id"] == pass_id
    else:
        answer.is_error(400, "INVALID_INPUT", "pass_id")
        till.client.get(path_of(pass_id)).is_error(404, "RESOURCE_NOT_FOUND")


@pytest.mark.parametrize("value, good", [
    ("0001-01-01", True), ("9999-12-31", True), ("2000-02-29", True), ("1900-02-29", False), ("2026-1-01", False),
    ("2026-11-20T20:43:00", False), ("2026-11-20T20:43:00.123456789Z", True), ("2026-11-20T20:43:00.1234567890Z", False),
    ("2026-11-20T20:43:00.Z", False), ("2026-11-20T20:43:00-00:00", True), ("2026-11-20T20:43:00+24:00", False),
    ("2026-11-20T20:43:00+0200", False), ("2026-11-20T24:00:00Z", False), ("2026-11-20T20:60:00Z", False),
    ("2026-11-20 20:43:00Z", False), ("2026-11-20Z", False), (" 2026-11-20", False), ("2026-11-20\n", False),
    ("2026-11-20\0", False), ("+2026-11-20", False), ("２０２６-11-20", False),
])
def test_forms_of_a_date(till, value, good):
    answer = till.client.post("/v1/passes", body_for(visible={"name": "A", "birthday": value}))
    if good:
        assert answer.status == 201 and answer.json["visible"]["birthday"] == value, answer
    else:
        answer.is_error(422, "PASS_TEMPLATE_DATA_INVALID")


@pytest.mark.parametrize("colour, good", [
    ("#000000", True), ("#FFFfff", True), ("#12345G", False), ("#1234567", False), ("#12 456", False), ("#123", False),
    ("#１２３４５６", False), ("#12345\0", False), ("##12345", False), (" #123456", False), ("", False),
])
def test_forms_of_a_colour(till, colour, good):
    answer = till.client.post("/v1/passes", body_for(appearance={"background_color": colour}))
    assert answer.status == (201 if good else 400), answer


def test_text_comes_back_as_it_was_sent(till):
    text = "".join(map(chr, [*range(0x20), 0x22, 0x5c, 0x7f, 0x80, 0x9f, 0xa0, 0x2028, 0xd7ff, 0xe000, 0xffff, 0x10ffff]))
    made = till.create(visible={"name": text}, hidden={text: text, "": {text: [text]}}, appearance={"title": text})
    assert (made["visible"]["name"], made["appearance"]["title"]) == (text, text)
    assert made["hidden"] == {text: text, "": {text: [text]}}
    assert till.get(made["id"]) == made
    assert [entry for entry in till.list()[0] if entry["id"] == made["id"]] == [made]


# What a PATCH does in every state of a pass

STATES = {"issued": [], "active": ["installed"], "removed": ["installed", "uninstalled"], "deactivated": ["deactivated"]}
FULL = {"hidden": {"a": 1, "b": 2}, "appearance": {"title": "T", "background_color": "#112233"}}
CHANGES = [  # (a change, its effect on a pass created with FULL)
    ({"visible": None}, {}),
    ({"hidden": None}, {}),
    ({"appearance": None}, {"appearance": None}),
    ({"visible": None, "hidden": None, "appearance": {}}, {}),
    ({"hidden": {"a": None}}, {"hidden": {"b": 2}}),
    ({"hidden": {"a": {"x": None}}}, {"hidden": {"a": {"x": None}, "b": 2}}),
    ({"hidden": {"c": []}, "appearance": {"title": None}},
     {"hidden": {"a": 1, "b": 2, "c": []}, "appearance": {"background_color": "#112233"}}),
    ({"appearance": {"title": None, "background_color": None}}, {"appearance": None}),
    ({"visible": {"name": "B", "visits": 1}}, {"visible": {"name": "B", "visits": 1, "points": 0}}),
]


@pytest.mark.parametrize("state", STATES)
def test_an_edit_in_every_state(till, state):
    for change, effect in CHANGES:
        made = till.create(**FULL)
        for event in STATES[state]:
            till.event(made["id"], event)
        before = till.get(made["id"])
        assert before["status"] == state
        till.client.patch(path_of(made["id"]), change).is_empty(204)
        after = till.get(made["id"])
        assert after == {**before, **effect, "updated_at": after["updated_at"]}, change
        if not effect:
            assert after == before, change


def test_an_edit_without_a_body_needs_no_content_type(till):
    made = till.create()
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/json"}):
        till.client.request("PATCH", path_of(made["id"]), headers=headers).is_empty(204)
    assert till.get(made["id"]) == made


def test_edits_of_hidden_keep_order_and_digits(till):
    made = till.create(hidden={"a": 1, "b": 2, "c": 3})
    path = path_of(made["id"])
    for change, want in [
            ('{"b":2.0}', '{"a":1,"b":2.0,"c":3}'),
            ('{"d":-0,"a":1e5}', '{"a":1e5,"b":2.0,"c":3,"d":-0}'),
            ('{"b":null}', '{"a":1e5,"c":3,"d":-0}'),
            ('{"b":[1.10,{"z":0.0,"y":null}]}', '{"a":1e5,"c":3,"d":-0,"b":[1.10,{"z":0.0,"y":null}]}'),
            ('{"d":0,"c":3.00}', '{"a":1e5,"c":3.00,"d":0,"b":[1.10,{"z":0.0,"y":null}]}'),
            ('{"a":"1e5","B":1}', '{"a":"1e5","c":3.00,"d":0,"b":[1.10,{"z":0.0,"y":null}],"B":1}'),
    ]:
        till.client.post_raw(path, f'{{"hidden":{change}}}', "PATCH").is_empty(204)
        assert hidden_of(till.client, made["id"]) == exact(want), change


def test_hidden_of_many_keys(till):
    """Sets, changes and removes more keys than should be searched one by one. Their order must be kept."""
    first = {f"k{n}": n for n in range(5000)}
    made = till.create(hidden=first)
    change = {f"k{n}": None if n % 3 else -n for n in range(2500, 7500)}
    till.client.patch(path_of(made["id"]), {"hidden": change}).is_empty(204)
    want = {key: value for key, value in {**first, **change}.items() if value is not None}
    got = till.get(made["id"])["hidden"]
    assert got == want and list(got) == list(want)


# Which changes move updated_at

def test_which_changes_move_updated_at(till):
    pass_id = till.create()["id"]
    path = path_of(pass_id)
    for change, moves in [
            (lambda: till.client.get(path), False), (lambda: till.client.head(path), False),
            (lambda: till.list(), False), (lambda: till.history(pass_id), False),
            (lambda: till.client.patch(path, {}), False),
            (lambda: till.client.patch(path, {"visible": {"name": "Ada"}}), False),
            (lambda: till.client.patch(path, {"visible": {"nobody": 1}}), False),
            (lambda: till.try_add(pass_id, MOST + 1), False),
            (lambda: till.add(pass_id, 1), True), (lambda: till.add(pass_id, -1), True),
            (lambda: till.try_add(pass_id, MOST) and till.try_add(pass_id, MOST), True),
            (lambda: till.try_add(pass_id, MOST), False),
            (lambda: till.event(pass_id, "installed"), True),
            (lambda: till.event(pass_id, "uninstalled", "--block-reinstall"), True),
            (lambda: till.event(pass_id, "unblocked"), True), (lambda: till.event(pass_id, "installed"), True),
            (lambda: till.event(pass_id, "deactivated"), True), (lambda: till.try_add(pass_id, 1), False),
            (lambda: till.client.patch(path, {"hidden": {"a": 1}}), True),
            (lambda: till.delete(pass_id), True), (lambda: till.client.delete(path), False),
    ]:
        before = till.get(pass_id, "?include_deleted=1")
        wait_a_tick(before)
        change()
        after = till.get(pass_id, "?include_deleted=1")
        assert (after["updated_at"] > before["updated_at"]) == moves, (before, after)
        assert after["created_at"] == before["created_at"]
    assert after["updated_at"] == after["deleted_at"]


# Deletion in every state

@pytest.mark.parametrize("state", STATES)
def test_deletion_in_every_state(till, state):
    made = till.create()
    for event in STATES[state]:
        till.event(made["id"], event)
    till.delete(made["id"])
    gone = till.get(made["id"], "?include_deleted=true")
    assert (gone["status"], gone["download_url"]) == ("deactivated", made["download_url"])
    for query in ("", "?include_deleted=true"):
        till.client.delete(path_of(made["id"]) + query).is_error(404, "RESOURCE_NOT_FOUND")
        till.client.patch(path_of(made["id"]) + query, {}).is_error(404, "RESOURCE_NOT_FOUND")
        till.client.post(path_of(made["id"], "/loyalty") + query, {"balance_to_add": 1}).is_error(
            404, "RESOURCE_NOT_FOUND")
    for event in ("installed", "uninstalled", "deactivated", "unblocked"):
        assert refusal(till.event, made["id"], event).code == "RESOURCE_NOT_FOUND"
    assert till.get(made["id"], "?include_deleted=true") == gone


def test_one_id_deleted_and_created_many_times(shop):
    pass_id = new_id()
    urls = []
    for life in range(4):
        made = shop.create(pass_id, hidden={"life": life})
        assert (made["balance"], made["hidden"]) == (0, {"life": life})
        assert shop.history(pass_id)[0]["what"] == "created" and len(shop.history(pass_id)) == 2
        shop.add(pass_id, life + 1)
        urls.append(made["download_url"])
        shop.delete(pass_id)
        assert shop.get(pass_id, "?include_deleted=t")["hidden"] == {"life": life}
    everything, total, _ = shop.list("?include_deleted=t")
    assert (total, len(set(urls))) == (4, 4)
    assert [(entry["hidden"]["life"], entry["balance"], entry["download_url"]) for entry in everything] == \
        [(life, life + 1, urls[life]) for life in (3, 2, 1, 0)]
    assert shop.list() == ([], 0, False)


# Loyalty

@pytest.mark.parametrize("amount, good", [
    ("0", True), ("-0", True), (str(MOST), True), (str(-MOST), True), (str(MOST + 1), False), (str(-MOST - 1), False),
    (str(MOST + 2), False), (str(2**63 - 1), False), (str(2**63), False), (str(-2**63), False), (str(-2**63 - 1), False),
    (str(2**64), False), (str(2**64 + 1), False), ("1e0", False), ("1E0", False), ("0e0", False), ("0.0", False), ("0.5", False),
    ("-0.0", False), ("1e400", False), ("1" + "0" * 400, False), ('"5"', False), ("false", False),
])
def test_amounts_at_the_limits(till, amount, good):
    made = till.create()
    answer = till.client.post_raw(path_of(made["id"], "/loyalty"), f'{{"balance_to_add":{amount}}}')
    if good:
        answer.is_empty(202)
        assert till.get(made["id"])["balance"] == int(amount)
    else:
        answer.is_error(400, "INVALID_INPUT", "balance_to_add")
        assert till.get(made["id"]) == made


def test_the_order_of_a_deltas_refusals(till):
    """With two faults the answer is the earlier in the order of checks: the pass's 400, then the 409."""
    none, full = till.create(kind="none")["id"], till.create()["id"]
    till.add(full, MOST)
    for pass_id in (none, full):
        till.event(pass_id, "deactivated")
    till.try_add(none, 1).is_error(400, "NO_LOYALTY_PROGRAM")
    till.try_add(full, 1).is_error(400, "INVALID_INPUT", "balance_to_add")
    till.try_add(full, -1).is_error(409, "RESOURCE_CONFLICT")
    till.try_add("nobody", MOST + 1).is_error(400, "INVALID_INPUT", "balance_to_add")
    till.try_add("nobody", 1, colour="red").is_error(400, "INVALID_INPUT", "colour")


def test_a_minimum_added_to_a_template_with_passes(new_shop):
    """A balance already below the new minimum may rise but not fall."""
    shop = new_shop("balance")
    pass_id = shop.create()["id"]
    shop.add(pass_id, -50)
    shop.put_template(template_file(pass_template_id=shop.templates["balance"], min_balance=-10))
    shop.try_add(pass_id, -1).is_error(409, "INSUFFICIENT_BALANCE")
    for amount in (0, 5, 40):
        shop.add(pass_id, amount)
    shop.try_add(pass_id, -6).is_error(409, "INSUFFICIENT_BALANCE")
    shop.add(pass_id, -5)
    assert shop.get(pass_id)["balance"] == -10
    shop.put_template(template_file(pass_template_id=shop.templates["balance"]))
    shop.add(pass_id, -100)
    assert shop.get(pass_id)["balance"] == -110


# The template of a pass

def test_invalid_and_unknown_template_ids(till):
    real = till.templates["balance"]
    account, number = real.rsplit("_", 1)
    for template in (account + "_0", account + "_0" + number, account + "_", account, account + "_-1", account + "_1e0",
                     account + "_4294967297", account + "_99999999999999999999", real + " ", " " + real, real.upper(),
                     real + "\0", "tpl_é"):
        answer = till.client.post("/v1/passes", body_for(pass_template_id=template))
        answer.is_error(422, "PASS_TEMPLATE_NOT_FOUND")


@pytest.mark.parametrize("word, changes", [
    ("loyalty_type", {"loyalty_type": "stamps"}), ("loyalty_type", {"loyalty_type": "none", "fields": FIELDS}),
    ("qr", {"qr": False}), ("qr", {"qr": None}),
    ("name_field", {"name_field": None}),
    ("name_field", {"name_field": "nick", "fields": [*FIELDS, {"key": "nick", "type": "text"}, COUNTER]}),
    ("stars", {"fields": [*FIELDS, {**COUNTER, "key": "stars"}]}),
])
def test_a_replacement_that_changes_a_fixed_property_is_refused(till, word, changes):
    before = till.client.get(f"/v1/pass-templates/accepted-fields?pass_template_id={till.templates['balance']}").body
    refused = refusal(till.put_template, template_file(**{"pass_template_id": till.templates["balance"], **changes}))
    assert refused.code == "RESOURCE_CONFLICT"
    fixed = "locked" if word == "stars" else word
    assert fixed in refused.message, refused.message
    after = till.client.get(f"/v1/pass-templates/accepted-fields?pass_template_id={till.templates['balance']}").body
    assert after == before and till.create()["qr_value"]


def test_passes_older_than_a_template_replacement(new_shop):
    """`required` is checked on creation only: an older pass without a new required key can still be edited. Its values
    stay until a client changes them."""
    shop = new_shop("balance")
    template = shop.templates["balance"]
    old = shop.create(visible={"name": "Ada", "visits": 3, "site": "http://a.example"})
    fields = [{**FIELDS[0], "max_length": 2}, *FIELDS[1:3], {"key": "tier", "type": "text", "required": True}, COUNTER]
    shop.put_template(template_file(pass_template_id=template, fields=fields))
    assert shop.get(old["id"]) == old
    path = path_of(old["id"])
    shop.client.patch(path, {"visible": {"visits": 4}}).is_empty(204)
    assert shop.get(old["id"])["visible"] == {**old["visible"], "visits": 4}
    for change, status in [({"tier": None}, 422), ({"name": "Bob"}, 422), ({"site": "http://b.example"}, 400),
                           ({"tier": "gold"}, 204), ({"tier": None}, 422), ({"name": "Bo"}, 204)]:
        answer = shop.client.patch(path, {"visible": change})
        assert answer.status == status, (change, answer)
    shop.client.post("/v1/passes", body_for(visible={"name": "Al"})).is_error(422, "PASS_TEMPLATE_DATA_INVALID")
    assert shop.create(visible={"name": "Al", "tier": "x"})["visible"] == {"name": "Al", "tier": "x", "points": 0}
    shop.put_template(template_file(pass_template_id=template))
    assert shop.get(old["id"])["visible"]["name"] == "Bo"


# The order of checks, with two faults each

def test_the_earlier_of_two_faults(new_shop):
    shop, other = new_shop("balance"), new_shop("balance")
    taken, foreign = shop.create()["id"], other.templates["balance"]
    unknown = shop.templates["balance"].rsplit("_", 1)[0] + "_99"
    big, huge = "x" * (1 << 20), b"{" * ((16 << 20) + 1)

    def create(**fields):
        return shop.client.post("/v1/passes", {"pass_id": taken, "visible": {"name": "A"}, **fields})

    def patch(**fields):
        return shop.client.patch("/v1/passes/nobody", fields)

    for answer, status, code in [
            (shop.client.post_raw("/v1/nowhere", huge), 404, "ROUTE_NOT_FOUND"),
            (shop.client.post_raw("/v1/passes", huge, "PUT"), 405, "METHOD_NOT_ALLOWED"),
            (shop.client.post_raw("/v1/passes", huge), 413, "PAYLOAD_TOO_LARGE"),
            (shop.client.request("POST", "/v1/passes", body=b"{", headers={"Content-Type": "a/b"}), 415,
             "UNSUPPORTED_MEDIA_TYPE"),
            (shop.client.request("PATCH", "/v1/passes/%00", body=b"{", headers={"Content-Type": "a/b"}), 415,
             "UNSUPPORTED_MEDIA_TYPE"),
            (shop.client.post_raw("/v1/passes", '{"pass_id":5,"x":[}'), 400, "INVALID_REQUEST"),
            (shop.client.post_raw("/v1/passes/nobody/loyalty", "[]"), 400, "INVALID_REQUEST"),
            (shop.client.post_raw("/v1/passes/%00", "[]", "PATCH"), 400, "INVALID_REQUEST"),
            (create(initial_platform="web", pass_template_id=foreign), 400, "INVALID_REQUEST"),
            (create(pass_id="", pass_template_id=foreign), 400, "INVALID_INPUT"),
            (create(appearance={"font": "x"}, pass_template_id=foreign), 400, "INVALID_INPUT"),
            (create(appearance={}, pass_template_id=unknown), 400, "INVALID_INPUT"),
            (create(colour="red", pass_template_id=unknown), 400, "INVALID_INPUT"),
            (create(pass_template_id=foreign, visible={"nobody": 1}), 403, "UNAUTHORIZED"),
            (create(pass_template_id=unknown, visible={"name": 5}), 422, "PASS_TEMPLATE_NOT_FOUND"),
            (create(visible={"name": 5, "nobody": 1}), 400, "INVALID_INPUT"),
            (create(visible={"nobody": 1}), 400, "INVALID_INPUT"),
            (create(visible={}), 422, "PASS_TEMPLATE_DATA_INVALID"),
            (create(hidden={"a": big}), 413, "PAYLOAD_TOO_LARGE"),
            (create(), 409, "RESOURCE_CONFLICT"),
            (patch(colour="red"), 400, "INVALID_INPUT"),
            (patch(appearance={"font": "x"}), 400, "INVALID_INPUT"),
            (patch(appearance={"logo": "x"}, visible={"name": 5}), 400, "INVALID_INPUT"),
            (patch(visible={"name": 5}), 404, "RESOURCE_NOT_FOUND"),
            (shop.client.patch(path_of(taken), {"visible": {"name": 5}, "appearance": {"logo": 1}}), 400,
             "INVALID_INPUT"),
            (shop.client.get("/v1/passes/%00?include_deleted=x"), 400, "INVALID_INPUT"),
            (shop.client.patch("/v1/passes/%00", {"appearance": {"font": "x"}}), 400, "INVALID_INPUT"),
            (shop.client.patch("/v1/passes/%00", {"visible": {"name": 5}}), 404, "RESOURCE_NOT_FOUND"),
            (shop.client.post("/v1/passes/%00/loyalty", {"balance_to_add": 1, "message": big}), 400, "INVALID_INPUT"),
    ]:
        answer.is_error(status, code)


# HEAD

def test_head_on_every_get(till):
    from hooks import subscribe
    from rewards import new_slug, offer
    from routes import ROUTES
    made = till.create()
    ids = {"pass_id": made["id"], "subscription_id": subscribe(till)["id"], "reward_slug": offer(till, slug=new_slug())["slug"],
           "entitlement_id": "01900000-0000-7000-8000-000000000000"}
    for route in ROUTES:
        path = route.at(**{name: ids[name] for name in route.ids})
        whole, head = till.client.request(route.method, path), till.client.head(path)
        if route.method == "GET":
            assert (whole.status, head.status, head.body) == (route.status, route.status, b""), route
            varying = {"date", "x-request-id"}
            assert {k: v for k, v in head.headers.items() if k not in varying} == \
                {k: v for k, v in whole.headers.items() if k not in varying}, route
        elif not any(other.method == "GET" and other.path == route.path for other in ROUTES):
            assert head.status == 405, route
        if route.message == "PASS_DELETE":
            till.create(made["id"])
    for path, status in (("/v1/passes/nobody", 404), ("/v1/passes?limit=0", 400)):
        whole, head = till.client.get(path), till.client.head(path)
        assert (whole.status, head.status, head.body) == (status, status, b"")
        for name in ("content-type", "content-length"):
            assert head.headers[name] == whole.headers[name], name
    assert till.client.head(path_of(made["id"]), key="bad").status == 401


# Rewards and rules

def test_a_rules_entitlement_has_source_automatic(new_shop):
    """Otherwise it equals an entitlement that a client assigns."""
    shop = new_shop("balance", functions=("--rewards",))
    slug = offer(shop, repeat_assignment=True, redemption_allowance=3)["slug"]
    put_rule(shop, "pass.created", assigning(slug))
    pass_id = shop.create()["id"]
    automatic, = shop.client.get(given_path(pass_id)).json["entitlements"]
    manual = assign(shop, pass_id, slug)
    assert (automatic["assignment_source_type"], manual["assignment_source_type"]) == ("automatic", "manual")
    assert (automatic["status"], automatic["remaining_redemptions"]) == ("available", 3)
    own = {"id", "assignment_source_type", "created_at", "updated_at"}
    assert {key: automatic[key] for key in automatic.keys() - own} == {key: manual[key] for key in manual.keys() - own}
