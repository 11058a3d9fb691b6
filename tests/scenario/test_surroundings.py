"""What the service uses of its host and what it ignores: environment variables and root certificates."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from certificates import Authority
from deliveries import deliveries_of, hooked_shop, options, posts_to, until, until_failed_once
from harness import READY_SECONDS, refusal, wait_for
from patience import PATIENCE
from hooks import subscribe
from receiver import Mute, Receiver

PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "Https_Proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")
LEFT_OUT = (*PROXIES, "SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF", "CURL_CA_BUNDLE", "RES_OPTIONS",
            "LOCALDOMAIN", "HOSTALIASES", "TZDIR")


def with_environment(service, **variables):
    service.start(command=["env", *(f"{name}={value}" for name, value in variables.items()), *service.command()])
    return service


def failed(shop, receiver):
    """The detail of a delivery to it after one failed attempt."""
    hook = subscribe(shop, receiver.url())
    shop.create()
    return until_failed_once(shop, hook)["detail"]


# The data directory

def test_a_directory_for_sockets_that_is_removed(new_service):
    """The service goes on until a process has to be started. Then it ends, and its next start makes the directory."""
    service = new_service(shards=1)
    child = service.pid_of("http")
    shutil.rmtree(service.data / "run")
    with service.client() as client:
        assert client.get("/v1/passes").status == 401
    assert "has no directory run" in refusal(service.cli, "status").message
    service.expect_log("event=(died child=http-0|run_removed|socket_lost) ")
    process, service.process = service.process, None
    os.kill(child, signal.SIGKILL)
    assert process.wait(timeout=30 * PATIENCE) == 1
    assert any("event=run_removed " in line for line in service.log_lines())
    service.start()
    with service.client() as client:
        assert client.get("/v1/passes").status == 401


# Processes of others

def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def killed(service):
    return [line for line in service.log_lines() if " event=died " in line and " signal=9" in line]


@pytest.mark.parametrize("around", [[], ["unshare", "--pid", "--fork", "--mount-proc"]], ids=["left behind", "process 1"])
def test_children_that_it_did_not_start_are_reaped(new_service, around):
    """A program that started one before it became the service leaves it behind; a container without an init has the service as
    process 1. Exit statuses of the service's own processes are not lost meanwhile."""
    if around and subprocess.run([*around, "true"], capture_output=True, check=False).returncode:
        pytest.skip("process namespaces are not available")
    service = new_service(start=False, shards=1)
    service.expect_log("event=died ")
    service.start(wait=False, command=[*around, "sh", "-c", 'sleep 600 & sleep 600 & exec "$@"', "serve", *service.command()])
    wait_for(lambda: service.out_path.read_text().endswith("\n"), READY_SECONDS, "the readiness line")
    pid = children_of(service.process.pid)[0] if around else service.process.pid
    names = {child: Path(f"/proc/{child}/comm").read_text().strip() for child in children_of(pid)}
    strangers, own = [[child for child, name in names.items() if (name == "sleep") == wanted] for wanted in (True, False)]
    assert len(strangers) == 2 and len(own) == 3, names
    for child in (own[0], *strangers, *own[1:]):
        os.kill(child, signal.SIGKILL)
    wait_for(lambda: not [child for child in names if Path(f"/proc/{child}").exists()], 10, "all to be reaped")
    wait_for(lambda: len(killed(service)) == len(own), 10, "a line for each own process")
    os.kill(pid, signal.SIGTERM)
    assert service.process.wait(timeout=20 * PATIENCE) == 0
    assert len(killed(service)) == len(own)
    service.process = None


# The environment

def test_variables_that_libraries_read_are_removed(new_service):
    service = with_environment(new_service(start=False), KEPT="yes", sslkeylogfilex="yes", **{name: "x" for name in LEFT_OUT})
    for process in service.status()["processes"]:
        entries = Path(f"/proc/{process['pid']}/environ").read_bytes().split(b"\0")
        names = {entry.partition(b"=")[0].decode() for entry in entries}
        assert {"KEPT", "sslkeylogfilex", "PATH"} <= names and not names & set(LEFT_OUT), process


@pytest.fixture
def stranger(tmp_path):
    return Authority(tmp_path / "stranger")


