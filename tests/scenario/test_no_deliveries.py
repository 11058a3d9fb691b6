"""serve --no-deliveries: everything is served but no endpoint is called. Due deliveries wait for a start without the
option."""
import time

from deliveries import deliveries_of, options, posts_to
from harness import wait_for
from hooks import subscribe
from images import Gallery, await_status, body_with
from shop import Shop, new_id, path_of
from test_status import on_a_terminal

MUTE = "--no-deliveries"
QUIET_SECONDS = 3  # seconds for a first attempt, which takes a few milliseconds


def quiet_for(receiver, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert not receiver.to, receiver.to
        time.sleep(0.05)


def without(service):
    """Restarts the service without the option."""
    assert service.stop() == 0
    service.options.remove(MUTE)
    return service.start()


def test_webhooks_are_sent_after_a_start_without_the_option(new_service, authority, chain):
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


def test_creations_with_images_are_answered_at_once(new_service, authority, chain):
    """The pass is returned as `creating`, and issued after a start without the option."""
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


def test_the_time_limit_of_image_fetches_does_not_run(new_service, authority, chain):
    """The option is active for longer than the time limit of a pass's images. No pass may fail by that."""
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
    wait_for(lambda: [one["status"] for one in shop.client.get("/v1/notifications").json] == ["sent"], 5, "the notification to be sent")
    shop.close()


def test_a_restored_copy_calls_no_endpoint(new_service, authority, chain):
    """The original service continues, and each event is sent once."""
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


def test_the_status_table_shows_the_option(new_service):
    service = new_service(shards=1, options=[MUTE])
    _, text = on_a_terminal(service, "status")
    assert "off (--no-deliveries)" in text and "no endpoint is called" in text.split("Warnings\n")[1]
