"""Template files by the command line, and GET /v1/pass-templates/accepted-fields."""
import json

import pytest
from harness import refusal
from rules import delete_rule, put_file, put_rule, rule_file
from shop import COUNTER, FIELDS, path_of, template_file

PATH = "/v1/pass-templates/accepted-fields"


def refused(shop, file):
    return refusal(shop.put_template, file).code


def test_accepted_fields(till):
    for kind, template in till.templates.items():
        shown = till.client.get(f"{PATH}?pass_template_id={template}").json
        assert set(shown) == {"pass_template_id", "name", "loyalty_type", "accepted_fields"}
        assert (shown["pass_template_id"], shown["name"], shown["loyalty_type"]) == (template, f"Card {kind}", kind)
        fields = FIELDS if kind == "none" else [*FIELDS, COUNTER]
        assert shown["accepted_fields"] == [
            {"required": False, "locked": False, "max_length": None, **field} for field in fields]


def test_fields_of_the_oldest_template_by_default(new_shop):
    shop = new_shop("stamps", "balance")
    assert shop.client.get(PATH).json["pass_template_id"] == shop.templates["stamps"]


def test_invalid_and_unknown_template_ids(new_shop):
    shop, other, empty = new_shop("balance"), new_shop("balance"), new_shop()
    shop.client.get(f"{PATH}?pass_template_id={other.templates['balance']}").is_error(403, "UNAUTHORIZED")
    unknown = shop.templates["balance"].rsplit("_", 1)[0] + "_77"
    for template in (unknown, "x", "", "tpl_"):
        shop.client.get(f"{PATH}?pass_template_id={template}").is_error(422, "PASS_TEMPLATE_NOT_FOUND")
    empty.client.get(PATH).is_error(422, "PASS_TEMPLATE_NOT_FOUND")
    twice = f"{PATH}?pass_template_id=a&pass_template_id=b"
    shop.client.get(twice).is_error(400, "INVALID_INPUT", "pass_template_id")


def test_a_template_is_listed_as_it_was_put(new_shop, service, tmp_path):
    shop = new_shop()
    file = template_file(min_balance=-5)
    (tmp_path / "card.json").write_text(json.dumps(file))
    made = service.cli("template", "put", shop.account, tmp_path / "card.json")["pass_template_id"]
    second = shop.put_template(template_file("none"))
    listed = service.cli("template", "list", shop.account)
    assert [entry["pass_template_id"] for entry in listed] == [made, second]
    for key, value in file.items():
        assert key == "fields" or listed[0][key] == value
    for want, got in zip(file["fields"], listed[0]["fields"], strict=True):
        assert {**got, **want} == got


def test_a_replaced_template(new_shop, service):
    shop = new_shop()
    template = shop.put_template(template_file())
    made = shop.create()
    body = {"visible": {"colour": "red"}}
    shop.client.patch(path_of(made["id"]), body).is_error(400, "INVALID_INPUT")
    extra = {"key": "colour", "label": "Colour", "type": "text", "max_length": 5}
    file = template_file(pass_template_id=template, name="New name", fields=[*FIELDS, COUNTER, extra])
    assert shop.put_template(file) == template
    shop.client.patch(path_of(made["id"]), body).is_empty(204)
    assert shop.get(made["id"])["visible"]["colour"] == "red"
    shown = shop.client.get(PATH).json
    assert shown["name"] == "New name" and shown["accepted_fields"][-1]["key"] == "colour"
    assert len(service.cli("template", "list", shop.account)) == 1


def replaced(shop, template, fields):
    shop.put_template(template_file(pass_template_id=template, fields=[*fields, COUNTER]))


def test_a_value_of_a_removed_field_can_only_be_removed(new_shop):
    shop = new_shop()
    template = shop.put_template(template_file())
    pass_id = shop.create(visible={"name": "Ada", "site": "https://old.example/", "vip": True}, hidden={"a": 1, "b": None})["id"]
    replaced(shop, template, [field for field in FIELDS if field["key"] not in ("site", "visits")])
    path = path_of(pass_id)
    for value in ("https://new.example/", 1, True, "https://old.example/"):
        shop.client.patch(path, {"visible": {"site": value}}).is_error(400, "INVALID_INPUT", "visible.site")
    for key in ("visits", "never", "points"):  # the pass has no such value; it is the counter
        shop.client.patch(path, {"visible": {key: None}}).is_error(400, "INVALID_INPUT", f"visible.{key}")
    mixed = {"visible": {"site": None, "name": 5}}
    shop.client.patch(path, mixed).is_error(422, "PASS_TEMPLATE_DATA_INVALID", "visible.name")
    assert shop.get(pass_id)["visible"]["site"] == "https://old.example/"
    assert shop.list("?q=old.example")[1] == 1
    shop.client.patch(path, {"visible": {"site": None, "name": "Bea"}}).is_empty(204)
    assert shop.get(pass_id)["visible"] == {"name": "Bea", "vip": True, "points": 0}
    assert shop.list("?q=old.example")[1] == 0
    shop.client.patch(path, {"visible": {"site": None}}).is_error(400, "INVALID_INPUT", "visible.site")
    shop.client.patch(path, {"hidden": {"b": None, "a": None, "never": None}}).is_empty(204)
    assert shop.get(pass_id)["hidden"] == {}
    shop.client.post("/v1/passes", {"pass_id": "new", "visible": {"name": "N", "site": None}}).is_error(
        400, "INVALID_INPUT", "visible.site")


