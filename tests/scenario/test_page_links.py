"""The links of passes over the life of a data directory: effects of a restore, and which keys the process that serves
links has."""
import hashlib
import hmac
import os
import re

import pytest
from page import Page, fetch, path_of_link
from shop import Shop


def restored(new_service, backup):
    service = new_service(start=False, shards=1)
    service.cli("restore", "--from", backup)
    return service.start()


def make_named(client, name):
    answer = client.post("/v1/passes", {"pass_id": name, "visible": {"name": name}})
    assert answer.status == 201, answer
    return path_of_link(answer.json["download_url"])


def holders(client, links):
    """The pass that each link opens; None if the link is invalid."""
    shown = {}
    for name, link in links.items():
        answer = fetch(client, link)
        shown[name] = Page(answer).fields[1][1] if answer.status == 200 else Page(answer, 404) and None
    return shown


def test_a_link_from_before_a_restore_opens_no_pass_created_after_it(new_service, tmp_path):
    """Both passes have the same number, account and master key."""
    service = new_service(shards=1)
    shop = Shop(service, ("balance",))
    links = {"before": make_named(shop.client, "before")}
    assert service.cli("backup", tmp_path / "first") == {}
    links["lost"] = make_named(shop.client, "lost")
    shop.close()
    assert service.stop() == 0

    second = restored(new_service, tmp_path / "first")
    with second.client(shop.key) as client:
        links["second"] = make_named(client, "second")
        assert len(set(links.values())) == 3
        assert holders(client, links) == {"before": "before", "lost": None, "second": "second"}
    assert second.cli("backup", tmp_path / "second") == {} and second.cli("verify")["ok"] is True
    assert second.stop() == 0

    third = restored(new_service, tmp_path / "second")  # a backup of the restored directory, restored again
    with third.client(shop.key) as client:
        links["third"] = make_named(client, "third")
        want = {"before": "before", "lost": None, "second": "second", "third": "third"}
        assert holders(client, links) == want
        third.kill_everything()
        third.expect_log("event=died")
        third.start()
        client.address = third.http
        assert holders(client, links) == want
    assert third.stop() == 0

    other = restored(new_service, tmp_path / "first")  # the first backup, restored once more
    with other.client(shop.key) as client:
        links["other"] = make_named(client, "other")
        assert holders(client, links) == {"before": "before", "lost": None, "second": None, "third": None, "other": "other"}


def derived(master, purpose):
    """HKDF-SHA256 of 32 bytes without a salt."""
    extracted = hmac.digest(bytes(32), master, hashlib.sha256)
    return hmac.digest(extracted, purpose.encode() + b"\x01", hashlib.sha256)


def holds(pid, secrets):
    """Those of the keys that are in the process's writable memory."""
    found = set()
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end, rights = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line).groups()
            if "w" not in rights or int(begin, 16) >> 47:
                continue
            try:
                content = os.pread(memory.fileno(), int(end, 16) - int(begin, 16), int(begin, 16))
            except OSError:  # some mappings cannot be read
                continue
            found |= {name for name, secret in secrets.items() if secret in content}
    return found


@pytest.mark.plain  # a sanitizer keeps freed memory
def test_the_process_that_serves_links_has_no_key_of_secrets(new_service):
    service = new_service(shards=1)
    shop = Shop(service, ("balance",), functions=("--webhooks",))
    assert Page(fetch(shop.client, shop.create()["download_url"])).status == "issued"
    lineage = dict(line.split("=") for line in (service.data / "identity").read_text().splitlines())["lineage"]
    master = (service.data / "master.key").read_bytes()
    secrets = {"master": master, "links": derived(master, f"stampede download links 1 {lineage}"),
               "webhooks": derived(master, "stampede webhook secrets 1")}
    try:
        assert holds(service.pid_of("http"), secrets) == {"links"}
    except PermissionError:
        pytest.skip("the memory of other processes cannot be read")
    assert holds(service.pid_of("shard"), secrets) == {"links", "webhooks"}
    assert holds(service.pid_of("timer"), secrets) == set()
    shop.close()
