"""POST /v1/scans: the answer, every verdict and their order, the double-scan window, readers, and idempotency keys."""
import threading
from concurrent.futures import ThreadPoolExecutor

import images
import pytest
from deliveries import RFC3339, advance, options
from harness import refusal, wait_for
from retries import is_first, is_replay_of, is_reused, new_key, once
from scans import FIELDS, SCANS, UUID, as_listed, as_told, list_scans, scan, try_scan, verdict
from shop import Shop, template_file

WINDOW = 10


@pytest.fixture
def shop(ticking):
    shop = Shop(ticking, ("balance", "none"))
    yield shop
    shop.close()
    assert ticking.unexpected_lines() == []


def readers(shop):
    return shop.service.cli("reader", "list", shop.account)


def name_reader(shop, reader_id, name):
    assert shop.service.cli("reader", "put", shop.account, "--id", reader_id, "--name", name) == {}


# The answer

def test_the_form_of_a_scan(shop):
    pass_id = shop.create("päss \"1\" 🎟")["id"]
    made = scan(shop, pass_id)
    assert list(made) == FIELDS and UUID.match(made["id"]) and RFC3339.match(made["created_at"])
    assert made == {"id": made["id"], "pass_id": pass_id, "status": "succeeded", "reason": None, "scanner_id": None,
                    "scanner_name": None, "created_at": made["created_at"]}


def test_the_pass_in_the_answer(shop):
    pass_id = shop.create(hidden={"z": 1, "a": [True]})["id"]
    for value, has in (("true", True), ("1", True), ("t", True), ("false", False), ("0", False), ("f", False)):
        made = scan(shop, pass_id, f"?pass_info={value}")
        assert list(made) == FIELDS + ["pass"] * has
        assert not has or made["pass"] == shop.get(pass_id)
    for value in ("yes", "TRUE", "", "2", "null"):
        shop.client.post(f"{SCANS}?pass_info={value}", {"pass_id": pass_id}).is_error(400, "INVALID_INPUT", "pass_info")
    assert list_scans(shop)[1] == 6


def test_exactly_one_of_pass_id_and_qr_value(shop):
    pass_id = shop.create()["id"]
    for body in ({}, {"pass_id": None}, {"qr_value": None}, {"pass_id": None, "qr_value": None}, {"reader_id": "till"}):
        try_scan(shop, **body).is_error(400, "INVALID_INPUT", "pass_id")
    try_scan(shop, pass_id=pass_id, qr_value=pass_id).is_error(400, "INVALID_INPUT", "qr_value")
    assert try_scan(shop, pass_id=pass_id, qr_value=None, reader_id=None).status == 200
    assert try_scan(shop, pass_id=None, qr_value=pass_id).status == 200
    assert list_scans(shop)[1] == 2


def test_an_unknown_pass(shop):
    deleted = shop.create()["id"]
    shop.delete(deleted)
    for pass_id in (deleted, "never"):
        try_scan(shop, pass_id=pass_id).is_error(404, "RESOURCE_NOT_FOUND")
        try_scan(shop, qr_value=pass_id).is_error(404, "RESOURCE_NOT_FOUND")
    for pass_id in ("", ".", "..", "a\0", "a" * 201, "\u0085"):
        try_scan(shop, pass_id=pass_id).is_error(400, "INVALID_INPUT", "pass_id")
        try_scan(shop, qr_value=pass_id).is_error(404, "RESOURCE_NOT_FOUND")
    assert list_scans(shop) == ([], 0, False)


def test_a_qr_value_matches_a_pass_id_with_a_qr_template(shop):
    shop.templates["plain"] = shop.put_template(template_file("none", qr=False))
    with_qr, without = shop.create(kind="balance")["id"], shop.create(kind="plain")["id"]
    made = try_scan(shop, qr_value=with_qr)
    assert (made.status, made.json["pass_id"], made.json["status"]) == (200, with_qr, "succeeded")
    try_scan(shop, qr_value=without).is_error(404, "RESOURCE_NOT_FOUND")
    assert verdict(shop, without) == "succeeded"


