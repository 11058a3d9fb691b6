"""Imports: files of rows, the results of an import, and running imports."""
import json
import subprocess
from pathlib import Path

from client import Client
from harness import wait_for
from patience import PATIENCE


class Import:
    """An import file, the output of the import and the files that it left."""

    def __init__(self, shop, path, done):
        self.path = path
        self.status = done.returncode
        self.stdout, self.stderr = done.stdout, done.stderr
        self.counts = json.loads(done.stdout) if done.returncode == 0 else None
        self.failed = read(path, ".failed")
        self.errors = read(path, ".errors")
        if self.counts is not None:
            assert set(self.counts) == {"created", "failed"}
            assert (self.counts["failed"] == 0) == (self.failed is None) == (self.errors is None)

    @property
    def refusal(self):
        assert (self.status, self.stdout) == (1, ""), self.stderr
        refusal = json.loads(self.stderr)
        assert set(refusal) - {"field"} == {"code", "message"}
        return refusal


def read(path, suffix):
    file = Path(f"{path}{suffix}")
    return file.read_bytes() if file.is_file() else None


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def run(shop, path, *options):
    done = shop.service.run("pass", "import", shop.account, path, *options, seconds=100)
    return Import(shop, path, done)


def jsonl(bodies):
    return "".join(json.dumps(body) + "\n" for body in bodies)


def bodies(count, prefix="r"):
    return [{"pass_id": f"{prefix}{i}", "visible": {"name": f"Ada {i}", "visits": i}} for i in range(count)]


def ids_in_order(shop):
    """Every pass of the account, oldest first."""
    ids, more = [], True
    while more:
        passes, _, more = shop.list(f"?limit=100&offset={len(ids)}")
        ids += [made["id"] for made in passes]
    return ids[::-1]


class Running:
    """A running import."""

    def __init__(self, shop, path, *options, **popen):
        self.shop, self.path = shop, path
        command = [shop.service.program, "pass", "import", shop.account, path, "--data", shop.service.data, *options]
        # Without the mark of the service's processes, since it may outlive them.
        self.process = subprocess.Popen(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **popen})

    def created(self):
        with Client(self.shop.service.http, self.shop.key) as client:
            answer = client.get("/v1/passes?limit=1")
            return int(answer.headers["x-total-count"]) if answer.status == 200 else 0

    def wait_created(self, count):
        wait_for(lambda: self.created() >= count or self.process.poll() is not None, 60, f"{count} passes of the import")
        assert self.created() >= count, "the import ended too early"

    def end(self, seconds=60):
        stdout, stderr = self.process.communicate(timeout=seconds * PATIENCE)
        done = subprocess.CompletedProcess((), self.process.returncode, stdout, stderr)
        return Import(self.shop, self.path, done)


def rows_with_doubles(count):
    """Every tenth row repeats the row before it, every hundredth repeats a much earlier row, every fiftieth is invalid."""
    rows, wrong = [], []
    for i in range(count):
        row = {"pass_id": f"k{i}", "visible": {"name": "Ada"}}
        if i % 10 == 9:
            row = dict(rows[-1])
        if i % 100 == 60:
            row = dict(rows[i // 2 // 10 * 10])
        if i % 50 == 25:
            row = {"pass_id": f"k{i}", "visible": {"nme": "Ada"}}
        rows.append(row)
        if i % 10 == 9 or i % 100 == 60 or i % 50 == 25:
            wrong.append(row)
    return rows, wrong


def check_whole(shop, got, rows, wrong, in_order=True):
    """Each valid row was created once, in order. Each invalid row is in the file of failures, in order."""
    assert got.status == 0, got.stderr
    assert got.counts == {"created": len(rows) - len(wrong), "failed": len(wrong)}
    assert got.failed.decode() == jsonl(wrong)
    failed = [row["pass_id"] for row in wrong if "nme" in row["visible"]]
    want = [name for name in dict.fromkeys(row["pass_id"] for row in rows) if name not in failed]
    assert ids_in_order(shop) == want if in_order else sorted(ids_in_order(shop)) == sorted(want)
    assert shop.list("?limit=1&include_deleted=true")[1] == len(want), "a row was created twice"
    assert shop.service.cli("verify")["ok"]
