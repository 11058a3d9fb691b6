"""No signal but TERM and INT ends the service, whichever of its processes it comes to."""
import os
import pty
import signal
import subprocess
import time

import pytest
from harness import READY_SECONDS, is_alive, wait_for
from shop import Shop

# Not asked for here: what nobody can catch, and what is sent to a program by its own fault.
UNCATCHABLE = {signal.SIGKILL, signal.SIGSTOP}
ENDING = {signal.SIGTERM, signal.SIGINT}
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGSYS}
# By number, since the C library names neither the first two real-time signals nor those between the ends.
HARMLESS = [number for number in range(1, 65) if number not in UNCATCHABLE | ENDING | FAULTS]
PROCESSES = [("http", 0), ("shard", 0), ("shard", 1), ("timer", 0)]


def is_stopped(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def pids(service):
    return {(one["role"], one["index"]): one["pid"] for one in service.status()["processes"]}


def works_as_before(service, shop, before):
    """The same processes serve, none of them stopped."""
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
def test_to_every_process(steady, number):
    service = steady.service
    before = pids(service)
    for pid in (service.process.pid, *before.values()):
        os.kill(pid, number)
    works_as_before(service, steady, before)


@pytest.mark.parametrize("number", sorted(FAULTS))
def test_a_fault_that_somebody_sends_the_supervisor(steady, number):
    before = pids(steady.service)
    os.kill(steady.service.process.pid, number)
    works_as_before(steady.service, steady, before)


@pytest.mark.parametrize("role, index", PROCESSES)
def test_only_the_supervisor_heeds_an_interrupt(steady, role, index):
    """A terminal sends it to all at once."""
    before = pids(steady.service)
    os.kill(before[role, index], signal.SIGINT)
    works_as_before(steady.service, steady, before)


def test_as_they_come_to_a_process_that_begins(new_service):
    service = new_service(shards=1, start=False).start(wait=False)
    wait_for(lambda: "event=started child=http-0" in "\n".join(service.log_lines()), READY_SECONDS, "a child")
    for pid in service.processes_alive():
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM, 34):
            os.kill(pid, number)
    service.wait_ready()
    assert not [line for line in service.log_lines() if "event=died" in line]


def test_who_starts_us_may_have_signals_ignored(new_service):
    """A shell that starts us in the background has interrupts ignored, nohup hangups."""
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


def test_a_terminal_that_closes(new_service):
    """Its end comes to the process that leads the session, as a hangup; what is logged later has nowhere to go."""
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
