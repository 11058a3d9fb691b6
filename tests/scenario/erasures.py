"""Short functions for erasure tests: a holder whose words are stored in every place of an account, and a search for
them."""
import json
import subprocess
import unicodedata

from entitlements import assign, redeem
from rewards import offer
from shop import path_of

# No other text of the tests contains these words, in any case.
WORDS = ("Zwölfender", "Quittenmus", "xylofon@holder.example", "Kardamom-77", "Wirsing", "Blaukraut", "Hagebutte")


def erase(shop, pass_id):
    return shop.service.cli("pass", "erase", shop.account, pass_id)


def export(shop, pass_id):
    return shop.service.cli("pass", "export", shop.account, pass_id)


def holder(shop, pass_id="Quittenmus", entitlements=1):
    """Creates a pass with one of the holder's words in every field that accepts text. Returns the pass of the answer."""
    made = shop.create(pass_id, visible={"name": "Zwölfender", "site": "https://wirsing.example/Wirsing"},
                       hidden={"mail": "xylofon@holder.example"}, appearance={"title": "Hagebutte"})
    shop.add(pass_id, 5, message="Blaukraut for Zwölfender")
    shop.service.cli("card", "link", shop.account, "--pass", pass_id, "--code", f"Kardamom-77{made['created_at']}")
    shop.service.cli("notification", "schedule", shop.account, "--pass", pass_id, "--message", "Blaukraut later",
                     "--at", "2099-01-01T00:00:00Z")
    slug = offer(shop, repeat_assignment=True)["slug"]
    for _ in range(entitlements):
        redeem(shop, pass_id, assign(shop, pass_id, slug), context="Hagebutte", note="said Zwölfender")
    scan = shop.client.post("/v1/scans", {"pass_id": pass_id, "reader_id": "till-1"})
    assert scan.status == 200, scan
    return made


def folded(text):
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold()


def has_words(value):
    text = folded(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return [word for word in WORDS if folded(word) in text]


def erased_ids(shop):
    """The ids that replaced those of erased passes, oldest first."""
    found = all_of(shop, "/v1/passes?include_deleted=true&sort_by=created_at&sort_dir=asc")
    return [one["id"] for one in found if one.get("deleted_at") and one["hidden"] == {} and set(one["visible"]) <= {"points"}]


def all_of(shop, path):
    """All rows of a list, read page by page."""
    rows = []
    while True:
        answer = shop.client.get(f"{path}&limit=100&offset={len(rows)}")
        assert answer.status == 200, answer
        rows += answer.json
        if len(answer.json) < 100:
            return rows


def everything(shop, pass_ids=()):
    """Everything that the interface and the command line return about an account and these passes."""
    told = [all_of(shop, "/v1/passes?"), all_of(shop, "/v1/scans?pass_info=true"), all_of(shop, "/v1/notifications?"),
            shop.client.get("/v1/rewards").json, shop.service.cli("delivery", "list", shop.account)]
    told += [all_of(shop, f"/v1/passes?include_deleted=true&sort_by={sort}") for sort in ("id", "name", "created_at", "updated_at")]
    for pass_id in pass_ids:
        told += [shop.history(pass_id), export(shop, pass_id), shop.get(pass_id, "?include_deleted=true")]
    return told


def files_with_words(*places):
    """Files below these paths that contain one of the words, unchanged or case-folded. Files may disappear during the
    search."""
    patterns = "\n".join({word for one in WORDS for word in (one, folded(one))})
    found = subprocess.run(["grep", "-srlaF", "-f", "-", *map(str, places)], input=patterns, capture_output=True, text=True,
                           env={"LC_ALL": "C"}, check=False)
    return found.stdout.split()
