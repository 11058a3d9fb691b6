"""The processes as the operator sees them: a stopped or silent process is not ready. Also the table for terminals."""
import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest
from harness import program_under_test, wait_for
from shop import Shop

SOON = 2  # seconds until it is shown


@pytest.fixture(scope="module")
def watched(module_services):
    return module_services(shards=2)


def state_of(service, role, index):
    return {(one["role"], one["index"]): one["state"] for one in service.status()["processes"]}[role, index]


@pytest.mark.parametrize("role, index", [("http", 0), ("shard", 0), ("shard", 1), ("timer", 0)])
def test_a_stopped_process_is_silent(watched, role, index):
    for _ in range(2):
        pid = watched.signal(role, index, signal.SIGSTOP)
        try:
            wait_for(lambda: state_of(watched, role, index) == "silent", SOON, f"{role} to be shown as silent")
            others = {(one["role"], one["index"]): one["state"] for one in watched.status()["processes"]}
            del others[role, index]
            assert set(others.values()) <= {"ready", "starting"}, "http is not ready without a shard"
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: state_of(watched, role, index) == "ready", 5, f"{role} to be ready again")
        assert watched.pid_of(role, index) == pid


def test_a_stopped_process_never_becomes_ready(watched):
    """Messages that the process sent before it was stopped may arrive later. They must not make it ready."""
    for _ in range(5):
        pid = watched.signal("timer", 0, signal.SIGSTOP)
        try:
            wait_for(lambda: state_of(watched, "timer", 0) == "silent", SOON, "silence")
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                assert state_of(watched, "timer", 0) == "silent"
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: state_of(watched, "timer", 0) == "ready", 5, "readiness")


def test_a_stopped_process_that_is_killed_is_restarted(watched):
    watched.expect_log("event=died child=shard-1 ")
    pid = watched.signal("shard", 1, signal.SIGSTOP)
    wait_for(lambda: state_of(watched, "shard", 1) == "silent", SOON, "silence")
    os.kill(pid, signal.SIGKILL)
    watched.await_successor("shard", 1, pid)
    wait_for(lambda: state_of(watched, "shard", 1) == "ready", 5, "readiness")


@pytest.mark.parametrize("role, index", [("shard", 0), ("shard", 1), ("timer", 0)])
def test_readyz_reports_a_stopped_process(watched, role, index):
    wait_for(watched.is_ready, 5, "readiness")
    pid = watched.signal(role, index, signal.SIGSTOP)
    try:
        wait_for(lambda: not watched.is_ready(), 3, "/readyz to report the process")
        with watched.admin() as admin:
            assert admin.get("/healthz").status == 200
            answer = admin.get("/readyz")
        assert answer.status == 503 and answer.seconds < 3
        assert not watched.is_ready()
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(watched.is_ready, 5, "readiness")


def test_a_paused_issuer_does_not_hide_a_stopped_timer(watched):
    watched.cli("issuer", "pause")
    assert watched.is_ready(), "a paused issuer is no fault"
    pid = watched.signal("timer", 0, signal.SIGSTOP)
    try:
        wait_for(lambda: not watched.is_ready(), 3, "/readyz to report the timer")
    finally:
        os.kill(pid, signal.SIGCONT)
    watched.cli("issuer", "resume")
    wait_for(watched.is_ready, 5, "readiness")


def test_a_silent_shard_does_not_delay_the_status_of_others(watched):
    pid = watched.signal("shard", 1, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        status = watched.status()
        assert time.monotonic() - begin < 5
        assert status["shards"][1] == {"index": 1, "error": "SHARD_UNAVAILABLE"} and status["shards"][0]["epoch"]
        assert [one["state"] for one in status["processes"] if (one["role"], one["index"]) == ("shard", 1)] == ["silent"]
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: "error" not in watched.status()["shards"][1], 10, "the shard's answer")


def test_a_stopped_supervisor_does_not_report_silent_processes(watched):
    """When it continues, heartbeats of the stopped time are still queued."""
    before = len(watched.log_lines())
    supervisor = watched.process.pid
    os.kill(supervisor, signal.SIGSTOP)
    time.sleep(2.5)
    os.kill(supervisor, signal.SIGCONT)
    assert {one["state"] for one in watched.status()["processes"]} == {"ready"}
    assert not [line for line in watched.log_lines()[before:] if "event=silent" in line]


# The table for terminals

def on_a_terminal(service, *words):
    """(exit status, the output on a terminal)."""
    master, slave = pty.openpty()
    process = subprocess.Popen([program_under_test(), *words, "--data", service.data], stdin=subprocess.DEVNULL, stdout=slave,
                               stderr=subprocess.PIPE, env=service.environment())
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 20)[0]:
        try:
            more = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        shown += more
    os.close(master)
    assert process.stderr.read() == b""
    process.stderr.close()
    return process.wait(20), shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_a_table(watched):
    code, text = on_a_terminal(watched, "status")
    assert code == 0
    lines = [line.split() for line in text.splitlines()]
    assert ["ROLE", "INDEX", "PID", "STATE", "EPOCH"] in lines
    for one in watched.status()["processes"]:
        assert [one["role"], str(one["index"]), str(one["pid"]), one["state"], str(one["epoch"])] in lines
    assert [line for line in lines if line[:3] == ["SHARD", "ACCOUNTS", "PASSES"]]
    assert "certificate" in text and "deliveries" in text
    assert "{" not in text


def test_a_program_gets_json(watched):
    done = watched.run("status")
    assert json.loads(done.stdout)["processes"]
    assert json.loads(watched.run("status", "--json").stdout)["processes"]
    code, text = on_a_terminal(watched, "status", "--json")
    assert code == 0 and json.loads(text)["processes"]


def test_the_table_warns(watched):
    pid = watched.signal("shard", 1, signal.SIGSTOP)
    try:
        _, text = on_a_terminal(watched, "status")
    finally:
        os.kill(pid, signal.SIGCONT)
    warnings = text.split("Warnings\n")[1]
    assert "shard 1 is silent" in warnings and "shard 1 does not answer" in warnings
    wait_for(lambda: "error" not in watched.status()["shards"][1], 10, "the shard's answer")


def test_the_table_names_the_worst_endpoints(own):
    own.service.cli("account", "set", own.account, "--webhooks", "on")
    assert own.client.post("/v1/webhook-subscriptions", {"url": "https://hooks.invalid/x", "event_types": ["pass.created"]}).status == 201
    own.create()
    wait_for(lambda: own.service.status()["shards"][0]["failing_subscriptions"], 10, "a failed attempt")
    _, text = on_a_terminal(own.service, "status")
    row = next(line for line in text.splitlines() if "hooks.invalid" in line)
    assert own.account in row and "dns" in row


def test_a_host_without_root_certificates(bare):
    """For example a minimal container image."""
    start, folder = bare
    service = start()
    service.expect_log("event=no_root_certificates")
    assert service.status()["root_certificates"] is False
    _, text = on_a_terminal(service, "status")
    assert "no root certificates" in text.split("Warnings\n")[1]
    (folder / "ca-certificates.crt").write_text("a bundle")
    assert service.status()["root_certificates"] is True
