"""The systems that bench/peers compares with. Each has missing(), which returns what to install, and rows():
measurements of a "delta" and a "get" as rows.Row needs them. settle() runs after a turn of deltas and does the work
that the system deferred.

All have the passes with the fields that the interface shows. A delta is the same in all: the pass's balance and time of
change, a ledger row, and a row of the event to be sent, on disk before the answer.
"""

import contextlib
import csv
import filecmp
import glob
import hashlib
import math
import os
import shutil
import subprocess
import time

import bench
import postgres
from bench import ROOT, Failed, Stampede, fill, say
from rows import loaded

DELTA = 5
FILLED_AT_ONCE = 10_000  # hashes of Redis that one script creates


def percentiles(latencies_us):
    """The lowest values that the given shares do not exceed."""
    ordered = sorted(latencies_us)
    return {name: ordered[math.ceil(share * len(ordered)) - 1]
            for name, share in (("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999), ("max", 1))}


def seconds_of(options, op):
    return options.seconds if op == "delta" else max(1, options.seconds / 4)


def output_of(command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          preexec_fn=bench.before_exec, **how)
    if done.returncode:
        raise Failed(f"{command[0]} ends with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def tree_seconds(root):
    """User and system time of a process and its descendants, including ended ones that were waited for."""
    below, seconds = {}, {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(path, encoding="utf-8",
                                                                              errors="replace") as stat:
            words = stat.read().rsplit(")", 1)[1].split()
            pid = int(path.split("/")[2])
            below.setdefault(int(words[1]), []).append(pid)
            seconds[pid] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    found = [root]
    for pid in found:
        found += below.get(pid, [])
    return sum(seconds.get(pid, 0) for pid in found)


def with_shares(trees, do):
    """The sample of do(), with the use of the process trees by name and of the programs that it ran (the load), in per
    cent of one processor."""
    began, load = time.monotonic(), bench.children_seconds()
    used = {name: tree_seconds(child.pid) for name, child in trees.items()}
    sample = do()
    grown = {"load": bench.children_seconds() - load,
             **{name: tree_seconds(child.pid) - used[name] for name, child in trees.items()}}
    took = time.monotonic() - began
    return {**{f"cpu_{name}": 100 * seconds / took for name, seconds in grown.items()}, **sample}


# ---- Stampede --------------------------------------------------------------------------------------------------


class Ours:
    def __init__(self, options, directory):
        self.options = options
        self.service = Stampede(options.build, directory)
        fill(options, self.service, 0, options.passes)

    @staticmethod
    def missing(_options):
        return None

    def rows(self):
        return [("stampede", op, by_load(self.options, self.service, op)) for op in ("delta", "get")]

    def settle(self):
        """Nothing is deferred."""


def by_load(options, server, op, **others):
    """Over HTTP, by our own load generator; `others` are processes by name whose shares are reported too."""
    def ask(seed, extra):
        seconds = seconds_of(options, op)
        words = ["--op", op, "--passes", str(options.passes), "--connections", str(options.connections),
                 "--seconds", f"{seconds:g}", "--warmup", f"{options.warmup:g}"]
        return with_shares({"system": server.child, **others},
                           lambda: loaded(options.build, server, words)(seed, extra))
    return ask


# ---- PostgreSQL ------------------------------------------------------------------------------------------------

SETTINGS = {"synchronous_commit": "on", "max_connections": "200", "max_wal_size": "16GB", "checkpoint_timeout": "1h",
            "autovacuum": "off"}
SCHEMA = """
CREATE TABLE pass (account int NOT NULL, pass_id text NOT NULL, visible jsonb NOT NULL, hidden jsonb NOT NULL,
    appearance jsonb, qr_value text NOT NULL, status text NOT NULL, download_token text NOT NULL,
    reinstall_blocked boolean NOT NULL, loyalty_type text NOT NULL, balance bigint NOT NULL,
    created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
    PRIMARY KEY (account, pass_id)) WITH (fillfactor = 80);
CREATE TABLE ledger (id bigserial PRIMARY KEY, account int NOT NULL, pass_id text NOT NULL, delta bigint NOT NULL,
    balance bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE event (id bigserial PRIMARY KEY, account int NOT NULL, type text NOT NULL, pass_id text NOT NULL,
    body jsonb NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE api_key (hash text PRIMARY KEY, account int NOT NULL);
INSERT INTO pass SELECT 1, 'p' || i, jsonb_build_object('name', 'Holder p' || i), '{{}}', NULL, 'p' || i, 'issued',
    md5(i::text), false, 'balance', 0, now(), now() FROM generate_series(0, {passes} - 1) AS i;
INSERT INTO api_key VALUES ('{key_hash}', 1);
"""
SETTLE = """
VACUUM ANALYZE;
CHECKPOINT;
UPDATE pass SET updated_at = now() -- one pass of every page, whose first change since the checkpoint is logged in full
    WHERE ctid = ANY (ARRAY(SELECT DISTINCT ON ((ctid::text::point)[0]) ctid FROM pass));
"""
CHANGE = (f"UPDATE pass SET balance = balance + {DELTA}, updated_at = now() WHERE account = 1 AND pass_id = 'p' || :n "
          "RETURNING balance")
EVENT = f"1, 'pass.balanceUpdate', 'p' || :n, jsonb_build_object('id', 'p' || :n, 'delta', {DELTA}, 'balance', "
SCRIPTS = {
    "transaction": f"""BEGIN;
{CHANGE} \\gset
INSERT INTO ledger (account, pass_id, delta, balance) VALUES (1, 'p' || :n, {DELTA}, :balance);
INSERT INTO event (account, type, pass_id, body) VALUES ({EVENT}:balance::bigint));
COMMIT;
""",
    "statement": f"""WITH changed AS ({CHANGE}), kept AS
(INSERT INTO ledger (account, pass_id, delta, balance) SELECT 1, 'p' || :n, {DELTA}, balance FROM changed)
INSERT INTO event (account, type, pass_id, body) SELECT {EVENT}balance) FROM changed;
""",
    "get": "SELECT * FROM pass WHERE account = 1 AND pass_id = 'p' || :n;\n",
}
SUMS = """SELECT (SELECT sum(balance) FROM pass), (SELECT sum(delta) FROM ledger),
    (SELECT sum((body->>'delta')::bigint) FROM event);"""


def transactions(paths):
    """From pgbench's logs: when each transaction ended, in seconds, and its duration in microseconds."""
    found = []
    for path in paths:
        with open(path, encoding="ascii") as log:
            for line in log:
                words = line.split()
                found.append((int(words[4]) + int(words[5]) / 1e6, int(words[2])))
    return found


def pgbench_sample(ended, warmup, seconds):
    """Counts transactions that began after the warm-up and ended within the time."""
    began = min((at - took / 1e6 for at, took in ended), default=0) + warmup
    counted = [took for at, took in ended if at - took / 1e6 >= began and at <= began + seconds]
    if not counted:
        raise Failed(f"pgbench: none of {len(ended)} transactions began after the warm-up and ended in time")
    return {"requests_per_s": len(counted) / seconds, **percentiles(counted), "errors": 0}


class Postgres(postgres.Cluster):
    """With pgbench over its socket: prepared statements, no HTTP. It makes no checkpoint and no vacuum during a
    measurement."""

    def __init__(self, options, directory):
        super().__init__(directory, SETTINGS)
        self.options, self.directory = options, directory
        self.api_key = "sk_" + hashlib.sha256(directory.encode()).hexdigest()
        say("filling PostgreSQL")
        self.say_sql(SCHEMA.format(passes=options.passes, key_hash=hashlib.sha256(self.api_key.encode()).hexdigest()))
        self.settle()

    @staticmethod
    def missing(_options):
        return None if postgres.is_installed() else postgres.INSTALL

    def rows(self):
        return [("PostgreSQL", "delta", self.by_pgbench("transaction")),
                ("PostgreSQL, in one statement", "delta", self.by_pgbench("statement")),
                ("PostgreSQL", "get", self.by_pgbench("get"))]

    def by_pgbench(self, name):
        script = f"{self.directory}/{name}.sql"
        with open(script, "w", encoding="ascii") as file:
            file.write(f"\\set n random(0, {self.options.passes - 1})\n{SCRIPTS[name]}")

        def ask(seed, _):
            seconds = seconds_of(self.options, "get" if name == "get" else "delta")
            prefix = f"{self.directory}/pgbench"
            command = [f"{self.bin}/pgbench", "-h", self.place, "-U", "postgres", "-n", "-M", "prepared", "-f", script,
                       "-c", str(self.options.connections), "-j", "2", "-l", f"--log-prefix={prefix}",
                       f"--random-seed={seed}", "-T", str(math.ceil(seconds + self.options.warmup)), "postgres"]
            shares = with_shares({"system": self.server}, lambda: {"told": output_of(command)})
            logs = glob.glob(f"{prefix}.*")
            sample = pgbench_sample(transactions(logs), self.options.warmup, seconds)
            for log in logs:
                os.unlink(log)
            return {**shares, **sample}
        return ask

    def settle(self):
        """Not timed, in its favour: others do such work during requests."""
        self.say_sql(SETTLE)

    def wrong(self):
        """Checks the sums: balances, ledger and events."""
        sums = self.say_sql(SUMS)[-1].strip()
        return None if len(set(sums.split("|"))) == 1 else f"PostgreSQL: balances, ledger and events add up to {sums}"


# ---- Redis -----------------------------------------------------------------------------------------------------

MAKE = """
for i = ARGV[1], ARGV[2] do
  local id = string.format('%012d', i)
  redis.call('HSET', 'pass:' .. id, 'id', id, 'visible', '{"name":"Holder ' .. id .. '"}', 'hidden', '{}',
    'appearance', 'null', 'qr_value', id, 'status', 'issued', 'download_token', redis.sha1hex(id),
    'reinstall_blocked', '0', 'loyalty_type', 'balance', 'balance', '0', 'created_at', ARGV[3], 'updated_at', ARGV[3])
end
"""
CHANGE_LUA = """
if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('NOT_FOUND') end
local now = redis.call('TIME')
local at = now[1] .. string.format('%06d', now[2])
local balance = redis.call('HINCRBY', KEYS[1], 'balance', ARGV[1])
redis.call('HSET', KEYS[1], 'updated_at', at)
redis.call('XADD', 'ledger', '*', 'pass', KEYS[1], 'delta', ARGV[1], 'balance', balance, 'at', at)
redis.call('XADD', 'event', '*', 'type', 'pass.balanceUpdate', 'pass', KEYS[1], 'delta', ARGV[1], 'balance', balance)
return balance
"""


def redis_sample(output):
    """Parses the last line of redis-benchmark --csv; its latencies are in milliseconds."""
    table = list(csv.DictReader(output.strip().splitlines()))
    if not table or not float(table[-1]["rps"]):
        raise Failed(f"redis-benchmark: no request succeeded: {output.strip()[-500:]}")
    row = table[-1]
    return {"requests_per_s": float(row["rps"]), "errors": 0,
            **{name: 1e3 * float(row[f"{name}_latency_ms"]) for name in ("p50", "p99", "max")}}


class Redis:
    """With redis-benchmark over its socket: a script for each delta, every write synced before its answer, no HTTP. It
    does not rewrite its file during a measurement."""

    def __init__(self, options, directory):
        self.options = options
        place = f"{directory}/redis"
        os.mkdir(place)
        self.socket = f"{place}/socket"
        words = {"port": "0", "unixsocket": self.socket, "dir": place, "save": "", "appendonly": "yes",
                 "appendfsync": "always", "auto-aof-rewrite-percentage": "0"}
        with open(f"{place}/log", "wb") as log:
            self.child = subprocess.Popen(["redis-server", *[word for name, value in words.items()
                                                             for word in (f"--{name}", value)]],
                                          stdout=log, stderr=log, start_new_session=True, preexec_fn=bench.before_exec)
        bench.children.append(self.child)
        self.fill()
        self.script = self.ask("SCRIPT", "LOAD", CHANGE_LUA)

    @staticmethod
    def missing(_options):
        is_there = shutil.which("redis-server") and shutil.which("redis-benchmark")
        return None if is_there else "apt-get install redis-server"

    def ask(self, *words):
        return output_of(["redis-cli", "-s", self.socket, "-e", *words]).strip()

    def await_that(self, is_so, what):
        deadline = time.monotonic() + 10 * bench.READY_SECONDS_MAX
        while not is_so():
            if time.monotonic() > deadline or self.child.poll() is not None:
                raise Failed(f"Redis does not {what}")
            time.sleep(0.05)

    def fill(self):
        self.await_that(lambda: os.path.exists(self.socket), "get ready")
        say("filling Redis")
        self.ask("CONFIG", "SET", "appendfsync", "no")
        for first in range(0, self.options.passes, FILLED_AT_ONCE):
            last = min(first + FILLED_AT_ONCE, self.options.passes) - 1
            self.ask("EVAL", MAKE, "0", str(first), str(last), str(time.time_ns() // 1000))
        self.ask("BGREWRITEAOF")
        self.await_that(lambda: not self.number("persistence", "aof_rewrite_in_progress")
                        and not self.number("persistence", "aof_rewrite_scheduled"), "rewrite its file")
        self.ask("CONFIG", "SET", "appendfsync", "always")

    def number(self, section, name):
        lines = [line.split(":") for line in self.ask("INFO", section).splitlines() if ":" in line]
        return int(dict(lines)[name])

    def rows(self):
        return [("Redis", op, self.by_benchmark(op, seconds_of(self.options, op))) for op in ("delta", "get")]

    def by_benchmark(self, op, seconds):
        def run(count):
            words = (["evalsha", self.script, "1", "pass:__rand_int__", str(DELTA)] if op == "delta"
                     else ["hgetall", "pass:__rand_int__"])
            return redis_sample(output_of([
                "redis-benchmark", "-s", self.socket, "-c", str(self.options.connections), "-n", str(count),
                "-r", str(self.options.passes), "--csv", *words]))

        def ask(_seed, _extra):
            """It counts requests, not time: the warm-up determines their number. It seeds itself from the clock."""
            failed = self.number("stats", "total_error_replies")
            first = 1 + int(run(1000)["requests_per_s"] * self.options.warmup)
            count = 1 + int(run(first)["requests_per_s"] * seconds)
            sample = with_shares({"system": self.child}, lambda: run(count))
            sample["errors"] = self.number("stats", "total_error_replies") - failed
            if op == "delta":
                self.empty(1000 + first + count)
            return sample
        return ask

    def settle(self):
        """Nothing is deferred."""

    def empty(self, count):
        """Checks that each delta has its two entries, and deletes them like a consumer."""
        for stream in ("ledger", "event"):
            entries = int(self.ask("XLEN", stream))
            if entries < count:
                raise Failed(f"Redis: {count} deltas left {entries} entries in {stream}")
            self.ask("XTRIM", stream, "MAXLEN", "0")


# ---- the service as a team would write it ------------------------------------------------------------------------


NODE = "Fastify and PostgreSQL"
NODES = {NODE: (), f"2 x {NODE}": ("--processes", "2")}


class Node:
    """Fastify with PostgreSQL, with our own load generator: a service whose deltas are transactions, and one with a
    single statement each; each as one process and as two. One service works at a time."""

    def __init__(self, options, directory, cluster):
        self.options, self.cluster = options, cluster
        self.servers = {name: (self.begin(directory, *words), self.begin(directory, *words, "--one-statement"))
                        for name, words in NODES.items()}

    def begin(self, directory, *words):
        command = ["env", f"PGHOST={self.cluster.place}", "PGUSER=postgres", "NODE_ENV=production", "node",
                   f"{self.options.build}/peers-service/server.js", *words]
        return NodeServer(command, f"{directory}/node{''.join(words)}.log", self.cluster.api_key)

    @staticmethod
    def missing(options):
        if not postgres.is_installed():
            return postgres.INSTALL
        if not (shutil.which("node") and shutil.which("npm")):
            return "apt-get install nodejs npm"
        try:
            install_service(f"{options.build}/peers-service")
        except Failed as why:
            return f"npm ci, which now fails: {str(why).splitlines()[0]}"
        return None

    def rows(self):
        return [row for name, (steps, at_once) in self.servers.items()
                for row in ((name, "delta", self.by_load(steps, "delta")),
                            (f"{name}, in one statement", "delta", self.by_load(at_once, "delta")),
                            (name, "get", self.by_load(steps, "get")))]

    def by_load(self, server, op):
        return by_load(self.options, server, op, database=self.cluster.server)

    def settle(self):
        self.cluster.settle()


class NodeServer:
    def __init__(self, command, log_path, api_key):
        self.child, fields = bench.start(command, log_path)
        self.target, self.key = fields["http"], ["--key", api_key]

    def counters(self):
        return {}

    def pids(self):
        return {}


def install_service(place):
    """Installs the service and the packages of its lockfile, unless they are there."""
    os.makedirs(place, exist_ok=True)
    for name in ("package.json", "package-lock.json", "server.js"):
        shutil.copy(f"{ROOT}/bench/peers-service/{name}", place)
    lock, installed = f"{place}/package-lock.json", f"{place}/installed-lock.json"
    if os.path.exists(installed) and filecmp.cmp(lock, installed, shallow=False):
        return
    say("npm ci: Fastify and pg, into the build directory")
    output_of(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=place)
    shutil.copy(lock, installed)
