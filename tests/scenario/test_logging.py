"""The log: it never blocks the service, has two formats, and shows one request in all processes."""
import json
import os
import re
import signal

import outputs
import pytest
from client import Client
from harness import LOG_LINE, wait_for
from metrics import look
from patience import PATIENCE
from shop import Shop, path_of

pytestmark = pytest.mark.plain

PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^ "]*)(?: |$)')


def fields(line):
    """Parses a line of logfmt strictly: every byte must belong to a field."""
    at, found = 0, {}
    while at < len(line):
        match = PAIR.match(line, at)
        assert match and match[1] not in found, line
        found[match[1]] = re.sub(r"\\(.)", r"\1", match[2][1:-1]) if match[2].startswith('"') else match[2]
        at = match.end()
    return found


def events(service, event):
    return [fields(line) for line in service.log_lines() if f" event={event} " in line + " "]


@pytest.fixture(params=sorted(outputs.KINDS))
def output(request):
    made = outputs.KINDS[request.param]()
    yield made
    made.close()


@pytest.fixture
def small_pipe():
    made = outputs.pipe()
    yield made
    made.close()


# Nobody reads the log

def test_an_unread_log_does_not_block_the_service(new_service, output):
    service = new_service(start=False, shards=1).start(log=output.fd)
    shop = Shop(service)
    output.fill()
    for _ in range(3):  # each kill logs a line for the death and one for the start
        service.kill_child("shard", 0)
    shop.create()
    service.kill_child("http")
    shop.client.close()
    with Client(service.http, shop.key) as client:
        assert client.get("/v1/passes").status == 200
    assert output.is_as_it_was()
    assert service.stop() == 0


def test_every_process_drops_and_counts_unread_lines(new_service, small_pipe):
    service = new_service(start=False, shards=1)
    service.variables["STAMPEDE_TRACE"] = "frames"  # makes every process log much
    service.start(log=small_pipe.fd)
    shop = Shop(service)
    for _ in range(50):
        shop.create()

    def dropped(role):
        return look(service).get("stampede_log_lines_dropped_total", role=role)

    for role in ("supervisor", "shard", "timer", "http"):
        wait_for(lambda role=role: dropped(role) > 0, 10, f"lines that {role} dropped")
    before = {role: dropped(role) for role in ("shard", "http")}
    service.kill_child("shard", 0)
    service.kill_child("http")
    for role, count in before.items():
        assert dropped(role) >= count, "the count survives a restart of the process"
    assert service.stop() == 0
    lines = small_pipe.read_all().splitlines()
    assert lines and all(LOG_LINE.match(line) for line in lines)


def test_lines_are_complete_and_dropped_lines_are_reported(new_service, output):
    service = new_service(start=False, shards=1)
    service.variables["STAMPEDE_TRACE"] = "frames"
    service.start(log=output.fd)
    shop = Shop(service)
    output.hold()
    for _ in range(2):
        before = look(service).sum("stampede_log_lines_dropped_total")

        def drops():
            for _ in range(100):
                shop.create()
            return look(service).sum("stampede_log_lines_dropped_total") > before + 5
        wait_for(drops, 60, "dropped lines")
    output.release()
    reader = outputs.Reader(output)
    wait_for(lambda: b"event=log_lines_dropped" in reader.text, 10, "the line that reports dropped lines")
    assert service.stop() == 0
    os.close(output.fd)
    reader.thread.join(10 * PATIENCE)
    assert all(LOG_LINE.match(line) and fields(line)["pid"] for line in reader.lines())
    told = [fields(line) for line in reader.lines() if "event=log_lines_dropped" in line]
    assert all(line["level"] == "warn" and int(line["count"]) > 0 for line in told)


def test_a_closed_log_pipe_does_not_end_the_service(new_service, output):
    service = new_service(start=False, shards=1).start(log=output.fd)
    shop = Shop(service)
    os.close(output.reader)
    service.kill_child("shard", 0)
    shop.create()
    assert service.stop() == 0


