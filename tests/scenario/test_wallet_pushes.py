"""A pass that a phone has changes: the phone is pushed to, through an imitation of APNs."""
import json
import time

import pytest
from apns import CHATTER, REFUSE, RESET, SILENT
from certificates import openssl
from harness import wait_for
from installed import Setting, apns, at, credential, options  # noqa: F401: fixtures
from metrics import look
from phones import PASS_TYPE, Held, Phone
from shop import Shop, template_file
from wallets import TEAM, refused, show

NOT = 1.0  # seconds after which a push that must not come has not come


def test_a_change_of_points_reaches_the_phone(at):
    held, phone = at.installed("ada")
    at.shop.add("ada", 5)
    push, = at.apns.wait(phone.push)
    assert (push.topic, push.body, push.answer) == (PASS_TYPE, b"{}", (200, None))
    assert phone.changed() == {held.serial}


def test_a_registration_and_a_pass_without_a_phone_cause_no_push(at):
    _, phone = at.installed("ada")
    at.shop.create("eva")
    at.shop.add("eva", 5)
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    time.sleep(NOT)
    assert len(at.apns.pushes) == 1


def test_every_phone_of_a_pass_is_pushed_to(at):
    held, first = at.installed("ada")
    second = at.phone()
    assert second.register(held).status == 201
    at.shop.add("ada", 5)
    at.apns.wait(first.push), at.apns.wait(second.push)


def test_changes_within_five_seconds_are_one_push_more(at):
    _, phone = at.installed("ada")
    for _ in range(5):
        at.shop.add("ada", 1)
    at.apns.wait(phone.push)
    at.advance(6)
    at.apns.wait(phone.push, 2)
    at.advance(60)
    time.sleep(NOT)
    assert len(at.apns.of(phone.push)) == 2


