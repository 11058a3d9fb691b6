"""pass erase: removes all of a holder's data and keeps the rest of the pass. Also how long files keep erased data."""
import shutil
import subprocess

import pytest
from clocks import DAY_SECONDS
from deliveries import advance, await_that, deliveries_of, envelope, hooked_shop, posts_to
from entitlements import given_path
from erasures import WORDS, all_of, erase, erased_ids, everything, export, files_with_words, folded, has_words, holder
from harness import refusal, wait_for
from hooks import subscribe
from notices import await_state, put_audience, schedule
from rewards import offer
from shop import Shop, new_id, path_of


@pytest.fixture
def shop(service):
    made = Shop(service, functions=("--rewards",))
    yield made
    assert service.cli("verify")["ok"]
    made.close()


# Effects of an erasure

@pytest.mark.parametrize("deleted", [False, True])
def test_no_word_of_the_holder_is_left(shop, deleted):
    made = holder(shop)
    shop.create("neighbour", visible={"name": "Bea"})
    if deleted:
        shop.delete(made["id"])
        gone = shop.get(made["id"], "?include_deleted=true")["deleted_at"]
    history = shop.history(made["id"])
    link = "/p/" + made["download_url"].rsplit("/", 1)[1]
    assert set(has_words(everything(shop, [made["id"]]))) == set(WORDS)
    assert erase(shop, made["id"]) == {}

    (pass_id,) = erased_ids(shop)
    assert pass_id != made["id"]
    assert has_words(everything(shop, [pass_id])) == []
    for word in WORDS:
        for path in ("/v1/passes?include_deleted=true&", "/v1/scans?", "/v1/notifications?"):
            assert shop.client.get(f"{path}q={folded(word)}").json == [], (path, word)
    shop.client.get(path_of(made["id"]) + "?include_deleted=true").is_error(404, "RESOURCE_NOT_FOUND")
    shop.client.post("/v1/scans", {"qr_value": f"Kardamom-77{made['created_at']}"}).is_error(404, "RESOURCE_NOT_FOUND")
    assert shop.client.get(link).status == 404

    shown = shop.get(pass_id, "?include_deleted=true")
    assert {key: shown[key] for key in ("visible", "hidden", "appearance", "status", "balance", "created_at")} == {
        "visible": {"points": 5}, "hidden": {}, "appearance": None, "status": "deactivated", "balance": 5,
        "created_at": made["created_at"]}
    assert shown["deleted_at"] == gone if deleted else shown["deleted_at"] >= made["created_at"]
    shop.client.get(path_of(pass_id)).is_error(404, "RESOURCE_NOT_FOUND")
    after = shop.history(pass_id)
    assert after[:-1] == history and after[-1]["what"] == "erased" and after[-1]["status"] == "deactivated"
    kept = export(shop, pass_id)
    assert [len(kept[part]) for part in ("entitlements", "redemptions", "scans", "notifications", "cards")] == [1, 1, 1, 2, 0]
    assert [(one["context"], one["note"], one["amount"]) for one in kept["redemptions"]] == [("", "", 1)]
    assert [one["message"] for one in kept["notifications"]] == ["", ""]
    assert shop.get("neighbour")["visible"]["name"] == "Bea" and shop.list()[1] == 1


def test_an_erased_pass_is_removed_from_its_audiences(shop):
    for pass_id in ("Quittenmus", "neighbour"):
        shop.create(pass_id)
    both = put_audience(shop, "--name", "Both", "--pass", "Quittenmus", "--pass", "neighbour")
    alone = put_audience(shop, "--name", "Alone", "--pass", "Quittenmus")
    for audience in (both, alone):
        schedule(shop, f"to {audience}", "2020-01-01T00:00:00Z", "--audience", audience)
        await_state(shop, f"to {audience}", "sent")
    assert len(export(shop, "Quittenmus")["audiences"]) == len(export(shop, "Quittenmus")["notifications"]) == 2
    erase(shop, "Quittenmus")
    told = export(shop, erased_ids(shop)[0])
    assert told["audiences"] == told["notifications"] == []
    told = export(shop, "neighbour")
    assert [one["id"] for one in told["audiences"]] == [both] and len(told["notifications"]) == 1
    put_audience(shop, "--id", alone, "--name", "Alone", "--pass", "neighbour")
    schedule(shop, "again", "2020-01-01T00:00:00Z", "--audience", alone)
    await_state(shop, "again", "sent")


