"""Webhook subscriptions across failures: secrets are shown once and stored nowhere in clear; kills, restarts, restores
and repeated requests."""
import base64
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import wait_for
from hooks import HOOKS, KINDS, change, get, hook_path, hooks_of, new_url, shown, subscribe, try_subscribe
from retries import is_first, is_replay_of, is_reused, new_key, once, until_done
from shop import Shop


def spellings(hook):
    """All forms of the secret, as bytes: whole, without its prefix, decoded, in hexadecimal."""
    text = hook["secret"].encode()
    key = base64.b64decode(text[6:])
    return [text, text[6:], key, key[:16], key[16:], key.hex().encode(), base64.urlsafe_b64encode(key)]


def find_in(roots, hooks):
    """Files below any of `roots` that contain a secret."""
    needles = [(hook["id"], each) for hook in hooks for each in spellings(hook)]
    found = []
    for path in (path for root in roots for path in [root, *root.rglob("*")] if path.is_file()):
        content = path.read_bytes()
        found += [(str(path), which) for which, each in needles if each in content]
    return found


def make_many(shop):
    """Creates subscriptions in every state, some with an idempotency key. Returns their first answers."""
    keys = [new_key() for _ in range(3)]
    made = [is_first(try_subscribe(shop, headers=once(key)), 201).json for key in keys] + [subscribe(shop), subscribe(shop)]
    change(shop, made[0], active=False)
    change(shop, made[1], url=new_url())
    shop.client.delete(hook_path(made[3]["id"])).is_empty(204)
    return made


def test_no_file_has_a_secret_in_clear(new_service, tmp_path):
    service = new_service(shards=1)
    shop = Shop(service, functions=("--webhooks",))
    made = make_many(shop)
    assert find_in([service.data], [{**made[0], "secret": "whsec_" + base64.b64encode(made[0]["url"].encode()).decode()}]), \
        "the search finds what is stored in clear"
    assert service.cli("verify")["ok"] is True
    said = [service.run("status").stdout, service.run("verify").stdout, service.run("account", "show", shop.account).stdout]
    with service.admin() as admin:
        said += [admin.get(path).body.decode() for path in ("/metrics", "/readyz")]
    said += [shop.client.get(HOOKS).body.decode(), *(shop.client.get(hook_path(hook["id"])).body.decode() for hook in made)]
    for hook in made:
        assert not any(each in text.encode() for text in said for each in spellings(hook)) and "whsec_" not in "".join(said)
    assert service.cli("backup", tmp_path / "backup") == {}
    service.stop()
    assert service.cli("verify")["ok"] is True
    assert find_in([service.home, tmp_path], made) == []
    shop.close()


def test_a_restored_service_has_its_secrets(new_service, tmp_path):
    service, again = new_service(shards=1), new_service(start=False, shards=1)
    shop, key, url = Shop(service, functions=("--webhooks",)), new_key(), new_url()
    made = is_first(try_subscribe(shop, url, headers=once(key)), 201)
    assert service.cli("backup", tmp_path / "backup") == {}
    shop.client.delete(hook_path(made.json["id"])).is_empty(204)
    again.cli("restore", "--from", tmp_path / "backup")
    again.start()
    with again.client(shop.key) as client:
        is_replay_of(made, client.post(HOOKS, {"url": url, "event_types": KINDS}, headers=once(key)))
        assert client.get(HOOKS).json == {"subscriptions": [shown(made.json)]}
    assert again.cli("verify")["ok"] is True
    shop.close()


def test_with_another_master_key_only_secrets_are_lost(new_service):
    service = new_service(shards=1)
    shop, key, url = Shop(service, functions=("--webhooks",)), new_key(), new_url()
    made = is_first(try_subscribe(shop, url, headers=once(key)), 201)
    file = service.data / "master.key"
    right = file.read_bytes()

    def restart_with(content):
        assert service.stop() == 0
        file.write_bytes(content)
        service.cli("adopt")
        service.start()
        shop.client.address = service.http

    restart_with(right[::-1])
    service.expect_log("event=internal_error code=SEALED")
    try_subscribe(shop, url, headers=once(key)).is_error(500, "INTERNAL")
    assert hooks_of(shop) == [shown(made.json)] and service.cli("verify")["ok"] is True
    other = is_first(try_subscribe(shop, headers=once(new_key())), 201)
    assert other.json["secret"] != made.json["secret"]
    restart_with(right)
    is_replay_of(made, try_subscribe(shop, url, headers=once(key)))
    shop.close()


# The same request again

@pytest.fixture
def hooked(new_shop):
    return new_shop(functions=("--webhooks",))


def test_a_replay_of_a_creation_has_the_secret(hooked):
    key, url = new_key(), new_url()
    first = is_first(try_subscribe(hooked, url, headers=once(key)), 201)

    def again():
        is_replay_of(first, try_subscribe(hooked, url, headers=once(key)))

    again()
    change(hooked, first.json, url=new_url(), event_types=["scan.created"])
    again()
    change(hooked, first.json, active=False)
    for _ in range(5):
        subscribe(hooked)
    again()
    hooked.client.delete(hook_path(first.json["id"])).is_empty(204)
    again()
    assert len(hooks_of(hooked)) == 5
    is_reused(try_subscribe(hooked, new_url(), headers=once(key)))
    try_subscribe(hooked, url).is_error(409, "WEBHOOK_SUBSCRIPTION_LIMIT_REACHED")
    hooked.set("--webhooks", "off")
    try_subscribe(hooked, url, headers=once(key)).is_error(403, "FEATURE_DISABLED")
    hooked.set("--webhooks", "on")
    again()


