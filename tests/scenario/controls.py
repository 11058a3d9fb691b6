#!/usr/bin/env python3
"""Negative controls: the durability scenario must FAIL on builds that are broken on purpose.

    FAULT_ANSWER_EARLY   answers before the journal is written
    FAULT_SKIP_REPLAY    skips the replay of the journal after a restart

Each is built in a directory of its own and run until the first violation, with a bound on the kills. Exit status 0
only when violations were found in every one: a scenario that cannot find these would prove nothing.
"""
import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import durability  # noqa: E402
from harness import ROOT  # noqa: E402

FAULTS = {"build-early": "FAULT_ANSWER_EARLY", "build-noreplay": "FAULT_SKIP_REPLAY"}


def build(directory, fault):
    if not (directory / "build.ninja").exists():
        subprocess.run(["meson", "setup", directory, f"-Dc_args=-D{fault}"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", directory, "stampede"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description="Show that the durability scenario finds broken builds.")
    parser.add_argument("--kills", type=int, default=120, help="per build, at most")
    parser.add_argument("--root", type=Path, default=ROOT, help="where the two build directories go")
    options = parser.parse_args()
    blind = []
    for name, fault in FAULTS.items():
        build(options.root / name, fault)
        scenario = durability.run(options.kills, durability.chosen_seed(), build=options.root / name,
                                  until_violation=True)
        for what in scenario.violations[:5]:
            print(f"{fault}: found: {what}")
        if not scenario.violations:
            blind.append(fault)
            print(f"{fault}: NOT FOUND in {scenario.kills} kills")
    return 1 if blind else 0


if __name__ == "__main__":
    sys.exit(main())
