"""The heaviest requests of an account at its limits (large.py). HEAVY maps names to heavy requests: for each the
account, what it needs before, and a function that sends one request with a unique number.
"""

import json
import subprocess
import time

import bench
from bench import Failed, load
from large import PAD, PASSES, LEDGER, add_once, demand, import_file, in_parallel, template

ENTITLEMENTS = 390  # entitlements that one assignment replaces
DUE_SECONDS, DUE_AHEAD_SECONDS = 15, 0.35


# ---- before a slice: objects that heavy requests use up ---------------------------------------------------------


def due_together(caller, options, _):
    """Schedules notifications that are due at one instant. Returns shortly before that."""
    instant = int(time.time()) + DUE_SECONDS
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(instant))
    in_parallel(caller.account, lambda one, n: one.command("notification", "schedule", "--pass", f"i{n}", "--message",
                                                           "m" * 1000, "--at", at), range(options.due))
    ahead = instant - time.time() - DUE_AHEAD_SECONDS
    if ahead < 0:
        raise Failed(f"to schedule {options.due} notifications takes longer than {DUE_SECONDS} s")
    time.sleep(ahead)


def with_entitlements(caller, options, number):
    """Creates passes with thousands of entitlements each, to be deleted and erased."""
    for op, count in (("create", 16), ("assign", 16 * options.entitlements)):
        words = ["--op", op, "--passes", "16", "--id-prefix", f"w{number}-", "--requests", str(count)]
        bench.demand(load(caller.account.build, caller.account, words), f"{op} of passes with entitlements")


# ---- heavy requests: one request of number n, by a caller -------------------------------------------------------


HEAVY = {}


class Heavy:
    def __init__(self, act, account, before, callers):
        self.act, self.account, self.before, self.callers = act, account, before, callers


def heavy(account="large", before=None, callers=None):
    """`callers`: their number, if it is not the requested one; an operator runs one command after another."""
    def note(act):
        HEAVY[act.__name__] = Heavy(act, account, before, callers)
        return act
    return note


@heavy()
def light(caller, n):
    return caller.http("POST", f"/v1/passes/p{n % PASSES}/loyalty", '{"balance_to_add":1}')


@heavy(callers=1)
def starts(caller, _):
    """Starts a program that sends no request to the service: the cost of a command for the machine alone."""
    return subprocess.run([f"{caller.account.build}/stampede", "help"], stdout=subprocess.DEVNULL, check=True)


@heavy()
def settings(caller, n):
    return caller.http("PATCH", "/v1/webhook-subscriptions/" + caller.at["subscription"], {"active": n % 2 == 0})


@heavy()
def lists(caller, n):
    return caller.http("GET", f"/v1/passes?limit=100&q={n % 10}&sort_by=updated_at")


@heavy()
def own_lists(caller, n):
    """Each must show what was written just before it."""
    light(caller, n)
    return lists(caller, n)


@heavy()
def searches(caller, n):
    return caller.http("GET", f"/v1/passes?limit=100&q=older%20{n % 1000}")


@heavy()
def scan_lists(caller, n):
    return caller.http("GET", f"/v1/scans?limit=100&q=p{n % 10}")


@heavy()
def notice_lists(caller, n):
    return caller.http("GET", f"/v1/notifications?limit=100&q=m{n % 10}")


@heavy()
def subscriptions(caller, n):
    return caller.http("GET", "/v1/webhook-subscriptions")


@heavy()
def rewards(caller, n):
    return caller.http("GET", "/v1/rewards")


@heavy()
def cards(caller, n):
    return caller.http("GET", "/v1/passes/p1/cards")


@heavy(callers=1)
def links(caller, n):
    made = caller.command("card", "link", "--pass", "p2", "--code", f"{time.monotonic_ns()}-{n}")
    return caller.command("card", "unlink", made["id"])


@heavy()
def fields(caller, n):
    return caller.http("GET", "/v1/pass-templates/accepted-fields?pass_template_id=" + caller.at["template"])


@heavy(callers=1)
def template_puts(caller, n):
    changed = json.loads(template(n)) | {"pass_template_id": caller.at["template"]}
    return caller.command("template", "put", "-", stdin=json.dumps(changed))


@heavy()
def patches(caller, n):
    return caller.http("PATCH", "/v1/passes/large", '{"hidden":{"a":"%s%d"}}' % (PAD, n % 10))


@heavy()
def reads(caller, n):
    return caller.http("GET", "/v1/passes/large")


@heavy()
def pages(caller, n):
    return caller.http("GET", caller.at["page"])


@heavy()
def images(caller, n):
    return caller.http("GET", caller.at["logo"])


@heavy()
def fetches(caller, n):
    """Each pass has its own image, which is fetched and stored."""
    return caller.http("POST", "/v1/passes", {
        "pass_id": f"f{time.monotonic_ns()}-{n}", "visible": {"name": "n"}, "pass_template_id": caller.at["own"],
        "appearance": {"logo": f"{caller.at['gallery']}/{time.monotonic_ns()}"}})


@heavy(callers=1)
def imports(caller, n):
    prefix = f"{time.monotonic_ns()}-"
    path = import_file(f"{caller.account.data}-{n}.jsonl", prefix, 5000)
    return caller.command("pass", "import", path, "--template", caller.at["own"])


@heavy()
def assigns(caller, n):
    """As many are assigned one by one as one assignment with replacement ends."""
    replace = n % ENTITLEMENTS == ENTITLEMENTS - 1
    return caller.http("POST", "/v1/passes/p0/rewards/assign", {"slug": "bench", "replace": replace})


@heavy()
def replaces(caller, n):
    return caller.http("POST", f"/v1/passes/p{n % PASSES}/rewards/assign", {"slug": "bench", "replace": True})


@heavy()
def keyed(caller, n):
    """More keys than the limit: each new one evicts old ones."""
    return add_once(caller, n)


@heavy(callers=1)
def reader_lists(caller, n):
    return caller.command("reader", "list")


@heavy(callers=1)
def audiences(caller, n):
    return caller.command("audience", "put", "--id", caller.at["audience"], "--name", f"all {n}", *caller.at["members"])


@heavy(callers=1)
def announcements(caller, n):
    """To the largest audience, at once."""
    return caller.command("notification", "schedule", "--audience", caller.at["audience"], "--message", "m" * 2000,
                          "--at", "2020-01-01T00:00:00Z")


@heavy(before=due_together)
def due(caller, n):
    """Sends nothing: notifications fall due meanwhile."""
    time.sleep(0.01)


@heavy(callers=1)
def histories(caller, n):
    return caller.command("pass", "history", LEDGER + "0")


@heavy(callers=1)
def exports(caller, n):
    return caller.command("pass", "export", LEDGER + "0")


@heavy(before=with_entitlements)
def deletions(caller, n):
    return caller.http("DELETE", f"/v1/passes/w{caller.at['number']}-{n % 16}")


@heavy(before=with_entitlements, callers=1)
def erasures(caller, n):
    if n < 16:
        return caller.command("pass", "erase", f"w{caller.at['number']}-{n}")
    demand(caller.http("POST", "/v1/passes", {"pass_id": f"e{n}", "visible": {"name": "n"}, "hidden": {"a": PAD},
                                              "pass_template_id": caller.at["own"]}), 201, 202, 409)
    return caller.command("pass", "erase", f"e{n}")


@heavy("ruled")
def rules(caller, n):
    return light(caller, n)


@heavy("hooked")
def deliveries(caller, n):
    return light(caller, n)
