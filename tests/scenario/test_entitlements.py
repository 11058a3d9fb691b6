"""Entitlements and redemptions, clause by clause: assignment, lists, redemption, counts, and independence of later
edits of the reward. Expiry is in test_entitlement_times.py."""
import re

import pytest
from entitlements import (CONFLICT, END_PASSED, INSUFFICIENT, LIMIT, NEVER, NOT_ASSIGNABLE, NOT_FOUND, NOT_REDEEMABLE, assign,
                          counts, given, given_path, history, redeem, redeem_path, try_assign, try_redeem)
from retries import is_first, is_replay_of, is_reused, new_key, once
from rewards import archive, edit, new_slug, offer, reward, reward_path, terms, try_offer
from shop import new_id

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SHOWN = ["id", "family_id", "definition_id", "reward_slug", "reward_name", "reward_kind", "pass_id", "status",
         "remaining_redemptions", "expiration_timestamp", "expiration_reason", "assignment_source_type", "created_at", "updated_at"]
RECORD = ["id", "entitlement_id", "amount", "context", "note", "created_at"]


@pytest.fixture
def cafe(new_shop):
    return new_shop("balance", functions=("--rewards",))


def put(shop, **changes):
    """Creates a reward and returns its slug."""
    return offer(shop, slug=new_slug(), **changes)["slug"]


# Assignment

def test_an_assigned_entitlement_has_all_fields(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, name="Té gratis", kind="discount", redemption_allowance=3)
    made = assign(cafe, pass_id, slug)
    assert list(made) == SHOWN
    assert UUID.fullmatch(made["id"]) and UUID.fullmatch(made["family_id"]) and UUID.fullmatch(made["definition_id"])
    assert len({made["id"], made["family_id"], made["definition_id"]}) == 3
    assert (made["reward_slug"], made["reward_name"], made["reward_kind"], made["pass_id"]) == (slug, "Té gratis", "discount", pass_id)
    assert (made["status"], made["remaining_redemptions"], made["assignment_source_type"]) == ("available", 3, "manual")
    assert (made["expiration_timestamp"], made["expiration_reason"]) == (None, None)
    assert TIME.fullmatch(made["created_at"]) and made["updated_at"] == made["created_at"]
    assert given(cafe, pass_id) == history(cafe, pass_id) == [made]


def test_an_entitlement_keeps_the_version_of_its_reward(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, name="Old", redemption_allowance=2, repeat_assignment=True)
    old = assign(cafe, pass_id, slug)
    edit(cafe, slug, name="New", kind="custom", redemption_allowance=7, repeat_assignment=True)
    new = assign(cafe, pass_id, slug)
    assert (new["reward_name"], new["reward_kind"], new["remaining_redemptions"]) == ("New", "custom", 7)
    assert new["family_id"] == old["family_id"] and new["definition_id"] != old["definition_id"]
    assert given(cafe, pass_id) == [old, new]
    left = redeem(cafe, pass_id, old)[1]
    assert (left["reward_name"], left["remaining_redemptions"], left["definition_id"]) == ("Old", 1, old["definition_id"])


def test_entitlements_of_one_version_share_its_definition(cafe):
    slug = put(cafe)
    one, two = (assign(cafe, cafe.create()["id"], slug) for _ in range(2))
    assert (one["definition_id"], one["family_id"]) == (two["definition_id"], two["family_id"])


