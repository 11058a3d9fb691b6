"""Short functions for entitlements and redemptions."""
from shop import path_of

NEVER = "01900000-0000-7000-8000-000000000000"
COUNTS = ["total", "redeemable", "redeemed", "expired"]
NOT_FOUND, CONFLICT, NOT_ASSIGNABLE, LIMIT, END_PASSED, NOT_REDEEMABLE, INSUFFICIENT = (
    (404, "RESOURCE_NOT_FOUND"), (409, "RESOURCE_CONFLICT"), (409, "REWARD_NOT_ASSIGNABLE"),
    (409, "REWARD_ASSIGNMENT_LIMIT_REACHED"), (409, "REWARD_FIXED_END_PASSED"), (409, "REWARD_NOT_REDEEMABLE"),
    (409, "REWARD_INSUFFICIENT_REDEMPTIONS"))


def given_path(pass_id, suffix=""):
    return path_of(pass_id, "/rewards" + suffix)


def redeem_path(pass_id, entitlement_id):
    return given_path(pass_id, f"/{entitlement_id}/redeem")


def try_assign(shop, pass_id, slug, headers=None, **fields):
    return shop.client.post(given_path(pass_id, "/assign"), {"slug": slug, **fields}, headers=headers)


def assign(shop, pass_id, slug, **fields):
    """Assigns a reward. Returns the entitlement of the 201 answer."""
    answer = try_assign(shop, pass_id, slug, **fields)
    assert answer.status == 201, answer
    return answer.json


def try_redeem(shop, pass_id, entitlement, headers=None, **fields):
    return shop.client.post(redeem_path(pass_id, entitlement["id"]), fields, headers=headers)


def redeem(shop, pass_id, entitlement, **fields):
    """Redeems. Returns (redemption, entitlement) of the 200 answer."""
    answer = try_redeem(shop, pass_id, entitlement, **fields)
    assert answer.status == 200 and list(answer.json) == ["redemption", "entitlement"], answer
    return answer.json["redemption"], answer.json["entitlement"]


def given(shop, pass_id, query=""):
    answer = shop.client.get(given_path(pass_id) + query)
    assert answer.status == 200 and list(answer.json) == ["entitlements"], answer
    return answer.json["entitlements"]


def history(shop, pass_id):
    return given(shop, pass_id, "?include_history=true")


def counts(shop):
    """(total, redeemable, redeemed, expired)"""
    answer = shop.client.get("/v1/rewards/entitlement-counts")
    assert answer.status == 200 and list(answer.json) == COUNTS, answer
    told = tuple(answer.json.values())
    assert told[0] == sum(told[1:]), told
    return told
