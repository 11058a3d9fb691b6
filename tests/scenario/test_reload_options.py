"""Options that a reload changes in a running service: each one takes effect."""
import contextlib
import json
import signal
import socket

import pytest
from configured import Configured, metric, readable
from deliveries import hooked_shop, posts_to
from harness import wait_for
from patience import PATIENCE
from receiver import Receiver
from shop import Shop, path_of


@pytest.fixture
def plain(new_service, tmp_path):
    return Configured(new_service, tmp_path, tls=False)


def test_reloadable_options_change(plain):
    service = plain.service
    shop = Shop(service, ("balance",))
    assert shop.create(hidden={"a": "x" * 500})["status"] == "issued"
    plain.write("max-body = 200", "cors-origin = https://till.example")
    answer = plain.reload()
    assert sorted(answer["changed"]) == ["cors-origin", "max-body"] and answer["needs_restart"] == []
    shop.client.post_raw("/v1/passes", b'{"pass_id":"x"}' + b" " * 400).is_error(413, "PAYLOAD_TOO_LARGE")
    seen = shop.client.get("/v1/passes", headers={"Origin": "https://till.example"})
    assert seen.headers["access-control-allow-origin"] == "https://till.example"
    plain.write("cors-origin = https://other.example")
    assert plain.reload()["changed"] == ["cors-origin", "max-body"]
    assert shop.create(hidden={"a": "x" * 500})["status"] == "issued"
    assert "access-control-allow-origin" not in shop.client.get("/v1/passes", headers={"Origin": "https://till.example"}).headers
    assert plain.reload()["changed"] == []
    shop.close()


def test_idle_timeout(plain):
    """The new timeout also applies to open connections."""
    plain.write("keep-alive = 1h")
    plain.reload()
    with plain.service.client() as client:
        assert client.get("/v1/passes").headers["keep-alive"] == "timeout=3600"
        plain.write("keep-alive = 5s")
        assert plain.reload()["changed"] == ["keep-alive"]
        wait_for(lambda: client.connection.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"" if readable(client.connection.sock)
                 else False, 15, "the connection to be closed")


def test_log_level(plain):
    """In the supervisor and its processes, to a lower level and back."""
    service = plain.service
    plain.write("log-level = warn")
    assert plain.reload()["changed"] == ["log-level"]
    before = len(service.log_lines())
    assert plain.reload()["changed"] == []
    assert service.log_lines()[before:] == []
    plain.write()
    plain.reload()
    wait_for(lambda: any("event=reloaded" in line for line in service.log_lines()[before:]), 5, "lines of the lower level")


LONG = {  # values, and the refusal
    "one": (["https://" + "a" * 140_000], "--cors-origin: a value of 140008 bytes, more than 65536"),
    "all together": (["https://" + "a" * 60_000] * 5, "--cors-origin: the longest value of options that have "),
}


@pytest.mark.parametrize("origins, says", LONG.values(), ids=list(LONG))
def test_values_that_no_process_could_be_started_with(plain, new_service, origins, says):
    """They become arguments of the processes that a service restarts, and the kernel limits those."""
    service = plain.service
    plain.write(*(f"cors-origin = {origin}" for origin in origins))
    plain.is_refused(says)
    service.expect_log("event=died child=http-0 .* signal=9")
    service.kill_child("http")
    other = new_service(start=False)
    refused = [other.run("serve", "--config", plain.conf)]
    if len(origins) > 1:  # the kernel refuses a single argument of that length to the test, too
        refused.append(other.run("serve", *(word for origin in origins for word in ("--cors-origin", origin))))
    for done in refused:
        assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith(f"stampede: {says}"), done.stderr[-300:]
    assert not other.data.exists()
    plain.write("cors-origin = https://" + "a" * 60_000)
    assert plain.reload()["changed"] == ["cors-origin"]
    service.kill_child("http")


@pytest.mark.plain  # the sanitizers need more stack
def test_options_that_are_too_long_for_the_stacks_limit(new_service, tmp_path):
    """The kernel gives arguments a part of that limit, at least 128 KiB."""
    config = tmp_path / "stampede.conf"
    config.write_text("".join(f"cors-origin = https://{'a' * 60_000}\n" for _ in range(4)))
    service = new_service(start=False, shards=1, options=["--config", str(config)])
    service.expect_log("event=(died|start_failed) ")
    service.start(wait=False, command=["sh", "-c", 'ulimit -s 512 && exec "$@"', "serve", *service.command()])
    process, service.process = service.process, None
    assert process.wait(timeout=30 * PATIENCE) == 1
    died = [line for line in service.log_lines() if " event=died " in line]
    assert died and all(' reason="the program cannot be executed" error="Argument list too long"' in line for line in died), died


def is_let_in(service):
    try:
        with service.client() as client:
            return client.get("/v1/passes").status == 401
    except OSError:
        return False


