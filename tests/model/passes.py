"""Passes: creation, reading, edits, deletion, the counter, and what holders' wallets do."""
import re
from datetime import date
from urllib.parse import quote

from templates import found
from values import Hole, Num, Ordered, time_of
from world import Ask, Body, Empty, Error, Fields, Line, Printed, is_int, is_object, is_text, operation

MOST = 2**53 - 1
NOT_FOUND = Error((404, "RESOURCE_NOT_FOUND", None))
CONFLICT = Error((409, "RESOURCE_CONFLICT", None))
IDS = ["ada", "Bob", "c/d", "é", "p p", "a%41", "Ada", "zoe", "x" * 200, "10", "9", "日本", "a\u0301", "q?", "m&n", "k#"]
NAMES = ["Ada", "ada", "ÀDA", "Zoë", "zoe", "Ångström", "angstrom", "Straße", "strasse", "Łukasz", "ﬁne", "fine", "Ⅳ", "iv", "名前",
         "-5", "12", "a b", "a\tb", "ß", "x" * 80, "é", "e\u0301", "\"q\"", "b\\s", "\u007f", "😀", "true"]
HIDDEN = [1, -1, 0, True, False, "x", "", "é\n", Num("1.50"), Num("1e2"), Num("0.10"), [], {}, [1, [Num("2.0"), None]], {"z": 1, "a": {"y": None, "b": 2}},
          10**30, None]
URL = re.compile(r"https?://[^\s/?#]+([/?#]\S*)?", re.I)
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
APPEARANCE = ("background_color", "logo", "banner", "title")
LINK = re.compile(r"http://127\.0\.0\.1:\d+/p/[A-Za-z0-9_-]{22}")


def path_of(pass_id, suffix=""):
    return f"/v1/passes/{quote(pass_id, safe='')}{suffix}"


# Passes

class Pass:
    def __init__(self, account, pass_id, template, when):
        self.account, self.id, self.template = account, pass_id, template
        self.visible, self.hidden, self.appearance = {}, Ordered(), None
        self.status, self.blocked, self.deleted = "issued", False, None
        self.balance = 0
        self.link, self.created, self.updated = Hole(LINK), when, when
        self.qr = pass_id if template.file["qr"] else None
        self.order = len(account.passes)
        self.scans, self.scan_count = [], 0
        self.text = None  # as the service last wrote it

    def changed(self, when):
        self.updated, self.text = when, None

    def shown_visible(self):
        counter = self.template.counter
        return {**self.visible, **({counter: self.balance} if counter else {})}

    def shown(self):
        value = {"id": self.id, "visible": self.shown_visible(), "hidden": self.hidden, "appearance": self.appearance, "qr_value": self.qr,
                 "status": self.status, "download_url": self.link, "reinstall_blocked": self.blocked,
                 "loyalty_type": self.template.loyalty, "created_at": self.created, "updated_at": self.updated}
        if self.template.counter:
            value["balance"] = self.balance
        if self.deleted:
            value["deleted_at"] = self.deleted
        return value

    @property
    def name(self):
        return self.visible.get(self.template.file.get("name_field"), "")


def kept(value):
    """An object whose order matters, at every depth."""
    if isinstance(value, dict):
        return Ordered((key, kept(member)) for key, member in value.items())
    return [kept(one) for one in value] if isinstance(value, list) else value


def is_id(value):
    return is_text(value) and 1 <= len(value.encode()) <= 200 and not re.search(r"[\x00-\x1f\x7f\x80-\x9f]", value) and value not in (".", "..")


def is_date(text):
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        try:
            return bool(date.fromisoformat(text))
        except ValueError:
            return False
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", text):
        return False
    try:
        return bool(time_of(re.sub(r"\.\d+", "", text.upper())))
    except ValueError:
        return False


def suits(value, field):
    kind = field["type"]
    if kind == "number":
        return type(value) in (int, Num)
    if kind == "boolean":
        return type(value) is bool
    if type(value) is not str or (field.get("max_length") is not None and len(value) > field["max_length"]):
        return False
    return kind == "text" or (kind == "date" and is_date(value)) or (kind == "url" and bool(URL.fullmatch(value)))


def visible_error(template, visible, held=None):
    """Unknown and locked keys are reported first, then invalid values. `held` is what the pass has; None on creation. A
    value of a removed field may be removed."""
    fields = template.fields
    faults = [(400, "INVALID_INPUT", f"visible.{key}") for key, value in visible.items()
              if (fields[key].get("locked") if key in fields else value is not None or key not in (held or {}))]
    if not faults:
        code = (422, "PASS_TEMPLATE_DATA_INVALID")
        faults = [(*code, f"visible.{key}") for key, value in visible.items() if key in fields and
                  (fields[key].get("required") if value is None else not suits(value, fields[key]))]
        if held is None:
            faults += [(*code, f"visible.{key}") for key, field in fields.items() if field.get("required") and key not in visible]
    return Error(*faults) if faults else None


