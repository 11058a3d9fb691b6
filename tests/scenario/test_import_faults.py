"""pass import while processes die, stop or answer late: each row is created once and counted once."""
import json
import signal
import threading
from http.client import HTTPException

import pytest
from client import Client
from disk import Disk, NotPermitted
from harness import Rest, wait_for
from imports import Running, bodies, check_whole, ids_in_order, jsonl, rows_with_doubles, run, write
from patience import PATIENCE
from retries import create, is_first, is_replay_of
from shop import Shop
from test_slow_disk import SlowService

pytestmark = pytest.mark.plain  # tests the command line, which the sanitizer runs take from another build

SYNC_MS = 30  # so that a kill finds rows in the journal that are not yet answered


@pytest.fixture
def lagging():
    """A service of one shard with a slow disk."""
    service = SlowService(shards=1)
    service.expect_log(".")
    service.start()
    service.stall(SYNC_MS)
    yield service
    assert service.close() == []


@pytest.mark.parametrize("role", ["shard", "timer", "http"])
def test_processes_killed_during_an_import(lagging, tmp_path, role):
    shop = Shop(lagging, ("balance",))
    rows, wrong = rows_with_doubles(15000)
    running = Running(shop, write(tmp_path / "a.jsonl", jsonl(rows)))
    for part in (1, 2):
        running.wait_created(part * 3000)
        old = lagging.signal(role, 0, signal.SIGKILL)
        running.process.send_signal(signal.SIGSTOP)  # otherwise the import could end before the next kill
        lagging.await_successor(role, 0, old)
        running.process.send_signal(signal.SIGCONT)
    # While a shard has no timer it refuses creations, which the import sends again, after later rows perhaps.
    check_whole(shop, running.end(), rows, wrong, in_order=role != "timer")
    shop.close()


@pytest.mark.slow
def test_a_large_file_and_many_kills(lagging, tmp_path):
    shop = Shop(lagging, ("balance",))
    rows, wrong = rows_with_doubles(100_000)
    running = Running(shop, write(tmp_path / "a.jsonl", jsonl(rows)))
    for part in range(1, 9):
        running.wait_created(part * 9000)
        old = lagging.signal("shard", 0, signal.SIGKILL)
        running.process.send_signal(signal.SIGSTOP)
        lagging.await_successor("shard", 0, old)
        running.process.send_signal(signal.SIGCONT)
    check_whole(shop, running.end(120), rows, wrong)
    shop.close()


@pytest.mark.slow  # a row's deadline is 20 s
def test_a_shard_stopped_for_longer_than_a_rows_deadline(lagging, tmp_path):
    """When the shard continues it executes the rows that it had received. The same rows, sent again by the import, must
    not be executed twice."""
    shop = Shop(lagging, ("balance",))
    rows, wrong = rows_with_doubles(12_000)
    running = Running(shop, write(tmp_path / "a.jsonl", jsonl(rows)), "--wait", "5m")
    running.wait_created(2000)
    pid = lagging.signal("shard", 0, signal.SIGSTOP)
    with pytest.raises(AssertionError):
        wait_for(lambda: running.process.poll() is not None, 25 / PATIENCE, "the import to end, which it must not")
    lagging.signal("shard", 0, signal.SIGCONT)
    assert lagging.pid_of("shard", 0) == pid
    check_whole(shop, running.end(), rows, wrong)
    shop.close()


def test_an_import_continues_after_restarts_of_the_service(lagging, tmp_path):
    shop = Shop(lagging, ("balance",))
    rows, wrong = rows_with_doubles(12000)
    running = Running(shop, write(tmp_path / "a.jsonl", jsonl(rows)))
    for part in (1, 2, 3):
        running.wait_created(part * 1500)
        lagging.kill_everything()
        with Rest(running.process.pid, 1):  # it waits for the service
            pass
        lagging.start()
        shop.client.address = lagging.http
    # Its timer may reach the shard while the first rows are decided, so that these are refused and later ones are not.
    check_whole(shop, running.end(), rows, wrong, in_order=False)
    shop.close()


@pytest.mark.parametrize("how, code", [("stop", "SHARD_UNAVAILABLE"), ("pause", "PASS_PROVIDER_UNAVAILABLE"),
                                       ("suspend", "ACCOUNT_SUSPENDED"), ("interrupt", "STOPPED")])
