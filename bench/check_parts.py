"""Tests of single measuring programs without a server. meson runs it."""

import argparse
import contextlib
import io
import os
import tempfile
import threading
import time
import unittest
import unittest.mock

from check_programs import program

import bench
import rows
import systems
from population import Population

# ---- lists and memory ------------------------------------------------------------------------------------------


class Lists(unittest.TestCase):
    def setUp(self):
        self.module = program("lists")

    def test_postgresql_prepares_a_statement_once_and_executes_it(self):
        said = []

        def say_sql(text):
            said.append(text)
            return ["p1|1\n", "count|1\n", "Time: 1.500 ms\n", "Time: 0.500 ms\n"]
        peer = self.module.Postgres.__new__(self.module.Postgres)
        peer.prepared, peer.say_sql = {}, say_sql
        rare, nobody = self.module.Query("rare", status=["active"]), self.module.Query("q=nobody", q="nobody")
        self.assertEqual([peer.ask(query) for query in (rare, nobody, rare)], [(2.0, (1, ["p1"]))] * 3)
        prepared = [text for text in said if "SELECT" in text]
        self.assertEqual(len(prepared), 2)
        self.assertTrue(prepared[0].startswith("PREPARE page_0 AS SELECT pass.* FROM"))
        self.assertIn("LIMIT 25 OFFSET 0) AS page JOIN pass USING (account, n) ORDER BY created desc, n desc;\n"
                      "PREPARE count_0 AS SELECT 'count', count(*)", prepared[0])
        self.assertEqual([text for text in said if "EXECUTE" in text],
                         [f"EXECUTE page_{n};\nEXECUTE count_{n};" for n in (0, 1, 0)])

    def test_a_list_is_told_with_and_without_deltas_beside_it(self):
        alone, both = (self.module.Query(name) for name in ("alone", "both"))
        for query in (alone, both):
            query.samples["stampede"], query.answers["stampede"] = [1, 2, 4], (7, [])
        both.beside = [8, 3, 5]
        self.assertEqual(self.module.table([alone, both])[1],
                         [["alone", "7", "2.0", "4.0", "-", "-", "-"], ["both", "7", "2.0", "4.0", "5.0", "-", "-"]])

    def test_a_connection_that_rested_is_opened_before_a_list_is_timed(self):
        ours, connection = self.module.Ours.__new__(self.module.Ours), unittest.mock.MagicMock()
        ours.connection, ours.asked_at, ours.service = connection, time.monotonic(), unittest.mock.MagicMock()
        answer = connection.getresponse.return_value
        answer.status, answer.headers, answer.read.return_value = 200, {"X-Total-Count": "0"}, b"[]"
        connection.connect.side_effect = lambda: time.sleep(0.2)
        ours.ask(self.module.Query("one"))
        connection.connect.assert_not_called()
        ours.asked_at -= bench.REST_SECONDS_MAX + 1
        took, _ = ours.ask(self.module.Query("one"))
        connection.connect.assert_called_once()
        self.assertLess(took, 200)

    def test_the_table_is_told_when_deltas_fail(self):
        def fail(*_):
            raise bench.Failed("finding the rate failed")
        options = argparse.Namespace(passes=1, rounds=1, pairs=1, seconds=1)
        printed = io.StringIO()
        with (unittest.mock.patch.multiple(self.module, Ours=lambda *_: None, questions=lambda *_: [],
                                           measure=lambda *_: None, measure_beside=fail),
              unittest.mock.patch.multiple(self.module.postgres, demand_way_to=lambda _: None,
                                           is_installed=lambda: False),
              unittest.mock.patch.object(bench, "facts", return_value={}), contextlib.redirect_stdout(printed),
              self.assertRaises(bench.Failed)):
            self.module.run(options, "")
        self.assertIn("| list | matching |", printed.getvalue())

    def test_each_run_of_deltas_has_a_seed_of_its_own(self):
        seeds, report = [], {"latency_us": {"p99": 1000}, "requests_per_s": 100, "errors": 0, "warmup_errors": 0,
                             "gave_up": 0}

        def load_begin(_build, _service, words):
            seeds.append(words[words.index("--seed") + 1])
            return argparse.Namespace(poll=lambda: 0)
        options = argparse.Namespace(build="", connections=1, seconds=1, share=0.5, pairs=3)
        ours = argparse.Namespace(service=None, deltas=self.module.Deltas(1000))
        with (unittest.mock.patch.multiple(bench, load_begin=load_begin, load_end=lambda _: report,
                                           wait_for_disk=lambda _: None),
              contextlib.redirect_stderr(io.StringIO())):
            self.module.measure_beside(options, "", ours, [])
        self.assertEqual(len(seeds), 7)  # one to find the rate, and three pairs
        self.assertEqual(len(set(seeds)), 7)


