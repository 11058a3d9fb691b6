"""journal dump, table dump: the contents of a stopped directory as lines of JSON, without secrets and without changing
it. Damage is reported as a line. A reader that closes the pipe is no error."""
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest
from entitlements import assign, try_redeem
from harness import ROOT, Service
from hooks import try_subscribe
from rewards import offer
from rules import put_rule
from scans import scan
from shop import Shop, new_id
from test_verify import SEGMENT_1, SEGMENT_2, flip, records_in, tree

TABLES = re.findall(r'^T\(\d+, \w+, "(\w+)"', (ROOT / "store/tables.def").read_text(), re.M)
URL, QUERY = "https://hooks.example.com/in", "?token=receivers-put-secrets-here"
NOT_FILLED = {"pass_pictures", "long_text", "issuing", "template_images", "image", "image_shape", "image_url", "image_use", "shape_due", "cleanup", "delivery", "delivery_end",
              "rule_fired", "expiry", "wallet_credential", "registration", "registration_device", "wallet_due", "wallet_message", "wallet_class", "wallet_google"}


class Left:
    """A directory left by a service, and the secrets that it gave out."""

    def __init__(self, way):
        self.way = way
        self.service = Service(shards=1).start()
        self.shop = Shop(self.service, functions=("--webhooks", "--rewards"))
        self.secrets = [self.shop.key, self.shop.key.rsplit("_", 1)[1]]
        self.ids = [new_id("dump") for _ in range(5)]
        for pass_id in self.ids:
            made = self.shop.create(pass_id)
            self.secrets.append(made["download_url"].rsplit("/", 1)[1])
            self.shop.add(pass_id, 7)
        self.fill()
        hook = try_subscribe(self.shop, URL + QUERY, headers={"Idempotency-Key": "kept-one"})
        self.secrets += [hook.json["secret"], QUERY]
        self.shop.close()
        self.service.stop() if way == "stopped" else self.service.kill_everything()
        key = (self.service.data / "master.key").read_bytes()
        hashes = [hashlib.sha256(text.encode()).hexdigest() for text in (*self.secrets, "kept-one")]
        self.secrets += [*hashes, key.hex(), "kept-one"]

    def fill(self):
        """Creates a row in nearly every table."""
        first, account, cli = self.ids[0], self.shop.account, self.service.cli
        put_rule(self.shop, "scan.created")
        given = assign(self.shop, first, offer(self.shop, redemption_allowance=2)["slug"])
        assert try_redeem(self.shop, first, given).status == 200
        scan(self.shop, first, reader_id="till")
        cli("scan", "delete", account, scan(self.shop, first)["id"])  # until then both are in the ledger alone
        cli("reader", "put", account, "--id", "till", "--name", "Till")
        cli("card", "link", account, "--pass", first, "--code", "card-1")
        cli("audience", "put", account, "--name", "All", "--pass", first)
        cli("notification", "schedule", account, "--pass", first, "--message", "Hello", "--at", "2190-01-01T00:00:00Z")

    @property
    def place(self):
        return self.service.data / "shards/0"

    def run(self, *arguments):
        return self.service.run(*arguments, data=False)

    def lines(self, *arguments, damaged=0):
        """The lines of a dump. It fails in the end if some of them show damage."""
        done = self.run(*arguments)
        if damaged:
            said = json.loads(done.stderr)
            assert (done.returncode, said["code"]) == (1, "DAMAGED"), done
            assert said["message"] == f"Damage is shown in {damaged} {'line' if damaged == 1 else 'lines'}, as \"damaged\"."
        else:
            assert (done.returncode, done.stderr) == (0, ""), done
        for secret in self.secrets:
            assert secret not in done.stdout, arguments
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def both():
    made = {way: Left(way) for way in ("stopped", "killed")}
    yield made
    for one in made.values():
        assert one.service.close() == []


@pytest.fixture(params=["stopped", "killed"])
def left(both, request):
    return both[request.param]


@pytest.fixture
def whole(both):
    """A directory after a kill: the newest rows are only in the journal."""
    return both["stopped"]


def test_a_journal_is_shown_record_by_record(left):
    before = tree(left.service.data)
    lines = left.lines("journal", "dump", left.place)
    assert tree(left.service.data) == before
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0]["kind"] == "epoch" and {line["kind"] for line in lines} == {"epoch", "writes"}
    operations = [one for line in lines for one in line["operations"]]
    assert {"put", "patch"} <= {one["op"] for one in operations}
    bodies = [one["value"] for one in operations if one["table"] == "body"]
    assert [body["pass_id"] for body in bodies] == left.ids
    assert bodies[0]["token"] == {"hidden_bytes": 16}
    account = next(one for one in operations if one["table"] == "account")
    assert account["key"] == {"account": left.shop.account} and account["value"]["name"] == "Shop"
    assert not [one for one in operations if "damaged" in json.dumps(one)]


