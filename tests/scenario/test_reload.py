"""A running service takes another configuration, all of it or none, and nobody notices but those whom it is about."""
import http.client
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from certificates import KEY, openssl
from deliveries import hooked_shop, posts_to
from harness import CliError, wait_for
from receiver import Receiver
from shop import Shop


class Configured:
    """A service whose configuration is a file that tests change."""

    def __init__(self, make, place, text="", tls=True):
        self.place, self.conf = place, place / "stampede.conf"
        self.cert, self.key = place / "cert.pem", place / "key.pem"
        self.text = (f"tls-cert = {self.cert}\ntls-key = {self.key}\n" if tls else "") + text
        self.renew("first")
        self.write()
        self.service = make(shards=1, options=["--config", str(self.conf)])

    def write(self, *lines):
        self.conf.write_text(self.text + "".join(line + "\n" for line in lines))

    def renew(self, name, days=30):
        """Another certificate and key, in place of those that are there."""
        openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", self.place / "new.key", "-out", self.place / "new.csr")
        openssl("x509", "-req", "-in", self.place / "new.csr", "-signkey", self.place / "new.key", "-days", days,
                "-out", self.place / "new.pem")
        os.replace(self.place / "new.pem", self.cert)
        os.replace(self.place / "new.key", self.key)

    def reload(self):
        return self.service.cli("reload")

    def is_refused(self, says):
        """Exit 1 with the reason, and one line of the log that names it; the service is as it was."""
        self.service.expect_log("event=reload_refused ")
        shown, before = self.shown(), self.service.status()
        with pytest.raises(CliError) as refused:
            self.reload()
        assert says in refused.value.message, refused.value.message
        lines = [line for line in self.service.log_lines() if "event=reload_refused" in line]
        assert says in lines[-1] and "level=warn" in lines[-1]
        after = self.service.status()
        assert self.shown() == shown
        assert [after[key] for key in ("processes", "settings", "certificate")] == \
               [before[key] for key in ("processes", "settings", "certificate")]
        return refused.value

    def shown(self):
        """The name in the certificate that a new connection is shown; None in clear."""
        if "tls-cert" not in self.text:
            return None
        context = trusting_nobody()
        with http_connection(self.service, context) as connection:
            connection.connect()
            der = connection.sock.getpeercert(binary_form=True)
        text = subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-subject"], input=der, capture_output=True,
                              check=True).stdout.decode()
        return re.search(r"CN\s*=\s*(\S+)", text)[1]


def trusting_nobody():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def readable(sock):
    return select.select([sock], [], [], 0)[0]


class http_connection(http.client.HTTPSConnection):
    def __init__(self, service, context):
        super().__init__(*service.http, timeout=15, context=context)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@pytest.fixture
def configured(new_service, tmp_path):
    return Configured(new_service, tmp_path)


@pytest.fixture
def plain(new_service, tmp_path):
    return Configured(new_service, tmp_path, tls=False)


def metric(service, name):
    with service.admin() as admin:
        found = re.search(rf"^{name} (\S+)$", admin.get("/metrics").body.decode(), re.M)
    return float(found[1]) if found else None


# The certificate

def test_new_connections_get_the_new_certificate_and_old_ones_live_on(configured):
    service = configured.service
    assert configured.shown() == "first"
    with http_connection(service, trusting_nobody()) as kept:
        kept.request("GET", "/v1/passes")
        assert kept.getresponse().read()
        before = kept.sock
        configured.renew("second")
        answer = configured.reload()
        assert set(answer) == {"settings", "changed", "needs_restart", "pending", "certificate"}
        assert answer["needs_restart"] == answer["pending"] == answer["changed"] == []
        assert configured.shown() == "second"
        kept.request("GET", "/v1/passes")
        assert kept.getresponse().status == 401 and kept.sock is before
    assert service.unexpected_lines() == []


def test_a_hangup_reloads_too(configured):
    configured.renew("second")
    configured.service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: configured.shown() == "second", 5, "the new certificate")
    configured.cert.write_text("garbage")
    configured.service.expect_log("event=reload_refused .*no start line")
    configured.service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "event=reload_refused" in "\n".join(configured.service.log_lines()), 5, "the refusal")
    assert configured.shown() == "second"


