"""Tests of what is made of results: comparisons of two, and tables of README.md. meson runs it."""

import contextlib
import io
import json
import os
import tempfile
import unittest
import unittest.mock

from check_programs import FACTS, HERE, program

import bench
import compare
import printed


def rates(*rates_of_rounds, name="durable delta", **more):
    return {"facts": FACTS, "variations": [], "rows": [
        {"passes": 10_000, **more, "name": name, "samples": [{"requests_per_s": rate, "p99": 9} for rate in rates_of_rounds]}]}


# One small result of each program, and a number that is read of it.
RESULTS = {
    "rates": (rates(1, 3), ("10,000: durable delta", "requests_per_s"), [1, 3]),
    "peers": ({"skipped": {}, "rows": [{"system": "Redis", "op": "delta", "samples": [{"stampede_to_it": 2}]}]},
              ("Redis: delta", "stampede_to_it"), [2]),
    "curve": ({"sizes": [{"passes": 10, "knees": [{64: 5}, {64: 6}], "back": [{"back_ms": None}, {"back_ms": 7}], "steps": [
        {"share": 70, "connections": 256, "samples": [{"p99": 8}]}]}]}, ("10: 70 % over 256", "p99"), [8]),
    "recovery": ({"sizes": [{"passes": 10, "accounts": 5, "starts": {"kill": [{"answer_s": 0.5}]}, "beside": {}}]},
                 ("10 in 5 accounts: kill", "answer_s"), [0.5]),
    "footprint": ({"places": [{"passes": 10, "tables": 99}], "writes": [
        {"passes": 10, "operation": "delta", "connections": 64, "tables_bytes": 377}]},
                  ("10: delta over 64", "tables_bytes"), [377]),
    "lists": ({"lists": {"by id": {"stampede": [1, 2], "postgresql": [], "beside": []}},
               "beside": {"pairs": [{way: {"latency_us": {"p99": 3}} for way in ("quiet", "beside")}]}},
              ("by id", "stampede ms"), [1, 2]),
    "webhooks": ({"rounds": [{"ceiling": {"per_s": 9}, "stampede": {"per_s": 5, "of_ceiling": 0.6}}],
                  "latency": [{"latency_us": {"p50": 1, "p99": 2}}]}, ("signed deliveries", "of_ceiling"), [0.6]),
    "wallets": ({"phones": 9, "loyalty": [{"name": "all installed", "samples": [{"of_plain": 0.9}]}], "touch": {
        "alone": [{"of_request": {"p99": 0.1}}], "beside": [{}]}}, ("deltas, all installed", "of_plain"), [0.9]),
    "neighbour": ({"pairs": {"lists": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}}, ("lists", "beside, p99 ms"), [4, 8]),
    "profile": ({"profiles": [{"name": "delta", "us": {"nobody": 3.5}}]}, ("delta", "us: nobody"), [3.5]),
}


