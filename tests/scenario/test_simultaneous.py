"""Several processes that make one data directory at the same moment: one succeeds, and the others say that it is at work."""
import json
import subprocess

import places
import pytest
from harness import refusal, wait_for
from patience import PATIENCE
from shop import Shop
from test_starts import refused


@pytest.fixture(scope="module")
def backup(shared_service):
    Shop(shared_service).close()
    to = shared_service.home / "simultaneous-backup"
    assert shared_service.cli("backup", to) == {}
    return to


# First starts

@pytest.mark.parametrize("holds", ["master.key", "restoring.new", "restoring", "shards/0/journal", "shards/0/snapshots"])
def test_a_directory_that_another_process_is_making(new_service, holds):
    """It holds the lock, and has made this already."""
    service = new_service(start=False, shards=1)
    (service.data / holds).parent.mkdir(parents=True)
    (service.data / holds).touch(mode=0o600)
    with places.locked(service.data / "lock"):
        line = refused(service)
    assert "event=locked " in line and "another stampede is at work on this directory" in line


def test_first_starts_at_the_same_moment(new_service):
    """One makes the directory and serves it."""
    service = new_service(start=False, shards=1)
    starts = [subprocess.Popen([str(word) for word in service.command()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=service.environment()) for _ in range(6)]
    try:
        wait_for(lambda: sum(start.poll() is not None for start in starts) == len(starts) - 1, 30, "all starts but one to end")
        winner = next(start for start in starts if start.poll() is None)
        assert winner.stdout.readline().startswith("ready ")
        for loser in starts:
            if loser is not winner:
                lines = loser.stderr.read().splitlines()
                assert loser.returncode == 1 and len(lines) == 1 and "event=locked " in lines[0], lines
    finally:
        for start in starts:
            if start.poll() is None:
                start.terminate()
            start.communicate(timeout=30 * PATIENCE)
    service.await_nobody()


# Restores

@pytest.mark.parametrize("holds", ["restoring.new", "identity.new", "identity", "shards/0/journal", "shards/0/trust"])
def test_a_restore_into_a_directory_that_another_process_is_making(backup, new_service, holds):
    """It holds the lock, and has made this already."""
    service = new_service(start=False)
    (service.data / holds).parent.mkdir(parents=True)
    (service.data / holds).touch()
    with places.locked(service.data / "lock"):
        error = refusal(service.cli, "restore", "--from", backup)
    assert error.code == "LOCKED" and f"Another stampede is at work on the data directory `{service.data}`" in error.message
    assert sorted(path.name for path in service.data.iterdir()) == sorted({holds.split("/")[0], "lock"})


def test_restores_at_the_same_moment(backup, new_service):
    """One makes the directory. To one that comes later it is complete."""
    service = new_service(start=False)
    words = [service.program, "restore", "--from", backup, "--data", service.data]
    restores = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=service.environment())
                for _ in range(4)]
    done = [(restore.communicate(timeout=60 * PATIENCE)[1], restore.returncode) for restore in restores]
    assert sorted(status for _, status in done) == [0, 1, 1, 1], done
    for text, status in done:
        assert status == 0 or json.loads(text)["code"] == "LOCKED" or "holds identity" in text, text
    service.start()
    assert service.cli("verify")["ok"]
