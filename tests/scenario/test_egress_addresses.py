"""How an attempt divides its time between name servers and addresses that answer, refuse, are late or are silent."""
import subprocess
from collections import Counter

import pytest
from drive import End, details, drive
from harness import build_directory, wait_for
from names import AAAA, A, Names
from patience import PATIENCE
from receiver import Hole, Receiver

WIDE = ["--allow", "127.0.0.0/8", "--allow", "::1/128"]
STAGGER_MS = 250
SLACK_MS = 700 * PATIENCE  # a handshake on a busy machine


@pytest.fixture
def wide(authority):
    return ["--ca", authority.root, *WIDE]


def one(receiver, names, addresses, options, host="many.hooks.test"):
    """The result of one request to a host with these addresses, at the receiver's port."""
    names.addresses[host] = addresses
    [end] = drive([f"post one {receiver.url(host=host)}"], *options, "--dns", names.address)
    return end


# Addresses

@pytest.mark.parametrize("silent", [1, 3])
def test_a_silent_address_costs_250_ms(receiver, wide, names, silent):
    holes = [Hole(f"127.0.0.{2 + i}", receiver.port) for i in range(silent)]
    end = one(receiver, names, [*(f"127.0.0.{2 + i}" for i in range(silent)), "127.0.0.1"], wide)
    assert (end.word, end.status) == ("-", 200)
    assert silent * STAGGER_MS <= end.milliseconds < silent * STAGGER_MS + SLACK_MS
    for hole in holes:
        hole.close()


def test_refusing_addresses_cost_no_time(receiver, wide, names):
    end = one(receiver, names, [*(f"127.0.1.{i}" for i in range(1, 26)), "127.0.0.1"], wide)
    assert (end.word, end.status) == ("-", 200) and end.milliseconds < STAGGER_MS + SLACK_MS
    assert end.detail == "", "a success does not report the refused addresses"


def test_the_families_take_turns(chain, wide, names):
    """IPv6 and IPv4 addresses are tried alternately, IPv6 first."""
    with Receiver(chain) as four, Hole("::1", four.port):
        end = one(four, names, [*(f"127.0.1.{i}" for i in range(1, 6)), "127.0.0.1", "::1"], wide)
        assert (end.word, end.status) == ("-", 200)
        assert STAGGER_MS <= end.milliseconds < STAGGER_MS + SLACK_MS
    with Receiver(chain, "::1") as six, Hole("127.0.0.1", six.port):
        end = one(six, names, ["127.0.0.1", "::1"], wide)
        assert (end.word, end.status) == ("-", 200) and end.milliseconds < SLACK_MS


def test_only_allowed_addresses_are_tried(receiver, authority, names, chain):
    """Also between silent addresses. If none is allowed the attempt fails at once."""
    with Receiver(chain, "127.0.0.2", receiver.port) as other, Hole("127.0.0.3", receiver.port):
        options = ["--ca", authority.root, "--allow", "127.0.0.1/32", "--allow", "127.0.0.3/32"]
        end = one(receiver, names, ["127.0.0.2", "127.0.0.3", "127.0.0.2", "::1", "10.0.0.1", "127.0.0.1"], options)
        assert (end.word, end.status) == ("-", 200)
        end = one(receiver, names, ["127.0.0.2", "::1", "10.0.0.1"], options, host="none.hooks.test")
        assert (end.word, end.detail) == ("address_refused", "connect: every address is refused by the egress rules")
        assert end.milliseconds < SLACK_MS
        end = one(receiver, names, ["127.0.0.2", "127.0.1.1"], ["--ca", authority.root, "--allow", "127.0.1.1/32"], host="some.hooks.test")
        assert (end.word, end.detail) == ("connect", "connect: connection refused")
        assert other.connections == 0


def test_an_attempt_at_silent_addresses_ends_at_its_timeout(receiver, wide, names):
    with Hole("127.0.0.2", receiver.port), Hole("127.0.0.3", receiver.port):
        names.addresses["dead.hooks.test"] = ["127.0.0.2", "127.0.0.3"]
        lines = [f"post {i} {receiver.url(host='dead.hooks.test')}" for i in range(40)]
        got = drive(lines, *wide, "--dns", names.address, "--attempt-ms", 1500, "--attempts", 20)
        assert set(details(got).values()) == {("timeout", "connect: timeout, no address took the connection")}


@pytest.mark.alone  # before the 250 ms of the next address have passed
def test_an_open_connection_is_used_before_a_new_one(receiver, wide, names):
    names.addresses["many.hooks.test"] = ["127.0.0.2", "127.0.0.1"]
    with Hole("127.0.0.2", receiver.port):
        lines = [f"post {i} {receiver.url(host='many.hooks.test')}" for i in range(10)]
        got = drive(lines, *wide, "--dns", names.address, "--endpoint", 1)
        assert {(end.word, end.status) for end in got} == {("-", 200)}
        assert receiver.connections == 1
        assert all(end.milliseconds < STAGGER_MS for end in got[1:])


