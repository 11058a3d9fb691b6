"""A data directory that was copied, restored with other tools, lost a part, or has another directory's part; another
boot, clock, version or user.

In each case everything acknowledged is served, or the start fails with status 1 and a line that names the fault, and
changes no byte.
"""
import os
import re
import shutil
import subprocess
from datetime import datetime

import places
import pytest
from clocks import DAY_SECONDS, ClockService
from crowd import DECIDED, Crowd
from harness import wait_for
from metrics import look
from origins import Origin, holds_everything
from patience import PATIENCE
from shop import Shop, new_id, path_of

pytestmark = pytest.mark.plain

NOBODY = 65534


@pytest.fixture(scope="module")
def origin():
    made = Origin(shards=1, runs=3)
    yield made
    made.close()


@pytest.fixture
def moved(origin, new_service):
    return origin.copied(new_service)


def was_rebuilt(service):
    return [line for line in service.log_lines() if "event=store_open" in line and "rebuilt=1" in line]


# Copies and renames

@pytest.mark.parametrize("how", [places.copy, places.copy_by_tar])
def test_a_copied_directory(origin, new_service, how):
    service = new_service(start=False, shards=1)
    how(origin.service.data, service.data)
    holds_everything(origin, service)


def test_a_renamed_directory(origin, moved):
    moved.start()
    assert moved.stop() == 0
    other = moved.home / "elsewhere"
    moved.data.rename(other)
    moved.data = other
    holds_everything(origin, moved)


def starts_or_is_refused(service, words):
    """True if it serves. A refusal must name one of the words."""
    service.expect_log("level=(warn|fatal)")
    service.start(wait=False)
    process = service.process
    wait_for(lambda: process.poll() is not None or service.out_path.read_text(), 30, "a word")
    if process.poll() is None:
        service.wait_ready()
        return True
    service.process = None
    assert process.returncode == 1
    assert any("level=fatal" in line and re.search(words, line) for line in service.log_lines()), service.log_tail()
    return False


def test_a_directory_copied_while_it_is_served(new_service):
    """Everything acknowledged before the copy began is in it, or the copy is refused. It never misses only the newest
    changes."""
    service = new_service(shards=1)
    with Crowd(service) as crowd:
        crowd.await_deltas(200)
        crowd.look()
        known, crowd.by_shard = crowd.books[:], {}
        with Crowd(service) as load:
            load.await_deltas(100)
            for _ in range(3):
                copied = new_service(start=False, shards=1)
                places.copy(service.data, copied.data, is_served=True)
                if starts_or_is_refused(copied, "acknowledged|journal"):
                    crowd.turn_to(copied)
                    crowd.look(lists=True)
                    assert known == crowd.books
                copied.close()
            load.look_settled()


def test_a_copy_can_be_served_at_the_same_time(origin, moved, new_service):
    other = new_service(start=False, shards=1)
    places.copy(origin.service.data, other.data)
    moved.start()
    other.start()
    for service in (moved, other):
        origin.crowd.turn_to(service)
        origin.crowd.look(lists=True)


# Parts that may be missing

def remove_directory(*parts):
    return lambda service: shutil.rmtree(service.data.joinpath(*parts))


def remove_file(*parts):
    return lambda service: service.data.joinpath(*parts).unlink()


def write_file(*parts, text="rubbish"):
    def write(service):
        service.data.joinpath(*parts).parent.mkdir(exist_ok=True)
        service.data.joinpath(*parts).write_text(text)
    return write


def remove_blank_segment(service):
    blank = [segment for segment in places.segments(service) if places.is_blank(segment)]
    assert len(blank) == 1 and blank[0] == places.segments(service)[-1]
    blank[0].unlink()


def another_boot(service):
    places.set_trust(service, state="open", boot="01234567-89ab-cdef-0123-456789abcdef",
                     device=os.stat(places.shard(service) / "db/data.mdb").st_dev,
                     inode=os.stat(places.shard(service) / "db/data.mdb").st_ino)