def test_a_qr_value_matches_a_cards_code(shop):
    """A pass's own QR value has precedence. A card's code may have any form."""
    shop.templates["plain"] = shop.put_template(template_file("none", qr=False))
    one, two, plain = shop.create()["id"], shop.create()["id"], shop.create(kind="plain")["id"]
    codes = {"0042 é": one, plain: two, two: one}
    cards = {code: shop.service.cli("card", "link", shop.account, "--pass", to, "--code", code)["id"] for code, to in codes.items()}

    def scanned(code):
        answer = try_scan(shop, qr_value=code)
        return answer.json["pass_id"] if answer.status == 200 else answer.json["code"]

    assert [scanned(code) for code in codes] == [one, two, two]
    try_scan(shop, pass_id="0042 é").is_error(404, "RESOURCE_NOT_FOUND")
    shop.service.cli("card", "unlink", shop.account, cards["0042 é"])
    shop.delete(two)
    assert [scanned(code) for code in codes] == ["RESOURCE_NOT_FOUND", "RESOURCE_NOT_FOUND", one]


SCANNERS_MARKS = ["{}\r\n", "{}\t", "  {} ", "\r{}", "]Q3{}", "]C0{}\r", " ]A0{}\n", "]e0{}", "\x1d{}\x7f", "]C1 \x1d{}\x04"]


@pytest.mark.parametrize("written", SCANNERS_MARKS)
def test_white_space_from_a_hand_scanner_is_ignored(shop, written):
    shop.templates["plain"] = shop.put_template(template_file("none", qr=False))
    one, two = shop.create()["id"], shop.create(kind="plain")["id"]
    shop.service.cli("card", "link", shop.account, "--pass", two, "--code", "4006381333931")
    for value, want in ((one, one), ("4006381333931", two)):
        answer = try_scan(shop, qr_value=written.format(value))
        assert answer.status == 200 and answer.json["pass_id"] == want, answer
    try_scan(shop, qr_value=written.format("nobody")).is_error(404, "RESOURCE_NOT_FOUND")
    # A pass_id must match exactly.
    assert try_scan(shop, pass_id=written.format(one)).status in (400, 404)


@pytest.mark.parametrize("value", ["]Q3", "]Q3 real", " real ", "]", "]9"])
def test_an_exact_match_has_precedence(shop, value):
    one, two = shop.create()["id"], shop.create("real")["id"]
    shop.service.cli("card", "link", shop.account, "--pass", one, "--code", value)
    assert try_scan(shop, qr_value=value).json["pass_id"] == one
    assert two == "real"


def test_a_scan_does_not_change_its_pass(shop):
    pass_id = shop.create()["id"]
    before, history = shop.get(pass_id), shop.history(pass_id)
    advance(shop.service, 60)
    assert verdict(shop, pass_id) == "succeeded"
    assert (shop.get(pass_id), shop.history(pass_id)) == (before, history)


# Verdicts

def test_states_of_a_pass(shop):
    """The verdict depends on the pass's state. An uninstalled pass can still be scanned, for example on paper."""
    issued, active, removed, blocked, inactive = (shop.create()["id"] for _ in range(5))
    for each in (active, removed, blocked):
        shop.event(each, "installed")
    shop.event(removed, "uninstalled")
    shop.event(blocked, "uninstalled", "--block-reinstall")
    shop.event(inactive, "deactivated")
    assert [verdict(shop, each) for each in (issued, active, removed)] == ["succeeded"] * 3
    assert [verdict(shop, each) for each in (blocked, inactive)] == ["pass_suspended"] * 2
    made = scan(shop, inactive, reader_id="door")
    assert (made["status"], made["reason"], made["scanner_id"]) == ("failed", "pass_suspended", "door")
    shop.event(blocked, "unblocked")
    assert verdict(shop, blocked) == "succeeded"


@pytest.fixture(scope="module")
def issuing(module_services, authority):
    return module_services(shards=1, options=options(authority))


