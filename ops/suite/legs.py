"""The parts of the suite. A leg is a function of a Run that runs commands and returns (passed, failed, words).

Rows of legs run beside each other, the legs of a row one after the other:

    SCENARIOS  most of the time they wait
    BESIDE     two rows at a lower priority: what computes, and what waits for disks and processes
    LAST       alone, when all rows have ended
"""
import json
import random
import re
from pathlib import Path

import tally

PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1"]
PLAIN, ASAN, TSAN, FUZZ = "build", "build-asan", "build-tsan", "build-fuzz"
# In a service's log: a fault of a process, a failure at once, however often the test passes alone.
FAULT = re.compile(r"runtime error:|Sanitizer|Assertion `|signal=(?:4|6|7|8|11)\b")
SANITIZE = {
    ASAN: ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1", "-Dc_args=-g1",  # -g: a third of the compiler's time
           # A service is five processes and a unit test is one, and each has 350,000 relocations to do if it may lie anywhere.
           "-Dc_link_args=-no-pie -static-libasan -static-libubsan -fuse-ld=gold"],
    TSAN: ["-Db_sanitize=thread", "-Db_lundef=false", "-Doptimization=1",
           "-Dc_args=-g1 -Wno-maybe-uninitialized"],  # a warning that is right with the plain build's optimisation
    FUZZ: ["-Db_sanitize=address,undefined", "-Db_lundef=false",
           "-Dc_args=-g1 -fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined -fno-sanitize=pointer-overflow"]}


# Builds

def build(run, directory, *targets, but=()):
    """Sets the directory up once, and builds the targets, or everything but those in some folders."""
    root = run.root / directory
    if root.exists() and not (root / "tests").exists() and (root / "build.ninja").exists():
        run.must("meson", "setup", "--reconfigure", directory)  # configured before the tests' library was installed
    if not (root / "build.ninja").exists():
        run.must("meson", "setup", directory, *SANITIZE.get(directory, []), env={"CC": "clang-14"} if directory == FUZZ else {})
    if but:
        run.must("ninja", "-C", directory, "build.ninja")  # an older one has other targets
        _, listed = run.command("meson", "introspect", directory, "--targets", quiet=True)
        files = [str(Path(target["filename"][0]).relative_to(root)) for target in json.loads(listed[listed.index("["):])
                 if target["build_by_default"]]
        targets = [file for file in files if not file.startswith(but)]
    run.must("ninja", "-C", directory, *targets)
    return 0, 0, []


def builds(run):
    """Skips builds whose tests run only with --all."""
    build(run, PLAIN, but=() if run.everything else ("tests/unit/",))
    build(run, ASAN)
    return 0, 0, []


# Checks that are one test each

def check(run, *command, **options):
    status, output = run.command(*command, **options)
    return (1, 0, []) if status == 0 else (0, 1, [" ".join(map(str, command)), *tally.end_of(output)])


def style(run):
    return tally.add([check(run, "ops/tidy", "--self-test"), check(run, "ops/tidy"), check(run, "tests/conformance"),
                      check(run, "tests/circles", "--self-test"), check(run, "tests/circles", PLAIN)])


def store_threads(run):
    programs = ["tests/thread/store_threads", "tests/thread/late_threads"]
    build(run, TSAN, *programs, *(["stampede"] if run.everything else []))  # the service: that build must stay possible
    return tally.add([check(run, f"./{one}", cwd=run.root / TSAN, env={"TSAN_OPTIONS": "halt_on_error=1"}) for one in programs])


def shard_threads(run):
    programs = ["tests/thread/account_threads", "tests/thread/handover_threads"]
    build(run, TSAN, *programs)
    return tally.add(check(run, f"./{program}", cwd=run.root / TSAN, env={"TSAN_OPTIONS": "halt_on_error=1"}) for program in programs)


# Programs of the build