def test_a_steady_client_notices_nothing(configured):
    """New connections and a kept one, through many reloads."""
    service = configured.service
    account = service.cli("account", "create", "--name", "x")
    end, faults, answers = threading.Event(), [], [0]

    def ask(keep):
        connection = http_connection(service, trusting_nobody())
        while not end.is_set():
            try:
                connection.request("GET", "/v1/passes", headers={"Authorization": "Bearer " + account["api_key"]})
                answer = connection.getresponse()
                answer.read()
                answers[0] += 1
                if answer.status != 200:
                    faults.append(answer.status)
            except OSError as error:
                faults.append(repr(error))
            if not keep:
                connection.close()
        connection.close()

    threads = [threading.Thread(target=ask, args=(keep,)) for keep in (True, False, False)]
    for thread in threads:
        thread.start()
    for i in range(8):
        before = answers[0]
        configured.renew(f"number-{i}")
        configured.write(f"max-body = {100000 + i}")
        assert configured.reload()["changed"] == ["max-body"]
        assert configured.shown() == f"number-{i}"
        wait_for(lambda before=before: answers[0] > before + 5, 10, "requests to be answered")
    end.set()
    for thread in threads:
        thread.join()
    assert faults == []


BAD_PAIRS = {
    "no certificate": (lambda own: own.cert.write_text("no certificate\n"), "--tls-cert"),
    "an empty certificate": (lambda own: own.cert.write_text(""), "--tls-cert"),
    "a missing certificate": (lambda own: own.cert.unlink(), "No such file"),
    "a certificate cut short": (lambda own: own.cert.write_text(own.cert.read_text()[:200]), "--tls-cert"),
    "a directory": (lambda own: (own.cert.unlink(), own.cert.mkdir()), "--tls-cert"),
    "no key": (lambda own: own.key.write_text("no key\n"), "--tls-key"),
    "a missing key": (lambda own: own.key.unlink(), "--tls-key"),
    "another's key": (lambda own: openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", own.key), "--tls-key"),
    "an endless file": (lambda own: (own.cert.unlink(), own.cert.symlink_to("/dev/zero")), "--tls-cert"),
    "one that has expired": (lambda own: own.renew("late", -1), "has expired"),
}


@pytest.mark.parametrize("name", BAD_PAIRS)
def test_bad_files_change_nothing(configured, name):
    """Nor when the process that serves them is killed while they are there: it comes back with the last good ones."""
    spoil, says = BAD_PAIRS[name]
    spoil(configured)
    configured.is_refused(says)
    service = configured.service
    service.expect_log("event=died child=http-0 ")
    service.kill_child("http")
    assert configured.shown() == "first"
    with service.admin() as admin:
        assert admin.get("/healthz").status == 200
    if configured.cert.is_dir():
        configured.cert.rmdir()
    configured.renew("second")
    configured.reload()
    assert configured.shown() == "second"
    service.kill_child("http")
    assert configured.shown() == "second"


def test_the_certificate_in_use_may_expire_and_other_things_still_change(new_service, tmp_path):
    """At a start too: to serve nobody would be worse."""
    def make(**options):
        service = new_service(start=False, **options)
        service.expect_log("event=certificate_not_valid .*has expired")
        return service

    configured = Configured(make, tmp_path)
    configured.renew("late", -1)
    configured.service.start()
    assert configured.shown() == "late"
    configured.write("max-body = 1000")
    assert configured.reload()["changed"] == ["max-body"]
    configured.renew("second")
    configured.reload()
    assert configured.shown() == "second"


def test_status_and_metrics_say_when_it_expires(configured):
    service = configured.service

    def end():
        text = subprocess.run(["openssl", "x509", "-in", configured.cert, "-noout", "-enddate"], capture_output=True, check=True)
        return datetime.strptime(text.stdout.decode().strip(), "notAfter=%b %d %H:%M:%S %Y GMT").replace(tzinfo=timezone.utc)

    for name, days in (("a", 30), ("b", 300)):
        configured.renew(name, days)
        assert configured.reload()["certificate"] == service.status()["certificate"]
        assert service.status()["certificate"]["not_after"] == end().strftime("%Y-%m-%dT%H:%M:%S.000Z")
        assert metric(service, "stampede_certificate_not_after_seconds") == end().timestamp()


def test_without_tls_there_is_none(plain):
    assert plain.service.status()["certificate"] is None
    assert metric(plain.service, "stampede_certificate_not_after_seconds") is None
    assert plain.reload()["certificate"] is None


def test_a_key_is_nowhere_that_others_may_look(configured):
    secret = "".join(configured.key.read_text().split("\n")[1:-2])[10:50]
    for pid in configured.service.processes_alive():
        for name in ("cmdline", "environ"):
            assert secret.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
    for file in configured.service.home.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


# The configuration

def test_options_that_can_change_do(plain):
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


def test_how_long_connections_may_idle(plain):
    """Those that are open, too."""
    plain.write("keep-alive = 1h")
    plain.reload()
    with plain.service.client() as client:
        client.get("/v1/passes")
        plain.write("keep-alive = 5s")
        assert plain.reload()["changed"] == ["keep-alive"]
        wait_for(lambda: client.connection.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"" if readable(client.connection.sock)
                 else False, 15, "the connection to be closed")


def test_the_level_of_the_log(plain):
    """In the supervisor and its processes; the other way too."""
    service = plain.service
    plain.write("log-level = warn")
    assert plain.reload()["changed"] == ["log-level"]
    before = len(service.log_lines())
    assert plain.reload()["changed"] == []
    assert service.log_lines()[before:] == []
    plain.write()
    plain.reload()
    wait_for(lambda: any("event=reloaded" in line for line in service.log_lines()[before:]), 5, "lines of the lower level")


def test_they_hold_for_processes_that_start_later(plain):
    plain.write("max-body = 200")
    plain.reload()
    plain.service.expect_log("event=died child=http-0 ")
    plain.service.kill_child("http")
    shop = Shop(plain.service, ("balance",))
    shop.client.post_raw("/v1/passes", b'{"pass_id":"x"}' + b" " * 400).is_error(413, "PAYLOAD_TOO_LARGE")
    shop.close()


def test_where_webhooks_may_go(plain, authority, chain, tmp_path):
    """Both judge it: the shard when a subscription is made, the timer when it is called."""
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


def test_authorities_are_the_last_good_ones_when_the_timer_starts_anew(new_service, tmp_path, authority, chain):
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
                 "the timer to be heard")
        posts_to(receiver, "/status/200", 1)
    shop.close()


