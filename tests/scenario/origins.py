"""A data directory with known contents, and a check that a service on it, or on a copy, has all of them."""
import places
from crowd import Crowd
from harness import Service
from shop import Shop


class Origin:
    """A stopped service's directory with several journal segments, and the clients' record of its contents."""

    def __init__(self, shards, runs):
        self.shards = shards
        self.service = Service(shards=shards).start()
        with Crowd(self.service) as crowd:
            self.crowd = crowd
            for _ in range(runs):
                crowd.await_deltas(40)
                crowd.rest()
                self.fill_segments()
                assert self.service.stop() == 0
                self.service.start()
                crowd.turn_to(self.service)
                crowd.work()
            crowd.await_deltas(40)
            crowd.look()
        assert self.service.stop() == 0

    def fill_segments(self):
        """More than a quarter of a segment on each shard, so that the next start begins another one."""
        for book in self.crowd.by_shard.values():
            for _ in range(6):
                made = book.shop.create(hidden={"filler": "x" * 800_000})
                assert book.shop.client.delete(f"/v1/passes/{made['id']}").status == 204

    def copied(self, new_service):
        """A service on a copy of the directory, not started."""
        service = new_service(start=False, shards=self.shards)
        places.copy(self.service.data, service.data)
        return service

    def close(self):
        assert self.service.close() == []


def holds_everything(origin, service):
    """Starts the service. Everything must be present, survive kill -9 and another start, and writes must succeed."""
    service.start()
    origin.crowd.turn_to(service)
    origin.crowd.look(lists=True)
    service.kill_everything()
    service.start()
    origin.crowd.turn_to(service)
    origin.crowd.look(lists=True)
    shop = Shop(service, ("balance",))
    shop.add(shop.create()["id"], 1)
    shop.close()
