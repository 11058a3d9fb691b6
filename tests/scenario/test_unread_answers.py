"""Unread answers: the bytes that a shard holds for http and for commands are limited. Once they are read, everything
continues."""
import json
import os
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from harness import wait_for
from raw import connect
from shop import Shop, path_of

pytestmark = pytest.mark.plain

MIB = 1 << 20
TO_HTTP = 64 * MIB      # ANSWERS_SHARD_BYTES_MAX
TO_COMMANDS = 24 * MIB  # ANSWERS_COMMANDS_BYTES_MAX
SLACK = 80 * MIB        # working memory of the readers and the writer
LARGE = 60              # passes of a megabyte each
STILL_SECONDS = 4
REFUSALS = ("OVERLOADED", "SHARD_UNAVAILABLE", "NOT_RUNNING")  # of a command that was stopped for so long
WIDE = {"name": "Wide", "loyalty_type": "none",
        "fields": [{"key": f"k{i}", "label": "l" * 200, "type": "text"} for i in range(64)]}


def anonymous(pid):
    """Anonymous memory of the process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


def most_within(pid, seconds):
    end, most = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        most = max(most, anonymous(pid))
        time.sleep(0.05)
    return most


def ask(shop, path):
    """A connection that sends the request and reads as little as possible."""
    client = connect(shop.service.http)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shop.key}\r\n\r\n".encode())
    return client


@pytest.fixture
def large(own):
    own.ids = [own.create(hidden={"x": "y" * 990_000})["id"] for _ in range(LARGE)]
    return own


def goes_on(shop, balance):
    """Deltas, single passes and lists succeed, and acknowledged changes are present."""
    pass_id = shop.ids[0]
    wait_for(lambda: shop.client.get(path_of(shop.ids[1])).status == 200, 15, "a pass to be read again")
    listed = wait_for(lambda: (got := shop.client.get(f"/v1/passes?limit={LARGE}")).status == 200 and got, 15, "a list to succeed again")
    assert len(listed.json) == LARGE
    before = shop.get(pass_id)["balance"]
    assert before == balance
    shop.add(pass_id, 1)
    assert shop.get(pass_id)["balance"] == balance + 1


@pytest.mark.parametrize("what", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("lists", "passes")), "both"])
def test_a_stopped_http_process(large, what):
    service, shard = large.service, large.service.pid_of("shard")
    http = service.pid_of("http")
    before = anonymous(shard)
    large.add(large.ids[0], 7)
    with ExitStack() as stack:
        for number in range(200):
            is_list = what == "lists" or (what == "both" and number % 2)
            path = f"/v1/passes?limit={LARGE}" if is_list else path_of(large.ids[number % LARGE])
            stack.enter_context(closing(ask(large, path)))
        time.sleep(0.1)
        os.kill(http, signal.SIGSTOP)
        try:
            most = most_within(shard, STILL_SECONDS)
        finally:
            os.kill(http, signal.SIGCONT)
        assert most - before < TO_HTTP + SLACK, f"{(most - before) // MIB} MiB more"
    goes_on(large, 7)


def test_slow_clients(large):
    """http reads the shard's answers, and refuses requests when its own limit is reached. The shard's memory must not
    grow."""
    shard = large.service.pid_of("shard")
    before = anonymous(shard)
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(closing(ask(large, f"/v1/passes?limit={LARGE}")))
        most = most_within(shard, STILL_SECONDS)
        assert most - before < TO_HTTP + SLACK, f"{(most - before) // MIB} MiB more"
    goes_on(large, 0)


@pytest.mark.alone
def test_lists_wait_for_a_slow_reader(large):
    """A list much larger than the limit of unread bytes arrives completely, if each part makes progress within two seconds. What
    earlier tests left unread may be on its way still."""
    path = f"/v1/passes?limit={LARGE}"
    wait_for(lambda: large.client.get(path).status == 200, 10, "what was left unread to go")
    for _ in range(3):
        passes, total, _ = large.list(f"?limit={LARGE}")
        assert len(passes) == total == LARGE


# Commands

class Commands:
    """Many processes of one command, which can be stopped."""

    def __init__(self, service, count, *arguments):
        self.running = [subprocess.Popen([service.program, *map(str, arguments), "--data", service.data], env=service.environment(),
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(count)]

    def signal(self, sig):
        for one in self.running:
            if one.poll() is None:
                one.send_signal(sig)

    def results(self):
        """The output of each command, or the code of its refusal."""
        for one in self.running:
            out, err = one.communicate(timeout=60)
            assert one.returncode in (0, 1), err
            yield json.loads(out) if one.returncode == 0 else json.loads(err)["code"]


def wide_shop(new_service, templates):
    shop = Shop(new_service(shards=1), ("balance",))
    for _ in range(templates):
        shop.put_template(WIDE)
    shop.ids = [shop.create()["id"]]
    return shop


def test_stopped_commands(new_service):
    """Some are stopped before their request, some after their answer, most in between."""
    shop = wide_shop(new_service, templates=150)
    service, shard = shop.service, shop.service.pid_of("shard")
    assert len(json.dumps(service.cli("template", "list", shop.account))) > 2 * MIB
    before = anonymous(shard)
    commands = []
    try:
        for tenth in range(1, 7):
            commands.append(Commands(service, 20, "template", "list", shop.account))
            time.sleep(tenth / 20)
            commands[-1].signal(signal.SIGSTOP)
        most = most_within(shard, STILL_SECONDS)
        assert most - before < TO_COMMANDS + SLACK, f"{(most - before) // MIB} MiB more"
        # HTTP clients are not affected.
        shop.add(shop.ids[0], 5)
        assert shop.client.get("/v1/passes").status == 200
        assert shop.get(shop.ids[0])["balance"] == 5
    finally:
        for some in commands:
            some.signal(signal.SIGCONT)
    for some in commands:
        for result in some.results():
            assert result in REFUSALS or len(result) == 151, result
    assert len(wait_for(lambda: listed(service, shop), 10, "a list to succeed again")) == 151


def listed(service, shop):
    done = service.run("template", "list", shop.account)
    return done.returncode == 0 and json.loads(done.stdout)


def test_killed_commands_hold_no_memory(new_service):
    """The answers to any number of killed commands are released within a moment."""
    shop = wide_shop(new_service, templates=100)
    for _ in range(3):
        commands = Commands(shop.service, 40, "template", "list", shop.account)
        time.sleep(0.2)
        commands.signal(signal.SIGSTOP)
        time.sleep(0.3)
        commands.signal(signal.SIGKILL)
        for one in commands.running:
            one.communicate(timeout=20)
    assert len(wait_for(lambda: listed(shop.service, shop), 10, "a list to succeed again")) == 101
