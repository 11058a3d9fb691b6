"""The background cleanup removes unreferenced rows in small steps and keeps referenced ones."""
import json
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from clocks import DAY_SECONDS, HOUR_SECONDS
from deliveries import advance
from entitlements import assign, given_path
from erasures import erase, erased_ids, everything, has_words, holder
from harness import wait_for
from images import Gallery, await_status, body_with
from imports import bodies, jsonl, run, write
from notices import put_audience
from retries import create, is_replay_of
from rewards import edit, offer, reward_path
from rules import delete_rule, put_rule
from shop import Shop, new_id, path_of, template_file


@pytest.fixture(scope="module")
def gallery(chain):
    made = Gallery(chain)
    yield made
    made.close()


@pytest.fixture
def shop(ticking):
    made = Shop(ticking, functions=("--rewards", "--webhooks"))
    yield made
    assert ticking.cli("verify")["ok"]
    made.close()


def rows(service):
    """The number of rows of each table, counted by a verification."""
    told = service.cli("verify")
    assert told["ok"]
    return told["shards"][0]["rows"]


def await_rows(service, want, what):
    wait_for(lambda: rows(service) <= want, 30, lambda: f"{what}: {rows(service)} rows, {want} at most")


def fetched(gallery, name):
    return len(gallery.to[f"/image/{name}"])


# Images

def make(shop, gallery, *names):
    url = [gallery.url(f"/image/{name}") for name in names]
    answer = shop.client.post("/v1/passes", body_with(*url))
    assert answer.status in (201, 202), answer
    return await_status(shop, answer.json["id"], "issued")["id"]


def test_an_image_is_removed_with_its_last_pass(shop, ticking, gallery):
    """A stored image is not fetched again within a minute. A new fetch therefore shows that it was removed."""
    name = new_id("gone")
    first, second = make(shop, gallery, name), make(shop, gallery, name)
    assert fetched(gallery, name) == 1
    erase(shop, first)
    make(shop, gallery, new_id("other"))
    make(shop, gallery, name)
    assert fetched(gallery, name) == 1
    for pass_id in (second, *[one["id"] for one in shop.list("?status=issued")[0]]):
        erase(shop, pass_id)
    before = fetched(gallery, name)
    wait_for(lambda: erase(shop, make(shop, gallery, name)) == {} and fetched(gallery, name) > before, 20, "the image to be fetched again")


def test_images_are_kept_while_a_pass_or_template_names_them(shop, ticking, gallery):
    old, new, card = new_id("old"), new_id("new"), new_id("card")
    pass_id = make(shop, gallery, old, new)
    template = shop.put_template(template_file(appearance={"logo": gallery.url(f"/image/{card}")}))
    named = make(shop, gallery, card)
    before = rows(ticking)
    shop.client.patch(path_of(pass_id), {"appearance": {"logo": gallery.url(f"/image/{card}")}}).is_empty(204)
    erase(shop, named)
    await_rows(ticking, before + 6, "the logo to go")  # more rows: an event and the deleted id; fewer: the image's own
    page = shop.client.get("/p/" + shop.get(pass_id)["download_url"].rsplit("/", 1)[1] + "/logo")
    assert page.status == 200
    shop.delete(pass_id)  # include_deleted still shows the images of deleted passes
    advance(ticking, 2 * HOUR_SECONDS)
    assert ticking.cli("verify")["ok"]
    erase(shop, pass_id)
    shop.put_template(template_file(pass_template_id=template))
    assert ticking.cli("verify")["ok"]


def test_images_of_a_deleted_template_are_removed(shop, ticking, gallery):
    """Images that another template names stay. Fetches under way are abandoned."""
    shared, own, slow = new_id("shared"), new_id("own"), new_id("slow")

    def put(**paths):
        urls = {name: gallery.url(path) for name, path in paths.items()}
        return shop.put_template(template_file(appearance=urls))

    kept = put(logo=f"/image/{shared}")
    made = shop.create(new_id(), pass_template_id=kept)
    logo = "/p/" + made["download_url"].rsplit("/", 1)[1] + "/logo"
    wait_for(lambda: shop.client.get(logo).status == 200, 10, "the image that the other template names")
    before = rows(ticking)
    gone = put(logo=f"/image/{shared}", banner=f"/image/{own}"), put(logo=f"/held-image/{slow}")
    wait_for(lambda: fetched(gallery, own) and gallery.to[f"/held-image/{slow}"], 10, "the requests")
    for template in gone:
        assert ticking.cli("template", "delete", shop.account, template) == {}
    assert ticking.cli("verify")["ok"], "no row may still wait for an image"
    gallery.release()
    advance(ticking, 2 * HOUR_SECONDS)
    await_rows(ticking, before + 2, "all to go but that their numbers were given")
    assert shop.client.get(logo).status == 200
    assert ticking.cli("verify")["ok"]


