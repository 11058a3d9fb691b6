"""What holders do with a pass, reported by `pass event`, and the entries of `pass history`."""
import pytest
from harness import refusal
from history import deltas_of, statuses_of

BLOCK = "--block-reinstall"
# The events that bring a new pass to a state.
WAYS = {
    "issued": [],
    "active": [["installed"]],
    "removed": [["installed"], ["uninstalled"]],
    "blocked": [["installed"], ["uninstalled", BLOCK]],
    "deactivated": [["deactivated"]],
}
# (from, event) -> (status, reinstall_blocked). Every other pair is a conflict.
EDGES = {
    ("issued", "installed"): ("active", False),
    ("active", "uninstalled"): ("removed", False),
    ("active", "uninstalled " + BLOCK): ("removed", True),
    ("removed", "installed"): ("active", False),
    ("blocked", "unblocked"): ("removed", False),
    ("issued", "deactivated"): ("deactivated", False),
    ("active", "deactivated"): ("deactivated", False),
    ("removed", "deactivated"): ("deactivated", False),
    ("blocked", "deactivated"): ("deactivated", True),
}
CONFLICTS = [
    ("issued", "uninstalled"), ("issued", "unblocked"), ("issued", "uninstalled " + BLOCK),
    ("active", "installed"), ("active", "unblocked"),
    ("removed", "uninstalled"), ("removed", "unblocked"),
    ("blocked", "installed"), ("blocked", "uninstalled"), ("blocked", "uninstalled " + BLOCK),
    ("deactivated", "installed"), ("deactivated", "uninstalled"),
]


def bring_to(shop, state):
    made = shop.create()
    for step in WAYS[state]:
        shop.event(made["id"], *step)
    return shop.get(made["id"])


@pytest.mark.parametrize("state, event", EDGES)
def test_allowed_transitions(till, state, event):
    before = bring_to(till, state)
    told = till.event(before["id"], *event.split())
    assert (told["status"], told["reinstall_blocked"]) == EDGES[state, event]
    assert told == till.get(before["id"])
    assert told["updated_at"] >= before["updated_at"] and "deleted_at" not in told


@pytest.mark.parametrize("state, event", CONFLICTS)
def test_refused_transitions(till, state, event):
    before = bring_to(till, state)
    assert refusal(till.event, before["id"], *event.split()).code == "RESOURCE_CONFLICT"
    assert till.get(before["id"]) == before


def test_a_blocked_pass_can_be_installed_after_unblocking(till):
    pass_id = bring_to(till, "blocked")["id"]
    till.event(pass_id, "unblocked")
    assert till.event(pass_id, "installed")["status"] == "active"


def test_a_deactivated_pass_is_not_hidden(shop):
    pass_id = bring_to(shop, "deactivated")["id"]
    assert [entry["id"] for entry in shop.list()[0]] == [pass_id]


def test_history_has_every_change_in_order(till):
    pass_id = till.create()["id"]
    till.add(pass_id, 10)
    till.event(pass_id, "installed")
    till.add(pass_id, -4)
    till.add(pass_id, 0)
    till.event(pass_id, "uninstalled")
    till.event(pass_id, "deactivated")
    history = till.history(pass_id)
    assert all({"at", "what"} <= set(entry) for entry in history)
    times = [entry["at"] for entry in history]
    assert times == sorted(times)
    assert deltas_of(history) == [10, -4, 0]
    assert [entry["balance"] for entry in history if "delta" in entry] == [10, 6, 6]
    assert statuses_of(history)[-4:] == ["issued", "active", "removed", "deactivated"]
    assert [entry["what"] for entry in history[-6:]] == \
        ["loyalty", "installed", "loyalty", "loyalty", "uninstalled", "deactivated"]


def test_a_new_pass_has_its_own_history(till):
    pass_id = till.create()["id"]
    till.add(pass_id, 10)
    till.delete(pass_id)
    till.create(pass_id)
    assert deltas_of(till.history(pass_id)) == []
