"""Tests of populations of many accounts: how they are made, and what they are asked for. meson runs it."""

import contextlib
import io
import tempfile
import unittest
import unittest.mock

from check_programs import program

import bench
import filled
import operators
from population import Population


class ManyAccounts(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.commands, self.loads = [], []
        self.stampede = unittest.mock.Mock(program="/build/stampede", data=f"{place.name}/data", api_key="k0", account_id="a0",
                                           template_path="/t", key=["--key", "k0"])

    def fill(self, population):
        def each_of(_build, _data, items, act):
            def operator(*words):
                self.commands.append(words)
                return {"account_id": f"a{number}", "api_key": f"k{number}"}
            made = []
            for number in (item + 1 for item in items):
                made.append(act(operator, number))
            return made

        def load(_build, _server, words):
            self.loads.append(words)
            return {"errors": 0, "warmup_errors": 0, "gave_up": 0, "requests_per_s": 1}
        with (unittest.mock.patch.object(operators, "each_of", each_of), unittest.mock.patch.object(bench, "load", load),
              unittest.mock.patch.object(bench, "wait_for_disk"), contextlib.redirect_stderr(io.StringIO())):
            return filled.Filled(unittest.mock.Mock(connections=64), self.stampede, population)

    def test_each_account_gets_its_passes_and_its_key_is_asked_with(self):
        found = self.fill(Population(12, 3))
        with open(found.keys_path, encoding="ascii") as file:
            self.assertEqual(file.read(), "k0\nk1\nk2\n")
        self.assertEqual([words[:2] for words in self.commands], 2 * [("account", "create"), ("template", "put"), ("account", "set")])
        words = self.loads[0]
        self.assertEqual(words[words.index("--requests") + 1], "12")
        self.assertEqual(words[words.index("--keys") + 1], found.keys_path)
        self.assertEqual(found.asked("zipf"), {"passes": 4, "keys": found.keys_path, "accounts": "zipf"})
        self.assertEqual(filled.words({"passes": 4, "accounts": "zipf"}), ["--passes", "4", "--accounts", "zipf"])
        with self.assertRaisesRegex(bench.Failed, "no law"):
            found.asked("turns")

    def test_one_account_is_asked_as_before(self):
        found = self.fill(Population(12))
        self.assertEqual((found.keys_path, self.commands), (None, []))
        self.assertNotIn("--keys", self.loads[0])
        self.assertEqual(found.asked(), {"passes": 12})
        self.stampede.ask.assert_called_once_with("account", "set", "a0", "--double-scan-window", "0s")

    def rows(self, population, names):
        module = program("rates")
        options = unittest.mock.Mock(seconds=4, connections=64, warmup=1, build="")
        asked_of = {"passes": population.each, **({"keys": "/keys", "accounts": "uniform"} if population.accounts > 1 else {})}
        conditions = module.Conditions("", (None, None), None, asked_of)
        with unittest.mock.patch.object(module, "loaded", lambda _build, _server, words: words):
            size = module.Size(options, conditions, population, names)
        return {row.name: (row.ask, [bool(row.ceilings), bool(row.pipelines)]) for row in size.rows}

    def test_rates_of_many_accounts_are_drawn_by_both_laws_beside_the_same_constants(self):
        rows = self.rows(Population(1000, 10), None)
        laws = {name: words[words.index("--accounts") + 1] for name, (words, _) in rows.items()}
        self.assertEqual(laws["durable delta"], "uniform")
        self.assertEqual(laws["durable delta, accounts by zipf 0.99"], "zipf")
        self.assertEqual((laws["ceiling POST"], laws["pipeline POST"], laws["creation"]), ("uniform", "uniform", "turns"))
        self.assertTrue(all(words[words.index("--keys") + 1] == "/keys" for words, _ in rows.values()))
        for name in ("durable delta", "durable delta, accounts by zipf 0.99", "durable delta, 256 connections", "scan",
                     "GET of a pass", "mixed load", "creation"):
            self.assertEqual(rows[name][1], [True, True], name)
        wide = rows["durable delta, 256 connections"][0]
        self.assertEqual(wide[wide.index("--connections") + 1], "256")
        for name in ("ceiling POST", "pipeline POST", "delta"):
            words = rows[f"{name}, open at 70% of saturation"][0]
            self.assertEqual((words[words.index("--mode") + 1], words[words.index("--connections") + 1]), ("open", "256"))
        self.assertNotIn("assignment of a reward", rows)

    def test_rates_of_one_account_have_the_rows_of_rewards(self):
        rows = self.rows(Population(1000), "/names")
        self.assertIn("assignment of a reward", rows)
        self.assertIn("--names", rows["redemption"][0])
        self.assertNotIn("durable delta, accounts by zipf 0.99", rows)
        self.assertFalse(any("--keys" in words or "--accounts" in words for words, _ in rows.values()))


if __name__ == "__main__":
    unittest.main()
