"""serve --no-deliveries: everything is served and no endpoint is called; what is due waits for a start without it."""
import time

from deliveries import deliveries_of, options, posts_to
from harness import wait_for
from hooks import subscribe
from images import Gallery, await_status, body_with
from shop import Shop, new_id, path_of
from test_status import on_a_terminal

MUTE = "--no-deliveries"
QUIET_SECONDS = 3  # long enough for a first attempt, which takes a few milliseconds


def quiet_for(receiver, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert not receiver.to, receiver.to
        time.sleep(0.05)


def without(service):
    """Started again, as an operator would who has seen enough."""
    assert service.stop() == 0
    service.options.remove(MUTE)
    return service.start()


def test_webhooks_wait_and_go_out_later(new_service, authority, chain):
    service = new_service(shards=2, options=[*options(authority), MUTE])
    assert service.status()["deliveries"] == "off"
    shop = Shop(service, ("balance",), functions=("--webhooks",))
    with Gallery(chain) as receiver:
        hook = subscribe(shop, receiver.url("/status/200"), ["pass.created"])
        made = shop.create()
        assert made["status"] == "issued"
        shop.add(made["id"], 5)
        assert shop.get(made["id"])["balance"] == 5 and service.is_ready()
        quiet_for(receiver, QUIET_SECONDS)
        rows = deliveries_of(shop, hook)
        assert [(row["outcome"], row["attempts"]) for row in rows] == [("pending", 0)]
        assert sum(shard["due_deliveries"] for shard in service.status()["shards"]) == 1
        without(service)
        assert service.status()["deliveries"] == "on"
        posts_to(receiver, "/status/200", 1)
    shop.close()


def test_images_wait_and_no_creation_hangs(new_service, authority, chain):
    """A pass that has some is answered at once, as `creating`; it is issued after a start without the option."""
    service = new_service(shards=1, options=[*options(authority), MUTE])
    shop = Shop(service, ("balance",))
    with Gallery(chain) as gallery:
        body = body_with(gallery.url("/image/a"))
        answer = shop.client.post("/v1/passes", body)
        assert answer.status == 202 and answer.json["status"] == "creating" and answer.seconds < 5
        quiet_for(gallery, QUIET_SECONDS)
        assert shop.get(body["pass_id"])["status"] == "creating"
        assert service.status()["shards"][0]["issuing"] == 1
        assert shop.client.post("/v1/passes", {"pass_id": new_id(), "visible": {"name": "A"}}).json["status"] == "issued"
        without(service)
        shop.client = service.client(shop.key)
        await_status(shop, body["pass_id"], "issued")
    shop.close()


def test_no_time_of_trying_runs_meanwhile(new_service, authority, chain):
    """Longer than a pass may take for its images: none is given up."""
    service = new_service(shards=1, options=[*options(authority), MUTE, "--test-clock"])
    shop = Shop(service, ("balance",))
    with Gallery(chain) as gallery:
        body = body_with(gallery.url("/image/a"))
        assert shop.client.post("/v1/passes", body).json["status"] == "creating"
        service.cli("clock", "advance", "2h")
        assert service.restart() is service
        shop.client = service.client(shop.key)
        assert shop.client.get(path_of(body["pass_id"])).json["status"] == "creating"
        without(service)
        shop.client = service.client(shop.key)
        await_status(shop, body["pass_id"], "issued")
    shop.close()


def test_notifications_wait(new_service):
    service = new_service(shards=1, options=[MUTE])
    shop = Shop(service, ("balance",))
    pass_id = shop.create()["id"]
    service.cli("notification", "schedule", shop.account, "--pass", pass_id, "--message", "x", "--at", "2026-01-01T00:00:00Z")
    end = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < end:
        assert [one["status"] for one in shop.client.get("/v1/notifications").json] == ["scheduled"]
    without(service)
    shop.client = service.client(shop.key)
    wait_for(lambda: [one["status"] for one in shop.client.get("/v1/notifications").json] == ["sent"], 5, "it to be sent")
    shop.close()


def test_a_restored_copy_calls_nobody(new_service, authority, chain):
    """The original goes on, and each event goes out once."""
    service = new_service(shards=1, options=[*options(authority), "--test-clock"])
    shop = Shop(service, ("balance",), functions=("--webhooks",))
    with Gallery(chain) as receiver:
        hook = subscribe(shop, receiver.url("/status/500"), ["pass.created"])
        shop.create()
        posts_to(receiver, "/status/500", 1)
        backup = service.home / "backup"
        service.cli("backup", backup)
        copy = new_service(start=False, shards=1, options=[*options(authority), "--test-clock", MUTE])
        copy.cli("restore", "--from", backup)
        copy.start()
        copy.cli("clock", "advance", "1h")
        end = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < end:
            assert len(receiver.to["/status/500"]) == 1
            time.sleep(0.05)
        assert copy.cli("delivery", "list", shop.account)[0]["subscription_id"] == hook["id"]
        assert copy.status()["shards"][0]["due_deliveries"] == 1
    shop.close()


def test_the_table_says_so(new_service):
    service = new_service(shards=1, options=[MUTE])
    _, text = on_a_terminal(service, "status")
    assert "off (--no-deliveries)" in text and "no endpoint is called" in text.split("Warnings\n")[1]