class Footprint(unittest.TestCase):
    def test_memory_is_told_with_what_lists_keep_and_loads_have_seeds(self):
        module, calls, seeds = program("footprint"), [], []
        population = Population(10)

        class Service:
            child, account_id = None, "a"

            def __init__(self, _build, place):
                self.data = f"{place}/data"

            def begin(self):
                pass

            def counters(self):
                return {"syncs": 0, "batches": 0, "commands": 0}

            def ask(self, *_):
                return {"ok": True, "shards": [{"data_bytes": 100 * len(seeds)}]}

            def call(self, method, path):
                calls.append((method, path))

        class Shard:
            def __init__(self, stampede):
                self.stampede = stampede

            def look(self):
                return {"passes": 10 + len(seeds), "rss_own": (len(calls) + 1) << 20, "rss_file": 0}

            def await_calm(self):
                pass

            path = "/nowhere"

            def written(self):
                return {"handed": 100 * len(seeds), "charged": 0, "disk": 0}

            def snapshots(self):
                return ["1"] if len(seeds) < 2 else ["1", "2"]

        def load(_build, _service, words):
            seeds.append(words[words.index("--seed") + 1])
            return {"ok": 1, "requests_per_s": 1, "errors": 0, "warmup_errors": 0, "gave_up": 0}
        with (tempfile.TemporaryDirectory() as place, unittest.mock.patch.object(bench, "stop"),
              unittest.mock.patch.multiple(module, Stampede=Service, Shard=Shard, load=load),
              unittest.mock.patch.multiple(bench, remove_place=lambda _: None, wait_for_disk=lambda _: None,
                                           fill=lambda *_: None), contextlib.redirect_stderr(io.StringIO())):
            _, moments, samples, rows = module.measure_size(argparse.Namespace(build="", seconds=1), population, place)
        self.assertEqual([sample.get("tables_bytes") for sample in samples], [100, None, 100, 100, 100, 100])
        self.assertEqual([row["kept_bytes"] for row in rows], [100, 100])
        self.assertEqual(len(set(seeds)), len(module.OPERATIONS) + len(rows))
        self.assertEqual([path.split("?")[1] for _, path in calls], [
            "sort_by=created_at", "sort_by=updated_at", "sort_by=id", "sort_by=name", "q=p99",
            "updated_from=2000-01-01T00%3A00%3A00Z"])
        self.assertEqual(module.memory_table([moments])[1], [
            ["10", "filled", "1.0", "104,858", "0.0"], ["16", "after operations", "1.0", "65,536", "0.0"],
            ["16", "with what lists keep", "7.0", "458,752", "0.0"]])


# ---- profiles --------------------------------------------------------------------------------------------------


