"""The generated pages of ops/docs: current, complete, and matching a running service. Tables of other pages that repeat
one of the program's."""
import json
import os
import re
import shutil
import ssl
import subprocess

import pytest
from certificates import Authority
from harness import ROOT, build_directory
from hooks import KINDS
from metrics import look
from page import path_of_link
from shop import template_file
from wallets import Apple

pytestmark = pytest.mark.plain
GENERATED = ["ops/docs/configuration.md", "ops/docs/cli.md", "ops/docs/limits.md", "ops/docs/sentences.md", "ops/docs/metrics.md", "http/api.md",
             "ops/dist/stampede.conf"]


def check(root):
    return subprocess.run([ROOT / "ops/docs/generate", "--check", "--root", root], capture_output=True, text=True, check=False,
                          env={**os.environ, "STAMPEDE_BUILD": str(build_directory())})


def test_every_page_is_current():
    done = check(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", GENERATED)
def test_the_check_finds_a_page_that_is_not_current(page, tmp_path):
    for path in GENERATED:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    before, end, behind = (tmp_path / page).read_text().rpartition("<!-- end -->")
    (tmp_path / page).write_text(before + "stale\n" + end + behind)
    done = check(tmp_path)
    assert done.returncode == 1 and done.stdout.startswith(page), done


def ask_for_package(service):
    """Others wait for the first package."""
    made = service.cli("account", "create", "--name", "Shop")
    service.cli("template", "put", made["account_id"], "-", stdin=json.dumps(template_file()))
    with service.client(made["api_key"], tls=ssl._create_unverified_context()) as client:
        issued = client.post("/v1/passes", {"pass_id": "ada", "visible": {"name": "Ada"}}).json
        assert client.get(path_of_link(issued["download_url"]) + "/pass.pkpass").status == 200


def test_the_page_of_metrics_matches_a_service(new_service, tmp_path):
    cert, key = Authority(tmp_path).own()
    service = new_service(shards=1, options=["--tls-cert", str(cert), "--tls-key", str(key)])
    service.cli("wallet", "apple", "put", "--default", *Apple(tmp_path / "apple").options())  # some metrics wait for it
    ask_for_package(service)
    page = (ROOT / "ops/docs/metrics.md").read_text()
    assert set(re.findall(r"^\| `(stampede_\w+)` \|", page, re.M)) == set(look(service).types)


def test_the_page_of_webhooks_has_every_kind_of_event():
    page = (ROOT / "http/webhooks.md").read_text()
    assert re.findall(r"^\| `(\w+\.\w+)` \|", page, re.M) == KINDS


def test_a_service_starts_with_the_sample_configuration(new_service):
    service = new_service(shards=1, options=["--config", str(ROOT / "ops/dist/stampede.conf")])
    assert service.cli("status")["shards"]