def test_the_order_of_an_assignments_refusals(cafe):
    """Each request also has all faults that are checked later. The answer must name the first one."""
    past = {"kind": "fixed_end", "fixed_end": "2020-01-01T00:00:00Z"}
    pass_id, gone, inactive = cafe.create()["id"], cafe.create()["id"], cafe.create()["id"]
    cafe.delete(gone)
    cafe.event(inactive, "deactivated")
    ended, archived = put(cafe, expiration=past), put(cafe, expiration=past)
    archive(cafe, archived)
    limited, single = put(cafe, assignment_limit=1), put(cafe)
    for slug in (limited, single):
        assign(cafe, pass_id, slug)
    cases = [(new_id(), "nobody", NOT_FOUND), (gone, limited, NOT_FOUND), (inactive, "nobody", CONFLICT), (inactive, archived, CONFLICT),
             (pass_id, "nobody", NOT_FOUND), (pass_id, "", NOT_FOUND), (pass_id, "No Slug", NOT_FOUND), (pass_id, "a" * 3000, NOT_FOUND),
             (pass_id, archived, NOT_ASSIGNABLE), (pass_id, ended, END_PASSED), (pass_id, limited, LIMIT), (pass_id, single, NOT_ASSIGNABLE)]
    before = counts(cafe), history(cafe, pass_id)
    for where, slug, error in cases:
        for fields in ({}, {"replace": False}, {"replace": True}):
            try_assign(cafe, where, slug, **fields).is_error(*error)
    assert (counts(cafe), history(cafe, pass_id)) == before == ((2, 2, 0, 0), before[1])


def test_invalid_bodies_of_an_assignment(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe)
    post = cafe.client.post
    for where in (pass_id, "nobody"):
        path = given_path(where, "/assign")
        for body, field in [({}, "slug"), ({"slug": None}, "slug"), ({"slug": 5}, "slug"), ({"slug": slug, "replace": 1}, "replace"),
                            ({"slug": slug, "amount": 1}, "amount"), ({"slug": slug, "reward_slug": slug}, "reward_slug")]:
            post(path, body).is_error(400, "INVALID_INPUT", field)
        post(path).is_error(400, "INVALID_REQUEST")
    assert try_assign(cafe, pass_id, slug, replace=None).status == 201


def test_the_assignment_limit_counts_all_versions_of_a_reward(cafe):
    slug = put(cafe, assignment_limit=3)
    passes = [cafe.create()["id"] for _ in range(5)]
    for pass_id in passes[:3]:
        assign(cafe, pass_id, slug)
    cafe.delete(passes[0])
    redeem(cafe, passes[1], given(cafe, passes[1])[0])
    try_assign(cafe, passes[3], slug).is_error(*LIMIT)
    edit(cafe, slug, assignment_limit=4)
    assign(cafe, passes[3], slug)
    try_assign(cafe, passes[4], slug).is_error(*LIMIT)
    edit(cafe, slug, assignment_limit=1)
    try_assign(cafe, passes[4], slug).is_error(*LIMIT)
    edit(cafe, slug)
    assign(cafe, passes[4], slug)


def test_one_assignment_a_pass_unless_repetition_is_allowed(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe)
    first = assign(cafe, pass_id, slug)
    redeem(cafe, pass_id, first)
    try_assign(cafe, pass_id, slug).is_error(*NOT_ASSIGNABLE)
    edit(cafe, slug, repeat_assignment=True)
    second = assign(cafe, pass_id, slug)
    edit(cafe, slug, repeat_assignment=False)
    try_assign(cafe, pass_id, slug, replace=True).is_error(*NOT_ASSIGNABLE)
    assert [one["id"] for one in history(cafe, pass_id)] == [first["id"], second["id"]]
    assign(cafe, cafe.create()["id"], slug)


def test_a_new_pass_with_a_deleted_passs_id_can_be_assigned_again(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe)
    old = assign(cafe, pass_id, slug)
    cafe.delete(pass_id)
    for path in (given_path(pass_id), given_path(pass_id) + "?include_history=1"):
        cafe.client.get(path).is_error(*NOT_FOUND)
    try_redeem(cafe, pass_id, old).is_error(*NOT_FOUND)
    assert counts(cafe) == (1, 1, 0, 0), "entitlements of deleted passes count towards the limit"
    cafe.create(pass_id)
    assert history(cafe, pass_id) == []
    try_redeem(cafe, pass_id, old).is_error(*NOT_FOUND)
    assert assign(cafe, pass_id, slug)["id"] != old["id"]
    assert counts(cafe) == (2, 2, 0, 0)


