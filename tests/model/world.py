"""A world: two accounts whose operations are interleaved, the model of their state, and one operation at a time.

An operation is a dictionary that can be printed, stored and run again: what it does (`do`), the account (`who`, 0 or
1), its number (`n`), and its arguments. Things that the service names are referred to by the number of the operation
that made them, so an operation keeps its meaning after others were removed. A reference to nothing becomes an unknown
name.

The noun files beside this one add operations:

    @operation(weight, function=None, always=False)
    class thing_change:
        make(w, a)              arguments of a random one, or None when no thing exists for it
        ask(w, a, op)           the request: Ask or Line
        want(w, a, op, when)    the expected answer, from the model alone; changes the model. `when`: a Moment

The order of checks that all operations share (key, suspension, function, Idempotency-Key) is here."""
import random
import time
from collections import Counter, namedtuple

from values import DAY, RFC3339, Hole, Mismatch, Moment, dump, same, settled
from wire import Gone, Wire, http

SLACK = 1_500_000  # microseconds: service time is read once a turn, which a busy machine may prolong
NOBODY = "01900000-0000-7000-8000-000000000000"

Ask = namedtuple("Ask", "method path body", defaults=(None,))  # body: a value, a str sent unchanged, or None
Line = namedtuple("Line", "arguments stdin", defaults=(None,))  # of the command line

OPERATIONS = {}


def operation(weight, function=None, always=False):
    """`always`: works while the account is suspended."""

    def register(cls):
        cls.weight, cls.function, cls.always = weight, function, always
        OPERATIONS[cls.__name__] = cls
        return cls

    return register


class Error:
    """A refusal: any of these (status, code, field); field None: none is named."""

    def __init__(self, *any_of):
        self.any_of = any_of

    def differs(self, answer):
        error = answer.json if answer.body else {}
        if not isinstance(error, dict) or set(error) - {"field"} != {"code", "message", "request_id"}:
            return f"no error body: {answer!r}"
        if error["request_id"] != answer.header(b"x-request-id") or not error["message"]:
            return f"request id or message: {answer!r}"
        found = answer.status, error["code"], error.get("field")
        return None if found in self.any_of else f"want {' or '.join(map(str, self.any_of))}, got {found}"

    def refuses(self, refusal):
        """The command line may name a field where the interface names none."""
        found = refusal["code"], refusal.get("field")
        good = any(found == (code, field) or (field is None and found[0] == code) for _, code, field in self.any_of)
        return None if good else f"want {self.any_of}, got {found}"


class Empty:
    def __init__(self, status):
        self.status = status

    def differs(self, answer):
        return None if (answer.status, answer.body) == (self.status, b"") else f"want {self.status} and no body"


class Body:
    """A status and a value. `shown`: a thing whose `text` is stored, so that it need not be read the next time."""

    def __init__(self, status, value=None, headers=(), shown=None):
        self.status, self.value, self.headers, self.shown = status, value, headers, shown

    def differs(self, answer):
        if answer.status != self.status:
            return f"want {self.status}"
        for name, value in self.headers:
            if answer.header(name) != value:
                return f"want {name.decode()} {value}, got {answer.header(name)}"
        if self.shown is not None and self.shown.text == answer.body:
            return None
        wrong = same(self.value() if callable(self.value) else self.value, answer.json)
        if self.shown is not None and not wrong:
            self.shown.text = answer.body
        return wrong


class Exact:
    """Exactly these bytes again."""

    def __init__(self, status, body):
        self.status, self.body = status, body

    def differs(self, answer):
        return None if (answer.status, answer.body) == (self.status, self.body) else f"want {self.status} {self.body}"


class Printed:
    """The output of the command line."""

    def __init__(self, value):
        self.value = value


