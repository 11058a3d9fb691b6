"""The master key of a data directory. The identity names it, and the directory is not served or backed up with another
key.

Without this check another key would not be noticed at a start, but links of passes and secrets of webhooks would no
longer work. Identities of the previous version name no key; the next successful start adds it.
"""
import hashlib
import os
import secrets
import shutil
import signal
import stat
from contextlib import closing

import places
import pytest
from harness import Service, refusal, wait_for
from hooks import HOOKS, KINDS, new_url, try_subscribe
from page import Page, fetch, path_of_link
from patience import PATIENCE
from retries import is_first, is_replay_of, new_key, once
from shop import Shop

SHARDS = 2
OTHER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file to somebody else")


def id_of(key):
    return hashlib.sha256(key).hexdigest()[:16]


def key_of(service):
    return service.data / "master.key"


def identity_of(service):
    """The lines of the identity, as {name: value}. The first line is the version."""
    return dict(line.split("=") for line in (service.data / "identity").read_text().splitlines())


class Kept:
    """A stopped service's directory with two things that need its master key: the link of a pass, and the secret of a
    subscription, which a replay returns."""

    def __init__(self):
        self.service = Service(shards=SHARDS).start()
        with closing(Shop(self.service, ("balance",), functions=("--webhooks",))) as shop:
            self.shop_key, self.once, self.body = shop.key, once(new_key()), {"url": new_url(), "event_types": KINDS}
            self.link = path_of_link(shop.create()["download_url"])
            self.subscribed = is_first(try_subscribe(shop, self.body["url"], headers=self.once), 201)
        self.backup = self.service.home / "backup"
        assert self.service.cli("backup", self.backup) == {}
        assert self.service.stop() == 0
        self.key = key_of(self.service).read_bytes()

    def holds(self, service):
        """True if the running service accepts the link and returns the secret, false if it does neither."""
        with service.client(self.shop_key) as client:
            page = fetch(client, self.link)
            again = client.post(HOOKS, self.body, headers=self.once)
        if page.status == 404 and again.status == 500:
            return False
        assert Page(page).status == "issued"
        is_replay_of(self.subscribed, again)
        return True


@pytest.fixture(scope="module")
def kept():
    made = Kept()
    yield made
    assert made.service.close() == []


@pytest.fixture
def moved(kept, new_service):
    service = new_service(start=False, shards=SHARDS)
    places.copy(kept.service.data, service.data)
    return service


def moved_key(kept, moved):
    """A copy of the backup, whose key belongs to somebody else."""
    copy = moved.home / "copy"
    places.copy(kept.backup, copy)
    os.chown(copy / "master.key", OTHER, OTHER)
    return copy


def refuses_the_key(service, wanted):
    places.refuses(service, "event=master_key_unusable .*file=master.key code=OTHER_KEY",
                   f"wanted={id_of(wanted)} ", "put back the one")


# The key of a directory

def test_a_first_start_stores_the_id_of_its_key(new_service):
    service = new_service(shards=1)
    assert identity_of(service)["master_key"] == id_of(key_of(service).read_bytes())
    other = new_service(start=False, shards=1)
    other.data.mkdir()
    key_of(other).write_bytes(bytes(range(32)))
    key_of(other).chmod(0o600)
    other.start()
    assert key_of(other).read_bytes() == bytes(range(32))
    assert identity_of(other)["master_key"] == id_of(bytes(range(32)))


@as_root
def test_a_first_start_in_anothers_directory_keeps_its_key_to_itself(new_service):
    """Its owner has made the file under its temporary name, and keeps it open."""
    service = new_service(start=False, shards=1)
    service.data.mkdir()
    prepared = key_of(service).with_suffix(".key.new")
    prepared.touch()
    for path in (service.data, prepared):
        os.chown(path, OTHER, OTHER)
    with open(prepared, "rb") as opened:
        service.start()
        assert opened.read() == b""
    state = key_of(service).stat()
    assert (state.st_uid, stat.S_IMODE(state.st_mode), state.st_size) == (0, 0o600, 32)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_first_start_with_half_a_key_is_refused(new_service, size):
    service = new_service(start=False, shards=1)
    service.data.mkdir()
    key_of(service).write_bytes(bytes(size))
    key_of(service).chmod(0o600)
    places.refuses(service, "file=master.key code=DAMAGED", "not of 32 bytes")
    assert [path.name for path in service.data.iterdir()] == ["master.key"]