def test_a_second_erasure_changes_nothing_and_an_unknown_pass_is_refused(shop):
    holder(shop)
    assert erase(shop, "Quittenmus") == {}

    def state():  # not the notifications: due ones are still being sent
        return shop.list("?include_deleted=true"), shop.history(erased_ids(shop)[0])

    before = state()
    assert erase(shop, "Quittenmus") == {}
    assert erase(shop, erased_ids(shop)[0]) == {}
    assert state() == before
    for pass_id in ("nobody", ".", "Quittenmus2", "quittenmus", "x" * 201):
        assert refusal(erase, shop, pass_id).code == "RESOURCE_NOT_FOUND"
    other = Shop(shop.service)
    assert refusal(erase, other, "Quittenmus").code == "RESOURCE_NOT_FOUND"
    other.close()


def test_every_pass_of_the_id_is_erased(shop):
    for _ in range(3):
        made = holder(shop)
        shop.delete(made["id"])
    shop.create("Quittenmus0", visible={"name": "another"})
    holder(shop)
    assert erase(shop, "Quittenmus") == {}
    ids = erased_ids(shop)
    assert len(set(ids)) == 4 and has_words([one for one in everything(shop, ids)]) == ["Quittenmus"]  # found in Quittenmus0, another id that must stay
    assert shop.get("Quittenmus0")["visible"]["name"] == "another"
    erase(shop, "Quittenmus0")


def test_the_id_can_be_created_again(shop):
    old = holder(shop)
    erase(shop, old["id"])
    again = shop.create(old["id"], visible={"name": "Somebody else"})
    assert again["balance"] == 0 and again["download_url"] != old["download_url"]
    assert len(shop.history(old["id"])) == 2
    shop.add(old["id"], 1)
    assert shop.get(old["id"])["balance"] == 1 and len(erased_ids(shop)) == 1
    assert erase(shop, old["id"]) == {}  # the new pass can be erased too
    assert len(erased_ids(shop)) == 2


@pytest.mark.parametrize("event", ["installed", "deactivated"])
def test_erasure_in_any_state(shop, event):
    holder(shop)
    shop.event("Quittenmus", event)
    assert erase(shop, "Quittenmus") == {}
    assert has_words(everything(shop, erased_ids(shop))) == []


def test_erasure_in_a_suspended_account(shop):
    holder(shop)
    shop.set("--suspended", "on")
    assert erase(shop, "Quittenmus") == {}
    shop.set("--suspended", "off")
    assert has_words(everything(shop, erased_ids(shop))) == []


def test_former_names_of_the_pass_are_removed(shop):
    """The list orders are stored in chunks whose bounds are names. A bound that is a former name must be removed too."""
    for number in range(300):
        shop.create(f"n{number:03}", visible={"name": f"name {number:03}"})
    for number in (130, 131, 200, 127, 128, 129):
        shop.client.patch(path_of(f"n{number}"), {"visible": {"name": f"Wirsing {number}"}}).is_empty(204)
        shop.client.patch(path_of(f"n{number}"), {"visible": {"name": f"name {number}"}}).is_empty(204)
        erase(shop, f"n{number}")
    listed = all_of(shop, "/v1/passes?sort_by=name&sort_dir=asc")
    assert [one["id"] for one in listed] == [f"n{n:03}" for n in range(300) if n not in (130, 131, 200, 127, 128, 129)]
    assert len(erased_ids(shop)) == 6


