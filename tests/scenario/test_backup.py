"""backup and restore: a backup holds everything acknowledged before it began, also under load. A restored directory is
an independent service. A damaged or incomplete backup is refused, and the error names the file."""
import json
import os
import pty
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from harness import refusal, wait_for
from history import deltas_of
from patience import PATIENCE
from shop import Shop, path_of

SHOPS = 4
FILES = ["manifest", "master.key", "shards/0/manifest", "shards/0/data.mdb", "shards/1/manifest", "shards/1/data.mdb"]


class Customer(threading.Thread):
    """The only client of one shop, sending one request at a time. A backup of the shop must therefore equal its state
    after the first k requests."""

    def __init__(self, shop):
        super().__init__(daemon=True)
        self.shop = shop
        self.client = shop.service.client(shop.key)
        self.done = []  # (pass, amount); with amount None the creation
        self.passes = []
        self.over = threading.Event()
        self.failure = None

    def run(self):
        try:
            while not self.over.is_set():
                self.step(len(self.done))
        except Exception as failure:  # read by the test's thread
            self.failure = failure
        finally:
            self.client.close()

    def step(self, number):
        if number % 5 == 0:
            pass_id = f"p-{number}"
            answer = self.client.post("/v1/passes", {"pass_id": pass_id, "visible": {"name": pass_id}})
            assert answer.status == 201, answer
            self.done.append((pass_id, None))
            self.passes.append(pass_id)
            return
        pass_id = self.passes[number * 7 % len(self.passes)]
        answer = self.client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": number})
        assert answer.status == 202, answer
        self.done.append((pass_id, number))

    def await_steps(self, more):
        want = len(self.done) + more
        wait_for(lambda: self.failure or len(self.done) >= want, 30, "more requests of the customers")
        assert self.failure is None, self.failure


def balances(shop):
    """The balance of every pass of the shop, read by the list."""
    shown, total = {}, None
    while total is None or len(shown) < total:
        page, total, _ = shop.list(f"?limit=100&offset={len(shown)}")
        shown.update({entry["id"]: entry["balance"] for entry in page})
    return shown


def steps_in(done, shown):
    """The number of steps after which the shop had the shown state; None if it never had."""
    state = {}
    if state == shown:
        return 0
    for count, (pass_id, amount) in enumerate(done, 1):
        state[pass_id] = 0 if amount is None else state[pass_id] + amount
        if amount is None and len(state) > len(shown):
            return None
        if state == shown:
            return count
    return None


def clone(shop, service):
    """The same shop on another service."""
    other = object.__new__(Shop)
    other.__dict__.update(shop.__dict__)
    other.service = service
    other.client = service.client(shop.key)
    return other


@pytest.fixture
def restore(new_service):
    """restore(backup) restores it to a new directory and returns a started service."""

    def make(backup):
        service = new_service(start=False)
        restored = service.cli("restore", "--from", backup)
        assert len(restored["lineage"]) == 32 and [one["index"] for one in restored["shards"]] == [0, 1]
        return service.start()

    return make


@pytest.fixture(scope="module")
def backup(shared_service):
    """A backup of a small service, for tests that only read or copy it."""
    shop = Shop(shared_service)
    shop.create("kept")
    shop.add("kept", 5)
    to = shared_service.home / "module-backup"
    assert shared_service.cli("backup", to) == {}
    yield to
    shop.close()
    shutil.rmtree(to)


@pytest.fixture
def own_backup(backup, tmp_path):
    shutil.copytree(backup, tmp_path / "backup")
    return tmp_path / "backup"


# Backup and restore


def test_a_backup_under_load_holds_all_that_was_acknowledged_before_it(new_service, restore):
    service = new_service()
    shops = [Shop(service) for _ in range(SHOPS)]
    customers = [Customer(shop) for shop in shops]
    for customer in customers:
        customer.start()
    for customer in customers:
        customer.await_steps(60)
    before = [len(customer.done) for customer in customers]
    assert service.cli("backup", service.home / "backup") == {}
    after = [len(customer.done) + 1 for customer in customers]  # one request may have been outstanding
    for customer in customers:
        customer.await_steps(20)

    other = restore(service.home / "backup")
    for customer in customers:  # original and restored service run at the same time
        customer.await_steps(20)
        customer.over.set()
        customer.join()
    for shop, customer, least, most in zip(shops, customers, before, after):
        copy = clone(shop, other)
        steps = steps_in(customer.done, balances(copy))
        assert steps is not None, "the copy is not a state that the shop had"
        assert least <= steps <= most
        assert steps_in(customer.done, balances(shop)) == len(customer.done)
        copy.close()
        shop.close()
    assert service.cli("verify")["ok"] and other.cli("verify")["ok"]


