"""Many large passes at once: no frame between processes and no record may exceed its limit, however much is batched."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from shop import Shop, path_of

BIG, MIDDLE = 900_000, 100_000


def at_once(shop, count, method, path, body=lambda i: None):
    """Sends a request over `count` connections at the same time. Returns the statuses."""
    def ask(i):
        with shop.service.client(shop.key) as client:
            return client.request(method, path(i), body(i)).status
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(ask, range(count)))


@pytest.fixture
def own(new_service):
    shop = Shop(new_service(shards=1), ("none",))
    yield shop
    shop.close()


def test_concurrent_reads_of_large_passes(own):
    own.create("big", hidden={"x": "y" * BIG})
    own.create("middle", hidden={"x": "y" * MIDDLE})
    assert at_once(own, 32, "GET", lambda i: path_of("big")) == [200] * 32
    assert at_once(own, 250, "GET", lambda i: path_of("middle")) == [200] * 250
    assert own.client.get("/v1/passes?limit=2").status == 200


def test_concurrent_writes_of_large_passes(own):
    own.create("big", hidden={"x": "y" * BIG})
    change = lambda i: {"hidden": {str(i): i}}
    statuses = at_once(own, 24, "PATCH", lambda i: path_of("big"), change)
    # On a busy machine the last requests may time out. A 503 means that nothing was changed.
    assert set(statuses) <= {204, 503, 504} and statuses.count(204) >= 12, statuses
    kept = own.client.get(path_of("big")).json["hidden"].keys() - {"x"}
    done, unknown = ({str(i) for i, status in enumerate(statuses) if status == each} for each in (204, 504))
    assert done <= kept <= done | unknown, (statuses, kept)
    body = lambda i: {"pass_id": f"n{i}", "visible": {"name": "A"}, "hidden": {"x": "y" * BIG}}
    statuses = at_once(own, 16, "POST", lambda i: "/v1/passes", body)
    # Sixteen exceed the session's credit in bytes. Those beyond it are refused at once and must not be executed.
    assert set(statuses) <= {201, 503, 504} and statuses.count(201) >= 4, statuses
    for i, status in enumerate(statuses):
        seen = own.client.get(path_of(f"n{i}")).status
        assert seen in {201: [200], 503: [404], 504: [200, 404]}[status], (statuses, i, seen)
