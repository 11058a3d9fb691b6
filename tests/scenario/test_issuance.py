"""Passes with images: the images are fetched over HTTPS and checked, and the pass is issued or fails with a reason.
Source: document 2.1, 3.1, 4.1, 6.1, and the decisions on issuance."""
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from certificates import Authority
from deliveries import options
from harness import wait_for
from hooks import subscribe
from images import SIGNATURE, Gallery, answer, await_status, body_with, chunk, png
from patience import PATIENCE
from receiver import Mute
from shop import Shop, new_id, path_of

QUICK_SECONDS = 8  # well within the wait on a busy machine
WAIT_SECONDS, WAIT_SLACK = 10, 3 * PATIENCE
TRY_SECONDS, TRY_SLACK = 30, 8


@pytest.fixture
def shop(issuing):
    shop = Shop(issuing, ("balance",), functions=("--webhooks",))
    yield shop
    shop.close()


class Slow:
    """Creations that use their full time. They start before the first test and are checked by the last ones, so that
    all other tests run meanwhile."""

    def __init__(self, service, chain, place):
        self.shop = Shop(service, ("balance",), functions=("--webhooks",))
        self.gallery = Gallery(chain)
        self.stranger = Gallery(Authority(place, name="nobody's root").leaf())
        self.mute = Mute()
        self.hook = subscribe(self.shop, self.gallery.url("/status/200"), ["pass.created"])
        url = self.gallery.url
        self.rows = {
            "hangs": (url("/hang"), ["logo", "timeout"]),
            "drips": (url("/drip-body"), ["logo"]),
            "refuses": ("https://127.0.0.1:1/l.png", ["logo", "connect"]),
            "is mute": (self.mute.url("/l.png"), ["logo"]),
            "is broken": (url("/status/500"), ["logo", "500"]),
            "is not trusted": (self.stranger.url("/image/l"), ["logo", "tls"]),
        }
        self.bodies = {name: body_with(where) for name, (where, _) in self.rows.items()}
        self.bodies["is late"] = body_with(url("/slow-image/1000/late"), url("/later"))
        self.gallery.play("/later", "/hang", "/image/later")
        self.bodies["is slow"] = body_with(url("/slow-image/12000/slow"))
        self.pool = ThreadPoolExecutor(len(self.bodies))
        self.made = {name: self.pool.submit(post, self.shop, body) for name, body in self.bodies.items()}

    def close(self):
        self.pool.shutdown()
        for one in (self.shop, self.gallery, self.stranger, self.mute):
            one.close()


@pytest.fixture(scope="module", autouse=True)
def slow(issuing, chain, tmp_path_factory):
    slow = Slow(issuing, chain, tmp_path_factory.mktemp("nobody") / "authority")
    yield slow
    slow.close()


def post(shop, body, **options):
    """Creates a pass over its own connection, so that many can wait at once."""
    with shop.service.client(shop.key, seconds=30) as client:
        return client.post("/v1/passes", body, **options)


def failed(shop, pass_id, *words, seconds=QUICK_SECONDS):
    found = await_status(shop, pass_id, "creation_failed", seconds)
    for word in words:
        assert word in found["creation_error"], found
    return found


# In time, and too late

def test_a_pass_whose_images_arrive_in_time_is_issued_with_201(shop, gallery):
    body = body_with(gallery.url("/image/logo"), gallery.url("/image/banner"))
    made = post(shop, body)
    assert made.status == 201 and made.json["status"] == "issued" and made.seconds < QUICK_SECONDS, made
    assert made.json == shop.get(body["pass_id"]) and "creation_error" not in made.json
    assert made.json["appearance"] == body["appearance"] and made.json["balance"] == 0
    for path in ("/image/logo", "/image/banner"):
        request, = gallery.to[path]
        assert request.method == "GET" and request.body == b"" and request.header("Accept") == "image/png"
    assert [one["what"] for one in shop.history(body["pass_id"])] == ["created", "issued"]