def test_passes_in_every_live_state_can_be_assigned(cafe):
    slug = put(cafe)
    for events in ((), ("installed",), ("installed", "uninstalled")):
        pass_id = cafe.create()["id"]
        for event in events:
            cafe.event(pass_id, event)
        redeem(cafe, pass_id, assign(cafe, pass_id, slug))


def test_a_deactivated_pass_shows_entitlements_and_cannot_use_them(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, redemption_allowance=2)
    made = assign(cafe, pass_id, slug)
    cafe.event(pass_id, "deactivated")
    assert given(cafe, pass_id) == [made]
    try_redeem(cafe, pass_id, made).is_error(*CONFLICT)
    try_redeem(cafe, pass_id, made, amount=9).is_error(*CONFLICT)
    try_redeem(cafe, pass_id, {"id": NEVER}).is_error(*NOT_FOUND)
    try_assign(cafe, pass_id, put(cafe)).is_error(*CONFLICT)
    assert counts(cafe) == (1, 1, 0, 0)


# Replacement

def test_replacing_expires_the_available_entitlements(cafe):
    pass_id, slug, other = cafe.create()["id"], put(cafe, redemption_allowance=2, repeat_assignment=True), put(cafe)
    stranger = cafe.create()["id"]
    kept = assign(cafe, pass_id, other), assign(cafe, stranger, slug)
    used, begun, whole = (assign(cafe, pass_id, slug) for _ in range(3))
    used = redeem(cafe, pass_id, used, amount=2)[1]
    begun = redeem(cafe, pass_id, begun)[1]
    new = assign(cafe, pass_id, slug, replace=True)
    assert (new["status"], new["expiration_reason"]) == ("available", None)
    assert given(cafe, pass_id) == [kept[0], new] and given(cafe, stranger) == [kept[1]]
    ended = [one for one in history(cafe, pass_id) if one["status"] == "expired"]
    assert ended == [{**one, "status": "expired", "expiration_reason": "replaced", "updated_at": new["created_at"]}
                     for one in (begun, whole)]
    assert used in history(cafe, pass_id) and counts(cafe) == (6, 3, 1, 2)
    for one in ended:
        try_redeem(cafe, pass_id, one).is_error(*NOT_REDEEMABLE)
        try_redeem(cafe, pass_id, one, amount=100).is_error(*NOT_REDEEMABLE)
    again = assign(cafe, pass_id, slug, replace=True)
    assert given(cafe, pass_id) == [kept[0], again]


def test_replacing_without_available_entitlements(cafe):
    pass_id, slug, single = cafe.create()["id"], put(cafe, repeat_assignment=True), put(cafe)
    first = assign(cafe, pass_id, slug, replace=True)
    second = assign(cafe, pass_id, slug, replace=False)
    assert given(cafe, pass_id) == [first, second]
    assign(cafe, pass_id, single, replace=True)
    try_assign(cafe, pass_id, single, replace=True).is_error(*NOT_ASSIGNABLE)
    assert counts(cafe) == (3, 3, 0, 0)


def test_a_refused_assignment_replaces_nothing(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, repeat_assignment=True, assignment_limit=2)
    both = [assign(cafe, pass_id, slug) for _ in range(2)]
    try_assign(cafe, pass_id, slug, replace=True).is_error(*LIMIT)
    assert given(cafe, pass_id) == both


# Lists

