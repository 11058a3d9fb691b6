"""Files of a running service that somebody removes or puts in its way. Nothing more is accepted than can be kept, what was
accepted before can be saved, and the log names the cause."""
import shutil
import signal
import subprocess
from itertools import count

import pytest
from harness import program_under_test, refusal, wait_for
from patience import PATIENCE
from shop import path_of

JOURNAL, TABLES = "shards/0/journal", "shards/0/db/data.mdb"
TEXT = "x" * 900_000


def journal_at_rest(service):
    """Waits for the segment after the present one, so that nothing is made in the directory. Returns the directory."""
    journal = service.data / JOURNAL
    wait_for(lambda: len(list(journal.glob("*.seg"))) == 2 and not (journal / "next.tmp").exists(), 10, "the next segment")
    return journal


def logged(service, *words):
    wait_for(lambda: [line for line in service.log_lines() if all(word in line for word in words)], 5, f"the line of {words}")


def refused_after(shop, pass_id, most):
    """How many updates were accepted until one was refused for good."""
    for accepted in range(most + 1):
        answer = shop.try_add(pass_id, 1)
        if answer.status == 507:
            answer.is_error(507, "STORAGE_FULL")
            return accepted
        answer.is_empty(202)
    raise AssertionError(f"{most} updates were accepted")


@pytest.mark.parametrize("removed", [JOURNAL, TABLES, "shards"])
def test_a_removed_file(own, new_service, removed, tmp_path):
    """At most the updates of a quarter of a second are accepted once the file is gone. A backup has all of them."""
    service = own.service
    service.expect_log("event=(storage_fails|socket_lost|socket_works)")
    pass_id = own.create()["id"]
    own.add(pass_id, 5)
    journal_at_rest(service)
    path = service.data / removed
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    accepted = 0
    if removed == TABLES:
        wait_for(lambda: own.try_add(pass_id, 0).status == 507, 5, "the removal to be noticed")
    else:
        accepted = refused_after(own, pass_id, 1)
    assert own.get(pass_id)["balance"] == 5 + accepted
    if removed == "shards":
        return logged(service, "event=storage_fails ", "can be read until it stops")
    logged(service, "event=storage_fails ", "take a backup")
    assert service.cli("backup", tmp_path / "backup") == {}
    copy = new_service(shards=1, start=False)
    copy.cli("restore", "--from", tmp_path / "backup")
    copy.start()
    with copy.client(own.key) as client:
        assert client.get(path_of(pass_id)).json["balance"] == 5 + accepted


def test_a_journal_that_takes_no_new_segment(own):
    """Something else than a lack of space: the log names it once, and the writes resume when it is mended."""
    service, pass_id = own.service, own.create()["id"]
    service.expect_log("event=storage_fails ")
    in_the_way = journal_at_rest(service) / "next.tmp"
    with own.service.client(own.key) as client:
        in_the_way.mkdir()
        (in_the_way / "file").touch()

        def is_refused(tries=count()):
            answer = client.patch(path_of(pass_id), {"hidden": {"a": f"{next(tries)}{TEXT}"}})
            assert answer.status in (204, 507), answer
            return answer.status == 507
        wait_for(is_refused, 30, "a segment that cannot be created")
        logged(service, "event=storage_fails ", 'error="Is a directory"')
        shutil.rmtree(in_the_way)
        wait_for(lambda: not is_refused(), 5, "writes to resume")
    logged(service, "event=storage_works ")
    assert sum("event=storage_fails " in line for line in service.log_lines()) == 1


@pytest.mark.parametrize("command", ["backup", "verify"])
def test_a_snapshot_that_cannot_be_written(own, command, tmp_path):
    """The refusal has the system's reason."""
    (own.service.data / "shards/0/snapshots").touch()
    own.create()
    arguments = [tmp_path / "backup"] if command == "backup" else []
    refused = refusal(own.service.cli, command, *arguments)
    assert refused.code == "IO" and refused.message.startswith("Shard 0 cannot read or write one of its files"), refused.message
    assert refused.message.endswith(": Not a directory."), refused.message
    assert not (tmp_path / "backup").exists()


def test_a_backup_without_the_services_lock_file(own, tmp_path):
    (own.service.data / "lock").unlink()
    assert own.service.cli("backup", tmp_path / "backup") == {}


@pytest.fixture
def running_backup(own, tmp_path):
    """(service, process): a backup that takes a second or more, since a snapshot is written at 32 MiB a second."""
    for number in range(40):
        own.create(hidden={"a": TEXT + str(number)})
    process = subprocess.Popen([program_under_test(), "backup", tmp_path / "backup", "--data", own.service.data],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: any((own.service.data / "shards/0").glob("snapshots/*")), 10, "the snapshot to begin")
    yield own.service, process
    process.kill()


@pytest.mark.plain
@pytest.mark.drawn(2)
@pytest.mark.parametrize("signs", [[signal.SIGINT], [signal.SIGTERM, signal.SIGHUP]], ids=["one", "two"])
def test_a_backup_that_is_interrupted_leaves_nothing(running_backup, signs, tmp_path):
    """Also by two signals at once, as a closed terminal sends them."""
    service, process = running_backup
    for sign in signs:
        process.send_signal(sign)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "") and '"STOPPED"' in err, err
    assert not (tmp_path / "backup").exists()
    assert service.cli("backup", tmp_path / "backup") == {}


@pytest.mark.plain
def test_a_service_that_ends_during_a_backup(running_backup, tmp_path):
    """The command says so at once. It does not wait for a shard that may only be busy."""
    service, process = running_backup
    service.kill_everything()
    out, err = process.communicate(timeout=15 * PATIENCE)
    assert (process.returncode, out) == (1, "") and '"NOT_RUNNING"' in err and "has ended meanwhile" in err, err
    assert not (tmp_path / "backup").exists()