def test_a_restored_service_is_complete_and_independent(new_service, restore):
    service = new_service()
    shop = Shop(service, ("balance", "stamps"))
    made = shop.create("one", "stamps", hidden={"secret": [1, 2.50]})
    shop.add("one", 3)
    shop.event("one", "installed")
    shop.create("gone")
    shop.delete("gone")
    second = service.cli("key", "create", shop.account)
    service.cli("key", "revoke", shop.account, second["key_id"])
    service.cli("backup", service.home / "backup")
    shop.add("one", 100)

    other = restore(service.home / "backup")
    copy = clone(shop, other)
    assert copy.get("one")["balance"] == 3 and copy.get("one")["hidden"] == {"secret": [1, 2.50]}
    assert copy.get("one")["download_url"].rsplit("/", 1)[1] == made["download_url"].rsplit("/", 1)[1]
    assert copy.history("one") == shop.history("one")[:-1]
    copy.client.get(path_of("gone")).is_error(404, "RESOURCE_NOT_FOUND")
    assert copy.get("gone", "?include_deleted=true")["status"] == "deactivated"
    assert other.cli("template", "list", shop.account) == service.cli("template", "list", shop.account)
    assert other.cli("key", "list", shop.account) == service.cli("key", "list", shop.account)
    with other.client(second["api_key"]) as client:
        client.get(path_of("one")).is_error(401, "UNAUTHENTICATED")

    copy.add("one", 7)  # original and copy now differ
    copy.create("gone")
    assert (copy.get("one")["balance"], shop.get("one")["balance"]) == (10, 103)
    other.restart()
    copy.client.address = other.http
    assert deltas_of(copy.history("one")) == [3, 7]
    assert other.cli("verify")["ok"]
    other.cli("backup", other.home / "next")
    third = clone(shop, restore(other.home / "next"))
    assert third.get("one")["balance"] == 10
    for one in (shop, copy, third):
        one.close()


def test_a_restored_directory_survives_kills_during_its_first_start(backup, new_service):
    service = new_service(start=False)
    service.expect_log("level=warn")
    service.cli("restore", "--from", backup)
    for lines in (1, 3, 5, 6, 7, 8):  # a start logs about nine lines
        want = len(service.log_lines()) + lines
        service.start(wait=False)
        wait_for(lambda: len(service.log_lines()) >= want, 20, "the start to log that many lines")
        service.kill_everything()
    service.start()
    assert service.cli("verify")["ok"]
    service.kill_everything()
    assert service.cli("verify")["ok"]


def test_a_restored_shard_without_its_snapshot_is_refused(backup, new_service):
    service = new_service(start=False)
    service.expect_log("level=fatal|level=warn")
    service.cli("restore", "--from", backup)
    shutil.rmtree(service.data / "shards" / "1" / "snapshots")
    service.start(wait=False)
    assert service.process.wait(20) == 1
    service.process = None
    assert "the restored snapshot is missing" in service.log_tail()


# Refusals of backup


def test_a_backup_requires_a_new_or_empty_directory(shared_service, tmp_path):
    (tmp_path / "empty").mkdir()
    assert shared_service.cli("backup", tmp_path / "empty") == {}
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    refused = refusal(shared_service.cli, "backup", tmp_path / "empty")
    assert refused.code == "EXISTS" and f"`{tmp_path}/empty`" in refused.message
    assert refusal(shared_service.cli, "backup", tmp_path / "empty" / "manifest").code == "IO"
    assert refusal(shared_service.cli, "backup", tmp_path / "no" / "where").code == "IO"
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    assert shared_service.run("backup").returncode == 2
    assert (tmp_path / "empty" / "master.key").stat().st_mode & 0o777 == 0o600


def test_commands_name_a_backup_in_place_of_a_data_directory(shared_service, tmp_path):
    assert shared_service.cli("backup", tmp_path / "backup") == {}
    for words in (["verify"], ["status"], ["account", "list"]):
        run = subprocess.run([shared_service.program, *words, "--data", tmp_path / "backup"], capture_output=True, text=True,
                             timeout=20 * PATIENCE, env=shared_service.environment(), check=False)
        assert run.returncode == 1 and not run.stdout, run
        assert f"`{tmp_path / 'backup'}` is a backup, not the data directory of a service: stampede restore --from DIR" in run.stderr


