"""Flipped bits on the disk, in every kind of byte, after a clean stop and after kill -9.

The next start must do one of two things. It refuses with one line that names the damaged file and changes nothing, or
it serves everything acknowledged. Wrong or missing data is never served.

The damage is made in place: the clean-shutdown marker identifies the file of the tables, so a copy of the tables would
not be trusted. A refused flip is reverted, and the service must then start. STAMPEDE_SEED repeats a run; STAMPEDE_FLIPS
sets the flips for each kind of byte.
"""
import os
import random
import shutil
import struct

import durability
import places
import pytest
from crowd import Crowd
from harness import Service, wait_for

pytestmark = pytest.mark.plain

FLIPS = int(os.environ.get("STAMPEDE_FLIPS", "1"))
HOW = ("stop", "kill")
NAMED = "journal|segment|record|identity|snapshot|tables|trust|version|master"
PAGE = 4096
SEGMENTS_MOST = 12
META, BRANCH, LEAF, OVERFLOW = 8, 1, 2, 4

SEGMENT_HEAD = {"magic": (0, 8), "version": (8, 4), "shard": (12, 4), "lineage": (16, 16), "number": (32, 8),
                "size": (40, 8), "sum": (48, 4), "rest of the head": (52, 4044)}
RECORD_HEAD = {"magic": (0, 4), "version": (4, 4), "segment": (8, 8), "offset": (16, 8), "durable seq": (24, 8), "sum": (32, 4),
               "inner version": (36, 1), "kind": (37, 1), "shard": (38, 2), "lineage": (40, 16), "epoch": (56, 8), "seq": (64, 8),
               "now": (72, 8), "length": (80, 4), "operations": (84, 4), "chain": (88, 4)}
RECORD_HEAD_BYTES, LENGTH_AT = 92, 80


def both_ways(table):
    """After a stop and after a kill; an ordinary run draws one of the two for each row."""
    return [pytest.param(row, how, marks=() if (number + way) % 2 == 0 else pytest.mark.slow)
            for number, row in enumerate(table) for way, how in enumerate(HOW)]


class Patient:
    """A damaged service: it may exit when it reads the damage, and is restarted."""

    def __init__(self, seed):
        print(f"damage: seed={seed} flips={FLIPS}")
        self.rng = random.Random(seed)
        self.service = Service(shards=1).start()
        self.service.expect_log("level=(warn|fatal|panic)")
        self.counts = {"served": 0, "refused": 0}
        self.in_doubt = False
        self.changed = []  # by refused starts
        with Crowd(self.service, workers=3) as self.crowd:
            for _ in range(2):
                self.crowd.await_deltas(60)
                self.crowd.rest()
                assert self.service.stop() == 0
                self.service.start()
                self.crowd.turn_to(self.service)
                self.crowd.work()
            self.crowd.await_deltas(60)
        self.book = self.crowd.books[0]

    @property
    def place(self):
        return places.shard(self.service)

    def end(self, how):
        """Ends the service once all acknowledged changes are in the tables."""
        if how == "stop":
            assert self.service.stop() == 0
        else:
            wait_for(self.is_quiet, 5, "the tables to hold every change")
            self.service.kill_everything()

    def begin(self):
        self.service.start()
        self.crowd.turn_to(self.service)

    def is_quiet(self):
        """Waits for commits: lists read only committed data."""
        self.book.shop.client.close()
        return self.book.shop.list("?limit=1")[1] == sum(one.exists for one in self.book.passes.values())

    def examine(self, what, undo):
        """Starts the service after the damage. It must serve everything or name the damage; `undo` then repairs the
        file."""
        before = places.tree(self.service.data)
        self.in_doubt = True
        self.service.start(wait=False)
        process = self.service.process
        wait_for(lambda: process.poll() is not None or self.service.out_path.read_text(), 30, f"a log line about {what}")
        if process.poll() is None:
            self.service.wait_ready()
            self.serves(what)
            self.counts["served"] += 1
            self.in_doubt = False
            return "served"
        assert process.returncode == 1, f"{what}: serve ended with {process.returncode}"
        self.service.process = None
        changed = places.difference(before, places.tree(self.service.data))
        if changed:
            self.changed.append(f"{what}: refused, but changed {changed}")
        said = [line for line in self.service.log_lines() if "level=fatal" in line and "start_failed" not in line][-1]
        assert any(word in said for word in NAMED.split("|")), f"{what}: {said} names nothing"
        undo()
        self.service.start()
        self.serves(f"{what}, taken back")
        self.counts["refused"] += 1
        self.in_doubt = False
        return "refused"

    def serves(self, what):
        self.crowd.turn_to(self.service)
        wait_for(self.answers, 20, f"every pass to be answered after {what}")
        found = [*self.book.look(everything=True), *self.book.compare_list()]
        assert found == [], f"{what}: {found[:5]}"
        shop, pass_id = self.book.shop, self.rng.choice(self.book.usable)
        self.book.added(pass_id, 1, "acknowledged" if shop.try_add(pass_id, 1).status == 202 else "unknown")

    def answers(self):
        """True if no request gets a 503."""
        client = self.book.shop.client
        paths = [*(f"/v1/passes/{name}" for name in self.book.passes), "/v1/passes?limit=100"]
        return all(client.get(path).status not in (503, 504) for path in paths)

    def is_ill(self):
        """True if a new service is needed: it is not running, a test failed midway, or it has too many segments, since
        most starts add one."""
        old = len(places.segments(self.service)) > SEGMENTS_MOST
        return old or self.service.process is None or self.in_doubt

    def flip(self, file, offset, what):
        """Flips one to eight bits of one byte."""
        bits = self.rng.choice((1, 4, 128, 255))
        places.flip(file, offset, bits)
        flipped = places.byte_at(file, offset)
        what = f"{what}: {file.relative_to(self.service.data)} at {offset} ^ {bits:#x}"
        outcome = self.examine(what, lambda: places.flip(file, offset, bits))
        if outcome == "served" and "journal" in file.parts:
            self.end("stop")  # only one damage at a time: damage that has no effect now could have one after the next flip
            self.in_doubt = places.byte_at(file, offset) != flipped
            if not self.in_doubt:
                places.flip(file, offset, bits)
            self.service.start()
            self.serves(f"{what}, taken back")
        return outcome

    def close(self):
        print(f"damage: {self.counts}")
        self.service.close()


