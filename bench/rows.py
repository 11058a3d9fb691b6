"""Shared by the tables of rates: the ceiling, one measurement by the load generator, and a row of samples."""

import statistics
import zlib

import bench
from bench import Failed, children_seconds, cpu_seconds, load, median_text, say

ROLES = ("http", "shard", "timer", "load")


class Ceiling:
    """The HTTP library with a constant answer; over HTTPS, if it gets a certificate and its key."""

    NAME = "ceiling"

    def __init__(self, build, directory, certificate=None):
        words = [*self.words(directory), *(["--tls", *certificate] if certificate else [])]
        log_path = f"{directory}/{self.NAME}{'-tls' if certificate else ''}.log"
        self.child, fields = bench.start([f"{build}/bench/{self.NAME}", *words], log_path)
        self.target = next(iter(fields.values()))
        self.key = ["--tls", certificate[0]] if certificate else []

    def words(self, _directory):
        return []

    def counters(self):
        return {}

    def pids(self):
        return {"http": [self.child.pid]}


class Pipeline(Ceiling):
    """The same constants from a process behind ZeroMQ that writes to disk: the path of a request without its work."""

    NAME = "pipeline"

    def words(self, directory):
        return ["--journal", f"{directory}/pipeline{len(bench.children)}.journal"]

    def pids(self):
        with open(f"/proc/{self.child.pid}/task/{self.child.pid}/children", encoding="ascii") as children:
            return {**super().pids(), "shard": [int(pid) for pid in children.read().split()]}


def measure(build, server, words):
    pids = server.pids()
    counters_before, cpu_before, load_before = server.counters(), cpu_seconds(pids), children_seconds()
    report = load(build, server, words)
    load_used = children_seconds() - load_before
    cpu_after, counters_after = cpu_seconds(pids), server.counters()
    grown = {name: counters_after[name] - counters_before[name] for name in counters_after}
    active_s = report["active_s"]
    sample = {"requests_per_s": report["requests_per_s"], **report["latency_us"], "report": report,
              "errors": bench.error_count(report),
              "cpu_load": 100 * load_used / active_s}
    for role in pids:
        sample[f"cpu_{role}"] = 100 * (cpu_after[role] - cpu_before[role]) / active_s
    if sample["requests_per_s"]:
        sample["cpu_us"] = 1e4 * sum(sample[f"cpu_{role}"] for role in pids) / sample["requests_per_s"]
    if "syncs" in grown:
        sample["syncs_per_s"] = grown["syncs"] / active_s
    if grown.get("batches") and "commands" in grown:
        sample["commands_per_batch"] = grown["commands"] / grown["batches"]
    return sample


def of_ceilings(rate, ceilings):
    """A rate as a share of the ceilings' last rates. With several, each (row, weight), the requests are a mix: the time
    of one at the ceiling is the weighted mean of their times."""
    return rate * sum(weight / row.samples[-1]["requests_per_s"] for row, weight in ceilings)


def seed_of(name):
    """The first seed of a row, with room for those of its rounds; below 2^31, which other tools require."""
    return 1000 * (zlib.crc32(name.encode()) % 2_000_000)


class Row:
    """One line of a table: the request and server, and the samples of all rounds.

    ask(seed, extra) measures once. Each call has its own seed, so that no row sends the requests that another has just
    sent. `ceilings` are the rows, with weights, to which its rate is compared, `pipelines` likewise.
    """

    def __init__(self, name, ask, ceilings=(), pipelines=()):
        self.name, self.ask, self.ceilings, self.pipelines = name, ask, ceilings, pipelines
        self.samples, self.seed = [], seed_of(name)

    def take(self, extra=()):
        sample = self.ask(self.seed + len(self.samples), extra)
        if not sample["requests_per_s"]:
            raise Failed(f"{self.name}: no request succeeded")
        for field, others in (("of_ceiling", self.ceilings), ("of_pipeline", self.pipelines)):
            if others:
                sample[field] = of_ceilings(sample["requests_per_s"], others)
        self.samples.append(sample)
        say(f"  {self.name:<34} {sample['requests_per_s']:>9,.0f}/s  p99 {sample['p99']:>9,.0f} us"
            f"  errors {sample['errors']}")
        return sample

    def values(self, field):
        return [sample[field] for sample in self.samples if field in sample]

    def cells(self):
        """The first columns of every table of rates: the name, and rates as medians with minimum and maximum."""
        return [self.name, median_text(self.values("requests_per_s"), "{:,.0f}", True),
                self.share("of_ceiling")]

    def share(self, field):
        return median_text(self.values(field), "{:.2f}", True)

    def plain(self):
        return {"name": self.name, "samples": self.samples}


CELL_HEADS = ["request", "requests/s", "of ceiling"]


def loaded(build, server, words):
    """For a Row: runs the load generator with these arguments against that server."""
    def ask(seed, extra):
        return measure(build, server, [*words, *extra, "--seed", str(seed)])
    return ask


def cpu_us(row, roles):
    """The processor time of one request in these processes, as the median of the rounds."""
    return statistics.median(1e4 * sum(sample[f"cpu_{role}"] for role in roles) / sample["requests_per_s"]
                             for sample in row.samples)


def error_count(rows):
    return sum(sum(row.values("errors")) for row in rows)
