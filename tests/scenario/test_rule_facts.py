"""Activation rules: their actions are committed together with the event that triggers them."""
import http.client
import random
import threading

from deliveries import BALANCE, CREATED, envelope, posts_to
from durability import chosen_seed
from harness import wait_for
from history import deltas_of
from hooks import subscribe
from images import await_status, body_with
from rewards import offer
from rules import ADD_TEN, add, assign, put_rule, rules_of, tell
from scans import SCANS, scan
from shop import Shop, new_id, path_of, template_file


def test_a_rule_adds_to_the_balance_of_a_new_pass(shop):
    put_rule(shop)
    made = shop.create()
    assert (made["balance"], made["visible"]["points"], made["status"]) == (10, 10, "issued")
    assert shop.get(made["id"]) == made
    entry = shop.history(made["id"])[-1]
    assert (entry["what"], entry["delta"], entry["balance"]) == ("rule", 10, 10)


def test_a_rule_reacts_to_deltas_but_not_to_actions_of_rules(shop):
    put_rule(shop, "pass.balanceUpdate", add(1), conditions={"min_balance": 5})
    pass_id = shop.create()["id"]
    for amount, want in ((4, 4), (1, 6), (-2, 4), (3, 8)):
        shop.add(pass_id, amount)
        assert shop.get(pass_id)["balance"] == want
    assert deltas_of(shop.history(pass_id)) == [4, 1, 1, -2, 3, 1]


def test_conditions_of_all_rules_are_evaluated_before_any_action(shop):
    put_rule(shop, "pass.balanceUpdate", add(100))
    put_rule(shop, "pass.balanceUpdate", add(1000), conditions={"min_balance": 50})
    put_rule(shop, "pass.balanceUpdate", add(-20000), add(7), active=False)
    pass_id = shop.create()["id"]
    shop.add(pass_id, 1)
    assert shop.get(pass_id)["balance"] == 101
    shop.add(pass_id, 1)
    assert deltas_of(shop.history(pass_id)) == [1, 100, 1, 100, 1000]


def test_rules_run_in_order_of_creation(shop):
    first = put_rule(shop, "pass.created", add(1), add(2))
    put_rule(shop, "pass.created", add(3))
    put_rule(shop, "pass.created", add(4), add(5), id=first)
    assert deltas_of(shop.history(shop.create()["id"])) == [4, 5, 3]


def test_an_impossible_action_is_skipped_and_has_no_effect(new_shop):
    shop = new_shop("balance", "none")
    least = shop.put_template(template_file(min_balance=-5))
    put_rule(shop, "pass.created", add(-6), add(2), add(2**53 - 1),
             add(-3))
    assert deltas_of(shop.history(shop.create(pass_template_id=least)["id"])) == [2, -3]
    none = shop.create(kind="none")
    assert "balance" not in none and len(shop.history(none["id"])) == 2
    pass_id = shop.create(kind="balance")["id"]
    assert deltas_of(shop.history(pass_id)) == [-6, 2, 2**53 - 1, -3]


def test_a_refused_change_triggers_no_rule(shop):
    put_rule(shop, "pass.balanceUpdate")
    pass_id = shop.create()["id"]
    shop.try_add(pass_id, 2**53).is_error(400, "INVALID_INPUT")
    shop.event(pass_id, "deactivated")
    shop.try_add(pass_id, 1).is_error(409, "RESOURCE_CONFLICT")
    assert shop.get(pass_id)["balance"] == 0


def test_a_rule_of_a_template_applies_to_its_passes_only(new_shop):
    shop = new_shop("balance", "stamps")
    put_rule(shop, conditions={"template_id": shop.templates["stamps"]})
    assert (shop.create(kind="stamps")["balance"], shop.create(kind="balance")["balance"]) == (10, 0)


def test_a_balance_condition_fails_without_loyalty(new_shop):
    shop = new_shop("none", functions=("--rewards",))
    put_rule(shop, "pass.created", ADD_TEN, conditions={"min_balance": -10})
    assert "balance" not in shop.create()


def test_once_per_pass_survives_edits_of_the_rule(shop):
    rule = put_rule(shop, "pass.balanceUpdate", conditions={"once_per_pass": True, "min_balance": 2})
    first, second = shop.create()["id"], shop.create()["id"]
    for pass_id in (first, first, first, second):
        shop.add(pass_id, 1)
    assert (shop.get(first)["balance"], shop.get(second)["balance"]) == (13, 1)
    put_rule(shop, "pass.balanceUpdate", id=rule, conditions={"once_per_pass": True})
    shop.add(first, 1)
    shop.add(second, 1)
    assert (shop.get(first)["balance"], shop.get(second)["balance"]) == (14, 12)
    shop.delete(first)
    shop.create(first)
    shop.add(first, 1)
    assert shop.get(first)["balance"] == 11, "another pass with the same id"


