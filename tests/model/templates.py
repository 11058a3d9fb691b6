"""Templates: put by the operator, and their accepted fields."""
import json
import re

from values import Hole
from world import Ask, Body, Error, Line, Printed, operation


class Template:
    def __init__(self, account, file):
        self.account, self.id = account, Hole(re.compile(r"tpl_[a-z0-9_]+"))
        self.file = file

    @property
    def fields(self):
        return {field["key"]: field for field in self.file["fields"]}

    @property
    def counter(self):
        return next((field["key"] for field in self.file["fields"] if field.get("locked")), None)

    @property
    def loyalty(self):
        return self.file["loyalty_type"]


FIELDS = [{"key": "name", "label": "Name", "type": "text", "required": True, "max_length": 80},
          {"key": "visits", "label": "Visits", "type": "number"}, {"key": "birthday", "label": "Birthday", "type": "date"},
          {"key": "site", "label": "Site", "type": "url"}, {"key": "vip", "label": "VIP", "type": "boolean"}]
COUNTER = {"key": "points", "label": "Points", "type": "number", "locked": True}
BONUS = {"key": "bonus", "label": "Bonus", "type": "text", "max_length": 5}


@operation(0.15)
class template_put:
    def make(w, a):
        chance = w.chance
        label = chance.choice([one.made for one in a.templates]) if len(a.templates) > 2 or (a.templates and chance.random() < 0.6) else None
        loyalty = w.things[label].loyalty if label is not None else chance.choice(["balance", "stamps", "none"])
        return {"of": label, "file": file_of(chance, loyalty, w.things[label] if label is not None else None)}

    def ask(w, a, op):
        file = dict(op["file"])
        if op["of"] is not None:
            file["pass_template_id"] = w.id_of(op["of"], "Template", a.id.replace("acc_", "tpl_") + "_999")
        return Line(("template", "put", a.id, "-"), json.dumps(file))

    def want(w, a, op, when):
        if op["of"] is None:
            made = Template(a, op["file"])
            made.made = op["n"]
            w.things[op["n"]] = made
            a.templates.append(made)
            return Printed({"pass_template_id": made.id})
        old = there(w, a, op["of"])
        if old is None:
            return Error((422, "PASS_TEMPLATE_NOT_FOUND", "pass_template_id"))
        old.file = op["file"]
        for one in a.passes:
            one.text = None
        return Printed({"pass_template_id": old.id})


def file_of(chance, loyalty, old):
    fields = [dict(field) for field in FIELDS] + ([BONUS] if chance.random() < 0.5 else [])
    fields[0]["required"] = chance.random() < 0.8
    fields[0]["max_length"] = chance.choice([80, 80, 3])
    file = {"name": "Card", "loyalty_type": loyalty, "qr": old.file["qr"] if old else chance.random() < 0.7,
            "fields": fields + ([COUNTER] if loyalty != "none" else [])}
    name_field = old.file.get("name_field") if old else chance.choice(["name", "name", None])
    if name_field:
        file["name_field"] = name_field
    if loyalty != "none" and chance.random() < 0.3:
        file["min_balance"] = chance.choice([0, -10])
    return file


@operation(0.6)
class template_fields:
    def make(w, a):
        return {"of": w.chance.choice([None, None, *(one.made for one in a.templates + a.other.templates), -1])}

    def ask(w, a, op):
        return Ask("GET", "/v1/pass-templates/accepted-fields" + ("" if op["of"] is None else f"?pass_template_id={named(w, a, op)}"))

    def want(w, a, op, when):
        template = found(w, a, op["of"])
        if isinstance(template, Error):
            return template
        fields = [{"key": field["key"], "label": field["label"], "type": field["type"], "required": field.get("required", False),
                   "locked": field.get("locked", False), "max_length": field.get("max_length")} for field in template.file["fields"]]
        return Body(200, {"pass_template_id": template.id, "name": "Card", "loyalty_type": template.loyalty, "accepted_fields": fields})


def named(w, a, op):
    return w.id_of(op["of"], "Template", a.id.replace("acc_", "tpl_") + "_999")


def found(w, a, label):
    """The template of a new pass, or the reason for a refusal."""
    if label is None:
        return a.templates[0] if a.templates else Error((422, "PASS_TEMPLATE_NOT_FOUND", None))
    template = w.things.get(label)
    if isinstance(template, Template) and template.account is not a:
        return Error((403, "UNAUTHORIZED", None))
    return there(w, a, label) or Error((422, "PASS_TEMPLATE_NOT_FOUND", None))


def there(w, a, label):
    """The account's template, if it was not deleted."""
    template = w.thing(a, label, "Template")
    return template if template in a.templates else None


@operation(0.1)
class template_delete:
    def make(w, a):
        labels = [label for label, thing in w.things.items() if type(thing) is Template]
        return {"of": w.chance.choice([*labels[-3:], *(one.made for one in a.templates[-1:]), -1])}

    def ask(w, a, op):
        return Line(("template", "delete", a.id, named(w, a, op)))

    def want(w, a, op, when):
        template = there(w, a, op["of"])
        if template is None:
            return Error((404, "RESOURCE_NOT_FOUND", None))
        if any(one.template is template and not one.deleted for one in a.passes) or any(rule.template is template for rule in a.rules):
            return Error((409, "RESOURCE_CONFLICT", None))
        a.templates.remove(template)
        return Printed({})
