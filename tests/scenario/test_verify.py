"""verify: it finds no fault in a sound directory, served or not, and changes nothing. It reports any changed byte that
matters, with its place."""
import hashlib
import json
import os
import shutil
import signal
import threading
from contextlib import closing

import pytest
from harness import Service, refusal, wait_for
from hooks import subscribe
from shop import Shop, new_id

RECORD = b"STRC"
SHARD = "shards/0"
SEGMENT_1 = SHARD + "/journal/00000000000000000001.seg"
SEGMENT_2 = SHARD + "/journal/00000000000000000002.seg"


def tree(root):
    """All entries: names, contents and times."""
    found = {}
    for path in sorted(root.rglob("*")):
        stat = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(root))] = (stat.st_mode, stat.st_size, stat.st_mtime_ns, content)
    return found


def faults_of(service):
    """Runs verify, which must find faults. Returns them."""
    done = service.run("verify")
    assert done.returncode == 1, done.stdout
    answer = json.loads(done.stdout)
    assert answer["ok"] is False and answer["faults"], answer
    assert json.loads(done.stderr)["code"] == "DAMAGED"
    return answer["faults"]


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x10]))


def records_in(segment):
    """The offsets of the records of a segment."""
    content = segment.read_bytes()
    return [at for at in range(4096, len(content), 4096) if content[at:at + 4] == RECORD]


def fill(service, passes=60):
    shop = Shop(service)
    for _ in range(passes):
        pass_id = new_id("verify")
        shop.create(pass_id)
        shop.add(pass_id, 7)
    shop.close()


@pytest.fixture(scope="module")
def left():
    """Directories after a clean stop and after a kill, each with a snapshot and later journal records."""
    services = {}
    for way in ("stopped", "killed"):
        service = Service(shards=1).start()
        fill(service)
        assert service.cli("verify")["ok"]
        fill(service, 20)
        service.stop() if way == "stopped" else service.kill_everything()
        service.kept = copy_of(service, service.home / "kept")
        services[way] = service
    yield services
    for service in services.values():
        assert service.close() == []


@pytest.fixture
def damaged(left):
    """damaged(way) returns that directory for damage. The clean-shutdown marker identifies the file of the tables, so a
    copy would not be trusted. At the end of the test every file is restored."""
    taken = []

    def take(way):
        taken.append(left[way])
        return left[way]

    yield take
    for service in taken:
        for path in service.kept.rglob("*"):
            target = service.data / path.relative_to(service.kept)
            if path.is_file() and (not target.exists() or target.read_bytes() != path.read_bytes()):
                with open(target, "r+b" if target.exists() else "wb") as file:
                    file.write(path.read_bytes())
                    file.truncate()
        assert service.cli("verify")["ok"], "the file was not restored"


def copy_of(service, to):
    shutil.copytree(service.data, to, ignore=shutil.ignore_patterns("run"))
    return to


# Sound directories


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_a_sound_directory_has_no_fault_and_is_not_changed(left, way):
    service = left[way]
    before = tree(service.data)
    answer = service.cli("verify")
    assert tree(service.data) == before
    shard, = answer["shards"]
    assert answer == {"ok": True, "shards": [shard], "faults": []}
    assert {"index": 0, "ok": True, "snapshots": 1, "tables": True, "faults": []}.items() <= shard.items()
    assert shard["seq"] == shard["records"] and shard["segments"] >= 2
    if way == "stopped":
        assert (shard["accounts"], shard["passes"], shard["ledger_rows"]) == (2, 80, 240)
    else:  # the tables may lack all of the second filling, which is in the journal
        assert shard["accounts"] == 2 or (shard["accounts"], shard["passes"], shard["ledger_rows"]) == (1, 60, 180)
        assert 60 <= shard["passes"] <= 80 and 180 <= shard["ledger_rows"] <= 240
    assert shard["rows"] > shard["ledger_rows"] + 2 * shard["passes"]


