"""Two results of one measuring program side by side: each number of both, their ratio, and a mark where the rounds of the
two do not overlap. FORMS has a reader for each program that writes --json.

A result is what --json holds, or a report in Markdown as bench/run printed it. A number has a row, a name, and the values
of its rounds.
"""

import json
import statistics
from typing import NamedTuple

import population
import printed

MARK = "*"
HEADS = ["row", "number", "other", "this", "this / other", "beyond the rounds"]
FACTS = ("machine", "kernel", "disk", "commit", "build", "begun", "run")


class Wrong(Exception):
    """Why two results cannot be compared, in words for the person who asked."""


class Result(NamedTuple):
    form: str
    facts: dict
    numbers: dict  # of (row, number): values of the rounds


# ---- what each program writes ------------------------------------------------------------------------------------

RATE_NUMBERS = ("requests_per_s", "of_ceiling", "of_pipeline", "stampede_to_it", "p50", "p99", "p99_9", "cpu_us")
STEP_NUMBERS = ("goodput", "of_knee", "p50", "p99", "p99_9", "sent_p99", "ceiling_p99", "pipeline_p99")
START_NUMBERS = ("ready_s", "answer_s", "store_s", "stop_s", "of_cat")
BESIDE_NUMBERS = ("requests_per_s", "p50", "p99", "p99_9", "p50_of_quiet", "p99_of_quiet")
PLACE_NUMBERS = ("tables", "journal", "snapshot_disk", "rss_own")
WRITE_NUMBERS = ("per_s", "journal_bytes", "handed_bytes", "tables_bytes", "disk_bytes", "syncs", "batch")
HOOK_NUMBERS = ("per_s", "of_ceiling", "cpu_us")
LOYALTY_NUMBERS = ("requests_per_s", "of_plain", "cpu_of_plain", "p99", "cpu_us", "drained_s")


def of_samples(row, samples, names):
    """The numbers of one row's samples that have these names."""
    for name in names:
        values = [sample[name] for sample in samples if isinstance(sample.get(name), (int, float))]
        if values:
            yield row, name, values


def name_of(row):
    return population.population_of(row).name


def of_rates(result):
    for row in result["rows"]:
        yield from of_samples(f"{name_of(row)}: {row['name']}", row["samples"], RATE_NUMBERS)
    for row in result["variations"]:
        yield from of_samples(f"{row['conditions']}: {row['name']}", row["samples"], RATE_NUMBERS)


def of_peers(result):
    for row in result["rows"]:
        yield from of_samples(f"{row['system']}: {row['op']}", row["samples"], RATE_NUMBERS)


def of_curve(result):
    for size in result["sizes"]:
        name = name_of(size)
        for connections in size["knees"][0]:
            yield (f"{name}: closed loop over {int(connections):,}", "goodput",
                   [knee[connections] for knee in size["knees"] if connections in knee])
        for step in size["steps"]:
            yield from of_samples(f"{name}: {step['share']} % over {step['connections']:,}", step["samples"], STEP_NUMBERS)
        yield from of_samples(f"{name}: the way back", size["back"], ("back_ms",))


def of_recovery(result):
    for size in result["sizes"]:
        for part, names in (("starts", START_NUMBERS), ("beside", BESIDE_NUMBERS)):
            for row, samples in dict(size[part]).items():
                yield from of_samples(f"{name_of(size)}: {row}", samples, names)


def of_footprint(result):
    for look in result["places"]:
        yield from of_samples(f"{name_of(look)}", [look], PLACE_NUMBERS)
    for sample in result["writes"]:
        row = f"{name_of(sample)}: {sample['operation']} over {sample['connections']}"
        yield from of_samples(row, [sample], WRITE_NUMBERS)


def of_lists(result):
    for name, row in result["lists"].items():
        for number in ("stampede", "postgresql", "beside"):
            if row[number]:
                yield name, f"{number} ms", row[number]
    for way in ("quiet", "beside"):
        yield f"deltas, {way}", "p99", [pair[way]["latency_us"]["p99"] for pair in result["beside"]["pairs"]]


def of_webhooks(result):
    for name, row in (("ceiling", "bare libcurl posts"), ("stampede", "signed deliveries")):
        yield from of_samples(row, [one[name] for one in result["rounds"]], HOOK_NUMBERS)
    yield from of_samples("from the fact to the receiver", [one["latency_us"] for one in result["latency"]],
                          ("p50", "p99", "max"))


def of_wallets(result):
    for row in result.get("service", []):
        yield from of_samples(row["name"], row["samples"], RATE_NUMBERS)
    for row in result.get("loyalty", []):
        yield from of_samples(f"deltas, {row['name']}", row["samples"], LOYALTY_NUMBERS)
    for row in result.get("beside", []):
        yield from of_samples(f"deltas beside changes, {row['name']}", row["samples"], LOYALTY_NUMBERS)
    for name, found in {"pushes": result.get("pushes", []), **result.get("touch", {})}.items():
        yield from of_samples(f"changes, {name}", [one.get("of_request", {}) for one in found], ("p50", "p99", "max"))
    for name, ends in result.get("starts", {}).items():
        for end, seconds in ends.items():
            yield f"starts, {name}", f"{end} s", seconds
    yield from of_samples("backlog", [result.get("backlog", {})], ("start_s", "per_s", "cpu_shard_us", "cpu_timer_us"))