def test_attempts_at_silent_addresses_have_a_common_limit_of_sockets(receiver, wide, names):
    """Each attempt may open several sockets, but all together open no more than there are slots."""
    names.addresses["dead.hooks.test"] = [f"127.0.0.{i}" for i in range(2, 8)]
    holes = [Hole(f"127.0.0.{i}", receiver.port) for i in range(2, 8)]
    lines = [f"post dead-{i} {receiver.url(host='dead.hooks.test')}" for i in range(60)]
    lines += [f"post sound-{i} {receiver.url()}" for i in range(20)]
    got = drive(lines, *wide, "--dns", names.address, "--attempt-ms", 2500)
    assert Counter(end.word for end in got) == {"timeout": 60, "-": 20}
    for hole in holes:
        hole.close()


# Name servers

@pytest.mark.parametrize("kind,addresses", [(AAAA, ["127.0.0.1"]), (A, ["::1"])])
@pytest.mark.parametrize("how", ["silent", "failing", "late"])
def test_one_address_family_does_not_delay_the_other(chain, wide, names, kind, addresses, how):
    with Receiver(chain, addresses[0]) as receiver:
        question = ("half.hooks.test", kind)
        if how == "late":
            names.late[question] = 5
        else:
            getattr(names, how).add(question)
        end = one(receiver, names, addresses, wide, host="half.hooks.test")
        assert (end.word, end.status) == ("-", 200) and end.milliseconds < SLACK_MS


def test_addresses_of_a_late_answer_are_still_tried(receiver, wide, names):
    """The addresses known first refuse. Those of the other family arrive in time to be connected."""
    names.late["late.hooks.test", A] = 0.4
    end = one(receiver, names, ["::1", "127.0.0.1"], wide, host="late.hooks.test")
    assert (end.word, end.status) == ("-", 200) and 400 <= end.milliseconds < 400 + SLACK_MS


def resolv_conf(tmp_path, *servers):
    file = tmp_path / "resolv.conf"
    file.write_text("".join(f"nameserver {server}\n" for server in servers))
    return file


def test_a_silent_name_server_is_skipped(receiver, wide, names, tmp_path):
    names.addresses["second.hooks.test"] = ["127.0.0.1"]
    silent = Names("127.0.0.77", names.port)
    silent.silent.add("second.hooks.test")
    file = resolv_conf(tmp_path, silent.host, "127.0.0.78", names.host)  # no server listens at the second address
    [end] = drive([f"post one {receiver.url(host='second.hooks.test')}"], *wide, "--resolv-conf", file, "--dns-port", names.port)
    assert (end.word, end.status) == ("-", 200) and end.milliseconds < 1000 + SLACK_MS
    assert silent.questions
    silent.close()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_name_server_that_fails_beside_a_silent_one_is_reported(receiver, wide, names, tmp_path, order):
    names.failing = {"broken.hooks.test"}
    silent = Names("127.0.0.77", names.port)
    silent.silent.add("broken.hooks.test")
    hosts = (silent.host, names.host)
    file = resolv_conf(tmp_path, *(hosts[index] for index in order))
    got = details(drive([f"post broken.hooks.test {receiver.url(host='broken.hooks.test')}"], *wide, "--resolv-conf", file,
                        "--dns-port", names.port))
    assert got == {"broken.hooks.test": ("dns", "DNS: the name servers refused or failed to answer")}
    silent.close()