def test_a_served_directory_has_no_fault_under_load(new_service):
    service = new_service()
    over = threading.Event()
    failures = []

    def load():
        try:
            while not over.is_set():
                fill(service, 3)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: failures or sum(one["passes"] for one in service.status()["shards"]) > 30, 20, "some load")
        answers = [service.cli("verify") for _ in range(4)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert failures == []
    for answer in answers:
        assert answer["ok"] and answer["faults"] == []
        assert [shard["index"] for shard in answer["shards"]] == [0, 1]
    assert sum(one["passes"] for one in answers[-1]["shards"]) >= 30
    passes = sum(one["passes"] for one in service.status()["shards"])
    assert sum(one["passes"] for one in service.cli("verify")["shards"]) == passes
    service.stop()
    assert sum(one["passes"] for one in service.cli("verify")["shards"]) == passes


def test_damage_is_found_without_disturbing_a_running_service(new_service):
    service = new_service(shards=1)
    fill(service, 20)
    assert service.cli("verify")["ok"]
    fill(service, 5)
    assert service.cli("verify")["shards"][0]["snapshots"] == 2
    segment = service.data / SEGMENT_1
    record = records_in(segment)[9]
    flip(segment, record + 50)
    assert any(fault.startswith("shard 0: journal segment 1: record 10 is damaged or missing") for fault in faults_of(service))
    flip(segment, record + 50)
    older = sorted((service.data / SHARD / "snapshots").iterdir())[0]
    flip(older / "data.mdb", 9000)
    assert faults_of(service) == [f"shard 0: snapshot {int(older.name)}: data.mdb is missing, or not the bytes that its "
                                  "manifest tells"]
    flip(older / "data.mdb", 9000)
    assert service.cli("verify")["ok"]
    fill(service, 2)
    assert service.status()["shards"][0]["passes"] == 27


def test_after_another_boot_journal_and_snapshots_are_checked(damaged):
    service = damaged("killed")
    (service.data / SHARD / "trust").unlink()  # without the marker it is treated like one of another boot
    answer = service.cli("verify")
    assert answer["ok"] and answer["shards"][0]["tables"] is False
    assert answer["shards"][0]["passes"] == 60  # in the snapshot
    (service.data / SHARD / "snapshots").rename(service.data / SHARD / "away")
    shard = next(shard for shard in json.loads(service.run("verify").stdout)["shards"] if shard["index"] == 0)
    assert shard["passes"] is None  # nothing was counted: the next start replays the journal
    (service.data / SHARD / "away").rename(service.data / SHARD / "snapshots")


# Refusals


def test_verify_requires_a_data_directory_and_valid_arguments(new_service):
    service = new_service(start=False)
    assert refusal(service.cli, "verify").code == "NOT_FOUND"
    assert service.run("verify", "everything").returncode == 2


def test_a_directory_whose_supervisor_does_not_answer_is_locked(new_service):
    service = new_service()
    os.kill(service.process.pid, signal.SIGSTOP)
    refused = refusal(service.cli, "verify")
    os.kill(service.process.pid, signal.SIGCONT)
    assert refused.code == "LOCKED"
    assert service.cli("verify")["ok"]


def test_without_libcurl_verify_blames_no_table(new_service, tmp_path):
    service = new_service(shards=1)
    with closing(Shop(service, ("balance",), functions=("--webhooks",))) as shop:
        subscribe(shop)
    service.stop()
    (tmp_path / "libcurl.so.4").write_text("This is no library.")
    done = service.run("verify", env={**service.environment(), "LD_LIBRARY_PATH": str(tmp_path)})
    answer = json.loads(done.stderr)
    assert done.returncode == 1 and answer["code"] == "UNSUPPORTED" and "libcurl.so.4" in answer["message"], done
    assert service.cli("verify")["ok"]


# Damage, by file

def snapshot_file(service, name):
    return next((service.data / SHARD / "snapshots").glob(f"*/{name}"))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("way", ["stopped", "killed"])
@pytest.mark.parametrize("file, at, want", [
    ("identity", 20, "identity: damaged"),
    (SEGMENT_1, 3, "shard 0: journal segment 1: its head or size is damaged"),
    (SEGMENT_1, 40, "shard 0: journal segment 1: its head or size is damaged"),
    (SEGMENT_2, 3, "shard 0: journal segment 2: its head or size is damaged"),
])
def test_a_changed_byte_in_a_head_is_found(damaged, way, file, at, want):
    service = damaged(way)
    flip(service.data / file, at)
    assert want in faults_of(service)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("place", range(0, 120, 9))
def test_a_changed_byte_in_any_record_is_found(damaged, place):
    service = damaged("stopped")
    segment = service.data / SEGMENT_1
    records = records_in(segment)
    number = place * (len(records) - 1) // 119
    flip(segment, records[number] + 10 + place)
    faults = faults_of(service)
    assert any(fault.startswith(f"shard 0: journal segment 1: record {number + 1} is damaged or missing, at or after byte")
               for fault in faults), faults


def test_a_missing_last_record_is_found_by_the_tables(damaged):
    service = damaged("stopped")
    segment = service.data / SEGMENT_1
    flip(segment, records_in(segment)[-1])
    assert any(fault.startswith("shard 0: tables: stands at record") for fault in faults_of(service))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name, want", [
    ("data.mdb", "data.mdb is missing, or not the bytes that its manifest tells"),
    ("manifest", "shard 0: snapshots: 1 without a manifest that can be read"),
])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.99])
def test_a_changed_byte_in_a_snapshot_is_found(damaged, name, want, part):
    service = damaged("stopped")
    path = snapshot_file(service, name)
    flip(path, int(path.stat().st_size * part))
    assert any(want in fault for fault in faults_of(service))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("part", [0.0, 0.2, 0.4, 0.6, 0.8, 0.99])