def test_once_per_pass_is_not_used_up_by_skipped_actions(new_shop):
    shop = new_shop()
    shop.put_template(template_file(min_balance=0))
    put_rule(shop, "pass.balanceUpdate", add(-5), conditions={"once_per_pass": True})
    pass_id = shop.create()["id"]
    for _ in range(9):
        shop.add(pass_id, 1)
    assert deltas_of(shop.history(pass_id)) == [1, 1, 1, 1, 1, -5, 1, 1, 1, 1]


def test_a_replay_triggers_no_rule(shop):
    put_rule(shop, "pass.created")
    put_rule(shop, "pass.balanceUpdate", add(1))
    head = {"Idempotency-Key": "once"}
    pass_id = new_id()
    for _ in range(2):
        answer = shop.client.post("/v1/passes", {"pass_id": pass_id, "visible": {"name": "A"}}, headers=head)
        assert answer.status == 201 and answer.json["balance"] == 10
    head = {"Idempotency-Key": "twice"}
    for _ in range(2):
        shop.client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": 5}, headers=head).is_empty(202)
    assert deltas_of(shop.history(pass_id)) == [10, 5, 1]


def test_a_rule_survives_a_restart_and_a_kill(own):
    put_rule(own, name="kept")
    rule = put_rule(own, "pass.balanceUpdate", add(1), conditions={"once_per_pass": True})
    first = own.create()["id"]
    own.add(first, 1)
    own.service.stop()
    own.service.start()
    own.client.address = own.service.http
    own.add(first, 1)
    assert own.get(first)["balance"] == 13
    own.service.kill_everything()
    own.service.expect_log("level=warn")
    own.service.start()
    own.client.address = own.service.http
    own.add(first, 1)
    assert (own.get(first)["balance"], own.create()["balance"]) == (14, 10)
    assert [each["id"] for each in rules_of(own)][0] == rule
    verdict = own.service.cli("verify")
    assert verdict["ok"] is True, verdict


def test_a_delta_of_a_rule_has_its_own_event(issuing, receiver):
    shop = Shop(issuing, ("balance",), functions=("--webhooks",))
    subscribe(shop, receiver.url("/status/200"), [CREATED])
    subscribe(shop, receiver.url("/status/204"), [BALANCE])
    put_rule(shop, "pass.created", add(1), add(2))
    put_rule(shop, "pass.balanceUpdate", add(4))
    pass_id = shop.create()["id"]
    posts_to(receiver, "/status/200", 1)
    shop.add(pass_id, 8)
    told = posts_to(receiver, "/status/204", 4)
    assert len({envelope(one)["id"] for one in told}) == 4
    assert wait_for(lambda: shop.get(pass_id)["balance"], 1, "the sum") == 15
    shop.close()


# Scans

def test_successful_scans_trigger_rules_and_rejected_ones_do_not(shop):
    put_rule(shop, "scan.created", add(3))
    pass_id = shop.create()["id"]
    assert scan(shop, pass_id, "?pass_info=true")["pass"]["balance"] == 3
    assert scan(shop, pass_id, "?pass_info=1")["reason"] == "double_scan"
    assert shop.get(pass_id)["balance"] == 3
    shop.set("--double-scan-window", "0s")
    assert scan(shop, pass_id, "?pass_info=1")["pass"]["balance"] == 6
    shop.event(pass_id, "deactivated")
    assert scan(shop, pass_id)["reason"] == "pass_suspended"
    assert deltas_of(shop.history(pass_id)) == [3, 3]


def test_every_n_scans_counts_for_each_pass(shop):
    shop.set("--double-scan-window", "0s")
    put_rule(shop, "scan.created", add(1), conditions={"every_n_scans": 3})
    first, second = shop.create()["id"], shop.create()["id"]
    for turn in range(1, 8):
        assert scan(shop, first, "?pass_info=1")["pass"]["balance"] == turn // 3
    for _ in range(2):
        scan(shop, second)
    shop.set("--double-scan-window", "1h")
    assert scan(shop, second)["reason"] == "double_scan"  # the third scan, but it was rejected
    shop.set("--double-scan-window", "0s")
    assert shop.get(second)["balance"] == 0
    assert scan(shop, second, "?pass_info=1")["pass"]["balance"] == 1


def test_a_rule_of_a_reader_applies_to_its_scans_only(shop):
    shop.set("--double-scan-window", "0s")
    shop.service.cli("reader", "put", shop.account, "--id", "door", "--name", "Front door")
    put_rule(shop, "scan.created", add(1), conditions={"reader_id": "door"})
    put_rule(shop, "scan.created", add(10), conditions={"reader_id": "unheard of"})
    pass_id = shop.create()["id"]
    for reader, want in (("door", 1), ("Door", 1), (None, 1), ("unheard of", 11), ("door", 12)):
        scan(shop, pass_id, **({"reader_id": reader} if reader else {}))
        assert shop.get(pass_id)["balance"] == want, reader