def test_variables_do_not_change_tls_proxies_or_name_servers(new_service, receiver, authority, stranger, tmp_path, mute):
    """TLS session keys are not written to a file, no proxy is used, and no other certificates or OpenSSL settings are
    loaded."""
    (tmp_path / "openssl.cnf").write_text("openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\n"
                                          "MinProtocol = TLSv1.3\nMaxProtocol = TLSv1.2\n")
    certs = tmp_path / "certs"
    certs.mkdir()
    shutil.copy(stranger.root, certs)
    subprocess.run(["openssl", "rehash", certs], check=True)
    service = with_environment(
        new_service(start=False, options=options(authority)), **{name: f"http://127.0.0.1:{mute.port}" for name in PROXIES},
        SSLKEYLOGFILE=tmp_path / "keys", SSL_CERT_FILE=stranger.root, SSL_CERT_DIR=certs, CURL_CA_BUNDLE=stranger.root,
        OPENSSL_CONF=tmp_path / "openssl.cnf", RES_OPTIONS="timeout:30 attempts:9", LOCALDOMAIN="example.com", HOSTALIASES="x")
    shop = hooked_shop(service)
    subscribe(shop, receiver.url())
    with Receiver(stranger.leaf()) as other:
        assert failed(shop, other) == "TLS: unknown issuer of the certificate"
    posts_to(receiver, "/status/200", 1)
    assert not (tmp_path / "keys").exists()
    shop.close()


# Failed deliveries

def test_the_log_reports_when_an_endpoint_begins_to_fail_and_why(new_service, authority, receiver, stranger):
    """Once for each change, not for each attempt."""
    service = new_service(shards=1, options=options(authority))
    shop = hooked_shop(service)
    with Receiver(stranger.leaf()) as other:
        hook = subscribe(shop, other.url())
        for _ in range(3):
            shop.create()
        wait_for(lambda: sum(row["last_error"] == "tls" for row in deliveries_of(shop, hook)) == 3, 10, "three failures")
        lines = [line for line in service.log_lines() if "event=endpoint_fails" in line]
    assert len(lines) == 1 and 'detail="TLS: unknown issuer of the certificate"' in lines[0], lines
    assert " level=info " in lines[0] and f" endpoint=127.0.0.1:{other.port} " in lines[0], lines


def test_the_detail_is_stored_with_the_delivery(new_service, authority, receiver):
    service = new_service(options=options(authority))
    shop = hooked_shop(service)
    gone = Mute()
    gone.close()
    hooks = {text: subscribe(shop, url) for text, url in (
        ("connect: connection refused", gone.url()), ("response: connection closed before the answer", receiver.url("/close")),
        (None, receiver.url("/status/500")))}
    good = subscribe(shop, receiver.url("/status/204"))
    shop.create()
    before = {text: until_failed_once(shop, hook) for text, hook in hooks.items()}
    assert {row["detail"] for row in before.values()} == set(hooks)
    assert [(row["last_error"], row["last_status"]) for row in before.values()] == [("connect", None), ("reset", None), (None, 500)]
    assert until(shop, good, outcome="delivered")["detail"] is None
    failing = [line for shard in service.status()["shards"] for line in shard["failing_subscriptions"]]
    assert {line["detail"] for line in failing} == set(hooks)
    service.restart()
    assert {text: until_failed_once(shop, hook) for text, hook in hooks.items()} == before
    shop.close()


# Root certificates

@pytest.mark.parametrize("how", ["file", "folder"])
def test_a_host_without_root_certificates_is_reported(bare, authority, how):
    """In the log, the status, and each delivery. Certificates installed later are used without a restart."""
    start, folder = bare
    service = start("--egress-allow", "127.0.0.0/8")
    service.expect_log("event=no_root_certificates")
    assert service.status()["root_certificates"] is False
    wait_for(lambda: any("event=no_root_certificates" in line for line in service.log_lines()), 10, "the line")
    assert len([line for line in service.log_lines() if "event=no_root_certificates" in line]) == 1
    shop = hooked_shop(service)
    with Receiver(authority.leaf()) as receiver:
        assert failed(shop, receiver) == "TLS: unknown issuer, this host has no root certificates"
        if how == "file":
            shutil.copy(authority.root, folder / "ca-certificates.crt")
        else:
            shutil.copy(authority.root, folder / "root.pem")
            subprocess.run(["openssl", "rehash", folder], check=True)
        wait_for(lambda: any("event=root_certificates" in line for line in service.log_lines()), 10, "the second log line")
        assert service.status()["root_certificates"] is True
        hook = subscribe(shop, receiver.url("/status/204"))
        shop.create()
        assert until_failed_once(shop, hook)["detail"] is None
    shop.close()


def test_the_operators_authority_is_enough(bare, authority):
    start, _ = bare
    service = start("--egress-ca", authority.root, "--egress-allow", "127.0.0.0/8")
    shop = hooked_shop(service)
    with Receiver(authority.leaf()) as receiver:
        subscribe(shop, receiver.url("/status/204"))
        shop.create()
        posts_to(receiver, "/status/204", 1)
    shop.close()
