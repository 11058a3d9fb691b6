"""Activation rules that assign rewards: when they assign, and when they skip."""
import pytest
from history import deltas_of
from rewards import archive, offer, reward_path
from rules import add, assign, put_rule, tell
from scans import scan
from shop import Shop, path_of, template_file

pytestmark = pytest.mark.plain

EVENTS = ["pass.created", "pass.balanceUpdate", "scan.created"]


@pytest.fixture
def shop(service):
    shop = Shop(service, ("balance", "none"), functions=("--rewards",))
    shop.set("--double-scan-window", "0s")
    yield shop
    shop.close()


def entitlements(shop, pass_id, query="?include_history=true"):
    answer = shop.client.get(path_of(pass_id, "/rewards") + query)
    assert answer.status == 200 and list(answer.json) == ["entitlements"], answer
    return answer.json["entitlements"]


def slugs(shop, pass_id):
    return [one["reward_slug"] for one in entitlements(shop, pass_id)]


def redeem(shop, pass_id, entitlement):
    return shop.client.post(path_of(pass_id, f"/rewards/{entitlement}/redeem"), {})


def happen(shop, event, pass_id=None):
    """Makes the event happen to a pass. Some of the pass's rules may already exist."""
    if event == "pass.created":
        return shop.create(pass_id)["id"]
    pass_id = pass_id or shop.create()["id"]
    if event == "pass.balanceUpdate":
        shop.add(pass_id, 1)
    else:
        assert scan(shop, pass_id)["status"] == "succeeded"
    return pass_id


def test_every_tenth_scan_assigns_a_reward(shop):
    offer(shop, slug="free_coffee", name="Free coffee", repeat_assignment=True)
    put_rule(shop, "scan.created", assign("free_coffee"), name="Tenth coffee", conditions={"every_n_scans": 10})
    pass_id = shop.create()["id"]
    for turn in range(1, 31):
        scan(shop, pass_id)
        assert len(entitlements(shop, pass_id)) == turn // 10
    first = entitlements(shop, pass_id)[0]
    assert (first["status"], first["assignment_source_type"], first["reward_slug"], first["pass_id"]) == \
        ("available", "automatic", "free_coffee", pass_id)
    answer = redeem(shop, pass_id, first["id"])
    assert answer.status == 200 and answer.json["entitlement"]["status"] == "redeemed"
    redeem(shop, pass_id, first["id"]).is_error(409, "REWARD_NOT_REDEEMABLE")
    counts = shop.client.get("/v1/rewards/entitlement-counts").json
    assert counts == {"total": 3, "redeemable": 2, "redeemed": 1, "expired": 0}


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_can_trigger_every_action(shop, event):
    offer(shop, slug="gift", repeat_assignment=True)
    put_rule(shop, event, assign("gift"), add(5), tell("Hello"), assign("gift"))
    pass_id = happen(shop, event)
    assert slugs(shop, pass_id) == ["gift", "gift"]
    assert shop.get(pass_id)["balance"] == (6 if event == "pass.balanceUpdate" else 5)
    others = set(EVENTS) - {event, "pass.created"}
    for other in others:
        happen(shop, other, pass_id)
    assert slugs(shop, pass_id) == ["gift", "gift"]


# Reasons why an assignment is skipped, and how each is set up.
def nothing(shop):
    """The reward does not exist."""


def archived(shop):
    offer(shop, slug="gift")
    archive(shop, "gift")


def used_up(shop):
    offer(shop, slug="gift", assignment_limit=1, repeat_assignment=True)
    other = shop.create(kind="none")["id"]
    assert shop.client.post(path_of(other, "/rewards/assign"), {"slug": "gift"}).status == 201


def past(shop):
    offer(shop, slug="gift", expiration={"kind": "fixed_end", "fixed_end": "2020-01-01T00:00:00Z"})


def switched_off(shop):
    offer(shop, slug="gift")
    shop.set("--rewards", "off")