def test_passes_created_during_removals_have_their_image(shop, ticking, gallery):
    """Passes with the same image are created and deleted continuously. Every issued pass must have its image."""
    names = [new_id("race") for _ in range(3)]

    def work(worker):
        client = ticking.client(shop.key)
        for number in range(25):
            name = names[(worker + number) % 3]
            made = client.post("/v1/passes", body_with(gallery.url(f"/image/{name}"), pass_id=new_id(f"race{worker}")))
            assert made.status in (201, 202), made
            if made.json["status"] == "issued":
                link = "/p/" + made.json["download_url"].rsplit("/", 1)[1]
                assert client.get(link + "/logo").status == 200, name
            ticking.cli("pass", "erase", shop.account, made.json["id"])
        client.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert ticking.cli("verify")["ok"]


# Rewards, rules, keys, deliveries

def test_versions_of_a_deleted_reward_are_removed_after_a_day(shop, ticking):
    before = rows(ticking)
    headers = {"Idempotency-Key": new_id("key")}
    slug = offer(shop)["slug"]
    for number in range(70):
        edit(shop, slug, description=f"{number}" * 50)
    body = {"name": "Tea", "kind": "gift", "expiration": {"kind": "none"}, "slug": new_id("tea").replace("-", "_")}
    made = shop.client.post("/v1/rewards", body, headers=headers)
    for one in (slug, made.json["slug"]):
        shop.client.delete(reward_path(one)).is_empty(204)
    again = shop.client.post("/v1/rewards", body, headers=headers)
    assert (again.status, again.json) == (made.status, made.json)
    assert rows(ticking) > before + 70
    advance(ticking, DAY_SECONDS)
    await_rows(ticking, before + 2, "the versions to go")  # all other rows but counters
    assert shop.client.post("/v1/rewards", body, headers=headers).status == 201


def test_unassigned_versions_of_a_reward_are_removed_after_a_day(shop, ticking):
    """However often a reward is edited, only the newest version and assigned versions are kept."""
    slug, pass_id = offer(shop, repeat_assignment=True)["slug"], shop.create()["id"]
    given = {1: assign(shop, pass_id, slug)}
    before = rows(ticking)
    headers = {"Idempotency-Key": new_id("key")}
    for number in range(2, 60):
        edit(shop, slug, description=f"{number}" * 50, repeat_assignment=True, redemption_allowance=number)
        if number % 20 == 0:
            given[number] = assign(shop, pass_id, slug)
    body = {"name": "Tea", "kind": "gift", "expiration": {"kind": "none"}, "repeat_assignment": True}
    made = shop.client.request("PUT", reward_path(slug), body, headers=headers)
    assert (made.status, made.json["version"]) == (200, 60)
    edit(shop, slug, description="the newest")
    advance(ticking, DAY_SECONDS - 60)
    again = shop.client.request("PUT", reward_path(slug), body, headers=headers)
    assert (again.status, again.json, again.headers["idempotency-replayed"]) == (200, made.json, "true")
    advance(ticking, 2 * 60)
    # Versions 20, 40 and 61 remain, an entitlement and a due row for each of two passes, and one row more for the
    # pass's reward.
    await_rows(ticking, before + 8, "the versions to go")
    listed = shop.client.get(given_path(pass_id, "?include_history=true")).json["entitlements"]
    assert {one["id"]: one["remaining_redemptions"] for one in listed} == {one["id"]: number for number, one in given.items()}
    assert shop.client.get(reward_path(slug)).json["version"] == 61
    shop.client.post(reward_path(slug, "/archive")).is_error(409, "RESOURCE_CONFLICT")
    other = offer(shop)["slug"]
    for number in range(5):
        edit(shop, other, description=f"{number}")
    shop.client.delete(reward_path(other)).is_empty(204)
    assert ticking.cli("verify")["ok"]
    advance(ticking, DAY_SECONDS + 60)
    await_rows(ticking, before + 8, "all versions of the other to go")


def test_firing_records_of_a_deleted_rule_are_removed(shop, ticking):
    rule = put_rule(shop, conditions={"once_per_pass": True})
    for _ in range(80):
        shop.create()
    before = rows(ticking)
    delete_rule(shop, rule)
    await_rows(ticking, before - 81, "what it fired for to go")


def test_idempotency_keys_are_removed_after_a_day_without_new_requests(shop, ticking):
    shop.create("ada")
    advance(ticking, 2 * DAY_SECONDS)
    for number in range(100):
        answer = shop.client.post(path_of("ada", "/loyalty"), {"balance_to_add": 0}, headers={"Idempotency-Key": f"key-{number}"})
        assert answer.status == 202
    before = rows(ticking)
    advance(ticking, DAY_SECONDS - 60)
    again = shop.client.post(path_of("ada", "/loyalty"), {"balance_to_add": 0}, headers={"Idempotency-Key": "key-99"})
    assert again.headers["idempotency-replayed"] == "true"
    advance(ticking, 120)
    await_rows(ticking, before - 200, "the keys to go")
    answer = shop.client.post(path_of("ada", "/loyalty"), {"balance_to_add": 1}, headers={"Idempotency-Key": "key-1"})
    assert answer.status == 202 and "idempotency-replayed" not in answer.headers


