"""Passes in Google's wallet, through an imitation of Google: its link (WALLET_GOOGLE_LINK), what it says of passes (WALLET_GOOGLE_KEYS,
WALLET_GOOGLE_CHECK, WALLET_GOOGLE_EVENT), and what it gets (GOOGLE_LEASE, GOOGLE_REPORT)."""
import json
import os
import signal
import time
from contextlib import ExitStack, closing

import pytest
from google import Google, read_jwt
from harness import wait_for
from metrics import look
from notices import ahead, await_state, put_audience, schedule
from page import path_of_link
from raw import connect, receive_answer
from saved import SAVE, AtGoogle, at, key  # noqa: F401: fixtures
from phones import names_of
from shop import Shop, path_of, template_file
from wallets import EMAIL, ISSUER, Apple, google as service_account, put_google

NOT = 1.0  # seconds after which a call that must not come has not come


def status(at, pass_id):
    return at.shop.get(pass_id)["status"]


def test_the_link_saves_the_object(at):
    made = at.shop.create("ada", "balance", visible={"name": "Ada", "visits": 3, "vip": True})
    at.shop.add("ada", 25)
    claims = at.claims(made)
    assert (claims["iss"], claims["aud"], claims["typ"]) == (EMAIL, "google", "savetowallet")
    assert set(claims["payload"]) == {"loyaltyObjects"}, "Google has the class"
    [shown], whole = claims["payload"]["loyaltyObjects"], at.google.things["loyaltyClass", f"{ISSUER}.{at.shop.templates['balance']}"]
    assert shown["id"] == at.id_of(made) and shown["classId"] == whole["id"]
    assert (shown["accountId"], shown["accountName"], shown["state"]) == ("ada", "Ada", "ACTIVE")
    assert shown["loyaltyPoints"] == {"label": "Points", "balance": {"int": 25}}
    assert shown["barcode"] == {"type": "QR_CODE", "value": "ada", "alternateText": "ada"}
    assert shown["textModulesData"] == [{"id": "visits", "header": "Visits", "body": "3"}, {"id": "vip", "header": "VIP", "body": "Yes"}]
    assert whole["callbackOptions"] == {"url": f"https://passes.example/wallet/google/{at.shop.account}/callback"}
    assert status(at, "ada") == "issued", "a link is no saving"
    page = at.client.get(path_of_link(made["download_url"]), headers={"User-Agent": "Mozilla/5.0 (Linux; Android 14)"})
    assert b"wallet-google" in page.body and b"wallet-apple" not in page.body
    preview = at.service.cli("wallet", "preview", at.shop.account, "ada")["google"]
    assert preview == {"class": whole, "object": shown}


def test_points_beyond_an_int_are_a_text(at):
    made = at.shop.create("ada", "balance")
    at.shop.add("ada", 5_000_000_000)
    assert at.claims(made)["payload"]["loyaltyObjects"][0]["loyaltyPoints"]["balance"] == {"string": "5000000000"}


def test_a_card_without_points_is_generic(at):
    made = at.shop.create("ada", "none")
    payload = at.claims(made)["payload"]
    assert set(payload) == {"genericObjects"}
    assert payload["genericObjects"][0]["cardTitle"]["defaultValue"]["value"]
    at.save(made)
    [call] = at.google.wait("PATCH", "genericObject")
    assert call.answer == 200


def test_what_the_link_refuses(at):
    made = at.shop.create("ada", "balance")
    at.shop.set("--wallet", "apple")
    assert at.link(made).status == 404
    at.shop.set("--wallet", "on")
    at.shop.event("ada", "deactivated")
    assert at.link(made).status == 403
    at.shop.delete("ada")
    assert at.link(made).status == 410
    assert at.client.get("/p/AAAAAAAAAAAAAAAAAAAAAA/google").status == 404