def test_passes_can_be_edited_after_any_template_change(new_shop):
    """A new required field, a changed type and a shorter length do not invalidate values that a pass already has."""
    shop = new_shop()
    template = shop.put_template(template_file())
    pass_id = shop.create(visible={"name": "A long name", "visits": 5, "birthday": "2001-01-01"})["id"]
    replaced(shop, template, [{"key": "name", "label": "Name", "type": "text", "required": True, "max_length": 3},
                              {"key": "visits", "label": "Visits", "type": "boolean"},
                              {"key": "birthday", "label": "Birthday", "type": "number"},
                              {"key": "site", "label": "Site", "type": "url", "required": True}])
    path = path_of(pass_id)
    shop.client.patch(path, {"visible": {"birthday": 7}, "appearance": {"title": "T"}, "hidden": {"a": 1}}).is_empty(204)
    shop.add(pass_id, 3)
    shown = shop.get(pass_id)
    assert shown["visible"] == {"name": "A long name", "visits": 5, "birthday": 7, "points": 3}
    shop.client.patch(path, {"visible": {"name": "Long"}}).is_error(422, "PASS_TEMPLATE_DATA_INVALID", "visible.name")
    shop.client.patch(path, {"visible": {"visits": 6}}).is_error(422, "PASS_TEMPLATE_DATA_INVALID", "visible.visits")
    for key in ("name", "site"):  # required: it may be replaced but not removed
        shop.client.patch(path, {"visible": {key: None}}).is_error(422, "PASS_TEMPLATE_DATA_INVALID", f"visible.{key}")
    shop.client.patch(path, {"visible": {"visits": None}}).is_empty(204)
    shop.client.patch(path, {"visible": {"name": "Ada", "site": "https://a.example/"}}).is_empty(204)
    assert shop.get(pass_id)["visible"] == {"name": "Ada", "birthday": 7, "points": 3, "site": "https://a.example/"}
    assert shop.client.get("/p/" + shown["download_url"].rsplit("/", 1)[1]).status == 200


@pytest.mark.parametrize("changes", [
    {"name": None}, {"name": 5}, {"loyalty_type": None}, {"loyalty_type": "points"},
    {"fields": [{"label": "No key", "type": "text"}, COUNTER]}, {"fields": {}}, {"fields": ["name", COUNTER]},
    {"qr": "yes"}, {"min_balance": "low"}, {"min_balance": 1.5},
    {"appearance": {"background_color": "red"}}, {"appearance": {"font": "x"}},
    {"fields": [{**FIELDS[0], "max_length": -1}, COUNTER]}, {"fields": [{**FIELDS[0], "required": "yes"}, COUNTER]},
])
def test_invalid_template_files(till, changes):
    assert refused(till, template_file(**changes)) == "INVALID_INPUT"


@pytest.mark.parametrize("changes, field, says", [
    ({"fields": FIELDS}, "fields", "one locked field"),
    ({"fields": [*FIELDS, FIELDS[0], COUNTER]}, "fields[5].key", "already"),
    ({"loyalty_type": "none", "fields": [*FIELDS, COUNTER]}, "fields[5].locked", "loyalty_type"),
    ({"fields": [*FIELDS, COUNTER, {**COUNTER, "key": "more"}]}, "fields[6].locked", "one counter"),
    ({"fields": None}, "fields", "fields"), ({"fields": []}, "fields", "one locked field"),
    ({"name_field": "points"}, "name_field", "counter"), ({"name_field": "nobody"}, "name_field", "No field"),
    ({"fields": [{**FIELDS[0], "type": "colour"}, COUNTER]}, "fields[0].type", "text, number, date, url, boolean"),
    ({"fields": [{**FIELDS[0], "ä" * 200: 1}, COUNTER]}, "fields[0]." + "ä" * 32, "no such"),
    ({"colour": "red"}, "colour", "no such"), ({"appearance": {"logo": "x"}}, "appearance.logo", "URL"),
    ({"loyalty_type": "none", "fields": FIELDS, "min_balance": 0}, "min_balance", "none"),
    ({"min_balance": 1}, "min_balance", "0 or less"), ({"pass_template_id": "x"}, "pass_template_id", "template"),
])
def test_the_error_names_the_invalid_property(till, changes, field, says):
    got = refusal(till.put_template, template_file(**changes))
    assert got.field == field and says in got.message, got
    assert got.code == "INVALID_INPUT" or field == "pass_template_id"


