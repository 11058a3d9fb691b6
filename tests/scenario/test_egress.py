"""Outgoing requests alone: endpoints that answer, fail, hang, drip or violate HTTP, over TLS with a certificate chain."""
import hashlib
import ssl
import subprocess
from collections import Counter

import pytest
from certificates import Authority
from drive import LOOPBACK, End, drive, words
from harness import build_directory, wait_for
from patience import PATIENCE
from receiver import Receiver, answer

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
FETCH_BYTES_MAX = 2 << 20


# Results of endpoints

WANT = {
    "/status/200": ("-", 200), "/status/204": ("-", 204), "/status/299": ("-", 299), "/status/300": ("-", 300),
    "/status/400": ("-", 400), "/status/410": ("-", 410), "/status/500": ("-", 500), "/status/599": ("-", 599),
    "/body/200/5000": ("-", 200), "/body/503/100000": ("-", 503), "/redirect": ("-", 302), "/provisional": ("-", 200),
    "/endless": ("-", 200), "/drip-body": ("-", 200), "/short": ("-", 200), "/hang": ("timeout", 0),
    "/drip": ("timeout", 0), "/reset": ("reset", 0), "/reset-in-head": ("reset", 0), "/close": ("reset", 0),
    "/garbage": ("protocol", 0), "/long-head": ("protocol", 0),
}


def test_every_answer_has_its_result(receiver, trusting):
    got = words(drive([f"post {path} {receiver.url(path)} {{}}" for path in WANT], *trusting, "--attempt-ms", 3000))
    assert got == WANT
    assert Counter(request.path for request in receiver.requests)["/status/200"] == 1, "no redirect was followed"


def test_the_form_of_a_request(receiver, trusting):
    receiver.answers["/"] = answer(200, headers=["Set-Cookie: a=b", "Alt-Svc: h3=\":443\""])
    drive([f"post {i} {receiver.url('')}#x {{\"n\": {i}}}" for i in range(3)], *trusting, "--endpoint", 1)
    assert [request.body for request in receiver.requests] == [b'{"n": 0}', b'{"n": 1}', b'{"n": 2}']
    for request in receiver.requests:
        assert (request.method, request.path) == ("POST", "/")
        assert dict(request.headers) == {
            "Host": f"127.0.0.1:{receiver.port}", "User-Agent": "Stampede/0.1.0", "Accept": "*/*",
            "Content-Type": "application/json", "Content-Length": "8"}


def test_path_and_query_are_sent_unchanged(receiver, trusting):
    path = "/status/200/a/../b/./c//%7e?x=[/../]&y=%zz"
    drive([f"post one {receiver.url(path)}"], *trusting)
    assert receiver.requests[0].path == path


# Certificates

def test_only_a_valid_certificate_is_accepted(tmp_path, authority, trusting, mute):
    stranger = Authority(tmp_path / "stranger")
    receivers = {
        "expired": Receiver(authority.leaf("expired", days=-1)),
        "name": Receiver(authority.leaf("name", names="DNS:example.com,IP:127.0.0.2")),
        "stranger": Receiver(stranger.leaf()),
        "unchained": Receiver(authority.leaf("unchained", chain=False)),
        "old": Receiver(authority.leaf("old"), newest=ssl.TLSVersion.TLSv1_1),
    }
    lines = [f"post {name} {receiver.url()}" for name, receiver in receivers.items()]
    lines.append(f"post mute {mute.url()}")
    got = words(drive(lines, *trusting, "--attempt-ms", 3000))
    assert got == {**{name: ("tls", 0) for name in receivers}, "mute": ("timeout", 0)}
    for receiver in receivers.values():
        assert receiver.requests == []
        receiver.close()


def test_the_file_adds_to_the_systems_authorities(receiver, tmp_path, authority):
    assert words(drive([f"post one {receiver.url()}"], *LOOPBACK)) == {"one": ("tls", 0)}
    assert words(drive([f"post one {receiver.url()}"], *LOOPBACK, "--ca", authority.below)) == {"one": ("-", 200)}
    (tmp_path / "ca").write_text("no certificate")
    run = subprocess.run([build_directory() / "tests/egress/egress_driver", "--ca", tmp_path / "ca"], input="",
                         capture_output=True, text=True, check=False)
    assert run.stdout == "open refused BAD_OPTION\n"


