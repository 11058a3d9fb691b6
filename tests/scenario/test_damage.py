"""Bits that flip on the disk, in every kind of byte, after an orderly stop and after kill -9.

After each the next start either refuses with one line that names what is damaged, and changes nothing; or everything
acknowledged is served as it was. Nothing wrong or missing is ever served.

A place is damaged where it is: what its tables are worth depends on their very file. A refused flip is taken back,
and then the service has to start. STAMPEDE_SEED repeats a run; STAMPEDE_FLIPS sets how many flips each kind of byte
gets, for long runs by hand.
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
RECORD_HEAD = {"magic": (0, 4), "version": (4, 1), "kind": (5, 1), "shard": (6, 2), "lineage": (8, 16),
               "segment": (24, 8), "offset": (32, 8), "epoch": (40, 8), "seq": (48, 8), "durable seq": (56, 8),
               "now": (64, 8), "length": (72, 4), "operations": (76, 4), "chain": (80, 4), "sum": (84, 4)}


def both_ways(table):
    """After a stop and after a kill; for each row one of them in the ordinary run."""
    return [pytest.param(row, how, marks=() if (number + way) % 2 == 0 else pytest.mark.slow)
            for number, row in enumerate(table) for way, how in enumerate(HOW)]


class Patient:
    """A service under damage: it may die of what it meets, and come again."""

    def __init__(self, seed):
        print(f"damage: seed={seed} flips={FLIPS}")
        self.rng = random.Random(seed)
        self.service = Service(shards=1).start()
        self.service.expect_log("level=(warn|fatal|panic)")
        self.counts = {"served": 0, "refused": 0}
        self.in_doubt = False
        self.changed = []  # by starts that were refused
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
        """Whatever was acknowledged is in the tables by then."""
        if how == "stop":
            assert self.service.stop() == 0
        else:
            wait_for(self.is_quiet, 5, "the tables to have everything")
            self.service.kill_everything()

    def begin(self):
        self.service.start()
        self.crowd.turn_to(self.service)

    def is_quiet(self):
        """A list is read from what has been committed."""
        self.book.shop.client.close()
        return self.book.shop.list("?limit=1")[1] == sum(one.exists for one in self.book.passes.values())

    def examine(self, what, undo):
        """Starts it after a damage: it serves everything, or names the damage; `undo` then makes it whole."""
        before = places.tree(self.service.data)
        self.in_doubt = True
        self.service.start(wait=False)
        process = self.service.process
        wait_for(lambda: process.poll() is not None or self.service.out_path.read_text(), 30, f"a word about {what}")
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
        """Nobody has to be told to come again."""
        client = self.book.shop.client
        paths = [*(f"/v1/passes/{name}" for name in self.book.passes), "/v1/passes?limit=100"]
        return all(client.get(path).status not in (503, 504) for path in paths)

    def is_ill(self):
        """It does not run, or a test left it in the middle of something; or it is old: every start begins a segment."""
        old = len(places.segments(self.service)) > SEGMENTS_MOST
        return old or self.service.process is None or self.in_doubt

    def flip(self, file, offset, what):
        """One to eight bits of one byte."""
        bits = self.rng.choice((1, 4, 128, 255))
        places.flip(file, offset, bits)
        flipped = places.byte_at(file, offset)
        what = f"{what}: {file.relative_to(self.service.data)} at {offset} ^ {bits:#x}"
        outcome = self.examine(what, lambda: places.flip(file, offset, bits))
        if outcome == "served" and "journal" in file.parts:
            self.end("stop")  # one damage at a time: what no longer matters today would matter after the next
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
    """The patient of all tests; after a test that failed there is another one."""
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
    """The last record, one of the last segment's, any."""
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
            file.seek(at + 72)
            length = struct.unpack("<I", file.read(4))[0]
        whole = -(-(88 + length) // PAGE) * PAGE
        if part == "operations" and length:
            patient.flip(segment, in_range(patient.rng, at + 88, length), "operations")
        elif part == "padding" and whole > 88 + length:
            patient.flip(segment, in_range(patient.rng, at + 88 + length, whole - 88 - length), "padding")
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
def test_any_byte_of_the_tables(patient, how):
    for _ in range(4 * FLIPS):
        patient.end(how)
        tables = patient.place / "db" / "data.mdb"
        patient.flip(tables, patient.rng.randrange(tables.stat().st_size), "tables")


@pytest.mark.parametrize("how", HOW)
def test_every_balance_in_the_tables_changed(patient, how):
    """Nothing of the tables' own structure is touched: only sums can tell."""
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


def test_the_mark_of_trust(patient):
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
    """The process that meets the damage ends without an answer, and the next one makes the tables anew."""
    tables = patient.place / "db" / "data.mdb"
    for _ in range(2 * FLIPS):
        places.flip(tables, in_range(patient.rng, patient.rng.choice(pages(tables, LEAF)) * PAGE, PAGE))
    patient.serves("flips while it served")
    patient.service.restart()
    patient.serves("flips while it served, and a restart")
    patient.in_doubt = True  # a byte that nobody read may still be wrong


# Snapshots

def snapshots(patient):
    return sorted((patient.place / "snapshots").glob("[0-9]*"))


def two_snapshots(patient):
    """A verification reads a snapshot made for it; two of them with changes between make two."""
    while len(snapshots(patient)) < 2:
        patient.serves("more changes")
        assert patient.service.cli("verify")["ok"]


@pytest.mark.parametrize("part", ["manifest", "data.mdb"])
def test_a_snapshot(patient, part):
    """The tables are lost too: the older snapshot, or the journal, has to do."""
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
    """Nothing is left that would do, once the journal has been recycled; then that is said, and nothing changed."""
    two_snapshots(patient)
    patient.end("stop")
    (patient.place / "trust").rename(patient.place / "trust.aside")
    for snapshot in snapshots(patient):
        places.flip(snapshot / "data.mdb", 4096 + patient.rng.randrange(4096))

    def undo():
        (patient.place / "trust.aside").rename(patient.place / "trust")

    patient.examine("all snapshots", undo)
    patient.in_doubt = True


def test_refusals_have_changed_nothing(ward):
    """Of all that was refused above."""
    assert ward["changed"] == []