def of_neighbour(result):
    for name, pairs in result["pairs"].items():
        for side, title in enumerate(("alone", "beside")):
            for at, number in enumerate(("median ms", "p99 ms")):
                yield name, f"{title}, {number}", [pair[side][at] for pair in pairs]


def of_profile(result):
    for profile in result["profiles"]:
        for place, spent_us in profile["us"].items():
            yield profile["name"], f"us: {place}", [spent_us]


def of_run(result):
    for part, taken in result["parts"].items():
        if "result" in taken:
            for row, number, values in FORMS[part][1](taken["result"]):
                yield f"{part}: {row}", number, values


# For each program: a check whether a result is its own, and its reader.
FORMS = {
    "run": (lambda result: "parts" in result, of_run),
    "rates": (lambda result: "variations" in result, of_rates),
    "peers": (lambda result: "skipped" in result, of_peers),
    "curve": (lambda result: any("knees" in size for size in result["sizes"]), of_curve),
    "recovery": (lambda result: any("starts" in size for size in result["sizes"]), of_recovery),
    "footprint": (lambda result: "writes" in result, of_footprint),
    "lists": (lambda result: "lists" in result, of_lists),
    "webhooks": (lambda result: "latency" in result and "rounds" in result, of_webhooks),
    "wallets": (lambda result: "phones" in result, of_wallets),
    "neighbour": (lambda result: "pairs" in result, of_neighbour),
    "profile": (lambda result: "profiles" in result, of_profile),
}
BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def is_of(looks, result):
    try:
        return looks(result)
    except BROKEN:
        return False


def result_of(data, where):
    """What a program has measured or written; `where` names it in errors. Raises Wrong for another form."""
    data = json.loads(json.dumps(data))  # numbers as names become texts, as in a file
    form = next((form for form, (looks, _) in FORMS.items() if isinstance(data, dict) and is_of(looks, data)), None)
    if not form:
        raise Wrong(f"{where} is not a result of a measuring program")
    try:
        numbers = {(row, number): values for row, number, values in FORMS[form][1](data)}
    except BROKEN as why:
        raise Wrong(f"{where} is not a whole result of bench/{form}: {type(why).__name__}: {why}") from why
    return Result(form, data.get("facts", {}), numbers)


def of_printed(text, where):
    facts, numbers = printed.read(text)
    if not numbers:
        raise Wrong(f"{where} has no table of a measuring program")
    return Result("run", facts, numbers)


def part_of(run, form, where):
    """The part of a whole run that one program has measured. Raises Wrong if there is none."""
    begin = f"{form}: "
    numbers = {(row[len(begin):], number): values for (row, number), values in run.numbers.items() if row.startswith(begin)}
    if not numbers:
        raise Wrong(f"{where} is a result of bench/run without one of bench/{form}")
    return Result(form, run.facts, numbers)


def read(path, form=None):
    """The result in a file; of a whole run, if `form` is one of its parts, that part. Raises Wrong if the file cannot
    be read, has no result, or has one of another program than `form`."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found = of_printed(text, path) if path.endswith(".md") else result_of(json.loads(text), path)
    except OSError as why:
        raise Wrong(f"{path} cannot be read: {why.strerror}") from why
    except ValueError as why:
        raise Wrong(f"{path} is not JSON: {why}") from why
    if found.form == "run" and form not in (None, "run"):
        return part_of(found, form, path)
    if form not in (None, found.form):
        raise Wrong(f"{path} is a result of bench/{found.form}, not of bench/{form}")
    return found


# ---- side by side ------------------------------------------------------------------------------------------------


def is_beyond(values, others):
    """Whether the rounds of the two do not overlap; a single value has no spread to compare with."""
    return min(len(values), len(others)) > 1 and (min(values) > max(others) or max(values) < min(others))


def text_of(value):
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def line_of(key, values, others):
    this, other = statistics.median(values), statistics.median(others)
    return [*key, text_of(other), text_of(this), f"{this / other:.2f}" if other else "-",
            MARK if is_beyond(values, others) else ""]


def table_of(this, other):
    """Heads and lines of the numbers that both have. Raises Wrong for results of two programs, or without a common
    number."""
    if this.form != other.form:
        raise Wrong(f"one is a result of bench/{this.form}, the other of bench/{other.form}")
    lines = [line_of(key, values, other.numbers[key]) for key, values in this.numbers.items() if key in other.numbers]
    if not lines:
        raise Wrong("the two results have no row in common")
    return HEADS, lines


def facts_of(this, other):
    """The facts of the two measurements that differ."""
    return [f"{name + ':':<12} other {other.facts.get(name, '-')}; this {this.facts.get(name, '-')}"
            for name in FACTS if this.facts.get(name) != other.facts.get(name)]


def missing_of(this, other):
    """Rows of one that the other lacks."""
    ours, others = ([*dict.fromkeys(row for row, _ in one.numbers)] for one in (this, other))
    return [f"missing in {name}: {row}" for name, whole, part in (("other", ours, others), ("this", others, ours))
            for row in whole if row not in part]


def print_both(this, other, print_table):
    """Prints the two side by side. Raises Wrong if they cannot be compared, or if one lacks rows; the others are
    printed first."""
    heads, lines = table_of(this, other)
    if facts := facts_of(this, other):
        print("\n" + "\n".join(facts))
    print()
    print_table(heads, lines)
    print(f"\n{MARK}: the rounds of the two do not overlap")
    missing = missing_of(this, other)
    if missing:
        print("\n" + "\n".join(missing))
        raise Wrong(f"rows that one of the two results lacks: {len(missing)}")