class Profile(unittest.TestCase):
    PRINTED = """swapper
\tffffffff81e0b4db pv_native_safe_halt
\tffffffff81e0b3c9 default_idle

stampede:http
\t    7f3a11d0c9a4 operator new(unsigned long)

stampede:shard
\tffffffff81e0b4db __blk_flush_plug
\tffffffffc0a1d2b1 ext4_sync_file
\tffffffff813d2b1e __x64_sys_fdatasync

somebody
"""

    def setUp(self):
        self.module = program("profile")

    def test_what_perf_prints_is_read_sample_by_sample(self):
        samples = list(self.module.samples_of(io.StringIO(self.PRINTED)))
        self.assertEqual([thread for thread, _ in samples], ["swapper", "stampede:http", "stampede:shard", "somebody"])
        self.assertEqual(samples[1][1], [("operator new(unsigned long)", False)])
        self.assertEqual(samples[2][1], [("__blk_flush_plug", True), ("ext4_sync_file", True),
                                         ("__x64_sys_fdatasync", True)])
        self.assertEqual([self.module.place_of(*sample) for sample in samples], [
            "nobody", "http, or the ceiling's server: its own code and its libraries", "shard: `fdatasync`", "all else"])

    def test_a_sample_belongs_to_the_first_place_that_fits(self):
        kernel, own = True, False
        for thread, frames, place in (
                ("stampede:shard", [("memcpy", own)], "shard: its own code and its libraries"),
                ("stampede:shard", [("clear_page", kernel), ("asm_exc_page_fault", kernel)], "shard: faults of pages"),
                ("stampede:shard", [("copy", kernel), ("__x64_sys_pwrite64", kernel)],
                 "shard: `pwrite`, journal and tables"),
                ("stampede:shard", [("eventfd_write", kernel)], "shard: other system calls"),
                ("ZMQbg/IO/0", [("eventfd_write", kernel)], "ZeroMQ's threads"),
                ("load", [("tcp_sendmsg", kernel)], "load: system calls"), ("load", [], "load: its own code"),
                ("kworker/0:1H", [("virtio_queue_rq", kernel)], "the disk's driver"), ("sshd", [], "all else")):
            self.assertEqual(self.module.place_of(thread, frames), place)

    def test_the_processors_time_is_divided_by_the_requests(self):
        with unittest.mock.patch("os.sched_getaffinity", return_value={0, 1}):
            one = self.module.Profile("one", {"nobody": 30, "all else": 10}, self.module.collections.Counter(), 1000)
        self.assertEqual([one.us("nobody"), one.us("all else"), one.us("load: system calls")], [1500, 500, 0])

    def look(self, printed, exit_status=0):
        """Parses the output of a fake perf."""
        with tempfile.TemporaryDirectory() as directory:
            with open(f"{directory}/perf", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n[ $1 = record ] && exit 0\n"
                           f"echo a word >&2; cat <<END\n{printed}\nEND\nexit {exit_status}\n")
            os.chmod(f"{directory}/perf", 0o755)
            with unittest.mock.patch.dict(os.environ, {"PATH": f"{directory}:{os.environ['PATH']}"}):
                look = self.module.Look(1, directory)
                look.await_end()
                open(look.path, "wb").close()
                return look.profile("one", 1000)

    def test_what_perf_could_not_read_is_no_profile(self):
        self.assertEqual(self.look(self.PRINTED).places["nobody"], 1)
        with self.assertRaisesRegex(self.module.Failed, "perf script: a word"):
            self.look(self.PRINTED, 1)
        with self.assertRaisesRegex(self.module.Failed, "saw nothing"):
            self.look("")
        with self.assertRaisesRegex(self.module.Failed, "names of its functions"):
            self.look("swapper\n\tffffffff81e0b4db [unknown]\n")

    def test_without_perf_it_says_so(self):
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            with self.assertRaisesRegex(self.module.Failed, "bench/install"):
                self.module.demand_perf("/nowhere")


# ---- curve, webhooks and recovery ------------------------------------------------------------------------------


class Written(unittest.TestCase):
    def setUp(self):
        self.module = program("footprint")

    def test_records_of_segments_count_and_new_segments_are_full_of_zeros_once(self):
        before, after = {3: 500, 4: 0}, {4: 700, 5: 90, 6: 0}  # the third was removed with the records that it had
        self.assertEqual(self.module.written_between(before, after), (790, 2 * self.module.SEGMENT_BYTES))
        self.assertEqual(self.module.written_between(before, before), (0, 0))

    def test_a_segment_holds_what_stands_behind_its_head_and_before_its_zeros(self):
        with tempfile.TemporaryDirectory() as shard:
            os.mkdir(f"{shard}/journal")
            head = b"h".ljust(self.module.SEGMENT_HEAD_BYTES, b"\0")
            for number, records in ((1, b"x" * 300), (2, b"")):
                with open(f"{shard}/journal/{number:020}.seg", "wb") as file:
                    file.write(head + records + b"\0" * 1000)
            self.assertEqual(self.module.segments(shard), {1: 300, 2: 0})


