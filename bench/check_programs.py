"""Tests of the measuring programs without a server: arithmetic, parsers of other programs' reports, pictures, and the
program that runs the parts. meson runs it.
"""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import asked  # noqa: E402
import bench  # noqa: E402
import plots  # noqa: E402
import rows  # noqa: E402
import systems  # noqa: E402

FACTS = {"machine": "2 x <fast>", "disk": "ext4", "commit": "0", "begun": "today"}


def program(name):
    """A measuring program as a module."""
    loader = importlib.machinery.SourceFileLoader(f"bench_{name}", f"{HERE}/{name}")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


# ---- numbers ---------------------------------------------------------------------------------------------------


class Numbers(unittest.TestCase):
    def test_a_mix_is_compared_with_the_mean_time_at_the_ceilings(self):
        post, get = (rows.Row(name, None) for name in ("post", "get"))
        post.samples, get.samples = [{"requests_per_s": 1}, {"requests_per_s": 100}], [{"requests_per_s": 200}]
        self.assertAlmostEqual(rows.of_ceilings(50, [(post, 1)]), 0.5)
        self.assertAlmostEqual(rows.of_ceilings(80, [(post, 0.5), (get, 0.5)]), 0.6)  # both take 7.5 ms on average

    def test_a_row_seeds_each_round_otherwise_and_keeps_its_shares(self):
        asked = []

        def ask(seed, extra):
            asked.append((seed, *extra))
            return {"requests_per_s": 10 * len(asked), "p99": 1, "errors": len(asked)}
        top, way = rows.Row("top", None), rows.Row("way", None)
        top.samples, way.samples = [{"requests_per_s": 40}], [{"requests_per_s": 20}]
        row = rows.Row("row", ask, [(top, 1)], [(way, 1)])
        with contextlib.redirect_stderr(io.StringIO()):
            row.take()
            row.take(["--rate"])
        seed = rows.seed_of("row")
        self.assertEqual(asked, [(seed,), (seed + 1, "--rate")])
        self.assertGreater(abs(seed - rows.seed_of("top")), 100)
        self.assertEqual(row.values("of_ceiling"), [0.25, 0.5])
        self.assertEqual(row.values("of_pipeline"), [0.5, 1])
        self.assertEqual(rows.error_count([row, top]), 3)

    def test_what_a_request_takes_of_the_processors_is_the_median_of_the_rounds(self):
        row = rows.Row("row", None)
        row.samples = [{"requests_per_s": 10_000 * each, "cpu_http": 50, "cpu_shard": 10} for each in (1, 2, 4)]
        self.assertEqual(rows.cpu_us(row, ("http", "shard")), 30)  # 60 % of a processor for 20,000 a second

    def test_a_percentile_is_the_least_that_so_many_do_not_exceed(self):
        self.assertEqual(systems.percentiles(range(1000, 0, -1)), {"p50": 500, "p99": 990, "p99_9": 999, "max": 1000})
        self.assertEqual(systems.percentiles([7])["p50"], 7)

    def test_of_pgbench_counts_what_began_after_the_warm_up_and_ended_in_time(self):
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as log:
            for at in range(40):  # a transaction of 100 ms each quarter of a second
                log.write(f"0 {at} 100000 0 {100 + at // 4} {at % 4 * 250000}\n")
            log.flush()
            ended = systems.transactions([log.name])
        sample = systems.pgbench_sample(ended, 2.05, 4)
        self.assertEqual(sample["requests_per_s"], 3.75)  # from 101.95 to 105.95: those that ended at 102.0 had begun before
        self.assertEqual(sample["p99"], 100000)

    def test_no_success_is_a_named_failure(self):
        with self.assertRaisesRegex(bench.Failed, "pgbench: none of 0 transactions"):
            systems.pgbench_sample([], 1, 1)
        with self.assertRaisesRegex(bench.Failed, "redis-benchmark: no request"):
            systems.redis_sample("")

    def test_the_processes_below_one_are_counted_with_it_also_when_they_have_ended(self):
        burn = "import time\nwhile time.process_time() < 0.2: pass"
        below = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print(flush=True); input()"
        with subprocess.Popen([sys.executable, "-c", below], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            self.assertGreater(systems.tree_seconds(child.pid), 0.15)
            child.stdin.write(b"\n")

    def test_of_redis_benchmark_the_last_line_counts(self):
        text = ('"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms",'
                '"max_latency_ms"\n"hgetall pass:__rand_int__","52600.50","0.9","0.1","0.847","1.1","1.215","3.5"\n')
        self.assertEqual(systems.redis_sample(text),
                         {"requests_per_s": 52600.5, "errors": 0, "p50": 847, "p99": 1215, "max": 3500})


# ---- pictures --------------------------------------------------------------------------------------------------


def shapes(picture, name):
    return list(xml.fromstring(picture).iter(f"{{http://www.w3.org/2000/svg}}{name}"))


def peers_result():
    samples = {"ceiling": [100, 110, 300], "stampede": [50, 60, 55], "a <b> & c": [10, 11, 12]}
    return {"facts": FACTS, "rows": [
        {"system": system, "op": op, "passes": 10, "samples": [{"requests_per_s": rate} for rate in rates]}
        for op in ("delta", "get") for system, rates in samples.items()]}


class Options(unittest.TestCase):
    def test_numbers_are_above_nothing(self):
        self.assertEqual(asked.sizes("1000000,10000,10000"), [10_000, 1_000_000])
        self.assertEqual((asked.count("1"), asked.amount("0.5")), (1, 0.5))
        wrong = [(asked.sizes, "0"), (asked.sizes, "abc"), (asked.sizes, "1,,2"), (asked.sizes, ""),
                 (asked.count, "0"), (asked.count, "-1"), (asked.amount, "0"), (asked.amount, "nan"),
                 (asked.amount, "inf")]
        for read, text in wrong:
            with self.subTest(read=read.__name__, text=text), self.assertRaises(argparse.ArgumentTypeError):
                read(text)

    def test_sizes_are_those_asked_for_or_the_programs_own(self):
        parser = argparse.ArgumentParser()
        asked.add_sizes_option(parser)
        parser.add_argument("--quick", action="store_true")
        for words, sizes in (([], [10_000, 1_000_000]), (["--quick"], [10_000]), (["--passes", "7,5"], [5, 7])):
            self.assertEqual(asked.sizes_of(parser.parse_args(words)), sizes)

    def test_populations_have_the_same_number_of_passes_in_each_account(self):
        parser = argparse.ArgumentParser()
        asked.add_populations_option(parser)
        parser.add_argument("--quick", action="store_true")
        for words, found in (([], [(10_000, 1), (1_000_000, 1), (1_000_000, 10_000)]),
                             (["--quick"], [(10_000, 1), (10_000, 100)]), (["--passes", "6/3,6,4,6"], [(4, 1), (6, 1), (6, 3)])):
            self.assertEqual(asked.populations_of(parser.parse_args(words)), found)
        self.assertEqual(asked.populations("6/3")[0].each, 2)
        for text in ("7/3", "0", "6/0", "6/3/1", "20000/20000", "six", "", "6/"):
            with self.subTest(text=text), self.assertRaises(argparse.ArgumentTypeError):
                asked.populations(text)


class Pictures(unittest.TestCase):
    def test_bars_are_as_long_as_their_medians_and_ours_has_its_colour(self):
        bars = [shape for shape in shapes(plots.peers_picture(peers_result()), "rect") if shape.get("x")]
        self.assertEqual(len(bars), 6)
        widths = [float(bar.get("width")) for bar in bars]
        self.assertAlmostEqual(widths[0] / widths[1], 2, 1)
        self.assertEqual([bar.get("fill") for bar in bars[:3]], [plots.CEILING, plots.OURS, plots.OTHERS])

    def test_names_are_text_and_nothing_else(self):
        said = [shape.text for shape in shapes(plots.peers_picture(peers_result()), "text")]
        self.assertIn("a <b> & c", said)

    def test_lists_stand_on_powers_of_ten(self):
        scale = plots.Scale([0.3, 250], 0, 400, is_log=True)
        self.assertEqual(scale.ticks(), [0.1, 1, 10, 100, 1000])
        self.assertAlmostEqual(scale.at(10), 200)
        picture = plots.lists_picture({"facts": FACTS, "lists": {
            "newest": {"stampede": [0.3, 0.4], "postgresql": [40, 250]}, "alone": {"stampede": [1], "postgresql": []}}})
        self.assertEqual(len([bar for bar in shapes(picture, "rect") if bar.get("x")]), 3)

    def test_a_curve_has_a_point_for_every_rate_that_was_answered(self):
        def step(offered, connections, p99):
            return {"connections": connections, "samples": [{"offered": offered, "p50": 100, "p99": p99}] * 2}
        size = {"passes": 10, "steps": [step(1000, 64, 200), step(3000, 64, 400), step(2000, 64, 300),
                                        step(9000, 4000, 0)]}
        picture = plots.PICTURES["curve"]({"facts": FACTS, "sizes": [size]})["curve"]
        self.assertEqual(len(shapes(picture, "circle")), 7)  # p50 and p99 of three, p50 of the last
        places = [float(point.get("cx")) for point in shapes(picture, "circle")[:3]]
        self.assertEqual(places, sorted(places))
        self.assertIn("p99 over 64", [shape.text for shape in shapes(picture, "text")])

    def test_rates_of_each_population_stand_apart(self):
        def row(**population):
            return {**population, "name": "durable delta", "samples": [{"of_ceiling": 0.5}]}
        picture = plots.rates_picture({"facts": FACTS, "variations": [], "rows": [
            row(passes=10), row(passes=10, accounts=5), row(passes=20, accounts=1)]})
        self.assertEqual([shape.text for shape in shapes(picture, "text") if "passes" in shape.text],
                         ["10 passes", "10 passes in 5 accounts", "20 passes"])
        self.assertEqual(len([bar for bar in shapes(picture, "rect") if bar.get("x")]), 3)

    def test_only_what_has_a_result_is_drawn(self):
        with tempfile.TemporaryDirectory() as place:
            paths = plots.write(place, {"peers": peers_result(), "recovery": {}})
            self.assertEqual([os.path.basename(path) for path in paths], os.listdir(place))
            self.assertEqual(os.listdir(place), ["peers.svg"])


# ---- processes -------------------------------------------------------------------------------------------------


class Processes(unittest.TestCase):
    def test_a_child_that_another_thread_has_waited_for_can_be_stopped(self):
        child = subprocess.Popen(["sleep", "60"], start_new_session=True)
        waiter = threading.Thread(target=os.waitpid, args=(child.pid, 0))
        waiter.start()
        bench.stop(child)
        waiter.join()
        self.assertIsNotNone(child.returncode)

    def test_a_run_with_any_failure_is_none_to_rely_on(self):
        fine = {"errors": 0, "warmup_errors": 0, "gave_up": 0, "status": {}, "error_kinds": {}}
        bench.demand(fine, "it")
        for field in ("errors", "warmup_errors", "gave_up"):
            with self.assertRaises(bench.Failed):
                bench.demand({**fine, field: 1}, "it")


# ---- the run of all parts --------------------------------------------------------------------------------------

GOOD = """#!/bin/sh
echo "$STAMPEDE_BENCH_PART $*"
echo '{"facts": {}}' >"$2"
"""
BAD = "#!/bin/sh\necho half a table\nexit 3\n"
LASTING = """#!/bin/sh
trap 'sleep 0.2; cp "$0.result" "$2"; touch "$0.cleaned"; exit 1' TERM
echo the first table
touch "$0.begun"
while :; do sleep 0.05; done
"""
DRIVER = """
import sys
sys.path.insert(0, {here!r})
import check_programs
module = check_programs.program("run")
options = module.options_read(["--only", "rates", "--build", {place!r}, "--json", {place!r} + "/all.json"])
options.programs = {place!r}
module.bench.main("bench/run", (), options, module.run)
"""


class Runs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place, self.module = place.name, program("run")

    def part(self, name, text):
        path = f"{self.place}/{name}"
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def run_all(self, *words):
        """Returns its output, and the reason of its failure."""
        options = self.module.options_read([*words, "--build", "/nowhere", "--json", f"{self.place}/all.json"])
        options.programs = self.place
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            try:
                self.module.run(options, self.place)
                failed = None
            except bench.Failed as why:
                failed = str(why)
        return printed.getvalue(), failed

    def test_a_part_that_fails_is_told_and_the_others_run(self):
        self.part("rates", GOOD)
        self.part("peers", BAD)
        self.part("webhooks", GOOD)
        printed, failed = self.run_all("--only", "webhooks,peers,rates,lists", "--quick", "--dir", "/there")
        self.assertEqual(failed, "failed: peers, lists")
        self.assertIn(f"{bench.commit_of_programs()} --json {self.place}/rates.json --build /nowhere --dir /there --quick\n",
                      printed)
        self.assertIn("half a table\n\n**peers failed**: exit status 3\n", printed)
        self.assertIn("**lists failed**: it cannot be started\n", printed)
        self.assertLess(printed.index("## rates"), printed.index("## peers"))
        with open(f"{self.place}/all.json", encoding="utf-8") as file:
            parts = json.load(file)["parts"]
        self.assertEqual({name: part["status"] for name, part in parts.items()},
                         {"rates": 0, "peers": 3, "lists": None, "webhooks": 0})
        self.assertEqual(parts["webhooks"]["result"], {"facts": {}})
        self.assertNotIn("result", parts["peers"])

    def test_sizes_reach_the_parts_that_can_do_them(self):
        self.part("rates", GOOD)
        options = self.module.options_read(["--passes", "10000,1000000/10000,10000000", "--build", "/b"])

        def sizes():
            return {part: command[command.index("--passes") + 1] for part in self.module.PARTS
                    if "--passes" in (command := self.module.command_of(part, options, "j"))}
        every = "10000,1000000/10000,10000000"
        self.assertEqual(sizes(), {"rates": every, "recovery": every, "footprint": every})
        with unittest.mock.patch.dict(self.module.SIZED, {"recovery": 1_000_000, "footprint": 9}):
            self.assertEqual(sizes(), {"rates": every, "recovery": "10000,1000000/10000"})
        self.assertNotIn("--passes", self.module.command_of("rates", self.module.options_read([]), "j"))

    def test_when_all_is_well_nothing_fails(self):
        self.part("rates", GOOD)
        self.assertIsNone(self.run_all("--only", "rates")[1])

    def test_a_picture_that_cannot_be_drawn_is_told(self):
        self.part("peers", GOOD)
        _, failed = self.run_all("--only", "peers", "--plots", f"{self.place}/plots")
        self.assertIn("the picture of peers (KeyError: ", failed)

    def test_facts_of_the_machine_stand_once(self):
        printed = io.StringIO()
        os.environ[bench.IS_PART] = "1"
        self.addCleanup(os.environ.pop, bench.IS_PART)
        with contextlib.redirect_stdout(printed):
            bench.print_facts({**FACTS, "run": "5 rounds"})
        self.assertEqual(printed.getvalue().split(), ["run:", "5", "rounds"])

    def test_all_parts_are_of_the_commit_that_the_run_began_with(self):
        told = {}
        for commit in ("1234567", ""):
            with unittest.mock.patch.dict(os.environ, {bench.IS_PART: commit}):
                told[commit] = bench.facts(self.place)["commit"]
        self.assertEqual(told, {"1234567": "1234567", "": bench.commit_of_programs()})

    def test_programs_older_than_their_sources_are_told(self):
        told = []
        for to_do in ("[1/2] Compiling C object load.o", "ninja: no work to do.", ""):
            answers = {"rev-parse": "1234567", "status": "", "-C": to_do}
            with unittest.mock.patch.object(bench, "output_of", lambda _, word, *__, answers=answers: answers[word]):
                told.append(bench.commit_of_programs())
        self.assertEqual(told, ["1234567, but the programs are older", "1234567", "1234567"])

    def test_what_could_not_be_written_in_the_end_is_refused_at_once(self):
        for path in (f"{self.place}/none/all.json", self.place):
            with self.assertRaises(bench.Failed) as caught:
                bench.demand_way_to(path)
            self.assertIn(path, str(caught.exception))
        bench.demand_way_to(f"{self.place}/all.json")
        bench.demand_way_to(None)
        self.assertFalse(os.path.exists(f"{self.place}/all.json"))
        with open(f"{self.place}/file", "wb"), self.assertRaises(bench.Failed):
            self.module.make_place_of_pictures(f"{self.place}/file")

    def test_an_interrupted_part_is_waited_for(self):
        path = self.part("rates", LASTING)
        self.part("rates.result", '{"rows": 1}')
        child = subprocess.Popen([sys.executable, "-c", DRIVER.format(here=HERE, place=self.place)],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        deadline = time.monotonic() + 30
        while not os.path.exists(f"{path}.begun") and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertIn("the first table\n", child.stdout)  # printed as it appears; reads up to that line
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(timeout=30), 128 + signal.SIGTERM)
        child.stdout.close()
        self.assertTrue(os.path.exists(f"{path}.cleaned"))
        with open(f"{self.place}/all.json", encoding="utf-8") as file:
            kept = json.load(file)["parts"]["rates"]
        self.assertEqual((kept["result"], kept["printed"]), ({"rows": 1}, "the first table\n"))
        self.assertEqual([name for name in os.listdir(self.place) if name.startswith("bench-")], [])


if __name__ == "__main__":
    unittest.main()