def test_the_first_template_stays_the_first_when_replaced(new_shop):
    shop = new_shop("stamps", "balance")
    shop.put_template(template_file("stamps", pass_template_id=shop.templates["stamps"], name="Renamed"))
    assert shop.client.get(PATH).json["name"] == "Renamed"


def test_a_template_of_another_account_is_not_replaced(new_shop):
    shop, other = new_shop("balance"), new_shop("balance")
    refused(shop, template_file(pass_template_id=other.templates["balance"], name="Stolen"))
    assert other.client.get(PATH).json["name"] == "Card balance"


def test_templates_of_an_unknown_account(service):
    error = refusal(service.cli, "template", "put", "acc_aaaaaaaaaaaaaaaa", "-", stdin=json.dumps(template_file()))
    assert error.code == "RESOURCE_NOT_FOUND"


# Deletion

def delete(shop, template):
    return shop.service.cli("template", "delete", shop.account, template)


def not_deleted(shop, template):
    error = refusal(delete, shop, template)
    assert error.field == ("pass_template_id" if error.code == "RESOURCE_NOT_FOUND" else None), error
    return error.code


def ids(shop):
    return [one["pass_template_id"] for one in shop.service.cli("template", "list", shop.account)]


def test_deleting_a_template(own):
    """The next oldest template becomes the default. An acknowledged deletion survives a kill. The id is not reused."""
    first = own.templates["balance"]
    second, third = own.put_template(template_file("stamps")), own.put_template(template_file("none"))
    own.set("--suspended", "on")
    assert delete(own, first) == {}
    own.service.expect_log("level=(warn|fatal)")
    own.service.kill_child("shard")
    own.set("--suspended", "off")
    assert ids(own) == [second, third]
    assert not_deleted(own, first) == "RESOURCE_NOT_FOUND"
    assert own.client.get(PATH).json["pass_template_id"] == second
    own.client.get(f"{PATH}?pass_template_id={first}").is_error(422, "PASS_TEMPLATE_NOT_FOUND")
    own.client.post("/v1/passes", {"pass_id": "a", "pass_template_id": first}).is_error(422, "PASS_TEMPLATE_NOT_FOUND")
    assert refused(own, template_file(pass_template_id=first)) == "PASS_TEMPLATE_NOT_FOUND"
    assert refused_rule(own, first) == ("PASS_TEMPLATE_NOT_FOUND", "conditions.template_id")
    assert own.create("ann")["loyalty_type"] == "stamps"
    assert [one["id"] for one in own.list("?q=0")[0]] == ["ann"], "a search reads the templates of all passes"
    assert delete(own, third) == {}
    fourth = own.put_template(template_file("none"))
    assert fourth not in (first, second, third)
    assert ids(own) == [second, fourth]
    assert own.service.cli("verify")["ok"] is True


def refused_rule(shop, template):
    error = refusal(put_file, shop, rule_file(conditions={"template_id": template}))
    return error.code, error.field


def test_without_templates_no_pass_can_be_created(shop):
    assert delete(shop, shop.templates["balance"]) == {}
    assert ids(shop) == []
    shop.client.get(PATH).is_error(422, "PASS_TEMPLATE_NOT_FOUND")
    shop.client.post("/v1/passes", {"pass_id": "a"}).is_error(422, "PASS_TEMPLATE_NOT_FOUND")
    again = shop.put_template(template_file())
    assert ids(shop) == [again]
    shop.create("ann", visible={"name": "Ann"})


def test_a_template_stays_while_a_pass_uses_it(own):
    """Deleted passes do not use it. Its fields are still shown for them, but nothing else can use the template."""
    template, other = own.templates["balance"], own.put_template(template_file("none"))
    for pass_id in ("ann", "bob"):
        own.create(pass_id, visible={"name": pass_id.title()})
        own.add(pass_id, 5)
    own.service.expect_log("level=(warn|fatal)")
    for pass_id in ("ann", "bob"):
        error = refusal(delete, own, template)
        assert error.code == "RESOURCE_CONFLICT" and "Passes use the template" in error.message
        own.delete(pass_id)
        own.service.kill_child("shard")
    before = own.list("?include_deleted=1")[0]
    assert delete(own, template) == {}
    for _ in range(2):
        assert ids(own) == [other]
        assert not_deleted(own, template) == "RESOURCE_NOT_FOUND"
        assert own.client.get(PATH).json["pass_template_id"] == other
        own.client.get(f"{PATH}?pass_template_id={template}").is_error(422, "PASS_TEMPLATE_NOT_FOUND")
        own.client.post("/v1/passes", {"pass_id": "a", "pass_template_id": template}).is_error(422, "PASS_TEMPLATE_NOT_FOUND")
        assert refused(own, template_file(pass_template_id=template)) == "PASS_TEMPLATE_NOT_FOUND"
        assert refused_rule(own, template) == ("PASS_TEMPLATE_NOT_FOUND", "conditions.template_id")
        assert own.list("?include_deleted=1")[0] == before and before[0]["visible"]["name"] == "Bob"
        own.service.kill_child("shard")
    own.service.cli("pass", "erase", own.account, "ann")
    assert [one["id"] for one in own.list("?include_deleted=1&q=Bob")[0]] == ["bob"]
    assert own.service.cli("verify")["ok"] is True