def test_a_journal_dump_can_start_at_a_record(left):
    lines = left.lines("journal", "dump", left.place)
    middle = len(lines) // 2
    assert left.lines("journal", "dump", left.place, "--from", lines[middle]["seq"]) == lines[middle:]
    assert left.lines("journal", "dump", left.place, "--from", lines[-1]["seq"] + 1) == []


def test_every_table_is_shown(left):
    before, empty = tree(left.service.data), []
    for table in TABLES:
        rows = left.lines("table", "dump", left.place, table)
        assert all(set(row) == {"table", "key", "value"} and row["table"] == table for row in rows), rows
        assert not [row for row in rows if "damaged" in json.dumps(row)], rows
        empty += [] if rows else [table]
    assert tree(left.service.data) == before
    assert set(empty) <= NOT_FILLED or left.way == "killed"


def test_rows_are_decoded(whole):
    [account] = whole.lines("table", "dump", whole.place, "account")
    assert account["key"] == {"account": whole.shop.account}
    assert account["value"]["webhooks"] is True and account["value"]["suspended"] is False
    ids = whole.lines("table", "dump", whole.place, "pass_id")
    assert sorted(row["key"]["pass_id"] for row in ids) == sorted(whole.ids)
    [hot] = whole.lines("table", "dump", whole.place, "hot")
    assert [one["balance"] for one in hot["value"]["passes"]] == [17, 7, 7, 7, 7]
    [hook] = whole.lines("table", "dump", whole.place, "subscription")
    assert hook["value"]["url"] == URL and hook["value"]["query"] == {"hidden_bytes": len(QUERY)}
    assert hook["value"]["secret"] == {"hidden_bytes": 60}
    [kept] = [row for row in whole.lines("table", "dump", whole.place, "idempotency") if row["value"]["what"] != "pass"]
    assert kept["value"]["what"] == "subscription_and_secret" and set(kept["value"]["detail"]) == {"hidden_bytes"}
    keys = whole.lines("table", "dump", whole.place, "key")
    assert [row["value"]["hash"] for row in keys] == [{"hidden_bytes": 32}]


def test_rows_are_selected_by_a_key_prefix(whole):
    rows = whole.lines("table", "dump", whole.place, "ledger")
    chosen = whole.lines("table", "dump", whole.place, "ledger", "--key", f"{whole.shop.account}/3")
    assert chosen == [row for row in rows if row["key"]["seq"] == 3] and len(chosen) == 1
    for prefix in (whole.shop.account, f"{whole.shop.account}/", ""):
        assert whole.lines("table", "dump", whole.place, "ledger", "--key", prefix) == rows
    assert whole.lines("table", "dump", whole.place, "ledger", "--key", "acc_aaaaaaaaaaaaaaaa") == []
    one = whole.lines("table", "dump", whole.place, "pass_id", "--key", f"{whole.shop.account}/{whole.ids[2]}")
    assert [row["key"]["pass_id"] for row in one] == [whole.ids[2]]


def test_rows_do_not_act_on_a_terminal(new_service):
    service, name = new_service(shards=1), "a\u202eb\u200f"
    service.cli("account", "create", "--name", name)
    assert service.stop() == 0
    for arguments in (("table", "dump", service.data / "shards/0", "account"), ("journal", "dump", service.data / "shards/0")):
        printed = service.run(*arguments, data=False).stdout
        assert r"a\u202eb\u200f" in printed and name not in printed