@pytest.fixture(scope="module")
def ward():
    """The service that all tests share. After a failed test it is replaced."""
    held = {"patient": None, "changed": []}
    yield held
    if held["patient"]:
        held["patient"].close()


@pytest.fixture
def patient(ward):
    if not ward["patient"] or ward["patient"].is_ill():
        if ward["patient"]:
            ward["patient"].close()
        ward["patient"] = Patient(durability.chosen_seed())
        ward["patient"].changed = ward["changed"]
    yield ward["patient"]


def in_range(rng, begin, size):
    return begin + rng.randrange(size)


# The journal

@pytest.mark.parametrize("field,how", both_ways(SEGMENT_HEAD))
def test_the_head_of_a_segment(patient, how, field):
    for which in range(FLIPS):
        patient.end(how)
        segments = places.segments(patient.service)
        segment = segments[-1 - which] if which < 2 else patient.rng.choice(segments)
        patient.flip(segment, in_range(patient.rng, *SEGMENT_HEAD[field]), f"segment head, {field}")


def choose_record(patient, which):
    """The last record, a record of the last segment, or any record."""
    used = places.used_segments(patient.service)
    segment = used[-1] if which < 2 else patient.rng.choice(used)
    offsets = places.record_offsets(segment)
    return segment, offsets[-1] if which == 0 else patient.rng.choice(offsets)


@pytest.mark.parametrize("field,how", both_ways(RECORD_HEAD))
def test_the_head_of_a_record(patient, how, field):
    for which in range(FLIPS):
        patient.end(how)
        segment, at = choose_record(patient, which)
        patient.flip(segment, in_range(patient.rng, at + RECORD_HEAD[field][0], RECORD_HEAD[field][1]),
                     f"record head, {field}")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("part", ["operations", "padding"])
