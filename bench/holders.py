"""Passes on phones: a service that may reach them, a certificate of Apple's kind, the names of passes in a wallet, and the
imitation of APNs that pushes arrive at."""

import array
import http.client
import json
import os
import re
import ssl
import sys
import time
import urllib.request

import bench
from bench import Failed, Stampede, say

sys.path.append(f"{bench.ROOT}/tests/scenario")
from serials import BYTES, names_of_tokens, token_of  # noqa: E402  pylint: disable=wrong-import-position
from wallets import Apple  # noqa: E402  pylint: disable=wrong-import-position

PASS_TYPE = "pass.example.bench"  # of ops.def
PAGE = 100  # passes, the most that a list has
DRAIN_SECONDS_MAX = 1800
LOOK_SECONDS = 0.2
READY_LOOK_SECONDS = 0.005


class Apns:
    """Where pushes arrive. Each is a pair in its record: the number of the pass, and the instant."""

    def __init__(self, options, directory):
        self.root, key = bench.certificate(directory, "apns")
        self.record = f"{directory}/pushes"
        self.child, fields = bench.start([f"{options.build}/bench/apns", "--cert", self.root, "--key", key, "--record", self.record],
                                f"{directory}/apns.log")
        self.address, self.taken, self.times = fields["https"], 0, {}
        self.connection = http.client.HTTPSConnection(self.address, context=ssl.create_default_context(cafile=self.root))

    def count(self):
        """Of all pushes; the record has them then."""
        self.connection.request("GET", "/count")
        return json.loads(self.connection.getresponse().read())["count"]

    def pushes(self):
        """The pairs since the last call, as (number, ns). `times` has the instants of all, by number."""
        until, found = self.count(), array.array("Q")
        with open(self.record, "rb") as file:
            file.seek(16 * self.taken)
            found.frombytes(file.read(16 * (until - self.taken)))
        self.taken = until
        new = list(zip(found[::2], found[1::2]))
        for number, at in new:
            self.times.setdefault(number, []).append(at)
        return new


class Credential:
    """The files of a certificate for PASS_TYPE."""

    def __init__(self, directory):
        apple = Apple(f"{directory}/apple")
        certificate, key = apple.make(PASS_TYPE)
        self.words = ("--cert", str(certificate), "--key", str(key), "--wwdr", str(apple.wwdr))


class Holding(Stampede):
    """A service with `count` passes. With `apns` it can push; with a credential its account has Apple's wallet."""

    def __init__(self, options, directory, apns=None, credential=None):
        os.mkdir(directory)
        words = [] if not apns else ["--public-url", "https://passes.example", "--wallet-apns", apns.address, "--egress-ca",
                                     apns.root, "--egress-allow", "127.0.0.0/8"]
        super().__init__(options.build, directory, words)
        self.bench_options, self.count, self.names = options, options.phones, f"{directory}/names"
        if credential:
            self.ask("wallet", "apple", "put", self.account_id, *credential.words)
        bench.fill(options, self, 0, self.count)

    def load(self, op, *words, connections=None):
        options = self.bench_options
        return bench.load(options.build, self, ["--op", op, "--passes", str(self.count), "--connections",
                                                str(connections or options.connections), *words])

    def tokens(self):
        """The tokens of all links, by the number in the pass's id."""
        found, have = bytearray(BYTES * self.count), 0
        for offset in range(0, self.count, PAGE):
            for made in self.call("GET", f"/v1/passes?limit={PAGE}&offset={offset}"):
                number = int(made["id"].removeprefix("p"))
                found[BYTES * number:BYTES * (number + 1)] = token_of(made["download_url"])
                have += 1
        if have != self.count:
            raise Failed(f"lists have {have} of {self.count} passes")
        return bytes(found)

    def write_names(self):
        """The file of --names, for what phones ask."""
        with open(f"{self.data}/master.key", "rb") as file:
            master = file.read()
        with open(self.names, "w", encoding="ascii") as file:
            file.writelines(f"{serial} {token}\n" for serial, token in names_of_tokens(master, self.tokens()))
        say(f"names of {self.count:,} passes")

    def as_phone(self, op, *words):
        """Options of the load generator for what phones ask."""
        named = ["--names", self.names] if op != "changes" else []
        return ["--op", op, "--account", self.account_id, *named, *words]

    def tag(self, number):
        """What the phone of a pass that is registered has seen when it asks now."""
        connection = http.client.HTTPConnection(self.target)
        connection.request("GET", f"/wallet/apple/{self.account_id}/v1/devices/phone{number}/registrations/{PASS_TYPE}")
        answer = connection.getresponse()
        if answer.status != 200:
            raise Failed(f"the phone of pass {number} is answered {answer.status}")
        return json.loads(answer.read())["lastUpdated"]

    def waiting(self):
        return self.ask("wallet", "show", self.account_id)["waiting"]["pushes"]

    def await_pushes(self, seconds_max=DRAIN_SECONDS_MAX):
        """Waits until no push waits. Returns the seconds."""
        began = time.monotonic()
        while (waiting := self.waiting()):
            if time.monotonic() - began > seconds_max:
                raise Failed(f"{waiting} pushes still wait after {seconds_max} s")
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - began

    def delays(self):
        """(sum in s, count) of the service's own histogram of delays, since it started."""
        with urllib.request.urlopen(f"http://{self.admin}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found = [re.search(rf"^stampede_wallet_push_delay_seconds_{part}\S* (\S+)$", text, re.M) for part in ("sum", "count")]
        return tuple(float(one[1]) if one else 0.0 for one in found)

    def restart(self, *more, kill=False):
        """Seconds from the new process to /readyz."""
        if kill:
            self.child.kill()
            self.child.wait()
        else:
            bench.stop(self.child)
        base, self.options = self.options, [*self.options, *more]
        began = time.monotonic()
        self.begin(bench.READY_SECONDS_MAX * 10)
        self.options = base
        while not self.is_ready():
            if time.monotonic() - began > bench.READY_SECONDS_MAX * 10:
                raise Failed("/readyz does not become 200")
            time.sleep(READY_LOOK_SECONDS)
        return time.monotonic() - began

    def is_ready(self):
        connection = http.client.HTTPConnection(self.admin, timeout=10)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        finally:
            connection.close()

    def other_account(self, passes):
        """The API key of a new account of this service, without wallets, with its own passes."""
        account = self.ask("account", "create", "--name", "other")
        self.ask("template", "put", account["account_id"], self.template_path)
        report = bench.load(self.bench_options.build, self, ["--op", "create", "--key", account["api_key"], "--requests", str(passes)])
        bench.demand(report, "filling another account")
        return account["api_key"]