@as_root
def test_a_key_of_another_user_is_refused(kept, moved, new_service):
    """Its owner may read and replace it. Root may work on a directory that belongs to that user altogether."""
    os.chown(key_of(moved), OTHER, OTHER)
    places.refuses(moved, "event=master_key_unusable .*file=master.key code=FOREIGN_KEY", "belongs to another user")
    assert '"faults":["master.key: belongs to another user"]' in faults_of(moved)
    error = refusal(moved.cli, "adopt")
    assert (error.code, error.message) == ("FOREIGN_KEY", "The master.key belongs to another user: make it your own.")
    error = refusal(new_service(start=False).cli, "restore", "--from", moved_key(kept, moved))
    assert (error.code, error.message) == ("FOREIGN_KEY", "The backup's master.key belongs to another user: make it your own.")
    os.chown(moved.data, OTHER, OTHER)
    assert moved.cli("verify")["ok"] is True


@as_root
def test_a_backup_refuses_a_key_that_another_user_has_got(moved, tmp_path):
    moved.start()
    os.chown(key_of(moved), OTHER, OTHER)
    assert refusal(moved.cli, "backup", tmp_path / "backup").code == "FOREIGN_KEY" and not (tmp_path / "backup").exists()
    os.chown(key_of(moved), 0, 0)
    assert moved.cli("backup", tmp_path / "backup") == {}