def test_the_body_of_a_record(patient, how, part):
    for which in range(2 * FLIPS):
        patient.end(how)
        segment, at = choose_record(patient, which)
        with open(segment, "rb") as file:
            file.seek(at + LENGTH_AT)
            length = struct.unpack("<I", file.read(4))[0]
        end = RECORD_HEAD_BYTES + length
        whole = -(-end // PAGE) * PAGE
        if part == "operations" and length:
            patient.flip(segment, in_range(patient.rng, at + RECORD_HEAD_BYTES, length), "operations")
        elif part == "padding" and whole > end:
            patient.flip(segment, in_range(patient.rng, at + end, whole - end), "padding")
        else:
            patient.begin()


@pytest.mark.parametrize("how", HOW)
def test_a_segment_cut_short(patient, how):
    for which in (-1, -2, 0):
        patient.end(how)
        segment = places.segments(patient.service)[which]
        content = segment.read_bytes()
        os.truncate(segment, patient.rng.choice((0, 4096, len(content) // 2, len(content) - 1)))
        outcome = patient.examine(f"{segment.name} cut short", lambda s=segment, c=content: s.write_bytes(c))
        if outcome == "served":
            patient.in_doubt = True
            return


# The tables

def pages(file, kind):
    with open(file, "rb") as opened:
        data = opened.read()
    flags = [struct.unpack_from("<H", data, at + 10)[0] for at in range(0, len(data), PAGE)]
    return [number for number, flag in enumerate(flags) if flag & 15 == kind]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", [META, BRANCH, LEAF, OVERFLOW], ids=["meta", "branch", "leaf", "overflow"])
def test_pages_of_the_tables(patient, how, kind):
    for _ in range(2 * FLIPS):
        patient.end(how)
        tables = patient.place / "db" / "data.mdb"
        chosen = pages(tables, kind)
        if not chosen:
            patient.begin()
            return
        size = 160 if kind == META else PAGE
        number = patient.rng.choice(chosen)
        patient.flip(tables, in_range(patient.rng, number * PAGE, size), f"page {number} of kind {kind}")


@pytest.mark.parametrize("how", HOW)
def test_random_bytes_of_the_tables(patient, how):
    for _ in range(4 * FLIPS):
        patient.end(how)
        tables = patient.place / "db" / "data.mdb"
        patient.flip(tables, patient.rng.randrange(tables.stat().st_size), "tables")


@pytest.mark.parametrize("how", HOW)
def test_every_balance_in_the_tables_changed(patient, how):
    """The structure of the tables stays valid, so only checksums can detect the change."""
    balances = {patient.book.shop.get(name)["balance"] for name in patient.book.usable}
    patient.end(how)
    tables = patient.place / "db" / "data.mdb"
    before = tables.read_bytes()
    after = before
    for balance in balances - {0}:
        after = after.replace(struct.pack("<q", balance), struct.pack("<q", balance ^ 1 << 20))
    assert after != before
    tables.write_bytes(after)
    assert patient.examine("every balance changed", None) == "served"


@pytest.mark.parametrize("how", HOW)
def test_tables_cut_short(patient, how):
    for share in (0.0, 0.3, 0.9):
        patient.end(how)
        tables = patient.place / "db" / "data.mdb"
        os.truncate(tables, int(tables.stat().st_size * share) // PAGE * PAGE)
        assert patient.examine(f"tables cut to {share}", None) == "served"


def test_the_clean_shutdown_marker(patient):
    for _ in range(3 * FLIPS):
        patient.end(patient.rng.choice(HOW))
        mark = patient.place / "trust"
        assert patient.flip(mark, patient.rng.randrange(mark.stat().st_size), "mark of trust") == "served"


def test_the_identity(patient):
    for _ in range(3 * FLIPS):
        patient.end(patient.rng.choice(HOW))
        identity = patient.service.data / "identity"
        assert patient.flip(identity, patient.rng.randrange(identity.stat().st_size), "identity") == "refused"


def test_tables_damaged_while_they_are_served(patient):
    """The process that reads the damage exits without an answer. Its successor rebuilds the tables."""
    tables = patient.place / "db" / "data.mdb"
    for _ in range(2 * FLIPS):
        places.flip(tables, in_range(patient.rng, patient.rng.choice(pages(tables, LEAF)) * PAGE, PAGE))
    patient.serves("flips while it served")
    patient.service.restart()
    patient.serves("flips while it served, and a restart")
    patient.in_doubt = True  # a damaged byte that no request read may remain


# Snapshots

def snapshots(patient):
    return sorted((patient.place / "snapshots").glob("[0-9]*"))


def two_snapshots(patient):
    """A verification makes a snapshot and reads it. Two verifications with changes between them make two snapshots."""
    while len(snapshots(patient)) < 2:
        patient.serves("more changes")
        assert patient.service.cli("verify")["ok"]


@pytest.mark.parametrize("part", ["manifest", "data.mdb"])
def test_a_snapshot(patient, part):
    """The tables are lost as well. The older snapshot or the journal must suffice."""
    for _ in range(FLIPS):
        two_snapshots(patient)
        patient.end(patient.rng.choice(HOW))
        (patient.place / "trust").unlink()
        newest = snapshots(patient)[-1] / part
        offset = patient.rng.randrange(newest.stat().st_size)
        places.flip(newest, offset)
        assert patient.examine(f"snapshot: {newest} at {offset}", None) == "served"
        shutil.rmtree(newest.parent, ignore_errors=True)


def test_all_snapshots_and_the_tables(patient):
    """Once the journal was recycled, no complete copy is left. The start must say so and change nothing."""
    two_snapshots(patient)
    patient.end("stop")
    (patient.place / "trust").rename(patient.place / "trust.aside")
    for snapshot in snapshots(patient):
        places.flip(snapshot / "data.mdb", 4096 + patient.rng.randrange(4096))

    def undo():
        (patient.place / "trust.aside").rename(patient.place / "trust")

    patient.examine("all snapshots", undo)
    patient.in_doubt = True


def test_no_refused_start_changed_the_directory(ward):
    """Covers all refused starts of the tests above."""
    assert ward["changed"] == []
