#!/usr/bin/env python3
"""Kills processes under load and checks for lost, duplicated or invented effects.

Several clients create passes and send deltas of random sign. Meanwhile the http process, each shard, the timer, the
supervisor, and all of them at once are killed with `kill -9` at random instants. After every restart the clients pause,
and every pass changed since the last check is read. At the end every pass is read and listed, and histories are summed.

The answer to a command decides what may be present:
    acknowledged   201 or 202: must be present from then on
    refused        503 to a write, 502 to a creation, or connection refused: must be absent
    unknown        504, or the connection broke: may be present; once seen it must stay
Amounts are random numbers of 45 bits. A balance therefore shows exactly which of the few unknown deltas of a pass were
applied: two different subsets of a dozen would need equal sums. An unknown command can still run until its deadline, so
"absent" is final only SETTLE_SECONDS after it was sent.

durability.py [--kills N] [--seconds N] [--seed N] [--until-violation] prints one line with the numbers of acknowledged
and unknown commands, kills and violations. The exit status is 1 if anything was violated.
"""
import argparse
import http.client
import json
import os
import random
import signal
import sys
import threading
import time
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import READY_SECONDS, Service, kill_quietly, wait_for  # noqa: E402
from history import deltas_of  # noqa: E402
from ledger import Book  # noqa: E402
from shop import Shop, path_of  # noqa: E402

WORKERS = 6
SHOPS = 4
SETTLE_SECONDS = 8
SLOWEST_SECONDS = 9  # longer than every deadline: the request hangs
HISTORIES = 40
TARGETS = ["http 0", "shard 0", "shard 1", "timer 0", "supervisor", "all"]


class Worker(threading.Thread):
    """One client. It works while `go` is set; `resting` means that it has no request outstanding."""

    def __init__(self, run, number):
        super().__init__(daemon=True)
        self.run_ = run
        self.rng = random.Random(f"{run.seed}/{number}")
        self.clients = {}
        self.resting = threading.Event()
        self.names = (f"w{number}-{i}" for i in count())

    def run(self):
        try:
            while not self.run_.over:
                if not self.run_.go.is_set():
                    self.resting.set()
                    self.run_.go.wait(0.1)
                    continue
                self.resting.clear()
                self.step(self.rng.choice(self.run_.books))
        except Exception as error:  # an exception in a worker must fail the run; otherwise there would only be less load
            self.run_.violate(f"a client broke: {error!r}")
        self.resting.set()

    def step(self, book):
        pass_id = None if self.rng.random() < 0.2 else book.choose(self.rng)
        if pass_id is None:
            name = next(self.names)
            body = {"pass_id": name, "visible": {"name": name}, "hidden": {"mark": name * 3}}
            self.tell(book, "/v1/passes", body, 201, lambda fate: book.created(name, fate))
        else:
            amount = self.rng.choice((1, -1)) * self.rng.getrandbits(45)
            self.tell(book, path_of(pass_id, "/loyalty"), {"balance_to_add": amount}, 202,
                      lambda fate: book.added(pass_id, amount, fate))

    def tell(self, book, path, body, good, enter):
        fate, seconds, answer = self.send(book, path, body, good)
        enter(fate)
        if fate == "wrong" or seconds > SLOWEST_SECONDS:
            self.run_.violate(f"POST {path} {body}: {answer!r} after {seconds:.1f} s")

    def send(self, book, path, body, good):
        """(result, seconds, answer or error) of one request, sent at most once."""
        client = self.clients.get(book)
        if client is None:
            client = self.clients[book] = self.run_.service.client(book.shop.key, seconds=12)
        client.address = self.run_.service.http
        begin = time.monotonic()
        try:
            client.connect()
        except OSError as error:
            time.sleep(0.002)  # no process listens for a moment: do not spin
            return "refused", 0, error
        try:
            answer = client.post(path, body)
        except (OSError, http.client.HTTPException) as error:
            for other in self.clients.values():
                other.close()  # probably broken too: a request sent on it would prove nothing
            return "unknown", time.monotonic() - begin, error
        known = {good: "acknowledged", 202: "acknowledged", 503: "refused", 504: "unknown"}
        if good == 201:
            known[502] = "refused"
        return known.get(answer.status, "wrong"), answer.seconds, answer


class StaysDown(Exception):
    """The service refuses to start after a kill, or never accepts requests: nothing more can be checked."""