class Curve(unittest.TestCase):
    def setUp(self):
        self.module = program("curve")

    def test_a_fault_of_the_overload_counts_also_when_the_overload_is_the_warm_up(self):
        fine = {"errors": 5, "gave_up": 0, "status": {"200": 9, "503": 2}, "error_kinds": {"abandoned": 3},
                "warmup_errors": 7, "warmup_status": {"503": 4}, "warmup_error_kinds": {"abandoned": 3}}
        self.assertEqual(self.module.other_errors(fine), 0)
        for field in ("errors", "warmup_errors", "gave_up"):  # a broken connection, say
            self.assertEqual(self.module.other_errors({**fine, field: fine[field] + 1}), 1)

    def back(self, former_p99, *p99s):
        windows = [{"ok": 1, "errors": 0, "latency_us": {"p99": p99}} for p99 in p99s]
        return {"former_p99": former_p99, "report": {"windows": windows}}

    def test_a_round_that_was_slow_before_its_overload_is_not_back_sooner(self):
        backs = [self.back(former, 900, 500, 150, 150, 150, 150) for former in (100, 90, 1000)]
        self.module.judge(backs)
        self.assertEqual([(back["bar_us"], back["back_ms"]) for back in backs], [(200, 200)] * 3)

    def test_a_round_is_back_when_three_windows_in_a_row_are_calm(self):
        backs = [self.back(100, 10, 10, 300, 10, 10, 10), self.back(100, 10, 10, 300, 10, 10)]
        backs[0]["report"]["windows"][3]["errors"] = 1
        self.module.judge(backs)
        self.assertEqual([back["back_ms"] for back in backs], [None, None])
        backs[0]["report"]["windows"][3]["errors"] = 0
        self.module.judge(backs)
        self.assertEqual(backs[0]["back_ms"], 300)


class Webhooks(unittest.TestCase):
    def setUp(self):
        self.module = program("webhooks")
        self.module.ARRIVE_SECONDS_MAX = 0

    def await_all(self, **came):
        receiver = self.module.Receiver.__new__(self.module.Receiver)
        receiver.report = lambda: {"count": 10, "events": 10, "untimed": 0, **came}
        ours = self.module.Ours.__new__(self.module.Ours)
        ours.receiver = receiver
        return ours.await_all(10)

    def test_each_event_has_to_come_once_and_with_a_time(self):
        self.assertEqual(self.await_all()["count"], 10)
        for came, why in (({"untimed": 1}, "1 of 10 events have no created_at"), ({"count": 11}, "some came twice"),
                          ({"events": 9}, "9 of 10 events came within 0 s, in 10 deliveries"),
                          ({"count": 11, "events": 11}, "11 events of 10 facts")):
            with self.assertRaisesRegex(bench.Failed, why):
                self.await_all(**came)

    def test_facts_are_made_over_as_many_connections_as_was_said(self):
        report = {"errors": 0, "warmup_errors": 0, "gave_up": 0}
        ours = self.module.Ours.__new__(self.module.Ours)
        ours.options, ours.service = argparse.Namespace(build="", connections=7), None
        with unittest.mock.patch.object(self.module, "load", return_value=report) as load:
            ours.deltas("--requests", "1")
        words = load.call_args.args[2]
        self.assertEqual(words[words.index("--connections") + 1], "7")


class Wallets(unittest.TestCase):
    def setUp(self):
        self.module = program("wallets")

    def test_a_change_is_covered_by_the_first_push_after_it(self):
        s = 10**9
        times = {1: [2 * s, 20 * s, 21 * s], 2: [40 * s, 45 * s]}
        found = self.module.delays_of([(1, 19 * s, int(19.5 * s)), (2, 39 * s, 41 * s), (2, 42 * s, 42 * s)], times)
        self.assertEqual(found, {"of_request": [1, 1], "of_answer": [0.5, 0], "rested": [3]})

    def test_a_change_without_a_push_fails(self):
        with self.assertRaisesRegex(bench.Failed, "pass 1 "):
            self.module.delays_of([(1, 5, 6)], {1: [4]})