def test_a_saved_pass_is_active_and_its_points_move(at):
    made = at.saved("ada")
    assert status(at, "ada") == "active"
    assert at.service.cli("wallet", "show", at.shop.account)["installed"] == {"apple": 0, "google": 1}
    at.advance(6)
    at.shop.add("ada", 25)
    wait_for(lambda: at.balance_at_google(made) == 25, 10, "the points at Google")
    assert at.google.tokens == 1, "the token is kept"
    assert at.service.cli("verify")["ok"]


def test_a_pass_that_was_not_offered_costs_no_call(at):
    at.shop.create("ada", "balance")
    at.shop.add("ada", 25)
    time.sleep(NOT)
    assert not at.google.calls


def test_a_pass_that_is_deleted_there_is_removed(at):
    made = at.saved("ada")
    at.hear(made, "del", ends=70)
    assert status(at, "ada") == "active", "for a minute"
    at.advance(61)
    wait_for(lambda: status(at, "ada") == "removed", 10, "the removal")
    at.hear(made, "save", ends=80)
    assert status(at, "ada") == "active"
    assert at.service.cli("verify")["ok"]


def test_late_and_double_callbacks_change_nothing(at):
    made = at.saved("ada")
    save = at.google.callback(at.id_of(made), "save", ends=90)
    gone = at.google.callback(at.id_of(made), "del", ends=80)
    assert at.say(save).status == at.say(gone).status == at.say(save).status == 200
    at.advance(61)
    time.sleep(NOT)
    assert status(at, "ada") == "active"


def test_callbacks_that_are_not_googles(at):
    made = at.saved("ada")
    good = at.google.callback(at.id_of(made), "del", ends=90)
    other = at.google.pair("other")
    bad = [
        {**good, "signature": good["signature"][:-8] + "AAAAAAA="}, {**good, "protocolVersion": "ECv1"}, {}, [], "x",
        at.google.callback(at.id_of(made), "del", ends=90, by=other), at.google.callback(at.id_of(made), "del", ends=-1),
        at.google.callback(at.id_of(made), "del", ends=90, issuer="1"), at.google.callback(at.id_of(made), "eat", ends=90),
        at.google.callback(f"{ISSUER}.AAAAAAAAAAAAAAAAAAAAAA", "del", ends=90),
        at.google.callback(at.id_of(made).replace(ISSUER, "999"), "del", ends=90),
        at.google.callback(at.id_of(made).replace(ISSUER, "999"), "del", ends=90, issuer="999"),
        {**good, "signedMessage": good["signedMessage"].replace('"del"', '"save"')},
    ]
    for body in bad:
        answer = at.say(body)
        assert answer.status == 400 and answer.json["code"] == "INVALID_REQUEST", (body, answer)
    stranger = Shop(at.service, ("balance",))
    assert at.client.post(f"/wallet/google/{stranger.account}/callback", good).status == 400, "another account's pass"
    assert at.client.post("/wallet/google/acc_aaaaaaaaaaaaaaab/callback", good).status == 400
    assert at.client.post(f"/wallet/google/{at.shop.account}/callback", {"pad": "x" * 20000}).status == 413
    stranger.close()
    at.advance(61)
    assert status(at, "ada") == "active"


def test_callbacks_wait_for_googles_keys(new_service, tmp_path, key):
    google = Google(tmp_path, key)
    google.serves_keys = False
    service = new_service(shards=1, options=google.options())
    shop = Shop(service, ("balance",))
    put_google(shop, service_account(tmp_path, key))
    made = shop.create("ada")
    body = google.callback(f"{ISSUER}.{names_of(service, made['download_url'])[0]}", "save")
    with service.client() as client:
        for _ in range(5):
            answer = client.post(f"/wallet/google/{shop.account}/callback", body)
            assert answer.status == 503 and answer.headers["retry-after"]
            time.sleep(0.2)
    shop.close()
    service.stop()
    google.close()