def test_a_pass_that_is_not_issued(issuing, chain):
    """Scans fail while the pass is being issued and after its issuance has failed, and succeed once it is issued."""
    shop = Shop(issuing)
    with images.Gallery(chain) as gallery, ThreadPoolExecutor(1) as pool:
        held, lost = images.body_with(gallery.url("/held-image/logo")), images.body_with(gallery.url("/status/404"))
        made = pool.submit(lambda: shop.service.client(shop.key).post("/v1/passes", held))
        wait_for(lambda: gallery.requests, 10, "the fetch")
        assert shop.get(held["pass_id"])["status"] == "creating"
        assert [verdict(shop, held["pass_id"]), verdict(shop, held["pass_id"])] == ["pass_not_issued"] * 2
        gallery.release()
        assert made.result().status == 201
        assert [verdict(shop, held["pass_id"]), verdict(shop, held["pass_id"])] == ["succeeded", "double_scan"]
        assert shop.client.post("/v1/passes", lost).json["status"] == "creation_failed"
        made = scan(shop, lost["pass_id"])
        assert (made["status"], made["reason"]) == ("failed", "pass_not_issued")
    shop.close()


def test_a_failed_scan_starts_no_double_scan_window(shop):
    pass_id = shop.create()["id"]
    shop.event(pass_id, "installed")
    shop.event(pass_id, "uninstalled", "--block-reinstall")
    assert verdict(shop, pass_id) == "pass_suspended"
    shop.event(pass_id, "unblocked")
    assert [verdict(shop, pass_id), verdict(shop, pass_id)] == ["succeeded", "double_scan"]


def test_the_order_of_reasons(shop):
    """For a pass in the double-scan window that is now suspended, the reason is the state."""
    pass_id = shop.create()["id"]
    assert [verdict(shop, pass_id), verdict(shop, pass_id)] == ["succeeded", "double_scan"]
    shop.event(pass_id, "installed")
    shop.event(pass_id, "uninstalled", "--block-reinstall")
    assert verdict(shop, pass_id) == "pass_suspended"
    shop.event(pass_id, "unblocked")
    assert verdict(shop, pass_id) == "double_scan"
    shop.event(pass_id, "deactivated")
    assert verdict(shop, pass_id) == "pass_suspended"


def test_the_double_scan_window(shop):
    pass_id, other = shop.create()["id"], shop.create()["id"]
    assert [verdict(shop, pass_id), verdict(shop, pass_id)] == ["succeeded", "double_scan"]
    assert verdict(shop, other) == "succeeded", "each pass has its own window"
    advance(shop.service, WINDOW)
    assert [verdict(shop, pass_id), verdict(shop, pass_id)] == ["succeeded", "double_scan"]


def test_the_accounts_setting_of_the_window(shop):
    """The window begins with the last successful scan, by service time. Failed scans do not extend it."""
    pass_id = shop.create()["id"]
    shop.set("--double-scan-window", "1h")
    assert verdict(shop, pass_id) == "succeeded"
    advance(shop.service, 3000)
    assert verdict(shop, pass_id) == "double_scan"
    advance(shop.service, 600)
    assert verdict(shop, pass_id) == "succeeded"
    shop.set("--double-scan-window", "0s")
    assert [verdict(shop, pass_id) for _ in range(3)] == ["succeeded"] * 3
    shop.set("--double-scan-window", "10s")
    assert verdict(shop, pass_id) == "double_scan"


def test_one_of_several_concurrent_scans_succeeds(shop):
    passes, gates = [shop.create()["id"] for _ in range(20)], threading.Barrier(8)
    seen = {pass_id: [] for pass_id in passes}

    def till(name):
        with shop.service.client(shop.key) as client:
            for pass_id in passes:
                gates.wait()
                seen[pass_id].append(client.post(SCANS, {"pass_id": pass_id, "reader_id": name}).json)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(till, [f"till-{n}" for n in range(8)]))
    for pass_id, scans in seen.items():
        assert sorted(each["reason"] or "" for each in scans) == [""] + ["double_scan"] * 7, pass_id
    assert list_scans(shop, status="succeeded")[1:] == (20, False)
    assert list_scans(shop, status="failed")[1:] == (140, True)


# Readers