class Account:
    def __init__(self, world, number):
        self.world, self.number = world, number
        self.name = f"Model {number}"
        made = world.cli("account", "create", "--name", self.name, "--rewards", "--webhooks")
        self.id, self.key = made["account_id"], made["api_key"]
        self.bad_keys = ["sk_x", self.key[:-1] + ("a" if self.key[-1] != "a" else "b")]
        self.wire = Wire(world.service.http)
        self.functions = {"rewards": True, "webhooks": True}
        self.suspended = False
        self.window = 10
        self.kept = {}  # of an idempotency key: the request, a Moment, the answer, the operation
        self.created = Hole(RFC3339)
        self.keys, self.templates, self.passes, self.live, self.subscriptions = [], [], [], {}, []
        self.rewards, self.entitlements, self.scans, self.rules, self.notifications, self.cards = [], [], [], [], [], []
        self.readers, self.recent = {}, None

    @property
    def other(self):
        return self.world.accounts[1 - self.number]


class Clock:
    """The service's clock, as far as it can be known from outside."""

    def __init__(self):
        self.offset = 0

    def now(self):
        return time.time_ns() // 1000 + self.offset

    def advanced(self, seconds):
        self.offset += seconds * 10**6


class World:
    """`always_keys`: every write has a key and is repeated until its result is known, so that processes may die."""

    def __init__(self, service, commands, clock, seed, always_keys=False):
        self.service, self.commands, self.clock, self.seed = service, commands, clock, seed
        self.chance = random.Random(seed)
        self.always_keys = always_keys
        self.things = {}  # by the number of the operation that made them
        self.outcomes = Counter()
        self.past, self.count = [], 0  # operations; how many numbers were given
        self.accounts = []
        self.accounts += [Account(self, 0)]
        self.accounts += [Account(self, 1)]
        self.pending = None
        self.said = None  # the last request and answer, for people

    def cli(self, *arguments, stdin=None):
        self.commands.send(arguments, stdin)
        good, value = self.commands.receive()
        if not good:
            raise Mismatch(f"{arguments}: {value}")
        return value

    def get(self, a, path):
        """A read outside of the sequence, while no request of this account is outstanding."""
        a.wire.send(http("GET", path, a.key))
        return a.wire.receive()

    def close(self):
        for account in self.accounts:
            account.wire.close()

    # Choosing operations

    def next_operation(self):
        """A random operation that makes sense in the current state."""
        chance = self.chance
        while True:
            name = chance.choices(NAMES, WEIGHTS)[0]
            a = self.accounts[chance.random() < 0.3]
            cls = OPERATIONS[name]
            if a.suspended and chance.random() < 0.3:
                name, cls = "account_set", OPERATIONS["account_set"]
                arguments = {"suspended": False}
            elif cls.function and not a.functions[cls.function] and chance.random() < 0.3:
                name, cls = "account_set", OPERATIONS["account_set"]
                arguments = {"function": OPERATIONS[name].function or "webhooks", "on": True}
                arguments["function"] = chance.choice([one for one, on in a.functions.items() if not on])
            else:
                arguments = cls.make(self, a)
            if arguments is None or self.depends_on_an_end(a, name, arguments):
                continue
            op = self.numbered({"who": a.number, "do": name, **arguments})
            ask = cls.ask(self, a, op)
            if isinstance(ask, Ask) and "key" not in op:
                dice = chance.random()
                if name in BODILESS and a.kept and dice < 0.08:
                    op["key"] = chance.choice(list(a.kept)[-50:])  # mostly of another request
                elif dice < 0.01:
                    op["auth"] = chance.choice(["none", "wrong", "garbage", *(label for label, made in self.things.items()
                                                                              if type(made).__name__ == "Key" and made.account is a)])
                elif ask.method != "GET" and (dice < 0.06 or self.always_keys):
                    op["key"] = f"k{op['n']}"
            return op

    def depends_on_an_end(self, a, name, arguments):
        """True if an end is so near that only the service knows whether it passes before this operation."""
        if name == "again":
            name, arguments = arguments["op"]["do"], arguments["op"]
        doubtful = getattr(OPERATIONS[name], "is_doubtful", None)
        return (name in FACTS and self.in_doubt(self, a)) or bool(doubtful and doubtful(self, a, arguments))

    def numbered(self, op):
        self.count += 1
        return {"n": self.count, **op}

    # Running operations

    def start(self, whole):
        op = settled(whole, self.clock.now())
        a, cls = self.accounts[op["who"]], OPERATIONS[op["do"]]
        if hasattr(cls, "before"):
            cls.before(self, a, op)
        ask = cls.ask(self, a, op)
        low = self.clock.now() - SLACK
        if isinstance(ask, Line):
            self.commands.send(ask.arguments, ask.stdin)
            self.pending = whole, op, ask, low, None
            return
        data = http(ask.method, ask.path, self.key_of(a, op), body_text(ask.body), headers_of(op))
        self.pending = whole, op, ask, low, data
        try:
            a.wire.send(data)
        except Gone:
            if not self.always_keys:
                raise

    def key_of(self, a, op):
        """None, an invalid key, one that was created or revoked since, or the first."""
        auth = op.get("auth")
        if auth in ("none", "garbage", "wrong"):
            return {"none": None, "garbage": "sk_x", "wrong": a.key[:-1] + ("a" if a.key[-1] != "a" else "b")}[auth]
        made = self.thing(a, auth, "Key")
        return made.key.value if made else a.key

    def is_stranger(self, a, op):
        made = self.thing(a, op.get("auth"), "Key")
        return op.get("auth") in ("none", "garbage", "wrong") or (made is not None and bool(made.revoked))

    def finish(self):
        """Raises Mismatch, or stores the finished operation."""
        (whole, op, ask, low, sent), self.pending = self.pending, None
        a, cls = self.accounts[op["who"]], OPERATIONS[op["do"]]
        self.said = text_of(ask)
        if len(self.said) > 1500:
            self.said = f"{self.said[:1500]}... ({len(self.said)} characters)"
        if isinstance(ask, Line):
            good, value = self.commands.receive()
            outcome = "done" if good else value.get("code")
            when = Moment(low, self.clock.now() + SLACK, op["n"])
            self.said += f"\n      -> {value if good else 'refused: ' + dump(value)}"
            want = cls.want(self, a, op, when)
            if good != isinstance(want, Printed):
                wrong = f"want {'success' if isinstance(want, Printed) else want.any_of}"
            else:
                wrong = same(want.value, value) if good else want.refuses(value)
        else:
            answer, again = self.receive(a, sent)
            outcome = answer.status if answer.status < 300 else answer.json.get("code")
            when = Moment(low, self.clock.now() + SLACK, op["n"])
            self.said += f"\n      -> {answer!r}"
            wrong = self.judge(a, op, ask, when, answer, again)
        if wrong:
            raise Mismatch(wrong)
        self.outcomes[op["do"], outcome] += 1
        self.past.append(whole)

    def receive(self, a, sent):
        """(answer, whether it was sent more than once)."""
        again, end = False, time.monotonic() + 60
        while True:
            try:
                answer = a.wire.receive() if a.wire.socket else None
            except Gone:
                answer = None
            if answer is not None and (not self.always_keys or answer.status not in (503, 504, 502)):
                return answer, again
            if not self.always_keys or time.monotonic() > end:
                raise Mismatch(f"no answer: {answer}")
            again = True
            try:
                a.wire.send(sent)
            except (Gone, OSError):
                time.sleep(0.01)

    def judge(self, a, op, ask, when, answer, again):
        key = op.get("key")
        op = self.meant(a, op)
        cls = OPERATIONS[op["do"]]
        if self.is_stranger(a, op):
            return Error((401, "UNAUTHENTICATED", None)).differs(answer)
        if a.suspended and not cls.always:
            return Error((402, "ACCOUNT_SUSPENDED", None)).differs(answer)
        replayed = answer.header(b"idempotency-replayed")
        kept = a.kept.get(key) if key else None
        if kept and (when.low > kept[1].high + DAY or (when.high >= kept[1].low + DAY and replayed is None and
                                                       b"IDEMPOTENCY_KEY_REUSED" not in answer.body)):
            kept = None  # its day is over, or nearly so that both answers are right
        off = cls.function and not a.functions[cls.function]
        if off:
            code = {"webhooks": "FEATURE_DISABLED", "rewards": "REWARDS_DISABLED"}[cls.function]
            return Error((403, code, None)).differs(answer)
        if kept:
            if kept[0] != (ask.method, ask.path, body_text(ask.body)):
                return Error((409, "IDEMPOTENCY_KEY_REUSED", None)).differs(answer)
            if replayed != "true":
                return "want Idempotency-Replayed: true"
            return kept[2]().differs(answer)
        want = cls.want(self, a, op, when)
        wrong = want.differs(answer)
        if not wrong and replayed is not None and not again:
            wrong = "replayed, and never asked before"
        if not wrong and key and answer.status < 300:
            remake = getattr(cls, "again", None)
            want = remake(self, a, op) if remake else lambda: Exact(answer.status, answer.body)
            a.kept[key] = (ask.method, ask.path, body_text(ask.body)), when, want, op
        return wrong

    def meant(self, a, op):
        """For a repeated request: what was sent with that key when it was executed, else itself."""
        if op["do"] != "again":
            return op
        kept = a.kept.get(op["key"])
        return {**(kept[3] if kept else op["op"]), "n": op["n"], "auth": op.get("auth")}

    # Names

    def id_of(self, label, kind, none=NOBODY):
        """The id of the thing of that kind that operation `label` made, or an unknown one."""
        thing = self.things.get(label)
        if thing is None or type(thing).__name__ != kind:
            return none
        value = thing.id
        return (value.value or none) if isinstance(value, Hole) else value

    def thing(self, a, label, kind):
        """The thing itself, if it belongs to this account."""
        thing = self.things.get(label)
        return thing if type(thing).__name__ == kind and thing.account is a else None