def meson(run, directory, *choice, env=None):
    name = f"suite-{re.sub('[^a-z0-9]', '-', run.leg)}"
    log = run.root / directory / "meson-logs" / f"{name}.json"
    log.unlink(missing_ok=True)
    with run.reports(directory) as sanitizer:
        status, output = run.command("meson", "test", "-C", directory, "--no-rebuild", "--logbase", name,
                                     "-t", str(round(3 * run.patience, 1)), *choice, env={**sanitizer, **(env or {})})
    programs, found = tally.of_meson(log)
    named = 0 if choice[0].startswith("--") else len(choice)
    return and_ended(found, status or programs < named, output)


def and_ended(found, is_wrong, output):
    """A command that failed without a named failure has lost tests."""
    passed, failed, words = found
    return (passed, failed, words) if failed or not is_wrong else (passed, 1, tally.end_of(output))


def units(run):
    fewer = {} if run.everything else {"STAMPEDE_WALK_FLIPS": "400", "STAMPEDE_CRASHES": "80"}
    return meson(run, ASAN, "--suite", "unit", "--suite", "bench", env=fewer)


def rest_of_both_builds(run):
    return tally.add([meson(run, PLAIN, "--suite", "unit", "--suite", "bench", "--suite", "thread"),
                      meson(run, ASAN, "--suite", "crash", "--suite", "thread")])


def failing_calls(run):
    """Every work with its calls failing: a coarse choice of the calls under the sanitizers, with --all a fine one on the plain build too."""
    coarse = meson(run, ASAN, "--suite", "nth", env={"STAMPEDE_NTH_STRIDE": "192" if run.everything else "1024"})
    return coarse if not run.everything else tally.add([coarse, meson(run, PLAIN, "--suite", "nth", env={"STAMPEDE_NTH_STRIDE": "4"})])


def crash_states(run):
    return meson(run, PLAIN, "--suite", "crash")


# Scenarios

def kills(run, directory):
    """The number of kills of the durability test."""
    return "6" if not run.everything else "54" if directory == PLAIN else "12"


def scenarios(run, directory, marks, workers, name=None):
    """Tests of a file stay together, since they share services. Most wait most of the time, so several run on each
    core."""
    report = run.results / f"{name or directory}.xml"
    report.unlink(missing_ok=True)
    env = {"STAMPEDE_BUILD": str(run.root / directory), "STAMPEDE_COMMANDS": str(run.root / PLAIN / "tests/model/commands"), "STAMPEDE_BUILT": "1",
           "STAMPEDE_KILLS": kills(run, directory), "STAMPEDE_SLOW" if run.everything else "STAMPEDE_DRAWN": "1"}
    # Compiles the tests' files once, and leaves those without such tests to none of the workers.
    status, listed = run.command(*PYTEST, "--collect-only", "-qq", "-m", marks, "tests/scenario", env=env, quiet=True)
    files = re.findall(r"^(tests/scenario/\S+\.py): \d+$", listed, re.MULTILINE)
    if status or not files:
        return 0, 1, [f"pytest found {len(files)} files and ended with {status}", *tally.end_of(listed)]
    with run.reports(directory) as sanitizer:
        status, output = run.command(*PYTEST, "-n", str(workers * run.cores), "--dist", "loadfile", "-m", marks,
                                     f"--junitxml={report}", *files, env={**env, **sanitizer})
    found = tally.Scenarios(report)
    reported = {node: words for node, words in found.failures.items() if FAULT.search("\n".join(words))}
    run.to_repeat += [(directory, env, node, words) for node, words in found.failures.items() if node not in reported]
    if not found.passed or status not in (0, 1) or (status and not found.failures):
        return found.passed, 1, [f"pytest ended with {status}", *tally.end_of(output)]
    return found.passed, len(reported), [line for node, words in reported.items() for line in (node, *words)]


def scenarios_asan(run):
    return scenarios(run, ASAN, "not plain and not alone", workers=3)


def scenarios_plain(run):
    return scenarios(run, PLAIN, "not alone" if run.everything else "plain and not alone", workers=3 if run.everything else 4)


def scenarios_alone(run):
    """Bounds of the interface do not stretch with the machine, so these run when all else has ended."""
    return scenarios(run, PLAIN, "alone", workers=1, name="alone")