def test_without_a_service_account_there_is_nothing(new_service, tmp_path, key):
    google = Google(tmp_path, key)
    service = new_service(shards=1, options=google.options())
    shop = Shop(service, ("balance",))
    made = shop.create("ada")
    with service.client() as client:
        other, link = (client.get(path_of_link(made["download_url"]) + name) for name in ("/anything", "/google"))
        assert (link.status, link.body) == (other.status, other.body) and link.status == 404
        assert client.post(f"/wallet/google/{shop.account}/callback", {}).json["code"] == "ROUTE_NOT_FOUND"
    time.sleep(NOT)
    assert not google.calls and not google.tokens
    shop.close()
    service.stop()
    google.close()


@pytest.mark.parametrize("answer", [429, 500, 503])
def test_what_failed_is_repeated(at, answer):
    made = at.saved("ada")
    at.advance(6)
    at.google.answers["PATCH", "loyaltyObject"].append(answer)
    at.shop.add("ada", 25)
    wait_for(lambda: any(call.answer == answer for call in at.google.calls), 10, "the failure")
    assert at.service.cli("wallet", "show", at.shop.account)["waiting"]["updates"] == 1
    at.advance(7)
    wait_for(lambda: at.balance_at_google(made) == 25, 10, "the points")


def service_account_of(at):
    return at.service.cli("wallet", "google", "show", at.shop.account)


def test_a_forbidden_pass_fails_alone(at):
    first, second = at.saved("ada"), at.saved("eva")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    for turn in range(1, 4):  # each time a success comes between
        at.advance(6)
        at.google.answers["PATCH", "loyaltyObject"].append(403)
        at.shop.add("ada", 1)
        wait_for(lambda: len([call for call in at.google.calls if call.answer == 403]) == turn, 10, "the refusal")
        wait_for(lambda: at.due() == 0, 10, "it to be given up")
        assert service_account_of(at)["state"] == "ok"
        assert service_account_of(at)["last_error"] == f"object {at.id_of(first)}: status 403"
        at.shop.add("eva", 1)
        wait_for(lambda: at.balance_at_google(second) == turn, 10, "the other's points")
    assert at.balance_at_google(first) == 0
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.balance_at_google(first) == 4, 10, "the next change")


@pytest.mark.parametrize("status", [400, 403])
def test_what_is_refused_of_an_erased_or_ended_pass_is_repeated(at, status):
    erased, ended = at.saved("ada"), at.saved("eva")
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    at.advance(6)
    at.google.answers["PATCH", "loyaltyObject"].extend([status] * 2)
    at.service.cli("pass", "erase", at.shop.account, "ada")
    assert at.shop.client.delete(path_of("eva")).status == 204
    wait_for(lambda: len([call for call in at.google.calls if call.answer == status]) == 2, 10, "the refusals")
    assert at.due() == 2
    at.advance(7)
    wait_for(lambda: at.due() == 0, 10, "the next tries")
    for made in (erased, ended):
        assert at.object_of(made)["state"] == "INACTIVE"
    shown = at.object_of(erased)
    assert not any(shown.get(name) for name in ("accountId", "accountName", "barcode", "textModulesData")), shown


def test_a_service_account_that_may_write_no_pass_rests(at):
    made = [at.saved(f"pass-{number}") for number in range(5)]
    wait_for(lambda: at.due() == 0, 10, "nothing to be due")
    at.advance(6)
    at.service.expect_log("event=wallet-credential-rests .*kind=google")
    at.google.answers["PATCH", "loyaltyObject"].extend([403] * 3)
    for number in range(5):
        at.shop.add(f"pass-{number}", 7)
    wait_for(lambda: service_account_of(at)["state"] == "resting", 10, "the rest")
    assert at.due() >= 1
    at.advance(70)
    wait_for(lambda: sum(at.balance_at_google(one) == 7 for one in made) >= 3, 15, "the points of those that waited")
    wait_for(lambda: service_account_of(at)["state"] == "ok", 10, "the end of the rest")