def test_invalid_arguments_are_named(whole):
    for arguments, named in [(("table", "dump", whole.place, "nonsense"), "Tables: meta, account"),
                             (("table", "dump", whole.place, "ledger", "--key", "acc_x"), "account/seq"),
                             (("table", "dump", whole.place, "ledger", "--key", f"{whole.shop.account}/x"), "account/seq"),
                             (("table", "dump", whole.place), "TABLE"),
                             (("table", "dump", whole.place, "ledger", "more"), "TABLE"),
                             (("table", "dump", whole.place, ""), "TABLE"),
                             (("journal", "dump"), "DIR/shards/N"), (("journal", "dump", ""), "DIR/shards/N"),
                             (("journal", "dump", whole.place, "--from", "x"), "--from SEQ")]:
        done = whole.run(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert named in done.stderr and "usage:" in done.stderr, done.stderr


def test_missing_files_are_named(whole, tmp_path):
    for arguments in (("journal", "dump", tmp_path / "none"), ("table", "dump", tmp_path / "none", "ledger"),
                      ("journal", "dump", tmp_path), ("table", "dump", tmp_path, "ledger")):
        done = whole.run(*arguments)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert json.loads(done.stderr)["code"] == "NOT_FOUND"
    assert not list(tmp_path.iterdir())


def test_a_closed_pipe_ends_a_dump_without_an_error(whole):
    read, write = os.pipe()
    os.close(read)
    for words in (["journal", "dump", whole.place], ["table", "dump", whole.place, "ledger"]):
        done = subprocess.run([whole.service.program, *words], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60,
                              check=False)
        assert (done.returncode, done.stderr) == (0, "")
    os.close(write)


def test_a_copy_of_the_directory_alone_is_enough(whole, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(whole.place, copy)
    assert whole.lines("journal", "dump", copy) == whole.lines("journal", "dump", whole.place)
    assert whole.lines("table", "dump", copy, "ledger") == whole.lines("table", "dump", whole.place, "ledger")


def test_damage_is_shown_at_its_place(whole, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(whole.place, copy)
    segment = copy / SEGMENT_1[len("shards/0/"):]
    records = records_in(segment)
    sound = whole.lines("journal", "dump", copy)
    flip(segment, records[4] + 95)
    lines = whole.lines("journal", "dump", copy, damaged=1)
    assert [line for line in lines if "seq" in line] == [line for line in sound if line["offset"] != records[4]]
    [damage] = [line for line in lines if "damaged" in line]
    assert (damage["segment"], damage["offset"]) == (1, records[4])
    flip(segment, records[4] + 95)
    flip(segment, records[-1] + 95)
    lines = whole.lines("journal", "dump", copy)
    assert "unfinished" in lines[-1] and lines[-1]["offset"] == records[-1]
    os.truncate(segment, records[4] + 100)
    lines = whole.run("journal", "dump", copy).stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines if '"seq"' in line][:4] == [1, 2, 3, 4]
    whole.lines("journal", "dump", copy, damaged=sum("damaged" in json.loads(line) for line in lines))


def test_a_missing_or_unreadable_segment_is_shown(left, tmp_path):
    """What can be read is shown. A first segment may be missing only where a snapshot has what was in it."""
    copy = tmp_path / "copy"
    shutil.copytree(left.place, copy)
    one, two = copy / SEGMENT_1[len("shards/0/"):], copy / SEGMENT_2[len("shards/0/"):]
    sound = left.lines("journal", "dump", copy)
    two.rename(tmp_path / "two")
    two.mkdir()
    lines = left.lines("journal", "dump", copy, damaged=1)
    assert lines == [*sound, {"segment": 2, "damaged": "not a file"}]
    two.rmdir()
    os.mkfifo(two)
    assert left.lines("journal", "dump", copy, damaged=1) == lines
    two.unlink()
    (tmp_path / "two").rename(two)
    one.unlink()
    missing = {"segment": 1, "damaged": "missing, and no snapshot has what was before"}
    assert left.lines("journal", "dump", copy, damaged=1) == [missing]


def test_damaged_tables_do_not_crash_the_command(whole, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(whole.place, copy)
    content = (copy / "db/data.mdb").read_bytes()
    at = content.rindex(b"Shop")
    flip(copy / "db/data.mdb", at)
    [row] = whole.lines("table", "dump", copy, "account", damaged=1)
    assert row["damaged"] == "its checksum does not hold"
    os.truncate(copy / "db/data.mdb", 3 * 4096)
    done = whole.run("table", "dump", copy, "ledger")
    assert done.returncode == 1 and json.loads(done.stderr.splitlines()[-1])["code"] == "DAMAGED", done


def test_a_served_directory_is_refused(own):
    data = own.service.data
    for words in (["journal", "dump", data / "shards/0"], ["table", "dump", data / "shards/0", "account"]):
        done = own.service.run(*words, data=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert json.loads(done.stderr)["code"] == "LOCKED" and "running service" in done.stderr


def test_a_directory_that_is_no_shards_is_named(own, tmp_path):
    own.service.cli("backup", tmp_path / "backup")
    (tmp_path / "empty").mkdir()
    for words, place, text in [
        (["journal", "dump"], own.service.data, "is not the directory of a shard: give DIR/shards/N"),
        (["journal", "dump"], tmp_path / "empty", "is not the directory of a shard"),
        (["journal", "dump"], tmp_path / "gone", "There is no directory"),
        (["journal", "dump"], tmp_path / "backup/shards/0", "There is no journal in"),
    ]:
        done = own.service.run(*words, place, data=False)
        error = json.loads(done.stderr)
        assert (done.returncode, error["code"]) == (1, "NOT_FOUND") and text in error["message"], error
        assert f"`{place}`"[:90] in error["message"], error
    for place in (own.service.data, tmp_path / "backup"):
        done = own.service.run("table", "dump", place, "account", data=False)
        assert done.returncode == 1 and "is not the directory of a shard" in done.stderr, done


def test_a_backup_is_shown(own, tmp_path):
    pass_id = own.create(new_id("dump"))["id"]
    own.service.cli("backup", own.service.home / "copy")
    done = own.service.run("table", "dump", own.service.home / "copy/shards/0", "pass_id", data=False)
    assert json.loads(done.stdout)["key"]["pass_id"] == pass_id
    assert (done.returncode, done.stderr) == (0, "")