def test_connections_per_address(plain):
    """Connections opened before the reload count, but none is closed."""
    service = plain.service
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(service.client()) for _ in range(4)]
        assert [client.get("/v1/passes").status for client in held] == [401] * 4
        plain.write("connections-per-address = 4")
        assert plain.reload()["changed"] == ["connections-per-address"]
        assert not is_let_in(service)
        plain.write("connections-per-address = 2")
        plain.reload()
        assert [client.get("/v1/passes").status for client in held] == [401] * 4
        held.pop().close()
        held.pop().close()
        assert not is_let_in(service), "two connections are still open"
        held.pop().close()
        wait_for(lambda: is_let_in(service), 10, "room for another connection")
        plain.write("connections-per-address = 0")
        plain.reload()
        more = [stack.enter_context(service.client()) for _ in range(5)]
        assert [client.get("/v1/passes").status for client in more] == [401] * 5
    assert metric(service, "stampede_http_connections_refused_total") >= 2
    assert service.unexpected_lines() == []


def test_access_log(plain, tmp_path):
    """From none to a file, to another file, to stderr, and to none. A line has the id of the request's key, which only
    the shard knows."""
    service, first, second = plain.service, tmp_path / "first.log", tmp_path / "second.log"
    shop = Shop(service, ("balance",))

    def ask(path=None):
        """Sends a request and waits for its line."""
        answer = shop.client.get("/v1/passes")
        wanted = f'"request_id":"{answer.headers["x-request-id"]}"'
        if path:
            wait_for(lambda: path.exists() and wanted in path.read_text(), 10, f"{wanted} in {path}")
            [line] = [json.loads(one) for one in path.read_text().splitlines() if wanted in one]
            assert (line["status"], line["account"]) == (200, shop.account) and line["key_id"]
        return wanted

    quiet = [ask()]
    for path in (first, second):
        plain.write(f"access-log = {path}")
        assert plain.reload()["changed"] == ["access-log"]
        ask(path)
    before = first.read_text()
    service.expect_log(r'^\{"time"')
    plain.write("access-log = -")
    plain.reload()
    wanted = ask()
    wait_for(lambda: wanted in service.log_path.read_text(), 10, "a line on stderr")
    plain.write()
    assert plain.reload()["changed"] == ["access-log"]
    quiet.append(ask())
    plain.write(f"access-log = {second}")
    plain.reload()
    ask(second)
    told = first.read_text() + second.read_text() + service.log_path.read_text()
    assert first.read_text() == before and not any(one in told for one in quiet)
    service.expect_log("event=died child=http-0 ")
    service.kill_child("http")
    shop.client = service.client(shop.key)
    ask(second)
    shop.close()


def test_an_access_log_that_cannot_be_opened_changes_nothing(plain, tmp_path):
    shop = Shop(plain.service, ("balance",))
    good = tmp_path / "good.log"
    plain.write(f"access-log = {good}")
    plain.reload()
    plain.write("max-body = 200", f"access-log = {tmp_path}/none/bad.log")
    plain.is_refused("--access-log")
    assert shop.create(hidden={"a": "x" * 500})["status"] == "issued", "no option may change"
    wait_for(lambda: '"status":201' in good.read_text(), 10, "the access log to continue")
    assert not (tmp_path / "none").exists()
    good.unlink()
    good.mkdir()  # the log in use does not block other changes
    plain.service.expect_log("event=access_log_stalled .*Is a directory")
    plain.write("max-body = 200", f"access-log = {good}")
    assert plain.reload()["changed"] == ["max-body"]
    shop.client.post_raw("/v1/passes", b'{"pass_id":"x"}' + b" " * 400).is_error(413, "PAYLOAD_TOO_LARGE")
    shop.close()


def test_idempotency_keys(plain):
    shop = Shop(plain.service, ("balance",))
    shop.create("ada")

    def add(key):
        answer = shop.client.post(path_of("ada", "/loyalty"), {"balance_to_add": 1}, headers={"Idempotency-Key": key})
        assert answer.status == 202
        return answer.headers.get("idempotency-replayed") == "true"

    assert [add(f"key-{number}") for number in range(6)] == [False] * 6
    assert add("key-0")
    plain.write("idempotency-keys = 3")
    assert plain.reload()["changed"] == ["idempotency-keys"]
    assert not add("key-6") and add("key-4") and not add("key-0")
    assert shop.get("ada")["balance"] == 8
    shop.close()


def test_changed_options_apply_to_processes_started_later(plain):
    plain.write("max-body = 200")
    plain.reload()
    plain.service.expect_log("event=died child=http-0 ")
    plain.service.kill_child("http")
    shop = Shop(plain.service, ("balance",))
    shop.client.post_raw("/v1/passes", b'{"pass_id":"x"}' + b" " * 400).is_error(413, "PAYLOAD_TOO_LARGE")
    shop.close()