def repeat_failed(run):
    """Runs each failed scenario once more, alone. If it passes it is flaky: it counts as passed, and is listed."""
    failed = run.to_repeat
    if len(failed) > run.REPEATS_MAX:
        return 0, len(failed), [line for _, _, node, words in failed for line in (node, *words)]
    counts = []
    for directory, env, node, words in failed:
        report = run.results / "repeated.xml"
        report.unlink(missing_ok=True)
        with run.reports(directory) as sanitizer:
            status, _ = run.command(*PYTEST, f"--junitxml={report}", node, env={**env, **sanitizer})
        again = tally.Scenarios(report)
        if status == 0 and again.passed == 1 and not again.failures:
            run.flaky.append((f"{node} ({directory})", words))
            counts.append((1, 0, []))
        else:
            counts.append((0, 1, [f"{node} ({directory})", *words, "    and alone:", *next(iter(again.failures.values()), [])]))
    return tally.add([*counts, (0, 0, [])]) if counts else (0, 0, [])


# Negative controls: programs with a deliberate fault. The tests must detect each.

def all_controls(run):
    """(kind, name): those of meson, and those of the scenarios."""
    _, listed = run.command("meson", "introspect", PLAIN, "--tests", quiet=True)
    names = [("meson", test["name"]) for test in json.loads(listed[listed.index("["):]) if any(one.endswith("control") for one in test["suite"])]
    _, listed = run.command("/usr/bin/python3", "tests/scenario/controls.py", "--list", quiet=True)
    return names + [("scenario", name) for name in listed.split()]


def controls(run):
    """All with --all, else a third, drawn by the seed."""
    every = all_controls(run)
    drawn = every if run.everything else random.Random(run.seed).sample(every, -(-len(every) // 3))
    run.say(f"controls: {len(drawn)} of {len(every)} (seed {run.seed}): {' '.join(name for _, name in drawn)}")
    counts = []
    of_meson = [name for kind, name in drawn if kind == "meson"]
    if of_meson:
        counts.append(meson(run, PLAIN, *of_meson))
    of_scenarios = [name for kind, name in drawn if kind == "scenario"]
    if of_scenarios:
        _, output = run.command("/usr/bin/python3", "tests/scenario/controls.py", *of_scenarios, env={"STAMPEDE_BUILD": str(run.root / PLAIN)})
        for name in of_scenarios:
            found = re.search(rf"^{name}: (found|not run)", output, re.MULTILINE)
            if not found:
                counts.append((0, 1, [f"{name} was not found", *tally.end_of(output)]))
            elif found[1] == "found":
                counts.append((1, 0, []))
    return tally.add(counts)


# Random operations, and fuzzing

def model(run):
    env = {"STAMPEDE_BUILD": str(run.root / PLAIN)}
    rounds = [("200000", "4", ["--kills"])] if run.everything else [("20000", "2", []), ("2000", "1", ["--kills"])]
    return tally.add(check(run, "tests/model/run", "--steps", steps, "--workers", workers, *words, env=env)
                     for steps, workers, words in rounds)


def build_fuzz(run):
    return build(run, FUZZ, "fuzz")


def fuzz(run):
    """The corpora, and new inputs for a while."""
    results = run.root / FUZZ / "fuzz" / "results"
    results.unlink(missing_ok=True)
    status, output = run.command("tests/fuzz/run", FUZZ, env={"STAMPEDE_FUZZ_SECONDS": "60" if run.everything else "2"})
    return and_ended(tally.of_fuzz(results), status, output)


FIRST = [("builds", builds)]
SCENARIOS = [("scenarios, plain build", scenarios_plain), ("scenarios, ASan and UBSan", scenarios_asan)]
BESIDE = [[("style and clauses of the interface", style), ("unit tests, ASan and UBSan", units),
           ("threads of the store, TSan", store_threads), ("threads of the shard, TSan", shard_threads),
           ("build of the fuzz targets", build_fuzz), ("fuzz targets", fuzz)],
          [("store with failing calls", failing_calls), ("store after crashes", crash_states),
           ("negative controls", controls), ("random operations against a model", model)]]
ONLY_WITH_ALL = [("units, crashes and threads on the other build", rest_of_both_builds)]
LAST = [("scenarios that need a quiet machine", scenarios_alone), ("failed scenarios once more", repeat_failed)]