def test_temporary_failures_are_retried(shop, gallery):
    gallery.play("/unsteady", "/status/503", "/reset", "/image/steady")
    made = post(shop, body_with(gallery.url("/unsteady")))
    assert made.status == 201 and len(gallery.to["/unsteady"]) == 3, made


def test_images_are_also_fetched_over_http(shop, gallery):
    """Without encryption. Certificates of HTTPS images are still verified."""
    with Gallery(None) as clear:
        body = body_with(clear.url("/image/clear"), gallery.url("/image/verified"))
        made = post(shop, body)
        assert made.status == 201 and made.json["status"] == "issued", made
        assert clear.to["/image/clear"][0].header("Host") == f"127.0.0.1:{clear.port}"
        clear.play("/unsteady", "/reset", "/status/503", "/image/steady")
        assert post(shop, body_with(clear.url("/unsteady"))).status == 201
        made = post(shop, body_with(clear.url("/redirect")))
        assert made.status == 202 and "302" in made.json["creation_error"], made


# Permanent failures

def wrong(gallery):
    whole = png()
    huge = png(width=5000)
    answers = {
        "text": (b"<svg/>", ["PNG"]),
        "empty": (b"", ["PNG"]),
        "jpeg": (b"\xff\xd8\xff\xe0" + bytes(100), ["PNG"]),
        "cut": (whole[:-14], ["damaged"]),
        "signature": (SIGNATURE, ["damaged"]),
        "flipped": (whole[:30] + bytes([whole[30] ^ 1]) + whole[31:], ["damaged"]),
        "no-data": (SIGNATURE + chunk(b"IHDR", whole[16:29]) + chunk(b"IEND", b""), ["damaged"]),
        "wide": (huge, ["pixels"]),
        "bomb": (png(width=0x7fffffff, height=0x7fffffff, pixels=b"x"), ["pixels"]),
        "large": (bytes((2 << 20) + 1), ["larger"]),
    }
    rows = {}
    for name, (body, words) in answers.items():
        gallery.answers["/" + name] = answer(200, body)
        rows[name] = (gallery.url("/" + name), words)
    rows["missing"] = (gallery.url("/status/404"), ["404"])
    rows["moved"] = (gallery.url("/redirect"), ["302"])
    rows["endless"] = (gallery.url("/endless"), ["larger"])
    rows["clear"] = ("http://10.1.2.3/l.png", ["public"])
    rows["spelt"] = ("http://0xa010203/l.png", ["public"])
    rows["private"] = ("https://10.1.2.3/l.png", ["public"])
    rows["long"] = ("https://a.example/" + "x" * 3000, ["long"])
    return rows


@pytest.mark.parametrize("image", ["logo", "banner"])
def test_permanent_failures_fail_at_once(shop, gallery, image):
    rows = wrong(gallery)
    good = gallery.url("/image/good")
    with ThreadPoolExecutor(8) as pool:
        def make(row):
            url, words = row
            body = body_with(**{"logo": good, image: url})
            made = post(shop, body)
            assert made.status == 202 and made.json["status"] == "creation_failed", (url[:80], made)
            assert made.seconds < WAIT_SECONDS, made
            assert made.json["creation_error"].startswith(image + ": "), made
            assert all(word in made.json["creation_error"] for word in words), made
            assert made.json == shop_get(shop, body["pass_id"])
            return body["pass_id"]

        ids = list(pool.map(make, rows.values()))
    for path in ("/status/404", "/text"):
        assert len(gallery.to[path]) == 1, "a permanent failure is not retried"
    shop.try_add(ids[0], 1).is_error(409, "RESOURCE_CONFLICT")
    assert [one["what"] for one in shop.history(ids[0])] == ["created", "creation_failed"]
    post(shop, body_with(good, pass_id=ids[0])).is_error(409, "RESOURCE_CONFLICT")
    shop.delete(ids[0])
    assert post(shop, body_with(good, pass_id=ids[0])).status == 201


def shop_get(shop, pass_id):
    with shop.service.client(shop.key) as client:
        return client.get(path_of(pass_id)).json