def test_a_backup_path_may_be_relative(shared_service, tmp_path):
    done = subprocess.run([shared_service.program, "backup", "here", "--data", shared_service.data], cwd=tmp_path,
                          capture_output=True, text=True, timeout=20 * PATIENCE, env=shared_service.environment(), check=False)
    assert (done.returncode, done.stdout) == (0, "{}\n"), done.stderr
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["manifest", "master.key", "shards"]


def test_a_backup_requires_a_running_service(new_service, tmp_path):
    service = new_service()
    service.stop()
    assert refusal(service.cli, "backup", tmp_path / "backup").code == "NOT_RUNNING"
    assert not (tmp_path / "backup").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a directory to somebody else")
def test_a_backup_requires_the_user_of_the_data_directory(new_service, tmp_path):
    """The shards write the backup as that user. A verification by root leaves no file that this user could not open."""
    service = new_service()
    os.chown(service.data, 65534, 65534)
    refused = refusal(service.cli, "backup", tmp_path / "backup")
    assert refused.code == "INVALID_INPUT" and "user" in refused.message
    assert not (tmp_path / "backup").exists()
    assert service.cli("verify")["ok"]
    assert not (service.data / "run" / "keep.lock").exists()
    os.chown(service.data, 0, 0)
    assert service.cli("backup", tmp_path / "backup") == {}