def test_idempotency_rows_of_an_import_are_removed_after_a_day(shop, ticking, tmp_path):
    path = write(tmp_path / "a.jsonl", jsonl(bodies(600)))
    assert run(shop, path).counts == {"created": 600, "failed": 0}
    advance(ticking, DAY_SECONDS // 2)
    first = create(shop, "ada", "key-of-ada")
    before = rows(ticking)
    advance(ticking, DAY_SECONDS // 2 + 60)
    await_rows(ticking, before - 2 * 512, "the rows to go")
    is_replay_of(first, create(shop, "ada", "key-of-ada"))
    assert ticking.cli("verify")["ok"]


# Kills

def plenty(shop, tmp_path):
    """Creates more rows of each kind than one cleanup step removes. Returns a rule, a reward and passes; their deletion
    makes the rows unreferenced."""
    rule = put_rule(shop, conditions={"once_per_pass": True})
    lines = "".join(json.dumps({"pass_id": f"p{number:04}", "visible": {"name": "A"}}) + "\n" for number in range(1500))
    (tmp_path / "passes.jsonl").write_text(lines)
    assert shop.service.cli("pass", "import", shop.account, tmp_path / "passes.jsonl")["created"] == 1500
    deleted, edited = offer(shop)["slug"], offer(shop)["slug"]
    for number in range(150):
        edit(shop, deleted, description=f"{number}")
        edit(shop, edited, description=f"{number}")
    for number in range(300):
        answer = shop.client.post(path_of("p0000", "/loyalty"), {"balance_to_add": 0}, headers={"Idempotency-Key": f"key-{number}"})
        assert answer.status == 202
    holders = [holder(shop, f"Quittenmus-{number}", entitlements=40)["id"] for number in range(4)]
    for number in range(30):
        put_audience(shop, "--name", f"{number}", "--pass", "p0000", *(word for one in holders for word in ("--pass", one)))
    return rule, deleted, holders


def test_kills_between_cleanup_steps_leave_consistent_tables(new_service, tmp_path):
    """Erasures and other background removals run while the shard is killed again and again. After each kill verify must
    find no fault, and at the end all rows must be gone."""
    seed = int(os.environ.get("STAMPEDE_SEED", time.time_ns() % 10**9))
    print(f"seed {seed}")
    chance, service = random.Random(seed), new_service(shards=1, options=["--test-clock"])
    shop = Shop(service, functions=("--rewards",))
    service.expect_log("event=died child=shard-0")
    before = rows(service)
    rule, deleted, holders = plenty(shop, tmp_path)
    shop.client.delete(reward_path(deleted)).is_empty(204)
    advance(service, DAY_SECONDS)
    delete_rule(shop, rule)
    seen = [rows(service)]

    def die(doing=None):
        time.sleep(chance.random() / 4)  # a step runs every 20 ms
        old = service.signal("shard", 0, signal.SIGKILL)
        if doing:
            doing.wait(60)
        service.await_successor("shard", 0, old)
        seen.append(rows(service))

    for pass_id in holders:
        die(subprocess.Popen([service.program, "pass", "erase", shop.account, pass_id, "--data", service.data],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for _ in range(3):
        die()
    for pass_id in holders:  # erasures that had not begun
        shop.client.address = service.http
        wait_for(lambda: shop.client.get("/v1/passes").status == 200, 20, "the next shard process")
        erase(shop, pass_id)
    wait_for(lambda: not has_words(everything(shop, erased_ids(shop))), 20, "the remaining rows to be removed")
    # No unreferenced row is left: 1500 of the rule, 300 versions, 300 idempotency keys of two rows each, 4 cards of
    # two.
    wait_for(lambda: rows(service) <= max(seen) - 1500 - 300 - 2 * 300 - 2 * 4 + 100, 60, lambda: f"{rows(service)} rows of {seen}")
    print(f"rows {before} before, then {seen}, {rows(service)} in the end")
    assert len({one for one in seen if one != seen[0]}) >= 3, "no kill fell between two steps"
    told = [service.cli("pass", "export", shop.account, pass_id) for pass_id in erased_ids(shop)]
    assert len(told) == 4 and all(one["audiences"] == one["cards"] == [] for one in told) and before < min(seen)
    service.restart()
    assert service.cli("verify")["ok"]
    shop.close()


# Space

@pytest.mark.plain
def test_freed_space_is_used_again(new_service):
    service = new_service(shards=1)
    shop = Shop(service)
    tables = service.data / "shards" / "0" / "db" / "data.mdb"

    def fill(round_number):
        for number in range(20):
            shop.create(f"large-{round_number}-{number}", hidden={"blob": "x" * 900_000})

    def clear(round_number):
        for number in range(20):
            erase(shop, f"large-{round_number}-{number}")

    blocks = []
    for round_number in range(4):
        fill(round_number)
        clear(round_number)
        blocks.append(os.stat(tables).st_blocks)
    assert blocks[0] * 512 > 20 * 900_000
    assert blocks[-1] < 1.1 * blocks[1], blocks  # a round writes 18 MB; the rest is reserved ahead
    assert service.cli("verify")["ok"]
    shop.close()
