"""A strict parser of /metrics."""
import re

LINE = re.compile(r'^([a-z_]+)(?:\{([^}]*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="([^"]*)"')


def fetch(service):
    with service.admin() as admin:
        answer = admin.get("/metrics")
    assert answer.status == 200, answer
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4"), answer
    return answer.body.decode()


class Metrics:
    """`types` maps metrics to types; `values` maps (sample name, frozenset of label pairs) to values."""

    def __init__(self, text):
        self.types, self.values, helped = {}, {}, set()
        name = None
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ", 3)[2]
                assert name not in helped and len(line.split(" ", 3)) == 4, line
                helped.add(name)
            elif line.startswith("# TYPE "):
                _, _, typed, kind = line.split(" ")
                assert typed == name and typed not in self.types, line
                self.types[typed] = kind
            else:
                self.add(line, name)

    def add(self, line, name):
        match = LINE.match(line)
        assert match, line
        assert match[1] == name or (self.types[name] == "histogram" and match[1] in
                                    (name + "_bucket", name + "_sum", name + "_count")), line
        key = match[1], frozenset(LABEL.findall(match[2] or ""))
        assert key not in self.values, line
        self.values[key] = float(match[3])

    def get(self, name, **labels):
        return self.values.get((name, frozenset(labels.items())), 0)

    def by(self, name, label):
        """{value of the label: value of the sample}."""
        return {dict(labels)[label]: value for (sample, labels), value in self.values.items() if sample == name}

    def sum(self, name, **labels):
        wanted = set(labels.items())
        return sum(value for (sample, has), value in self.values.items() if sample == name and wanted <= has)


def look(service):
    return Metrics(fetch(service))


def told_of(service):
    """The samples that are not 0, without histogram buckets, for failure messages."""
    return "\n".join(line for line in fetch(service).splitlines()
                     if not line.startswith("#") and "_bucket{" not in line and not line.endswith(" 0"))