def test_a_private_address_is_refused_unless_the_operator_allows_it(service, gallery):
    shop = Shop(service, ("balance",))
    made = post(shop, body_with(gallery.url("/image/l")))
    assert made.status == 202 and "public" in made.json["creation_error"], made
    assert gallery.requests == []
    shop.close()


def test_images_at_the_limits(shop, gallery):
    room = (2 << 20) - len(png())
    gallery.answers["/full"] = answer(200, png(text=bytes(b"x" * room)))
    gallery.answers["/wide"] = answer(200, png(width=4096, height=4096))
    for path in ("/full", "/wide"):
        made = post(shop, body_with(gallery.url(path)))
        assert made.status == 201, made
    assert shop.service.cli("verify")["ok"]


# Many at once

def test_one_url_is_fetched_once_for_many_passes(shop, gallery):
    url = gallery.url("/slow-image/300/shared")
    with ThreadPoolExecutor(64) as pool:
        made = list(pool.map(lambda _: post(shop, body_with(url)), range(200)))
    assert {one.status for one in made} == {201}, [one for one in made if one.status != 201][:3]
    assert len(gallery.to["/slow-image/300/shared"]) == 1
    assert shop.list("?limit=1&status=issued")[1] == 200


def test_hanging_images_of_one_account_delay_no_other(shop, issuing, gallery):
    other = Shop(issuing, ("balance",))
    with ThreadPoolExecutor(32) as pool:
        hanging = [pool.submit(post, shop, body_with(gallery.url(f"/held-image/{i}"))) for i in range(32)]
        wait_for(lambda: len(gallery.requests) >= 4, 10, "some fetches to hang")
        made = post(other, body_with(gallery.url("/image/mine")))
        assert made.status == 201 and made.seconds < QUICK_SECONDS, made
        total = shop.list("?status=creating")[1]
        assert total > 0 and shop.list("?status=issued")[1] == 0
        for _ in range(40):
            gallery.release()
            if all(one.done() for one in hanging):
                break
            wait_for(lambda: gallery._held or all(one.done() for one in hanging), 10, "the next fetches to hang")
        assert {one.result().status for one in hanging} <= {201, 202}
    wait_for(lambda: gallery.release() or shop.list("?status=issued")[1] == 32, 20, "all passes to be issued")
    other.close()


def test_large_passes_that_wait_for_images_refuse_no_other_account(new_service, authority, gallery):
    """Once stored, a creation takes nothing of the bytes that http and the shard may have on their way."""
    service = new_service(shards=1, options=options(authority))
    shop, other = Shop(service, ("balance",)), Shop(service, ("balance",))
    mine = other.create()["id"]
    with ThreadPoolExecutor(20) as pool:
        hanging = []
        while len(hanging) < 20:
            url = gallery.url(f"/held-image/{len(hanging)}")
            hanging.append(pool.submit(post, shop, {**body_with(url), "hidden": {"x": "y" * 900_000}}))
            wait_for(lambda: shop.list("?limit=1")[1] == len(hanging), 10, "the creation to be stored")
        for _ in range(50):
            other.add(mine, 1)
        wait_for(lambda: gallery.release() or all(one.done() for one in hanging), 30, "the images")
        assert {one.result().status for one in hanging} <= {201, 202}
    for one in (shop, other):
        one.close()


# Changes during an issuance

def test_a_pass_being_issued_accepts_deltas_and_edits_but_no_events(shop, gallery):
    body = body_with(gallery.url("/held-image/m"))
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(post, shop, body)
        wait_for(lambda: gallery.requests, 10, "the fetch")
        shop.add(body["pass_id"], 5)
        with pytest.raises(Exception, match="RESOURCE_CONFLICT"):
            shop.event(body["pass_id"], "installed")
        shop.client.patch(path_of(body["pass_id"]), {"visible": {"name": "Eve"}}).is_empty(204)
        assert [one["id"] for one in shop.list("?status=creating")[0]] == [body["pass_id"]]
        gallery.release()
        assert made.result().status == 201
        assert (made.result().json["balance"], made.result().json["visible"]["name"]) == (5, "Eve")


