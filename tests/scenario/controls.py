#!/usr/bin/env python3
"""Negative controls: scenarios must FAIL on services with one deliberate fault.

    FAULT_ANSWER_EARLY   answers before the journal is written            the durability scenario
    FAULT_SKIP_REPLAY    skips the replay of the journal after a restart  the durability scenario, test_moves.py
    FAULT_NO_SYNC        does not wait for syncs of the journal           test_slow_disk.py
    FAULT_NO_FLOORS      reserves no disk space                           test_disk.py
    FAULT_NO_CHECKS      accepts every checksum                           test_damage.py

Each is a separate program in the build directory; meson.build lists the files that differ. The durability scenario runs
until the first violation, with a limit on the kills. The exit status is 0 only when every fault was detected: a
scenario that cannot detect them proves nothing. A control whose tests are skipped on this machine is reported as not run.
"""
import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import ROOT, build_directory

HERE = Path(__file__).parent
SIDE_BY_SIDE = 3  # the controls wait most of the time
VIOLATIONS = re.compile(r"^durability: .* violations=([1-9]\d*) ", re.MULTILINE)
# By name: the fault and how it is detected, either by the kills of the durability scenario or by tests of a file. The
# longest is first.
CONTROLS = {
    "no_floors": ("FAULT_NO_FLOORS", "test_disk.py", "last_byte"),
    "no_sync": ("FAULT_NO_SYNC", "test_slow_disk.py", "longer_than_the_deadlines"),
    "skip_replay_by_tests": ("FAULT_SKIP_REPLAY", "test_moves.py", "optional_part and no-tables"),
    "no_checks": ("FAULT_NO_CHECKS", "test_damage.py", "every_balance and stop"),
    "answer_early": ("FAULT_ANSWER_EARLY",),
    "skip_replay_by_kills": ("FAULT_SKIP_REPLAY",),
}


def run_on(fault, command):
    """Runs `command` with the faulty program as the program under test. Returns its output."""
    program = build_directory() / "tests" / "scenario" / f"stampede_{fault.removeprefix('FAULT_').lower()}"
    assert program.exists(), program
    return subprocess.run(["/usr/bin/python3", *command], cwd=ROOT, env={**os.environ, "STAMPEDE_PROGRAM": str(program)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout.strip()


def found_by_kills(name, fault, kills):
    said = run_on(fault, [HERE / "durability.py", "--until-violation", "--kills", str(kills)])
    found = bool(VIOLATIONS.search(said))
    print(f"{name}: {'found' if found else 'NOT FOUND'} by kills: {said}", flush=True)
    return found


def found_by_tests(name, fault, file, chosen):
    """True if the chosen tests of a file fail on the program. Skipped tests prove nothing, and are reported as that."""
    said = run_on(fault, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "-k", chosen, HERE / file])
    last = said.splitlines()[-1]
    if "skipped" in last and "passed" not in last and "failed" not in last:
        print(f"{name}: not run, its tests are skipped here: {last}", flush=True)
        return True
    found = "failed" in last and "passed" not in last
    where = "; ".join(line.removeprefix(f"{HERE}/") for line in said.splitlines() if line.startswith("/"))
    print(f"{name}: {'found' if found else 'NOT FOUND'} by {file}: {last}: {where}", flush=True)
    return found


def try_control(name, kills):
    fault, *tests = CONTROLS[name]
    return found_by_tests(name, fault, *tests) if tests else found_by_kills(name, fault, kills)


def main():
    parser = argparse.ArgumentParser(description="Show that the scenarios find broken programs.")
    parser.add_argument("names", nargs="*", help="which controls; default: all")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--kills", type=int, default=120, help="per program, at most")
    options = parser.parse_args()
    if options.list:
        print("\n".join(CONTROLS))
        return 0
    subprocess.run(["ninja", "-C", build_directory(), "controls", "tests/fault/slow.so"], check=True, stdout=sys.stderr)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return 0 if all(pool.map(lambda name: try_control(name, options.kills), options.names or CONTROLS)) else 1


if __name__ == "__main__":
    sys.exit(main())
