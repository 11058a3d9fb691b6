"""When credentials for wallets end, and what a rehearsal finds of them."""
import json
import re

import pytest
from harness import wait_for
from shop import Shop
from wallets import google, is_missing, put, put_google, refused, show

@pytest.fixture
def service(service_of_wallets):
    return service_of_wallets


# A rehearsal

def checked(service, account):
    """(exit status, {step: ok}, what was printed)."""
    done = service.run("wallet", "check", account)
    printed = json.loads(done.stdout)
    assert set(printed) == {"ok", "steps"} and all(set(step) == {"step", "ok", "detail"} for step in printed["steps"])
    assert printed["ok"] == all(step["ok"] for step in printed["steps"]) == (done.returncode == 0)
    assert (done.stderr == "") == printed["ok"]
    return {step["step"]: step["ok"] for step in printed["steps"]}, printed


def test_a_rehearsal(new_service, apple):
    service = new_service(shards=1, options=["--test-clock", "--public-url", "https://passes.example"])
    service.expect_log("event=wallet-credential-ends")
    shop = Shop(service)
    assert is_missing(service, "wallet", "check", shop.account)
    put(shop, *apple.options("pass.example.own", days=20), "--p8", apple.p8(), "--p8-id", "ABC123DEFG")
    steps, printed = checked(service, shop.account)
    assert steps == {"certificate": True, "package": True, "public_url": True, "apns": False}, "nothing listens for APNs"
    assert "pass.example.own" in printed["steps"][0]["detail"] and "https://passes.example" == printed["steps"][2]["detail"]
    service.cli("clock", "advance", "21d")
    steps, printed = checked(service, shop.account)
    assert steps == {"certificate": False, "package": True, "public_url": True, "apns": False} and "expired" in printed["steps"][0]["detail"]
    shop.close()


def test_a_rehearsal_after_another_master_key(own, apple):
    """The private key does not open then; a new put mends it."""
    service = own.service
    service.expect_log("event=wallet-credential-rests .*its keys cannot be opened")
    put(own, *apple.options())
    assert service.stop() == 0
    key = service.data / "master.key"
    key.chmod(0o600)
    key.write_bytes(b"k" * 32)
    service.cli("adopt")
    service.start()
    steps, printed = checked(service, own.account)
    assert steps["certificate"] is steps["package"] is False and "another master key" in printed["steps"][0]["detail"]
    assert put(own, *apple.options())["generation"] == 2
    steps, _ = checked(service, own.account)
    assert steps["certificate"] is steps["package"] is True


def test_a_rehearsal_of_google_alone(shop, apple):
    put_google(shop, google(apple.place, apple.key()))
    steps, printed = checked(shop.service, shop.account)
    assert steps == {"google_token": False, "google_class": False}
    assert printed["steps"][0]["detail"].startswith("Google") and "google_token" in printed["steps"][1]["detail"]


def test_a_rehearsal_without_https(shop, apple):
    put(shop, *apple.options())
    steps, printed = checked(shop.service, shop.account)
    assert steps == {"certificate": True, "package": True, "public_url": False, "apns": False}
    assert "https" in printed["steps"][2]["detail"]


# Their end

ENDS = re.compile(r"level=warn .*event=wallet-credential-ends account=(\S+) kind=(\w+) days=(\d+)$")


def ends_logged(service):
    return [match.groups() for line in service.log_lines() if (match := ENDS.search(line))]


def seconds_left(service):
    with service.admin() as admin:
        text = admin.get("/metrics").body.decode()
    found = re.findall(r'^stampede_wallet_credential_seconds_left\{account="(\S+)",kind="(\w+)"\} (-?\d+)$', text, re.M)
    assert ("wallet_credential" in text) == bool(found)
    return {(account, kind): int(left) for account, kind, left in found}


def test_the_end_is_announced_at_each_threshold(clocked, apple):
    service, account = clocked.service, clocked.account
    service.expect_log("event=wallet-credential-ends")
    assert seconds_left(service) == {}
    put(clocked, *apple.options(days=40))
    put_google(clocked, google(apple.place, apple.key()))
    service.cli("wallet", "apple", "put", "--default", *apple.options(days=50))
    left = seconds_left(service)
    assert set(left) == {(account, "apple"), ("default", "apple")}
    assert left[account, "apple"] == pytest.approx(40 * 86400, abs=120)
    for days, expected in ((9, []), (2, ["30"]), (17, ["14"]), (5, ["7"]), (6, ["1"]), (3, [])):
        seen = len(ends_logged(service))
        service.cli("clock", "advance", f"{days}d")
        wanted = [(account, "apple", threshold) for threshold in expected]
        wait_for(lambda seen=seen, wanted=wanted: [line for line in ends_logged(service)[seen:] if line[0] != "default"] == wanted,
                 5, f"{wanted} after {days} days")
    assert [line[2] for line in ends_logged(service) if line[0] == "default"] == ["30", "14"]
    assert show(clocked)["state"] == "expired"
    assert seconds_left(service)[account, "apple"] == pytest.approx(-2 * 86400, abs=120)
    assert refused(service, "wallet", "apple", "put", account, *apple.options(days=40))["message"].startswith("The certificate has expired")
    put(clocked, *apple.options(days=80))
    assert show(clocked)["state"] == "ok" and seconds_left(service)[account, "apple"] > 30 * 86400


def test_a_start_announces_what_ends_soon(own, apple):
    service = own.service
    service.expect_log("event=wallet-credential-ends")
    put(own, *apple.options(days=10))
    assert ends_logged(service) == []
    service.restart()
    wait_for(lambda: ends_logged(service) == [(own.account, "apple", "14")], 5, "the line of the start")
    [ending] = service.status()["shards"][0]["wallet_credentials"]
    assert (ending["account"], ending["kind"]) == (own.account, "apple") and 0 < ending["seconds_left"] < 10 * 86400
    service.cli("wallet", "apple", "remove", own.account)
    assert service.status()["shards"][0]["wallet_credentials"] == []
    service.restart()
    assert len(ends_logged(service)) == 1
