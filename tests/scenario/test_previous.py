"""A directory and a backup as an older program has left them: the directory is refused by one sentence and stays as it is, or is
read and goes on; the backup is restored, and everything is there.

previous.tar.xz and previous_read.tar.xz are made by make_previous, each with the program of the last commit that wrote the
version.
"""
import json
import struct
import tarfile
from pathlib import Path
from types import SimpleNamespace

import places
import pytest
from harness import refusal
from scans import list_scans, scan
from shop import Shop, path_of

FIXTURE = Path(__file__).with_name("previous.tar.xz")
READ = FIXTURE.with_name("previous_read.tar.xz")
TO_DO = "back up the data directory with the program that wrote it, and restore that backup with this one"
IDENTITY = f"identity has format version 4, this program knows 7: {TO_DO}"
SEGMENT = f"journal/00000000000000000001.seg has format version 1, this program knows 2: {TO_DO}"


class Previous:
    def __init__(self, service, fixture=FIXTURE):
        with tarfile.open(fixture) as archive:
            archive.extractall(service.home)
        self.service = service
        self.backup = service.home / "backup"
        self.facts = json.loads((service.home / "facts.json").read_text())
        self.before = places.tree(service.data)

    @property
    def place(self):
        return places.shard(self.service)

    def is_unchanged(self):
        return places.difference(self.before, places.tree(self.service.data)) == []


@pytest.fixture
def previous(new_service):
    return Previous(new_service(start=False, shards=1))


@pytest.fixture
def believed(previous):
    """The identity is of this version, as if a file of another directory had been put there by hand."""
    places.set_identity(previous.service, version="7")
    previous.before = places.tree(previous.service.data)
    return previous


def faults_of(service):
    done = service.run("verify")
    assert done.returncode == 1 and json.loads(done.stderr)["code"] == "DAMAGED", done
    return json.loads(done.stdout)["faults"]


def refusal_of(service, *arguments, **options):
    done = service.run(*arguments, **options)
    assert (done.returncode, done.stdout) == (1, ""), done
    return json.loads(done.stderr)


def test_a_start_is_refused(previous):
    line = places.refusal(previous.service)
    assert "event=bad_data_directory" in line and "file=identity code=UNSUPPORTED" in line and f'reason="{IDENTITY}"' in line
    assert previous.is_unchanged()


def test_verify_says_so(previous):
    assert faults_of(previous.service) == [IDENTITY]
    assert previous.is_unchanged()


@pytest.mark.parametrize("command", [("status",), ("account", "list"), ("backup",), ("adopt",)])
def test_commands_say_so(previous, tmp_path, command):
    arguments = [*command, tmp_path / "backup"] if command == ("backup",) else command
    refused = refusal_of(previous.service, *arguments)
    assert refused["code"] == "UNSUPPORTED" and IDENTITY in refused["message"], refused
    assert previous.is_unchanged() and not list(tmp_path.iterdir())


def test_a_journal_is_not_shown(previous):
    refused = refusal_of(previous.service, "journal", "dump", previous.place, data=False)
    assert refused == {"code": "UNSUPPORTED", "message": SEGMENT}
    assert previous.is_unchanged()


def test_tables_are_shown(previous):
    """Their layout is the same; only the row that says how far they are has no version."""
    done = previous.service.run("table", "dump", previous.place, "account", data=False)
    assert (done.returncode, done.stderr) == (0, "")
    [row] = [json.loads(line) for line in done.stdout.splitlines()]
    assert row["key"] == {"account": previous.facts["account"]}
    assert previous.is_unchanged()


# Where the identity does not say it

def test_a_start_finds_it_in_the_journal(believed):
    line = places.refusal(believed.service)
    assert "event=store_refused" in line and f'code=UNSUPPORTED what="{SEGMENT}"' in line
    assert believed.is_unchanged()


def test_verify_finds_it_in_the_journal(believed):
    assert faults_of(believed.service) == [f"shard 0: {SEGMENT}"]
    assert believed.is_unchanged()


# The backup

def restored(previous, new_service):
    service = new_service(start=False, shards=1)
    service.cli("restore", "--from", previous.backup)
    return service


def holds(service, facts):
    client = service.client(facts["key"])
    found = {pass_id: client.get(path_of(pass_id)).json["balance"] for pass_id in facts["balances"]}
    client.close()
    return found == facts["balances"]