def test_the_next_query_uses_a_changed_resolver(receiver, wide, names, tmp_path):
    """Queries to the previous server are still open. It does not matter how resolv.conf was changed."""
    hosts = [f"h{i}.hooks.test" for i in range(4)]
    names.addresses = {host: ["127.0.0.1"] for host in hosts}
    dead = Names("127.0.0.77", names.port)
    dead.silent.update(hosts)
    file = resolv_conf(tmp_path, dead.host)
    with subprocess.Popen([build_directory() / "tests/egress/egress_driver", *map(str, wide), "--resolv-conf", file, "--dns-port",
                           str(names.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        def ask(host):
            process.stdin.write(f"post {host} {receiver.url(host=host)}\n")
            process.stdin.flush()

        ask(hosts[0])
        wait_for(lambda: dead.questions, 10, "the query to the first server")
        file.write_text(f"nameserver {names.host}\n")
        ask(hosts[1])
        assert End(process.stdout.readline()).word == "-"
        file.write_text(f"nameserver {dead.host}\n")
        ask(hosts[2])
        wait_for(lambda: any(name == hosts[2] for name, _ in dead.questions), 10, "another query to the first server")
        other = tmp_path / "other"
        other.write_text(f"nameserver {names.host}\n")
        other.rename(file)
        ask(hosts[3])
        assert End(process.stdout.readline()).label == hosts[3]
        process.kill()
    dead.close()


def truncated(names, count, start="truncated"):
    """Names with truncated answers, which arrive during the first second."""
    hosts = [f"{start}-{i}.hooks.test" for i in range(count)]
    names.truncated.update(hosts)
    names.addresses.update(dict.fromkeys(hosts, ["127.0.0.1"]))
    names.late.update({(host, kind): i / count for i, host in enumerate(hosts) for kind in (A, AAAA)})
    return hosts


def posts(receiver, owner, hosts):
    return [f"owner {owner}", *(f"post {host} {receiver.url(host=host)}" for host in hosts)]


@pytest.mark.alone  # DNS has two seconds
@pytest.mark.drawn(2)
@pytest.mark.parametrize("tcp", ["refused", "closed", "silent", "answered"])
def test_truncated_answers_do_not_disturb_other_lookups(receiver, wide, names, tcp):
    """For each way in which the name server treats TCP. The others' outcomes are those they have alone."""
    others = {"late.hooks.test": ("-", ""), "quick.hooks.test": ("-", ""), "none.hooks.test": ("dns", "DNS: the name has no address"),
              "nobody.hooks.test": ("dns", "DNS: no such name"),
              "broken.hooks.test": ("dns", "DNS: the name servers refused or failed to answer"),
              "silent.hooks.test": ("dns", "DNS: timeout, the name servers are silent")}
    names.addresses = {"late.hooks.test": ["127.0.0.1"], "quick.hooks.test": ["127.0.0.1"], "none.hooks.test": []}
    names.late = {(host, kind): 0.3 for host in ("late.hooks.test", "nobody.hooks.test") for kind in (A, AAAA)}
    names.failing, names.silent = {"broken.hooks.test"}, {"silent.hooks.test"}
    hosts = truncated(names, 12)
    if tcp != "refused":
        names.serve_tcp()
    names.closing.update(hosts if tcp == "closed" else [])
    names.silent_by_tcp.update(hosts if tcp == "silent" else [])
    got = details(drive([*posts(receiver, "a", hosts), *posts(receiver, "b", others)], *wide, "--dns", names.address))
    assert {host: got[host] for host in others} == others
    assert {got[host] for host in hosts} == {
        "answered": {("-", "")}, "silent": {("dns", "DNS: timeout, the name servers are silent")},
    }.get(tcp, {("dns", "DNS: the name servers refused or failed to answer")})


def test_a_truncated_answer_is_completed_by_tcp_from_each_server(receiver, wide, names, tmp_path):
    """The first server refuses TCP; both are of resolv.conf."""
    [host] = truncated(names, 1)
    with_tcp = Names("127.0.0.78", names.port)
    with_tcp.addresses[host] = ["127.0.0.1"]
    with_tcp.serve_tcp()
    file = resolv_conf(tmp_path, names.host, with_tcp.host)
    [end] = drive(posts(receiver, "a", [host]), *wide, "--resolv-conf", file, "--dns-port", names.port)
    assert (end.word, end.status) == ("-", 200)
    assert with_tcp.tcp_questions == [host] * 2 and {name for name, _ in names.questions} == {host}
    with_tcp.close()


@pytest.mark.alone  # likewise
def test_an_account_with_many_truncated_answers_leaves_room_for_others(receiver, wide, names):
    """The name server does not answer by TCP. Each account has more names than may use TCP at once, and the twelve together
    almost fill its places."""
    names.serve_tcp()
    lines, hanging = [], []
    for owner in range(12):
        mine = truncated(names, 60, f"o{owner}")
        hanging += mine
        lines += posts(receiver, f"o{owner}", mine)
    names.silent_by_tcp.update(hanging)
    sound = truncated(names, 12, "sound")
    got = details(drive([*lines, *posts(receiver, "sound", sound)], *wide, "--dns", names.address))
    assert {got[host] for host in sound} == {("-", "")}
    assert {got[host] for host in hanging} == {("dns", "DNS: timeout, the name servers are silent")}


@pytest.mark.alone  # likewise
def test_all_truncated_answers_of_an_account_are_completed(receiver, wide, names):
    """They arrive together, and are more than may use TCP at once."""
    names.serve_tcp()
    hosts = truncated(names, 60)
    names.late.clear()
    got = details(drive(posts(receiver, "a", hosts), *wide, "--dns", names.address))
    assert set(got.values()) == {("-", "")} and len(got) == 60


def test_the_cause_of_a_failed_lookup_is_reported(receiver, wide, names):
    names.addresses = {"none.hooks.test": [], "broken.hooks.test": [], "half.hooks.test": []}
    names.failing = {"broken.hooks.test"}
    names.silent = {"silent.hooks.test", ("half.hooks.test", AAAA)}
    hosts = ["nobody.hooks.test", "none.hooks.test", "broken.hooks.test", "silent.hooks.test", "half.hooks.test"]
    got = details(drive([f"post {host} {receiver.url(host=host)}" for host in hosts], *wide, "--dns", names.address))
    assert got == {
        "nobody.hooks.test": ("dns", "DNS: no such name"), "none.hooks.test": ("dns", "DNS: the name has no address"),
        "broken.hooks.test": ("dns", "DNS: the name servers refused or failed to answer"),
        "silent.hooks.test": ("dns", "DNS: timeout, the name servers are silent"),
        "half.hooks.test": ("dns", "DNS: timeout, the name servers are silent")}
    [end] = drive([f"post one {receiver.url(host='silent.hooks.test')}"], *wide, "--dns", names.address, "--attempt-ms", 1000)
    assert (end.word, end.detail) == ("timeout", "DNS: timeout, the name servers are silent")
