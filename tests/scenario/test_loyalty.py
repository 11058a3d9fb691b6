"""The loyalty counter: signed deltas, their limits, and the states that refuse them."""
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import wait_for
from shop import path_of, template_file

MOST = 2**53 - 1


def test_the_next_read_shows_a_delta(shop):
    pass_id = shop.create()["id"]
    balance = 0
    for amount in (5, -3, 1000, 0, -1002, -7, 1):
        shop.add(pass_id, amount)
        balance += amount
        seen = shop.get(pass_id)
        assert seen["balance"] == seen["visible"]["points"] == balance
        assert shop.list()[0][0]["balance"] == balance


def test_a_delta_moves_updated_at(shop):
    made = shop.create()

    def moved():
        shop.add(made["id"], 1)
        return shop.get(made["id"])["updated_at"] > made["updated_at"]

    wait_for(moved, 2, "updated_at to move")
    assert shop.get(made["id"])["created_at"] == made["created_at"]


def test_a_delta_changes_nothing_else(shop):
    made = shop.create(hidden={"a": 1.5}, appearance={"title": "T"})
    shop.add(made["id"], 12, message="Thank you")
    after = shop.get(made["id"])
    assert after == {**made, "balance": 12, "visible": {"name": "Ada", "points": 12},
                     "updated_at": after["updated_at"]}


def test_stamps_count_the_same_way(till):
    pass_id = till.create(kind="stamps")["id"]
    till.add(pass_id, 3)
    till.add(pass_id, -1)
    assert till.get(pass_id)["balance"] == 2


def test_an_edit_keeps_the_counter(shop):
    pass_id = shop.create()["id"]
    shop.add(pass_id, 9)
    shop.client.patch(path_of(pass_id), {"visible": {"name": "Bob"}}).is_empty(204)
    assert shop.get(pass_id)["visible"] == {"name": "Bob", "points": 9}


def test_a_message_may_be_null_or_any_text(till):
    pass_id = till.create()["id"]
    for message in (None, "", "¡Hola! \u2028 \"x\" \U0001f600"):
        till.add(pass_id, 1, message=message)
    assert till.get(pass_id)["balance"] == 3


@pytest.mark.parametrize("sign", [1, -1])
def test_the_counter_stays_within_what_a_double_holds(till, sign):
    pass_id = till.create()["id"]
    till.add(pass_id, sign * MOST)
    assert till.get(pass_id)["balance"] == sign * MOST
    for amount in (sign, sign * MOST):
        till.try_add(pass_id, amount).is_error(400, "INVALID_INPUT")
    assert till.get(pass_id)["balance"] == sign * MOST
    till.add(pass_id, 0)
    till.add(pass_id, -sign * MOST)
    till.add(pass_id, -sign * MOST)
    assert till.get(pass_id)["balance"] == -sign * MOST
    assert till.get(pass_id)["visible"]["points"] == -sign * MOST


def test_a_pass_without_a_programme(till):
    pass_id = till.create(kind="none")["id"]
    till.try_add(pass_id, 1).is_error(400, "NO_LOYALTY_PROGRAM")
    till.try_add(pass_id, 0).is_error(400, "NO_LOYALTY_PROGRAM")
    assert "balance" not in till.get(pass_id)


def test_a_minimum_balance(new_shop):
    shop = new_shop()
    shop.put_template(template_file(min_balance=-10))
    pass_id = shop.create()["id"]
    shop.add(pass_id, -10)
    for amount in (-1, 10 - MOST):
        shop.try_add(pass_id, amount).is_error(409, "INSUFFICIENT_BALANCE")
    assert shop.get(pass_id)["balance"] == -10
    shop.add(pass_id, 0)
    shop.add(pass_id, 15)
    shop.try_add(pass_id, -16).is_error(409, "INSUFFICIENT_BALANCE")
    shop.add(pass_id, -15)
    assert shop.get(pass_id)["balance"] == -10


def test_states_that_accept_deltas(till):
    pass_id = till.create()["id"]
    for event in ("installed", "uninstalled"):
        till.event(pass_id, event)
        till.add(pass_id, 1)
    till.event(pass_id, "deactivated")
    till.try_add(pass_id, 1).is_error(409, "RESOURCE_CONFLICT")
    assert till.get(pass_id)["balance"] == 2
    till.delete(pass_id)
    till.try_add(pass_id, 1).is_error(404, "RESOURCE_NOT_FOUND")


def test_many_clients_on_one_pass_add_up(service, shop):
    pass_id = shop.create()["id"]
    amounts = [random.Random(7).randint(-1000, 1000) for _ in range(400)]

    def send(part):
        with service.client(shop.key) as client:
            for amount in part:
                answer = client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": amount})
                answer.is_empty(202)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, [amounts[i::8] for i in range(8)]))
    assert shop.get(pass_id)["balance"] == sum(amounts)