def test_the_list_has_only_redeemable_entitlements(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, repeat_assignment=True)
    made = [assign(cafe, pass_id, slug) for _ in range(6)]
    for one in made[::2]:
        redeem(cafe, pass_id, one)
    assert given(cafe, pass_id) == made[1::2] == given(cafe, pass_id, "?include_history=false&limit=1")
    assert [one["id"] for one in history(cafe, pass_id)] == [one["id"] for one in made]
    assert [one["status"] for one in history(cafe, pass_id)] == ["redeemed", "available"] * 3
    for value in ("1", "t", "true"):
        assert given(cafe, pass_id, f"?include_history={value}") == history(cafe, pass_id)
    for value in ("0", "f", "false"):
        assert given(cafe, pass_id, f"?include_history={value}") == made[1::2]
    for value in ("", "yes", "2", "True"):
        cafe.client.get(given_path(pass_id) + f"?include_history={value}").is_error(400, "INVALID_INPUT", "include_history")
    cafe.client.get(given_path(pass_id) + "?include_history=1&include_history=1").is_error(400, "INVALID_INPUT", "include_history")
    answer = cafe.client.get(given_path(pass_id))
    assert not {"x-total-count", "x-has-more"} & set(answer.headers)
    assert cafe.client.head(given_path(pass_id)).headers["content-length"] == str(len(answer.body))


def test_the_list_is_in_order_of_assignment(cafe):
    pass_id = cafe.create()["id"]
    slugs = [put(cafe, repeat_assignment=True, expiration=expiration)
             for expiration in ({"kind": "none"}, {"kind": "relative_window", "window_seconds": 90},
                                {"kind": "fixed_end", "fixed_end": "2090-01-01T00:00:00Z"})]
    made = [assign(cafe, pass_id, slugs[at]) for at in (2, 0, 1, 1, 0, 2, 0)]
    assert given(cafe, pass_id) == history(cafe, pass_id) == made


def test_the_list_of_an_unknown_pass_is_404(cafe):
    for query in ("", "?include_history=1"):
        cafe.client.get(given_path("nobody") + query).is_error(*NOT_FOUND)
    assert given(cafe, cafe.create()["id"]) == [] and counts(cafe) == (0, 0, 0, 0)


# Redemption

def test_a_redemption_and_the_remaining_redemptions(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, redemption_allowance=5)
    made = assign(cafe, pass_id, slug)
    record, left = redeem(cafe, pass_id, made, amount=2, context="Till 4", note="with milk")
    assert list(record) == RECORD and list(left) == SHOWN
    assert UUID.fullmatch(record["id"]) and record["entitlement_id"] == made["id"] and TIME.fullmatch(record["created_at"])
    assert (record["amount"], record["context"], record["note"]) == (2, "Till 4", "with milk")
    assert left == {**made, "remaining_redemptions": 3, "updated_at": record["created_at"]}
    assert given(cafe, pass_id) == [left] and counts(cafe) == (1, 1, 0, 0)
    record, left = redeem(cafe, pass_id, made)
    assert (record["amount"], record["context"], record["note"], left["remaining_redemptions"]) == (1, "", "", 2)
    record, left = redeem(cafe, pass_id, made, amount=2, context=None, note=None)
    assert left == {**made, "status": "redeemed", "remaining_redemptions": 0, "updated_at": record["created_at"]}
    assert (given(cafe, pass_id), history(cafe, pass_id)) == ([], [left]) and counts(cafe) == (1, 0, 1, 0)


def test_a_redemption_without_a_body_has_amount_1(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, redemption_allowance=3)
    path = redeem_path(pass_id, assign(cafe, pass_id, slug)["id"])
    assert cafe.client.post(path).json["entitlement"]["remaining_redemptions"] == 2
    assert cafe.client.post(path, {}).json["entitlement"]["remaining_redemptions"] == 1
    assert cafe.client.post(path, {"amount": None}).json["entitlement"]["status"] == "redeemed"