def body_text(body):
    return body if body is None or type(body) is str else dump(body)


def headers_of(op):
    return (f"Idempotency-Key: {op['key']}",) if "key" in op else ()


def text_of(ask):
    if isinstance(ask, Line):
        return "stampede " + " ".join(map(str, ask.arguments)) + (f" <<< {ask.stdin}" if ask.stdin else "")
    return f"{ask.method} {ask.path}" + (f" {body_text(ask.body)}" if ask.body is not None else "")


def ready(happened, notify, in_doubt):
    """Called when every noun is imported. Registers the actions of events, and the check for ends that are too near."""
    World.happened, World.notify, World.in_doubt = map(staticmethod, (happened, notify, in_doubt))
    NAMES[:], WEIGHTS[:] = list(OPERATIONS), [cls.weight for cls in OPERATIONS.values()]


NAMES, WEIGHTS = [], []
BODILESS = ("pass_delete", "reward_archive", "reward_delete", "subscription_delete")  # their fields are valid
FACTS = ("pass_create", "pass_loyalty", "scan_create")  # events at which rules may create something


# Shared checks of fields

class Fields:
    """Collects the faults of a body's fields: the error may name any of them."""

    def __init__(self, body, known):
        self.body = {} if body is None else body
        self.faults = [(400, "INVALID_INPUT", key) for key in self.body if key not in known]

    def get(self, name):
        return self.body.get(name)

    def bad(self, field, code="INVALID_INPUT"):
        self.faults.append((400, code, field))

    def need(self, name, good):
        if not good(self.body.get(name)):
            self.bad(name)

    def may(self, name, good):
        if self.body.get(name) is not None and not good(self.body[name]):
            self.bad(name)

    def error(self):
        return Error(*self.faults) if self.faults else None


def is_text(value):
    return type(value) is str


def is_int(value):
    return type(value) is int


def is_object(value):
    return isinstance(value, dict)
