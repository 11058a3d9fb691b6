"""How an attempt's time is divided: name servers and addresses that are silent, refuse or are late beside those that answer."""
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
SLACK_MS = 700 * PATIENCE  # of a handshake and of a busy machine


@pytest.fixture
def wide(authority):
    return ["--ca", authority.root, *WIDE]


def one(receiver, names, addresses, options, host="many.hooks.test"):
    """The end of a single request to a host of these addresses, at the receiver's port."""
    names.addresses[host] = addresses
    [end] = drive([f"post one {receiver.url(host=host)}"], *options, "--dns", names.address)
    return end


# Addresses

@pytest.mark.parametrize("silent", [1, 3])
def test_a_silent_address_costs_a_quarter_of_a_second(receiver, wide, names, silent):
    holes = [Hole(f"127.0.0.{2 + i}", receiver.port) for i in range(silent)]
    end = one(receiver, names, [*(f"127.0.0.{2 + i}" for i in range(silent)), "127.0.0.1"], wide)
    assert (end.word, end.status) == ("-", 200)
    assert silent * STAGGER_MS <= end.milliseconds < silent * STAGGER_MS + SLACK_MS
    for hole in holes:
        hole.close()


def test_refusing_addresses_cost_nothing(receiver, wide, names):
    end = one(receiver, names, [*(f"127.0.1.{i}" for i in range(1, 26)), "127.0.0.1"], wide)
    assert (end.word, end.status) == ("-", 200) and end.milliseconds < STAGGER_MS + SLACK_MS
    assert end.detail == "", "what went wrong on the way is of no interest"


def test_the_families_take_turns(chain, wide, names):
    """IPv6 first; an address that is silent is followed by one of the other family."""
    with Receiver(chain) as four, Hole("::1", four.port):
        end = one(four, names, [*(f"127.0.1.{i}" for i in range(1, 6)), "127.0.0.1", "::1"], wide)
        assert (end.word, end.status) == ("-", 200)
        assert STAGGER_MS <= end.milliseconds < STAGGER_MS + SLACK_MS
    with Receiver(chain, "::1") as six, Hole("127.0.0.1", six.port):
        end = one(six, names, ["127.0.0.1", "::1"], wide)
        assert (end.word, end.status) == ("-", 200) and end.milliseconds < SLACK_MS


def test_only_allowed_addresses_run(receiver, authority, names, chain):
    """Between silent ones too; and when none is allowed it is said at once."""
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


def test_when_all_are_silent_the_time_is_over_when_it_is_over(receiver, wide, names):
    with Hole("127.0.0.2", receiver.port), Hole("127.0.0.3", receiver.port):
        names.addresses["dead.hooks.test"] = ["127.0.0.2", "127.0.0.3"]
        lines = [f"post {i} {receiver.url(host='dead.hooks.test')}" for i in range(40)]
        got = drive(lines, *wide, "--dns", names.address, "--attempt-ms", 1500, "--attempts", 20)
        assert set(details(got).values()) == {("timeout", "connect: timeout, no address took the connection")}


def test_a_kept_connection_is_used_before_anything_is_dialled(receiver, wide, names):
    names.addresses["many.hooks.test"] = ["127.0.0.2", "127.0.0.1"]
    with Hole("127.0.0.2", receiver.port):
        lines = [f"post {i} {receiver.url(host='many.hooks.test')}" for i in range(10)]
        got = drive(lines, *wide, "--dns", names.address, "--endpoint", 1)
        assert {(end.word, end.status) for end in got} == {("-", 200)}
        assert receiver.connections == 1
        assert all(end.milliseconds < STAGGER_MS for end in got[1:])


def test_many_attempts_at_silent_addresses_leave_descriptors_to_others(receiver, wide, names):
    """Each may have several sockets open, but all of them together no more than there are places."""
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
def test_a_family_does_not_hold_up_the_other(chain, wide, names, kind, addresses, how):
    with Receiver(chain, addresses[0]) as receiver:
        question = ("half.hooks.test", kind)
        if how == "late":
            names.late[question] = 5
        else:
            getattr(names, how).add(question)
        end = one(receiver, names, addresses, wide, host="half.hooks.test")
        assert (end.word, end.status) == ("-", 200) and end.milliseconds < SLACK_MS


def test_a_family_that_comes_late_still_joins(receiver, wide, names):
    """What is there already refuses; the other addresses come in time to be dialled."""
    names.late["late.hooks.test", A] = 0.4
    end = one(receiver, names, ["::1", "127.0.0.1"], wide, host="late.hooks.test")
    assert (end.word, end.status) == ("-", 200) and 400 <= end.milliseconds < 400 + SLACK_MS


def resolv_conf(tmp_path, *servers):
    file = tmp_path / "resolv.conf"
    file.write_text("".join(f"nameserver {server}\n" for server in servers))
    return file


def test_a_name_server_that_is_silent_is_passed_over(receiver, wide, names, tmp_path):
    names.addresses["second.hooks.test"] = ["127.0.0.1"]
    silent = Names("127.0.0.77", names.port)
    silent.silent.add("second.hooks.test")
    file = resolv_conf(tmp_path, silent.host, "127.0.0.78", names.host)  # nobody is at the second
    [end] = drive([f"post one {receiver.url(host='second.hooks.test')}"], *wide, "--resolv-conf", file, "--dns-port", names.port)
    assert (end.word, end.status) == ("-", 200) and end.milliseconds < 1000 + SLACK_MS
    assert silent.questions
    silent.close()


def test_another_resolver_is_asked_from_the_next_look_up_on(receiver, wide, names, tmp_path):
    """While questions to the one before are still open; however the file was changed."""
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
        wait_for(lambda: dead.questions, 10, "the question to the first")
        file.write_text(f"nameserver {names.host}\n")
        ask(hosts[1])
        assert End(process.stdout.readline()).word == "-"
        file.write_text(f"nameserver {dead.host}\n")
        ask(hosts[2])
        wait_for(lambda: any(name == hosts[2] for name, _ in dead.questions), 10, "the question to the first again")
        other = tmp_path / "other"
        other.write_text(f"nameserver {names.host}\n")
        other.rename(file)
        ask(hosts[3])
        assert End(process.stdout.readline()).label == hosts[3]
        process.kill()
    dead.close()


def test_what_a_look_up_failed_of_is_told(receiver, wide, names):
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