def test_the_reader_in_the_answer(shop):
    pass_id = shop.create()["id"]
    shop.set("--double-scan-window", "0s")
    assert readers(shop) == []
    made = scan(shop, pass_id, reader_id="Türe \"2\" 🚪")
    assert (made["scanner_id"], made["scanner_name"]) == ("Türe \"2\" 🚪", None)
    assert readers(shop) == [], "only readers that the operator put are listed"
    name_reader(shop, "b-door", "Entrance")
    name_reader(shop, "a-door", "Exit")
    made = scan(shop, pass_id, reader_id="b-door")
    assert (made["scanner_id"], made["scanner_name"]) == ("b-door", "Entrance")
    listed = readers(shop)
    assert [(each["id"], each["name"]) for each in listed] == [("a-door", "Exit"), ("b-door", "Entrance")]
    assert all(set(each) == {"id", "name", "created_at"} and RFC3339.match(each["created_at"]) for each in listed)
    name_reader(shop, "Türe \"2\" 🚪", "Seite")
    name_reader(shop, "b-door", "Main entrance")
    names = [each["scanner_name"] for each in list_scans(shop)[0]]
    assert names == ["Main entrance", "Seite"], "with its current name"
    again = readers(shop)
    assert [each["id"] for each in again] == ["Türe \"2\" 🚪", "a-door", "b-door"], "by bytes"
    assert [each["created_at"] for each in again[1:]] == [each["created_at"] for each in listed]


def test_invalid_readers(shop):
    pass_id = shop.create()["id"]
    for reader_id in ("", "a\0", "\n", "\x7f", "\u0085", "a" * 201, "é" * 101):
        try_scan(shop, pass_id=pass_id, reader_id=reader_id).is_error(400, "INVALID_INPUT", "reader_id")
        try_scan(shop, pass_id="never", reader_id=reader_id).is_error(400, "INVALID_INPUT", "reader_id")
    for reader_id in (".", "..", "a" * 200, "é" * 100):
        assert scan(shop, pass_id, reader_id=reader_id)["scanner_id"] == reader_id
    for words in (("--id", "", "--name", "x"), ("--id", "a" * 201, "--name", "x"), ("--id", "\n", "--name", "x")):
        refused = shop.service.run("reader", "put", shop.account, *words)
        assert refused.returncode == 1 and '"field":"id"' in refused.stderr.replace(" ", ""), refused.stderr
    for name in ("", "x" * 201, "a\tb"):
        refused = shop.service.run("reader", "put", shop.account, "--id", "x", "--name", name)
        assert refused.returncode == 1 and '"field":"name"' in refused.stderr.replace(" ", ""), refused.stderr
    assert readers(shop) == []


def test_usage(shop):
    for words in (("reader", "put", shop.account), ("reader", "put", shop.account, "--id", "x"), ("reader", "list"),
                  ("scan", "delete", shop.account)):
        refused = shop.service.run(*words)
        assert refused.returncode == 2 and words[0] in refused.stderr, refused.stderr
    assert "--name" in shop.service.run("reader", "--help", data=False).stdout
    assert "SCAN_ID" in shop.service.run("scan", "--help", data=False).stdout


# Deletion

def test_a_deleted_scan_is_gone(shop):
    shop.set("--double-scan-window", "1h")
    pass_id = shop.create()["id"]
    kept, gone = scan(shop, pass_id), scan(shop, pass_id)
    assert shop.service.cli("scan", "delete", shop.account, gone["id"]) == {}
    assert [as_told(each) for each in list_scans(shop)[0]] == [as_listed(kept)]
    assert list_scans(shop, status="failed") == ([], 0, False)
    for none in (gone["id"], "01900000-0000-7000-8000-000000000000", "ffffffff-ffff-7fff-bfff-ffffffffffff", "x", ""):
        refused = shop.service.run("scan", "delete", shop.account, none)
        assert refused.returncode == 1 and "RESOURCE_NOT_FOUND" in refused.stderr, none
    assert shop.service.cli("scan", "delete", shop.account, kept["id"].upper()) == {}
    assert list_scans(shop) == ([], 0, False)
    assert verdict(shop, pass_id) == "double_scan", "the effects of the scan on its pass stay"


def rows(service):
    """The number of rows of all tables but the ledger, which keeps a row of each scan. Counted by a verification."""
    told = service.cli("verify")
    assert told["ok"]
    return told["shards"][0]["rows"] - told["shards"][0]["ledger_rows"]


def kill_shard(shop):
    """Kills the shard and waits until the next process serves."""
    old = shop.service.pid_of("shard")
    shop.service.kill_child("shard")
    shop.service.await_successor("shard", 0, old)
    wait_for(lambda: shop.client.get(SCANS).status == 200, 20, "the next shard process")


