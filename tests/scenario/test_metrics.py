"""/metrics: its format, checked with promtool, and its values."""
import subprocess
from collections import defaultdict

import pytest
from harness import ROOT, wait_for
from metrics import Metrics, fetch, look
from shop import Shop, path_of

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def promtool():
    found = subprocess.run([ROOT / "ops" / "promtool"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"no promtool: {found.stderr}")
    return found.stdout.strip()


def test_promtool_finds_no_fault(till, service, promtool):
    till.create()
    checked = subprocess.run([promtool, "check", "metrics"], input=fetch(service), capture_output=True, text=True,
                             check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_names_follow_the_conventions(service):
    metrics = look(service)
    for name, kind in metrics.types.items():
        assert name.startswith("stampede_"), name
        assert (kind == "counter") == name.endswith("_total"), (name, kind)
        assert not name.endswith(("_ms", "_us", "_milliseconds", "_kb", "_mb")), name
    assert set(metrics.types.values()) == {"counter", "gauge", "histogram"}


def test_memory_of_passes_has_a_bound(new_service):
    service = new_service(shards=1, options=["--memory", str(80 << 20)])
    shop = Shop(service, ("balance",))
    shop.add(shop.create()["id"], 1)
    metrics = look(service)
    assert metrics.sum("stampede_shard_memory_bound_bytes") == 80 << 20
    assert 0 < metrics.sum("stampede_shard_memory_bytes") < 80 << 20
    assert metrics.sum("stampede_shard_memory_evictions_total") == 0


def test_histograms_add_up(till, service):
    till.add(till.create()["id"], 1)
    metrics = look(service)
    buckets = defaultdict(list)
    for (name, labels), value in metrics.values.items():
        if name.endswith("_bucket"):
            bound = float(dict(labels)["le"])
            buckets[name.removesuffix("_bucket"), labels - {("le", dict(labels)["le"])}].append((bound, value))
    assert {name for name, _ in buckets} == {name for name, kind in metrics.types.items() if kind == "histogram"}
    for (name, labels), counts in buckets.items():
        counts.sort()
        assert counts[-1][0] == float("inf"), name
        assert [count for _, count in counts] == sorted(count for _, count in counts), name
        assert counts[-1][1] == metrics.values[name + "_count", labels], name


def test_requests_and_processes_are_counted(new_service):
    service = new_service(shards=2, http_threads=2)
    shop = Shop(service, ("balance",))
    before = look(service)
    ids = [shop.create()["id"] for _ in range(3)]
    for pass_id in ids * 5:
        shop.add(pass_id, 1)
    shop.client.get("/v1/passes/nobody").is_error(404, "RESOURCE_NOT_FOUND")
    shop.client.get("/v1/nothing").is_error(404, "ROUTE_NOT_FOUND")
    shop.client.head(path_of(ids[0]))
    with service.client() as stranger:
        stranger.get("/v1/passes").is_error(401, "UNAUTHENTICATED")
    after = None

    def is_published():  # each thread adds its counts once a turn
        nonlocal after
        after = look(service)
        return (after.sum("stampede_http_requests_total", route="PASS_GET") == 2
                and after.get("stampede_http_connections") == 1)

    wait_for(is_published, 5, "the last request and the closed connection to be counted")

    def more(name, **labels):
        return after.sum(name, **labels) - before.sum(name, **labels)

    requests = "stampede_http_requests_total"
    assert more(requests, route="PASS_CREATE", status="201") == more(requests, route="PASS_CREATE") == 3
    assert more(requests, route="PASS_LOYALTY", status="202") == 15
    assert more(requests, route="PASS_GET", status="404") == more(requests, route="PASS_GET", status="200") == 1
    assert more(requests, route="none", status="404") == more(requests, route="none", status="401") == 1
    duration = "stampede_http_request_duration_seconds"
    assert more(duration + "_count", route="PASS_LOYALTY") == 15
    assert more(duration + "_sum", route="PASS_LOYALTY") > 0
    assert more("stampede_http_frame_calls_sum") >= 21
    assert more("stampede_http_frame_replies_sum") >= 21
    assert more("stampede_shard_sync_duration_seconds_count") == more("stampede_shard_syncs_total") > 0
    assert more("stampede_shard_sync_duration_seconds_sum") > 0
    assert more("stampede_shard_record_commands_count") == more("stampede_shard_batches_total") > 0
    assert more("stampede_shard_record_commands_sum") >= 18
    assert after.get("stampede_http_threads") == 2 and after.get("stampede_http_sessions_up") == 4
    assert after.get("stampede_http_resident_bytes") > 1 << 20
    assert more("stampede_http_cpu_seconds_total") > 0
    shop.close()


def test_a_shard_that_does_not_answer_is_reported(new_service):
    service = new_service(shards=2)
    service.expect_log("level=warn")
    service.cli("account", "create", "--name", "A")
    pid = service.signal("shard", 1, 19)
    metrics = look(service)
    assert [metrics.get("stampede_shard_up", shard=shard) for shard in "01"] == [1, 0]
    assert ("stampede_shard_syncs_total", frozenset({("shard", "1")})) not in metrics.values
    service.signal("shard", 1, 18)
    assert pid == service.pid_of("shard", 1)


def test_the_parser_of_the_tests_is_strict():
    good = "# HELP stampede_a_total A.\n# TYPE stampede_a_total counter\nstampede_a_total 1\n"
    assert Metrics(good).get("stampede_a_total") == 1
    for bad in (good + "stampede_a_total 2\n", good * 2, good + "stampede_b 1\n", good + "stampede_a_total{x=1} 2\n"):
        with pytest.raises(AssertionError):
            Metrics(bad)