def check_appearance(fields, making):
    value = fields.get("appearance")
    if value is None:
        return
    if not is_object(value) or (making and not value):
        return fields.bad("appearance")
    for key, member in value.items():
        if key not in APPEARANCE:
            fields.bad(f"appearance.{key}")
        elif member is None and not making:
            continue
        elif not is_text(member) or (key == "background_color" and not COLOUR.fullmatch(member)) or \
                (key in ("logo", "banner") and not URL.fullmatch(member)):
            fields.bad(f"appearance.{key}")


def some_visible(chance, template, required=True):
    visible = {}
    if required or chance.random() < 0.4:
        visible["name"] = chance.choice(NAMES)[:template.fields["name"]["max_length"]] if chance.random() < 0.95 else chance.choice(NAMES)
    for key, values in (("visits", [0, -5, 120, Num("12.5"), Num("1.50")]), ("vip", [True, False]),
                        ("birthday", ["2000-02-29", "1999-12-31T23:59:59Z", "2001-01-01T00:00:00.5+02:00"]),
                        ("site", ["https://example.com/x", "http://a.b"])):
        if chance.random() < 0.2:
            visible[key] = chance.choice(values)
    if chance.random() < 0.12:
        key, value = chance.choice([("zz", 1), ("points", 5), ("name", 5), ("name", None), ("visits", "1"), ("birthday", "2001-02-29"),
                                    ("site", "ftp://x"), ("vip", "true"), ("vip", 1), ("visits", True), ("name", "y" * 81), ("bonus", "abcde"),
                                    ("bonus", "abcdef"), ("name", {}), ("visits", [1]), ("zz", None), ("points", None), ("name", "ß" * 80)])
        visible[key] = value
    return visible


def some_hidden(chance):
    return {chance.choice("abcdefgh") + chance.choice(["", "é", "."]): chance.choice(HIDDEN) for _ in range(chance.randrange(4))}


def some_appearance(chance, making):
    value = {}
    if chance.random() < 0.7:
        value["background_color"] = chance.choice(["#112233", "#abcDEF", "#000000"])
    if chance.random() < 0.5:
        value["title"] = chance.choice(["T", "Ü", ""] if making else ["T", "Ü", None])
    if not making and chance.random() < 0.2:
        value["logo"] = chance.choice([None, "https://example.com/l.png", "ftp://x"])
    if chance.random() < 0.08:
        key, bad = chance.choice([("color", "#112233"), ("background_color", "red"), ("background_color", "#12345"), ("title", 5), ("logo", "x"),
                                  ("background_color", "112233"), ("banner", 1)])
        value[key] = bad
    if "title" in value and value["title"] == "":
        del value["title"]
    return value


def some_junk(chance, body):
    """Sometimes a value of the wrong type, an unknown key, or invalid JSON."""
    dice = chance.random()
    if dice < 0.02:
        return chance.choice(["", "{", "[]", '{"a":1,"a":2}', "null", '{"pass_id":"\\ud800"}', "[" * 40 + "]" * 40, '{"x":01}'])
    if dice < 0.05:
        return {**body, chance.choice(["zz", "id", "status", "balance"]): 1}
    if dice < 0.09 and body:
        return {**body, chance.choice(list(body)): chance.choice([1, "x", True, [], {}, Num("1.0"), None])}
    return body


def is_junk(body):
    return type(body) is str


BAD_BODY = Error((400, "INVALID_REQUEST", None))


