"""Phones with passes in Apple's wallet: registration, lists of what has changed, and what it makes of a pass's status."""
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import wait_for
from history import statuses_of
from hooks import subscribe
from phones import PASS_TYPE, Held, Phone
from shop import Shop, path_of, template_file

MINUTE = 60
DAY = 24 * 60 * MINUTE


@pytest.fixture
def service(service_of_wallets):
    return service_of_wallets


@pytest.fixture(scope="module")
def options(apple):
    """Of one certificate, which all accounts here use."""
    return apple.options(PASS_TYPE)


def with_wallet(shop, options):
    shop.service.cli("wallet", "apple", "put", shop.account, *options)
    return shop


@pytest.fixture
def issuer(shop, options):
    """An account with Apple's wallet."""
    return with_wallet(shop, options)


@pytest.fixture
def moved(clocked, options):
    """Likewise, with a clock that the test can move."""
    return with_wallet(clocked, options)


@pytest.fixture
def new_phone():
    phones = []

    def make(shop, **more):
        phones.append(Phone(shop.service, shop.account, **more))
        return phones[-1]

    yield make
    for phone in phones:
        phone.close()


def issue(shop, **fields):
    return Held(shop, shop.create(**fields))


def is_refused(answer):
    answer.is_error(401, "UNAUTHENTICATED")
    document = answer.json
    document.pop("request_id")
    return document


def advance(shop, seconds):
    shop.service.cli("clock", "advance", f"{seconds}s")


def await_status(shop, held, status):
    wait_for(lambda: shop.get(held.id)["status"] == status, 10, f"{held.id} is {status}")


# Registration

def test_a_pass_is_active_while_a_phone_has_it(issuer, new_phone):
    held, phone, other = issue(issuer), new_phone(issuer), new_phone(issuer)
    assert phone.ask().is_empty(204) is None
    assert phone.register(held).status == 201
    assert issuer.get(held.id)["status"] == "active"
    assert phone.register(held).status == 200
    phone.push = "ab" * 100
    assert phone.register(held).status == 200  # another push token
    assert other.register(held).status == 201
    shown = issuer.service.cli("wallet", "show", issuer.account)
    assert (shown["installed"], shown["devices"]) == ({"apple": 1, "google": 0}, 2)
    assert phone.changed() == other.changed() == {held.serial} and phone.changed() == set()
    assert phone.give_up(held).status == phone.give_up(held).status == 200
    assert phone.ask().status == 204 and other.ask().status == 200
    assert issuer.get(held.id)["status"] == "active"
    assert statuses_of(issuer.history(held.id))[-2:] == ["issued", "active"]


def test_the_last_phone_removes_the_pass_a_minute_later(moved, new_phone):
    held, phone = issue(moved), new_phone(moved)
    assert phone.register(held).status == 201
    assert phone.give_up(held).status == 200
    advance(moved, MINUTE - 5)
    assert moved.get(held.id)["status"] == "active"
    advance(moved, 6)
    await_status(moved, held, "removed")
    assert phone.register(held).status == 201
    assert moved.get(held.id)["status"] == "active"
    assert moved.service.cli("verify")["ok"]


def test_a_phone_that_comes_back_in_time_keeps_the_pass(moved, new_phone):
    held, phone, other = issue(moved), new_phone(moved), issue(moved)
    assert phone.register(held).status == phone.register(other).status == 201
    assert phone.give_up(held).status == phone.give_up(other).status == 200
    assert phone.register(held).status == 201
    advance(moved, MINUTE + 1)
    await_status(moved, other, "removed")
    assert moved.get(held.id)["status"] == "active"
    assert phone.give_up(held).status == 200  # the minute begins again
    advance(moved, MINUTE - 5)
    assert moved.get(held.id)["status"] == "active"
    advance(moved, 6)
    await_status(moved, held, "removed")


def test_reinstallation_can_be_blocked(moved, new_phone):
    moved.templates["blocks"] = moved.put_template(template_file(name="Once", wallet={"reinstall": "block"}))
    held, phone = issue(moved, kind="blocks"), new_phone(moved)
    assert phone.register(held).status == 201 and phone.give_up(held).status == 200
    advance(moved, MINUTE + 1)
    await_status(moved, held, "removed")
    assert moved.get(held.id)["reinstall_blocked"] is True
    is_refused(phone.register(held))
    assert phone.give_up(held).status == 200
    moved.event(held.id, "unblocked")
    assert phone.register(held).status == 201
    assert moved.get(held.id)["status"] == "active"


