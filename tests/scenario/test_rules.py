"""The files of activation rules, and GET /v1/trigger-rules."""
import re

import pytest
from harness import refusal
from rules import ADD_TEN, RULES, all_rules, delete_rule, put_file, put_rule, rule_file, rules_of, tell

NOBODY = "01900000-0000-7000-8000-000000000000"
DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} \+0000 UTC")


def refused(shop, file, code="INVALID_INPUT", field=None):
    error = refusal(put_file, shop, file)
    assert (error.code, error.field if field else None) == (code, field), error


# Files and the list

def test_a_rule_is_listed_as_it_was_put(shop):
    conditions = {"min_balance": -3, "every_n_scans": 10, "template_id": shop.templates["balance"], "reader_id": "till-1",
                  "once_per_pass": True}
    actions = [{"type": "assign_reward", "slug": "free_coffee", "replace": True}, {"type": "add_balance", "amount": -5},
               {"type": "send_notification", "message": "Für Dich: \U0001f600"}]
    rule = put_rule(shop, "scan.created", *actions, name="Tenth coffee", active=False, conditions=conditions)
    listed, = rules_of(shop)
    created, updated = listed.pop("created_at"), listed.pop("updated_at")
    assert listed == {"id": rule, "name": "Tenth coffee", "active": False, "event": "scan.created",
                      "conditions": conditions, "actions": actions}
    assert list(listed) == ["id", "name", "active", "event", "conditions", "actions"]
    assert DATE.fullmatch(created) and created == updated


def test_defaults_of_omitted_members(shop):
    put_rule(shop, "pass.created", {"type": "assign_reward", "slug": "a"}, conditions=None)
    put_rule(shop, "pass.created", active=None, conditions={"min_balance": None, "once_per_pass": False})
    for listed in rules_of(shop):
        assert listed["active"] is True and listed["conditions"] == {}
    assert rules_of(shop)[1]["actions"] == [{"type": "assign_reward", "slug": "a", "replace": False}]


def test_a_rule_that_is_replaced_keeps_its_id_and_time(shop):
    first, second = put_rule(shop, name="one"), put_rule(shop, name="two")
    before = rules_of(shop)
    assert put_rule(shop, "scan.created", id=first, name="new") == first
    listed = rules_of(shop)
    assert [rule["id"] for rule in listed] == [second, first] and listed[0] == before[0]
    assert listed[1]["name"] == "new" and listed[1]["event"] == "scan.created"
    assert listed[1]["created_at"] == before[1]["created_at"] < listed[1]["updated_at"]


def test_putting_an_unchanged_rule_changes_nothing(shop):
    rule = put_rule(shop, active=None, conditions=None)
    before = rules_of(shop)
    put_rule(shop, id=rule, active=True, conditions={"once_per_pass": False})
    assert rules_of(shop) == before
    put_rule(shop, id=rule, active=False)
    after, = rules_of(shop)
    assert after["updated_at"] > before[0]["updated_at"] and after["active"] is False


def test_a_deleted_rule_is_not_listed(shop):
    rules = [put_rule(shop, name=str(i)) for i in range(3)]
    delete_rule(shop, rules[1])
    assert [rule["id"] for rule in rules_of(shop)] == [rules[2], rules[0]]
    for gone in (rules[1], NOBODY, "x", ""):
        assert refusal(delete_rule, shop, gone).code == "RESOURCE_NOT_FOUND"
        refused(shop, rule_file(id=gone), "RESOURCE_NOT_FOUND", "id")


