"""The steps of `wallet check` that call APNs (WALLET_PROBE): they rehearse, and end a rest if they go well."""
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from apns import SILENT
from harness import wait_for
from installed import Setting, apns, at, credential, options  # noqa: F401: fixtures
from metrics import look
from phones import PASS_TYPE, Held, Phone
from shop import Shop
from wallets import show

NOT = 1.0  # seconds after which what must not happen has not happened


def step_of(at, name="apns"):
    done = at.service.run("wallet", "check", at.shop.account)
    return {step["step"]: step for step in json.loads(done.stdout)["steps"]}[name]


def test_a_rehearsal_calls_apns_with_a_made_up_phone(at):
    at.apns.otherwise = (400, "BadDeviceToken")
    assert step_of(at)["ok"] is True and step_of(at, "package")["ok"] is True
    push, _ = at.apns.pushes
    assert push.topic == PASS_TYPE and len(push.token) == 64


def test_a_rehearsal_that_goes_wrong_changes_nothing(at):
    _, phone = at.installed("ada")
    at.apns.otherwise = (403, "BadCertificate")
    assert step_of(at) == {"step": "apns", "ok": False, "detail": "APNs: BadCertificate"}
    time.sleep(NOT)
    assert (show(at.shop)["state"], show(at.shop)["last_error"]) == ("ok", None)
    at.apns.otherwise = (200, None)
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)


def rest(at):
    """APNs refuses the credential for a phone's push. Returns the phone."""
    _, phone = at.installed("ada")
    at.apns.otherwise = (403, "BadCertificate")
    at.shop.add("ada", 5)
    wait_for(lambda: show(at.shop)["state"] == "resting", 10, "the credential to rest")
    return phone


def test_a_rehearsal_with_what_takes_any_phone_ends_no_rest(at):
    at.service.expect_log("event=wallet-credential-rests")
    phone = rest(at)
    at.apns.otherwise = (200, None)
    before = len(at.apns.of(phone.push))
    assert step_of(at)["ok"] is False
    time.sleep(NOT)
    assert show(at.shop)["state"] == "resting" and len(at.apns.of(phone.push)) == before


def test_a_rehearsal_that_goes_well_ends_a_rest(at):
    at.service.expect_log("event=wallet-credential-rests account=acc_[a-z0-9]+ kind=apple seconds=60 reason=.BadCertificate")
    phone = rest(at)
    assert step_of(at) == {"step": "apns", "ok": False, "detail": "APNs: BadCertificate"}
    assert look(at.service).get("stampede_wallet_credentials_resting", shard="0") == 1
    old = at.service.pid_of("shard")
    at.service.expect_log("event=died")
    at.service.kill_child("shard")
    at.service.await_successor("shard", 0, old)
    assert look(at.service).get("stampede_wallet_credentials_resting", shard="0") == 1
    at.apns.otherwise = (400, "BadDeviceToken")
    at.apns.answers[phone.push].append((200, None))
    assert step_of(at)["ok"] is True
    wait_for(lambda: show(at.shop)["state"] == "ok" and show(at.shop)["last_error"] is None, 10, "the rest to end")
    assert look(at.service).get("stampede_wallet_credentials_resting", shard="0") == 0
    wait_for(lambda: any(push.answer == (200, None) for push in at.apns.of(phone.push)), 10, "the push that was held")


def test_a_rehearsal_with_what_takes_any_phone(at):
    at.apns.otherwise = (200, None)
    assert step_of(at) == {"step": "apns", "ok": False, "detail": "APNs: a push to a made-up phone was accepted"}


def test_a_rehearsal_without_apns(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options)
    at.apns.kill()
    at.service.expect_log("event=pushes_fail")
    assert step_of(at)["ok"] is False and "refused" in step_of(at)["detail"]
    assert "connecting to localhost:" in step_of(at)["detail"]
    at.close()


def test_a_rehearsal_dials_whatever_came_of_earlier_ones(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options)
    apns.kill()
    at.service.expect_log("event=pushes_fail")
    try:
        for _ in range(5):  # diallings fail, and each pause is twice as long as the one before
            assert not step_of(at)["ok"]
        apns.listen()
        apns.otherwise = (400, "BadDeviceToken")
        assert step_of(at)["ok"], step_of(at)
    finally:
        at.close()


def test_rehearsals_of_several_accounts_at_once_wait_for_each_other(at, options):
    at.apns.otherwise = (400, "BadDeviceToken")
    shops = [at.shop, *(at.other_shop(options)[0] for _ in range(3))]
    with ThreadPoolExecutor() as threads:
        running = [threads.submit(at.service.run, "wallet", "check", shop.account) for shop in shops for _ in range(2)]
    assert [(done.result().returncode, done.result().stdout) for done in running if done.result().returncode] == []