def test_the_order_of_a_redemptions_refusals(cafe):
    pass_id, other = cafe.create()["id"], cafe.create()["id"]
    made = assign(cafe, pass_id, put(cafe, redemption_allowance=2))
    done = redeem(cafe, pass_id, assign(cafe, pass_id, put(cafe)))[1]
    before = counts(cafe), history(cafe, pass_id)
    bad = [({"amount": amount}, "amount") for amount in (0, -1, -(2**63), 2**63, 10**30, 1.5, "1", True)]
    bad += [({"context": "x" * 201}, "context"), ({"context": 1}, "context"), ({"note": "é" * 2001}, "note"), ({"note": []}, "note"),
            ({"amount": 1, "reason": "x"}, "reason"), ({"slug": "x"}, "slug")]
    for body, field in bad:
        for path in (redeem_path(pass_id, made["id"]), redeem_path(pass_id, "x"), redeem_path("nobody", NEVER)):
            cafe.client.post(path, body).is_error(400, "INVALID_INPUT", field)
    for entitlement in (NEVER, "x", made["id"][:-1], made["id"] + "0", made["family_id"], made["definition_id"]):
        try_redeem(cafe, pass_id, {"id": entitlement}, amount=9).is_error(*NOT_FOUND)
    try_redeem(cafe, other, made).is_error(*NOT_FOUND)
    try_redeem(cafe, "nobody", made).is_error(*NOT_FOUND)
    try_redeem(cafe, pass_id, done, amount=2).is_error(*NOT_REDEEMABLE)
    for amount in (3, 2**31, 2**32 + 1, 2**63 - 1):
        try_redeem(cafe, pass_id, made, amount=amount).is_error(*INSUFFICIENT)
    assert (counts(cafe), history(cafe, pass_id)) == before
    upper = {"id": made["id"].upper()}
    assert try_redeem(cafe, pass_id, upper, amount=2).json["entitlement"]["status"] == "redeemed"


@pytest.mark.parametrize("context, note", [("x" * 200, "n" * 2000), ("\U0001f600" * 200, "\U0001f600" * 2000), ("\0\n\"\\", "é\u2028")])
def test_texts_are_returned_unchanged(cafe, context, note):
    pass_id = cafe.create()["id"]
    made = assign(cafe, pass_id, put(cafe))
    record, _ = redeem(cafe, pass_id, made, context=context, note=note)
    assert (record["context"], record["note"]) == (context, note)


def test_an_allowance_may_be_large(cafe):
    pass_id = cafe.create()["id"]
    made = assign(cafe, pass_id, put(cafe, redemption_allowance=2**31 - 1))
    assert redeem(cafe, pass_id, made, amount=2**31 - 2)[1]["remaining_redemptions"] == 1
    try_redeem(cafe, pass_id, made, amount=2).is_error(*INSUFFICIENT)


# The rewards function, and the catalogue

def test_without_the_function_entitlements_can_only_be_read(cafe):
    pass_id, slug = cafe.create()["id"], put(cafe, redemption_allowance=2)
    made = assign(cafe, pass_id, slug)
    cafe.set("--rewards", "off")
    off = (403, "REWARDS_DISABLED")
    for where in (pass_id, "nobody"):
        try_assign(cafe, where, slug).is_error(*off)
        cafe.client.post(given_path(where, "/assign"), {}).is_error(*off)
        try_redeem(cafe, where, made, amount=0).is_error(*off)
    cafe.client.post_raw(given_path(pass_id, "/assign"), "{").is_error(*off)
    assert given(cafe, pass_id) == history(cafe, pass_id) == [made] and counts(cafe) == (1, 1, 0, 0)
    cafe.set("--rewards", "on")
    assert redeem(cafe, pass_id, made)[1]["remaining_redemptions"] == 1


def test_an_assigned_reward_cannot_be_archived_or_deleted(cafe):
    pass_id, slug, other = cafe.create()["id"], put(cafe), put(cafe)
    made = assign(cafe, pass_id, slug)
    for step in range(3):
        cafe.client.post(reward_path(slug, "/archive")).is_error(*CONFLICT)
        cafe.client.delete(reward_path(slug)).is_error(*CONFLICT)
        if step == 0:
            redeem(cafe, pass_id, made)
        if step == 1:
            cafe.delete(pass_id)
    assert reward(cafe, slug)["status"] == "active"
    cafe.client.delete(reward_path(other)).is_empty(204)
    try_assign(cafe, cafe.create()["id"], other).is_error(*NOT_FOUND)