def test_what_cannot_change_is_named(plain):
    plain.service.expect_log("event=restart_needed ")
    plain.write("http-threads = 3", "public-url = https://x.example/", "max-body = 70000")
    answer = plain.reload()
    assert answer["changed"] == ["max-body"] and answer["needs_restart"] == ["public-url"], "the command line's threads win"
    lines = [line for line in plain.service.log_lines() if "event=restart_needed" in line]
    assert len(lines) == 1 and "public-url" in lines[0]
    assert plain.reload()["needs_restart"] == ["public-url"], "as long as it is so"


def test_tls_begins_at_a_start_only(plain):
    plain.service.expect_log("event=restart_needed ")
    plain.write(f"tls-cert = {plain.cert}", f"tls-key = {plain.key}")
    assert plain.reload()["needs_restart"] == ["tls-cert", "tls-key"]
    with plain.service.client() as client:
        assert client.get("/v1/passes").status == 401


@pytest.mark.parametrize("lines, says", [
    (["colour = red"], "line 1 of the file: unknown option colour"),
    (["max-body = 5", "max-body = many"], "line 2 of the file: --max-body"),
    (["cors-origin = nonsense"], "--cors-origin"),
    (["egress-allow = 10.0.0.0/99"], "--egress-allow"),
    (["max-body = 5", "egress-ca = /nonexistent/ca.pem"], "--egress-ca"),
    (["max-body = 5", "tls-cert = x"], "--tls-key"),
])
def test_a_bad_configuration_changes_nothing(plain, lines, says):
    shop = Shop(plain.service, ("balance",))
    plain.write(*lines)
    plain.is_refused(says)
    assert shop.create(hidden={"a": "x" * 500})["status"] == "issued", "nothing of it was taken"
    shop.close()


def test_a_missing_configuration_file_changes_nothing(plain):
    plain.conf.unlink()
    plain.is_refused("--config")


def test_a_service_without_a_configuration_file(service):
    assert service.cli("reload")["changed"] == []


# Processes that do not take it at once

def test_a_stopped_process_is_named_and_takes_it_when_it_goes_on(plain):
    service = plain.service
    pid = service.signal("timer", 0, signal.SIGSTOP)
    try:
        plain.write("max-body = 200")
        begin = time.monotonic()
        assert plain.reload()["pending"] == ["timer-0"]
        assert time.monotonic() - begin < 10
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: plain.reload()["pending"] == [], 10, "the timer")


def test_many_reloads_while_a_process_is_stopped(plain):
    """It finds the newest when it goes on."""
    service = plain.service
    shop = Shop(service, ("balance",))
    pid = service.signal("http", 0, signal.SIGSTOP)
    try:
        for i in range(20):
            plain.write(f"max-body = {300 - i}")
            service.process.send_signal(signal.SIGHUP)
            wait_for(lambda i=i: sum("event=reloaded" in line for line in service.log_lines()) > i, 5, "a reload")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert wait_for(lambda: plain.reload()["pending"] == [], 10, "http")
    shop.client.post_raw("/v1/passes", b'{"pass_id":"x"}' + b" " * 290).is_error(413, "PAYLOAD_TOO_LARGE")
    shop.close()


def test_reload_says_that_no_service_runs(new_service):
    service = new_service(shards=1)
    assert service.stop() == 0
    done = service.run("reload")
    assert done.returncode == 1 and json.loads(done.stderr)["code"] == "NOT_RUNNING"
