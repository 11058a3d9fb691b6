"""Where commands write: a backup keeps others out of its directory, files of a data directory are no target, and no command
leaves files that the service's user cannot read."""
import fcntl
import os
import subprocess

import places
import pytest
from harness import Service, refusal
from shop import Shop

pytestmark = pytest.mark.plain  # files and words
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


@pytest.fixture(scope="module")
def served():
    service = Service(shards=1).start()
    Shop(service).close()
    yield service
    assert service.close() == []


@pytest.fixture(scope="module")
def backup(served):
    to = served.home / "backup"
    served.cli("backup", to)
    return to


# Backups

def test_two_backups_into_one_directory(served, tmp_path):
    """The second one is refused and leaves the files of the first one."""
    (to := tmp_path / "to").mkdir()
    fd = os.open(to, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)  # as the first one holds it
    refused = refusal(served.cli, "backup", to)
    assert refused.code == "LOCKED" and "Another backup is being written to the directory" in refused.message
    (to / "manifest").write_text("of the first")
    refusal(served.cli, "backup", to)
    assert [path.name for path in to.iterdir()] == ["manifest"]
    os.close(fd)
    assert "is not empty" in refusal(served.cli, "backup", to).message


def test_many_backups_at_once(served, tmp_path):
    """Into a directory that exists or not, one succeeds, and its backup is whole."""
    for number, exists in enumerate([True, False] * 5):
        to = tmp_path / str(number)
        if exists:
            to.mkdir()
        command = [served.program, "backup", to, "--data", served.data]
        several = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        results = [(one.communicate(timeout=120), one.returncode) for one in several]
        assert [code for _, code in results].count(0) == 1, results
        assert sorted(path.name for path in to.iterdir()) == ["manifest", "master.key", "shards"], results
        restored = tmp_path / f"{number}-restored"
        done = subprocess.run([served.program, "restore", "--from", to, "--data", restored], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_backup_that_did_not_come_to_its_end(served, tmp_path):
    (to := tmp_path / "to").joinpath("shards/0").mkdir(parents=True)
    assert "holds a backup that did not come to its end" in refusal(served.cli, "backup", to).message


def test_a_backup_onto_a_data_directory(served, new_service):
    """It is not called a backup that may be removed."""
    other = new_service(shards=1)
    refused = refusal(served.cli, "backup", other.data)
    assert refused.code == "LOCKED" and "is a data directory in use" in refused.message
    other.stop()
    assert "is not empty" in refusal(served.cli, "backup", other.data).message


# Files of a data directory

@pytest.mark.parametrize("where", ["shards/0/db/backup", "shards/0/journal/00000000000000000099.seg", "shards/1", "run/backup", "shards/0/a/b"])
def test_a_backup_among_the_files_of_a_service(served, where):
    to = served.data / where
    if where.endswith("a/b"):
        to.parent.mkdir()
    assert "is among the files of a data directory" in refusal(served.cli, "backup", to).message
    assert not to.exists()
    if where.endswith("a/b"):
        to.parent.rmdir()


def test_a_restore_among_the_files_of_a_service(served, backup):
    to = served.data / "shards" / "7"
    done = subprocess.run([served.program, "restore", "--from", backup, "--data", to], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "is among the files of a data directory" in done.stderr
    assert not to.exists()


# Owners

@as_root
def test_a_restore_into_a_directory_of_another_user(served, backup, tmp_path):
    (to := tmp_path / "to").mkdir()
    os.chown(to, NOBODY, NOBODY)
    done = subprocess.run([served.program, "restore", "--from", backup, "--data", to], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "belongs to user 65534" in done.stderr and "run this as its owner" in done.stderr
    assert list(to.iterdir()) == []


@as_root
def test_adopting_the_key_of_another_users_directory(new_service):
    service = new_service(shards=1)
    service.stop()
    os.chown(service.data / "identity", NOBODY, NOBODY)
    before = (service.data / "identity").read_bytes()
    assert "belongs to user 65534" in refusal(service.cli, "adopt").message
    assert (service.data / "identity").read_bytes() == before and (service.data / "identity").stat().st_uid == NOBODY


@as_root
def test_a_service_on_another_users_directory(new_service):
    service = new_service(shards=1)
    service.stop()
    os.chown(service.data / "identity", NOBODY, NOBODY)
    service.expect_log("event=data_directory_of_other ")
    service.start()
    assert any("event=data_directory_of_other " in line and "owner=65534 user=0" in line for line in service.log_lines())


# Sentences

def test_a_command_beside_another_one(new_service):
    service = new_service(shards=1)
    service.stop()
    with places.locked(service.data / "lock"):
        refused = refusal(service.cli, "verify")
        assert refused.code == "LOCKED" and "Another command, or a service that is starting" in refused.message
        assert "Another command, or a service that is starting" in refusal(service.cli, "account", "list").message


@pytest.mark.parametrize("command", [("restore", "--from", "x"), ("adopt",), ("verify",), ("status",), ("account", "list")])
def test_an_empty_name_of_the_data_directory(served, command):
    done = subprocess.run([served.program, *command, "--data", ""], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "The name of the data directory is empty" in done.stderr, done
