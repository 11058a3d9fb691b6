"""States that the disk of a running service could have after a crash. A recorder traces the shard's system calls while
clients send requests over HTTP, and each acknowledgement is marked in the same trace. The program `crash` then builds
states from the trace and opens each with the store's own recovery (tests/crash/README.md)."""
import os
import random
import struct
import subprocess
import threading

import pytest
from harness import wait_for
from shop import Shop, path_of

pytestmark = pytest.mark.plain

HEAD = struct.Struct("=IHHQQQQQ")  # struct trace_head
MARK, MARK_OPENED, MARK_BALANCE = 10, 2, 4
CLIENTS, DELTAS, PASSES = 3, 40, 2
STATES, SECONDS = 400, 40


class Trace:
    """Any process may append to a trace. Each entry is one write, so entries keep their order."""

    def __init__(self, path):
        self.path = path
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def mark(self, what, length, data=b""):
        entry = HEAD.pack(HEAD.size + len(data), MARK, 0, 0, 0, 0, what, length) + data
        assert os.write(self.file, entry) == len(entry)

    def close(self):
        os.close(self.file)


def recorded(service, trace):
    """The service's command line, with the recorder on the shard's directory."""
    asan = os.environ.get("ASAN_OPTIONS", "")
    return ["env", f"LD_PRELOAD={service.build / 'tests/crash/recorder.so'}",
            f"ASAN_OPTIONS={asan}:verify_asan_link_order=0",
            f"STAMPEDE_RECORD_DIR={service.data / 'shards/0'}", f"STAMPEDE_RECORD_TRACE={trace.path}",
            *service.command()]


def earn(service, shop, trace, name):
    """One client: creates passes and adds points to them. It marks each acknowledgement before its next request."""
    told = {}
    with service.client(shop.key) as client:
        for number in range(PASSES):
            pass_id = f"{name}-{number}"
            answer = client.post("/v1/passes", {"pass_id": pass_id, "visible": {"name": "Ada"}})
            assert answer.status == 201, answer
            told[pass_id] = 0
            trace.mark(MARK_BALANCE, 0, (shop.account + pass_id).encode())
        for _ in range(DELTAS):
            pass_id, amount = random.choice(list(told)), random.randrange(1, 1000)
            client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": amount}).is_empty(202)
            told[pass_id] += amount
            trace.mark(MARK_BALANCE, told[pass_id], (shop.account + pass_id).encode())


def load(service, shop, trace, life):
    failures = []

    def client(name):
        try:
            earn(service, shop, trace, name)
        except Exception as failure:  # an exception in a thread must fail the test
            failures.append(failure)

    threads = [threading.Thread(target=client, args=(f"life-{life}-client-{i}",)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    service.cli("backup", service.home / f"backup-{life}")  # the shard makes a snapshot meanwhile
    for thread in threads:
        thread.join()
    assert failures == []


def test_every_crash_state_of_a_loaded_shard_keeps_acknowledged_changes(new_service):
    service = new_service(shards=1, start=False)
    trace = Trace(service.home / "trace")
    shop = None
    for life in range(2):
        service.start(command=recorded(service, trace))
        wait_for(service.is_ready, 10, "readiness")
        trace.mark(MARK_OPENED, 0)
        shop = shop or Shop(service)
        load(service, shop, trace, life)
        shop.close()
        assert service.stop() == 0
    trace.close()
    done = subprocess.run([service.build / "tests/crash/crash", "--service", trace.path, "--states", str(STATES),
                           "--seconds", str(SECONDS), *seed()], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr


def seed():
    return ["--seed", os.environ["STAMPEDE_SEED"]] if "STAMPEDE_SEED" in os.environ else []
