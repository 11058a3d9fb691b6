"""Only SIGTERM and SIGINT end the service, whichever of its processes receives a signal."""
import os
import pty
import signal
import subprocess
import time

import pytest
from harness import READY_SECONDS, is_alive, wait_for
from shop import Shop

# Not tested: signals that cannot be caught, and those that a fault of the program itself raises.
UNCATCHABLE = {signal.SIGKILL, signal.SIGSTOP}
ENDING = {signal.SIGTERM, signal.SIGINT}
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGSYS}
# Numbers, because the C library has no names for the first two real-time signals and most others.
HARMLESS = [number for number in range(1, 65) if number not in UNCATCHABLE | ENDING | FAULTS]
PROCESSES = [("http", 0), ("shard", 0), ("shard", 1), ("timer", 0)]


def is_stopped(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def pids(service):
    return {(one["role"], one["index"]): one["pid"] for one in service.status()["processes"]}


def works_as_before(service, shop, before):
    """The same processes serve requests, and none of them is stopped. A host that stalls makes the service unready for a moment."""
    wait_for(service.is_ready, READY_SECONDS, "the service to be ready")
    shop.add(shop.create()["id"], 1)
    assert pids(service) == before
    assert service.process.poll() is None and service.is_ready()
    assert not [pid for pid in (service.process.pid, *before.values()) if is_stopped(pid)]


@pytest.fixture(scope="module")
def steady(module_services):
    shop = Shop(module_services(shards=2), ("balance",))
    yield shop
    shop.close()


@pytest.mark.parametrize("number", HARMLESS)
def test_signals_to_every_process(steady, number):
    service = steady.service
    before = pids(service)
    for pid in (service.process.pid, *before.values()):
        os.kill(pid, number)
    works_as_before(service, steady, before)


@pytest.mark.parametrize("number", sorted(FAULTS))
def test_fault_signals_sent_to_the_supervisor(steady, number):
    before = pids(steady.service)
    os.kill(steady.service.process.pid, number)
    works_as_before(steady.service, steady, before)


@pytest.mark.parametrize("role, index", PROCESSES)
def test_children_ignore_sigint(steady, role, index):
    """A terminal sends SIGINT to all processes at once; only the supervisor acts on it."""
    before = pids(steady.service)
    os.kill(before[role, index], signal.SIGINT)
    works_as_before(steady.service, steady, before)


def test_signals_to_a_starting_process(new_service):
    service = new_service(shards=1, start=False).start(wait=False)
    wait_for(lambda: "event=started child=http-0" in "\n".join(service.log_lines()), READY_SECONDS, "a child")
    for pid in service.processes_alive():
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM, 34):
            os.kill(pid, number)
    service.wait_ready()
    assert not [line for line in service.log_lines() if "event=died" in line]


def test_a_start_with_ignored_signals(new_service):
    """A shell ignores SIGINT for background jobs, and nohup ignores SIGHUP. The service must still handle them."""
    def ignore():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)

    service = new_service(shards=1, start=False)
    with open(service.home / "out", "wb") as out, open(service.log_path, "ab") as log:
        service.out_path = service.home / "out"
        service.process = subprocess.Popen(service.command(), stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                                           env=service.environment(), preexec_fn=ignore)
    service.wait_ready()
    service.expect_log("event=died child=timer-0 ")
    service.kill_child("timer")
    service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "event=reloaded" in "\n".join(service.log_lines()), 5, "a reload")
    assert service.stop(signal.SIGINT) == 0


def test_a_closed_terminal(new_service):
    """The session leader gets SIGHUP, and later log lines cannot be written. The service must continue."""
    service = new_service(shards=1, start=False)
    service.out_path = service.home / "out"
    service.out_path.write_bytes(b"")
    pid, master = pty.fork()
    if pid == 0:
        out = os.open(service.out_path, os.O_WRONLY)
        os.dup2(out, 1)
        os.execve(service.program, list(map(str, service.command())), service.environment())
    wait_for(lambda: service.out_path.read_text().endswith("\n"), READY_SECONDS, "the readiness line")
    before = pids(service)
    os.close(master)
    begin = time.monotonic()
    while time.monotonic() - begin < 1:
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)
        assert pids(service) == before
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    wait_for(lambda: not any(map(is_alive, before.values())), 5, "the children to end")