def test_a_pass_with_many_texts(shop):
    """The texts need more than one cleanup step."""
    made = holder(shop, entitlements=70)
    shop.create("neighbour", visible={"name": "Bea"})
    for number in range(120):
        shop.add(made["id"], 1, message=f"Blaukraut {number}")
        shop.add("neighbour", 1, message=f"for you {number}")
    for number in range(40):
        shop.service.cli("card", "link", shop.account, "--pass", made["id"], "--code", f"Kardamom-77-{number}")
    assert erase(shop, made["id"]) == {}
    (pass_id,) = erased_ids(shop)
    assert has_words(everything(shop, [pass_id])) == []
    kept = export(shop, pass_id)
    assert [len(kept[part]) for part in ("history", "redemptions", "notifications", "cards")] == [124, 70, 122, 0]
    assert len(export(shop, "neighbour")["notifications"]) == 120
    assert shop.client.get("/v1/notifications?q=for%20you").headers["x-total-count"] == "120"


def keyed(shop, pass_id, slug):
    """Runs every operation on a pass with an idempotency key: {name: (answer, how to send it again)}."""
    done = {}

    def send(name, method, path, body=None):
        headers = {"Idempotency-Key": new_id("key")}

        def again():
            return shop.client.request(method, path, body, headers=headers)

        done[name] = again(), again
        assert done[name][0].status < 300, done[name][0]
        return done[name][0].json if done[name][0].body else None

    send("create", "POST", "/v1/passes", {"pass_id": pass_id, "visible": {"name": "Zwölfender"},
                                          "hidden": {"mail": "xylofon@holder.example"}})
    shop.service.cli("card", "link", shop.account, "--pass", pass_id, "--code", f"Kardamom-77-{pass_id}")
    send("scan", "POST", "/v1/scans", {"pass_id": pass_id, "reader_id": "till"})
    send("scan with its pass", "POST", "/v1/scans?pass_info=true", {"pass_id": pass_id})
    send("scan of a card", "POST", "/v1/scans", {"qr_value": f"Kardamom-77-{pass_id}"})
    given = send("assign", "POST", given_path(pass_id, "/assign"), {"slug": slug})
    send("redeem", "POST", given_path(pass_id, f"/{given['id']}/redeem"), {"context": "Hagebutte", "note": "Wirsing"})
    send("loyalty", "POST", path_of(pass_id, "/loyalty"), {"balance_to_add": 5, "message": "Blaukraut"})
    send("patch", "PATCH", path_of(pass_id), {"visible": {"name": "Wirsing"}})
    send("delete", "DELETE", path_of(pass_id))
    return done


def test_no_answer_with_an_erased_passs_data_is_replayed(shop):
    """Tests every operation. Its effect stays. An answer without a body has no personal data and may be replayed."""
    slug = offer(shop, repeat_assignment=True)["slug"]
    theirs, neighbours = keyed(shop, "Quittenmus", slug), keyed(shop, "neighbour", slug)
    erase(shop, "Quittenmus")
    (random_id,) = erased_ids(shop)

    def check():
        for name, (first, send) in theirs.items():
            again = send()
            if first.body:
                again.is_error(409, "IDEMPOTENCY_KEY_REUSED")
                assert "has been erased" in again.json["message"] and "idempotency-replayed" not in again.headers, name
            else:
                assert (again.status, again.headers.get("idempotency-replayed")) == (first.status, "true"), name
            assert has_words(again.body.decode()) == [] and random_id not in again.body.decode(), name

    check()
    assert {name for name, (first, _) in theirs.items() if not first.body} == {"loyalty", "patch", "delete"}
    for name, (first, send) in neighbours.items():
        again = send()
        assert (again.status, again.headers.get("idempotency-replayed")) == (first.status, "true"), name
        assert name in ("create", "scan with its pass") or again.body == first.body, name
    fresh = shop.create("Quittenmus", visible={"name": "Somebody else"})
    check()
    assert shop.get("Quittenmus") == fresh, "an old idempotency key changed the next pass of the id"
    erase(shop, "Quittenmus")


# Webhooks