# Addresses

def test_an_address_is_checked_before_it_is_connected(receiver, authority, names):
    names.addresses = {"loop.hooks.test": ["127.0.0.1"], "six.hooks.test": ["::1"], "mapped.hooks.test": ["::ffff:127.0.0.1"],
                       "private.hooks.test": ["10.0.0.1", "192.168.0.1"], "nat.hooks.test": ["64:ff9b::127.0.0.1"],
                       "metadata.hooks.test": ["169.254.169.254"], "none.hooks.test": []}
    lines = [f"post {host} {receiver.url(host=host)}" for host in names.addresses]
    lines += [f"post {host} {receiver.url(host=host)}" for host in ("127.0.0.1", "[::1]", "2130706433", "[::ffff:7f00:1]")]
    got = drive([*lines, f"post nobody {receiver.url(host='nobody.hooks.test')}"], "--ca", authority.root,
                "--dns", names.address)
    assert {end.label: end.word for end in got} == {
        **{line.split(" ")[1]: "address_refused" for line in lines}, "none.hooks.test": "dns", "nobody": "dns"}
    assert receiver.connections == 0


def test_only_allowed_addresses_of_a_name_are_connected(receiver, trusting, names):
    names.addresses = {"two.hooks.test": ["127.0.0.2", "::1", "127.0.0.1"], "first.hooks.test": ["127.0.0.2"]}
    lines = [f"post {host} {receiver.url(host=host)}" for host in names.addresses]
    assert words(drive(lines, *trusting, "--dns", names.address)) == {
        "two.hooks.test": ("-", 200), "first.hooks.test": ("address_refused", 0)}


def test_dns_rebinding_is_prevented(chain, authority, names):
    """The first answer of the name server is an allowed address, later ones are not. A client with one query for the
    check and one for the connection would connect to the forbidden address."""
    with Receiver(chain) as good, Receiver(chain, "127.0.0.2", good.port) as bad:
        turns = iter(range(1000))
        names.addresses["rebind.hooks.test"] = lambda: ["127.0.0.1" if next(turns) < 2 else "127.0.0.2"]
        lines = [f"post {i} {good.url(host='rebind.hooks.test')}" for i in range(100)]
        got = drive(lines, "--ca", authority.root, *LOOPBACK, "--dns", names.address, "--endpoint", 4)
        assert {(end.word, end.status) for end in got} == {("-", 200)}
        assert len(names.questions) == 2, "one A and one AAAA query for all requests"
        got = drive(lines, "--ca", authority.root, *LOOPBACK, "--dns", names.address, "--endpoint", 4)
        assert {(end.word, end.status) for end in got} == {("address_refused", 0)}
        assert bad.connections == 0


def test_the_hosts_own_address_is_refused(receiver, trusting):
    lines = [f"post one {receiver.url()}"]
    assert words(drive(lines, "--ca", trusting[1], "--own", "127.0.0.1")) == {"one": ("address_refused", 0)}
    assert words(drive(lines, *trusting, "--own", "127.0.0.1")) == {"one": ("-", 200)}, "an exception allows it"


