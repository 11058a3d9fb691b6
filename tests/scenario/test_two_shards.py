"""Starts of a service with two shards, one of which refuses, is late or ends. The other one waits and changes nothing
until both have checked their directories.
"""
import fcntl
import os
import re
import shutil
import signal

import places
import pytest
from harness import wait_for
from origins import holds_everything

pytestmark = pytest.mark.plain


@pytest.fixture
def moved_two(origin_of_two, new_service):
    return origin_of_two.copied(new_service)


def swap_journals(service):
    journals = [places.shard(service, index) / "journal" for index in (0, 1)]
    aside = journals[0].with_name("aside")
    journals[0].rename(aside)
    journals[1].rename(journals[0])
    aside.rename(journals[1])


def test_the_journals_of_two_shards_swapped(origin_of_two, moved_two):
    swap_journals(moved_two)
    done = moved_two.run(*moved_two.command()[1:], data=False)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "another shard" in done.stderr
    swap_journals(moved_two)
    holds_everything(origin_of_two, moved_two)


def end_by_kill(service):
    service.start()
    service.kill_everything()


def end_in_order(service):
    service.start()
    assert service.stop() == 0


@pytest.mark.parametrize("before", [None, end_by_kill, end_in_order], ids=["moved", "killed", "stopped"])
@pytest.mark.parametrize("what, word", [("missing", "place=shards/1"), ("emptied", "no journal"), ("cut", "segment|journal ends|lacks a record")])
def test_one_of_two_shards_refuses(origin_of_two, moved_two, what, word, before):
    """The sound shard could start but waits. Not a byte of either shard changes."""
    if before:
        before(moved_two)
    place, kept = places.shard(moved_two, 1), moved_two.home / "kept"
    places.copy(place, kept)
    if what == "cut":
        places.used_segments(moved_two, 1)[-1].unlink()
    else:
        shutil.rmtree(place)
    if what == "emptied":
        place.mkdir()
    places.refuses(moved_two, "index=1", f"event=.*({word})")
    shutil.rmtree(place, ignore_errors=True)
    places.copy(kept, place)
    holds_everything(origin_of_two, moved_two)


class Held:
    """A start in which shard 0 waits for shard 1, whose directory is locked by the test."""

    def __init__(self, service):
        end_in_order(service)
        self.service, self.before = service, places.tree(service.data)
        self.place = os.open(places.shard(service, 1), os.O_RDONLY)
        fcntl.flock(self.place, fcntl.LOCK_EX)
        self.lines_before = len(service.log_lines())  # of a start that a slow machine may have delayed, too
        service.start(wait=False)
        wait_for(lambda: self.logged("start_delayed"), 5, "shard 0 to wait")
        assert places.difference(self.before, places.tree(service.data)) == []

    def logged(self, event):
        return [line for line in self.service.log_lines()[self.lines_before:] if f"event={event} " in line]

    def pid_of_shard_0(self):
        return int(re.search(r"child=shard-0 child_pid=(\d+)", "\n".join(reversed(self.logged("started"))))[1])

    def let_go(self):
        os.close(self.place)


def test_a_shard_waits_for_the_other(origin_of_two, moved_two):
    held = Held(moved_two)
    held.let_go()
    moved_two.wait_ready()
    assert moved_two.stop() == 0
    holds_everything(origin_of_two, moved_two)


def test_a_stop_while_a_shard_waits_for_the_other(origin_of_two, moved_two):
    held = Held(moved_two)
    moved_two.expect_log("event=shard_locked")  # logged by shard 1, which sees the stop only then
    assert moved_two.stop() == 0
    assert places.difference(held.before, places.tree(moved_two.data)) == []
    held.let_go()
    holds_everything(origin_of_two, moved_two)


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_a_shard_that_waits_for_the_other_ends(origin_of_two, moved_two, sig):
    held = Held(moved_two)
    moved_two.expect_log("event=died")
    os.kill(held.pid_of_shard_0(), sig)
    held.let_go()
    moved_two.wait_ready()
    assert moved_two.stop() == 0
    holds_everything(origin_of_two, moved_two)