def test_an_aborted_import_reports_its_position(new_service, tmp_path, how, code):
    service = new_service(shards=1)
    service.expect_log(".")
    shop = Shop(service, ("balance",))
    rows = bodies(15000)
    running = Running(shop, write(tmp_path / "a.jsonl", jsonl(rows)), "--wait", "3s")
    running.wait_created(500)
    running.process.send_signal(signal.SIGSTOP)  # otherwise the import could end before the next command
    if how == "stop":
        assert service.stop() == 0
    elif how == "pause":
        service.cli("issuer", "pause")
    elif how == "suspend":
        shop.set("--suspended", "on")
    else:
        running.process.send_signal(signal.SIGINT)
    running.process.send_signal(signal.SIGCONT)
    got = running.end()
    refusal = got.refusal
    assert refusal["code"] == code and ("did not answer within --wait" in refusal["message"]) == (how == "stop"), refusal
    words = refusal["message"].replace(",", " ").split()
    line, created, failed = int(words[words.index("line") + 1]), int(words[words.index("rows") - 1]), int(
        words[words.index("failed:") - 1])
    assert line == created + failed < len(rows)
    assert (got.failed or b"").decode().count("\n") == failed
    if how == "stop":
        service.start()
        shop.client.address = service.http
    service.cli("issuer", "resume")
    shop.set("--suspended", "off")
    made = ids_in_order(shop)
    assert made[:created] == [row["pass_id"] for row in rows[:created]] or failed
    if how in ("interrupt", "suspend", "pause"):
        assert len(made) == created
    # Imports the rest: rows that failed, and rows that were not tried.
    rest = write(tmp_path / "rest.jsonl", (got.failed or b"").decode() + jsonl(rows[line:]))
    again = run(shop, rest)
    assert sorted(ids_in_order(shop)) == sorted(row["pass_id"] for row in rows)
    assert again.counts["created"] + created >= len(rows) - failed
    shop.close()


@pytest.fixture
def small_disk(tmp_path):
    disk = Disk("tmpfs", tmp_path / "disk", 1)
    try:
        yield disk.mount()
    except NotPermitted as reason:
        pytest.skip(str(reason))
    finally:
        disk.unmount()


def test_a_disk_that_is_full_for_the_rows_that_failed(new_service, small_disk):
    """What is there can be imported as it is, and the message says how much that is."""
    shop = Shop(new_service(shards=1), ("balance",))
    rows = [{"pass_id": f"f{i}", "visible": {"nme" if i % 2 else "name": "Ada " * 5}} for i in range(12000)]
    path = write(small_disk.at / "a.jsonl", jsonl(rows))
    got = run(shop, path)
    message, count = got.refusal["message"], got.failed.count(b"\n")
    assert got.refusal["code"] == "STORAGE_FULL" and "No space left on device" in message, message
    assert f"FILE.failed has the first {count} of the rows that failed." in message and count > 100, message
    assert got.failed.decode() == jsonl([row for row in rows if "nme" in row["visible"]][:count])
    shop.close()


@pytest.mark.parametrize("how", ["cut", "rewritten"])
def test_a_file_that_changes_while_it_is_imported(new_service, tmp_path, how):
    """No pass is made of two contents."""
    shop = Shop(new_service(shards=1), ("balance",))
    rows = bodies(60000)
    path = write(tmp_path / "a.jsonl", jsonl(rows))
    running = Running(shop, path)
    running.wait_created(500)
    running.process.send_signal(signal.SIGSTOP)
    if how == "cut":
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size * 2 // 3 + 7)
    else:
        write(path, jsonl(bodies(60000, prefix="other")))
    running.process.send_signal(signal.SIGCONT)
    refusal = running.end().refusal
    assert refusal["code"] == "RESOURCE_CONFLICT" and "The file was changed while it was imported" in refusal["message"], refusal
    made = ids_in_order(shop)
    assert made == [row["pass_id"] for row in rows[:len(made)]], "of the first content alone"
    shop.close()


def test_an_interrupted_import_settles_its_outstanding_rows(lagging, tmp_path):
    """The shard is killed with outstanding rows just before Ctrl-C. The import sends them again until it has their
    results."""
    shop = Shop(lagging, ("balance",))
    rows = bodies(15000)
    running = Running(shop, write(tmp_path / "a.jsonl", jsonl(rows)), "--wait", "60s")
    for part in (1, 2, 3):
        running.process.send_signal(signal.SIGCONT)
        running.wait_created(part * 1500)
        old = lagging.signal("shard", 0, signal.SIGKILL)
        running.process.send_signal(signal.SIGSTOP)
        lagging.await_successor("shard", 0, old)
    running.process.send_signal(signal.SIGINT)
    running.process.send_signal(signal.SIGCONT)
    got = running.end()
    assert got.refusal["code"] == "STOPPED"
    words = got.refusal["message"].replace(",", " ").split()
    line, created = int(words[words.index("line") + 1]), int(words[words.index("rows") - 1])
    lost = (got.errors or b"").decode().count("OUTCOME_UNKNOWN")
    assert lost == 0, "a result stayed unknown although the shard was running"
    assert line == created + (got.failed or b"").decode().count("\n") < len(rows)
    assert shop.list("?limit=1")[1] == created
    assert lagging.cli("verify")["ok"]
    shop.close()


