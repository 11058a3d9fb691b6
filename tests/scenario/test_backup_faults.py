"""Backups beside a shard that is stopped, silent or dies, after a killed one, and beside each other."""
import json
import os
import shutil
import signal
import subprocess

import pytest
from harness import wait_for
from patience import PATIENCE
from shop import Shop

SILENT_SECONDS = 9  # longer than a call may take


def begin_backup(service, to):
    return subprocess.Popen([service.program, "backup", to, "--data", service.data], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=service.environment())


def expect_failure(command, shard, to):
    out, err = command.communicate(timeout=30 * PATIENCE)
    assert (command.returncode, out) == (1, "")
    refused = json.loads(err)
    assert refused["code"] == "SHARD_UNAVAILABLE" and refused["message"].startswith(f"Shard {shard}: "), err
    assert not to.exists(), "what was written is still there"
    return refused["message"]


def test_a_backup_with_a_stopped_shard_fails_and_leaves_no_files(new_service, tmp_path):
    service = new_service()
    pid = service.signal("shard", 1, signal.SIGSTOP)
    expect_failure(begin_backup(service, tmp_path / "backup"), 1, tmp_path / "backup")
    os.kill(pid, signal.SIGCONT)
    assert service.cli("backup", tmp_path / "backup") == {}


def slow_to_back_up(new_service):
    service = new_service(shards=1)
    shop = Shop(service)
    for number in range(100):  # enough data to make the snapshot slow
        shop.create(hidden={"load": f"{number % 10}" * 100000})
    shop.close()
    return service


def await_snapshot(service):
    snapshots = service.data / "shards" / "0" / "snapshots"
    wait_for(lambda: snapshots.exists() and list(snapshots.iterdir()), 10, "the snapshot to begin")


def test_a_backup_waits_for_a_shard_that_does_not_answer_for_a_while(new_service, tmp_path):
    service = slow_to_back_up(new_service)
    command = begin_backup(service, tmp_path / "backup")
    await_snapshot(service)
    pid = service.signal("shard", 0, signal.SIGSTOP)
    with pytest.raises(subprocess.TimeoutExpired):
        command.wait(SILENT_SECONDS)
    os.kill(pid, signal.SIGCONT)
    assert command.communicate(timeout=30 * PATIENCE) == ("{}\n", "")


def test_a_backup_after_a_killed_one_of_the_same_name(new_service, tmp_path):
    """The job of the first one goes on. It must not write into the directory of the second one."""
    service, to = slow_to_back_up(new_service), tmp_path / "backup"
    command = begin_backup(service, to)
    await_snapshot(service)
    command.kill()
    command.communicate()
    shutil.rmtree(to)
    assert service.cli("backup", to) == {}
    assert (to / "manifest").exists()


def test_a_backup_whose_shard_dies_fails_and_leaves_no_files(new_service, tmp_path):
    service = slow_to_back_up(new_service)
    service.expect_log("event=died")
    pid = service.pid_of("shard")
    command = begin_backup(service, tmp_path / "backup")
    await_snapshot(service)
    os.kill(pid, signal.SIGKILL)
    expect_failure(command, 0, tmp_path / "backup")
    wait_for(service.is_ready, 20, "the shard's successor")
    assert service.cli("backup", tmp_path / "again") == {}
    assert service.cli("verify")["ok"]


def test_concurrent_backups_run_one_after_the_other(shared_service, tmp_path):
    commands = [begin_backup(shared_service, tmp_path / name) for name in "abcd"]
    for command in commands:
        assert command.communicate(timeout=60 * PATIENCE) == ("{}\n", "")
    assert all((tmp_path / name / "manifest").exists() for name in "abcd")
