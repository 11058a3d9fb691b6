"""Records which passes and deltas of an account were acknowledged, refused or have an unknown result, and compares this
record with the service.

Book: one account. Known: one pass. Clients record results from several threads. One thread checks while no client
works.
"""
import threading
import time
from dataclasses import dataclass, field

from shop import path_of

UNKNOWN_MAX = 24  # unknown deltas of one pass that subset_of() can resolve: 2^12 sums in each half


@dataclass
class Known:
    fate: str  # result of the creation
    created_at: float = 0.0  # when that result was known, on the monotonic clock
    balance: int = 0  # the sum of the amounts known to be applied
    amounts: list = field(default_factory=list)  # those amounts
    unknown: list = field(default_factory=list)  # (amount, when its result became unknown)
    had_unknown: bool = False
    exists: bool = False  # acknowledged, or unknown and later seen

    def unknown_since(self):
        """The times at which its commands got an unknown result."""
        creation = [self.created_at] if self.fate == "unknown" and not self.exists else []
        return [*creation, *(at for _, at in self.unknown)]

    def settle(self, now, seconds):
        """Drops unknown deltas that are still absent after their deadline: they can no longer be applied."""
        self.unknown = [(amount, at) for amount, at in self.unknown if now - at <= seconds]


def subset_of(amounts, target):
    """Indices of amounts that sum to `target`, or None. Meet-in-the-middle search: exact for UNKNOWN_MAX amounts."""
    half = len(amounts) // 2
    sums = {}
    for chosen in range(1 << half):
        sums.setdefault(sum(amounts[i] for i in range(half) if chosen >> i & 1), chosen)
    rest = amounts[half:]
    for chosen in range(1 << len(rest)):
        left = sums.get(target - sum(rest[i] for i in range(len(rest)) if chosen >> i & 1))
        if left is not None:
            return [i for i in range(half) if left >> i & 1] + [half + i for i in range(len(rest)) if chosen >> i & 1]
    return None


class Book:
    def __init__(self, shop, settle_seconds):
        self.shop = shop
        self.settle_seconds = settle_seconds
        self.lock = threading.Lock()
        self.passes = {}
        self.usable = []
        self.touched = set()
        self.counts = {"creations": 0, "deltas": 0, "unknown": 0, "found": 0, "refused": 0}

    # Called by clients

    def choose(self, rng):
        with self.lock:
            return rng.choice(self.usable) if self.usable else None

    def created(self, pass_id, fate):
        with self.lock:
            self.count(fate, "creations")
            self.passes[pass_id] = Known(fate, created_at=time.monotonic(), exists=fate == "acknowledged")
            self.touched.add(pass_id)
            if fate == "acknowledged":
                self.usable.append(pass_id)

    def added(self, pass_id, amount, fate):
        with self.lock:
            self.count(fate, "deltas")
            known = self.passes[pass_id]
            self.touched.add(pass_id)
            if fate == "acknowledged":
                known.balance += amount
                known.amounts.append(amount)
            elif fate == "unknown":
                known.unknown.append((amount, time.monotonic()))
                known.had_unknown = True

    def count(self, fate, kind):
        self.counts[kind if fate == "acknowledged" else fate] = \
            self.counts.get(kind if fate == "acknowledged" else fate, 0) + 1

    # Comparison with the service

    def is_settled(self):
        """True if no command with an unknown result can still be applied."""
        now = time.monotonic()
        return all(now - at > self.settle_seconds for known in self.passes.values() for at in known.unknown_since())

    def look(self, everything):
        """Reads all passes, or those changed since the last check. Yields violations."""
        chosen = sorted(self.passes if everything else self.touched)
        self.touched = set()
        for pass_id in chosen:
            began = time.monotonic()
            answer = self.shop.client.get(path_of(pass_id))
            yield from self.compare(pass_id, answer, began)
            known = self.passes[pass_id]
            if known.unknown or (known.fate == "unknown" and not known.exists):
                self.touched.add(pass_id)  # its result can still change

    def compare(self, pass_id, answer, began):
        known = self.passes[pass_id]
        if answer.status == 404:
            if known.exists:
                yield f"{pass_id}: an acknowledged or once seen creation is gone"
            elif known.fate == "unknown" and began - known.created_at > self.settle_seconds:
                known.fate = "refused"  # it was absent after the deadline: it must stay absent
            return
        if answer.status != 200:
            yield f"{pass_id}: cannot be read: {answer!r}"
            return
        if not known.exists:
            if known.fate != "unknown":
                yield f"{pass_id}: a creation that was refused is there"
            known.exists = True
            self.counts["found"] += 1
            self.usable.append(pass_id)
        yield from self.compare_pass(pass_id, answer.json, began)

    def compare_pass(self, pass_id, shown, began):
        known = self.passes[pass_id]
        if (shown["id"], shown["visible"]["name"], shown["hidden"], shown["status"]) != \
                (pass_id, pass_id, {"mark": pass_id * 3}, "issued"):
            yield f"{pass_id}: is not what was created: {shown}"
        balance = shown["balance"]
        if shown["visible"]["points"] != balance:
            yield f"{pass_id}: shows two balances: {shown}"
        unknown = known.unknown[:UNKNOWN_MAX]
        found = subset_of([amount for amount, _ in unknown], balance - known.balance)
        if found is None:
            yield (f"{pass_id}: balance {balance}, acknowledged {known.balance} (off by {balance - known.balance}), "
                   f"which no choice of {len(unknown)} unknown deltas explains")
            known.balance = balance  # report it only once
            return
        self.counts["found"] += len(found)
        for index in found:
            known.balance += unknown[index][0]
            known.amounts.append(unknown[index][0])
        known.unknown = [one for i, one in enumerate(known.unknown) if i not in found]
        known.settle(began, self.settle_seconds)

    def compare_list(self):
        """Compares the list, page by page, with the passes that were read one by one."""
        shown, total = {}, None
        while total is None or len(shown) < total:
            page, total, more = self.shop.list(f"?limit=100&offset={len(shown)}")
            before = len(shown)
            shown.update({entry["id"]: entry["balance"] for entry in page})
            if len(shown) != before + len(page) or more != (len(shown) < total):
                yield f"the list repeats or ends wrongly at {before} of {total}"
                return
        want = {pass_id: known.balance for pass_id, known in self.passes.items() if known.exists}
        for pass_id in sorted(set(want) | set(shown)):
            if want.get(pass_id) != shown.get(pass_id):
                yield f"{pass_id}: listed with {shown.get(pass_id)}, read as {want.get(pass_id)}"

    def compare_amounts(self, pass_id, amounts):
        known = self.passes[pass_id]
        if sorted(amounts) != sorted(known.amounts):
            lost = [amount for amount in known.amounts if amount not in amounts]
            more = [amount for amount in amounts if amount not in known.amounts]
            yield f"{pass_id}: history lacks {lost} and has {more} beyond, or doubles one"
        if sum(amounts) != known.balance:
            yield f"{pass_id}: history sums to {sum(amounts)}, the balance is {known.balance}"