HARMLESS = {
    "no-sockets": remove_directory("run"),
    "no-tables": remove_directory("shards", "0", "db"),
    "no-data-mdb": remove_file("shards", "0", "db", "data.mdb"),
    "no-mark": remove_file("shards", "0", "trust"),
    "rubbish-as-mark": write_file("shards", "0", "trust"),
    "another-boot": another_boot,
    "stale-lock": write_file("lock", text="4711\n"),
    "stale-shard-lock": write_file("shards", "0", "lock", text="4711\n"),
    "stale-lmdb-lock": write_file("shards", "0", "db", "lock.mdb", text="4711\n"),
    "no-blank-segment": remove_blank_segment,
    "half-a-segment": write_file("shards", "0", "journal", "next.tmp"),
    "half-made-tables": write_file("shards", "0", "db.new", "data.mdb"),
    "half-a-mark": write_file("shards", "0", "trust.tmp"),
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("what", HARMLESS)
def test_an_optional_part_is_missing(origin, moved, what):
    HARMLESS[what](moved)
    holds_everything(origin, moved)


def test_tables_of_another_boot_are_not_trusted(origin, moved):
    """After a crash of the machine the tables are not known to be complete on the disk."""
    moved.start()
    moved.kill_everything()
    another_boot(moved)
    before = len(was_rebuilt(moved))
    holds_everything(origin, moved)
    assert len(was_rebuilt(moved)) == before + 1


# Parts that must not be missing

def remove_segment(number):
    """-1 names the last segment that was written to."""
    return lambda service: places.used_segments(service)[number].unlink()


def remove_last_segments(service):
    """Removes what an interrupted copy would lack: the newest records and the blank segment behind them."""
    for segment in places.segments(service)[-2:]:
        segment.unlink()


def empty_directory(*parts):
    def empty(service):
        shutil.rmtree(service.data.joinpath(*parts))
        service.data.joinpath(*parts).mkdir(mode=0o700)
    return empty


MISSING = {
    "shard": (remove_directory("shards", "0"), "shard"),
    "shards": (remove_directory("shards"), "shard"),
    "all-in-the-shard": (empty_directory("shards", "0"), "no journal"),
    "journal": (remove_directory("shards", "0", "journal"), "no journal"),
    "all-in-the-journal": (empty_directory("shards", "0", "journal"), "no journal"),
    "first-segment": (remove_segment(0), "first segments are missing"),
    "middle-segment": (remove_segment(1), "segment is missing"),
    "last-segment": (remove_segment(-1), "segment is missing"),
    "last-two-segments": (remove_last_segments, "journal"),
    "identity": (remove_file("identity"), "identity"),
    "master-key": (remove_file("master.key"), "master.key"),
    "half-the-master-key": (write_file("master.key", text="x" * 16), "master.key"),
    "a-longer-master-key": (write_file("master.key", text="x" * 33), "master.key"),
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("what", MISSING)
def test_the_missing_part_is_named(moved, what):
    change, word = MISSING[what]
    change(moved)
    places.refuses(moved, word)


@pytest.mark.parametrize("what", MISSING)
def test_the_missing_part_is_named_where_it_was_served(origin, new_service, what):
    """The same in the original place, where the tables are trusted."""
    service = new_service(start=False, shards=1)
    places.copy(origin.service.data, service.data)
    service.start()
    Shop(service, ("balance",)).close()
    assert service.stop() == 0
    change, word = MISSING[what]
    change(service)
    places.refuses(service, word)


# Parts of another directory

def test_another_directorys_journal(origin_of_two, moved):
    shutil.rmtree(places.shard(moved) / "journal")
    places.copy(places.shard(origin_of_two.service) / "journal", places.shard(moved) / "journal")
    places.refuses(moved, "another")


def test_one_segment_of_another_directory(origin_of_two, moved):
    segment = places.used_segments(moved)[1]
    shutil.copy(places.shard(origin_of_two.service) / "journal" / segment.name, segment)
    places.refuses(moved, "another", segment.name)


def test_a_segment_under_another_segments_name(moved):
    first, second, *_ = places.used_segments(moved)
    shutil.copy(first, second)
    places.refuses(moved, second.name)


# Versions, locks, users, clocks

def test_a_newer_format(origin, moved):
    places.set_identity(moved, version="8")
    places.refuses(moved, "file=identity", "UNSUPPORTED", "identity has format version 8, this program knows 7: use the program")
    places.set_identity(moved, version="7")
    holds_everything(origin, moved)


def test_an_identity_with_more_shards(moved):
    places.set_identity(moved, shards="2")
    done = moved.run(*moved.command()[1:], data=False)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "shard" in done.stderr and "level=fatal" in done.stderr
    assert not places.shard(moved, 1).exists()


def test_a_second_instance_by_another_path(moved):
    moved.start()
    name = moved.home / "another-name"
    name.symlink_to(moved.data)
    line = moved.run("serve", "--data", name, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", data=False)
    assert (line.returncode, line.stdout) == (1, ""), line
    assert "locked" in line.stderr and line.stderr.count("\n") == 1
    assert moved.is_ready()


def test_a_second_instance_after_the_lock_files_were_deleted(moved):
    """The directories are locked too, and such a lock cannot be deleted."""
    moved.start()
    shop = Shop(moved, ("balance",))
    shop.create("mine")
    shop.add("mine", 5)
    for name in ("lock", "shards/0/lock", "shards/0/db/lock.mdb"):
        (moved.data / name).unlink()
    second = moved.run("serve", "--data", moved.data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", data=False)
    assert (second.returncode, second.stdout) == (1, ""), second
    assert "locked" in second.stderr and second.stderr.count("\n") == 1
    assert moved.is_ready() and moved.cli("status")["processes"]
    shop.add("mine", 7)
    assert shop.get("mine")["balance"] == 12
    shop.close()
    moved.kill_everything()
    moved.start()
    again = moved.client(shop.key)
    assert again.get(path_of("mine")).json["balance"] == 12
    again.close()


UNREADABLE = {
    ".": "ermission", "identity": "identity", "master.key": "master.key", "lock": "ermission", "shards": "shard",
    "shards/0": "shard", "shards/0/lock": "shard", "shards/0/journal": "journal cannot be read: Permission",
    "shards/0/db": "db cannot be read: Permission",
    "shards/0/journal/00000000000000000001.seg": "journal/0{19}1.seg cannot be read: Permission",
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("path", UNREADABLE)
def test_a_part_that_the_user_may_not_read(moved, path):
    """A start and verify name it."""
    try:
        subprocess.run([moved.program, "version"], check=True, capture_output=True, user=NOBODY, group=NOBODY)
    except (PermissionError, subprocess.SubprocessError):
        pytest.skip("no other user can run the program here")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", moved.data], check=True)
    target = moved.data / path
    os.chown(target, 0, 0)
    target.chmod(0o700 if target.is_dir() else 0o600)
    places.refuses(moved, UNREADABLE[path], user=NOBODY, group=NOBODY)
    done = subprocess.run([moved.program, "verify", "--data", moved.data], capture_output=True, text=True, check=False,
                          user=NOBODY, group=NOBODY, timeout=30 * PATIENCE)
    assert done.returncode == 1 and "Permission denied" in done.stdout + done.stderr, done
    assert re.search(UNREADABLE[path], done.stdout + done.stderr), done


def millis(text):
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


@pytest.fixture
def clock_service():
    service = ClockService(shards=1)
    yield service
    assert service.close() == []


@pytest.mark.parametrize("seconds", [-DAY_SECONDS, DAY_SECONDS])
def test_a_clock_that_jumps_is_reported(clock_service, seconds):
    service = clock_service
    service.set_clock(0)
    service.start()

    def gap():
        return look(service).get("stampede_shard_clock_gap_seconds", shard="0")
    assert gap() < 2
    service.set_clock(seconds)
    wait_for(lambda: gap() > DAY_SECONDS - 60, 10, "the gap")
    (line,) = [line for line in service.log_lines() if "event=service_time_differs" in line]
    assert abs(int(re.search(r" seconds=(-?\d+) ", line)[1]) - seconds) < 60
    service.set_clock(0)
    wait_for(lambda: gap() < 60, 10, "the clocks to agree again")


def jumps():
    """An ordinary run uses every second one."""
    all_of_them = [(how, seconds) for how in ("served", "stopped", "killed") for seconds in (-DAY_SECONDS, DAY_SECONDS)]
    return [pytest.param(*one, marks=pytest.mark.slow if number % 2 else ()) for number, one in enumerate(all_of_them)]


@pytest.mark.parametrize("how,seconds", jumps())
def test_a_clock_that_jumps(clock_service, how, seconds):
    """Stored time continues from where it was: no pass and no history entry is older than its predecessor."""
    service = clock_service
    service.set_clock(0)
    service.start()
    with Crowd(service, settle_seconds=DECIDED) as crowd:
        shop = Shop(service, ("balance",))
        made = [shop.create(new_id("before"))]
        for jump in (seconds, 0):
            crowd.await_deltas()
            if how == "served":
                service.set_clock(jump)
            else:
                crowd.rest()
                service.stop() if how == "stopped" else service.kill_everything()
                service.set_clock(jump)
                service.start()
                crowd.turn_to(service)
                shop.client.address = service.http
                crowd.work()
            shop.client.close()  # after the jump the connection may count as idle for too long
            made.append(shop.create(new_id("after")))
            shop.add(made[0]["id"], 1)
            crowd.await_deltas()
        created = [millis(one["created_at"]) for one in made]
        assert created == sorted(created), created
        moments = [millis(entry["at"]) for entry in shop.history(made[0]["id"])]
        assert len(moments) >= 3 and moments == sorted(moments), moments
        newest_first = [entry["id"] for entry in shop.list()[0]]
        assert newest_first == [one["id"] for one in reversed(made)]
        shop.close()
        crowd.look_settled()
