"""The parameters of GET /v1/passes: which values are refused and under which name, the defaults, and how dates,
booleans and repeated parameters are parsed. Which passes a filter selects is tested in test_list_rules.py."""
from datetime import datetime, timedelta, timezone
from urllib.parse import quote, urlencode

import pytest
from shop import Shop

pytestmark = pytest.mark.plain

STATUSES = ["creating", "creation_failed", "issued", "active", "removed", "deactivated"]
SORTS = ["id", "name", "created_at", "updated_at"]
DATES = ["created_from", "created_to", "updated_from", "updated_to"]
HUGE = "9" * 30


@pytest.fixture(scope="module")
def ten(shared_service):
    """A shop with ten passes, and its list without parameters."""
    shop = Shop(shared_service, ("balance",))
    made = [shop.create(f"p{n}", visible={"name": f"Name {9 - n}"}) for n in range(10)]
    yield shop, made[::-1]
    shop.close()


def ids(page):
    return [entry["id"] for entry in page]


def refused(shop, query, field):
    answer = shop.client.get("/v1/passes?" + query)
    assert answer.status == 400, (query, answer)
    error = answer.is_error(400, "INVALID_INPUT")
    fields = field if isinstance(field, tuple) else (field,)
    assert error.get("field") in fields, (query, error)
    assert "x-total-count" not in answer.headers and "x-has-more" not in answer.headers
    return True


# Refusals: single-valued parameters given twice, and invalid values

ONCE = {"limit": "5", "offset": "0", "q": "a", "sort_by": "id", "sort_dir": "asc", "include_deleted": "true",
        **{date: "2026-01-01T00:00:00Z" for date in DATES}}


@pytest.mark.parametrize("name", ONCE)
def test_a_parameter_given_twice(ten, service, name):
    once = urlencode({name: ONCE[name]})
    assert ten[0].client.get("/v1/passes?" + once).status == 200
    refused(ten[0], f"{once}&{once}", name)
    refused(ten[0], f"{once}&x=1&{once}", name)
    refused(ten[0], f"{once}&%{ord(name[0]):02x}{once[1:]}", name)


@pytest.mark.parametrize("name", [*ONCE, "status"])
def test_values_that_are_not_utf8(ten, service, name):
    for value in ("%", "%f", "%zz", "%ff", "%C3", "%ED%A0%80", "%C0%AF"):
        refused(ten[0], f"{name}={value}", name)


@pytest.mark.parametrize("name, values", [
    ("limit", ["0", "101", "-1", "1000", HUGE, "-" + HUGE, "", "x", "1.0", "1e1", "0x5", "5%20", "%205", "+5", "5%00", "%D9%A5",
               "true", "null", "5,5", "--5", "-", "1_0"]),
    ("offset", ["-1", HUGE, "-" + HUGE, "", "x", "1.5", "1e1", "%2B1", "1%00", "true"]),
    ("status", ["", "x", "ISSUED", "Issued", "issued,active", "issued%20", "issued%00", "deleted", "all", "creation-failed"]),
    ("sort_by", ["", "x", "ID", "balance", "created", "created_at%20", "-created_at", "id,name", "status"]),
    ("sort_dir", ["", "x", "ASC", "Desc", "ascending", "1", "-1"]),
    ("include_deleted", ["", "yes", "no", "TRUE", "True", "T", "F", "2", "-1", "on", "true%20", "01", "null", "tr", "fals"]),
])
def test_invalid_values(ten, service, name, values):
    for value in values:
        refused(ten[0], f"{name}={value}", name)
    refused(ten[0], name, name)


NO_DATES = [
    "", "x", "now", "2026", "2026-11-20", "2026-11-20T20:43", "2026-11-20T20:43:00", "2026-11-20 20:43:00Z",
    "2026-11-20T20:43:00.Z", "2026-11-20T20:43:00.1234567890Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-20T24:00:00Z",
    "2026-11-20T20:60:00Z", "2026-11-20T20:43:61Z", "2026-11-20T20:43:00+24:00", "2026-11-20T20:43:00+02:60",
    "2026-11-20T20:43:00+0200", "2026-11-20T20:43:00+2:00", "2026-11-20T20:43:00Z ", " 2026-11-20T20:43:00Z",
    "2026-11-20T20:43:00ZZ", "26-11-20T20:43:00Z", "12026-11-20T20:43:00Z", "-026-11-20T20:43:00Z", "1763671380",
    "2026-11-20T20:43:00Z\0", "2026-11-20T20:43:00,5Z", "２０２６-11-20T20:43:00Z",
]


@pytest.mark.parametrize("name", DATES)
def test_invalid_dates(ten, service, name):
    for value in NO_DATES:
        refused(ten[0], f"{name}={quote(value)}", name)