def test_a_changed_byte_in_the_tables_of_a_clean_stop_is_found(damaged, part):
    service = damaged("stopped")
    path = service.data / SHARD / "db" / "data.mdb"
    flip(path, int(path.stat().st_size * part))
    assert "shard 0: tables: db/data.mdb is not what a clean stop has left" in faults_of(service)


@pytest.mark.parametrize("text", [b"verify-", b"Shop", b'"loyalty_type"'])
def test_a_changed_row_in_the_tables_of_a_killed_shard_is_found(damaged, text):
    service = damaged("killed")
    path = service.data / SHARD / "db" / "data.mdb"
    content = path.read_bytes()
    changed = content.replace(text, bytes([text[0] ^ 1]) + text[1:])
    assert changed != content
    with open(path, "r+b") as file:
        file.write(changed)
    faults = faults_of(service)
    assert any(fault.startswith("shard 0: tables: ") for fault in faults), faults


def test_tables_of_random_bytes_do_not_crash_the_command(damaged):
    service = damaged("killed")
    path = service.data / SHARD / "db" / "data.mdb"
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xa5" * (size - 2 * 4096))
    faults = faults_of(service)
    assert any("tables" in fault for fault in faults), faults


def test_tables_that_crash_their_reader_are_reported(damaged):
    service = damaged("killed")
    with open(service.data / SHARD / "db" / "data.mdb", "r+b") as file:
        file.truncate(3 * 4096)
    faults = faults_of(service)
    assert any("the tables crash their reader" in fault for fault in faults), faults


@pytest.mark.parametrize("file, want", [
    ("master.key", "master.key: missing"),
    (SEGMENT_1, "shard 0: "),
    (SHARD + "/journal", "shard 0: journal: missing"),
    (SHARD, "shard 0: its directory shards/0 is missing"),
    ("identity", "identity: missing"),
])
def test_missing_files_are_reported(left, new_service, tmp_path, file, want):
    service = new_service(start=False)
    copy_of(left["stopped"], service.data)
    path = service.data / file
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert any(fault.startswith(want) for fault in faults_of(service)), faults_of(service)


def test_a_missing_segment_in_the_middle_is_reported(left, new_service):
    service = new_service(start=False)
    copy_of(left["stopped"], service.data)
    (service.data / SEGMENT_2).rename(service.data / SEGMENT_2.replace("2.seg", "4.seg"))
    assert any(fault.startswith("shard 0: journal: 2 segments are missing") for fault in faults_of(service))


def test_a_changed_clean_shutdown_marker_is_reported(damaged):
    service = damaged("stopped")
    flip(service.data / SHARD / "trust", 45)
    assert "shard 0: trust: the mark is damaged" in faults_of(service)