def delete_reader(shop, reader_id):
    return shop.service.cli("reader", "delete", shop.account, reader_id)


def test_scans_of_a_deleted_reader_keep_its_id(new_service):
    service = new_service(shards=1)
    shop, other = Shop(service), Shop(service)
    shop.set("--double-scan-window", "0s")
    pass_id = shop.create()["id"]
    empty = rows(service)
    name_reader(shop, "idle", "Never used")
    assert delete_reader(shop, "idle") == {}
    assert rows(service) == empty + 1, "only the counts of readers are left"
    made = scan(shop, pass_id, reader_id="till")
    for reader_id in ("till", "idle", "nobody", "x" * 201, "a\nb"):
        error = refusal(delete_reader, shop, reader_id)
        assert (error.code, error.field) == ("RESOURCE_NOT_FOUND", "id"), "a reader without a name is not listed"
        assert reader_id[:1] in error.message.split("`")[1]
    name_reader(shop, "till", "Entrance")
    name_reader(other, "till", "Theirs")
    service.cli("account", "set", shop.account, "--suspended", "on")
    assert delete_reader(shop, "till") == {}
    service.expect_log("level=(warn|fatal)")
    service.kill_child("shard")
    assert readers(shop) == []
    shop.set("--suspended", "off")
    [listed], total, _ = list_scans(shop)
    assert as_told(listed) == {**as_listed(made), "scanner_id": "till", "scanner_name": None} and total == 1
    assert list_scans(shop, q="entrance") == ([], 0, False)
    assert [one["name"] for one in readers(other)] == ["Theirs"]
    refusal(delete_reader, shop, "till")
    assert service.cli("verify")["ok"] is True
    service.cli("scan", "delete", shop.account, made["id"])
    name_reader(shop, "till", "Again")
    assert [one["name"] for one in readers(shop)] == ["Again"]
    assert service.cli("verify")["ok"] is True
    shop.close()
    other.close()


def test_a_reader_without_a_name_goes_with_its_last_scan(new_service):
    """Invented reader ids, one for each scan, must leave no rows behind. Freed internal numbers are not reused."""
    service = new_service(shards=1)
    shop = Shop(service)
    shop.set("--double-scan-window", "0s")
    pass_id = shop.create()["id"]
    name_reader(shop, "named", "Entrance")
    scan(shop, pass_id, reader_id="named")
    empty = rows(service)
    made = [scan(shop, pass_id, reader_id=f"{'n' * 150}-{number}") for number in range(63)]
    again = [scan(shop, pass_id, reader_id=one["scanner_id"]) for one in made[::2]]
    assert rows(service) - empty == 2 * 63 + 1, "two rows for each reader, and the row of the first 64 scans"
    for one in made:
        shop.service.cli("scan", "delete", shop.account, one["id"])
    assert rows(service) - empty == 2 * 32 + 2, "readers that another scan names stay; the second row of scans is there"
    assert {one["scanner_id"] for one in list_scans(shop, limit=100)[0]} == {"named", *(one["scanner_id"] for one in again)}
    service.expect_log("event=died child=shard-0")
    for one in again[1:]:
        shop.service.cli("scan", "delete", shop.account, one["id"])
    kill_shard(shop)
    assert rows(service) - empty == 2 + 2
    after = scan(shop, pass_id, reader_id="fresh")
    name_reader(shop, after["scanner_id"], "Fresh")
    service.cli("scan", "delete", shop.account, after["id"])
    assert [one["id"] for one in readers(shop)] == ["fresh", "named"], "the operator's readers stay"
    assert [as_told(one)["scanner_name"] for one in list_scans(shop, q="entrance")[0]] == ["Entrance"]
    assert list_scans(shop, q="fresh") == ([], 0, False)
    assert rows(service) - empty == 2 + 2 + 3
    shop.close()