def test_a_stale_token_is_replaced(at):
    made = at.saved("ada")
    at.google.tokens += 1  # the one that is kept holds no more
    at.advance(6)
    at.shop.add("ada", 25)
    wait_for(lambda: at.balance_at_google(made) == 25, 10, "the points")
    assert [call.answer for call in at.google.calls].count(401) == 1


def test_a_service_account_that_google_refuses_rests(at):
    made = at.shop.create("ada", "balance")
    at.google.refuses_tokens, at.google.tokens = True, at.google.tokens + 1  # the one that is kept holds no more
    at.service.expect_log("event=wallet-credential-rests account=acc_[a-z0-9]+ kind=google seconds=60")
    at.save(made)
    wait_for(lambda: at.service.cli("wallet", "google", "show", at.shop.account)["state"] == "resting", 10, "the rest")
    assert "no access token" in at.service.cli("wallet", "google", "show", at.shop.account)["last_error"]
    at.google.refuses_tokens = False
    at.advance(61)
    at.google.wait("PATCH", "loyaltyObject")
    wait_for(lambda: at.service.cli("wallet", "google", "show", at.shop.account)["state"] == "ok", 10, "the end of the rest")


@pytest.mark.parametrize("lives", [1, 2, 9223372036854, 2**63 - 1])
def test_a_token_of_any_life_is_not_replaced_at_once(at, lives):
    made = at.shop.create("ada", "balance")
    at.google.lives = lives
    at.google.tokens += 1  # the one that is kept holds no more
    before = at.google.tokens
    at.save(made)
    wait_for(lambda: at.google.tokens > before, 10, "a token to be asked for")
    time.sleep(NOT)
    assert at.google.tokens == before + 1
    if lives > 1:
        at.google.wait("PATCH", "loyaltyObject")


def test_forged_callbacks_have_a_share_of_the_signer(at):
    """They take a millisecond each of the thread that also signs packages. Beyond their share they are refused unread."""
    made = at.saved("ada")
    body = at.google.callback(at.id_of(made), "del", by=at.google.pair("stranger"))
    body["intermediateSigningKey"]["signatures"] *= 4
    text = json.dumps(body).encode()
    request = f"POST /wallet/google/{at.shop.account}/callback HTTP/1.1\r\nHost: x\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text
    shard = at.service.signal("shard", 0, signal.SIGSTOP)
    with ExitStack() as stack:
        try:
            connections = [stack.enter_context(closing(connect(at.service.http))) for _ in range(100)]
            for connection in connections:
                connection.sendall(request)
            wait_for(lambda: look(at.service).sum("stampede_http_calls_waiting") >= 100, 10, "the calls to wait for the shard")
        finally:
            os.kill(shard, signal.SIGCONT)
        statuses = [receive_answer(connection)[0].status for connection in connections]
    assert set(statuses) == {400, 503} and 10 <= statuses.count(400) <= 40, statuses
    at.hear(made, "del")


def test_a_class_is_made_once_and_again_when_it_looks_different(at):
    made = at.saved("ada")
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.balance_at_google(made) == 1, 10, "the points")
    assert not at.google.of("PATCH", "loyaltyClass"), "it looks as it did"
    at.shop.put_template(template_file(pass_template_id=at.shop.templates["balance"], appearance={"title": "Other"}))
    at.advance(6)
    at.google.wait("PATCH", "loyaltyClass")
    assert at.google.things["loyaltyClass", f"{ISSUER}.{at.shop.templates['balance']}"]["programName"] == "Other"


def test_messages_are_sent_with_three_notices_a_day(at):
    made = at.saved("ada")
    for number in range(4):
        at.advance(6)
        at.shop.add("ada", 1, message=f"Hello {number}")
        at.google.wait("POST", "loyaltyObject", number + 1)
    sent = [call.body["message"] for call in at.google.of("POST", "loyaltyObject")]
    assert [message["body"] for message in sent] == [f"Hello {number}" for number in range(4)]
    assert [message["messageType"] for message in sent] == ["TEXT_AND_NOTIFY"] * 3 + ["TEXT"]
    assert len({message["id"] for message in sent}) == 4
    at.advance(24 * 3600)
    at.shop.add("ada", 1, message="Tomorrow")
    assert at.google.wait("POST", "loyaltyObject", 5)[-1].body["message"]["messageType"] == "TEXT_AND_NOTIFY"