def test_its_backup_is_restored_and_goes_on(previous, new_service, tmp_path):
    service = restored(previous, new_service)
    assert service.cli("verify")["ok"]
    service.start()
    assert holds(service, previous.facts)
    shop = Shop(service)
    shop.add(shop.create("new")["id"], 3)
    shop.close()
    service.cli("backup", tmp_path / "again")
    service.kill_everything()
    service.start()
    assert holds(service, previous.facts)
    assert service.stop() == 0
    assert service.cli("verify")["ok"]
    again = new_service(start=False, shards=1)
    again.cli("restore", "--from", tmp_path / "again")
    again.start()
    assert holds(again, previous.facts)


# Of a version that is read

def test_a_directory_of_version_6_goes_on(new_service):
    """It has no recent scans."""
    service = new_service(start=False, shards=1)
    facts = Previous(service, READ).facts
    service.start()
    assert (service.data / "identity").read_text().startswith("stampede-data=7\n")
    shop = SimpleNamespace(client=service.client(facts["key"]))
    assert holds(service, facts)
    assert [one["id"] for one in list_scans(shop, limit=100, sort_dir="asc")[0]] == facts["scans"]
    made = facts["scans"] + [scan(shop, "second", reader_id=reader)["id"] for reader in ("till", "gate-0", "new")]
    assert [one["id"] for one in list_scans(shop, limit=100, sort_dir="asc")[0]] == made
    for gone in (made.pop(), made.pop(66)):
        service.cli("scan", "delete", facts["account"], gone)
    assert [one["id"] for one in list_scans(shop, limit=100, sort_dir="asc")[0]] == made
    assert service.cli("verify")["ok"] is True
    shop.client.close()


# Of versions that are not known yet

def set_line(file, version):
    kind, rest = file.read_text().split("=", 1)
    body = rest.split("\n", 1)[1].rsplit("crc=", 1)[0]
    text = f"{kind}={version}\n{body}"
    file.write_text(f"{text}crc={places.crc32c(text.encode()):08x}\n")


@pytest.mark.parametrize("version,todo", [(2, "restore this backup with the program that wrote it"),
                                          (4, "use the program that wrote it, or a newer one")])
def test_a_backup_of_another_version(previous, new_service, version, todo):
    set_line(previous.backup / "manifest", version)
    service = new_service(start=False, shards=1)
    refused = refusal(service.cli, "restore", "--from", previous.backup)
    assert refused.code == "UNSUPPORTED"
    assert refused.message == f"The backup's manifest has format version {version}, this program knows 3: {todo}."
    assert not service.data.exists()


def test_a_backup_with_a_snapshot_of_another_version(previous, new_service):
    set_line(previous.backup / "shards/0/manifest", 2)
    service = new_service(start=False, shards=1)
    refused = refusal(service.cli, "restore", "--from", previous.backup)
    assert refused.code == "UNSUPPORTED"
    assert "shards/0/manifest has format version 2, this program knows 1: use the program" in refused.message
    assert not service.data.exists()


def set_snapshot(service):
    [manifest] = (places.shard(service) / "snapshots").glob("*/manifest")
    set_line(manifest, 2)


def set_segment(service):
    segment = places.segments(service)[-1]
    with open(segment, "r+b") as file:
        head = bytearray(file.read(48))
        struct.pack_into("<I", head, 8, 3)
        file.seek(0)
        file.write(head + struct.pack("<I", places.crc32c(head)))


def set_mark(service):
    places.set_trust(service, **{"stampede-trust": "2"})


NEWER = {"snapshot": (set_snapshot, "/manifest has format version 2, this program knows 1"),
         "segment": (set_segment, ".seg has format version 3, this program knows 2"),
         "mark": (set_mark, "trust has format version 2, this program knows 1")}


@pytest.mark.parametrize("what", NEWER)
def test_a_part_of_a_newer_version(previous, new_service, what):
    service = restored(previous, new_service)
    service.start()
    assert service.stop() == 0
    change, words = NEWER[what]
    change(service)
    places.refuses(service, f"event=store_refused .*code=UNSUPPORTED what=.*{words}: use the program that wrote it")
    before = places.tree(service.data)
    [fault] = faults_of(service)
    assert words in fault and places.difference(before, places.tree(service.data)) == []