def test_egress_allow(plain, authority, chain, tmp_path):
    """The shard checks it when a subscription is created, and the timer at each attempt."""
    shop = Shop(plain.service, ("balance",), functions=("--webhooks",))
    with Receiver(chain) as receiver:
        body = {"url": receiver.url("/status/200"), "event_types": ["pass.created"]}
        shop.client.post("/v1/webhook-subscriptions", body).is_error(400, "INVALID_WEBHOOK_URL", "url")
        plain.write("egress-allow = 127.0.0.0/8", f"egress-ca = {authority.root}")
        assert plain.reload()["changed"] == ["egress-allow", "egress-ca"]
        assert shop.client.post("/v1/webhook-subscriptions", body).status == 201
        shop.create()
        posts_to(receiver, "/status/200", 1)
    shop.close()


def test_a_restarted_timer_uses_the_last_valid_authorities(new_service, tmp_path, authority, chain):
    root = tmp_path / "root.pem"
    root.write_bytes(authority.root.read_bytes())
    configured = Configured(new_service, tmp_path, f"egress-allow = 127.0.0.0/8\negress-ca = {root}\n", tls=False)
    for bad in ("", "garbage"):
        root.write_text(bad)
        configured.is_refused("--egress-ca")
    configured.service.expect_log("event=died child=timer-0 ")
    configured.service.kill_child("timer")
    shop = hooked_shop(configured.service)
    with Receiver(chain) as receiver:
        assert shop.client.post("/v1/webhook-subscriptions", {"url": receiver.url("/status/200"),
                                                              "event_types": ["pass.created"]}).status == 201
        wait_for(lambda: shop.client.post("/v1/passes", {"pass_id": "x", "visible": {"name": "A"}}).status == 201, 5,
                 "the timer's heartbeats")
        posts_to(receiver, "/status/200", 1)
    shop.close()


def test_options_that_cannot_change_are_named(plain):
    plain.service.expect_log("event=restart_needed ")
    plain.write("http-threads = 3", "public-url = https://x.example/", "max-body = 70000")
    answer = plain.reload()
    assert answer["changed"] == ["max-body"] and answer["needs_restart"] == ["public-url"], "the command line's number of threads applies"
    lines = [line for line in plain.service.log_lines() if "event=restart_needed" in line]
    assert len(lines) == 1 and "public-url" in lines[0]
    assert plain.reload()["needs_restart"] == ["public-url"], "named as long as the file differs"


def test_tls_can_only_be_enabled_at_a_start(plain):
    plain.service.expect_log("event=restart_needed ")
    plain.write(f"tls-cert = {plain.cert}", f"tls-key = {plain.key}")
    assert plain.reload()["needs_restart"] == ["tls-cert", "tls-key"]
    with plain.service.client() as client:
        assert client.get("/v1/passes").status == 401


def test_tls_can_only_be_disabled_at_a_start(new_service, tmp_path):
    """The names of the files stand in a text that later reloads replace. Reloads and restarted processes still find them."""
    configured = Configured(new_service, tmp_path)
    service = configured.service
    for event in ("restart_needed", "died"):
        service.expect_log(f"event={event} ")
    assert configured.reload()["needs_restart"] == []  # from now on the first text is not in use any more
    name, configured.text = configured.shown(), ""
    for keys in ("11", "12", "13"):
        configured.write(f"idempotency-keys = {keys}")
        assert configured.reload()["needs_restart"] == ["tls-cert", "tls-key"]
    for role in ("shard", "http", "timer"):
        service.signal(role, 0, signal.SIGKILL)
        wait_for(service.is_ready, 20, f"the next {role}")
    configured.text = f"tls-cert = {configured.cert}\ntls-key = {configured.key}\n"
    assert configured.shown() == name
    configured.write()
    for _ in range(2):
        assert configured.reload()["needs_restart"] == []
    assert configured.shown() == name


@pytest.mark.parametrize("lines, says", [
    (["colour = red"], "line 1 of {file}: unknown option colour"),
    (["max-body = 5", "max-body = many"], "line 2 of {file}: --max-body"),
    (["cors-origin = nonsense"], "--cors-origin"),
    (["egress-allow = 10.0.0.0/99"], "--egress-allow"),
    (["max-body = 5", "egress-ca = /nonexistent/ca.pem"], "--egress-ca"),
    (["max-body = 5", "tls-cert = x"], "--tls-key"),
])
def test_a_bad_configuration_changes_nothing(plain, lines, says):
    shop = Shop(plain.service, ("balance",))
    plain.write(*lines)
    plain.is_refused(says.format(file=plain.conf))
    assert shop.create(hidden={"a": "x" * 500})["status"] == "issued", "no option may change"
    shop.close()


def test_a_missing_configuration_file_changes_nothing(plain):
    plain.conf.unlink()
    plain.is_refused("--config")


def test_a_service_without_a_configuration_file(service):
    assert service.cli("reload")["changed"] == []
