"""The processes: readiness, clean shutdown, deaths and restarts, a journal that is refused, and the configuration."""
import fcntl
import os
import signal
import struct
import time
from pathlib import Path

import pytest
from harness import is_alive, wait_for
from patience import PATIENCE
from raw import refuses
from shop import Shop, new_id, path_of
from test_issuer import shops_on_every_shard

F_OFD_SETLK = 37
NEVER_LONGER = 6 + 2 * PATIENCE  # seconds until any answer: a shard's deadline, its grace, and slack for a busy machine


def send_and_leave(shop, method, path, document=None):
    """Sends a request that is received and not answered: the only http thread has answered later requests of another
    connection."""
    client = shop.service.client(shop.key)
    client.send(method, path, document)
    with shop.service.client() as other:
        for _ in range(3):
            other.get("/nowhere").is_error(404, "ROUTE_NOT_FOUND")
    return client


def send_delta_and_leave(shop, pass_id, amount):
    return send_and_leave(shop, "POST", path_of(pass_id, "/loyalty"), {"balance_to_add": amount})


# Start and stop

def blocks_sigterm(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    mask = next(line.split()[1] for line in lines if line.startswith("SigBlk:"))
    return bool(int(mask, 16) >> (signal.SIGTERM - 1) & 1)


def test_a_stop_during_a_start(new_service):
    """A lock that is still held delays the start."""
    service = new_service(shards=1)
    assert service.stop() == 0
    with open(service.data / "shards/0/lock", "r+b") as held:
        fcntl.fcntl(held, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        service.start(wait=False)
        wait_for(lambda: blocks_sigterm(service.process.pid), 3, "the signal handlers to be installed")
        service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(10) == 0
    service.process = None
    assert service.out_path.read_text() == ""
    service.await_nobody()


def test_a_start_with_closed_standard_descriptors(new_service):
    """Sockets and files must not get the numbers 0 to 2."""
    service = new_service(start=False)
    command = service.command()
    service.start(wait=False, command=["/bin/sh", "-c", 'exec "$0" "$@" <&- >&-', *command])
    wait_for(lambda: "event=ready http=" in service.log_path.read_text(), 10, "the service to be ready")
    address = service.log_path.read_text().split(" http=")[1].split()[0]
    service.http = address.split(":")[0], int(address.split(":")[1])
    shop = Shop(service, ("balance",))
    assert shop.create()["status"] == "issued"
    shop.close()


def test_readiness_line_and_admin_listener(service):
    with service.admin() as admin:
        for path in ("/healthz", "/readyz", "/metrics"):
            assert admin.get(path).status == 200, path
        assert admin.get("/v1/passes").status == 404
        metrics = admin.get("/metrics").body.decode()
    assert "# TYPE" in metrics
    with service.client() as client:
        for path in ("/healthz", "/readyz", "/metrics"):
            client.get(path).is_error(404, "ROUTE_NOT_FOUND")


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_clean_shutdown_keeps_everything(new_service, sig):
    service = new_service()
    shops = shops_on_every_shard(service)
    ids = [shop.create(hidden={"a": 1.25})["id"] for shop in shops]
    for shop, pass_id in zip(shops, ids, strict=True):
        shop.add(pass_id, 11)
    before = [shop.get(pass_id) for shop, pass_id in zip(shops, ids, strict=True)]
    assert service.stop(sig) == 0
    service.start()
    for shop, pass_id, want in zip(shops, ids, before, strict=True):
        shop.client.address = service.http
        got = shop.get(pass_id)
        assert got.pop("download_url").rsplit("/", 1)[1] == want.pop("download_url").rsplit("/", 1)[1]
        assert got == want
        assert shop.list()[1] == 1
        shop.close()


def test_a_stop_answers_outstanding_requests(new_service):
    service = new_service(shards=1)
    shop = Shop(service, ("balance",))
    pass_id = shop.create()["id"]
    shard = service.signal("shard", 0, signal.SIGSTOP)
    client = send_delta_and_leave(shop, pass_id, 5)
    service.process.send_signal(signal.SIGTERM)
    wait_for(lambda: refuses(service.http) and refuses(service.admin_address), 5, "the listeners to close")
    assert is_alive(shard) and service.process.poll() is None
    os.kill(shard, signal.SIGCONT)
    client.receive().is_empty(202)
    client.close()
    assert service.process.wait(15) == 0
    service.process = None
    service.await_nobody()
    service.start()
    shop.client = service.client(shop.key)
    assert shop.get(pass_id)["balance"] == 5
    shop.close()


def test_background_threads_have_a_lower_priority(service):
    """The two list readers, the signer and the snapshotter have it; the thread that answers for the whole shard does not."""
    stats = [stat.read_text().rpartition(")")[2].split() for stat in Path(f"/proc/{service.pid_of('shard')}/task").glob("*/stat")]
    nice = sorted(int(stat[16]) for stat in stats)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert nice.count(min(own + 10, 19)) == 4 and nice.count(own) >= 5, nice


# Deaths

@pytest.mark.parametrize("role, index", [("http", 0), ("shard", 0), ("shard", 1), ("timer", 0)])
def test_a_killed_child_is_restarted_and_the_others_continue(new_service, role, index):
    service = new_service()
    service.expect_log("level=warn")
    shops = shops_on_every_shard(service)
    ids = [shop.create()["id"] for shop in shops]
    before = {(one["role"], one["index"]): (one["pid"], one["epoch"]) for one in service.status()["processes"]}
    begin = time.monotonic()
    service.kill_child(role, index)
    assert time.monotonic() - begin < 5 * PATIENCE
    after = {(one["role"], one["index"]): (one["pid"], one["epoch"]) for one in service.status()["processes"]}
    assert set(after) == set(before)
    for process in after:
        assert (after[process][0] == before[process][0]) == (process != (role, index)), process
    if role == "shard":
        assert after[role, index][1] > before[role, index][1], "a restarted shard has a new epoch"
    for shop, pass_id in zip(shops, ids, strict=True):
        shop.client.close()
        wait_for(lambda shop=shop, pass_id=pass_id: shop.try_add(pass_id, 1).status == 202, 5, "deltas again")
        assert shop.get(pass_id)["balance"] == 1
        wait_for(lambda shop=shop: shop.client.post("/v1/passes", {"pass_id": new_id(), "visible": {"name": "A"}})
                 .status == 201, 5, "creation again")
        shop.close()


def test_a_dead_shard_fails_only_its_own_calls_and_at_once(new_service):
    service = new_service()
    service.expect_log("level=warn")
    shops = shops_on_every_shard(service)
    ids = [shop.create()["id"] for shop in shops]
    old = service.signal("shard", 0, signal.SIGSTOP)
    write = send_delta_and_leave(shops[0], ids[0], 1)
    read = send_and_leave(shops[0], "GET", path_of(ids[0]))
    shops[1].add(ids[1], 1)
    begin = time.monotonic()
    os.kill(old, signal.SIGKILL)
    written, seen = write.receive(), read.receive()
    assert time.monotonic() - begin < PATIENCE, "outstanding calls fail when the shard dies, not at a deadline"
    written.is_error(504, "OUTCOME_UNKNOWN")
    seen.is_error(503, "SHARD_UNAVAILABLE")
    assert seen.headers["retry-after"] == "1"
    service.await_successor("shard", 0, old)
    assert shops[0].get(ids[0])["balance"] in (0, 1)
    for client in (write, read, *shops):
        client.close()


def test_a_stopped_shard_is_not_restarted_and_requests_time_out(new_service):
    service = new_service()
    service.expect_log("level=warn")
    shops = shops_on_every_shard(service)
    ids = [shop.create()["id"] for shop in shops]
    old = service.signal("shard", 1, signal.SIGSTOP)
    write = send_delta_and_leave(shops[1], ids[1], 1)
    read = send_and_leave(shops[1], "GET", path_of(ids[1]))
    shops[0].add(ids[0], 1)
    assert shops[0].create()["status"] == "issued"
    wait_for(lambda: not service.is_ready(), 5, "/readyz to report the shard")
    written, seen = write.receive(), read.receive()
    written.is_error(504, "OUTCOME_UNKNOWN")
    seen.is_error(503, "SHARD_UNAVAILABLE")
    assert max(written.seconds, seen.seconds) < NEVER_LONGER
    assert is_alive(old)
    os.kill(old, signal.SIGCONT)
    wait_for(service.is_ready, 5, "readiness")
    wait_for(lambda: shops[1].try_add(ids[1], 0).status == 202, 5, "the shard")
    assert shops[1].get(ids[1])["balance"] == 0, "a command whose deadline has passed is dropped"
    assert service.pid_of("shard", 1) == old
    for shop in shops:
        shop.close()


def test_readyz_includes_every_http_thread(new_service):
    service = new_service(shards=1, http_threads=4)
    service.expect_log("level=warn")
    shop = Shop(service)
    path = path_of(shop.create()["id"])
    clients = [service.client(shop.key) for _ in range(32)]
    for _ in range(5):
        service.kill_child("shard", 0)
        assert {client.get(path).status for client in clients} == {200}
    for client in (shop, *clients):
        client.close()


def test_a_child_that_keeps_dying(new_service):
    """Back-off delays the restarts, requests are answered quickly meanwhile, and in the end the shard serves again. A
    process that does not run has no pid; `kill 0` would signal the whole group."""
    service = new_service()
    service.expect_log("level=warn")
    shops = shops_on_every_shard(service)
    ids = [shop.create()["id"] for shop in shops]
    seen, shown, added = set(), set(), 0
    end = time.monotonic() + 30 * PATIENCE
    while (len(seen) < 6 or None not in shown) and time.monotonic() < end:
        pid = service.pid_of("shard", 0)
        shown.add(pid)
        if pid and pid not in seen and is_alive(pid):
            seen.add(pid)
            os.kill(pid, signal.SIGKILL)
        answer = shops[0].try_add(ids[0], 1)
        assert answer.status in (202, 503, 504) and answer.seconds < NEVER_LONGER, answer
        added += answer.status == 202
        shops[1].add(ids[1], 1)
    assert len(seen) >= 6
    assert None in shown and 0 not in shown
    wait_for(lambda: shops[0].try_add(ids[0], 0).status == 202, 30, "the shard to serve again")
    assert shops[0].get(ids[0])["balance"] >= added
    for shop in shops:
        shop.close()


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_one_signal_ends_a_shard(new_service, number):
    """The shard has a handler for faults of its tables; a signal that somebody sends acts at once all the same."""
    service = new_service(shards=1)
    service.expect_log("level=warn .*event=died ")
    old = service.signal("shard", 0, number)
    service.await_successor("shard", 0, old)


def test_children_end_with_a_killed_supervisor_and_a_new_one_starts(new_service):
    service = new_service()
    shop = Shop(service, ("balance",))
    pass_id = shop.create()["id"]
    shop.add(pass_id, 4)

    def kill_with_a_stopped_child():
        service.signal("shard", 0, signal.SIGSTOP)
        service.kill()

    for end in (service.kill, service.kill_everything, kill_with_a_stopped_child):
        end()
        begin = time.monotonic()
        service.start()
        assert time.monotonic() - begin < 10 * PATIENCE
        with service.client(shop.key) as client:
            assert client.get(path_of(pass_id)).json["balance"] == 4
    shop.close()


# A refused journal

def last_record(shard):
    """(file, offset) of the last non-empty 4 KiB block of a shard's journal."""
    blocks = []
    for segment in sorted(shard.rglob("*.seg")):
        data = segment.read_bytes()
        blocks += [(segment, at) for at in range(0, len(data), 4096) if any(data[at:at + 4096])][1:]
    return max(blocks)


def test_a_journal_shorter_than_the_tables_is_refused(new_service):
    """The newest acknowledged record is missing on the disk. The start is refused, since other records may be missing
    too."""
    service = new_service(shards=1)
    shop = Shop(service, ("balance",))
    pass_id = shop.create()["id"]
    shop.add(pass_id, 1)
    shop.close()
    assert service.stop() == 0
    segment, offset = last_record(service.data / "shards" / "0")
    with open(segment, "r+b") as file:
        file.seek(offset)
        block = file.read(4096)
        file.seek(offset)
        file.write(bytes(4096))
    done = service.run(*service.command()[1:], data=False)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "level=fatal" in done.stderr
    with open(segment, "r+b") as file:
        file.seek(offset)
        file.write(block)
    service.start()
    with service.client(shop.key) as client:
        assert client.get(path_of(pass_id)).json["balance"] == 1


# Configuration

def test_a_configuration_file(new_service, tmp_path):
    service = new_service(start=False)
    config = tmp_path / "stampede.conf"
    config.write_text(f"# a comment\n\ndata = {service.data}\nlisten = 127.0.0.1:0\n  admin=127.0.0.1:0  \n"
                      "shards = 3\nmax-body = 50\n")
    service.start(command=[service.program, "serve", "--config", config, "--max-body", "4000"])
    status = service.status()
    assert len(status["shards"]) == 3
    shop = Shop(service, ("balance",))
    assert shop.create(hidden={"a": "x" * 500})["status"] == "issued", "the command line overrides the file"
    body = b'{"pass_id":"x"}' + b" " * 4000
    shop.client.post_raw("/v1/passes", body).is_error(413, "PAYLOAD_TOO_LARGE")
    shop.close()


@pytest.mark.parametrize("text", ["shards\n", "= 3\n"])
def test_a_bad_configuration_file(new_service, tmp_path, text):
    service = new_service(start=False)
    config = tmp_path / "stampede.conf"
    config.write_text(text)
    done = service.run("serve", "--config", config)
    assert done.returncode in (1, 2) and done.stdout == "" and done.stderr
    assert not service.data.exists()


@pytest.mark.parametrize("text, says", [
    ("# first\n\ncolour = red\n", "line 3 of {file}: unknown option colour"),
    ("max-body = 4000\r\nmax-boddy = 4000\r\n", "line 2 of {file}: unknown option max-boddy, did you mean max-body?"),
    ("\ufeffshards = many\n", "line 1 of {file}: --shards: wants a whole number from 1 to 64, not many"),
])
def test_a_bad_line_of_a_file_is_named(new_service, tmp_path, text, says):
    service = new_service(start=False)
    config = tmp_path / "stampede.conf"
    config.write_bytes(text.encode())
    done = service.run("serve", "--config", config)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("stampede: " + says.format(file=config)), done.stderr
    assert not service.data.exists()


def test_a_file_of_another_editor(new_service, tmp_path):
    """A byte order mark and CRLF line ends."""
    service = new_service(start=False)
    config = tmp_path / "stampede.conf"
    config.write_bytes(f"\ufeffshards = 3\r\n# a comment\r\ndata = {service.data}\r\n".encode())
    service.start(command=[service.program, "serve", "--config", config, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
    assert len(service.status()["shards"]) == 3


@pytest.mark.parametrize("url", ["https://passes.example", "https://passes.example/", "https://passes.example//"])
def test_a_public_url(new_service, url):
    """It may have slashes at its end."""
    service = new_service(shards=1, options=["--public-url", url])
    shop = Shop(service, ("balance",))
    assert shop.create()["download_url"].startswith("https://passes.example/p/")
    shop.close()


@pytest.mark.parametrize("every", ["0.0.0.0", "[::]"])
def test_links_that_lead_nowhere_are_reported(new_service, every):
    """The default for --public-url is the address of --listen, here every address of this host."""
    service = new_service(start=False, shards=1)
    service.expect_log("event=public_url_unset ")
    service.start(command=service.command(listen=f"{every}:0"))
    assert any(f"event=public_url_unset public_url=http://{every}:" in line for line in service.log_lines())