def test_the_operators_word_needs_no_phone(moved, new_phone):
    held, phone = issue(moved), new_phone(moved)
    moved.event(held.id, "installed")
    assert phone.register(held).status == 201 and phone.give_up(held).status == 200
    advance(moved, 2 * MINUTE)
    assert moved.get(held.id)["status"] == "active"
    assert phone.register(held).status == 201
    moved.event(held.id, "uninstalled")
    assert phone.ask().status == 204
    assert moved.get(held.id)["status"] == "removed"
    assert moved.service.cli("verify")["ok"]


def test_a_pass_that_has_ended_is_kept_for_thirty_days(moved, new_phone):
    deleted, ended, late = issue(moved), issue(moved), issue(moved)
    phone, other = new_phone(moved), new_phone(moved)
    assert phone.register(deleted).status == phone.register(ended).status == 201
    assert phone.changed() == {deleted.serial, ended.serial}
    assert moved.client.delete(path_of(deleted.id)).status == 204
    moved.event(ended.id, "deactivated")
    moved.event(late.id, "deactivated")
    assert phone.changed() == {deleted.serial, ended.serial}
    assert phone.register(ended).status == 200
    assert other.register(late).status == 201  # a phone that took it, but could not say so in time
    assert moved.get(late.id)["status"] == "deactivated"
    assert moved.service.cli("verify")["ok"]
    advance(moved, 29 * DAY)
    assert other.register(ended).status == 201
    advance(moved, 2 * DAY)
    wait_for(lambda: phone.ask().status == other.ask().status == 204, 20, "phones have lost the passes")
    for held in (deleted, ended, late):
        is_refused(phone.register(held))
    assert moved.service.cli("verify")["ok"]


def dumped(service, table):
    done = service.run("table", "dump", service.data / "shards/0", table, data=False)
    assert done.returncode == 0, done
    return done.stdout


def test_dumps_show_no_device_and_no_push_token(own, options, new_phone):
    shop = with_wallet(own, options)
    held, left, phone = issue(shop), issue(shop), new_phone(shop)
    assert phone.register(held).status == phone.register(left).status == 201
    assert phone.give_up(left).status == 200
    assert shop.service.stop() == 0
    hashed = hashlib.sha256(phone.device.encode()).hexdigest()[:32]
    for table in ("registration", "registration_device", "wallet_due"):
        shown = dumped(shop.service, table)
        assert "hidden_bytes" in shown or table == "wallet_due"
        assert not any(secret in shown for secret in (phone.device, hashed, phone.push)), shown
    assert json.loads(dumped(shop.service, "wallet_due").splitlines()[0])["key"]["kind"] == 1


# Tokens

def test_all_refusals_of_a_token_are_the_same(issuer, new_shop, options, new_phone):
    other = with_wallet(new_shop("balance"), options)
    held, foreign = issue(issuer), issue(other)
    phone = new_phone(issuer)
    refusals = [
        phone.register(held, token=""), phone.register(held, token=held.token.swapcase()), phone.register(held, token=held.token + "x"),
        phone.register(held, token=foreign.token), phone.register(foreign),  # of another account
        phone.register(Held(issuer, {"id": held.id, "download_url": "https://x/p/" + "A" * 21 + "Q"})),
        phone.client.post(phone.place(held.serial), {"pushToken": "ab"}),
        phone.client.post(phone.place(held.serial), {"pushToken": "ab"}, headers={"Authorization": f"Bearer {held.token}"}),
        phone.client.post(phone.place("nothing"), {"pushToken": "ab"}, headers={"Authorization": f"ApplePass {held.token}"}),
        phone.give_up(held, token="x"),
        phone.register(held, token="x", document=["no registration"]),  # the token is judged before the body
    ]
    phone.pass_type = "pass.example.other"
    refusals += [phone.register(held), phone.give_up(held)]
    phone.pass_type, phone.account = PASS_TYPE, other.account
    refusals += [phone.register(held), phone.give_up(held)]
    phone.account = "acc_k3x9m2p7q4w8z5t6"
    refusals += [phone.register(held), phone.give_up(held)]
    phone.account = "nobody"
    refusals += [phone.register(held), phone.give_up(held)]
    bodies = [is_refused(answer) for answer in refusals]
    assert all(body == bodies[0] for body in bodies), bodies
    names = [{name for name in answer.headers if name not in ("date", "x-request-id")} for answer in refusals]
    assert all(of == names[0] for of in names), names
    assert issuer.get(held.id)["status"] == other.get(foreign.id)["status"] == "issued"