def test_a_replay_of_a_change_has_the_first_answer(hooked):
    hook, key = subscribe(hooked), new_key()
    path, body = hook_path(hook["id"]), {"active": False}
    first = is_first(hooked.client.patch(path, body, headers=once(key)), 200)
    assert "secret" not in first.json
    change(hooked, hook, active=True)
    is_replay_of(first, hooked.client.patch(path, body, headers=once(key)))
    assert get(hooked, hook)["active"] is True, "the change was executed once"
    delete = new_key()
    gone = is_first(hooked.client.delete(path, headers=once(delete)), 204)
    is_replay_of(gone, hooked.client.delete(path, headers=once(delete)))
    is_replay_of(first, hooked.client.patch(path, body, headers=once(key)))


def test_an_error_does_not_store_the_key(hooked):
    made, key, url = [subscribe(hooked) for _ in range(5)], new_key(), new_url()
    try_subscribe(hooked, url, headers=once(key)).is_error(409, "WEBHOOK_SUBSCRIPTION_LIMIT_REACHED")
    change(hooked, made[0], active=False)
    first = is_first(try_subscribe(hooked, url, headers=once(key)), 201)
    is_replay_of(first, try_subscribe(hooked, url, headers=once(key)))


def test_another_accounts_idempotency_key_has_no_effect(hooked, new_shop):
    key, url, other = new_key(), new_url(), new_shop(functions=("--webhooks",))
    first = is_first(try_subscribe(hooked, url, headers=once(key)), 201)
    second = is_first(try_subscribe(other, url, headers=once(key)), 201)
    assert first.json["secret"] != second.json["secret"] and first.json["id"] != second.json["id"]


# Kills

def test_acknowledged_changes_survive_kills(new_service):
    service = new_service(shards=1)
    service.expect_log("event=died")
    shop = Shop(service, functions=("--webhooks",))
    made = make_many(shop)
    before, keyed = hooks_of(shop), new_key()
    url = new_url()
    first = is_first(try_subscribe(shop, url, headers=once(keyed)), 201)
    before.append(shown(first.json))
    for how in (lambda: service.kill_child("shard"), service.restart, lambda: service.kill_everything() or service.start()):
        how()
        shop.client.address = service.http
        assert hooks_of(shop) == before
        is_replay_of(first, try_subscribe(shop, url, headers=once(keyed)))
        try_subscribe(shop, url).is_error(409, "WEBHOOK_SUBSCRIPTION_DUPLICATE_URL")
    assert {hook["id"] for hook in before} == {hook["id"] for hook in (*made[:3], made[4], first.json)}
    assert service.cli("verify")["faults"] == []
    shop.close()


class Subscriber:
    """A client of its own account. It repeats each request until it is answered, and knows the expected subscriptions."""

    def __init__(self, service, seed):
        self.shop, self.chance, self.there, self.tries = Shop(service, (), functions=("--webhooks",)), random.Random(seed), {}, []

    def work(self, ended):
        with self.shop.service.client(self.shop.key, seconds=10) as client:
            while not ended.is_set():
                self.step(client)

    def repeat(self, client, status, method, path, body):
        headers, answers = once(new_key()), []

        def send():
            answers.append(client.request(method, path, body, headers=headers))
            return answers[-1]

        self.tries.append(until_done(client, self.shop.service, status, send))
        return answers[-1]

    def step(self, client):
        if len(self.there) < 5 and self.chance.randrange(2):
            made = self.repeat(client, 201, "POST", HOOKS, {"url": new_url(), "event_types": KINDS}).json
            assert made["secret"].startswith("whsec_")
            self.there[made["id"]] = shown(made)
        elif self.there:
            which = self.chance.choice(sorted(self.there))
            if self.chance.randrange(3):
                fields = {"active": not self.there[which]["active"]} if self.chance.randrange(2) else {"url": new_url()}
                self.there[which] = self.repeat(client, 200, "PATCH", hook_path(which), fields).json
            else:
                self.repeat(client, 204, "DELETE", hook_path(which), None)
                del self.there[which]

    def check(self):
        hooks = hooks_of(self.shop)
        assert {hook["id"]: hook for hook in hooks} == self.there
        assert [hook["id"] for hook in hooks] == sorted(self.there)
        self.shop.close()


def test_requests_are_exact_over_kills(new_service):
    """kill -9 of shard and http process, while clients repeat each request until it is acknowledged."""
    service, ended = new_service(shards=1, http_threads=2), threading.Event()
    service.expect_log("level=warn")
    subscribers = [Subscriber(service, seed) for seed in range(4)]

    def done():
        return sum(len(one.tries) for one in subscribers)

    with ThreadPoolExecutor(len(subscribers)) as pool:
        workers = [pool.submit(one.work, ended) for one in subscribers]
        try:
            for role in ("shard", "http", "shard", "shard"):
                wait_for(lambda at=done() + 100: done() >= at, 20, "answers")
                service.kill_child(role)
        finally:
            ended.set()
        for worker in workers:
            worker.result()
    assert max(max(one.tries) for one in subscribers) > 1, "no request was hit by a kill"
    for one in subscribers:
        one.shop.client.close()
        one.shop.client.address = service.http
        one.check()
    assert service.cli("verify")["faults"] == []