def test_the_readiness_line_is_written_once_stdout_is_read(new_service, small_pipe):
    """Standard output is full when the service becomes ready. The service must not wait for it."""
    service = new_service(start=False, shards=1)
    small_pipe.fill()
    service.start(wait=False, out=small_pipe.fd)
    (ready,) = wait_for(lambda: events(service, "ready"), 20, "the log to report readiness")
    with Client(ready["admin"].rsplit(":", 1), None, request_ids=False) as admin:
        assert admin.get("/readyz").status == 200
    reader = outputs.Reader(small_pipe)
    wait_for(lambda: re.search(rb"^ready http=\S+ admin=\S+ pid=%d\n" % service.process.pid, reader.text, re.M), 10,
             "the readiness line")
    assert service.stop() == 0


# Formats and levels

def test_json_lines_have_the_same_keys_as_logfmt(new_service):
    plain, service = new_service(shards=1), new_service(shards=1, options=("--log-format", "json"))
    for one in (plain, service):
        one.expect_log(".")
        Shop(one).create()
        one.kill_child("shard", 0)
        assert one.stop() == 0
    lines = [json.loads(line) for line in service.log_lines()]
    assert all(isinstance(value, (str, int)) for line in lines for value in line.values())
    assert {line["role"] for line in lines} == {"supervisor", "http", "shard", "timer"}

    def keys(lines):
        return {(line["role"], line["event"]): list(line) for line in lines}

    assert keys(lines) == keys([fields(line) for line in plain.log_lines()])


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a b=c level=fatal", "a\nb\x01", "a\x7f", "é€😀", os.fsdecode(b"a\xff\xc3(b"),
                                  "{}[]:,", "%s%n%d"])
def test_json_is_valid_for_any_value(new_service, name):
    service = new_service(start=False, options=("--log-format", "json"))
    service.expect_log(".")
    missing = os.path.join(os.fsencode(service.home), os.fsencode(name), b"log")
    service.start(wait=False, command=[*service.command(), "--access-log", missing])
    assert service.process.wait(20 * PATIENCE) == 1
    service.process = None
    (line,) = service.log_path.read_bytes().splitlines()
    told = json.loads(line)
    assert (told["level"], told["event"], told["option"]) == ("fatal", "bad_option", "--access-log")
    assert told["file"] == missing.decode(errors="replace")
    assert list(told)[-3:] == ["option", "file", "error"]


def test_logfmt_quotes_and_escapes_values(new_service):
    service = new_service(start=False)
    service.expect_log(".")
    missing = str(service.home / 'a" level="info' / "log")
    service.start(wait=False, command=[*service.command(), "--access-log", missing])
    assert service.process.wait(20 * PATIENCE) == 1
    service.process = None
    (line,) = service.log_lines()
    assert fields(line)["level"] == "fatal" and fields(line)["file"] == missing


@pytest.mark.parametrize("level, shown", [("info", {"info", "warn"}), ("warn", {"warn"}), ("fatal", set())])
def test_a_level_omits_lower_levels(new_service, level, shown):
    service = new_service(shards=1, options=("--log-level", level))
    service.expect_log("level=warn")
    service.kill_child("shard", 0)
    assert service.stop() == 0
    assert {fields(line)["level"] for line in service.log_lines()} == shown


def test_format_and_level_in_a_configuration_file(new_service):
    service = new_service(start=False, shards=1)
    (service.home / "config").write_text("log-format = json\nlog-level = info\naccess-log = -\n")
    service.options += ["--config", service.home / "config"]
    service.expect_log(".")
    service.start()
    Shop(service).create()
    assert service.stop() == 0
    lines = [json.loads(line) for line in service.log_lines()]
    assert {line.get("role") for line in lines} == {"supervisor", "http", "shard", "timer", None}
    assert [line["route"] for line in lines if "route" in line] == ["/v1/passes"]