def test_a_pass_deleted_during_its_issuance_is_not_issued(shop, gallery):
    hook = subscribe(shop, gallery.url("/status/200"), ["pass.created"])
    body = body_with(gallery.url("/held-image/d"))
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(post, shop, body)
        wait_for(lambda: gallery.to["/held-image/d"], 10, "the fetch")
        shop.delete(body["pass_id"])
        assert made.result().status == 202 and made.result().json["status"] == "deactivated"
    assert made.result().seconds < WAIT_SECONDS, "the deletion ends the wait of the creation"
    gallery.release()
    found = shop.get(body["pass_id"], "?include_deleted=true")
    assert found["status"] == "deactivated" and "creation_error" not in found
    assert post(shop, body_with(gallery.url("/image/d"), pass_id=body["pass_id"])).status == 201
    wait_for(lambda: gallery.to["/status/200"], 10, "the second pass's event")
    assert len(gallery.to["/status/200"]) == 1 and hook


def test_a_patched_url_is_not_fetched(shop, gallery):
    made = shop.create()
    shop.client.patch(path_of(made["id"]), {"appearance": {"logo": gallery.url("/image/p")}}).is_empty(204)
    body = body_with(gallery.url("/held-image/one"))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(post, shop, body)
        wait_for(lambda: gallery.requests, 10, "the fetch")
        shop.client.patch(path_of(body["pass_id"]), {"appearance": {"logo": gallery.url("/image/p")}}).is_empty(204)
        gallery.release()
        assert waiting.result().status in (201, 202)  # 202: ten seconds have passed, on a slow machine
    assert gallery.to["/image/p"] == []


# Idempotency keys

def test_a_repetition_during_the_wait_gets_the_same_answer(shop, gallery):
    body, key = body_with(gallery.url("/held-image/k")), {"Idempotency-Key": new_id("key")}
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(post, shop, body, headers=key)
        wait_for(lambda: gallery.requests, 10, "the fetch")
        again = pool.submit(post, shop, body, headers=key)
        shop.client.post("/v1/passes", {**body, "hidden": {}}, headers=key).is_error(409, "IDEMPOTENCY_KEY_REUSED")
        assert not first.done() and not again.done()
        gallery.release()
        first, again = first.result(), again.result()
    assert (first.status, again.status) == (201, 201) and first.json == again.json
    later = post(shop, body, headers=key)
    assert later.status == 201 and later.json == first.json
    replayed = ["idempotency-replayed" in one.headers for one in (first, again, later)]
    assert replayed == [False, True, True]


def test_a_repetition_after_202_gets_202(shop, gallery):
    body, key = body_with(gallery.url("/status/404")), {"Idempotency-Key": new_id("key")}
    for replayed in (False, True):
        made = post(shop, body, headers=key)
        assert made.status == 202 and made.json["status"] == "creation_failed", made
        assert ("idempotency-replayed" in made.headers) == replayed


# Kills and pauses

def own_shop(new_service, authority):
    service = new_service(shards=1, options=options(authority))
    service.expect_log("level=warn")
    return Shop(service, ("balance",), functions=("--webhooks",))


@pytest.mark.parametrize("victim", ["timer", "shard", "all"])
def test_a_kill_during_a_fetch(new_service, authority, gallery, victim):
    shop = own_shop(new_service, authority)
    service = shop.service
    bodies = [body_with(gallery.url(f"/held-image/{i}"), gallery.url("/image/banner")) for i in range(3)]
    key = {"Idempotency-Key": new_id("key")}
    with ThreadPoolExecutor(3) as pool:
        made = [pool.submit(post_or_none, shop, body, headers=key if body is bodies[0] else {}) for body in bodies]
        wait_for(lambda: len(gallery.requests) >= 3, 10, "the fetches")
        if victim == "all":
            service.status()  # waits until the creations are durable; the timer fetches before that
            service.kill_everything()
            service.start()
            shop.client.address = service.http
        else:
            service.kill_child(victim)
        for i in range(3):
            wait_for(lambda i=i: len(gallery.to[f"/held-image/{i}"]) == 2, 15, "the repeated fetch")
        for body in bodies:
            wait_for(lambda body=body: gallery.release() or shop.get(body["pass_id"])["status"] == "issued", 20,
                     "its issuance")
        answers = [one.result() for one in made]
    if victim == "timer":
        assert {one.status for one in answers} <= {201, 202}
    elif victim == "shard":
        assert {one.status for one in answers} == {202}, answers
        again = post(shop, bodies[0], headers=key)
        assert again.status == 202 and again.json["status"] == "issued", "a replay has the status of the first answer"
    for body in bodies:
        assert [one["what"] for one in shop.history(body["pass_id"])] == ["created", "issued"]
    assert service.cli("verify")["ok"]


