"""Physical cards."""
from lists import page, paging, paging_faults, query_of
from passes import CONFLICT, NOT_FOUND, path_of, some_pass
from values import Hole
from world import Ask, Body, Error, Line, Printed, operation

CODES = ["1", "A", "a", "Ä 1", "x/y"]


class Card:
    def __init__(self, holder, code, when):
        self.account, self.holder, self.code, self.linked = holder.account, holder, code, True
        self.id, self.created = Hole(), when

    def shown(self):
        return {"id": self.id, "pass_id": self.holder.id, "code": self.code, "status": "linked" if self.linked else "unlinked",
                "created_at": self.created}


def card_of(a, code):
    return next((card for card in a.cards if card.linked and card.code == code), None)


@operation(0.25)
class card_link:
    def make(w, a):
        return {"id": some_pass(w, a), "code": w.chance.choice(CODES)}

    def ask(w, a, op):
        return Line(("card", "link", a.id, "--pass", op["id"], "--code", op["code"]))

    def want(w, a, op, when):
        holder, old = a.live.get(op["id"]), card_of(a, op["code"])
        if holder is None:
            return NOT_FOUND
        if old and not old.holder.deleted:
            return CONFLICT
        if old:
            old.linked = False
        made = Card(holder, op["code"], when)
        a.cards.append(made)
        w.things[op["n"]] = made
        return Printed({"id": made.id})


@operation(0.1)
class card_unlink:
    def make(w, a):
        labels = [label for label, thing in w.things.items() if type(thing) is Card]
        return {"of": w.chance.choice([*labels[-8:], -1])}

    def ask(w, a, op):
        return Line(("card", "unlink", a.id, w.id_of(op["of"], "Card")))

    def want(w, a, op, when):
        card = w.thing(a, op["of"], "Card")
        if card is None:
            return NOT_FOUND
        if not card.linked:
            return CONFLICT
        card.linked = False
        return Printed({})


@operation(1)
class card_list:
    def make(w, a):
        return paging(w.chance, {"id": some_pass(w, a)})

    def ask(w, a, op):
        return Ask("GET", path_of(op["id"], "/cards") + query_of([(name, op[name]) for name in ("limit", "offset") if name in op]))

    def want(w, a, op, when):
        faults = paging_faults(op)
        if faults:
            return Error(*faults)
        holder = a.live.get(op["id"])
        if holder is None:
            return NOT_FOUND
        rows, _ = page([card for card in reversed(a.cards) if card.holder is holder], op)
        return Body(200, [card.shown() for card in rows], ((b"x-total-count", None), (b"x-has-more", None)))