def test_a_reused_slug_is_another_reward(cafe):
    slug, pass_id = put(cafe), cafe.create()["id"]
    cafe.client.delete(reward_path(slug)).is_empty(204)
    assert try_offer(cafe, slug=slug, name="Another").status == 201
    assert assign(cafe, pass_id, slug)["reward_name"] == "Another"


def test_an_archived_reward_can_be_assigned_after_its_restoration(cafe):
    slug, pass_id = put(cafe), cafe.create()["id"]
    archive(cafe, slug)
    try_assign(cafe, pass_id, slug).is_error(*NOT_ASSIGNABLE)
    assert cafe.client.post(reward_path(slug, "/restore"), terms(name="Back")).status == 200
    assert assign(cafe, pass_id, slug)["reward_name"] == "Back"


# Idempotency keys

def test_the_replay_of_an_assignment(cafe):
    pass_id, slug, key = cafe.create()["id"], put(cafe, redemption_allowance=2, repeat_assignment=True), once(new_key())
    first = is_first(try_assign(cafe, pass_id, slug, headers=key), 201)
    is_replay_of(first, try_assign(cafe, pass_id, slug, headers=key))
    redeem(cafe, pass_id, first.json)
    is_replay_of(first, try_assign(cafe, pass_id, slug, headers=key))
    edit(cafe, slug, name="Changed", redemption_allowance=9, repeat_assignment=True)
    assign(cafe, pass_id, slug, replace=True)
    is_replay_of(first, try_assign(cafe, pass_id, slug, headers=key))
    is_reused(try_assign(cafe, pass_id, slug, headers=key, replace=True))
    cafe.delete(pass_id)
    is_replay_of(first, try_assign(cafe, pass_id, slug, headers=key))
    assert counts(cafe) == (2, 1, 0, 1)


def test_the_replay_of_a_redemption(cafe):
    pass_id, keys = cafe.create()["id"], [once(new_key()) for _ in range(3)]
    made = assign(cafe, pass_id, put(cafe, redemption_allowance=3))
    first = [is_first(try_redeem(cafe, pass_id, made, headers=key, context="c", note=f"n{at}"), 200) for at, key in enumerate(keys)]
    assert [one.json["entitlement"]["remaining_redemptions"] for one in first] == [2, 1, 0]
    assert first[2].json["entitlement"]["status"] == "redeemed"
    cafe.delete(pass_id)
    for at, key in enumerate(keys):
        is_replay_of(first[at], try_redeem(cafe, pass_id, made, headers=key, context="c", note=f"n{at}"))
    is_reused(try_redeem(cafe, pass_id, made, headers=keys[0], context="c", note="n1"))


def test_a_refusal_does_not_store_the_idempotency_key(cafe):
    pass_id, slug, key = cafe.create()["id"], put(cafe), once(new_key())
    made = assign(cafe, pass_id, slug)
    try_assign(cafe, pass_id, slug, headers=key).is_error(*NOT_ASSIGNABLE)
    edit(cafe, slug, repeat_assignment=True)
    is_first(try_assign(cafe, pass_id, slug, headers=key), 201)
    key = once(new_key())
    try_redeem(cafe, pass_id, made, headers=key, amount=2).is_error(*INSUFFICIENT)
    is_first(try_redeem(cafe, pass_id, made, headers=key), 200)


# Integrity

def test_verify_finds_no_fault(service, cafe):
    """Checks the rows that all tests above have left."""
    pass_id, slug = cafe.create()["id"], put(cafe, redemption_allowance=2, repeat_assignment=True,
                                             expiration={"kind": "relative_window", "window_seconds": 1000})
    for _ in range(5):
        redeem(cafe, pass_id, assign(cafe, pass_id, slug))
    assign(cafe, pass_id, slug, replace=True)
    verdict = service.cli("verify")
    assert verdict["ok"] is True and verdict["faults"] == []
    assert counts(cafe) == (6, 1, 0, 5)