def test_a_backup_shows_its_progress_only_on_a_terminal(shared_service, tmp_path):
    ours, theirs = pty.openpty()
    done = subprocess.run([shared_service.program, "backup", tmp_path / "one", "--data", shared_service.data],
                          stdout=subprocess.PIPE, stderr=theirs, timeout=20 * PATIENCE, env=shared_service.environment(), check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.stdout == b"{}\n"
    assert "\rbackup [" in shown and shown.endswith("\r\x1b[K"), repr(shown)
    assert shared_service.run("backup", tmp_path / "two").stderr == ""


# Damaged backups


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x20
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def lose(path):
    path.unlink()


@pytest.mark.parametrize("damage", [flip, cut, lose])
@pytest.mark.parametrize("name", FILES)
def test_the_refusal_of_a_damaged_backup_names_the_file(own_backup, new_service, name, damage):
    damage(own_backup / name)
    service = new_service(start=False)
    refused = refusal(service.cli, "restore", "--from", own_backup)
    assert name in refused.message, refused.message
    assert refused.code in ("DAMAGED", "NOT_FOUND")
    assert not service.data.exists()


@pytest.mark.parametrize("before, after", [(b"shards=2", b"shards=1"), (b"seq=", b"seq=1"), (b"placement=1", b"placement=2")])
def test_an_edited_manifest_is_refused(own_backup, new_service, before, after):
    manifest = own_backup / "manifest"
    manifest.write_bytes(manifest.read_bytes().replace(before, after, 1))
    refused = refusal(new_service(start=False).cli, "restore", "--from", own_backup)
    assert refused.code == "DAMAGED" and "manifest" in refused.message


def test_a_backup_mixed_of_two_is_refused(own_backup, shared_service, new_service, tmp_path):
    shared_service.cli("account", "create", "--name", "later")  # changes on one shard only
    shared_service.cli("backup", tmp_path / "later")
    moved = next(n for n in "01" if (own_backup / "shards" / n / "data.mdb").read_bytes() !=
                 (tmp_path / "later" / "shards" / n / "data.mdb").read_bytes())
    shutil.rmtree(own_backup / "shards" / moved)
    shutil.copytree(tmp_path / "later" / "shards" / moved, own_backup / "shards" / moved)
    refused = refusal(new_service(start=False).cli, "restore", "--from", own_backup)
    assert f"shards/{moved}/manifest is of another backup" in refused.message


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("make, type_of", [(Path.mkdir, "directory"), (os.mkfifo, "pipe"),
                                           (lambda path: path.symlink_to("/nothing/there"), "link to nothing")])
def test_an_entry_of_a_wrong_type_in_a_backup_is_named(own_backup, new_service, name, make, type_of):
    (own_backup / name).unlink()
    make(own_backup / name)
    service = new_service(start=False)
    refused = refusal(service.cli, "restore", "--from", own_backup)
    assert f"The backup's {name} is a {type_of}, not a file: move it away" in refused.message
    assert refused.code == "UNSUPPORTED" and not service.data.exists()


# Target directories of restore


def test_a_restore_requires_a_new_or_empty_directory(backup, new_service):
    service = new_service(start=False)
    service.data.mkdir()
    service.cli("restore", "--from", backup)
    refused = refusal(service.cli, "restore", "--from", backup)
    assert (refused.code, "identity" in refused.message) == ("EXISTS", True)
    assert f"`{service.data}`" in refused.message
    other = new_service(start=False)
    other.data.mkdir()
    (other.data / "letter").write_text("mine")
    assert "letter" in refusal(other.cli, "restore", "--from", backup).message
    assert [path.name for path in other.data.iterdir()] == ["letter"]
    assert refusal(other.cli, "restore", "--from", other.home / "none").code == "IO"
    assert other.run("restore").returncode == 2


def test_a_restore_never_overwrites_a_served_directory(backup, new_service):
    service = new_service()
    service.stop()
    (service.data / "identity").unlink()
    assert "shards/0/journal" in refusal(service.cli, "restore", "--from", backup).message


def test_a_backup_is_not_served(backup, new_service):
    service = new_service(start=False)
    before = sorted(backup.iterdir())
    done = service.run("serve", "--data", backup, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", data=False)
    assert done.returncode == 1 and "a backup: stampede restore makes a data directory of it" in done.stderr
    assert sorted(backup.iterdir()) == before


def test_an_interrupted_restore_is_not_served_and_can_be_repeated(backup, new_service):
    service = new_service(start=False)
    service.expect_log("has no identity but holds")
    service.cli("restore", "--from", backup)
    (service.data / "identity").unlink()  # restore writes this file last
    service.start(wait=False)
    assert service.process.wait(20) == 1
    service.process = None
    next(service.data.glob("shards/0/snapshots/*/manifest")).unlink()
    service.cli("restore", "--from", backup)
    service.start()
    assert service.cli("verify")["ok"]


@pytest.mark.parametrize("name", ["restoring", "restoring.new"])
def test_a_restore_interrupted_before_its_first_shard_is_not_served(backup, new_service, name):
    service = new_service(start=False)
    service.expect_log("an unfinished restore: run restore again")
    service.data.mkdir()
    (service.data / name).write_text("\n")
    (service.data / "master.key").write_bytes((backup / "master.key").read_bytes())
    (service.data / "shards/0").mkdir(parents=True)
    service.start(wait=False)
    assert service.process.wait(20) == 1
    service.process = None
    service.cli("restore", "--from", backup)
    assert not (service.data / "restoring").exists()
    service.start()
    assert service.cli("verify")["ok"]


def test_a_restore_requires_the_right_master_key(own_backup, new_service):
    key = (own_backup / "master.key").read_bytes()
    (own_backup / "master.key").unlink()
    service = new_service(start=False)
    refused = refusal(service.cli, "restore", "--from", own_backup)
    assert refused.code == "NOT_FOUND" and "master.key" in refused.message
    service.data.mkdir()
    (service.data / "master.key").write_bytes(bytes(32))
    refused = refusal(service.cli, "restore", "--from", own_backup)
    assert refused.code == "DAMAGED" and "master.key" in refused.message
    (service.data / "master.key").write_bytes(key)
    service.cli("restore", "--from", own_backup)
    assert (service.data / "master.key").read_bytes() == key
    service.start()


# Command and service in different mount namespaces

def elsewhere(service, over, *arguments):
    """Runs a command in its own mount namespace, where `over` is an empty file system."""
    script = 'mount -t tmpfs tmpfs "$0" && exec "$@"'
    words = [str(word) for word in (service.program, *arguments, "--data", service.data)]
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, over, *words],
                          capture_output=True, text=True, timeout=60, env=service.environment(), check=False)
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"mount namespaces are not available: {done.stderr.strip()}")
    return done


@pytest.mark.parametrize("name", ["copy", "none"])
def test_a_directory_that_differs_in_the_services_mount_namespace_is_refused(own, tmp_path, name):
    """As with PrivateTmp, the path means another directory for the service than for the command line. The shards' files
    would not be found there."""
    service, over = own.service, tmp_path / "over"
    (over / "copy").mkdir(parents=True)  # the service's own directory of that name
    done = elsewhere(service, over, "backup", over / name)
    assert (done.returncode, done.stdout) == (1, ""), done
    refusal = json.loads(done.stderr)
    assert refusal["code"] == "UNSUPPORTED" and "another directory of that name, or none" in refusal["message"]
    assert [path.name for path in over.rglob("*")] == ["copy"]
    service.cli("backup", over / "copy")
    assert (over / "copy/manifest").exists()