@operation(7)
class pass_create:
    def make(w, a):
        chance = w.chance
        template = chance.choice([None, None, *(one.made for one in a.templates)])
        if chance.random() < 0.02:
            template = chance.choice([-1, *(one.made for one in a.other.templates)])
        shape = found(w, a, template)
        if isinstance(shape, Error):
            shape = a.templates[0] if a.templates else None
        free = [one for one in IDS if one not in a.live]
        pass_id = chance.choice(free) if free and chance.random() < 0.8 else chance.choice(IDS)
        body = {"pass_id": pass_id}
        if shape and (shape.fields["name"]["required"] or chance.random() < 0.9):
            body["visible"] = some_visible(chance, shape)
        if chance.random() < 0.4:
            body["hidden"] = some_hidden(chance)
        if chance.random() < 0.25:
            body["appearance"] = some_appearance(chance, True)
            body["appearance"].pop("logo", None), body["appearance"].pop("banner", None)
        if chance.random() < 0.1:
            body["initial_platform"] = chance.choice(["ios", "android", "ios", "web", None])
        if chance.random() < 0.02:
            body["pass_id"] = chance.choice(["", ".", "..", "a\nb", "y" * 201, 5, None, "é" * 101])
        return {"template": template, "body": some_junk(chance, body)}

    def ask(w, a, op):
        body = op["body"]
        if is_object(body) and op["template"] is not None and "pass_template_id" not in body:
            body = {**body, "pass_template_id": w.id_of(op["template"], "Template", a.id.replace("acc_", "tpl_") + "_999")}
        return Ask("POST", "/v1/passes", body)

    def want(w, a, op, when):
        body = op["body"]
        if is_junk(body):
            return BAD_BODY
        fields = Fields(body, ("pass_id", "pass_template_id", "visible", "hidden", "appearance", "initial_platform"))
        fields.need("pass_id", is_id)
        fields.may("pass_template_id", is_text)
        fields.may("visible", is_object)
        fields.may("hidden", is_object)
        check_appearance(fields, True)
        if "initial_platform" in body and body["initial_platform"] not in ("ios", "android"):
            fields.bad("initial_platform", "INVALID_REQUEST")
        if fields.faults:
            return fields.error()
        template = found(w, a, op["template"] if body.get("pass_template_id") is None else -1)
        if isinstance(template, Error):
            return template
        visible = body.get("visible") or {}
        error = visible_error(template, visible)
        if error:
            return error
        if body["pass_id"] in a.live:
            return CONFLICT
        made = Pass(a, body["pass_id"], template, when)
        made.visible = {key: value for key, value in visible.items() if value is not None}
        made.hidden = kept(body.get("hidden") or {})
        made.appearance = dict(body["appearance"]) if body.get("appearance") else None
        a.passes.append(made)
        a.live[made.id] = made
        w.things[op["n"]] = made
        w.happened(w, a, "pass.created", made, when)
        return Body(201, made.shown, shown=made)

    def again(w, a, op):
        made = w.things[op["n"]]
        return lambda: Body(201, made.shown, shown=made)


def some_pass(w, a, alive=0.93):
    """An id, mostly of a live pass."""
    if a.live and w.chance.random() < alive:
        if a.recent not in a.live or w.chance.random() < 0.6:
            a.recent = w.chance.choice(list(a.live))
        return a.recent  # often the previous one, so that more happens to it in a short time
    return w.chance.choice([*IDS, "nobody"])


@operation(9)
class pass_get:
    def make(w, a):
        op = {"id": some_pass(w, a, 0.8)}
        if w.chance.random() < 0.3:
            op["deleted"] = w.chance.choice(["true", "1", "t", "false", "0", "f", "yes", "", "TRUE"])
        return op

    def ask(w, a, op):
        return Ask("GET", path_of(op["id"], f"?include_deleted={op['deleted']}" if "deleted" in op else ""))

    def want(w, a, op, when):
        flag = op.get("deleted", "f")
        if flag not in ("true", "1", "t", "false", "0", "f"):
            return Error((400, "INVALID_INPUT", "include_deleted"))
        one = a.live.get(op["id"])
        if one is None and flag in ("true", "1", "t"):
            gone = [each for each in a.passes if each.id == op["id"]]
            one = max(gone, key=lambda each: each.order) if gone else None
        return Body(200, one.shown, shown=one) if one else NOT_FOUND


@operation(7)
class pass_patch:
    def make(w, a):
        chance, pass_id = w.chance, some_pass(w, a)
        one, body = a.live.get(pass_id), {}
        if chance.random() < 0.6 and a.templates:
            body["visible"] = some_visible(chance, one.template if one else a.templates[0], False)
            for key in ("vip", "visits", "site", "name", "bonus"):
                if chance.random() < 0.1:
                    body["visible"][key] = None
        if chance.random() < 0.4:
            body["hidden"] = some_hidden(chance)
        if chance.random() < 0.3:
            body["appearance"] = some_appearance(chance, False) if chance.random() < 0.8 else None
        return {"id": pass_id, "body": some_junk(chance, body)}

    def ask(w, a, op):
        return Ask("PATCH", path_of(op["id"]), op["body"])

    def want(w, a, op, when):
        body = op["body"]
        if is_junk(body) and body != "":
            return BAD_BODY
        body = body or {}
        fields = Fields(body, ("visible", "hidden", "appearance"))
        fields.may("visible", is_object)
        fields.may("hidden", is_object)
        check_appearance(fields, False)
        if fields.faults:
            return fields.error()
        one = a.live.get(op["id"])
        if one is None:
            return NOT_FOUND
        visible = body.get("visible") or {}
        error = visible_error(one.template, visible, one.visible)
        if error:
            return error
        before = dict(one.visible), dict(one.hidden), one.appearance
        merge(one.visible, visible)
        merge(one.hidden, kept(body.get("hidden") or {}))
        if "appearance" in body:
            one.appearance = merge(dict(one.appearance or {}), body["appearance"]) or None if body["appearance"] is not None else None
        if differ(before, (one.visible, one.hidden, one.appearance)):
            one.changed(when)
        return Empty(204)


