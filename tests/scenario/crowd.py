"""Clients that work continuously while a test disturbs the service's disk or processes.

Crowd: several accounts, at least one on every shard. Workers create passes and send deltas, and record every result in
the accounts' books. The crowd counts the answers by account and status and keeps the slowest of each.
"""
import threading
import time
from collections import Counter, defaultdict

import durability
from harness import wait_for
from ledger import Book
from shop import Shop

DECIDED = 0  # settle_seconds where every process is killed: all commands are then either applied or lost
REFUSALS = {503: ("OVERLOADED", "SHARD_UNAVAILABLE"), 504: ("OUTCOME_UNKNOWN",), 507: ("STORAGE_FULL",)}


class Worker(durability.Worker):
    """Works for one account. Accepts the refusals of a full disk and checks each refusal fully."""

    def __init__(self, crowd, number):
        super().__init__(crowd, number)
        self.book = crowd.by_shard[number % len(crowd.by_shard)]

    def step(self, _):
        super().step(self.book)

    def send(self, book, path, body, good):
        fate, seconds, answer = super().send(book, path, body, good)
        status = getattr(answer, "status", 0)
        if status in REFUSALS:
            self.check_refusal(answer)
            fate = "unknown" if status == 504 else "refused"
        self.run_.heard(book, status, seconds)
        return fate, seconds, answer

    def check_refusal(self, answer):
        code = answer.json["code"]
        answer.is_error(answer.status, code)
        if code not in REFUSALS[answer.status]:
            self.run_.violate(f"{answer!r} is not what the interface says")
        if answer.status == 503 and answer.headers.get("retry-after") != "1":
            self.run_.violate(f"{answer!r} has no Retry-After")


class Crowd:
    """`with Crowd(service) as crowd:` works until the end of the block or until rest()."""

    def __init__(self, service, workers=4, settle_seconds=durability.SETTLE_SECONDS):
        self.service = service
        self.seed = durability.chosen_seed()
        self.settle_seconds = settle_seconds
        self.books = []
        self.by_shard = {}  # index: book
        self.violations = []
        self.lock = threading.Lock()
        self.go = threading.Event()
        self.over = False
        self.forget_counts()
        self.make_books()
        self.workers = [Worker(self, number) for number in range(workers)]
        for worker in self.workers:
            worker.start()

    def __enter__(self):
        self.work()
        return self

    def __exit__(self, *_):
        self.over = True
        self.go.set()
        for worker in self.workers:
            worker.join(20)
        for book in self.books:
            book.shop.close()

    def make_books(self):
        """The service picks an account's shard, so accounts are created until every shard has one."""
        def accounts():
            return {shard["index"]: shard["accounts"] for shard in self.service.status()["shards"]}

        before = accounts()
        while set(self.by_shard) != set(before):
            book = Book(Shop(self.service, ("balance",)), self.settle_seconds)
            after = accounts()
            self.by_shard.setdefault(next(index for index in after if after[index] != before[index]), book)
            self.books.append(book)
            before = after

    # Called by workers

    def violate(self, what):
        with self.lock:
            self.violations.append(what)

    def heard(self, book, status, seconds):
        with self.lock:
            self.statuses[book][status] += 1
            self.last_heard[book] = time.monotonic()
            self.slowest[book] = max(self.slowest[book], seconds)

    # Called by the test

    def forget_counts(self):
        with self.lock:
            self.statuses = defaultdict(Counter)
            self.slowest = defaultdict(float)
            self.last_heard = defaultdict(time.monotonic)  # before the first answer: the time of the first read

    def count(self, status, book=None):
        with self.lock:
            books = [book] if book else list(self.statuses)
            return sum(self.statuses[one][status] for one in books)

    def await_answers(self, status, number=20, book=None, seconds=20):
        """Waits for `number` more answers with that status."""
        want = self.count(status, book) + number
        wait_for(lambda: self.count(status, book) >= want or self.violations, seconds,
                 f"{number} answers with status {status}; so far {dict(self.statuses)}")

    def await_deltas(self, number=20, book=None, seconds=20):
        """Waits until deltas and creations succeed again."""
        self.await_answers(202, number, book, seconds)
        self.await_answers(201, 1, book, seconds)

    def await_silence(self, book, silence_seconds):
        """Waits until no worker of that account gets answers any more."""
        wait_for(lambda: time.monotonic() - self.last_heard[book] > silence_seconds, silence_seconds + 5, "silence")

    def work(self):
        self.go.set()

    def rest(self):
        """Returns when no client has a request outstanding."""
        self.go.clear()
        if self.over:
            return
        for worker in self.workers:
            worker.resting.clear()  # only later answers count
        for worker in self.workers:
            assert worker.resting.wait(20), "a client hangs"

    # Checks, made while the crowd rests

    def turn_to(self, service):
        """Uses the same accounts on another service."""
        self.service = service
        for book in self.books:
            book.shop.service = service
            book.shop.client.close()
            book.shop.client.address = service.http

    def look(self, lists=False):
        """Every acknowledged change must be present and every refused change absent."""
        self.rest()
        self.turn_to(self.service)
        found = list(self.violations)
        for book in self.books:
            found += book.look(everything=True)
            if lists:
                found += book.compare_list()
        assert found == [], found[:10]

    def look_settled(self):
        """look() after every deadline has passed, so that lists can be compared too."""
        self.rest()
        wait_for(lambda: all(book.is_settled() for book in self.books), self.settle_seconds + 2, "all deadlines to pass")
        self.look()
        self.look(lists=True)
