"""Mistakes of operators in a data directory of two shards: swapped parts, parts of another directory, links, mounts,
and entries of another kind.

A mistake is either refused with a line that names the entry, without changing a byte in either shard; or it is harmless
and everything is served. Each runs on a copy, whose tables must be rebuilt, and on a directory that was served in
place, whose tables are trusted. A mistake must not be detected only at a rebuild, long after it was made.
"""
import json
import os
import re
import shutil
import stat

import places
import pytest
from disk import NotPermitted, run_quietly
from origins import Origin, holds_everything
from shop import Shop

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def another():
    """Another directory with the same number of shards."""
    made = Origin(shards=2, runs=1)
    yield made
    made.close()


@pytest.fixture
def copied(origin_of_two, new_service):
    return origin_of_two.copied(new_service)


@pytest.fixture(params=["copied", "served"])
def directory(request, copied):
    if request.param == "served":
        copied.start()
        assert copied.stop() == 0
    return copied


def swap(*parts):
    def change(service):
        one, two = (places.shard(service, index).joinpath(*parts) for index in (0, 1))
        aside = service.home / "aside"
        one.rename(aside)
        two.rename(one)
        aside.rename(two)
    return change


def at(service, path):
    return service.data / path


def remove(path):
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def link_away(path):
    """Moves the entry elsewhere and leaves a symlink."""
    def change(service):
        target = service.home / "elsewhere"
        at(service, path).rename(target)
        at(service, path).symlink_to(target)
    return change


def replaced(path, by):
    """Replaces the entry, or creates it, by calling `by` with its path."""
    def change(service):
        remove(at(service, path))
        by(at(service, path))
    return change


def a_file(path):
    path.write_text("x")


def a_directory(path):
    path.mkdir()


def a_link_to_nothing(path):
    path.symlink_to("/nothing/there")


def a_pipe(path):
    os.mkfifo(path)


def a_device(path):
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))


def copy_shard_0_over_1(service):
    shutil.rmtree(places.shard(service, 1))
    places.copy(places.shard(service, 0), places.shard(service, 1))


def link_shard_1_to_0(service):
    shutil.rmtree(places.shard(service, 1))
    places.shard(service, 1).symlink_to("0")


def add_a_segment_again(service):
    last = int(places.segments(service)[-1].stem)
    shutil.copy(places.used_segments(service)[0], places.shard(service) / "journal" / f"{last + 1:020d}.seg")


REFUSED = {
    "shards-swapped": (swap(), "another shard"),
    "journals-swapped": (swap("journal"), "another shard"),
    "a-shard-twice": (copy_shard_0_over_1, "another shard"),
    "a-shard-linked-twice": (link_shard_1_to_0, "another shard"),
    "a-segment-twice": (add_a_segment_again, "another shard, place"),
    "shard-renamed": (lambda service: places.shard(service, 1).rename(places.shard(service, 2)), "shards/1"),
    "tables-a-link": (link_away("shards/1/db"), "index=1 .*db is a link"),
    "tables-a-dead-link": (replaced("shards/1/db", a_link_to_nothing), "index=1 .*db is a link"),
    "tables-with-a-directory": (lambda service: at(service, "shards/1/db/lost+found").mkdir(), "db/lost.found is a directory, not a file: move it"),
}


# Each entry that a directory has or may have, and its type. A segment and a snapshot are added, so that data is not missing.
SEGMENT, SNAPSHOT = f"shards/1/journal/{900:020d}.seg", f"shards/1/snapshots/{900:020d}"
FILES = ["identity", "master.key", "lock", "shards/1/lock", "shards/1/trust", "shards/1/db/data.mdb", "shards/1/journal/next.tmp",
         SEGMENT, f"{SNAPSHOT}/manifest", f"{SNAPSHOT}/data.mdb"]
DIRECTORIES = ["run", "shards", "shards/1", "shards/1/journal", "shards/1/snapshots", SNAPSHOT, "shards/1/db.old",
               "shards/1/db.new"]
TYPES = {"directory": a_directory, "file": a_file, "pipe": a_pipe, "device": a_device, "link to nothing": a_link_to_nothing}
WRONG_TYPES = [(path, by) for path in FILES for by in ("directory", "pipe", "device", "link to nothing")] + \
              [(path, by) for path in DIRECTORIES for by in ("file", "pipe", "device", "link to nothing")
               if not ("db." in path and "link" in by)]


def put_wrong_type(service, path, by):
    at(service, path).parent.mkdir(parents=True, exist_ok=True)
    try:
        replaced(path, TYPES[by])(service)
    except PermissionError as error:
        pytest.skip(f"not permitted: {error}")
    wanted = "file" if path in FILES else "directory"
    return f"{re.escape(path.removeprefix('shards/1/'))} is a {by}, not a {wanted}: move it away"


def refuses(service, word):
    """Like places.refuses(), but both shards may report the fault."""
    before = places.tree(service.data)
    done = service.run(*service.command()[1:], data=False)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert places.difference(before, places.tree(service.data)) == []
    named = [line for line in done.stderr.splitlines() if "level=fatal" in line and "event=start_failed" not in line]
    assert len(named) in (1, 2) and len({line.split(" event=")[1] for line in named}) == 1, done.stderr
    assert re.search(word, named[0]), f"{named[0]} does not name {word}"


@pytest.mark.drawn(5)
@pytest.mark.parametrize("what", REFUSED)
def test_a_mistake_is_refused(directory, what):
    change, word = REFUSED[what]
    change(directory)
    refuses(directory, word)


