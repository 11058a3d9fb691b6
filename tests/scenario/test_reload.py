"""A running service applies a changed configuration completely or not at all, and without disturbing connections that
it does not affect."""
import json
import os
import signal
import subprocess
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from certificates import openssl
from configured import Configured, http_connection, metric, trusting_nobody
from harness import wait_for
from raw import connect, receive_answer
from shop import Shop


@pytest.fixture
def configured(new_service, tmp_path):
    return Configured(new_service, tmp_path)


@pytest.fixture
def plain(new_service, tmp_path):
    return Configured(new_service, tmp_path, tls=False)


# The certificate

def test_new_connections_get_the_new_certificate_and_old_ones_stay(configured):
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


def test_sighup_reloads(configured):
    configured.renew("second")
    configured.service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: configured.shown() == "second", 5, "the new certificate")
    configured.cert.write_text("garbage")
    configured.service.expect_log("event=reload_refused .*no start line")
    configured.service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "event=reload_refused" in "\n".join(configured.service.log_lines()), 5, "the refusal")
    assert configured.shown() == "second"


def test_reloads_do_not_disturb_clients(configured):
    """One kept connection and many new ones send requests during eight reloads. None may fail."""
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


@pytest.mark.alone  # within the time of a handshake
def test_a_handshake_after_the_reload_of_its_certificate(configured):
    """The connections were accepted before two reloads and begin their handshake afterwards."""
    service = configured.service
    silent = [connect(service.http) for _ in range(20)]
    wait_for(lambda: metric(service, "stampede_http_connections") >= len(silent), 10, "the connections")
    for name in ("second", "third"):
        configured.renew(name)
        configured.reload()
        assert configured.shown() == name
    for connection in silent:
        with trusting_nobody().wrap_socket(connection) as wrapped:
            wrapped.sendall(b"GET /v1/passes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert receive_answer(wrapped)[0].status == 401


def lengthen(own, count):
    own.cert.write_text(own.cert.read_text() * count)


def on_curve(own, curve):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-nodes", "-days", "30", "-subj", "/CN=first",
            "-keyout", own.key, "-out", own.cert)


BAD_PAIRS = {
    "no certificate": (lambda own: own.cert.write_text("no certificate\n"), "--tls-cert"),
    "an empty certificate": (lambda own: own.cert.write_text(""), "--tls-cert"),
    "a missing certificate": (lambda own: own.cert.unlink(), "No such file"),
    "a certificate cut short": (lambda own: own.cert.write_text(own.cert.read_text()[:200]), "--tls-cert"),
    "a directory": (lambda own: (own.cert.unlink(), own.cert.mkdir()), "--tls-cert"),
    "a pipe that nobody writes into": (lambda own: (own.cert.unlink(), os.mkfifo(own.cert)), "--tls-cert"),
    "no key": (lambda own: own.key.write_text("no key\n"), "--tls-key"),
    "a missing key": (lambda own: own.key.unlink(), "--tls-key"),
    "another's key": (lambda own: openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", own.key), "--tls-key"),
    "an endless file": (lambda own: (own.cert.unlink(), own.cert.symlink_to("/dev/zero")), "--tls-cert"),
    "one that has expired": (lambda own: own.renew("late", -1), "has expired"),
    "a chain that no client takes": (lambda own: lengthen(own, 400), "has a chain of 400 certificates, "),
    "a key on a curve that TLS does not use": (lambda own: on_curve(own, "secp256k1"), "no client can connect"),
    "a key on another such curve": (lambda own: on_curve(own, "brainpoolP256r1"), "no client can connect"),
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", BAD_PAIRS)
def test_bad_files_change_nothing(configured, name):
    """Also if the http process is killed while the files are invalid: it restarts with the last valid ones."""
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


def test_an_expired_certificate_in_use_does_not_block_other_changes(new_service, tmp_path):
    """Nor does it block a start: not serving at all would be worse."""
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


def test_without_tls_no_expiry_is_shown(plain):
    assert plain.service.status()["certificate"] is None
    assert metric(plain.service, "stampede_certificate_not_after_seconds") is None
    assert plain.reload()["certificate"] is None


def test_the_private_key_is_not_visible_to_other_users(configured):
    secret = "".join(configured.key.read_text().split("\n")[1:-2])[10:50]
    for pid in configured.service.processes_alive():
        for name in ("cmdline", "environ"):
            assert secret.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
    for file in configured.service.home.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


# Stopped processes

def test_a_stopped_process_is_named_and_applies_the_change_later(plain):
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
    """When the process continues it must apply the newest configuration."""
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


def test_reload_without_a_service(new_service):
    service = new_service(shards=1)
    assert service.stop() == 0
    done = service.run("reload")
    assert done.returncode == 1 and json.loads(done.stderr)["code"] == "NOT_RUNNING"
