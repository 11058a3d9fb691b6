"""Expected values of answers: JSON values with holes for what only the service knows (ids, secrets, times).

A hole is filled at its first comparison, after a check of its form, and is exact afterwards. A `Moment` is the time of
one command: first known to be between two instants, then to the millisecond. `same` reports how two values differ; it
distinguishes an integer from a boolean, and a number from its other spellings."""
import json
import re
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MS, SECOND, DAY = 1000, 10**6, 86400 * 10**6
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Num(str):
    """A number that is not a plain integer, as it is written."""

    def __repr__(self):
        return f"Num({str(self)!r})"


class Later:
    """A time that is a number of microseconds after the operation, whenever that runs: a whole second, or half a second
    more in another spelling."""

    def __init__(self, micros, half=False):
        self.micros, self.half = micros, half

    def at(self, now):
        text = time_text(now // SECOND * SECOND + self.micros)
        return text.replace(".000Z", ".5+00:00") if self.half else text


def settled(value, now):
    """A copy of an operation or a part of it in which each Later has its time."""
    if isinstance(value, Later):
        return value.at(now)
    if isinstance(value, dict):
        return {key: settled(member, now) for key, member in value.items()}
    return [settled(member, now) for member in value] if isinstance(value, list) else value


def dump(value):
    """JSON text of a value, numbers as they are written, keys in their order."""
    kind = type(value)
    if kind is Num:
        return str(value)
    if kind is Later:
        return f'"{value.micros // SECOND} seconds later"'
    if kind is dict:
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{dump(member)}" for key, member in value.items()) + "}"
    if kind is list:
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def load(text):
    return json.loads(text, parse_float=Num)


def time_text(micros):
    """RFC 3339 with milliseconds, as the interface writes times."""
    return (EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def time_of(text):
    """Microseconds of any RFC 3339 time."""
    span = datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH
    return (span.days * 86400 + span.seconds) * SECOND + span.microseconds


class Mismatch(Exception):
    """The answer differs from the model."""


class Hole:
    """A value that the service chooses; `form` is a check of its form."""

    def __init__(self, form=UUID):
        self.form, self.value = form, None

    def meet(self, value):
        if self.value is not None:
            return self.value == value
        if not isinstance(value, str) or not self.form.fullmatch(value):
            return False
        self.value = value
        return True

    def __repr__(self):
        return f"<{self.value or self.form.pattern}>"


class Moment(Hole):
    """When a command was decided: within [low, high] microseconds; once seen, to one millisecond."""

    def __init__(self, low, high, n=0):
        super().__init__(RFC3339)
        self.low, self.high, self.n = low, high, n  # n: the number of the command

    def meet(self, value):
        if self.value is not None:
            return self.value == value
        if not isinstance(value, str) or not RFC3339.fullmatch(value):
            return False
        at = time_of(value)
        if at + MS <= self.low or at > self.high:
            return False
        self.low, self.high, self.value = max(at, self.low), min(at + MS - 1, self.high), value
        return True

    def __repr__(self):
        return f"<{self.value or time_text(self.low) + '..' + time_text(self.high)}>"


class Spaced(Hole):
    """A moment in the space-separated form, which shows microseconds, so that it is then known exactly."""
    SPACED = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{6}) \+0000 UTC")

    def __init__(self, moment):
        super().__init__(self.SPACED)
        self.moment = moment

    def meet(self, value):
        match = isinstance(value, str) and self.SPACED.fullmatch(value)
        at = match and time_of(f"{match[1]}T{match[2]}Z")
        if not match or not self.moment.low <= at <= self.moment.high:
            return False
        self.moment.low = self.moment.high = at
        return self.moment.value in (None, time_text(at))


class Zoned(Hole):
    """A moment as notifications show it."""
    ZONED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d")

    def __init__(self, moment):
        super().__init__(self.ZONED)
        self.moment = moment

    def meet(self, value):
        if not isinstance(value, str) or not self.ZONED.fullmatch(value):
            return False
        at = time_of(value)
        return zoned_text(at) == value and self.moment.meet(time_text(at))


MEXICO = ZoneInfo("America/Mexico_City")


def zoned_text(micros):
    return (EPOCH + timedelta(microseconds=micros)).astimezone(MEXICO).isoformat(timespec="milliseconds")


class After(Hole):
    """A moment plus a number of seconds."""

    def __init__(self, moment, seconds):
        super().__init__(RFC3339)
        self.moment, self.span = moment, seconds * SECOND

    low = property(lambda self: self.moment.low + self.span)
    high = property(lambda self: self.moment.high + self.span)

    def meet(self, value):
        """The moment itself is compared first: same() leaves these for last."""
        if self.moment.value is None:
            return isinstance(value, str) and RFC3339.fullmatch(value) and \
                self.low - MS < time_of(value) <= self.high and self.moment.meet(time_text(time_of(value) - self.span))
        return value == time_text(time_of(self.moment.value) + self.span)

    def __repr__(self):
        return f"<{self.moment!r} + {self.span // SECOND} s>"


class Fixed(Hole):
    """A time given by a client, as the interface shows it."""

    def __init__(self, micros):
        super().__init__(RFC3339)
        self.low = self.high = micros
        self.value = time_text(micros)


class Ordered(dict):
    """An object whose keys keep their order."""


def same(want, got, where="", late=None):
    """None if equal, else where and how they differ. Holes of `want` are filled from `got`."""
    first = late is None
    late = [] if first else late
    if isinstance(want, Hole):
        if isinstance(want, After):
            late.append((want, got, where))
        elif not want.meet(got):
            return f"{where or 'value'}: want {want!r}, got {got!r}"
    elif isinstance(want, dict):
        if type(got) is not dict or want.keys() != got.keys():
            return f"{where or 'object'}: want {want!r}, got {got!r}"
        if type(want) is Ordered and list(want) != list(got):
            return f"{where}: want the order {list(want)}, got {list(got)}"
        for key, member in want.items():
            other = got[key]
            if member is other or (type(member) is type(other) and type(member) in (str, int, Num, bool) and member == other):
                continue
            wrong = same(member, other, f"{where}.{key}", late)
            if wrong:
                return wrong
    elif isinstance(want, list):
        if type(got) is not list or len(want) != len(got):
            return f"{where or 'list'}: want {len(want)} {want!r}, got {got!r}"
        for number, (member, other) in enumerate(zip(want, got)):
            wrong = same(member, other, f"{where}[{number}]", late)
            if wrong:
                return wrong
    elif type(want) is not type(got) or want != got:
        return f"{where or 'value'}: want {want!r}, got {got!r}"
    if first:
        for hole, value, place in late:
            if not hole.meet(value):
                return f"{place}: want {hole!r}, got {value!r}"
    return None
