#!/usr/bin/env python3
"""Negative controls: scenarios must FAIL on builds that are broken on purpose.

    FAULT_ANSWER_EARLY   answers before the journal is written            the durability scenario
    FAULT_SKIP_REPLAY    skips the replay of the journal after a restart  the durability scenario, test_moves.py
    FAULT_NO_SYNC        waits for no sync of the journal                 test_slow_disk.py
    FAULT_NO_FLOORS      keeps no space in reserve on a filling disk      test_disk.py
    FAULT_NO_CHECKS      holds every checksum for a good one              test_damage.py

Each is built in a directory of its own. The durability scenario runs until the first violation, with a bound on the
kills. Exit status 0 only when something was found in every one: a scenario that cannot find these would prove nothing.
"""
import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import durability  # noqa: E402
from harness import ROOT  # noqa: E402

FAULTS = {"FAULT_ANSWER_EARLY": "build-early", "FAULT_SKIP_REPLAY": "build-noreplay",
          "FAULT_NO_SYNC": "build-nosync", "FAULT_NO_FLOORS": "build-nofloors",
          "FAULT_NO_CHECKS": "build-nochecks"}
BY_KILLS = ("FAULT_ANSWER_EARLY", "FAULT_SKIP_REPLAY")
BY_TESTS = (("FAULT_NO_SYNC", "test_slow_disk.py", "longer_than_the_deadlines"),
            ("FAULT_SKIP_REPLAY", "test_moves.py", "not_needed and no-tables"),
            ("FAULT_NO_FLOORS", "test_disk.py", "last_byte"),
            ("FAULT_NO_CHECKS", "test_damage.py", "every_balance and stop"))


def build(directory, fault):
    if not (directory / "build.ninja").exists():
        subprocess.run(["meson", "setup", directory, "--buildtype=debug", f"-Dc_args=-D{fault}"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", directory, "stampede", "tests/fault/slow.so"], cwd=ROOT, check=True,
                   stdout=sys.stderr)


def found_by_kills(directory, fault, kills):
    scenario = durability.run(kills, durability.chosen_seed(), build=directory, until_violation=True)
    for what in scenario.violations[:5]:
        print(f"{fault}: found: {what}")
    if not scenario.violations:
        print(f"{fault}: NOT FOUND in {scenario.kills} kills")
    return bool(scenario.violations)


def found_by_tests(directory, fault, file, chosen):
    """Do the chosen tests of a file fail on the program in `directory`? One that cannot run here says nothing."""
    command = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "-k", chosen,
               Path(__file__).parent / file]
    environment = {**os.environ, "STAMPEDE_BUILD": str(directory)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    said = done.stdout.strip().splitlines()[-1]
    found = "failed" in said and "passed" not in said
    print(f"{fault}: {'found' if found else 'NOT FOUND'} by {file}: {said}")
    return found or ("skipped" in said and "passed" not in said)


def main():
    parser = argparse.ArgumentParser(description="Show that the scenarios find broken builds.")
    parser.add_argument("--kills", type=int, default=120, help="per build, at most")
    parser.add_argument("--root", type=Path, default=ROOT, help="where the build directories go")
    options = parser.parse_args()
    for fault, name in FAULTS.items():
        build(options.root / name, fault)
    found = [found_by_kills(options.root / FAULTS[fault], fault, options.kills) for fault in BY_KILLS]
    found += [found_by_tests(options.root / FAULTS[fault], fault, file, chosen) for fault, file, chosen in BY_TESTS]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
