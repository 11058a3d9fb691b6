"""Builds and tests everything once; `ops/test` installs what is missing and runs this. README.md lists the legs.

    ops/test [--all] [--seed N] [--leg WORD]...     WORD: only legs whose name has it (and the builds)

The last line counts all tests. Exit status 1: something failed, or nothing ran, or six tests or more were flaky.
"""
import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import legs  # noqa: E402
import probe  # noqa: E402

FLAKY_MAX = 5


class CommandFailed(Exception):
    pass


class Row(threading.local):
    leg, output, processor = "", None, 0.0


class Run:
    REPEATS_MAX = 25  # more failures than this are not accidental

    def __init__(self, options):
        self.root = Path(__file__).resolve().parents[2]
        self.results = self.root / "build" / "test-results"
        self.results.mkdir(parents=True, exist_ok=True)
        self.everything, self.seed, self.words = options.all, options.seed, options.leg
        self.cores = os.cpu_count() or 1
        # Where Python keeps what it compiled. Without it each of pytest's workers compiles all scenarios.
        self.compiled = {"PYTHONPYCACHEPREFIX": str(self.results / "python"), "PYTHONDONTWRITEBYTECODE": ""}
        self.patience = 1.0
        self.to_repeat, self.flaky, self.table, self.counts = [], [], [], []
        self.row, self.lock, self.children = Row(), threading.Lock(), set()

    @property
    def leg(self):
        return self.row.leg

    def say(self, text):
        """Output of the background row is kept until it has ended."""
        if self.row.output is None:
            print(text, flush=True)
        else:
            self.row.output.append(text)

    # Commands

    def command(self, *words, cwd=None, env=None, quiet=False):
        """Runs a command and prints its output. Returns (exit status, output)."""
        nice = [] if self.row.output is None else ["nice", "-n", "10"]
        process = subprocess.Popen([*nice, *map(str, words)], cwd=cwd or self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
                                   env={**os.environ, "STAMPEDE_PATIENCE": f"{self.patience:.1f}",
                                        "STAMPEDE_SEED": str(self.seed), **self.compiled, **(env or {})})
        with self.lock:
            self.children.add(process)
        output = []
        for line in process.stdout:
            output.append(line)
            if not quiet:
                self.say(line.rstrip("\n"))
        _, ended, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(ended)
        self.row.processor += used.ru_utime + used.ru_stime  # including its children, as far as it waited for them
        with self.lock:
            self.children.discard(process)
        return process.returncode, "".join(output)

    def must(self, *words, **options):
        status, _ = self.command(*words, **options)
        if status:
            raise CommandFailed(f"{' '.join(map(str, words))}: exit status {status}")

    @contextmanager
    def reports(self, directory):
        """The environment for programs of a build with sanitizers. Reports go to files, because a process that a test
        kills, or a leak found at exit, fails no test itself. Each file is a failure, whatever the tests' results."""
        if directory != legs.ASAN:
            yield {}
            return
        logs = self.results / "sanitizer" / "".join(c if c.isalnum() else "-" for c in self.leg)
        logs.mkdir(parents=True, exist_ok=True)
        for old in logs.iterdir():
            old.unlink()
        # A process that reads a damaged page must die by its signal, as on the plain build.
        yield {"ASAN_OPTIONS": f"log_path='{logs}/asan':handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_abort=0",
               "UBSAN_OPTIONS": f"log_path='{logs}/ubsan':print_stacktrace=1"}
        found = sorted(logs.iterdir())
        if found:
            words = [line for path in found for line in (f"    {path.name}", *legs.tally.end_of(path.read_text(errors="replace"), 60))]
            self.count(f"{self.leg}, sanitizers", 0, len(found), words)

    # Legs

    def count(self, name, passed, failed, words):
        with self.lock:
            self.counts.append((name, passed, failed, words))

    def run_leg(self, name, work):
        always = work in (legs.builds, legs.repeat_failed)  # what the chosen legs need, and what checks their failures
        if self.words and not always and not any(word in name for word in self.words):
            return True
        self.row.leg, self.row.processor, began = name, 0.0, time.monotonic()
        self.say(f"== {name}")
        try:
            passed, failed, words = work(self)
        except Exception as error:  # any error: a lost leg must not look like success
            passed, failed, words = 0, 1, [f"    {type(error).__name__}: {error}"]
        self.count(name, passed, failed, words)
        self.say(f"== {name}: {passed} passed, {failed} failed")
        with self.lock:
            self.table.append((time.monotonic() - began, self.row.processor, name))
        return not failed

    def run_row(self, row):
        for name, work in row:
            self.run_leg(name, work)

    def in_background(self, row):
        def work():
            self.row.output = []
            self.run_row(row)
            outputs.append("\n".join(self.row.output))
        outputs = []
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread, outputs

    def end_children(self):
        for process in list(self.children):
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass

    def run(self):
        began = time.monotonic()
        print(f"seed {self.seed}; again with: ops/test{' --all' if self.everything else ''} --seed {self.seed}", flush=True)
        self.patience, ratios = probe.slowness(self.results)
        print(f"patience {self.patience:.1f} ({', '.join(f'{name} {ratio:.1f}' for name, ratio in ratios.items())})", flush=True)
        if self.run_leg(*legs.FIRST[0]):
            computing, waiting = legs.BESIDE
            started = [self.in_background(row) for row in (computing, waiting + legs.ONLY_WITH_ALL if self.everything else waiting)]
            self.run_row(legs.SCENARIOS)
            for thread, outputs in started:
                thread.join()
                print("".join(outputs), flush=True)
            self.run_row(legs.LAST)
        return self.tell(time.monotonic() - began)

    def tell(self, seconds):
        print("seconds  of processors  leg")
        for taken, processor, name in [*self.table, (seconds, sum(row[1] for row in self.table), "all")]:
            print(f"{taken:7.0f}  {processor:13.0f}  {name}")
        for name, _, failed, words in self.counts:
            if failed:
                print("\n".join([f"-- failed: {name}", *words]))
        for node, words in self.flaky:
            print("\n".join([f"-- flaky: {node}; it passed alone. The first time:", *words]))
        passed, failed = (sum(row[column] for row in self.counts) for column in (1, 2))
        print(f"flaky: {len(self.flaky)}")
        if len(self.flaky) > FLAKY_MAX:
            print(f"{len(self.flaky)} flaky tests are too many: the run has failed")
            failed += 1
        print(f"{passed} passed, {failed} failed", flush=True)
        return 0 if passed and not failed else 1


def main():
    parser = argparse.ArgumentParser(prog="ops/test", description="Tests everything once, or with --all everything there is.")
    parser.add_argument("--all", action="store_true", help="both builds for everything, all controls, slow scenarios, long random runs")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("STAMPEDE_SEED") or time.time_ns() % 10**6), help="repeats a run")
    parser.add_argument("--leg", action="append", default=[], metavar="WORD", help="only legs whose name has this word")
    options = parser.parse_args()
    names = [name for name, _ in sum([legs.FIRST, legs.SCENARIOS, *legs.BESIDE, legs.ONLY_WITH_ALL, legs.LAST], [])]
    for word in options.leg:
        if not any(word in name for name in names):
            parser.error(f"no leg has the word {word!r}; the legs: {', '.join(names)}")
    run = Run(options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run.run()
    finally:
        run.end_children()


if __name__ == "__main__":
    sys.exit(main())