def post_or_none(shop, body, headers):
    try:
        return post(shop, body, headers=headers)
    except OSError:
        return None


def test_a_paused_issuer_finishes_what_it_began(new_service, authority, gallery):
    shop = own_shop(new_service, authority)
    body = body_with(gallery.url("/unsteady"))
    gallery.answers["/unsteady"] = "/status/503"
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(post, shop, body)
        wait_for(lambda: gallery.requests, 10, "a try")
        shop.service.cli("issuer", "pause")
        post(shop, body_with(gallery.url("/image/x"))).is_error(502, "PASS_PROVIDER_UNAVAILABLE")
        gallery.answers["/unsteady"] = "/image/x"
        shop.service.cli("issuer", "resume")
        assert made.result().status == 201


def test_a_stopped_timer_refuses_creations_and_later_finishes_what_it_began(new_service, authority, gallery):
    shop = own_shop(new_service, authority)
    body = body_with(gallery.url("/held-image/s"))
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(post, shop, body)
        wait_for(lambda: gallery.requests, 10, "the fetch")
        shop.service.signal("timer", 0, signal.SIGSTOP)
        gallery.release()
        wait_for(lambda: not shop.service.is_ready(), 5, "readiness to be lost with the timer")
        other = body_with(gallery.url("/image/x"))
        refused = post(shop, other)
        refused.is_error(502, "PASS_PROVIDER_UNAVAILABLE")
        shop.client.get(path_of(other["pass_id"])).is_error(404, "RESOURCE_NOT_FOUND")
        shop.service.signal("timer", 0, signal.SIGCONT)
        assert made.result().status == 201


def test_creations_accepted_before_a_stopped_timer_is_detected_are_issued(new_service, authority, gallery):
    """A timer counts as alive until 1.5 s after its last heartbeat. Creations accepted in that time wait until it, or
    its successor, runs."""
    shop = own_shop(new_service, authority)
    bodies = [body_with(gallery.url(f"/image/{i}")) for i in range(2)]
    with ThreadPoolExecutor(1) as pool:
        for body, end in zip(bodies, (signal.SIGCONT, signal.SIGKILL), strict=True):
            shop.service.signal("timer", 0, signal.SIGSTOP)
            made = pool.submit(post, shop, body)
            wait_for(lambda: not shop.service.is_ready(), 5, "readiness to be lost with the timer")
            assert shop.get(body["pass_id"])["status"] == "creating"
            shop.service.signal("timer", 0, end)
            assert made.result().status in (201, 202), "201 within the wait; 202 on a busy machine"
            await_status(shop, body["pass_id"], "issued", QUICK_SECONDS)
            wait_for(shop.service.is_ready, 10, "a timer")