def differ(one, two):
    """Compares as JSON: true is not 1."""
    if type(one) is not type(two) and not (isinstance(one, dict) and isinstance(two, dict)):
        return True
    if isinstance(one, dict):
        return one.keys() != two.keys() or list(one) != list(two) or any(differ(one[key], two[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) != len(two) or any(map(differ, one, two))
    return one != two


def merge(target, changes):
    for key, value in changes.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = value
    return target


@operation(3, always=True)
class pass_delete:
    def make(w, a):
        return {"id": some_pass(w, a)}

    def ask(w, a, op):
        return Ask("DELETE", path_of(op["id"]))

    def want(w, a, op, when):
        one = a.live.pop(op["id"], None)
        if one is None:
            return NOT_FOUND
        one.status, one.deleted = "deactivated", when
        one.changed(when)
        return Empty(204)


@operation(12)
class pass_loyalty:
    def make(w, a):
        chance = w.chance
        body = {"balance_to_add": chance.choice([1, 1, 5, -1, -3, 10, 0, -11, 100, MOST, -MOST, chance.randrange(-50, 100)])}
        if chance.random() < 0.04:
            body["balance_to_add"] = chance.choice([MOST + 1, -MOST - 1, 10**30, "1", Num("1.0"), Num("1e2"), None, True])
        if chance.random() < 0.1:
            body["message"] = chance.choice(["hello", "Grüße", None])
        return {"id": some_pass(w, a), "body": some_junk(chance, body)}

    def ask(w, a, op):
        return Ask("POST", path_of(op["id"], "/loyalty"), op["body"])

    def want(w, a, op, when):
        body = op["body"]
        if is_junk(body):
            return BAD_BODY
        fields = Fields(body, ("balance_to_add", "message"))
        amount = body.get("balance_to_add")
        fields.need("balance_to_add", lambda value: is_int(value) and abs(value) <= MOST)
        fields.may("message", is_text)
        if fields.faults:
            return fields.error()
        one = a.live.get(op["id"])
        if one is None:
            return NOT_FOUND
        if not one.template.counter:
            return Error((400, "NO_LOYALTY_PROGRAM", None))
        if abs(one.balance + amount) > MOST:
            return Error((400, "INVALID_INPUT", "balance_to_add"))
        if one.status == "deactivated":
            return CONFLICT
        least = one.template.file.get("min_balance")
        if least is not None and amount < 0 and one.balance + amount < least:
            return Error((409, "INSUFFICIENT_BALANCE", None))
        one.balance += amount
        one.changed(when)
        if body.get("message"):
            w.notify(w, a, one, body["message"], when)
        w.happened(w, a, "pass.balanceUpdate", one, when)
        return Empty(202)


@operation(0.9)
class pass_event:
    def make(w, a):
        event = w.chance.choice(["installed", "installed", "installed", "uninstalled", "uninstalled", "deactivated", "unblocked"])
        return {"id": some_pass(w, a, 0.97), "event": event, "block": event == "uninstalled" and w.chance.random() < 0.5}

    def ask(w, a, op):
        return Line(("pass", "event", a.id, op["id"], op["event"], *(["--block-reinstall"] if op["block"] else [])))

    def want(w, a, op, when):
        one, event = a.live.get(op["id"]), op["event"]
        if one is None:
            return NOT_FOUND
        if event == "installed" and (one.status == "issued" or (one.status == "removed" and not one.blocked)):
            one.status = "active"
        elif event == "uninstalled" and one.status == "active":
            one.status, one.blocked = "removed", op["block"]
        elif event == "deactivated" and one.status != "deactivated":
            one.status = "deactivated"
        elif event == "unblocked" and one.blocked:
            one.blocked = False
        else:
            return CONFLICT
        one.changed(when)
        return Printed(one.shown())