@pytest.mark.parametrize("option, value", [("--log-format", "xml"), ("--log-format", ""), ("--log-level", "debug"),
                                           ("--log-level", "panic")])
def test_other_values_are_refused(new_service, option, value):
    done = new_service(start=False).run("serve", option, value)
    assert done.returncode == 2 and option in done.stderr and not done.stdout


# One request in several processes

def test_a_504_is_logged_with_its_request_id(new_service):
    service = new_service(shards=2)
    service.expect_log("level=warn")
    shop = Shop(service)
    pass_id = shop.create()["id"]
    index = shop_shard(service, shop)
    os.kill(stopped := service.pid_of("shard", index), signal.SIGSTOP)
    answer = shop.client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": 1}, headers={"X-Request-Id": 'mine="x"'})
    answer.is_error(504, "OUTCOME_UNKNOWN")
    os.kill(stopped, signal.SIGCONT)
    (line,) = events(service, "outcome_unknown")
    assert (line["role"], line["level"], line["shard"], line["route"]) == ("http", "info", str(index), "PASS_LOYALTY")
    assert line["request_id"] == 'mine="x"' == answer.json["request_id"]
    assert int(line["us"]) > 5_000_000
    # When the shard continues, it finds the expired call and logs it.
    (late,) = wait_for(lambda: events(service, "call_late"), 10, "the shard to log the late call")
    assert (late["role"], late["index"], late["message"]) == ("shard", str(index), "PASS_LOYALTY")
    assert late["request_id"] == 'mine="x"'
    assert shop.get(pass_id)["balance"] == 0


def shop_shard(service, shop):
    """The index of the only shard that has passes."""
    (index,) = [shard["index"] for shard in service.status()["shards"] if shard["passes"]]
    return index


def test_the_longest_request_id_is_logged_completely(new_service):
    service = new_service(shards=1)
    service.expect_log("level=warn")
    shop = Shop(service)
    pass_id, own = shop.create()["id"], "x" * 126 + '\\"'
    os.kill(stopped := service.pid_of("shard", 0), signal.SIGSTOP)
    shop.client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": 1}, headers={"X-Request-Id": own})
    os.kill(stopped, signal.SIGCONT)
    wait_for(lambda: [line for line in events(service, "call_late") if line["request_id"] == own], 10, "the id")


# Traces

def test_a_trace_logs_each_frame_at_both_ends(new_service):
    service = new_service(start=False, shards=1)
    service.variables["STAMPEDE_TRACE"] = "frames"
    service.start()
    shop = Shop(service)
    shop.create()
    assert service.stop() == 0
    frames = [line for line in events(service, "frame")]
    assert all(set(line) >= {"direction", "kind", "count", "bytes", "peer"} for line in frames)

    def seen(role, direction, kind, peer):
        return [(line["count"], line["bytes"]) for line in frames
                if (line["role"], line["direction"], line["kind"], line["peer"]) == (role, direction, kind, peer)]

    for kind, ends in (("hello", ("http", "shard")), ("calls", ("http", "shard")), ("replies", ("shard", "http"))):
        sent = seen(ends[0], "sent", kind, ends[1] + "-0")
        assert sent and sent == seen(ends[1], "received", kind, ends[0] + "-0"), kind
    assert any(int(count) == 1 for count, _ in seen("http", "sent", "calls", "shard-0"))
    assert seen("timer", "sent", "calls", "shard-0")
    assert seen("supervisor", "received", "calls", "http-0") and seen("shard", "received", "calls", "cli-" + cli_of(frames))


def cli_of(frames):
    return next(line["peer"] for line in frames if line["peer"].startswith("cli-"))[4:]


def test_without_the_variable_no_frames_are_traced(new_service):
    service = new_service(start=False, shards=1)
    service.variables["STAMPEDE_TRACE"] = "else"
    service.start()
    Shop(service).create()
    assert service.stop() == 0
    assert not events(service, "frame")
