"""Accounts at their limits, to measure what one costs another: a large one, one whose rules all act on a delta, and one
with five subscriptions to dead endpoints; and the clients that act in them.
"""


import concurrent.futures
import functools
import http.client
import http.server
import json
import multiprocessing
import os
import ssl
import struct
import threading
import time
import zlib

import bench
from bench import Failed, load, say
from operators import Operator

FIELDS = 64
PASSES = 100  # of the large account, besides those that are imported
LEDGER = "ledger"  # the pass with a long history
PAD = "x" * 900_000  # for a pass of nearly the largest size
IMAGE_BYTES = 1_900_000
GIVE_WAY = 10  # nice of what stands for other machines
GIVERS = 4  # threads that run commands while accounts are filled


class Client:
    def __init__(self, target, key):
        self.connection, self.key = http.client.HTTPConnection(target, timeout=60), key

    def __call__(self, method, path, body=None, headers=()):
        text = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
        self.connection.request(method, path, text, {"Authorization": f"Bearer {self.key}",
                                                     "Content-Type": "application/json", **dict(headers)})
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def demand(answer, *good):
    if answer[0] not in (good or (200, 201, 202, 204)):
        raise Failed(f"refused: {answer[0]} {answer[1][:300]!r}")
    return json.loads(answer[1]) if answer[1] else None


class Account:
    """What a process needs to act in the account; `at` has the objects created there."""

    def __init__(self, stampede, name):
        made = stampede.ask("account", "create", "--name", name, "--webhooks", "--rewards")
        self.build, self.data, self.target = os.path.dirname(stampede.program), stampede.data, stampede.target
        self.id, self.api_key, self.at = made["account_id"], made["api_key"], {}
        self.key = ["--key", self.api_key]  # as load() needs it
        stampede.ask("template", "put", self.id, stampede.template_path)


class Caller:
    """A client of an account, with a connection and its own command runner."""

    def __init__(self, account):
        self.account, self.at = account, account.at
        self.http = Client(account.target, account.api_key)

    @functools.cached_property
    def operator(self):
        return Operator(self.account.build, self.account.data)

    def command(self, noun, verb, *words, stdin=None):
        return self.operator(noun, verb, self.account.id, *words, stdin=stdin)

    def post(self, path, body=None):
        return demand(self.http("POST", path, body))

    def get(self, path):
        return demand(self.http("GET", path))

    def create(self, pass_id, **more):
        return self.post("/v1/passes", {"pass_id": pass_id, "visible": {"name": "n"}, **more})


def in_parallel(account, act, items):
    """Calls act(caller, item) for each item."""
    callers, lock = [], threading.Lock()

    def run(item):
        with lock:
            caller = callers.pop() if callers else None
        caller = caller or Caller(account)
        act(caller, item)
        with lock:
            callers.append(caller)

    with concurrent.futures.ThreadPoolExecutor(GIVERS) as pool:
        list(pool.map(run, items))


# ---- what accounts have ----------------------------------------------------------------------------------------


def template(number):
    return json.dumps({"name": f"{number} " + "n" * 150, "loyalty_type": "none", "fields": [
        {"key": f"k{field}" + "k" * 20, "type": "text", "label": "l" * 180} for field in range(FIELDS)]})


def rule(number):
    """Thirty act on every delta; the others have the same event and are inactive."""
    return json.dumps({"name": "r" * 180, "active": number < 30, "event": "pass.balanceUpdate",
                       "conditions": {"min_balance": 1},
                       "actions": [{"type": "send_notification", "message": "m" * 1700}] if number >= 30 else
                       [{"type": "add_balance", "amount": 1}]})