class Comparison(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def file(self, text, name="other.json"):
        path = f"{self.place}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def test_a_result_of_each_program_is_known_and_read(self):
        self.assertEqual(set(RESULTS) | {"run"}, set(compare.FORMS))
        for form, (result, key, values) in RESULTS.items():
            with self.subTest(form=form):
                found = compare.read(self.file(result), form)
                self.assertEqual((found.form, found.numbers[key]), (form, values))
                in_memory = compare.result_of(result, "this")
                self.assertEqual(in_memory.numbers, found.numbers)
        whole = {"facts": FACTS, "parts": {form: {"result": result} for form, (result, *_) in RESULTS.items()}}
        whole["parts"]["broken"] = {"status": 1}
        found = compare.result_of(whole, "this")
        self.assertEqual(found.form, "run")
        path = self.file(whole)
        for form, (_, (row, number), values) in RESULTS.items():
            self.assertEqual(found.numbers[f"{form}: {row}", number], values)
            self.assertEqual(compare.read(path, form).numbers[row, number], values)
        del whole["parts"]["rates"]
        with self.assertRaisesRegex(compare.Wrong, "a result of bench/run without one of bench/rates"):
            compare.read(self.file(whole), "rates")

    def test_a_difference_is_marked_when_the_rounds_do_not_overlap(self):
        for values, others, marked in (([5, 6], [1, 2], True), ([1, 2], [5, 6], True), ([1, 5], [4, 9], False),
                                       ([1, 5], [5, 9], False), ([7], [1, 2], False), ([7, 8], [1], False)):
            self.assertEqual(compare.is_beyond(values, others), marked, (values, others))
        this, other = (compare.result_of(rates(*rounds), "it") for rounds in ((300, 330, 310), (100, 200, 155)))
        self.assertEqual(compare.table_of(this, other), (compare.HEADS, [
            ["10,000: durable delta", "requests_per_s", "155", "310", "2.00", "*"],
            ["10,000: durable delta", "p99", "9", "9", "1.00", ""]]))

    def test_what_cannot_be_compared_is_named(self):
        for text, form, why in (("{", None, "is not JSON"), ("[]", None, "is not a result of a measuring program"),
                                ({"a": 1}, None, "is not a result of a measuring program"),
                                (rates(1), "peers", "is a result of bench/rates, not of bench/peers"),
                                ({"variations": [], "rows": [{"passes": 1}]}, None, "not a whole result of bench/rates: KeyError")):
            with self.subTest(why=why), self.assertRaisesRegex(compare.Wrong, f"other.json.*{why}"):
                compare.read(self.file(text), form)
        with self.assertRaisesRegex(compare.Wrong, "none.json cannot be read: No such file"):
            compare.read(f"{self.place}/none.json")
        with self.assertRaisesRegex(compare.Wrong, "empty.md has no table"):
            compare.read(self.file("nothing", "empty.md"))
        one, other = (compare.result_of(rates(1, name=name), "it") for name in ("a", "b"))
        with self.assertRaisesRegex(compare.Wrong, "no row in common"):
            compare.table_of(one, other)

    def test_rows_that_one_lacks_are_named_after_the_table(self):
        this, other = rates(1), rates(2)
        this["rows"] += rates(1, accounts=100)["rows"]
        other["rows"] += rates(1, name="scan")["rows"]
        printed_text = io.StringIO()
        with contextlib.redirect_stdout(printed_text), self.assertRaisesRegex(compare.Wrong, "^rows that one of the two results lacks: 2"):
            compare.print_both(*(compare.result_of(one, "it") for one in (this, other)), bench.print_table)
        self.assertIn("| 10,000: durable delta | requests_per_s | 2 | 1 | 0.50 |  |\n", printed_text.getvalue())
        self.assertIn("missing in other: 10,000 in 100 accounts: durable delta\nmissing in this: 10,000: scan\n",
                      printed_text.getvalue())

    def run_main(self, other, result):
        """bench.main() of a program that measures nothing, with --compare."""
        def run(options, _directory):
            bench.keep(options, result)
        options = bench_options(self.place, compare=other)
        out = io.StringIO()
        with (unittest.mock.patch.multiple(bench, wait_for_disk=lambda _: None, built_at="", measured=None),
              unittest.mock.patch.object(bench.signal, "signal"), contextlib.redirect_stdout(out)):
            try:
                bench.main("bench/rates", (), options, run)
            except SystemExit as ended:
                return out.getvalue(), ended.code
        return out.getvalue(), 0

    def test_a_program_compares_its_result_with_the_other_file(self):
        out, status = self.run_main(self.file(rates(100, 110)), rates(200, 220))
        self.assertEqual(status, 0)
        self.assertIn("| 10,000: durable delta | requests_per_s | 105 | 210 | 2.00 | * |", out)
        with open(f"{self.place}/this.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file), rates(200, 220))

    def test_a_file_that_cannot_be_compared_ends_a_program_before_it_measures(self):
        measured = unittest.mock.Mock()
        with self.assertRaisesRegex(SystemExit, "bench/rates: .*none.json cannot be read"):
            bench.main("bench/rates", (), bench_options(self.place, compare=f"{self.place}/none.json"), measured)
        measured.assert_not_called()


def bench_options(place, **more):
    return unittest.mock.Mock(build=place, dir=place, json=f"{place}/this.json", **more)


# ---- printed reports and README.md -------------------------------------------------------------------------------

PRINTED = """# Machine Z: a trial

```
machine:     2 x AMD EPYC
commit:      1234567
begun:       2026-11-25 19:03 UTC
```

| passes | request | requests/s | of ceiling | of pipeline | p99 us | CPU us |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 10,000 | ceiling POST | 60,000 (50,000 to 70,000) | - | - | 900 | 9.0 |
| 10,000 | durable delta | 30,159 (28,141 to 36,617) | 0.41 (0.24 to 0.47) | 0.88 | 5,030 | 30.8 |
| 1,000,000 in 10,000 accounts | durable delta | 9,000 | 0.12 | 0.2 | 7,000 | 50.0 |
| 10,000 | pipeline POST, open at 70% of saturation | 22,162 | - | - | 17,498 | 40.1 |
| 10,000 | delta, open at 70% of saturation | 22,162 | - | - | 39,141 | 40.1 |
| 1,000,000 | delta, open at 70% | 15,472 | - | - | 71,369 | 40.1 |

```
commit:      of a later part
```

| system | request | requests/s | stampede / it |
| ---: | ---: | ---: | ---: |
| Redis | delta | 20,981 | 1.1 (1.0 to 1.2) |

| passes | operation | connections | tables B |
| ---: | ---: | ---: | ---: |
| 10,000 | delta | 64 | 377 |

| another | table |
| ---: | ---: |
| 1 | 2 |
"""


class Reports(unittest.TestCase):
    def setUp(self):
        self.module = program("headline")

    def report(self):
        return compare.Result("run", *printed.read(PRINTED))

    def test_a_printed_table_is_read_as_the_json_is(self):
        facts, numbers = printed.read(PRINTED)
        self.assertEqual((facts["machine"], facts["commit"]), ("2 x AMD EPYC", "1234567"))
        self.assertEqual(numbers["rates: 10,000: durable delta", "requests_per_s"], [28141, 30159, 36617])
        self.assertEqual(numbers["rates: 10,000: durable delta", "of_pipeline"], [0.88])
        self.assertEqual(numbers["footprint: 10,000: delta over 64", "tables_bytes"], [377])
        self.assertNotIn(("rates: 10,000: ceiling POST", "of_ceiling"), numbers)

    def test_the_headline_has_a_column_for_each_population_and_no_line_without_numbers(self):
        text = self.module.headline(self.report())
        heads, _, *lines = [printed.cells_of(line) for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(heads, ["commit 1234567, 2026-11-25", "10,000 passes", "1,000,000 passes",
                                 "1,000,000 passes in 10,000 accounts", "10,000,000 passes"])
        self.assertEqual(lines, [
            ["balance updates a second, 64 connections", "30,159 (0.41; 0.88)", "-", "9,000 (0.12; 0.20)", "-"],
            ["p99 of updates in an open loop at 70 % of saturation, ms", "39 (pipeline 17)", "71", "-", "-"],
            ["processor time of an update, µs", "30.8", "-", "50.0", "-"],
            ["bytes to the kernel for tables, an update", "377", "-", "-", "-"]])
        self.assertIn("\nUpdates of Stampede for each update of a peer: Redis 1.1 (1.0 to 1.2).\n", text)

    def test_the_headline_is_the_same_of_json(self):
        row = rates(28141, 30159, 36617)
        row["rows"][0]["samples"] = [{**sample, "of_ceiling": 0.5, "of_pipeline": 0.75} for sample in row["rows"][0]["samples"]]
        result = compare.result_of({"facts": FACTS, "parts": {"rates": {"result": row}}}, "this")
        self.assertIn("| balance updates a second, 64 connections | 30,159 (0.50; 0.75) | - | - | - |",
                      self.module.headline(result))

    def test_blocks_are_made_again_and_nothing_else_changes(self):
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(f"{place}/reports")
            with open(f"{place}/reports/Z.md", "w", encoding="utf-8") as file:
                file.write(PRINTED)
            page = ("before\n<!-- generated: headline reports/Z.md -->\nold\n<!-- end -->\nbetween\n"
                    "<!-- generated: machines -->\n<!-- end -->\nafter\n")
            text, report = self.module.renewed(page, place)
            self.assertEqual(self.module.renewed(text, place)[0], text)
            self.assertNotIn("old", text)
            self.assertEqual(self.module.BLOCK.sub(r"\1\4", text), page.replace("old\n", ""))
            self.assertIn("| [Z](reports/Z.md): a trial | 2 x AMD EPYC | - | - | 1234567 | 2026-11-25 19:03 UTC |", text)
            self.assertIn("1,000,000 passes in 10,000 accounts", self.module.picture(report))
            with open(f"{place}/README.md", "w", encoding="utf-8") as file:
                file.write(page)
            with self.assertRaisesRegex(compare.Wrong, "README.md is not what the reports say"):
                self.module.renew(place, is_check=True)
            self.module.renew(place, is_check=False)
            self.module.renew(place, is_check=True)
            with open(f"{place}/README.md", encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
            with self.assertRaisesRegex(compare.Wrong, "0 headlines"):
                self.module.renewed("no block", place)
            with self.assertRaisesRegex(compare.Wrong, "reports/Y.md cannot be read"):
                self.module.renewed(page.replace("reports/Z.md", "reports/Y.md"), place)

    def test_readme_says_what_the_reports_say_and_is_short(self):
        self.module.renew(HERE, is_check=True)
        self.assertLessEqual(os.path.getsize(f"{HERE}/README.md"), 6000)


if __name__ == "__main__":
    unittest.main()