def test_pending_deliveries_are_discarded_or_have_no_personal_data(ticking, receiver):
    shop, path = hooked_shop(ticking), "/" + new_id("erased")
    receiver.play(path, *["/status/503"] * 3, *["/status/200"] * 9)
    hook = subscribe(shop, receiver.url(path), ["pass.created", "pass.balanceUpdate", "scan.created"])
    shop.create("Quittenmus", visible={"name": "Zwölfender"})
    shop.add("Quittenmus", 5)
    assert shop.client.post("/v1/scans", {"pass_id": "Quittenmus"}).status == 200
    wait_for(lambda: sum(row["attempts"] for row in deliveries_of(shop, hook)) == 3, 10, "three first attempts")
    erase(shop, "Quittenmus")
    outcomes = {row["type"]: row["outcome"] for row in deliveries_of(shop, hook)}
    assert outcomes == {"pass.created": "discarded", "pass.balanceUpdate": "discarded", "scan.created": "pending"}
    advance(ticking, 60)
    sent = posts_to(receiver, path, 4)[-1]
    told = envelope(sent)
    assert told["type"] == "scan.created" and told["data"]["pass_id"] == erased_ids(shop)[0] and has_words(told) == []
    advance(ticking, 8 * DAY_SECONDS)
    await_that(lambda: deliveries_of(shop) == [], "ended deliveries to be removed")
    assert ticking.cli("verify")["ok"]
    shop.close()


def test_the_erased_id_is_remembered_for_30_days(ticking):
    shop = Shop(ticking, functions=("--rewards",))
    holder(shop)
    erase(shop, "Quittenmus")
    advance(ticking, 29 * DAY_SECONDS)
    assert erase(shop, "Quittenmus") == {}
    advance(ticking, 2 * DAY_SECONDS)
    assert refusal(erase, shop, "Quittenmus").code == "RESOURCE_NOT_FOUND"
    shop.close()


# Files

def test_an_erasure_continues_after_a_kill(new_service):
    """The shard is killed during the erasure. Once the pass is gone, the next shard process finishes the erasure
    without a new command."""
    service = new_service(shards=1)
    shop = Shop(service, functions=("--rewards",))
    begun = 0
    for number in range(6):
        made = holder(shop, f"Quittenmus{number}", entitlements=50)
        old = service.pid_of("shard")
        service.expect_log("event=died child=shard-0")
        command = subprocess.Popen([service.program, "pass", "erase", shop.account, made["id"], "--data", service.data],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number % 2:
            command.wait(60)
        else:
            wait_for(lambda: shop.client.get(path_of(made["id"])).status == 404, 20, "the pass to be gone")
        service.kill_child("shard")
        command.wait(60)
        service.await_successor("shard", 0, old)
        wait_for(lambda: shop.client.get("/v1/passes").status == 200, 20, "the next shard process")
        begun += shop.client.get(path_of(made["id"])).status == 404
        assert len(erased_ids(shop)) == begun == number + 1
        wait_for(lambda: not has_words(everything(shop, erased_ids(shop))), 20, "the rest of the erasure")
    assert service.cli("verify")["ok"]
    service.restart()
    shop.client = service.client(shop.key)
    assert has_words(everything(shop, erased_ids(shop))) == []
    assert service.cli("verify")["ok"]
    shop.close()


def test_erased_data_disappears_from_files_as_they_are_recycled(new_service, tmp_path):
    service = new_service(shards=1)
    shop = Shop(service, functions=("--rewards",))
    holder(shop)
    shards = service.data / "shards"
    assert files_with_words(shards)
    erase(shop, "Quittenmus")

    def shard():
        return service.status()["shards"][0]

    wait_for(lambda: shard()["snapshots"] == 1, 20, "a snapshot made after the erasure")
    assert not files_with_words(shards / "0" / "snapshots")
    shop.create("later")
    service.cli("backup", tmp_path / "backup")
    assert not files_with_words(tmp_path / "backup")
    wait_for(lambda: shard()["journal_first_segment"] > 1, 20, "the journal to be recycled")
    assert not files_with_words(shards / "0" / "snapshots", shards / "0" / "journal")
    assert service.cli("verify")["ok"]
    assert service.stop() == 0
    shutil.rmtree(shards / "0" / "db")  # free pages of the tables may keep erased data until they are rebuilt, see privacy.md
    service.expect_log("event=tables_refused")
    service.start()
    assert not files_with_words(service.data)
    shop.client = service.client(shop.key)
    assert len(erased_ids(shop)) == 1 and shop.get("later")["balance"] == 0
    assert service.cli("verify")["ok"]
    shop.close()