def test_strangers_learn_nothing_from_lists_and_logs(issuer, new_phone):
    phone = new_phone(issuer)
    for account in (issuer.account, "acc_k3x9m2p7q4w8z5t6", "nobody"):
        phone.account = account
        assert phone.ask().status == 204 and phone.ask("1.2.3").status == 204
        assert phone.log("a line").is_empty(200) is None


@pytest.mark.parametrize("document", [{}, [], "x", {"pushToken": None}, {"pushToken": ""}, {"pushToken": 7}, {"pushToken": "xyz"},
                                      {"pushToken": "ab" * 100 + "c"}, {"pushToken": ["ab"]}])
def test_bodies_that_are_no_registration(issuer, new_phone, document):
    held, phone = issue(issuer), new_phone(issuer)
    assert phone.register(held, document=document).status == 400
    assert issuer.get(held.id)["status"] == "issued"


def test_other_hostile_requests(issuer, new_phone):
    held, phone = issue(issuer), new_phone(issuer)
    token = {"Authorization": f"ApplePass {held.token}"}
    for body in (b"", b"{", b'{"pushToken":"ab","pushToken":"cd"}', b'{"pushToken":"ab"}x', b"\xff\xfe", b"[" * 5000):
        assert phone.client.request("POST", phone.place(held.serial), body=body, headers=token).status == 400, body
    assert phone.register(held, document={"pushToken": "ab", "more": {"x": [1]}}).status == 201  # further members are ignored
    assert phone.register(held, document={"pushToken": "ab", "x": "x" * (16 << 10)}).status == 413
    for device in ("", "x" * 101, "a b", "\u00e4", "a\n"):
        phone.device = device
        assert phone.register(held).status == (400 if device else 404), device
    phone.device = "x" * 100
    assert phone.register(held).status == 201
    assert phone.client.request("PUT", phone.place(held.serial), headers=token).status == 405
    assert phone.client.get(phone.path("nothing")).status == 404
    for document in ({}, {"logs": "x"}, [], {"logs": None}):
        assert phone.client.post(phone.path("log"), document).status == 400
    assert phone.log(*[7, None, "good", {"x": 1}]).status == 200


# Lists

def changes_of(shop, held, phone, change):
    assert phone.changed() == set()
    change()
    return phone.changed()


def test_each_change_that_shows_is_listed_once(issuer, new_phone):
    held, still, phone = issue(issuer), issue(issuer), new_phone(issuer)
    assert phone.register(held).status == phone.register(still).status == 201
    assert phone.changed() == {held.serial, still.serial}
    patch, one = lambda document: lambda: issuer.client.patch(path_of(held.id), document), {held.serial}
    assert changes_of(issuer, held, phone, lambda: issuer.try_add(held.id, 5)) == one
    assert changes_of(issuer, held, phone, patch({"visible": {"name": "Grace"}})) == one
    assert changes_of(issuer, held, phone, patch({"visible": {"name": "Grace"}})) == set()
    assert changes_of(issuer, held, phone, patch({"hidden": {"x": 1}})) == set()
    assert changes_of(issuer, held, phone, patch({"appearance": {"background_color": "#332211"}})) == one
    assert [entry["what"] for entry in issuer.history(held.id)][-3:] == ["loyalty", "edited", "edited"]
    for _ in range(3):  # within one second
        assert changes_of(issuer, held, phone, lambda: issuer.try_add(held.id, 1)) == one


def test_a_template_and_the_accounts_name_are_listed(issuer, new_phone):
    other = issuer.put_template(template_file("stamps"))
    held = issue(issuer)
    stamps, phone = Held(issuer, issuer.create(pass_template_id=other)), new_phone(issuer)
    assert phone.register(held).status == phone.register(stamps).status == 201
    assert phone.changed() == {held.serial, stamps.serial}
    file = template_file("stamps", name="Another")
    put = lambda: issuer.put_template({**file, "pass_template_id": other})
    assert changes_of(issuer, stamps, phone, put) == {stamps.serial}
    assert changes_of(issuer, stamps, phone, put) == set()  # the same file again
    rename = lambda name: lambda: issuer.service.cli("account", "rename", issuer.account, name)
    assert changes_of(issuer, held, phone, rename("Other")) == {held.serial, stamps.serial}
    assert changes_of(issuer, held, phone, rename("Other")) == set()