def test_the_operator_lists_every_rule(shop, new_shop):
    """Over several pages, also while the account is suspended. Other accounts' rules are not listed."""
    assert all_rules(shop) == []
    rules = [put_rule(shop, "pass.created", tell("Ü" * 900), name=str(i), active=i % 8 == 0) for i in range(120)][::-1]
    other = new_shop("balance")
    mine = put_rule(other)
    listed = all_rules(shop)
    assert [rule["id"] for rule in listed] == rules
    assert listed[:100] == [{**rule, "skipped_actions": 0} for rule in rules_of(shop, "?limit=100")]
    shop.set("--suspended", "on")
    assert all_rules(shop) == listed
    delete_rule(shop, rules[0])
    assert all_rules(shop) == listed[1:]
    assert [rule["id"] for rule in all_rules(other)] == [mine]
    assert refusal(shop.service.cli, "rule", "list", "acc_aaaaaaaaaaaaaaaa").code == "RESOURCE_NOT_FOUND"


def test_pages_newest_first(shop):
    rules = [put_rule(shop, name=str(i), active=False) for i in range(30)][::-1]
    assert [rule["id"] for rule in rules_of(shop)] == rules[:25]
    assert [rule["id"] for rule in rules_of(shop, "?limit=100")] == rules
    for limit, offset in ((1, 0), (7, 5), (10, 25), (1, 29), (5, 30), (5, 10**18), (100, 29)):
        page = rules_of(shop, f"?limit={limit}&offset={offset}")
        assert [rule["id"] for rule in page] == rules[offset:offset + limit]
    for query, field in (("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("offset=-1", "offset")):
        shop.client.get(f"{RULES}?{query}").is_error(400, "INVALID_INPUT", field)


SLUG = {"type": "assign_reward", "slug": "a"}
TELL = {"type": "send_notification", "message": "m"}


@pytest.mark.parametrize("changes, field", [
    ({"name": None}, "name"), ({"name": ""}, "name"), ({"name": 5}, "name"), ({"name": "é" * 201}, "name"),
    ({"event": "pass.deleted"}, "event"), ({"event": None}, "event"), ({"event": 1}, "event"),
    ({"active": "yes"}, "active"), ({"colour": 1}, "colour"), ({"created_at": "x"}, "created_at"), ({"id": 5}, "id"),
    ({"actions": None}, "actions"), ({"actions": []}, "actions"), ({"actions": {}}, "actions"),
    ({"actions": [ADD_TEN] * 9}, "actions"), ({"actions": [ADD_TEN, 5]}, "actions[1]"),
    ({"actions": [ADD_TEN, {"type": "x"}]}, "actions[1].type"), ({"actions": [{"slug": "a"}]}, "actions[0].type"),
    ({"actions": [{**SLUG, "slug": "A"}]}, "actions[0].slug"), ({"actions": [{**SLUG, "slug": "a" * 81}]}, "actions[0].slug"),
    ({"actions": [{**SLUG, "slug": "a__b"}]}, "actions[0].slug"), ({"actions": [{"type": "assign_reward"}]}, "actions[0].slug"),
    ({"actions": [{**SLUG, "replace": 1}]}, "actions[0].replace"), ({"actions": [{**SLUG, "amount": 1}]}, "actions[0].amount"),
    ({"actions": [{**ADD_TEN, "amount": 0}]}, "actions[0].amount"), ({"actions": [{"type": "add_balance"}]}, "actions[0].amount"),
    ({"actions": [{**ADD_TEN, "amount": 1.0}]}, "actions[0].amount"), ({"actions": [{**ADD_TEN, "slug": "a"}]}, "actions[0].slug"),
    ({"actions": [{**ADD_TEN, "amount": 2**53}]}, "actions[0].amount"),
    ({"actions": [{**ADD_TEN, "amount": -2**53}]}, "actions[0].amount"),
    ({"actions": [SLUG, ADD_TEN, {**TELL, "message": ""}]}, "actions[2].message"),
    ({"actions": [{**TELL, "message": "é" * 2001}]}, "actions[0].message"), ({"actions": [{**TELL, "x": 1}]}, "actions[0].x"),
    ({"conditions": []}, "conditions"), ({"conditions": {"max_balance": 1}}, "conditions.max_balance"),
    ({"conditions": {"min_balance": 1.5}}, "conditions.min_balance"),
    ({"conditions": {"once_per_pass": 1}}, "conditions.once_per_pass"),
    ({"conditions": {"template_id": 1}}, "conditions.template_id"),
    ({"conditions": {"every_n_scans": 0}, "event": "scan.created"}, "conditions.every_n_scans"),
    ({"conditions": {"every_n_scans": 2}}, "conditions.every_n_scans"),
    ({"conditions": {"reader_id": "till"}}, "conditions.reader_id"),
    ({"conditions": {"reader_id": ""}, "event": "scan.created"}, "conditions.reader_id"),
    ({"conditions": {"reader_id": "r" * 201}, "event": "scan.created"}, "conditions.reader_id"),
])
def test_the_error_names_the_invalid_member(till, changes, field):
    file = {**rule_file(), **changes}
    refused(till, {key: value for key, value in file.items() if value is not None}, field=field)
    assert rules_of(till) == []


def test_the_longest_values_are_accepted(shop):
    put_rule(shop, "scan.created", {**SLUG, "slug": "a" * 80}, {**TELL, "message": "é" * 2000},
             {**ADD_TEN, "amount": 2**53 - 1}, {**ADD_TEN, "amount": 1 - 2**53}, *[{**TELL, "message": "é" * 2000}] * 4,
             name="é" * 200, conditions={"reader_id": "r" * 200, "every_n_scans": 2**62})
    assert len(rules_of(shop)[0]["actions"]) == 8


def test_another_accounts_template_is_refused(new_shop):
    shop, other = new_shop("balance"), new_shop("balance")
    for template, code in ((other.templates["balance"], "UNAUTHORIZED"), ("x", "PASS_TEMPLATE_NOT_FOUND"),
                           (shop.templates["balance"].rsplit("_", 1)[0] + "_9", "PASS_TEMPLATE_NOT_FOUND")):
        refused(shop, rule_file(conditions={"template_id": template}), code, "conditions.template_id")
    refused(shop, rule_file(id=NOBODY, conditions={"template_id": "x"}), "RESOURCE_NOT_FOUND", "id")


def test_limits_of_rules_and_actions(shop):
    eight = [ADD_TEN] * 8
    full = [put_rule(shop, "pass.created", *eight) for _ in range(4)]
    refused(shop, rule_file(), "RESOURCE_CONFLICT")
    put_rule(shop, "pass.created", *eight, id=full[0])  # a replaced rule does not count twice
    paused = put_rule(shop, active=False)
    put_rule(shop, "pass.balanceUpdate", *eight)
    refused(shop, rule_file(id=paused), "RESOURCE_CONFLICT")
    put_rule(shop, "pass.created", *[ADD_TEN] * 7, id=full[0])
    put_rule(shop, id=paused)
    for i in range(194):
        put_rule(shop, active=False, name=str(i))
    assert len(rules_of(shop, "?limit=100&offset=100")) == 100
    refused(shop, rule_file(active=False), "RESOURCE_CONFLICT")
    put_rule(shop, id=paused, name="the same")
    delete_rule(shop, full[1])
    put_rule(shop, active=False)


def test_limit_of_the_size_of_all_rules(shop):
    long = [tell("\U0001f600" * 2000)] * 8  # 64 KB
    rules = [put_rule(shop, "pass.created", *long, active=False) for _ in range(8)]
    refused(shop, rule_file("pass.created", *long, active=False), "RESOURCE_CONFLICT")
    put_rule(shop, "pass.created", *long, id=rules[0], active=False, name="it is not its own neighbour")
    short = put_rule(shop, active=False)
    refused(shop, rule_file("pass.created", *long, active=False, id=short), "RESOURCE_CONFLICT")
    delete_rule(shop, rules[0])
    put_rule(shop, "pass.created", *long, active=False, id=short)


def test_a_suspended_account_cannot_list_rules_and_the_operator_can(shop):
    shop.set("--suspended", "on")
    shop.client.get(RULES).is_error(402, "ACCOUNT_SUSPENDED")
    rule = put_rule(shop)
    delete_rule(shop, rule)