class Run:
    """One service, its clients and its killer. `until_violation` ends the run at the first violation."""

    def __init__(self, seed, until_violation=False):
        self.seed = seed
        self.until_violation = until_violation
        self.rng = random.Random(f"{seed}/killer")
        self.service = Service()
        self.violations = []
        self.lock = threading.Lock()
        self.go = threading.Event()
        self.over = False
        self.kills = 0
        self.workers = []
        self.books = []

    def violate(self, what):
        with self.lock:
            self.violations.append(what)

    def prepare(self):
        self.service.expect_log("level=warn")
        self.service.start()
        # The service picks an account's shard, so accounts are created until every shard has one.
        while len(self.books) < SHOPS or not all(shard["accounts"] for shard in self.service.status()["shards"]):
            self.books.append(Book(Shop(self.service, ("balance",)), SETTLE_SECONDS))
        self.workers = [Worker(self, number) for number in range(WORKERS)]
        for worker in self.workers:
            worker.start()

    def has_found(self):
        return bool(self.violations) and self.until_violation

    def perform(self, kills, seconds=None):
        end = time.monotonic() + seconds if seconds else float("inf")
        self.prepare()
        try:
            while self.kills < kills and time.monotonic() < end and not self.has_found():
                self.round()
            if not self.has_found():
                self.look_at_everything()
        finally:
            self.over = True
            self.go.set()
            for worker in self.workers:
                worker.join(20)
        return self

    # Kills

    def round(self):
        self.go.set()
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):  # several kills also hit the recovery
            time.sleep(self.rng.uniform(0.02, 0.35))  # the random instant; this is not a wait for a condition
            self.kill(TARGETS[self.kills % len(TARGETS)])
            self.kills += 1
        self.await_service()
        self.go.clear()
        for worker in self.workers:
            worker.resting.clear()  # only later answers count
        for worker in self.workers:
            if not worker.resting.wait(20):
                self.violate("a client hangs")
        self.look(everything=False)

    def kill(self, target):
        service = self.service
        if target == "supervisor":
            service.kill()
        elif target == "all":
            service.kill_everything()
        else:
            role, index = target.split()
            pid = self.pid_of(role, int(index))
            if pid:
                kill_quietly(pid)
            return
        service.start()

    def pid_of(self, role, index):
        """0 while the service cannot report it."""
        done = self.service.run("status")
        if done.returncode != 0:
            return 0
        found = [one["pid"] for one in json.loads(done.stdout)["processes"]
                 if (one["role"], one["index"]) == (role, index)]
        return found[0] if found else 0

    def await_service(self):
        def serves():
            for book in self.books:
                with self.service.client(book.shop.key, seconds=12) as client:
                    try:
                        if client.get("/v1/passes?limit=1").status != 200:
                            return False
                    except (OSError, http.client.HTTPException):
                        return False
            return self.service.is_ready()

        try:
            wait_for(serves, READY_SECONDS, "the service to accept requests again")
        except AssertionError as error:
            self.violate(f"after a kill: {error}")
            raise StaysDown from error

    # Checks

    def look(self, everything):
        for book in self.books:
            book.shop.client.close()
            book.shop.client.address = self.service.http
            for what in book.look(everything):
                self.violate(what)

    def look_at_everything(self):
        """Settles unknown results first. Then checks every pass by reads, lists and histories, before and after a clean
        restart."""
        wait_for(lambda: all(book.is_settled() for book in self.books), SETTLE_SECONDS + 2, "all deadlines to pass")
        self.look(everything=True)
        self.service.restart()
        self.look(everything=True)
        for book in self.books:
            for what in [*book.compare_list(), *self.compare_histories(book)]:
                self.violate(what)

    def compare_histories(self, book):
        ids = sorted(book.passes)
        doubtful = [pass_id for pass_id in ids if book.passes[pass_id].had_unknown]
        chosen = doubtful[:HISTORIES] + self.rng.sample(ids, min(HISTORIES // 4, len(ids)))
        for pass_id in chosen:
            if book.passes[pass_id].exists:
                amounts = deltas_of(book.shop.history(pass_id))
                yield from book.compare_amounts(pass_id, amounts)

    def summary(self):
        total = {key: sum(book.counts.get(key, 0) for book in self.books) for key in self.books[0].counts}
        return (f"durability: acknowledged={total['creations'] + total['deltas']} (creations={total['creations']} "
                f"deltas={total['deltas']}) unknown={total['unknown']} (found={total['found']}) "
                f"refused={total['refused']} kills={self.kills} violations={len(self.violations)} seed={self.seed}")

    def close(self):
        """Stops everything. Unexpected log lines count as violations."""
        if self.service.process and self.service.stop() != 0:
            self.violate("serve did not end with 0")
        for line in self.service.close():
            self.violate(f"logged: {line}")
        for book in self.books:
            book.shop.close()


def run(kills, seed, seconds=None, until_violation=False):
    """Returns a finished Run. Prints the seed first, so that a run that breaks can be repeated."""
    print(f"durability: seed={seed}", flush=True)
    scenario = Run(seed, until_violation)
    try:
        scenario.perform(kills, seconds)
    except StaysDown:
        pass  # a violation by now
    finally:
        scenario.close()
    print(scenario.summary(), flush=True)
    return scenario


def chosen_seed():
    return int(os.environ.get("STAMPEDE_SEED") or random.SystemRandom().getrandbits(32))


def main():
    parser = argparse.ArgumentParser(description="Kill processes under load; look for lost or doubled effects.")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, help="end after this long, however many kills")
    parser.add_argument("--seed", type=int, default=None, help="default: STAMPEDE_SEED, or random")
    parser.add_argument("--until-violation", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    seed = chosen_seed() if options.seed is None else options.seed
    scenario = run(options.kills, seed, options.seconds, options.until_violation)
    for what in scenario.violations[:50]:
        print(f"violation: {what}")
    return 1 if scenario.violations else 0


if __name__ == "__main__":
    sys.exit(main())