def test_scans_among_other_changes_outlive_a_kill(new_service):
    """New scans are in the ledger alone, between rows of other changes, until they are gathered into columns."""
    service = new_service(shards=1)
    shop = Shop(service)
    shop.set("--double-scan-window", "0s")
    pass_id = shop.create()["id"]
    name_reader(shop, "till", "Entrance")
    made = []
    for number in range(40):
        made.append(scan(shop, pass_id, reader_id="till" if number % 2 else f"gate-{number % 3}"))
        for _ in range(8):
            shop.add(pass_id, 1)
        assert list_scans(shop, q="entrance")[1] == (number + 1) // 2
    service.expect_log("event=died child=shard-0")
    kill_shard(shop)
    made += [scan(shop, pass_id) for _ in range(3)]
    assert [one["id"] for one in list_scans(shop, limit=100, sort_dir="asc")[0]] == [one["id"] for one in made]
    assert service.cli("verify")["ok"] is True
    for one in (made[0], made[-1]):
        service.cli("scan", "delete", shop.account, one["id"])
    made.append(scan(shop, pass_id, reader_id="till"))
    delete_reader(shop, "till")
    left = [one["id"] for one in (*made[1:-2], made[-1])]
    assert [one["id"] for one in list_scans(shop, limit=100, sort_dir="asc")[0]] == left
    assert (made[-1]["scanner_name"], list_scans(shop)[0][0]["scanner_name"]) == ("Entrance", None)
    shop.close()
    service.stop()
    service.start()
    shop.client = service.client(shop.key)
    assert [one["id"] for one in list_scans(shop, limit=100, sort_dir="asc")[0]] == left
    assert service.cli("verify")["ok"] is True
    shop.close()


def test_one_account_cannot_delete_anothers_scan(shop):
    other = Shop(shop.service)
    theirs = scan(other, other.create()["id"])
    refused = shop.service.run("scan", "delete", shop.account, theirs["id"])
    assert refused.returncode == 1 and "RESOURCE_NOT_FOUND" in refused.stderr
    assert list_scans(other)[1] == 1
    other.close()


# Idempotency keys

def test_a_repeated_request_is_one_scan(shop):
    pass_id, key = shop.create()["id"], new_key()
    body = {"pass_id": pass_id, "reader_id": "till"}
    first = is_first(shop.client.post(SCANS, body, headers=once(key)), 200)
    assert first.json["status"] == "succeeded"
    is_replay_of(first, shop.client.post(SCANS, body, headers=once(key)))
    assert list_scans(shop)[1] == 1
    is_reused(shop.client.post(SCANS, {"pass_id": pass_id}, headers=once(key)))
    failed_key = new_key()
    failed = is_first(shop.client.post(SCANS, body, headers=once(failed_key)), 200)
    assert failed.json["reason"] == "double_scan"
    shop.service.cli("scan", "delete", shop.account, first.json["id"])
    shop.service.cli("scan", "delete", shop.account, failed.json["id"])
    advance(shop.service, WINDOW)
    is_replay_of(first, shop.client.post(SCANS, body, headers=once(key)))
    is_replay_of(failed, shop.client.post(SCANS, body, headers=once(failed_key)))
    assert list_scans(shop) == ([], 0, False)
    assert verdict(shop, pass_id) == "succeeded"


def test_a_replay_shows_the_pass(shop):
    pass_id, key = shop.create()["id"], new_key()
    first = is_first(shop.client.post(f"{SCANS}?pass_info=1", {"pass_id": pass_id}, headers=once(key)), 200)
    is_replay_of(first, shop.client.post(f"{SCANS}?pass_info=1", {"pass_id": pass_id}, headers=once(key)))
    is_reused(shop.client.post(SCANS, {"pass_id": pass_id}, headers=once(key)))


# Restarts

def test_scans_survive_a_crash(new_service):
    service = new_service(shards=1)
    shop = Shop(service)
    shop.set("--double-scan-window", "1h")
    passes = [shop.create()["id"] for _ in range(3)]
    made = [scan(shop, passes[n % 3], reader_id=f"till-{n % 2}") for n in range(150)]
    service.cli("scan", "delete", shop.account, made[70]["id"])
    left = [each for each in made if each is not made[70]]
    service.kill()
    service.start()
    shop.client.address = service.client().address
    told = [list_scans(shop, limit=100, offset=offset) for offset in (0, 100)]
    assert [total for _, total, _ in told] == [149, 149]
    assert [as_told(each) for page, _, _ in told for each in page] == [as_listed(each) for each in left[::-1]]
    assert verdict(shop, passes[0]) == "double_scan"
    assert service.cli("verify")["ok"] is True
    shop.close()