def test_no_proxy_of_the_environment_is_used(receiver, trusting, mute):
    proxy = f"http://127.0.0.1:{mute.port}"
    env = {name: proxy for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy")}
    assert words(drive([f"post one {receiver.url()}"], *trusting, env=env)) == {"one": ("-", 200)}


# Many at once

def test_connections_are_used_again(receiver, trusting):
    paths = ["/status/200", "/body/200/5000", "/body/500/60000"] * 10
    drive([f"post {i} {receiver.url(path)} x" for i, path in enumerate(paths)], *trusting, "--endpoint", 1)
    assert len(receiver.requests) == 30 and receiver.connections == 1


@pytest.mark.parametrize("size", [1, 200000])
def test_a_request_is_not_repeated_when_its_connection_closes(receiver, trusting, size):
    """The endpoint may have received it, so a repetition would be an uncounted attempt."""
    lines = [f"post kept {receiver.url('/status/200')}", f"post gone {receiver.url('/close')} {'x' * size}"]
    got = drive([*lines, f"post after {receiver.url('/status/200')}"], *trusting, "--endpoint", 1)
    assert words(got) == {"kept": ("-", 200), "gone": ("reset", 0), "after": ("-", 200)}
    assert len(receiver.requests) == 3 and receiver.connections == 2, "only the next request opened a new connection"


def test_an_endpoint_has_a_limit_and_keeps_the_order(receiver, trusting):
    drive([f"post {i} {receiver.url('/status/200')} {i}" for i in range(40)], *trusting, "--endpoint", 1)
    assert [int(request.body) for request in receiver.requests] == list(range(40))
    receiver.requests.clear()
    drive([f"post {i} {receiver.url('/hang')}" for i in range(9)], *trusting, "--endpoint", 3, "--attempt-ms", 3000,
          "--start-ms", 1500)
    assert len(receiver.requests) == 3, "requests beyond the limit were not started"


def test_a_thousand_requests_to_one_endpoint(receiver, trusting):
    got = drive([f"post {i} {receiver.url('/body/200/100')} {i}" for i in range(1000)], *trusting, "--endpoint", 32,
                "--start-ms", 20000)
    assert Counter((end.word, end.status) for end in got) == {("-", 200): 1000}
    assert {int(request.body) for request in receiver.requests} == set(range(1000))
    assert receiver.connections <= 32


def test_requests_that_wait_too_long_are_returned(receiver, trusting):
    got = drive([f"post {i} {receiver.url('/hang')}" for i in range(5)], *trusting, "--attempts", 1, "--waiting", 2,
                "--start-ms", 200, "--attempt-ms", 1000)
    assert {end.label: (end.word, end.refusal) for end in got} == {
        "0": ("timeout", None), "1": ("not_started", None), "2": ("not_started", None), "3": ("refused", "OVERLOADED"),
        "4": ("refused", "OVERLOADED")}


def test_slow_endpoints_leave_slots_to_others(receiver, trusting, names, mute):
    """Endpoints that were slow before use at most half of the slots, however many requests wait for them."""
    hosts = [f"h{i}.hooks.test" for i in range(8)]
    names.addresses = {host: ["127.0.0.1"] for host in hosts}
    slow = [f"post slow-{i} https://{host}:{mute.port}/" for i, host in enumerate(hosts)]
    process = subprocess.Popen([build_directory() / "tests/egress/egress_driver", *map(str, trusting), "--dns",
                                names.address, "--attempts", "8", "--attempt-ms", "4000", "--start-ms", "20000"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        process.stdin.write("".join(line + "\n" for line in slow))
        process.stdin.flush()
        assert {End(process.stdout.readline()).word for _ in range(8)} == {"timeout"}
        process.stdin.write("".join(line + "\n" for line in slow * 2))
        process.stdin.write("".join(f"post sound-{i} {receiver.url()}\n" for i in range(30)))
        process.stdin.flush()
        labels = [End(process.stdout.readline()).label for _ in range(30)]
        assert all(label.startswith("sound-") for label in labels), labels
    finally:
        process.kill()
        process.communicate()


def test_one_accounts_hanging_requests_do_not_delay_anothers(receiver, trusting):
    """Several accounts use the same host. One that has reached its own limit waits, and connections serve the others."""
    hanging = [f"post hang-{i} {receiver.url('/hang')}" for i in range(5)]
    sound = [f"post sound-{i} {receiver.url()}" for i in range(30)]
    got = drive(["owner one", *hanging, "owner two", *sound[:15], "owner three", *sound[15:]], *trusting, "--endpoint", 1,
                "--attempt-ms", 9000, "--start-ms", 4000)
    assert Counter((end.word, end.status) for end in got[:30]) == {("-", 200): 30}, got
    assert Counter(end.word for end in got[30:]) == {"not_started": 4, "timeout": 1}, got
    assert receiver.connections == 3


def test_accounts_beyond_a_hosts_limit_get_their_turn(receiver, trusting):
    """Sixty accounts share a host with three slots. All their requests succeed."""
    lines = [line for i in range(60) for line in (f"owner o{i}", *[f"post {i} {receiver.url()}"] * 5)]
    got = drive(lines, *trusting, "--host", 3, "--start-ms", 20000)
    assert Counter((end.word, end.status) for end in got) == {("-", 200): 300}
    assert receiver.connections <= 3


def test_at_a_crowded_host_a_slow_account_has_small_shares(receiver, trusting):
    """Otherwise one account that fills half of the slots, and a few slow accounts that fill the rest, would leave none
    to others."""
    with subprocess.Popen([build_directory() / "tests/egress/egress_driver", *map(str, trusting), "--host", "32", "--endpoint",
                           "16", "--attempt-ms", "5000", "--start-ms", "300"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        hang = receiver.url("/hang")
        for owner, number, ends, begun in (("slow", 1, ["timeout"], 1), ("other", 16, [], 17), ("slow", 16, ["not_started"] * 12, 21)):
            process.stdin.write(f"owner {owner}\n" + f"post {owner} {hang}\n" * number)
            process.stdin.flush()
            assert [End(process.stdout.readline()).word for _ in ends] == ends
            wait_for(lambda wanted=begun: len(receiver.to["/hang"]) >= wanted, 10, f"{begun} requests to be started")
        process.kill()
    assert len(receiver.to["/hang"]) == 21


def test_a_host_is_resolved_once_for_all_accounts(receiver, trusting, names):
    names.addresses["gateway.hooks.test"] = ["127.0.0.1"]
    names.silent = {"silent.test"}
    lines = [line for i in range(20) for line in
             (f"owner o{i}", f"post silent-{i} https://silent.test/", f"post {i} {receiver.url(host='gateway.hooks.test')}")]
    got = drive(lines, *trusting, "--dns", names.address, "--attempt-ms", 3000)
    assert Counter((end.word, end.status) for end in got) == {("-", 200): 20, ("timeout", 0): 20}
    assert sum(name == "gateway.hooks.test" for name, _ in names.questions) == 2, "one A and one AAAA query for all requests"


def test_silent_name_servers_delay_no_other_request(receiver, trusting, names):
    names.silent = {"silent.test"}
    names.addresses["a.hooks.test"] = ["127.0.0.1"]
    lines = [f"post silent-{i} https://n{i}.silent.test/" for i in range(500)]
    lines += [f"post sound-{i} {receiver.url(host='a.hooks.test')}" for i in range(20)]
    got = drive(lines, *trusting, "--dns", names.address, "--attempt-ms", 3000)
    assert [end.word for end in got[20:]] == ["timeout"] * 500
    assert {(end.word, end.status) for end in got[:20]} == {("-", 200)}


def test_a_slow_body_occupies_a_slot_only_briefly(receiver, trusting):
    got = drive([f"post drip {receiver.url('/drip-body')}", f"post next {receiver.url()}"], *trusting, "--endpoint", 1,
                "--attempt-ms", 9000)
    assert [(end.label, end.word, end.status) for end in got] == [("drip", "-", 200), ("next", "-", 200)]


# Fetching

def test_a_fetched_body_is_complete_and_limited(receiver, trusting):
    image = bytes(range(256)) * (FETCH_BYTES_MAX // 256)
    receiver.answers["/image"] = answer(200, image)
    receiver.answers["/larger"] = answer(200, image + b"x")
    chunked = b"HTTP/1.1 200 Said\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
    receiver.answers["/chunked"] = chunked % (len(image), image)
    receiver.answers["/chunked-larger"] = chunked % (len(image) + 1, image + b"x")
    got = {end.label: end for end in drive(
        [f"fetch {path} {receiver.url(path)}" for path in
         ("/image", "/larger", "/chunked", "/chunked-larger", "/endless", "/short", "/status/404", "/redirect", "/body/404/100000", "/status/200", "/hang")],
        *trusting, "--attempt-ms", int(3000 * PATIENCE))}
    assert {path: (end.word, end.status, end.size) for path, end in got.items()} == {
        "/image": ("-", 200, FETCH_BYTES_MAX), "/larger": ("too_large", 200, 0),
        "/chunked": ("-", 200, FETCH_BYTES_MAX), "/chunked-larger": ("too_large", 200, 0), "/endless": ("too_large", 200, 0),
        "/short": ("reset", 0, 0), "/status/404": ("-", 404, 0), "/redirect": ("-", 302, 0),
        "/body/404/100000": ("-", 404, 0), "/status/200": ("-", 200, 0), "/hang": ("timeout", 0, 0)}
    assert got["/image"].hash == hashlib.sha256(image).hexdigest()
    assert receiver.requests[0].method == "GET" and receiver.requests[0].body == b""


def test_only_fetches_may_use_http(authority, trusting, names):
    names.addresses = {"a.hooks.test": ["127.0.0.2", "127.0.0.1"], "private.hooks.test": ["127.0.0.2"]}
    with Receiver(None) as clear:
        lines = [f"fetch one {clear.url('/body/200/5')}", f"fetch again {clear.url('/body/200/5')}",
                 f"fetch name {clear.url('/body/200/7', host='a.hooks.test')}", f"post post {clear.url()} x",
                 f"fetch private {clear.url(host='private.hooks.test')}", f"fetch hang {clear.url('/hang')}",
                 f"fetch close {clear.url('/close')}"]
        got = {end.label: end for end in drive(lines, *trusting, "--dns", names.address, "--attempt-ms", int(3000 * PATIENCE),
                                               "--endpoint", 3)}
    assert (got["one"].word, got["one"].size, got["name"].size) == ("-", 5, 7)
    assert got["again"].size == 5 and clear.connections < 6
    assert got["post"].refusal == "INVALID_WEBHOOK_URL" and got["private"].word == "address_refused"
    assert (got["hang"].word, got["hang"].detail) == ("timeout", "response: timeout, no whole head of an answer came")
    assert (got["close"].word, got["close"].detail) == ("reset", "response: connection closed before the answer")


# Signatures

def test_a_public_verifier_takes_our_signatures_and_no_others(receiver, trusting, verify):
    body = '{"id":"evt_1","data":{"name":"Zoë 🎟"}}'
    drive([f"sign one {receiver.url()} {SECRET} evt_1 {body}"], *trusting)
    request = receiver.requests[0]
    headers = {name: request.header(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
    good = {"secret": SECRET, "headers": headers, "body": request.body.decode()}
    late = str(int(headers["webhook-timestamp"]) + 1)
    bad = [{**good, "body": good["body"] + " "},
           {**good, "secret": "whsec_" + "A" * 43 + "="},
           {**good, "headers": {**headers, "webhook-id": "evt_2"}},
           {**good, "headers": {**headers, "webhook-timestamp": late}},
           {**good, "headers": {**headers, "webhook-signature": headers["webhook-signature"].replace("v1,", "v2,")}}]
    assert verify([good]) == ["ok"]
    assert all(verdict.startswith("WebhookVerificationError") for verdict in verify(bad)) and len(verify(bad)) == len(bad)


# The service

def test_a_service_whose_authorities_cannot_be_read_does_not_start(new_service, tmp_path, authority):
    service = new_service(start=False, options=["--egress-ca", tmp_path / "none"])
    service.expect_log("level=(warn|fatal)")
    service.start(wait=False)
    assert service.process.wait(20) == 1
    assert any("level=fatal" in line and "--egress-ca" in line for line in service.log_lines())
    service.process = None
    new_service(options=["--egress-ca", authority.root, "--egress-allow", "127.0.0.0/8"])