def test_a_quota_of_googles_makes_a_message_silent(at):
    at.saved("ada")
    at.advance(6)
    at.google.answers["POST", "loyaltyObject/addMessage"].append(429)
    at.shop.add("ada", 1, message="Hello")
    first, second = at.google.wait("POST", "loyaltyObject", 2)
    assert [first.body["message"]["messageType"], second.body["message"]["messageType"]] == ["TEXT_AND_NOTIFY", "TEXT"]


def test_a_message_to_an_audience_reaches_google(at):
    at.saved("ada")
    at.advance(6)
    audience = put_audience(at.shop, "--name", "All", "--pass", "ada")
    notice = schedule(at.shop, "Hello all", ahead(at.shop, seconds=-1), "--audience", audience)
    message = at.google.wait("POST", "loyaltyObject")[0].body["message"]
    assert (message["body"], message["id"]) == ("Hello all", notice)
    await_state(at.shop, "Hello all", "sent")


def test_an_ended_pass_is_inactive_there(at):
    made = at.saved("ada")
    at.advance(6)
    at.shop.event("ada", "deactivated")
    wait_for(lambda: at.object_of(made)["state"] == "INACTIVE", 10, "the end at Google")


def test_an_object_that_google_has_not(at):
    made = at.saved("ada")
    del at.google.things["loyaltyObject", at.id_of(made)]
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.google.of("PATCH", "loyaltyObject")[-1].answer == 404, 10, "the answer")
    time.sleep(NOT)
    assert status(at, "ada") == "active", "it may be too fresh"
    assert at.service.cli("wallet", "show", at.shop.account)["waiting"]["updates"] == 1


def test_updates_survive_kills(at):
    made = at.saved("ada")
    at.service.expect_log("event=died")
    for role in ("timer", "shard", "http"):
        at.advance(6)
        at.shop.add("ada", 5)
        at.service.kill_child(role)
        at.shop.client.close()
    at.advance(30)
    wait_for(lambda: at.advance(6) or at.balance_at_google(made) == 15, 40, "the points")
    assert at.service.cli("verify")["ok"]


def test_nothing_is_sent_without_deliveries(new_service, tmp_path, key):
    at = AtGoogle(new_service, tmp_path, key, "--no-deliveries")
    assert at.link(at.shop.create("ada", "balance")).status == 303
    time.sleep(NOT)
    assert not at.google.calls
    at.close()


def test_uninstalled_by_hand(at):
    made = at.saved("ada")
    at.shop.event("ada", "uninstalled")
    assert status(at, "ada") == "removed"
    at.advance(6)
    count = len(at.google.calls)
    at.shop.add("ada", 5)
    time.sleep(NOT)
    assert len(at.google.calls) == count and at.service.cli("verify")["ok"]
    assert json.dumps(at.service.cli("wallet", "show", at.shop.account)["installed"]) == '{"apple": 0, "google": 0}'
    assert path_of("ada") and made