def test_an_import_does_not_wait_for_images(shop, gallery, tmp_path):
    rows = [body_with(gallery.url(f"/held-image/{i}")) for i in range(5)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert shop.service.cli("pass", "import", shop.account, file) == {"created": 5, "failed": 0}
    assert shop.list("?status=creating")[1] == 5
    wait_for(lambda: gallery.release() or shop.list("?status=issued")[1] == 5, 20, "their issuance")


def test_a_shard_stopped_during_the_wait_answers_202(new_service, authority, gallery):
    shop = own_shop(new_service, authority)
    body, key = body_with(gallery.url("/held-image/s")), {"Idempotency-Key": new_id("key")}
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(post, shop, body, headers=key)
        wait_for(lambda: gallery.requests, 10, "the fetch")
        pid = shop.service.signal("shard", 0, signal.SIGSTOP)
        gallery.release()
        made = made.result()
        os.kill(pid, signal.SIGCONT)
    assert made.status == 202 and made.json["status"] == "creating", made
    assert WAIT_SECONDS - 1 < made.seconds < WAIT_SECONDS + WAIT_SLACK
    wait_for(lambda: gallery.release() or shop.get(body["pass_id"])["status"] == "issued", 20, "its issuance")
    again = post(shop, body, headers=key)
    assert again.status == 202 and again.json["status"] == "issued", again


def test_a_pass_backed_up_during_its_issuance_is_issued_after_the_restore(new_service, authority, gallery, tmp_path):
    shop = own_shop(new_service, authority)
    service = shop.service
    kept = post(shop, body_with(gallery.url("/image/kept"))).json["id"]
    body = body_with(gallery.url("/held-image/b"), gallery.url("/image/kept"))
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(post, shop, body)
        wait_for(lambda: gallery.to["/held-image/b"], 10, "the fetch")
        service.cli("backup", tmp_path / "backup")
        gallery.release()
        assert made.result().status == 201
    assert service.stop() == 0
    other = new_service(start=False, shards=1, options=options(authority))
    other.expect_log("level=warn")
    assert other.cli("restore", "--from", tmp_path / "backup")["lineage"]
    assert other.cli("verify")["ok"]
    other.start()
    with other.client(shop.key) as client:
        def status(pass_id):
            return client.get(path_of(pass_id)).json["status"]
        assert status(kept) == "issued"
        wait_for(lambda: gallery.release() or status(body["pass_id"]) == "issued", 20, "its issuance")
    assert other.cli("verify")["ok"]


# Creations that use their full time

def test_a_late_image_gives_202_and_the_pass_is_issued_later(slow):
    shop, gallery, pass_id = slow.shop, slow.gallery, slow.bodies["is late"]["pass_id"]
    made = slow.made["is late"].result()
    assert made.status == 202 and made.json["status"] == "creating", made
    assert WAIT_SECONDS - 1 < made.seconds < WAIT_SECONDS + WAIT_SLACK
    found = await_status(shop, pass_id, "issued", TRY_SECONDS - WAIT_SECONDS)
    assert found["created_at"] == made.json["created_at"] < found["updated_at"]
    wait_for(lambda: [one for one in gallery.to["/status/200"] if b'"status":"issued"' in one.body and pass_id.encode() in one.body],
             10, "pass.created")


def test_an_image_that_takes_longer_than_a_webhook_may_is_fetched_once(slow):
    made = slow.made["is slow"].result()
    assert made.status == 202 and made.json["status"] == "creating", made
    await_status(slow.shop, slow.bodies["is slow"]["pass_id"], "issued", TRY_SECONDS - WAIT_SECONDS)
    assert len(slow.gallery.to["/slow-image/12000/slow"]) == 1


def test_images_that_never_arrive_fail_the_pass_with_a_reason(slow):
    for name, (_, words) in slow.rows.items():
        made, pass_id = slow.made[name].result(), slow.bodies[name]["pass_id"]
        assert made.status == 202 and made.json["status"] == "creating", (name, made)
        assert made.seconds < WAIT_SECONDS + WAIT_SLACK
        failed(slow.shop, pass_id, *words, seconds=TRY_SECONDS - WAIT_SECONDS + TRY_SLACK)
    assert 2 <= len(slow.gallery.to["/status/500"]) <= TRY_SECONDS + 1, "retries are at least a second apart"
    said = b"".join(one.body for one in slow.gallery.to["/status/200"])
    assert not [name for name in slow.rows if slow.bodies[name]["pass_id"].encode() in said], "a failed pass has no pass.created event"