@pytest.mark.parametrize("obstacle", [nothing, archived, used_up, past, switched_off])
@pytest.mark.parametrize("event", EVENTS)
def test_an_impossible_assignment_is_skipped_and_other_actions_run(shop, obstacle, event):
    obstacle(shop)
    before = shop.client.get("/v1/rewards/entitlement-counts").json
    put_rule(shop, event, assign("gift"), add(10), assign("gift", replace=True), add(20),
             conditions={"template_id": shop.templates["balance"]})
    pass_id = happen(shop, event)
    assert entitlements(shop, pass_id) == []
    assert deltas_of(shop.history(pass_id))[-2:] == [10, 20]
    assert shop.client.get("/v1/rewards/entitlement-counts").json == before


def test_a_reward_without_repetition_is_assigned_once(shop):
    offer(shop, slug="welcome")
    put_rule(shop, "pass.balanceUpdate", assign("welcome"), assign("welcome"))
    pass_id = shop.create()["id"]
    for _ in range(3):
        shop.add(pass_id, 1)
    assert slugs(shop, pass_id) == ["welcome"]
    assert shop.get(pass_id)["balance"] == 3


def test_the_last_reward_of_a_limit_goes_to_the_first_event(shop):
    offer(shop, slug="few", repeat_assignment=True, assignment_limit=3)
    put_rule(shop, "pass.created", assign("few"), assign("few"))
    passes = [shop.create()["id"] for _ in range(3)]
    assert [len(entitlements(shop, each)) for each in passes] == [2, 1, 0]


def test_a_replacing_rule_leaves_one_available(shop):
    offer(shop, slug="drink", repeat_assignment=True)
    put_rule(shop, "scan.created", assign("drink", replace=True))
    pass_id = shop.create()["id"]
    for _ in range(4):
        scan(shop, pass_id)
    found = entitlements(shop, pass_id)
    assert sorted((one["status"], one["expiration_reason"]) for one in found) == \
        [("available", None), *[("expired", "replaced")] * 3]
    assert len(entitlements(shop, pass_id, "")) == 1


def test_a_rule_assigns_the_current_version(shop):
    offer(shop, slug="cake", name="Cake", repeat_assignment=True)
    put_rule(shop, "scan.created", assign("cake"))
    pass_id = shop.create()["id"]
    scan(shop, pass_id)
    body = {"name": "Pie", "kind": "gift", "expiration": {"kind": "none"}, "repeat_assignment": True}
    assert shop.client.request("PUT", reward_path("cake"), body).status == 200
    scan(shop, pass_id)
    assert sorted(one["reward_name"] for one in entitlements(shop, pass_id)) == ["Cake", "Pie"]


def test_once_per_pass_is_not_used_up_by_a_skipped_assignment(shop):
    put_rule(shop, "scan.created", assign("late"), conditions={"once_per_pass": True})
    pass_id = happen(shop, "scan.created")
    assert entitlements(shop, pass_id) == []
    offer(shop, slug="late", repeat_assignment=True)
    for _ in range(3):
        scan(shop, pass_id)
    assert slugs(shop, pass_id) == ["late"]


def test_a_failed_scan_assigns_nothing(shop):
    offer(shop, slug="gift", repeat_assignment=True)
    put_rule(shop, "scan.created", assign("gift"))
    pass_id = happen(shop, "scan.created")
    shop.set("--double-scan-window", "1h")
    assert scan(shop, pass_id)["status"] == "failed"
    shop.event(pass_id, "deactivated")
    assert scan(shop, pass_id)["status"] == "failed"
    assert len(entitlements(shop, pass_id)) == 1


def test_the_most_actions_that_one_event_can_trigger(shop, service):
    """The highest number of rules and actions, each replacing what the previous one assigned, for a pass with many
    entitlements."""
    offer(shop, slug="plenty", repeat_assignment=True)
    pass_id = shop.create(pass_template_id=shop.put_template(template_file()))["id"]
    for _ in range(100):
        assert shop.client.post(path_of(pass_id, "/rewards/assign"), {"slug": "plenty"}).status == 201
    for _ in range(4):
        put_rule(shop, "pass.balanceUpdate", *[assign("plenty", replace=True), add(1), tell("m"), assign("plenty")] * 2)
    shop.add(pass_id, 1)
    # Each rule leaves its last two assignments, and the next rule's first replacement ends the available ones.
    assert len(entitlements(shop, pass_id, "")) == 2 and len(entitlements(shop, pass_id)) == 116
    assert shop.get(pass_id)["balance"] == 9
    assert service.cli("verify")["ok"] is True
