"""Reads a report as it was printed: facts, and tables in Markdown, into what compare.py has of a result in JSON. A cell is
a median, perhaps with the least and the most of the rounds in brackets.
"""

import re
from typing import NamedTuple

CELL = re.compile(r"([\d,.]+)(?: \(([\d,.]+) to ([\d,.]+)\))?$")
FACT = re.compile(r"([a-z][a-z ]*): +(.+)$")

RATE_COLUMNS = {"requests/s": "requests_per_s", "of ceiling": "of_ceiling", "of pipeline": "of_pipeline",
                "stampede / it": "stampede_to_it", "p50 us": "p50", "p99 us": "p99", "p99.9 us": "p99_9",
                "CPU us": "cpu_us"}
STEP_COLUMNS = {"goodput/s": "goodput", "of knee": "of_knee", "p50 us": "p50", "p99 us": "p99", "p99.9 us": "p99_9",
                "from sending p99 us": "sent_p99", "ceiling p99 us": "ceiling_p99", "pipeline p99 us": "pipeline_p99"}
START_COLUMNS = {"ready s": "ready_s", "first answer s": "answer_s", "of it the store s": "store_s",
                 "first answer / cat": "of_cat", "stop s": "stop_s"}
WRITE_COLUMNS = {"a second": "per_s", "journal B": "journal_bytes", "handed over B": "handed_bytes",
                 "tables B": "tables_bytes", "disk B": "disk_bytes", "syncs an operation": "syncs",
                 "commands a batch": "batch"}


class Table(NamedTuple):
    names: tuple  # of the columns that make the row's name
    row: str
    columns: dict  # titles of columns with numbers: what the number is called in JSON


TABLES = (
    Table(("passes", "request"), "rates: {}: {}", RATE_COLUMNS),
    Table(("conditions", "request"), "rates: {}: {}", RATE_COLUMNS),
    Table(("system", "request"), "peers: {}: {}", RATE_COLUMNS),
    Table(("% of knee", "connections"), "curve: 10,000: {} % over {}", STEP_COLUMNS),
    Table(("passes", "after"), "recovery: {}: {}", START_COLUMNS),
    Table(("passes", "operation", "connections"), "footprint: {}: {} over {}", WRITE_COLUMNS),
    Table(("list",), "lists: {}",
          {"stampede ms": "stampede ms", "beside deltas ms": "beside ms", "PostgreSQL ms": "postgresql ms"}),
    Table(("beside", "alone, median ms"), "neighbour: {}", {"beside, median ms": "beside, median ms"}),
    Table(("request", "of GET"), "wallets: {}", {**RATE_COLUMNS, "of GET": "of_ceiling"}),
    Table(("deltas", "drained s"), "wallets: deltas, {}", {"a second": "requests_per_s", "of it without wallets": "of_plain",
                                                           "processor time of it without": "cpu_of_plain", "p99 us": "p99"}),
    Table(("what",), "webhooks: {}", {"a second": "per_s", "of ceiling": "of_ceiling", "CPU us each": "cpu_us"}),
)


def values_of(cell):
    """The minimum, median and maximum; a median alone; or nothing."""
    found = CELL.match(cell)
    if not found:
        return []
    median, least, most = (float(text.replace(",", "")) if text else None for text in found.groups())
    return [median] if least is None else [least, median, most]


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def numbers_of(heads, cells):
    """The numbers of one line of a table, by (row, number)."""
    by_title = dict(zip(heads, cells))
    for table in TABLES:
        if all(name in by_title for name in table.names):
            row = table.row.format(*(by_title[name] for name in table.names))
            return {(row, number): values for title, number in table.columns.items()
                    if title in by_title and (values := values_of(by_title[title]))}
    return {}


def read(text):
    """Facts, of which the first of each name counts, and numbers by (row, number)."""
    facts, numbers, heads = {}, {}, None
    for line in text.splitlines():
        if not line.startswith("|"):
            heads = None
            if fact := FACT.match(line):
                facts.setdefault(*fact.groups())
        elif heads is None:
            heads = cells_of(line)
        elif not line.startswith("| ---") and not line.startswith("| :"):
            numbers |= numbers_of(heads, cells_of(line))
    return facts, numbers