def test_tags_that_are_not_ours_list_everything(issuer, new_phone):
    held, phone = issue(issuer), new_phone(issuer)
    assert phone.register(held).status == 201
    assert phone.changed() == {held.serial}
    lineage, seq, look = phone.tag.split(".")
    others = ["", "0", "2020-01-01 junk+&", f"{lineage}.{seq}", f"{lineage}.{int(seq) + 1}.{look}", f"{lineage}.{seq}.{int(look) + 1}",
              f"{lineage}.0{seq}.{look}", f" {phone.tag}", phone.tag + "0" * 40, "0" * 16 + f".{seq}.{look}", "%"]
    for tag in others:
        answer = phone.ask(tag)
        assert answer.status == 200 and answer.json["serialNumbers"] == [held.serial], tag
        assert answer.json["lastUpdated"] == phone.tag
    assert phone.ask(phone.tag).status == 204
    assert phone.client.get(phone.place() + "?passesUpdatedSince=%zz").status == 200
    assert phone.client.head(phone.place()).status == 200


def test_a_list_is_of_one_pass_type(issuer, apple, new_phone):
    held, phone = issue(issuer), new_phone(issuer)
    issuer.service.cli("wallet", "apple", "put", issuer.account, *apple.options("pass.example.second"))
    second = Phone(issuer.service, issuer.account, "pass.example.second")
    second.device = phone.device
    assert phone.register(held).status == second.register(held).status == 201
    assert phone.give_up(held).status == 200
    assert phone.ask().status == 204
    assert second.changed() == {held.serial}
    second.close()


# Limits and switches

def test_a_storm_of_one_phone(issuer, new_phone):
    """One phone comes with hundreds of device ids and one push token: 64 stay, and other phones are not driven out."""
    held, quiet, phone = issue(issuer), new_phone(issuer), new_phone(issuer)
    assert quiet.register(held).status == 201
    devices = [f"device-{number}" for number in range(300)]

    def register(device):
        with issuer.service.client() as client:
            one = Phone(issuer.service, issuer.account)
            one.client.close()
            one.client, one.device, one.push = client, device, phone.push
            return one.register(held).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(register, devices)) == {201}
    assert quiet.changed() == {held.serial}
    left = []
    for phone.device in devices:
        left += [phone.device] if phone.ask().status == 200 else []
    assert len(left) == 63
    assert issuer.get(held.id)["status"] == "active"
    assert len([status for status in statuses_of(issuer.history(held.id)) if status == "active"]) == 1


def test_beyond_the_limit_the_oldest_phone_goes(issuer, new_phone):
    held, phones = issue(issuer), [new_phone(issuer) for _ in range(66)]
    for phone in phones[:64]:
        assert phone.register(held).status == 201
    assert phones[0].register(held).status == 200  # it is not the oldest any more
    assert phones[64].register(held).status == phones[65].register(held).status == 201
    assert [phone.ask().status for phone in phones[:4]] == [200, 204, 204, 200]


def test_switched_off_phones_may_still_leave(issuer, new_phone):
    held, phone = issue(issuer), new_phone(issuer)
    assert phone.register(held).status == 201
    issuer.set("--wallet", "off")
    is_refused(phone.register(held))
    assert phone.ask().status == 204 and phone.log("x").status == 200
    issuer.set("--wallet", "google")
    assert phone.ask().status == 204
    issuer.set("--wallet", "apple")
    assert phone.changed() == {held.serial}
    issuer.set("--suspended", "on")
    assert phone.register(held).status == 200 and phone.ask().status == 200
    issuer.set("--suspended", "off", "--wallet", "off")
    assert phone.give_up(held).status == 200


def test_after_a_removal_phones_keep_their_passes(issuer, options, new_phone):
    held, phone = issue(issuer), new_phone(issuer)
    assert phone.register(held).status == 201
    issuer.service.cli("wallet", "apple", "remove", issuer.account)
    is_refused(new_phone(issuer).register(held))
    assert phone.ask().status == 204
    with_wallet(issuer, options)
    assert phone.register(held).status == 200 and phone.changed() == {held.serial}


def test_there_is_no_such_path_before_the_first_credential(new_service, options, new_phone):
    service = new_service(shards=2)
    shop = Shop(service, ("balance",))
    held, phone = Held(shop, shop.create()), new_phone(shop)

    def all_of():
        return [phone.register(held), phone.give_up(held), phone.ask(), phone.log("x"), phone.client.get(phone.path("x")),
                phone.register(held, document={"pushToken": "ab", "x": "x" * (32 << 10)})]

    outside = shop.client.get("/nothing", key="").json
    for answer in all_of():
        answer.is_error(404, "ROUTE_NOT_FOUND")
        assert answer.json["message"] == outside["message"]
    with_wallet(shop, options)
    assert [answer.status for answer in all_of()] == [201, 200, 204, 200, 404, 413]
    shop.close()