def test_a_repeated_scan_by_qr_value_triggers_rules_once(shop):
    put_rule(shop, "scan.created", add(1))
    pass_id = shop.create()["id"]
    told = [shop.client.post(SCANS, {"qr_value": pass_id}, headers={"Idempotency-Key": "k"}) for _ in range(3)]
    assert [answer.json["status"] for answer in told] == ["succeeded"] * 3
    assert len({answer.json["id"] for answer in told}) == 1 and shop.get(pass_id)["balance"] == 1


# Issuance that takes longer

def test_pass_created_is_triggered_at_issuance(issuing, gallery):
    shop = Shop(issuing)
    put_rule(shop)
    answer = shop.client.post("/v1/passes", body_with(gallery.url("/image/logo")))
    assert (answer.status, answer.json["balance"]) == (201, 10)
    failed = shop.client.post("/v1/passes", body_with(gallery.url("/status/404")))
    assert failed.status == 202
    assert await_status(shop, failed.json["id"], "creation_failed")["balance"] == 0
    assert deltas_of(shop.history(failed.json["id"])) == []
    shop.close()


def test_a_suspended_accounts_issuance_triggers_rules(issuing, gallery):
    """The rules and the balance at the time of issuance apply."""
    shop = Shop(issuing)
    gone = put_rule(shop, "pass.created", add(1))
    pass_id = new_id()
    with issuing.client(shop.key) as client:
        client.send("POST", "/v1/passes", body_with(gallery.url("/held-image/logo"), pass_id=pass_id))
        wait_for(lambda: gallery.to["/held-image/logo"], 10, "the request for the image")
        shop.add(pass_id, 100)
        put_rule(shop, "pass.created", add(10), conditions={"min_balance": 100})
        issuing.cli("rule", "delete", shop.account, gone)
        shop.set("--suspended", "on")
        gallery.release()
        answer = client.receive()
    shop.set("--suspended", "off")
    assert (answer.status, answer.json["balance"]) == (201, 110)
    assert deltas_of(shop.history(pass_id)) == [100, 10]
    shop.close()


# Kills

KILLS, CLIENTS = 6, 4
BY_LOYALTY, BY_RULES = 1, [1000, 20000]


class Client(threading.Thread):
    """Adds points to its own pass. Counts the acknowledged changes and those with an unknown result."""

    def __init__(self, shop, end):
        super().__init__(daemon=True)
        self.shop, self.end = shop, end
        self.pass_id = shop.create()["id"]
        self.sure = self.unsure = 0

    def run(self):
        with self.shop.service.client(self.shop.key) as client:
            while not self.end.is_set():
                try:
                    answer = client.post(path_of(self.pass_id, "/loyalty"), {"balance_to_add": BY_LOYALTY})
                except (OSError, http.client.HTTPException):
                    self.unsure += 1
                    continue
                assert answer.status in (202, 503, 504), answer
                self.sure += answer.status == 202
                self.unsure += answer.status == 504


def test_an_event_and_its_actions_are_committed_together(new_service):
    """Shards are killed under load. In every history each delta is followed by the actions of the rules exactly once."""
    chance = random.Random(chosen_seed())
    service, end = new_service(shards=2), threading.Event()
    service.expect_log("level=warn")
    shops = [Shop(service, ("balance",), functions=("--rewards",)) for _ in range(CLIENTS)]
    for shop in shops:
        offer(shop, slug="gift", repeat_assignment=True)
        put_rule(shop, "pass.balanceUpdate", add(BY_RULES[0]), assign("gift"), tell("Thank you"), add(BY_RULES[1]))
        put_rule(shop, "pass.created", add(7), conditions={"once_per_pass": True})
    clients = [Client(shop, end) for shop in shops]
    for client in clients:
        client.start()
    for _ in range(KILLS):
        before = sum(client.sure for client in clients)
        wait_for(lambda: sum(client.sure for client in clients) > before + 50, 20, "changes")
        service.kill_child("shard", chance.randrange(2))
    end.set()
    for client in clients:
        client.join(20)
    for client in clients:
        created, *rest = deltas_of(client.shop.history(client.pass_id))
        rounds = [rest[at:at + 3] for at in range(0, len(rest), 3)]
        assert created == 7 and all(one == [BY_LOYALTY, *BY_RULES] for one in rounds)
        assert client.sure <= len(rounds) <= client.sure + client.unsure
        assert client.shop.get(client.pass_id)["balance"] == 7 + sum(rest)
        gifts = client.shop.client.get(path_of(client.pass_id, "/rewards")).json["entitlements"]
        thanks = client.shop.client.get("/v1/notifications?limit=1").headers["x-total-count"]
        assert (len(gifts), int(thanks)) == (len(rounds), len(rounds))
        client.shop.close()
    assert service.cli("verify")["ok"] is True
