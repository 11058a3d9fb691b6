"""The metrics of wallets: their names and labels, and the counts of what wallets have, through every change and a restart."""
import re
from collections import Counter

from both import at, credential, options  # noqa: F401: fixtures
from harness import wait_for
from metrics import fetch, look
from page import path_of_link
from phones import Held

# Of section "Wallets" of ops/docs/metrics.md: type and labels.
FAMILIES = {
    "registrations": ("gauge", {"shard"}), "installed": ("gauge", {"shard", "platform"}), "packages_total": ("counter", {"status"}),
    "sign_seconds": ("histogram", {"shard"}), "kits_bytes": ("gauge", set()), "due": ("gauge", {"shard", "kind"}),
    "oldest_due_seconds": ("gauge", {"shard", "kind"}), "pushes_total": ("counter", {"shard", "fate"}),
    "push_delay_seconds": ("histogram", {"shard"}), "apns_connections": ("gauge", set()), "google_calls_total": ("counter", {"status"}),
    "credential_seconds_left": ("gauge", {"account", "kind"}), "credentials_resting": ("gauge", {"shard"}),
    "device_log_lines_total": ("counter", {"shard"})}


def labels_of(text, family, kind):
    """The names of the labels that the samples of a family have."""
    name = f"stampede_wallet_{family}"
    samples = re.findall(rf"^{name}{'_count' if kind == 'histogram' else ''}(?:{{([^}}]*)}})? \S+$", text, re.M)
    assert samples, f"{name} has no sample"
    return [set(re.findall(r'(\w+)="', sample)) for sample in samples]


def test_names_and_labels(at):  # noqa: F811
    made = at.shop.create("ada")
    link = path_of_link(made["download_url"])
    for path in (f"{link}/pass.pkpass", f"{link}/google", "/wallet/apple/acc_mfrqaaaaaaaaaaaa/v1/passes/pass.x/y"):
        assert at.client.get(path).status == 404
    assert "wallet_" not in fetch(at.service), "nothing of wallets before the first credential"
    at.put()
    held, phone = Held(at.shop, made), at.phone()
    assert at.client.get(f"{link}/pass.pkpass").status == 200
    assert phone.register(held).status == 201
    at.save(made)
    at.shop.add("ada", 5)
    at.apns.wait(phone.push)
    at.google.wait("PATCH", "loyaltyObject")
    assert look(at.service).get("stampede_wallet_apns_connections") == 1
    text = wait_for(lambda: (lambda text: text if "google_calls_total{" in text else None)(fetch(at.service)), 10, "the calls")
    numbers = look(at.service)
    told = {name.removeprefix("stampede_wallet_"): kind for name, kind in numbers.types.items() if "wallet_" in name}
    assert told == {name: kind for name, (kind, _) in FAMILIES.items()}
    for name, (kind, labels) in FAMILIES.items():
        assert all(found == labels for found in labels_of(text, name, kind)), name
    wait_for(lambda: look(at.service).by("stampede_wallet_google_calls_total", "status") == Counter(
        str(call.answer) for call in list(at.google.calls)), 10, "every call to be counted")
    before = numbers.by("stampede_wallet_packages_total", "status")
    assert phone.fetch(held).status == 200
    assert look(at.service).by("stampede_wallet_packages_total", "status") == {**before, "200": before["200"] + 1}


def test_what_wallets_have_is_counted(at):  # noqa: F811
    at.put()
    ada, bea, eva = (at.shop.create(name) for name in ("ada", "bea", "eva"))
    phone, other = at.phone(), at.phone()
    assert at.same_counts() == (0, 0, 0)
    assert [phone.register(Held(at.shop, ada)).status, other.register(Held(at.shop, ada)).status] == [201, 201]
    assert at.same_counts() == (2, 1, 0)
    assert phone.register(Held(at.shop, ada)).status == 200
    assert phone.register(Held(at.shop, bea)).status == 201
    at.save(bea)
    at.save(eva)
    assert at.same_counts() == (3, 2, 2)
    at.restart()
    assert at.same_counts() == (3, 2, 2), "after a restart"
    at.shop.event("ada", "deactivated")
    at.shop.delete("eva")
    assert at.same_counts() == (3, 1, 1), "those that have ended are not installed"
    assert phone.give_up(Held(at.shop, ada)).status == other.give_up(Held(at.shop, ada)).status == 200
    assert at.same_counts() == (1, 1, 1)
    assert phone.give_up(Held(at.shop, bea)).status == 200
    assert at.same_counts() == (0, 0, 1)
    at.hear(bea, "del")
    assert at.same_counts() == (0, 0, 0)
    at.shop.event("bea", "uninstalled")
    assert phone.register(Held(at.shop, bea)).status == 201
    at.save(bea)
    assert at.same_counts() == (1, 1, 1)
    at.shop.event("bea", "uninstalled", "--block-reinstall")
    assert at.same_counts() == (0, 0, 0)
    at.hear(bea, "save")
    assert at.same_counts() == (0, 0, 0), "blocked"
    at.shop.event("bea", "unblocked")
    assert at.same_counts() == (0, 0, 1)
    at.service.cli("pass", "erase", at.shop.account, "bea")
    assert at.same_counts() == (0, 0, 0)
    assert at.service.cli("verify")["ok"]


def test_phones_that_are_gone_are_not_counted(at):  # noqa: F811
    at.put()
    phone, other = at.phone(), at.phone()
    held = Held(at.shop, at.shop.create("ada"))
    assert phone.register(held).status == other.register(held).status == 201
    at.apns.answers[phone.push].append((410, "Unregistered"))
    at.shop.add("ada", 5)
    wait_for(lambda: at.counts() == (1, 1, 0), 10, "the first phone to go")
    at.apns.answers[other.push].append((410, "Unregistered"))
    at.advance(6)
    at.shop.add("ada", 5)
    wait_for(lambda: at.counts() == (0, 0, 0), 10, "the last phone to go")
    assert at.service.cli("verify")["ok"]


def test_registrations_of_ended_passes_are_counted_for_30_days(at):  # noqa: F811
    at.put()
    phone = at.phone()
    held = Held(at.shop, at.shop.create("ada"))
    at.shop.event("ada", "deactivated")
    assert phone.register(held).status == 201, "one that has ended may still be registered"
    assert at.same_counts() == (1, 0, 0)
    at.advance(31 * 86400)
    wait_for(lambda: at.counts() == (0, 0, 0), 20, "the phones to be forgotten")
    assert at.service.cli("verify")["ok"]
