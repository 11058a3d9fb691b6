"""Files that are removed from the data directory while the service runs: sockets, and the directory itself."""
import os
import signal

import pytest
from harness import refusal, wait_for
from patience import PATIENCE
from shop import Shop


def lines_of(service, event):
    return [line for line in service.log_lines() if f" event={event} " in line]


def sockets_of(service):
    return {path.name for path in (service.data / "run").iterdir()}


def test_removed_sockets_are_made_again(new_service):
    """Connections stay. Processes that start later, and commands, find the new sockets."""
    service = new_service(shards=2)
    shop = Shop(service)
    before = service.status()["processes"]
    sockets = sockets_of(service)
    assert sockets == {"supervisor", "shard-0", "shard-1"}
    service.expect_log("event=(socket_removed|died) ")
    for number in (1, 2):
        for name in sockets:
            (service.data / "run" / name).unlink()
        assert shop.create()["status"] == "issued"
        wait_for(lambda: sockets_of(service) == sockets, 10, "new sockets")
        wait_for(lambda: len(lines_of(service, "socket_removed")) == number * len(sockets), 10, "a line for each socket")
    assert service.status()["processes"] == before
    for role in ("http", "timer"):
        service.kill_child(role)
    with service.client(shop.key) as client:
        assert client.get("/v1/passes").status == 200
    shop.client.close()
    shop.client = service.client(shop.key)
    assert shop.create()["status"] == "issued"
    for name in sockets:
        assert len([line for line in lines_of(service, "socket_removed") if f" socket=run/{name} " in line]) == 2
    shop.close()


def test_a_missing_socket_of_a_stopped_supervisor_is_named(new_service):
    service = new_service(shards=1)
    service.expect_log("event=socket_removed ")
    os.kill(service.process.pid, signal.SIGSTOP)
    try:
        (service.data / "run" / "supervisor").unlink()
        refused = refusal(service.cli, "status")
    finally:
        os.kill(service.process.pid, signal.SIGCONT)
    assert refused.code == "NOT_RUNNING" and "is in use, but its socket run/supervisor is missing" in refused.message
    assert service.status()["processes"]


@pytest.mark.parametrize("role", ["shard", "timer", "http"])
def test_a_data_directory_that_is_moved_away(new_service, role):
    """A process that cannot start logs why. It starts when the directory is back."""
    service = new_service(shards=1)
    service.expect_log("event=(cannot_start|died) ")
    child, elsewhere = service.pid_of(role), service.home / "elsewhere"
    service.data.rename(elsewhere)
    os.kill(child, signal.SIGKILL)
    wait_for(lambda: lines_of(service, "cannot_start"), 10, "the reason")
    elsewhere.rename(service.data)
    service.await_successor(role, 0, child)
    for line in lines_of(service, "cannot_start"):
        assert f" level=fatal role={role} " in line and f' code=NOT_FOUND data="{service.data}" ' in line, line
        assert 'what="the data directory cannot be opened" error="No such file or directory"' in line, line
    failed = [line for line in lines_of(service, "died") if f"child={role}-0 " in line and " status=1" in line]
    assert len(failed) == len(lines_of(service, "cannot_start")), "one line for each failed start"
    assert not lines_of(service, "stopped") and not lines_of(service, "timer_start")


def test_a_directory_for_sockets_that_is_replaced(new_service):
    """The supervisor's socket is in the old one, where no process that starts would find it."""
    service = new_service(shards=1)
    service.expect_log("event=(died child=http-0|run_removed) ")
    child, run = service.pid_of("http"), service.data / "run"
    run.rename(service.data / "run.old")
    run.mkdir()
    process, service.process = service.process, None
    os.kill(child, signal.SIGKILL)
    assert process.wait(timeout=30 * PATIENCE) == 1
    assert lines_of(service, "run_removed")
    service.start()
    assert service.is_ready()