def png(number):
    """An image of nearly the largest size, different for each number."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    text = b"Comment\0" + str(number).encode() + b"." * IMAGE_BYTES
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)) + chunk(b"tEXt", text) + \
        chunk(b"IDAT", zlib.compress(b"\0\0\0" * 2)) + chunk(b"IEND", b"")


class Gallery(http.server.BaseHTTPRequestHandler):
    """Serves images, a different one for every path."""

    def do_GET(self):  # noqa: N802  pylint: disable=invalid-name
        body = png(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def serve_images(directory):
    """Returns the URL of a gallery and its certificate. A process serves it as long as this one lives, at a low priority,
    since it stands for another machine."""
    root, key = bench.certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(root, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gallery)
    server.socket = context.wrap_socket(server.socket, server_side=True)

    def serve():
        os.nice(GIVE_WAY)
        server.serve_forever()
    multiprocessing.get_context("fork").Process(target=serve, daemon=True).start()
    return f"https://127.0.0.1:{server.server_port}", root


def subscribe(caller, url, *kinds):
    return caller.post("/v1/webhook-subscriptions", {"url": url, "event_types": kinds})["id"]


def fill_subscriptions(caller, options):
    caller.at["subscription"] = subscribe(caller, "https://example.com/", "scan.created")
    for number in range(options.subscriptions):
        made = subscribe(caller, f"https://example.com/{number}/" + "u" * 1500, "scan.created")
        demand(caller.http("PATCH", "/v1/webhook-subscriptions/" + made, {"active": False}))


def fill_rewards(caller, options):
    for number in range(options.rewards):
        caller.post("/v1/rewards", {"name": f"Coffee {number}", "kind": "gift", "description": "d" * 2000,
                                    "expiration": {"kind": "none"}})
    caller.post("/v1/rewards", {"name": "bench", "slug": "bench", "kind": "gift", "repeat_assignment": True,
                                "expiration": {"kind": "none"}})


def import_file(path, prefix, count):
    with open(path, "w", encoding="utf-8") as out:
        for number in range(count):
            print(json.dumps({"pass_id": f"{prefix}{number}", "visible": {"name": f"Holder {number}"}}), file=out)
    return path


def fill_passes(caller, options):
    account = caller.account
    for number in range(PASSES):
        caller.create(f"p{number}")
    shown = caller.create("large", hidden={"a": PAD})
    caller.at["page"] = "/p/" + shown["download_url"].rsplit("/", 1)[1]
    template_id = caller.command("template", "list")[0]["pass_template_id"]
    path = import_file(f"{account.data}-fill.jsonl", "i", options.passes)
    caller.command("pass", "import", path, "--template", template_id)
    caller.create(LEDGER + "0")
    for words in (["--op", "delta", "--passes", "1", "--id-prefix", LEDGER, "--requests", str(options.ledger)],
                  ["--op", "scan", "--passes", str(PASSES), "--requests", str(options.scans)]):
        bench.demand(load(account.build, account, words), "filling the large account")


def fill_cards(caller, options):
    def link(one, number):
        one.command("card", "link", "--pass", "p1", "--code", f"card-{number}-" + "c" * 150)
    in_parallel(caller.account, link, range(options.cards))


def fill_notices(caller, options):
    def name(one, number):
        one.command("reader", "put", "--id", f"reader-{number}", "--name", f"Till {number} " + "t" * 150)
    in_parallel(caller.account, name, range(options.readers))
    members = [word for number in range(min(10_000, options.passes)) for word in ("--pass", f"i{number}")]
    caller.at["members"] = members
    caller.at["audience"] = caller.command("audience", "put", "--name", "all", *members)["audience_id"]


def add_once(caller, n):
    return caller.http("POST", f"/v1/passes/p{n % PASSES}/loyalty", '{"balance_to_add":1}',
                       {"Idempotency-Key": f"{time.monotonic_ns()}-{n}"})


def fill_keys(caller, options):
    in_parallel(caller.account, add_once, range(options.keys))


def fill_images(caller, options):
    caller.at["gallery"] = options.gallery
    shown = caller.create("shown", appearance={"logo": options.gallery + "/shown"})
    end = time.monotonic() + 30
    while shown["status"] == "creating" and time.monotonic() < end:
        time.sleep(0.1)
        shown = caller.get("/v1/passes/shown")
    if shown["status"] != "issued":
        raise Failed(f"the image was not fetched: {shown['status']}")
    caller.at["logo"] = "/p/" + shown["download_url"].rsplit("/", 1)[1] + "/logo"


def fill_templates(caller, options):
    """Runs last: later creations must name their template."""
    in_parallel(caller.account, lambda one, number: one.command("template", "put", "-", stdin=template(number)),
                range(options.templates))
    caller.at["template"] = caller.command("template", "list")[-1]["pass_template_id"]


def fill_large(account, options):
    caller = Caller(account)
    caller.at["own"] = caller.command("template", "list")[0]["pass_template_id"]
    for step in (fill_passes, fill_subscriptions, fill_rewards, fill_cards, fill_notices, fill_keys, fill_images,
                 fill_templates):
        began = time.monotonic()
        step(caller, options)
        say(f"{step.__name__}: {time.monotonic() - began:.0f} s")


def fill_ruled(account, options):
    caller = Caller(account)
    for number in range(PASSES):
        caller.create(f"p{number}")
    in_parallel(account, lambda one, number: one.command("rule", "put", "-", stdin=rule(number)), range(options.rules))


def fill_hooked(account, _):
    """No server listens at these ports."""
    caller = Caller(account)
    for number in range(PASSES):
        caller.create(f"p{number}")
    for port in range(1, 6):
        subscribe(caller, f"https://127.0.0.1:{port}/", "pass.balanceUpdate")


def fill(stampede, options):
    accounts = {}
    for kind, make in (("large", fill_large), ("ruled", fill_ruled), ("hooked", fill_hooked)):
        say(f"filling the account {kind}")
        accounts[kind] = Account(stampede, kind)
        make(accounts[kind], options)
    return accounts
