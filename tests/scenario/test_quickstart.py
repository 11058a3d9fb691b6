"""The documents for operators say what happens: their blocks of shell are run, and print what stands below them."""
import re

import pytest
from tour import Tour, start_lines

pytestmark = pytest.mark.plain


@pytest.fixture
def tour(new_service):
    made = Tour(new_service(start=False))
    yield made
    made.close()


def test_quickstart(tour):
    tour.service.expect_log(r"event=died child=shard-\d+ .*signal=9")  # the reader kills it
    tour.follow("ops/docs/quickstart.md")


@pytest.mark.parametrize("page", ["README.md", "ops/docs/tenants.md", "ops/docs/backup.md"])
def test_page(tour, page):
    tour.follow(page)


def test_run_prints_the_lines_of_the_readme(tour):
    printed = tour.serve("./ops/run")
    value = dict(re.findall(r"^(address|API key) +(\S+)$", printed, re.M))
    lines = [line.replace("$key", value["API key"]).replace("$address", value["address"]) for line in start_lines()]
    assert len(lines) == 3
    assert re.findall(r"^curl .*$", printed, re.M) == lines
    assert ". var/demo.env\n" in printed


def test_run_prints_lines_that_work_when_pasted(tour):
    for suffix in ("", "-2"):  # the second time ada is there
        printed = tour.serve("./ops/run")
        answers = tour.paste("\n".join(re.findall(r"^curl .*$", printed, re.M)) + "\n").splitlines()
        assert [answer[-4:] for answer in answers] == [" 201", " 202", " 200"]
        assert f'"id":"ada{suffix}"' in answers[2] and '"balance":25' in answers[2]