WRONG = {
    "random": lambda right: secrets.token_bytes(32),
    "zeros": lambda right: bytes(32),
    "reversed": lambda right: right[::-1],
    "first-bit": lambda right: bytes([right[0] ^ 0x80]) + right[1:],
    "last-bit": lambda right: right[:-1] + bytes([right[-1] ^ 1]),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_key_is_refused_and_the_right_one_serves_again(kept, moved, how):
    key_of(moved).write_bytes(WRONG[how](kept.key))
    refuses_the_key(moved, kept.key)
    key_of(moved).write_bytes(kept.key)
    moved.start()
    assert kept.holds(moved)


def test_the_key_of_a_backup_in_place_of_the_right_one(kept, moved, new_service, tmp_path):
    """The key in a backup of this directory is the same key. That of another directory's backup is not."""
    other = new_service(shards=1)
    other.cli("backup", tmp_path / "others")
    shutil.copy(tmp_path / "others/master.key", key_of(moved))
    refuses_the_key(moved, kept.key)
    shutil.copy(kept.backup / "master.key", key_of(moved))
    moved.start()
    assert kept.holds(moved)


def test_a_missing_key_is_refused(kept, moved):
    key_of(moved).unlink()
    places.refuses(moved, "event=master_key_unusable .*file=master.key code=NOT_FOUND", f"wanted={id_of(kept.key)} ", "missing")
    assert not key_of(moved).exists()


@pytest.mark.parametrize("is_started", [False, True])
def test_a_restored_directory_requires_its_backups_key(kept, new_service, is_started):
    service = new_service(start=False, shards=SHARDS)
    service.cli("restore", "--from", kept.backup)
    assert identity_of(service)["master_key"] == id_of(kept.key)
    if is_started:
        service.start()
        assert service.stop() == 0
    key_of(service).write_bytes(secrets.token_bytes(32))
    refuses_the_key(service, kept.key)
    key_of(service).write_bytes(kept.key)
    service.start()
    assert kept.holds(service)
    assert identity_of(service)["master_key"] == id_of(kept.key)


# Commands

def faults_of(service):
    assert refusal(service.cli, "verify").code == "DAMAGED"
    return service.run("verify").stdout


def test_verify_finds_a_wrong_key(kept, moved):
    assert moved.cli("verify")["ok"] is True
    key_of(moved).write_bytes(secrets.token_bytes(32))
    before = places.tree(moved.data)
    assert '"faults":["master.key: does not belong to this directory"]' in faults_of(moved)
    assert places.difference(before, places.tree(moved.data)) == []


def replace_key(service, key):
    """At once, since a restarted process may be reading the file."""
    fresh = key_of(service).with_suffix(".new")
    fresh.write_bytes(key)
    fresh.chmod(0o600)
    fresh.replace(key_of(service))


def test_a_key_replaced_while_the_service_runs(kept, moved, tmp_path):
    """A restarted process does not start, a backup is refused, and verify reports the key. With the right key all of
    them succeed."""
    moved.start()
    moved.expect_log("event=died|code=OTHER_KEY")
    replace_key(moved, secrets.token_bytes(32))
    refused = refusal(moved.cli, "backup", tmp_path / "backup")
    assert refused.code == "OTHER_KEY" and "master.key" in refused.message
    assert not (tmp_path / "backup").exists()
    assert '"master.key: does not belong to this directory"' in faults_of(moved)
    assert kept.holds(moved)
    for role in ("http", "shard"):
        before = len(moved.log_lines())
        old = moved.signal(role, 0, signal.SIGKILL)
        wait_for(lambda: any("master_key_unusable" in line for line in moved.log_lines()[before:]), 10, f"the next {role} to refuse")
        replace_key(moved, kept.key)
        moved.await_successor(role, 0, old)
        assert kept.holds(moved)
        replace_key(moved, secrets.token_bytes(32))
    replace_key(moved, kept.key)
    assert moved.cli("backup", tmp_path / "backup") == {} and moved.cli("verify")["ok"] is True


def test_a_key_that_others_may_read_meanwhile_is_reported(kept, moved):
    """The next start is refused. A shard that is started again works."""
    moved.start()
    key_of(moved).chmod(0o644)
    moved.expect_log("event=(master_key_readable file=master.key mode=0644 wanted=0600|died child=shard-0)")
    before = len(moved.log_lines())
    moved.kill_child("shard")
    assert any("event=master_key_readable" in line for line in moved.log_lines()[before:])
    assert kept.holds(moved)
    key_of(moved).chmod(0o600)


# Lost keys

def test_adopting_another_key(kept, moved):
    """What the lost key encrypted stays unreadable; everything else works."""
    new = secrets.token_bytes(32)
    key_of(moved).write_bytes(new)
    refuses_the_key(moved, kept.key)
    before = places.tree(moved.data)
    assert moved.cli("adopt") == {"master_key": id_of(new)}
    assert places.difference(before, places.tree(moved.data)) == ["identity"]
    assert moved.cli("verify")["ok"] is True
    moved.expect_log("event=internal_error code=SEALED")
    moved.start()
    assert not kept.holds(moved)
    with moved.client(kept.shop_key) as client:
        assert [hook["url"] for hook in client.get(HOOKS).json["subscriptions"]] == [kept.body["url"]]
    assert moved.stop() == 0
    key_of(moved).write_bytes(kept.key)
    refuses_the_key(moved, new)
    assert moved.cli("adopt") == {"master_key": id_of(kept.key)}
    moved.start()
    assert kept.holds(moved)


def test_refusals_of_adopt(moved):
    def refused():
        error = refusal(moved.cli, "adopt")
        return error.code, error.message

    before = places.tree(moved.data)
    key = key_of(moved).read_bytes()
    key_of(moved).write_bytes(key[:-1])
    assert refused() == ("DAMAGED", "The directory's master.key is not of 32 bytes.")
    key_of(moved).unlink()
    assert refused() == ("NOT_FOUND", "There is no master.key in the directory.")
    key_of(moved).write_bytes(key)
    key_of(moved).chmod(0o600)
    places.flip(moved.data / "identity", 30)
    assert refused() == ("DAMAGED", "The directory's identity is damaged.")
    places.flip(moved.data / "identity", 30)
    assert places.difference(before, places.tree(moved.data)) == []
    moved.start()
    identity = (moved.data / "identity").read_bytes()
    code, message = refused()
    assert code == "LOCKED" and f"uses the directory `{moved.data}`" in message
    assert (moved.data / "identity").read_bytes() == identity
    assert moved.stop() == 0
    shutil.rmtree(moved.data)
    assert refused() == ("NOT_FOUND", "There is no data directory, or it has no identity.")


# The identity of a restored directory, which its first start rewrites

@pytest.fixture
def restored(kept, new_service):
    service = new_service(start=False, shards=SHARDS)
    service.cli("restore", "--from", kept.backup)
    return service


def is_settled(service, previous):
    """True if the identity has the facts of the previous one, and says that every shard has its files."""
    return (service.data / "identity").read_text().splitlines()[:-1] == \
        previous.decode().replace("formatted=2", "formatted=1").splitlines()[:-1]


@pytest.mark.plain
@pytest.mark.parametrize("why", ["option", "shards", "key", "shard"])
def test_a_refused_start_writes_no_identity(kept, restored, why):
    """Also not if one shard refuses and the other one finds no fault."""
    previous = (restored.data / "identity").read_bytes()
    snapshots = places.shard(restored, 1) / "snapshots"
    if why == "option":
        restored.options += ["--access-log", restored.home / "no/such/place"]
    elif why == "shards":
        restored.options[1] = "5"
    elif why == "key":
        key_of(restored).chmod(0o644)
    else:
        snapshots.rename(restored.home / "aside")
    places.refusal(restored)
    assert (restored.data / "identity").read_bytes() == previous
    key_of(restored).chmod(0o600)
    if why == "shard":
        (restored.home / "aside").rename(snapshots)
    restored.options = ["--shards", str(SHARDS), "--http-threads", "1"]
    restored.start()
    assert is_settled(restored, previous) and kept.holds(restored)


def test_an_identity_that_cannot_be_written(kept, restored):
    """A directory has the name of the new file."""
    previous = (restored.data / "identity").read_bytes()
    (restored.data / "identity.new").mkdir()
    restored.expect_log("event=identity_not_written")
    restored.start(wait=False)
    assert restored.process.wait(20 * PATIENCE) == 1
    restored.process = None
    assert (restored.data / "identity").read_bytes() == previous
    (restored.data / "identity.new").rmdir()
    restored.start()
    assert is_settled(restored, previous) and kept.holds(restored)


@pytest.mark.parametrize("what", ["pipe", "link"])
def test_what_is_in_place_of_the_new_identity_is_replaced(kept, restored, what):
    """A pipe without a reader would block its writer; a link would lead it elsewhere."""
    previous = (restored.data / "identity").read_bytes()
    victim, there = restored.home / "victim", restored.data / "identity.new"
    victim.write_text("kept")
    if what == "pipe":
        os.mkfifo(there)
    else:
        there.symlink_to(victim)
    restored.start()
    assert is_settled(restored, previous) and kept.holds(restored) and victim.read_text() == "kept"
    assert not (restored.data / "identity").is_symlink()


@pytest.mark.parametrize("part", [0.0, 0.4, 1.0])
def test_a_partial_new_identity_is_overwritten(kept, restored, part):
    previous = (restored.data / "identity").read_bytes()
    whole = previous.replace(b"formatted=2", b"formatted=1")
    (restored.data / "identity.new").write_bytes(whole[:int(len(whole) * part)] + (b"" if part < 1 else b"x" * 500))
    restored.start()
    assert is_settled(restored, previous) and kept.holds(restored)
    assert not (restored.data / "identity.new").exists()


def test_kills_at_any_moment_of_a_first_start(kept, restored):
    """After each kill the identity is either the previous one, byte for byte, or complete and new. The next start
    succeeds with both."""
    previous = (restored.data / "identity").read_bytes()
    restored.expect_log("level=warn")
    for lines in (1, 3, 5, 7, 8, 9):  # a start logs nine lines, the last one when it is ready
        want = len(restored.log_lines()) + lines
        (restored.data / "identity").write_bytes(previous)
        restored.start(wait=False)
        wait_for(lambda: len(restored.log_lines()) >= want, 20, "the start to log that many lines")
        restored.kill_everything()
        assert (restored.data / "identity").read_bytes() == previous or is_settled(restored, previous)
    restored.start()
    assert is_settled(restored, previous) and kept.holds(restored)