def failed_ids(got):
    return [json.loads(line)["pass_id"] for line in (got.failed or b"").decode().splitlines()]


def check_conflicts(got):
    assert all("RESOURCE_CONFLICT" in line for line in (got.errors or b"").decode().splitlines())


def test_two_concurrent_imports_of_the_same_rows(lagging, tmp_path):
    """Each row is created by one import and fails with a conflict in the other."""
    shop = Shop(lagging, ("balance",))
    rows = bodies(8000)
    both = [Running(shop, write(tmp_path / f"{name}.jsonl", jsonl(rows))) for name in "ab"]
    for part in (1, 2, 3):
        both[0].wait_created(part * 1500)
        lagging.await_successor("shard", 0, lagging.signal("shard", 0, signal.SIGKILL))
    a, b = (running.end() for running in both)
    for got in (a, b):
        assert got.counts["created"] + got.counts["failed"] == len(rows)
        check_conflicts(got)
    assert sorted(failed_ids(a) + failed_ids(b)) == sorted(row["pass_id"] for row in rows)
    assert shop.list("?limit=1")[1] == a.counts["created"] + b.counts["created"] == len(rows)
    assert lagging.cli("verify")["ok"]
    shop.close()


class Rival(threading.Thread):
    """A client that creates passes with the import's ids, beginning at the end of the file. It repeats each request
    until it is answered."""

    def __init__(self, shop, rows):
        super().__init__()
        self.shop, self.rows, self.made, self.ended = shop, rows, [], threading.Event()
        self.start()

    def run(self):
        with Client(self.shop.service.http, self.shop.key) as client:
            for row in reversed(self.rows):
                if self.ended.is_set():
                    break
                if self.create(client, row):
                    self.made.append(row["pass_id"])

    def create(self, client, row):
        while True:
            client.address = self.shop.service.http
            try:
                answer = client.post("/v1/passes", row, headers={"Idempotency-Key": row["pass_id"]})
            except (OSError, HTTPException):
                continue
            if answer.status < 500 and answer.status != 429:
                return answer.status == 201


@pytest.mark.parametrize("victim", ["shard", "everything"])
def test_a_client_that_creates_the_same_passes_during_an_import(lagging, tmp_path, victim):
    shop = Shop(lagging, ("balance",))
    rows = bodies(12000)
    running, rival = Running(shop, write(tmp_path / "a.jsonl", jsonl(rows))), Rival(shop, rows)
    try:
        for part in (1, 2):
            running.wait_created(part * 3000)
            if victim == "shard":
                lagging.await_successor("shard", 0, lagging.signal("shard", 0, signal.SIGKILL))
            else:
                lagging.kill_everything()
                lagging.start()
                shop.client.address = lagging.http
        got = running.end()
    finally:
        rival.ended.set()
        rival.join()
    assert rival.made, "the client created no pass"
    assert got.counts == {"created": len(rows) - len(failed_ids(got)), "failed": len(failed_ids(got))}
    check_conflicts(got)
    assert sorted(failed_ids(got)) == sorted(rival.made)
    assert sorted(ids_in_order(shop)) == sorted(row["pass_id"] for row in rows)
    assert lagging.cli("verify")["ok"]
    shop.close()


def test_an_import_evicts_no_idempotency_keys_of_clients(new_service, tmp_path):
    """An import also uses idempotency keys. They have their own limit and evict no client's key."""
    service = new_service(shards=1, options=["--idempotency-keys", "3"])
    shop = Shop(service, ("balance",))
    first = [(f"c{number}", is_first(create(shop, f"c{number}", f"key-{number}"), 201)) for number in range(3)]
    assert run(shop, write(tmp_path / "a.jsonl", jsonl(bodies(3000)))).counts == {"created": 3000, "failed": 0}
    for number, (pass_id, answer) in enumerate(first):
        is_replay_of(answer, create(shop, pass_id, f"key-{number}"))
    is_first(create(shop, "c3", "key-3"), 201)  # evicts the oldest of three
    for number in (1, 2):
        is_replay_of(first[number][1], create(shop, f"c{number}", f"key-{number}"))
    assert service.stop() == 0
    dumped = service.run("table", "dump", service.data / "shards" / "0", "idempotency").stdout.splitlines()
    assert 3 < len(dumped) <= 3 + 512, "as many import keys as rows in flight"
    shop.close()