@pytest.mark.drawn(5)
@pytest.mark.parametrize("path, by", WRONG_TYPES)
def test_an_entry_of_a_wrong_type_is_named_by_a_start_and_by_verify(copied, path, by):
    word = put_wrong_type(copied, path, by)
    refuses(copied, word)
    done = copied.run("verify")
    assert done.returncode == 1 and re.search(word, done.stdout), done
    assert json.loads(done.stdout)["ok"] is False


HARMLESS = {
    "marks-swapped": swap("trust"),
    "a-strangers-file": lambda service: a_file(at(service, "notes")),
    "a-strangers-file-among-shards": lambda service: a_file(at(service, "shards/notes")),
    "a-strangers-file-in-a-journal": lambda service: a_file(at(service, "shards/0/journal/00000000000000000001.seg.bak")),
    "a-third-shard": lambda service: places.copy(places.shard(service, 1), at(service, "shards/2")),
    "identity-a-link": link_away("identity"),
    "key-a-link": link_away("master.key"),
    "shards-a-link": link_away("shards"),
    "shard-a-link": link_away("shards/1"),
    "journal-a-link": link_away("shards/1/journal"),
    "data-mdb-a-link": link_away("shards/1/db/data.mdb"),
    "lost-found": lambda service: at(service, "lost+found").mkdir(),
    "lost-found-among-shards": lambda service: at(service, "shards/lost+found").mkdir(),
    "lost-found-in-a-shard": lambda service: at(service, "shards/1/lost+found").mkdir(),
    "lost-found-in-a-journal": lambda service: at(service, "shards/1/journal/lost+found").mkdir(),
}


@pytest.mark.drawn(3)
@pytest.mark.parametrize("what", HARMLESS)
def test_a_harmless_change_is_accepted(origin_of_two, copied, what):
    HARMLESS[what](copied)
    holds_everything(origin_of_two, copied)


def test_the_tables_of_two_shards_swapped(origin_of_two, directory):
    """One shard's tables have more records than the other shard's journal. The start is refused and names the tables."""
    shop = Shop(directory.start(), ("balance",))
    for _ in range(200):  # one shard is far ahead of the other
        shop.add(shop.create()["id"], 1)
    shop.close()
    assert directory.stop() == 0
    swap("db")(directory)
    refuses(directory, "db is not this shard's")
    swap("db")(directory)
    holds_everything(origin_of_two, directory)


# Parts of another directory

def test_another_directorys_identity(directory, another):
    """The key does not fit the other identity. With the other key too, the journals do not fit."""
    shutil.copy(another.service.data / "identity", at(directory, "identity"))
    refuses(directory, "file=master.key code=OTHER_KEY")
    shutil.copy(another.service.data / "master.key", at(directory, "master.key"))
    refuses(directory, "belongs to another shard, place or data directory")


def test_another_directorys_shard(directory, another):
    shutil.rmtree(places.shard(directory, 1))
    places.copy(places.shard(another.service, 1), places.shard(directory, 1))
    refuses(directory, "index=1 .*belongs to another shard, place or data directory")


# Mounts

@pytest.fixture
def mounts(copied):
    """mount(path, *options) mounts a file system there and unmounts it at the end. A failed test may leave the service
    running, which would keep the mount busy."""
    mounted = []

    def mount(path, *options):
        try:
            run_quietly("mount", *options, path)
        except NotPermitted as error:
            pytest.skip(f"mounting is not permitted: {error}")
        mounted.append(path)

    yield mount
    if copied.process is not None:
        copied.kill_everything()
    for path in reversed(mounted):
        run_quietly("umount", path)


def read_only(mounts, path):
    mounts(path, "--bind", path)
    run_quietly("mount", "-o", "remount,bind,ro", path)


@pytest.mark.parametrize("path, word", [
    ("", "file=lock .*Read-only"), ("run", "file=run .*Read-only"), ("shards", "shards/0/lock .*Read-only"),
    ("shards/0", "shards/0/lock .*Read-only"), ("shards/0/journal", "journal: Read-only"), ("shards/0/db", "db is a mount"),
])
def test_a_read_only_part(directory, mounts, path, word):
    read_only(mounts, at(directory, path))
    places.refuses(directory, word)


@pytest.mark.parametrize("path, word", [
    ("shards/0", "no journal"), ("shards/0/journal", "no journal"), ("shards/0/db", "db is a mount"),
])
def test_an_empty_disk_over_a_part(directory, mounts, path, word):
    """The mount hides the files below it, like a missing mount of the right disk."""
    mounts(at(directory, path), "-t", "tmpfs", "tmpfs")
    places.refuses(directory, word)


@pytest.mark.parametrize("path", ["shards", "shards/0", "shards/0/journal"])
def test_a_part_on_its_own_file_system(origin_of_two, directory, mounts, path):
    """A tmpfs, which the log reports wherever it is mounted."""
    kept = directory.home / "kept"
    places.copy(at(directory, path), kept)
    mounts(at(directory, path), "-t", "tmpfs", "-o", "mode=0700", "tmpfs")
    for entry in kept.iterdir():
        places.copy(entry, at(directory, path) / entry.name)
    at(directory, path).joinpath("lost+found").mkdir()
    directory.expect_log("level=warn .*event=file_system kind=tmpfs")
    holds_everything(origin_of_two, directory)
    assert any("kind=tmpfs" in line for line in directory.log_lines())
    assert directory.stop() == 0


# verify

@pytest.mark.parametrize("what", ["tables-a-link", "tables-with-a-directory"])
def test_verify_finds_the_mistake(directory, what):
    change, word = REFUSED[what]
    change(directory)
    done = directory.run("verify")
    assert done.returncode == 1 and re.search(word.removeprefix("index=1 .*"), done.stdout), done