def test_several_faults_name_one_of_them(ten, service):
    refused(ten[0], "limit=0&offset=-1&sort_by=x", ("limit", "offset", "sort_by"))
    refused(ten[0], "status=issued&status=x&limit=5", "status")
    refused(ten[0], "status=x&status=issued", "status")
    refused(ten[0], "status=issued&status=", "status")


@pytest.mark.parametrize("prefix", ["created", "updated"])
def test_from_later_than_to(ten, service, prefix):
    names = (f"{prefix}_from", f"{prefix}_to")
    late, early = "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00Z"
    refused(ten[0], urlencode({names[0]: late, names[1]: early}), names)
    refused(ten[0], urlencode({names[1]: early, names[0]: late}), names)
    # The same instant in two time zones. Bounds of different columns are not compared.
    refused(ten[0], urlencode({names[0]: "2026-01-01T00:00:00-02:00", names[1]: "2026-01-01T01:59:59Z"}), names)
    assert ten[0].list("?" + urlencode({names[0]: early, names[1]: early})) == ([], 0, False)
    assert ten[0].list("?" + urlencode({"created_from": late, "updated_to": early}))[1] == 0


def test_the_length_of_q_is_limited(ten, service):
    for letter in ("a", "é", "日", "\U0001f600"):
        assert ten[0].list("?" + urlencode({"q": letter * 200})) == ([], 0, False)
        refused(ten[0], urlencode({"q": letter * 201}), "q")


# Parsing

def test_defaults(ten, service):
    shop, newest_first = ten
    assert shop.list() == (newest_first, 10, False)
    for query in ("limit=25", "offset=0", "sort_by=created_at", "sort_dir=desc", "include_deleted=false",
                  "include_deleted=0", "include_deleted=f", "limit=25&offset=0&sort_by=created_at&sort_dir=desc", "q=",
                  *(f"include_deleted={yes}" for yes in ("true", "1", "t")), "limit=100", "offset=-0"):
        assert shop.list("?" + query) == (newest_first, 10, False), query


def test_limits_and_offsets(ten, service):
    shop, newest_first = ten
    for limit, offset in [(1, 0), (9, 0), (10, 0), (11, 0), (100, 0), (1, 9), (1, 10), (5, 5), (5, 4), (100, 2**31),
                          (100, 2**32), (1, 2**63 - 1)]:
        page, total, more = shop.list(f"?limit={limit}&offset={offset}")
        assert (page, total, more) == (newest_first[offset:offset + limit], 10, offset + limit < 10), (limit, offset)


@pytest.mark.parametrize("query", ["", "&", "&&&", "=", "=1", "x", "x=1&x=2", "Limit=0", "LIMIT=x", "limit%20=0", "Status[]=x",
                                   "sort=x", "[]=x", "sort[]=x", "%00=1", "%ff=%ff", "%=%", "statuses=x", "a=%zz"])
def test_unknown_parameters_are_ignored(ten, service, query):
    shop, newest_first = ten
    assert shop.list(f"?{query}&limit=3") == (newest_first[:3], 10, True)


def test_encoded_names_and_values(ten, service):
    shop, newest_first = ten
    assert shop.list("?%6c%69mit=%33&%73tatus=%69ssued") == (newest_first[:3], 10, True)
    refused(shop, "%6cimit=%30", "limit")


def test_a_repeated_status_selects_any_of_them(ten, service):
    shop, newest_first = ten
    every = "&".join(f"status={status}" for status in STATUSES)
    for query, count in [("status=issued", 10), ("status=active", 0), ("status=active&status=issued", 10),
                         ("status=issued&status=issued", 10), (every, 10), (every + "&" + every, 10),
                         ("&".join(["status=removed"] * 300), 0)]:
        page, total, more = shop.list("?" + query)
        assert (page, total, more) == (newest_first[:count], count, False), query
    for status in STATUSES:
        assert shop.list("?status=" + status)[1] == (10 if status == "issued" else 0)


def test_a_status_may_be_written_as_an_array(ten, service):
    shop, newest_first = ten
    for query, count in [("status[]=issued", 10), ("status[]=active", 0), ("status%5B%5D=active", 0), ("status%5b%5d=issued", 10),
                         ("status[0]=active&status[1]=issued", 10), ("status[0]=active&status[0]=removed", 0),
                         ("status[]=active&status=issued", 10), ("status=active&status%5B3%5D=removed", 0),
                         ("%73tatus[]=active", 0)]:
        assert shop.list("?" + query) == (newest_first[:count], count, False), query
    for value in ("x", "", "ISSUED", "issued,active", "%ff", "%"):
        refused(shop, f"status[]={value}", "status")


