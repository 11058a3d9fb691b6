"""Acknowledged changes survive `kill -9` of any process at any instant. Also tests that the scenario detects
violations."""
import os

import durability
import pytest
from ledger import Book, subset_of

KILLS = int(os.environ.get("STAMPEDE_KILLS", "54"))  # each of the six targets nine times


def holds(kills):
    scenario = durability.run(kills, durability.chosen_seed())
    assert scenario.violations == []
    counts = {key: sum(book.counts[key] for book in scenario.books) for key in scenario.books[0].counts}
    assert scenario.kills >= kills
    assert counts["creations"] >= 10 * kills and counts["deltas"] >= 20 * kills, "there was hardly any load"


def test_everything_acknowledged_survives_kills():
    holds(KILLS)


@pytest.mark.slow
def test_everything_acknowledged_survives_many_kills():
    holds(10 * KILLS)


def test_subsets_are_found_exactly():
    amounts = [3 ** i * (-1) ** i for i in range(20)]
    for chosen in ([], [0], [19], [1, 2, 3], list(range(20)), [0, 9, 10, 19]):
        assert subset_of(amounts, sum(amounts[i] for i in chosen)) == chosen
    assert subset_of(amounts, 3 ** 30) is None
    assert subset_of([], 0) == [] and subset_of([], 1) is None


class Shown:
    """An answer to the read of one pass, and the shop that returns it."""

    def __init__(self, balance, pass_id="p"):
        self.status = 404 if balance is None else 200
        self.json = {"id": pass_id, "status": "issued", "balance": balance, "hidden": {"mark": pass_id * 3},
                     "visible": {"name": pass_id, "points": balance}}
        self.client = self

    def get(self, _path):
        return self


@pytest.mark.parametrize("creation, deltas, balance, good", [
    ("acknowledged", [], 0, True), ("acknowledged", [], None, False),
    ("refused", [], None, True), ("refused", [], 0, False),
    ("unknown", [], None, True), ("unknown", [], 0, True),
    ("acknowledged", [(5, "acknowledged"), (-7, "acknowledged")], -2, True),
    ("acknowledged", [(5, "acknowledged"), (-7, "acknowledged")], 5, False),
    ("acknowledged", [(5, "acknowledged"), (9, "unknown")], 5, True),
    ("acknowledged", [(5, "acknowledged"), (9, "unknown")], 14, True),
    ("acknowledged", [(5, "acknowledged"), (9, "unknown")], 23, False),
    ("acknowledged", [(5, "acknowledged"), (9, "refused")], 14, False),
    ("acknowledged", [(5, "acknowledged")], 10, False),
])
def test_the_book_reports_violations(creation, deltas, balance, good):
    book = Book(Shown(balance), 8)
    book.created("p", creation)
    for amount, fate in deltas:
        book.added("p", amount, fate)
    assert (list(book.look(everything=True)) == []) == good


def test_the_book_reports_a_pass_that_disappears():
    book = Book(Shown(14), 8)
    book.created("p", "acknowledged")
    book.added("p", 5, "acknowledged")
    book.added("p", 9, "unknown")
    assert list(book.look(everything=True)) == []
    book.shop = Shown(5)
    assert len(list(book.look(everything=True))) == 1