def test_an_erased_pass_is_blanked_there(at):
    made = at.saved("ada")
    at.advance(6)
    answer = at.shop.client.patch(path_of("ada"), {"visible": {"visits": 3}})
    assert answer.status == 204
    wait_for(lambda: at.object_of(made).get("textModulesData"), 10, "the field")
    object_id = at.id_of(made)
    at.advance(6)
    at.service.cli("pass", "erase", at.shop.account, "ada")
    shown = wait_for(lambda: (lambda thing: thing if thing["state"] == "INACTIVE" else None)(
        at.google.things["loyaltyObject", object_id]), 10, "the end at Google")
    assert shown["loyaltyPoints"] is None and "barcode" in shown and shown["barcode"] is None
    assert shown["accountName"] is None and shown["textModulesData"] == [] and shown["accountId"] != "ada"
    wait_for(lambda: at.service.cli("wallet", "show", at.shop.account)["waiting"]["updates"] == 0, 10, "the report")
    assert at.service.cli("verify")["ok"]
    assert at.service.stop() == 0
    done = at.service.run("table", "dump", at.service.data / "shards/0", "wallet_google", data=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_a_pass_has_no_more_is_gone_there(at):
    made = at.saved("ada")
    for visible, texts in (({"visits": 3}, 1), ({"visits": None}, 0)):
        at.advance(6)
        assert at.shop.client.patch(path_of("ada"), {"visible": visible}).status == 204
        wait_for(lambda: len(at.object_of(made).get("textModulesData", "x")) == texts, 10, "the texts")
    at.advance(6)
    at.shop.add("ada", 5_000_000_000)
    wait_for(lambda: at.object_of(made)["loyaltyPoints"]["balance"] == {"string": "5000000000", "int": None}, 10, "the text")


@pytest.mark.parametrize("answer", [400, 409])
def test_a_message_that_google_refuses_holds_up_nothing(at, answer):
    made = at.saved("ada")
    at.advance(6)
    at.google.answers["POST", "loyaltyObject/addMessage"].append(answer)
    at.shop.add("ada", 25, message="Hello")
    wait_for(lambda: at.balance_at_google(made) == 25, 10, "the points")
    at.advance(6)
    at.shop.add("ada", 1)
    wait_for(lambda: at.balance_at_google(made) == 26, 10, "the points")
    assert len(at.google.of("POST", "loyaltyObject")) == 1, "it is not sent again"


def test_a_class_that_cannot_be_made_removes_no_pass(at):
    made = at.shop.create("ada", "balance")
    at.google.answers["PATCH", "loyaltyClass"].extend([404] * 6)
    at.google.answers["POST", "loyaltyClass"].extend([404, 409] * 2)
    at.shop.put_template(template_file(pass_template_id=at.shop.templates["balance"], appearance={"title": "Other"}))
    at.save(made)
    wait_for(lambda: at.service.cli("wallet", "google", "show", at.shop.account)["last_error"], 10, "the error")
    assert status(at, "ada") == "active" and len(at.google.calls) < 10


def test_a_message_before_the_saving_is_not_sent(at):
    made = at.shop.create("ada", "balance")
    at.shop.event("ada", "installed")
    at.shop.add("ada", 1, message="Too early")
    at.save(made)
    at.google.wait("PATCH", "loyaltyObject")
    assert not at.google.of("POST", "loyaltyObject")


def test_accounts_share_the_operators_pace_and_token(new_service, tmp_path, key):
    google = Google(tmp_path, key)
    service = new_service(shards=2, options=google.options("--test-clock"))
    service.cli("wallet", "google", "put", "--default", "--service-account", service_account(tmp_path, key), "--issuer", ISSUER)
    shops = [Shop(service, ("balance",)) for _ in range(4)]
    client = service.client()
    for shop in shops:
        made = shop.create("ada")
        thing = f"{ISSUER}.{names_of(service, made['download_url'])[0]}"
        google.things["loyaltyObject", thing] = {}
        body = google.callback(thing, "save")
        wait_for(lambda: client.post(f"/wallet/google/{shop.account}/callback", body).status == 200, 10, "the callback")
    google.wait("PATCH", "loyaltyObject", len(shops))
    assert google.tokens == 1
    client.close()
    for shop in shops:
        shop.close()
    service.stop()
    google.close()


def test_a_deletion_is_taken_after_the_service_account_was_removed(at):
    made = at.saved("ada")
    at.service.cli("wallet", "google", "remove", at.shop.account)
    at.hear(made, "del", ends=61)
    at.advance(61)
    wait_for(lambda: status(at, "ada") == "removed", 10, "the removal")
