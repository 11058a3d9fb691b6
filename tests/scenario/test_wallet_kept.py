"""What is kept of passes in wallets, and what depends on it."""
from both import apple, at, credential, options  # noqa: F401: fixtures
from harness import wait_for


def status(at, pass_id):  # noqa: F811
    return at.shop.get(pass_id)["status"]


def test_a_pass_that_was_saved_while_it_was_blocked_is_active_with_its_unblocking(at):  # noqa: F811
    """The holder has it all the while: only the account's word kept it from being active."""
    at.put()
    made = {}
    for pass_id in ("ada", "bea", "eva"):
        made[pass_id] = at.shop.create(pass_id)
        at.save(made[pass_id])
        at.shop.event(pass_id, "uninstalled", "--block-reinstall")
        if pass_id != "eva":
            at.hear(made[pass_id], "save")
        if pass_id == "bea":
            at.hear(made[pass_id], "del")
        assert status(at, pass_id) == "removed"
    at.advance(6)
    wait_for(lambda: at.service.cli("wallet", "show", at.shop.account)["waiting"]["updates"] == 0, 10, "the reports")
    before = len(at.google.of("PATCH", "loyaltyObject"))
    assert at.shop.event("ada", "unblocked")["status"] == "active"
    assert (at.shop.event("bea", "unblocked")["status"], at.shop.event("eva", "unblocked")["status"]) == ("removed", "removed")
    assert [event["what"] for event in at.shop.history("ada")[-2:]] == ["unblocked", "installed"]
    at.google.wait("PATCH", "loyaltyObject", before + 1)
    at.advance(120)
    assert status(at, "ada") == "active" and at.service.cli("verify")["ok"]
    at.hear(made["ada"], "del")
    at.advance(61)
    wait_for(lambda: status(at, "ada") == "removed", 10, "as with any pass of a wallet")
    assert at.service.cli("verify")["ok"]
