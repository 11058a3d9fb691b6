"""Short functions for scans."""
import re
from urllib.parse import urlencode

SCANS = "/v1/scans"
FIELDS = ["id", "pass_id", "status", "reason", "scanner_id", "scanner_name", "created_at"]
UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
SPACED = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} \+0000 UTC$")


def try_scan(shop, query="", **body):
    return shop.client.post(SCANS + query, body)


def scan(shop, pass_id, query="", **fields):
    """Scans a pass. Returns the scan of the 200 answer."""
    answer = try_scan(shop, query, pass_id=pass_id, **fields)
    assert answer.status == 200, answer
    return answer.json


def verdict(shop, pass_id, **fields):
    made = scan(shop, pass_id, **fields)
    return made["reason"] or made["status"]


def list_scans(shop, **params):
    """(scans, total count, has more) of a list."""
    answer = shop.client.get(SCANS + ("?" + urlencode(params, doseq=True) if params else ""))
    assert answer.status == 200, answer
    more = {"true": True, "false": False}[answer.headers["x-has-more"]]
    return answer.json, int(answer.headers["x-total-count"]), more


def spaced(rfc3339):
    """The date in the form that lists print, but in milliseconds: RFC 3339 dates of answers have no microseconds."""
    return rfc3339.replace("T", " ")[:-1]


def as_listed(made):
    """The scan in the form of lists, with its date in milliseconds. Compare it with `as_told()` of a list's row."""
    return {**made, "created_at": spaced(made["created_at"])}


def as_told(listed):
    assert SPACED.match(listed["created_at"]), listed
    return {**listed, "created_at": listed["created_at"][:23]}