@pytest.mark.parametrize("name", [*ONCE, "status"])
def test_misspelt_array_parameters_are_refused(ten, service, name):
    """Malformed brackets, and an array for a single-valued parameter, are refused instead of ignored."""
    value = ONCE.get(name, "issued")
    forms = ["[", "[x]", "[-1]", "[0", "[]x", "[][]", "[[]]", "[%20]", "%5B", "%5bx%5d", "[%zz]", "[0]["]
    for form in forms if name == "status" else ["[]", "[0]", "%5B%5D", *forms]:
        refused(ten[0], f"{name}{form}={quote(value)}", name)
        refused(ten[0], f"{name}={quote(value)}&{name}{form}={quote(value)}", name)


def test_sorts_and_directions(ten, service):
    """The passes were created so that id and time rise while the name falls."""
    shop, newest_first = ten
    for sort in SORTS:
        falls = newest_first[::-1] if sort == "name" else newest_first
        assert ids(shop.list(f"?sort_by={sort}")[0]) == ids(falls), sort
        assert ids(shop.list(f"?sort_by={sort}&sort_dir=desc")[0]) == ids(falls), sort
        assert ids(shop.list(f"?sort_by={sort}&sort_dir=asc")[0]) == ids(falls[::-1]), sort
    assert ids(shop.list("?sort_dir=asc&limit=4&offset=2")[0]) == ids(newest_first[::-1][2:6])


def in_zone(when, hours):
    return when.astimezone(timezone(timedelta(hours=hours))).isoformat()


def test_dates_in_every_form(ten, service):
    """An instant before all passes or after them, in many forms. All forms give the same list."""
    shop, newest_first = ten
    early = datetime(2020, 2, 29, 12, 0, 0, tzinfo=timezone.utc)
    late = datetime(2120, 2, 29, 12, 0, 0, tzinfo=timezone.utc)
    for when, after in ((early, 10), (late, 0)):
        text = when.strftime("%Y-%m-%dT%H:%M:%S")
        spellings = [quote(text + "Z"), text + "Z", text + ".0Z", text + ".000000000Z", text + ".999999999Z", text + "z",
                     text.replace("T", "t") + "Z", text + "-00:00", quote(text + "+00:00"), text + "+00:00",
                     text + "%2000:00", quote(in_zone(when, 5.5)), in_zone(when, 5.5), in_zone(when, 14),
                     in_zone(when, -12), in_zone(when, 5.5).replace("+", "%20")]
        for spelling in spellings:
            for name, count in [("created_from", after), ("updated_from", after), ("created_to", 10 - after),
                                ("updated_to", 10 - after)]:
                assert shop.list(f"?{name}={spelling}") == (newest_first[:count], count, False), (name, spelling)


def test_the_earliest_and_latest_dates(ten, service):
    shop, _ = ten
    for first, last in [("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"),
                        ("1969-12-31T23:59:59Z", "2262-04-12T00:00:00Z"), ("1970-01-01T00:00:00Z", "2500-01-01T00:00:00Z")]:
        for prefix in ("created", "updated"):
            assert shop.list(f"?{prefix}_from={first}&{prefix}_to={last}")[1] == 10
            assert shop.list(f"?{prefix}_from={last}")[1] == 0
            assert shop.list(f"?{prefix}_to={first}")[1] == 0


def test_the_lower_bound_is_inclusive_and_the_upper_exclusive(new_shop):
    shop = new_shop("balance")
    at = shop.create()["created_at"]
    tick = (datetime.fromisoformat(at.replace("Z", "+00:00")) + timedelta(milliseconds=1)).isoformat()
    for prefix in ("created", "updated"):
        for query, count in [({"from": at}, 1), ({"to": at}, 0), ({"to": tick}, 1), ({"from": tick}, 0),
                             ({"from": at, "to": tick}, 1), ({"from": at, "to": at}, 0)]:
            names = {f"{prefix}_{end}": value for end, value in query.items()}
            assert shop.list("?" + urlencode(names))[1] == count, names


# Headers

def test_headers_of_a_list(ten, service):
    shop, _ = ten
    for query, total, more in [("", "10", "false"), ("?limit=9", "10", "true"), ("?limit=1&offset=99", "10", "false"),
                               ("?status=active", "0", "false")]:
        for answer in (shop.client.get("/v1/passes" + query), shop.client.head("/v1/passes" + query)):
            assert (answer.headers["x-total-count"], answer.headers["x-has-more"]) == (total, more), query
            assert "access-control-expose-headers" not in answer.headers
            assert answer.headers["content-type"] == "application/json"
    assert shop.client.get("/v1/passes?limit=1&offset=99").body == b"[]"


def test_other_routes_ignore_list_parameters(ten, service):
    shop, newest_first = ten
    wrong = "?limit=0&offset=x&status=x&sort_by=x&sort_dir=x&q=" + "a" * 300 + "&created_from=x"
    path = "/v1/passes/p3"
    assert shop.client.get(path + wrong).json == newest_first[6]
    shop.client.patch(path + wrong + "&include_deleted=x", {}).is_empty(204)
    assert shop.client.get("/v1/pass-templates/accepted-fields" + wrong).status == 200