@pytest.mark.parametrize("answer", [(410, "Unregistered"), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic")])
def test_a_phone_that_is_gone_loses_its_registration(at, answer):
    held, phone = at.installed("ada")
    at.apns.answers[phone.push].append(answer)
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    wait_for(lambda: phone.ask().status == 204, 10, "the end of the registration")
    at.advance(61)
    wait_for(lambda: at.shop.get("ada")["status"] == "removed", 10, "the pass to be removed")


def test_an_older_answer_than_the_registration_does_not_end_it(at):
    held, phone = at.installed("ada")
    at.apns.answers[phone.push].append((410, "Unregistered", 1700000000000))
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    at.advance(6)
    at.shop.add("ada", 5)
    at.apns.wait(phone.push, 2)
    assert phone.ask().status == 200


@pytest.mark.parametrize("answer", [(429, "TooManyRequests"), (500, "InternalServerError"), (503, "Shutdown"), RESET])
def test_what_failed_is_repeated(at, answer):
    _, phone = at.installed("ada")
    at.apns.answers[phone.push].append(answer)
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    at.advance(6)
    assert at.apns.wait(phone.push, 2)[1].answer == (200, None)


def test_a_refused_stream_is_repeated_at_once_on_another_connection(at):
    _, phone = at.installed("ada")
    at.apns.answers[phone.push].append(REFUSE)
    at.shop.add("ada", 5)
    first, second = at.apns.wait(phone.push, 2)
    assert first.connection != second.connection


@pytest.mark.parametrize("habit", [SILENT, CHATTER])
def test_a_connection_that_answers_nothing_is_left(at, habit):
    _, phone = at.installed("ada")
    at.apns.answers[phone.push].append(habit)
    at.service.expect_log("event=pushes_fail ")
    at.shop.add("ada", 5)
    first, second = at.apns.wait(phone.push, 2, 40)
    assert second.answer == (200, None) and second.connection != first.connection


def test_what_a_goaway_left_is_repeated_at_once(at):
    at.apns.goaway_after = 8
    phones = [at.installed(f"pass-{i}")[1] for i in range(30)]
    for i in range(30):
        at.shop.add(f"pass-{i}", 1)
    for phone in phones:
        at.apns.wait(phone.push)
    assert at.apns.connections > 3


def test_a_killed_service_of_apple_is_called_again(at):
    _, phone = at.installed("ada")
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    at.apns.kill()
    at.advance(6)
    at.service.expect_log("pushes_fail")
    at.shop.add("ada", 5)
    wait_for(lambda: any("pushes_fail" in line for line in at.service.log_lines()), 15, "the failure to be logged")
    at.apns.listen()

    def comes():
        at.advance(600)
        time.sleep(0.5)  # the connection is tried again after a second of the host's clock; there are seven tries
        return len(at.apns.of(phone.push)) >= 2
    wait_for(comes, 20, "the push to be repeated")
    wait_for(lambda: any("pushes_work" in line for line in at.service.log_lines()), 5, "the success to be logged")


def test_a_credential_that_apple_refuses_rests_and_then_all_resumes(at):
    at.service.expect_log("event=wallet-credential-rests")
    _, phone = at.installed("ada")
    at.apns.answers[phone.push].append((403, "BadCertificate"))
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    wait_for(lambda: show(at.shop)["state"] == "resting", 10, "the credential to rest")
    assert "BadCertificate" in show(at.shop)["last_error"]
    at.advance(30)
    time.sleep(NOT)
    assert len(at.apns.pushes) == 1
    at.advance(31)
    at.apns.wait(phone.push, 2)
    wait_for(lambda: show(at.shop)["state"] == "ok" and show(at.shop)["last_error"] is None, 10, "the credential to work")


def test_resume_ends_a_rest(at):
    at.service.expect_log("event=wallet-credential-rests")
    _, phone = at.installed("ada")
    at.apns.answers[phone.push].append((403, "Forbidden"))
    at.shop.add("ada", 5)
    wait_for(lambda: show(at.shop)["state"] == "resting", 15, "the credential to rest")
    assert at.service.cli("wallet", "resume", at.shop.account) == {}
    at.apns.wait(phone.push, 2)


def test_a_phone_that_apple_refuses_for_ever_is_given_up(at):
    _, phone = at.installed("ada")
    at.apns.answers[phone.push].append((413, "PayloadTooLarge"))
    at.shop.add("ada", 5)
    wait_for(lambda: "PayloadTooLarge" in (show(at.shop)["last_error"] or ""), 15, "the reason")
    at.advance(60)
    time.sleep(NOT)
    assert len(at.apns.pushes) == 1
    at.shop.add("ada", 5)
    at.apns.wait(phone.push, 2)


def test_a_phone_is_pushed_to_with_its_own_pass_type(at, apple):
    """After another pass type was put, the installed pass stays with the one that it was made for."""
    _, phone = at.installed("ada")
    at.service.cli("wallet", "apple", "put", at.shop.account, *apple.options("pass.example.other"))
    other = at.phone()
    other.pass_type = "pass.example.other"
    at.installed("eva", other)
    at.shop.add("ada", 5)
    at.shop.add("eva", 5)
    assert at.apns.wait(phone.push)[0].topic == PASS_TYPE
    assert at.apns.wait(other.push)[0].topic == "pass.example.other"


def test_a_push_that_no_credential_serves_waits_until_a_phone_has_one(at, apple, credential):
    """The account's own credential is removed, and the operator's default serves the phone that comes next."""
    held, phone = at.installed("ada")
    at.service.cli("wallet", "apple", "put", "--default", *apple.options("pass.example.other"))
    at.service.cli("wallet", "apple", "remove", at.shop.account)
    at.shop.add("ada", 5)
    time.sleep(NOT)
    assert at.apns.of(phone.push) == []
    other = at.phone()
    other.pass_type = "pass.example.other"
    assert other.register(held).status == 201
    assert at.apns.wait(other.push)[0].topic == "pass.example.other"


def test_a_provider_token_is_shown_instead_of_the_certificate(new_service, authority, apns, apple, credential, options):
    p8 = apple.p8()
    public = apple.file("pub")
    openssl("pkey", "-in", p8, "-pubout", "-out", public)
    apns.public_keys[(TEAM, "KEY1234567")] = public
    at = Setting(new_service, authority, apns, [*options, "--p8", p8, "--p8-id", "KEY1234567"])
    try:
        pairs = [at.installed(f"pass-{i}") for i in range(5)]
        for i in range(5):
            at.shop.add(f"pass-{i}", 1)
        for _, phone in pairs:
            push = apns.wait(phone.push)[0]
            assert push.answer == (200, None) and push.headers["authorization"].startswith("bearer ")
        assert len(apns.tokens) == 1 and apns.connections == 1
    finally:
        at.close()


def test_another_key_under_the_same_name_is_refused_alone(new_service, authority, apns, apple, credential, options):
    """Two accounts name the same team and key id, and one has another key: it does not harm the other."""
    good, bad = apple.p8(), apple.p8()
    public = apple.file("pub")
    openssl("pkey", "-in", good, "-pubout", "-out", public)
    apns.public_keys[(TEAM, "KEY1234567")] = public
    at = Setting(new_service, authority, apns, [*options, "--p8", good, "--p8-id", "KEY1234567"])
    at.service.expect_log("event=wallet-credential-rests")
    other = Shop(at.service, ("balance",))
    try:
        at.service.cli("wallet", "apple", "put", other.account, *options, "--p8", bad, "--p8-id", "KEY1234567")
        held, thief = Held(other, other.create("eva")), Phone(at.service, other.account)
        assert thief.register(held).status == 201
        other.add("eva", 1)
        assert apns.wait(thief.push)[0].answer == (403, "InvalidProviderToken")
        _, phone = at.installed("ada")
        at.shop.add("ada", 1)
        assert apns.wait(phone.push)[0].answer == (200, None)
        wait_for(lambda: show(other)["state"] == "resting", 10, "the bad one to rest")
        assert show(at.shop)["state"] == "ok"
        thief.close()
    finally:
        other.close()
        at.close()


def test_nothing_is_pushed_without_deliveries(new_service, authority, apns, options):
    service = new_service(shards=1, options=apns.options(authority, "--no-deliveries"))
    shop = Shop(service, ("balance",))
    service.cli("wallet", "apple", "put", shop.account, *options)
    held, phone = Held(shop, shop.create("ada")), Phone(service, shop.account)
    assert phone.register(held).status == 201
    shop.add("ada", 5)
    time.sleep(NOT)
    assert not apns.connections
    phone.close()
    shop.close()


def test_an_address_that_may_not_be_called_is_not(new_service, authority, apns, options):
    service = new_service(shards=1, options=["--wallet-apns", f"localhost:{apns.port}", "--egress-ca", authority.root])
    service.expect_log("pushes_fail")
    shop = Shop(service, ("balance",))
    service.cli("wallet", "apple", "put", shop.account, *options)
    held, phone = Held(shop, shop.create("ada")), Phone(service, shop.account)
    assert phone.register(held).status == 201
    shop.add("ada", 5)
    wait_for(lambda: any("may not be called" in line for line in service.log_lines()), 15, "the refusal to be logged")
    assert not apns.connections
    phone.close()
    shop.close()


def test_pushes_survive_the_death_of_the_timer_and_of_the_shard(at):
    at.service.expect_log("level=warn")
    pairs = [at.installed(f"pass-{i}") for i in range(20)]
    at.apns.latency = 0.05
    for role in ("timer", "shard", "timer"):
        for k in range(20):
            at.shop.add(f"pass-{k}", 1)
        at.service.kill_child(role)
        at.service.wait_ready()
    for k in range(20):
        at.shop.add(f"pass-{k}", 1)
    end = time.monotonic()

    def all_have_the_last():
        at.advance(30)
        return all(at.apns.of(phone.push) and at.apns.of(phone.push)[-1].at > end for _, phone in pairs)
    wait_for(all_have_the_last, 60, "a push after the last change to each phone")


# Changes of many passes

def touch(at, *words):
    return at.service.cli("wallet", "touch", at.shop.account, *words)


def test_a_template_that_changes_pushes_to_the_phones_of_its_passes(at):
    pairs = [at.installed(f"pass-{i}") for i in range(70)]
    at.shop.templates["other"] = at.shop.put_template(template_file("stamps"))
    held = Held(at.shop, at.shop.create("eva", "other"))
    stranger = at.phone()
    assert stranger.register(held).status == 201
    at.shop.put_template(template_file(pass_template_id=at.shop.templates["balance"], name="Another name"))
    for held, phone in pairs:
        at.apns.wait(phone.push)
        assert phone.changed() == {held.serial}
    time.sleep(NOT)
    assert not at.apns.of(stranger.push)
    at.shop.put_template(template_file(pass_template_id=at.shop.templates["balance"], name="Another name"))  # the same file again
    at.advance(6)
    time.sleep(NOT)
    assert len(at.apns.pushes) == 70


def test_a_new_name_of_the_account_pushes_to_all_phones(at):
    held, phone = at.installed("ada")
    phone.changed()
    at.service.cli("account", "rename", at.shop.account, "Another name")
    at.apns.wait(phone.push)
    assert phone.changed() == {held.serial}


def test_touch(at):
    """The write is one message, the number of passes another (WALLET_INSTALLED)."""
    first, one = at.installed("ada")
    second, two = at.installed("eva", at.phone())
    at.shop.create("eve")
    for phone in (one, two):
        phone.changed()
    assert touch(at) == {"passes": 2}
    at.apns.wait(one.push), at.apns.wait(two.push)
    assert one.changed() == {first.serial} and two.changed() == {second.serial}
    at.advance(6)
    assert touch(at, "--pass", "ada") == {"passes": 1}
    at.apns.wait(one.push, 2)
    assert one.changed() == {first.serial} and two.changed() == set()
    at.advance(6)
    assert touch(at, "--template", at.shop.templates["balance"]) == {"passes": 2}
    at.apns.wait(one.push, 3), at.apns.wait(two.push, 2)
    assert one.changed() == {first.serial} and two.changed() == {second.serial}
    assert touch(at, "--pass", "eve") == {"passes": 0}
    both = at.service.run("wallet", "touch", at.shop.account, "--pass", "ada", "--template", at.shop.templates["balance"])
    assert both.returncode == 2 and "give --template or --pass, not both" in both.stderr
    for words, code in ((("--template", "tpl_unknown"), "PASS_TEMPLATE_NOT_FOUND"), (("--pass", "nobody"), "RESOURCE_NOT_FOUND")):
        assert refused(at.service, "wallet", "touch", at.shop.account, *words)["code"] == code


def test_touch_goes_on_after_the_death_of_the_shard(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options, "--wallet-bulk-rate", "20")
    at.service.expect_log("level=warn")
    try:
        pairs = [at.installed(f"pass-{i}") for i in range(60)]
        assert touch(at) == {"passes": 60}
        wait_for(lambda: apns.pushes, 10, "the first push")
        at.service.kill_child("shard")
        at.service.wait_ready()
        for _, phone in pairs:
            apns.wait(phone.push, seconds=30)
    finally:
        at.close()


def test_a_single_change_does_not_wait_behind_a_touch(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options, "--wallet-bulk-rate", "2")
    try:
        pairs = [at.installed(f"pass-{i:02}") for i in range(40)]
        touch(at)
        at.shop.add("pass-39", 1)
        apns.wait(pairs[39][1].push, seconds=5)
        assert len(apns.pushes) < 35
        waiting = at.service.cli("wallet", "show", at.shop.account)
        assert waiting["devices"] == 40 and waiting["installed"] == {"apple": 40, "google": 0}
    finally:
        at.close()


def test_what_waits_is_shown(at):
    _, phone = at.installed("ada")
    assert at.service.cli("wallet", "show", at.shop.account)["waiting"] == {"pushes": 0, "updates": 0}
    at.apns.answers[phone.push].append((500, "InternalServerError"))
    at.shop.add("ada", 1)
    at.apns.wait(phone.push)
    shown = wait_for(lambda: (lambda said: said if said["last_error"] else None)(at.service.cli("wallet", "show", at.shop.account)), 10, "")
    assert shown["waiting"] == {"pushes": 1, "updates": 0} and "InternalServerError" in shown["last_error"]
    at.advance(6)
    wait_for(lambda: at.service.cli("wallet", "show", at.shop.account)["waiting"]["pushes"] == 0, 10, "the push to be done")


def test_pushes_are_counted(at):
    at.shop.create("eva")
    numbers = look(at.service)
    kinds = {"push": 0, "google": 0, "message": 0, "removal": 0}
    fates = {"done": 0, "retry": 0, "held": 0, "refused": 0, "gone": 0}
    assert numbers.by("stampede_wallet_due", "kind") == kinds == numbers.by("stampede_wallet_oldest_due_seconds", "kind")
    assert numbers.by("stampede_wallet_pushes_total", "fate") == fates
    _, phone = at.installed("ada")
    at.apns.answers[phone.push].append((503, "ServiceUnavailable"))
    at.shop.add("ada", 5)
    wait_for(lambda: look(at.service).get("stampede_wallet_pushes_total", shard="0", fate="retry") == 1, 10, "the first try")
    assert look(at.service).by("stampede_wallet_due", "kind") == {**kinds, "push": 1}
    at.advance(7)
    at.apns.wait(phone.push, 2)
    wait_for(lambda: look(at.service).get("stampede_wallet_due", shard="0", kind="push") == 0, 10, "the report")
    numbers = look(at.service)
    assert numbers.by("stampede_wallet_pushes_total", "fate") == {**fates, "retry": 1, "done": 1}
    assert numbers.get("stampede_wallet_push_delay_seconds_count", shard="0") == 1
    assert phone.log("one", "two").status == 200
    assert look(at.service).get("stampede_wallet_device_log_lines_total", shard="0") == 2
    assert numbers.get("stampede_wallet_push_delay_seconds_sum", shard="0") >= 6, "from the change, not from the last try"


def test_how_long_pushes_wait_is_shown(new_service, authority, apns, options):
    at = Setting(new_service, authority, apns, options, "--no-deliveries")
    at.installed("ada")
    at.shop.add("ada", 5)
    at.advance(100)
    wait_for(lambda: look(at.service).get("stampede_wallet_oldest_due_seconds", shard="0", kind="push") >= 100, 10, "the metric")
    at.close()


def test_the_last_error_goes_with_the_next_success(at):
    _, phone = at.installed("ada")
    at.apns.answers[phone.push].append((503, "Shutdown"))
    at.shop.add("ada", 5)
    wait_for(lambda: show(at.shop)["last_error"], 10, "the error")
    at.advance(6)
    at.apns.wait(phone.push, 2)
    wait_for(lambda: show(at.shop)["last_error"] is None, 10, "the error to go")


def on_two_phones(at, apple):
    """A pass on phones of two pass types; the push to the first phone will be refused, so that its credential rests."""
    held, first = at.installed("ada")
    at.service.cli("wallet", "apple", "put", at.shop.account, *apple.options("pass.example.second"))
    second = Phone(at.service, at.shop.account, "pass.example.second")
    at.phones.append(second)
    assert second.register(held).status == 201
    at.service.expect_log("event=wallet-credential-rests")
    at.apns.answers[first.push].append((403, "BadCertificate"))
    return first, second


def test_a_credential_that_rests_holds_no_phone_of_another(at, apple):
    first, second = on_two_phones(at, apple)
    at.shop.add("ada", 1)
    at.apns.wait(second.push), at.apns.wait(first.push)
    wait_for(lambda: any("wallet-credential-rests" in line for line in at.service.log_lines()), 10, "the rest")
    at.advance(20)
    at.shop.add("ada", 1)
    at.apns.wait(second.push, 2)
    assert len(at.apns.of(first.push)) == 1, "it rests"
    at.advance(61)
    at.apns.wait(first.push, 2)
    wait_for(lambda: not at.due("push"), 10, "all to be done")


@pytest.fixture
def half_rested(at, apple):
    """A pass on two phones; the credential of the first rests, the other phone was pushed to."""
    first, second = on_two_phones(at, apple)
    at.shop.add("ada", 1)
    at.apns.wait(first.push)
    wait_for(lambda: any("wallet-credential-rests" in line for line in at.service.log_lines()), 10, "the rest")
    at.advance(6)
    at.apns.wait(second.push, 2)  # once more, since the row was held whole
    wait_for(lambda: look(at.service).get("stampede_wallet_pushes_total", shard="0", fate="done") == 1, 10, "the report")
    return first, second


def test_a_change_is_pushed_to_one_phone_while_the_other_rests(at, half_rested):
    first, second = half_rested
    at.advance(6)
    at.shop.add("ada", 1)
    at.apns.wait(second.push, 3)
    assert len(at.apns.of(first.push)) == 1


def test_what_a_rest_left_out_is_pushed_when_it_is_ended(at, half_rested):
    first, _ = half_rested
    at.service.cli("wallet", "resume", at.shop.account)
    at.apns.wait(first.push, 2)
    wait_for(lambda: not at.due("push"), 10, "all to be done")


def test_what_waits_longest_is_seen_behind_what_does_not(at, options):
    _, phone = at.installed("ada")
    shop, _, other = at.other_shop(options)
    at.service.expect_log("event=wallet-credential-rests")
    at.apns.answers[phone.push].append((403, "BadCertificate"))
    at.shop.add("ada", 5)
    wait_for(lambda: any("wallet-credential-rests" in line for line in at.service.log_lines()), 10, "the rest")
    at.advance(40)
    shop.add("eva", 1)
    at.apns.wait(other.push)
    wait_for(lambda: at.due("push") == 1, 10, "the report")
    assert look(at.service).get("stampede_wallet_oldest_due_seconds", shard="0", kind="push") >= 40