class Recovery(unittest.TestCase):
    def setUp(self):
        self.module = program("recovery")

    def test_whatever_a_job_fails_with_fails_the_turn_by_name(self):
        def job():
            raise ValueError("no JSON")
        with self.assertRaisesRegex(bench.Failed, "backups: ValueError: no JSON"), self.module.Jobs("backups", job) as jobs:
            jobs.thread.join()

    def test_a_job_is_ended_when_its_turn_is_cut_short(self):
        def job():
            bench.command_json(["sleep", "60"])
        before, deadline = list(bench.children), time.monotonic() + 10
        with self.assertRaises(KeyboardInterrupt), self.module.Jobs("backups", job) as jobs:
            while bench.children == before and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertNotEqual(bench.children, before)
            child = bench.children[-1]
            raise KeyboardInterrupt
        self.assertFalse(jobs.thread.is_alive())
        self.assertIsNotNone(child.returncode)
        self.assertEqual(bench.children, before)

    def test_a_job_that_does_not_end_is_ended_and_fails_the_turn(self):
        self.module.REBUILD_SECONDS_MAX = 0.01
        began = threading.Event()

        def job():
            began.set()
            bench.command_json(["sleep", "60"])
        with self.assertRaisesRegex(bench.Failed, "the last of the backups does not end"):
            with self.module.Jobs("backups", job) as jobs:
                began.wait()
        self.assertFalse(jobs.thread.is_alive())


# ---- who is missing --------------------------------------------------------------------------------------------


class Peers(unittest.TestCase):
    def test_what_is_not_installed_is_left_out_with_what_would_install_it(self):
        module = program("peers")
        for place, name in ((systems.shutil, "which"), (systems.postgres, "is_installed")):
            self.addCleanup(setattr, place, name, getattr(place, name))
        systems.shutil.which = lambda name: None if name.startswith("redis") else "/bin/sh"
        systems.postgres.is_installed = lambda: True
        options = argparse.Namespace(build="build")
        with unittest.mock.patch.object(systems, "install_service"):
            self.assertEqual(module.missing_ones(options), {"Redis": "apt-get install redis-server"})
        broken = bench.Failed("npm: no network\nat all")
        with unittest.mock.patch.object(systems, "install_service", side_effect=broken):
            self.assertEqual(module.missing_ones(options)[systems.NODE], "npm ci, which now fails: npm: no network")
        systems.postgres.is_installed = lambda: False
        self.assertEqual(set(module.missing_ones(options)), {"PostgreSQL", "Redis", systems.NODE})

    def test_each_operation_begins_with_its_ceiling_and_ours(self):
        module = program("peers")

        def one(*names):
            return argparse.Namespace(rows=lambda: [(name, op, None) for op in ("delta", "get") for name in names],
                                      settle=list)
        options = argparse.Namespace(build="", passes=1, connections=1, seconds=1, warmup=0)
        turns = module.turns_of(options, None, [one("stampede"), one("a", "b")])
        self.assertEqual([(turn.system, turn.op) for turn in turns],
                         [(name, op) for op in ("delta", "get") for name in ("ceiling", "stampede", "a", "b")])
        self.assertEqual([turn.row.ceilings[0][0] is turns[0].row for turn in turns[1:4]], [True] * 3)
        self.assertEqual([bool(turn.settle) for turn in turns], [False, True, True, True] + [False] * 4)

    def test_each_round_another_system_begins_and_its_ratio_is_one_of_the_round(self):
        module, taken = program("peers"), []

        def turn(name, op, rates):
            def ask(_seed, _extra):
                taken.append(name)
                return {"requests_per_s": next(rates), "p99": 1, "errors": 0}
            return module.Turn(name, op, rows.Row(name, ask))
        turns = [turn("ceiling", "delta", iter([9, 9])), turn("stampede", "delta", iter([8, 6])),
                 turn("a", "delta", iter([4, 1])), turn("b", "delta", iter([2, 0]))]
        options = argparse.Namespace(passes=1, rounds=2)
        told = "b: no request succeeded"
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(bench.Failed, told):
            module.measure(options, turns, "")
        self.assertEqual(taken, ["ceiling", "stampede", "a", "b", "ceiling", "a", "b"])
        self.assertEqual(turns[2].row.values("stampede_to_it"), [2])


if __name__ == "__main__":
    unittest.main()
