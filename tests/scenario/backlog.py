"""Many events at once, made by the load generator, and a count of how often each one was delivered to each endpoint."""
import json
import signal
import subprocess
from collections import Counter
from contextlib import contextmanager

from deliveries import BALANCE, event_id, hooked_shop
from harness import wait_for
from hooks import subscribe
from patience import PATIENCE

DELTA = 5  # amount of each delta that the generator sends
PASSES = 100


def generator(shop, *words):
    host, port = shop.service.http
    return [shop.service.build / "bench" / "load", "--target", f"{host}:{port}", "--key", shop.key, "--json", *map(str, words)]


def load(shop, *words):
    """Runs the load generator. Every one of its requests must succeed."""
    done = subprocess.run(generator(shop, *words), capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["errors"] == 0, done


class Arrivals:
    """Counts how often each event was delivered to a path, and for which pass."""

    def __init__(self, receiver, path):
        self.requests, self.seen = receiver.to[path], 0
        self.times, self.passes = Counter(), {}

    def look(self):
        """The number of distinct events so far."""
        fresh = self.requests[self.seen:]
        self.seen += len(fresh)
        for request in fresh:
            said = json.loads(request.body)
            assert event_id(request) == said["id"]
            self.times[said["id"]] += 1
            self.passes[said["id"]] = said["data"]["id"]
        return len(self.times)


class Backlog:
    """An account with passes p0 to p99 and one or more subscriptions. `endpoints` maps a name to a receiver and a path."""

    def __init__(self, service, endpoints):
        self.service, self.shop = service, hooked_shop(service)
        load(self.shop, "--op", "create", "--requests", PASSES, "--connections", 8)
        self.hooks, self.arrivals = {}, {}
        for name, (receiver, path) in endpoints.items():
            self.hooks[name] = subscribe(self.shop, receiver.url(path), [BALANCE])
            self.arrivals[name] = Arrivals(receiver, path)

    def deltas(self, number):
        load(self.shop, "--op", "delta", "--passes", PASSES, "--requests", number, "--connections", 16)

    @contextmanager
    def deltas_beside(self, rate):
        """Sends `rate` deltas a second until the end of the block. Under kills most of them fail or have an unknown
        result."""
        command = generator(self.shop, "--op", "delta", "--passes", PASSES, "--mode", "open", "--rate", rate, "--connections", 16)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            try:
                yield
            finally:
                running.kill()

    def pile_up(self, number):
        """Sends `number` deltas while the timer is stopped, so that all deliveries are queued when it continues."""
        pid = self.service.signal("timer", 0, signal.SIGSTOP)
        self.deltas(number)
        return pid

    def restarted(self):
        self.shop.client.address = self.service.http

    def accepted(self):
        """The number of applied deltas of each pass, computed from its balance."""
        passes, total, _ = self.shop.list(f"?limit={PASSES}")
        assert total == PASSES
        assert all(one["balance"] % DELTA == 0 for one in passes)
        return Counter({one["id"]: one["balance"] // DELTA for one in passes})

    def await_all(self, names, seconds, meanwhile=lambda: None):
        """Waits until the named subscriptions have received the event of every delta and no other event. Returns the
        number of events. Requests of a killed generator may still be applied, so the balances are read again on each
        turn."""
        def counts():
            accepted = +self.accepted()
            for name in names:
                self.arrivals[name].look()
            return accepted, {name: Counter(self.arrivals[name].passes.values()) for name in names}

        def all_there():
            meanwhile()
            accepted, came = counts()
            return all(came[name] == accepted for name in names) and accepted.total()

        def difference():
            accepted, came = counts()
            return "the events at: " + ", ".join(
                f"{name}, {(accepted - came[name]).total()} missing, {(came[name] - accepted).total()} of no delta" for name in names)

        return wait_for(all_there, seconds, difference)

    def close(self):
        self.shop.close()