def test_phones_write_to_a_log(issuer, new_phone):
    phone = new_phone(issuer)
    assert issuer.service.cli("wallet", "log", issuer.account) == []
    assert phone.log("first", "x" * 300, "\u00e4" * 150).status == 200
    lines = issuer.service.cli("wallet", "log", issuer.account)
    assert [entry["line"] for entry in lines] == ["first", "x" * 200, "\u00e4" * 100]
    assert all(set(entry) == {"at", "line"} for entry in lines)
    assert phone.log(*[str(number) for number in range(150)]).status == phone.log(*[""] * 120).status == 200
    assert [entry["line"] for entry in issuer.service.cli("wallet", "log", issuer.account)] == [str(n) for n in range(50, 150)]


def test_what_a_phone_writes_does_not_act_on_a_terminal(issuer, new_phone):
    """Anybody may write there. The escapes are the same JSON."""
    written = "a\x1b[31m\x7f\u009b31m\u0085\u200e\u202e\u2066\u00e4\u20ac"
    assert new_phone(issuer).log(written).status == 200
    printed = issuer.service.run("wallet", "log", issuer.account).stdout
    assert "\"a\\u001b[31m\\u007f\\u009b31m\\u0085\\u200e\\u202e\\u2066\u00e4\u20ac\"" in printed
    assert json.loads(printed)[0]["line"] == written


# Events

def test_webhooks_of_installations(clocked, options, new_phone):
    shop = with_wallet(Shop(clocked.service, functions=("--webhooks",)), options)
    hook = subscribe(shop, "https://hooks.example.com/in", ["pass.installed", "pass.removed"])
    types = lambda: sorted(row["type"] for row in shop.service.cli("delivery", "list", shop.account, "--subscription", hook["id"]))
    held, phone, by_hand = issue(shop), new_phone(shop), issue(shop)
    assert phone.register(held).status == 201 and phone.register(held).status == 200
    assert types() == ["pass.installed"]
    assert phone.give_up(held).status == 200
    advance(shop, MINUTE + 1)
    await_status(shop, held, "removed")
    assert types() == ["pass.installed", "pass.removed"]
    shop.event(by_hand.id, "installed")
    shop.event(by_hand.id, "uninstalled")
    assert types() == ["pass.installed"] * 2 + ["pass.removed"] * 2
    shop.close()


# Faults

def test_phones_outlive_every_process(new_service, options, new_phone):
    service = new_service(shards=2)
    shop = with_wallet(Shop(service, ("balance",)), options)
    held, phone = [issue(shop) for _ in range(8)], new_phone(shop)
    for one in held:
        assert phone.register(one).status == 201
    assert phone.changed() == {one.serial for one in held}
    for role in ("http", "shard", "timer", "shard"):
        shop.try_add(held[0].id, 1)
        service.expect_log("event=died")
        old = service.pid_of(role)
        service.kill_child(role)
        service.await_successor(role, 0, old)
        shop.client.close()
        phone.client.close()
        assert phone.changed() == {held[0].serial}, role
        assert phone.register(held[1]).status == 200
    tag = phone.tag
    service.kill_everything()
    service.start()
    shop.client.address = phone.client.address = service.http
    assert phone.changed() == set() and phone.ask().json["lastUpdated"] == tag
    assert all(shop.get(one.id)["status"] == "active" for one in held)
    assert service.cli("verify")["ok"]
    shop.close()


def test_a_removal_that_was_due_while_nothing_ran(clocked, options, new_phone):
    shop = with_wallet(clocked, options)
    held, phone = issue(shop), new_phone(shop)
    assert phone.register(held).status == 201 and phone.give_up(held).status == 200
    service, old = shop.service, shop.service.pid_of("shard")
    service.expect_log("event=died")
    service.kill_child("shard")
    service.await_successor("shard", 0, old)
    advance(shop, MINUTE + 1)
    await_status(shop, held, "removed")


def test_a_restore_lists_everything(new_service, options, new_phone, tmp_path):
    service = new_service(shards=1)
    shop = with_wallet(Shop(service, ("balance",)), options)
    held, phone = issue(shop), new_phone(shop)
    assert phone.register(held).status == 201 and phone.changed() == {held.serial}
    assert service.cli("backup", tmp_path / "backup") == {}
    assert service.stop() == 0
    second = new_service(start=False, shards=1)
    second.cli("restore", "--from", tmp_path / "backup")
    second.start()
    phone.client.close()
    phone.client = second.client()
    assert phone.changed() == {held.serial} and phone.changed() == set()
    assert phone.register(held).status == 200
    shop.close()
