"""Rules that name an unknown reward: refused when they are put, and logged when a skipped action results."""
import re

import pytest
from harness import refusal
from metrics import Metrics, fetch
from rewards import archive, offer
from rules import ADD_TEN, all_rules, assign, put_file, put_rule, rule_file, rules_of, tell
from shop import Shop, template_file

pytestmark = pytest.mark.plain


@pytest.fixture
def shop(service):
    shop = Shop(service, ("balance", "none"), functions=("--rewards",))
    yield shop
    shop.close()


def skips_told(shop, rule):
    """(action, reason, count) of the log lines about it, in order."""
    lines = [line for line in shop.service.log_lines() if "rule_action_skipped" in line and rule in line]
    assert all(shop.account in line and "level=info" in line for line in lines), lines
    return [re.search(r"action=(\d+) reason=(\S+) count=(\d+)", line).groups() for line in lines]


def skipped(service):
    values = Metrics(fetch(service)).values
    return sum(value for (name, _), value in values.items() if name == "stampede_shard_rule_actions_skipped_total")


def test_an_unknown_slug_is_refused(shop):
    error = refusal(put_file, shop, rule_file("pass.created", ADD_TEN, assign("free_cofee")))
    assert (error.code, error.field) == ("INVALID_INPUT", "actions[1].slug")
    assert "free_cofee" in error.message and "--force" in error.message
    assert rules_of(shop) == []
    forced = put_file(shop, rule_file("pass.created", assign("free_cofee")), "--force")["id"]
    error = refusal(put_file, shop, rule_file("pass.created", assign("free_cofee"), id=forced))
    assert error.field == "actions[0].slug", "a rule that is put again is checked again"
    offer(shop, slug="free_coffee")
    offer(shop, slug="old")
    archive(shop, "old")
    put_file(shop, rule_file("pass.created", assign("free_coffee"), assign("old")))
    put_file(shop, rule_file("pass.created", tell("Hello.")), "--force")


def test_another_accounts_reward_is_unknown(shop, new_shop):
    offer(new_shop("balance", functions=("--rewards",)), slug="theirs")
    assert refusal(put_file, shop, rule_file("pass.created", assign("theirs"))).field == "actions[0].slug"


def test_skipped_actions_are_counted_and_logged(shop, service):
    before = skipped(service)
    rule = put_rule(shop, "pass.created", tell("Hello."), assign("nowhere"))
    for _ in range(12):
        shop.create()
    assert skips_told(shop, rule) == [("1", "REWARD_UNKNOWN", "1"), ("1", "REWARD_UNKNOWN", "10")]
    assert skipped(service) == before + 12
    assert [listed["skipped_actions"] for listed in all_rules(shop)] == [12]
    assert "skipped_actions" not in rules_of(shop)[0]


def test_reasons_of_skipped_actions(shop, service):
    before = skipped(service)
    offer(shop, slug="once")
    offer(shop, slug="old")
    twice = put_rule(shop, "pass.created", assign("once"), assign("once"))
    old = put_rule(shop, "pass.balanceUpdate", assign("old"))
    delta = put_rule(shop, "pass.created", ADD_TEN, conditions={"template_id": shop.templates["none"]})
    shop.templates["floor"] = shop.put_template(template_file("balance", min_balance=0))
    floor = put_rule(shop, "pass.created", {**ADD_TEN, "amount": -1}, conditions={"template_id": shop.templates["floor"]})
    good = put_rule(shop, "pass.created", ADD_TEN, conditions={"template_id": shop.templates["balance"]})
    made = shop.create()["id"]
    shop.create(kind="none")
    shop.create(kind="floor")
    assert skips_told(shop, twice)[0] == ("1", "REWARD_HELD", "1")
    assert skips_told(shop, delta) == [("0", "NO_LOYALTY_PROGRAM", "1")]
    assert skips_told(shop, floor) == [("0", "INSUFFICIENT_BALANCE", "1")]
    assert skips_told(shop, good) == []
    shop.set("--rewards", "off")
    shop.add(made, 1)
    assert skips_told(shop, old) == [("0", "REWARDS_DISABLED", "1")]
    assert skipped(service) == before + 3 + 1 + 1 + 1, "two of three passes cannot get the reward"


def test_a_refused_change_counts_no_skipped_action(shop, service):
    rule, before = put_rule(shop, "pass.created", assign("nowhere")), skipped(service)
    taken = shop.create()["id"]
    shop.client.post("/v1/passes", {"pass_id": taken, "visible": {"name": "a"}}).is_error(409, "RESOURCE_CONFLICT")
    assert len(skips_told(shop, rule)) == 1 and skipped(service) == before + 1