def test_a_rehearsal_waits_for_one_that_was_given_up(at, options):
    shop, _, _ = at.other_shop(options)
    at.apns.otherwise = SILENT
    at.service.expect_log("event=pushes_fail")
    with subprocess.Popen([at.service.program, "wallet", "check", shop.account, "--data", at.service.data]) as given_up:
        wait_for(lambda: at.apns.pushes, 15, "the push")
        given_up.kill()
    at.apns.otherwise = (400, "BadDeviceToken")
    assert step_of(at)["ok"]


@contextmanager
def rehearsing(at):
    """`wallet check` waits for an answer of APNs, which does not come until the block has ended."""
    at.apns.otherwise = SILENT
    at.service.expect_log("event=pushes_fail")
    command = [at.service.program, "wallet", "check", at.shop.account, "--data", at.service.data]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        wait_for(lambda: at.apns.pushes, 15, "the push")
        yield running
        running.wait()


def test_a_rehearsal_goes_on_with_the_next_timer(at):
    with rehearsing(at) as running:
        at.apns.otherwise = (400, "BadDeviceToken")
        at.service.expect_log("event=died")
        at.service.kill_child("timer")
        steps = {step["step"]: step for step in json.loads(running.stdout.read())["steps"]}
    assert steps["apns"]["ok"], steps


def test_a_rehearsal_is_of_the_credential_that_was_put_last(at, apple):
    with rehearsing(at) as running:
        at.apns.otherwise = (400, "BadDeviceToken")
        at.service.cli("wallet", "apple", "put", at.shop.account, *apple.options(PASS_TYPE))
        assert step_of(at)["ok"], "it does not join the one of the former credential"
        running.stdout.read()


def test_a_rehearsal_of_a_wallet_that_is_off_sends_nothing(at):
    for setting in ("off", "google"):
        at.shop.set("--wallet", setting)
        assert step_of(at) == {"step": "apns", "ok": False, "detail": "Nothing is sent: the account's Apple wallet is off."}
    assert step_of(at, "package")["ok"] and not at.apns.pushes


def test_a_rest_of_the_default_is_shown_and_ends_in_every_shard(new_service, authority, apns, options):
    service = new_service(shards=2, options=apns.options(authority, "--test-clock"))
    service.cli("wallet", "apple", "put", "--default", *options)
    service.expect_log("event=wallet-credential-rests account=default kind=apple")
    shops = [Shop(service, ("balance",)) for _ in range(6)]
    apns.otherwise = (403, "BadCertificate")
    for shop in shops:
        assert Phone(service, shop.account).register(Held(shop, shop.create("ada"))).status == 201
        shop.add("ada", 5)

    def states():
        return [service.cli("wallet", "show", shop.account)["apple"]["state"] for shop in shops]

    def default():
        shown = service.cli("wallet", "apple", "show", "--default")
        return shown["state"], shown["last_error"]
    wait_for(lambda: set(states()) == {"resting"}, 20, "both shards to rest")
    assert default() == ("resting", "BadCertificate")
    apns.otherwise = (200, None)
    assert service.cli("wallet", "resume", shops[0].account) == {}
    assert set(states()) == {"ok"} and default() == ("ok", None)
    for shop in shops:
        shop.close()
    service.stop()


def test_the_last_error_of_any_shard_is_shown_of_the_default(new_service, authority, apns, options):
    service = new_service(shards=2, options=apns.options(authority, "--test-clock"))
    service.cli("wallet", "apple", "put", "--default", *options)

    def error():
        return service.cli("wallet", "apple", "show", "--default")["last_error"]
    for _ in range(6):  # accounts of either shard
        shop = Shop(service, ("balance",))
        phone = Phone(service, shop.account)
        assert phone.register(Held(shop, shop.create("ada"))).status == 201
        apns.answers[phone.push].append((413, "PayloadTooLarge"))
        shop.add("ada", 5)
        wait_for(lambda: error() == "PayloadTooLarge", 20, "the error of one shard")
        service.cli("clock", "advance", "6s")
        shop.add("ada", 5)
        wait_for(lambda: error() is None, 20, "the error to go")
        shop.close()
    service.stop()


def test_a_rehearsal_without_deliveries(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options, "--no-deliveries")
    assert step_of(at)["ok"] is False and "--no-deliveries" in step_of(at)["detail"]
    assert not at.apns.pushes
    at.close()
