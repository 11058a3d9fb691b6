"""Counts the results of a test run: (passed, failed, messages of failures).

A program that ran no test at all has failed: a filter or a build that lost its tests must not look like success.
"""
import json
import re
import xml.etree.ElementTree as xml
from pathlib import Path

WORDS_OF_ONE = 40  # lines that are kept of one failure
SYNTHESIS = re.compile(r"Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+)")
QUIET = re.compile(r"\[(RUN |PASS|SKIP)")  # Criterion's words about tests that did not fail
UNITS = Path(__file__).resolve().parents[2] / "tests" / "unit"


def end_of(text, lines=WORDS_OF_ONE):
    return ["    " + line for line in text.splitlines()[-lines:]]


def of_program(test, criterion):
    """One row of meson's testlog.json."""
    ended_well = test["result"] in ("OK", "EXPECTEDFAIL")
    output = test.get("stdout", "") + test.get("stderr", "")
    said = SYNTHESIS.search(output)
    if not said:
        is_criterion = test["name"].split(" / ")[-1].split(":")[-1] in criterion
        passed, failed = (1, 0) if ended_well and not is_criterion else (0, 1)
    else:
        tested, passed, failed = map(int, said.groups())
        if tested == 0 or (failed == 0 and not ended_well):
            failed += 1
    if not failed:
        return passed, failed, []
    reports = "\n".join(line for line in output.splitlines() if not QUIET.match(line))
    return passed, failed, [f"{test['name']} ({test['result']})", *end_of(reports)]


def of_meson(log):
    """The results written by `meson test --logbase`: the number of programs, and their counts."""
    criterion = {path.stem for path in UNITS.glob("*.c")}
    rows = Path(log).read_text().splitlines() if Path(log).exists() else []
    return len(rows), add(of_program(json.loads(row), criterion) for row in rows)


def node_of(case):
    """The name by which pytest runs it again: file, classes, test."""
    file, name = case.get("file"), case.get("name")
    if not file:
        return name
    classes = case.get("classname", "").removeprefix(file.removesuffix(".py").replace("/", "."))
    return "::".join([file, *classes.split(".")[1:], name])


class Scenarios:
    """A pytest run from its JUnit file: the number of passed tests, and the messages of each failed one by its node id."""

    def __init__(self, report):
        self.passed, self.failures = 0, {}
        if not Path(report).exists():
            return
        for suite in xml.parse(report).getroot().iter("testsuite"):
            for case in suite.iter("testcase"):
                faults = [*case.findall("failure"), *case.findall("error")]
                name = node_of(case)
                if faults:
                    self.failures[name] = [line for fault in faults for line in end_of(fault.text or fault.get("message", ""))]
                elif case.find("skipped") is None:
                    self.passed += 1


def of_fuzz(results):
    rows = [json.loads(line) for line in Path(results).read_text().splitlines()] if Path(results).exists() else []
    return add((1, 0, []) if row["good"] else (0, 1, [f"{row['target']}: {row['why']}"]) for row in rows)


def add(counts):
    passed, failed, words = 0, 0, []
    for one in counts:
        passed, failed, words = passed + one[0], failed + one[1], words + one[2]
    return passed, failed if passed or failed else 1, words