def test_a_template_named_by_a_rule_cannot_be_deleted(shop):
    named, other = shop.put_template(template_file("none")), shop.put_template(template_file("stamps"))
    rules = [put_rule(shop, active=False, conditions={"template_id": template}) for template in (named, shop.templates["balance"])]
    error = refusal(delete, shop, named)
    assert error.code == "RESOURCE_CONFLICT" and rules[0] in error.message
    assert delete(shop, other) == {}
    delete_rule(shop, rules[0])
    assert delete(shop, named) == {}
    assert not_deleted(shop, shop.templates["balance"]) == "RESOURCE_CONFLICT"


def test_deleting_an_unknown_template_is_refused(shop, new_shop):
    other = new_shop("balance")
    prefix = shop.templates["balance"].rsplit("_", 1)[0]
    for nobody in (other.templates["balance"], f"{prefix}_2", f"{prefix}_0", f"{prefix}_70000", "x", "", "tpl_"):
        assert not_deleted(shop, nobody) == "RESOURCE_NOT_FOUND", nobody
    assert ids(other) == [other.templates["balance"]] and ids(shop) == [shop.templates["balance"]]
    assert shop.service.run("template", "delete", shop.account).returncode == 2


@pytest.mark.slow
def test_deleting_one_makes_room_for_another(new_shop):
    shop = new_shop()
    made = [shop.put_template(template_file("none")) for _ in range(1000)]
    for _ in range(2):
        assert refused(shop, template_file("none")) == "RESOURCE_CONFLICT"
        shop.put_template(template_file("none", pass_template_id=made[0], name="Replaced"))
        assert delete(shop, made.pop()) == {}
        made.append(shop.put_template(template_file("none")))
        shop.put_template(template_file("none", pass_template_id=made[-1], name="Beyond a thousand"))
    assert ids(shop) == made and len(set(made)) == 1000


def test_settings_for_wallets_are_listed_as_they_were_put(new_shop, service):
    shop = new_shop()
    wallet = {"organization": "Café", "header": ["points"], "barcode": None, "changes": {"points": None},
              "locations": [{"latitude": 19.50, "longitude": -99}], "google": {"notify_balance": True}}
    shop.put_template(template_file(wallet=wallet))
    assert service.cli("template", "list", shop.account)[0]["wallet"] == wallet


def test_refused_settings_for_wallets_change_nothing(new_shop, service):
    shop = new_shop()
    template = shop.put_template(template_file())
    before = service.cli("template", "list", shop.account)
    for field, wallet in (("wallet", []), ("wallet.colour", {"colour": 1}), ("wallet.style", {"style": "boardingPass"}),
                          ("wallet.header[0]", {"header": ["none"]}), ("wallet.changes.points", {"changes": {"points": "%@%@"}}),
                          ("wallet.locations[0].latitude", {"locations": [{"latitude": 91, "longitude": 0}]})):
        error = refusal(shop.put_template, template_file(pass_template_id=template, wallet=wallet))
        assert (error.code, error.field) == ("INVALID_INPUT", field)
    assert service.cli("template", "list", shop.account) == before


def test_the_style_is_fixed_while_a_pass_is_installed(new_shop, service):
    shop = new_shop()
    template, other = shop.put_template(template_file()), shop.put_template(template_file())
    shop.create("ada")
    shop.create("bob", pass_template_id=other)

    def styled(style, of=template):
        return template_file(pass_template_id=of, wallet={"style": style})

    shop.put_template(styled("coupon"))
    service.cli("pass", "event", shop.account, "ada", "installed")
    error = refusal(shop.put_template, styled("generic"))
    assert (error.code, error.field) == ("RESOURCE_CONFLICT", "wallet.style")
    assert refused(shop, template_file(pass_template_id=template)) == "RESOURCE_CONFLICT", "the default is another style"
    shop.put_template({**styled("coupon"), "name": "Another name"})
    shop.put_template(styled("generic", other))
    service.cli("pass", "event", shop.account, "ada", "uninstalled")
    shop.put_template(styled("generic"))
