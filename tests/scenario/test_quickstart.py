"""The operator's guide is true: the shell blocks of its pages run and print what the pages show."""
import re
import subprocess

import pytest
from harness import ROOT
from metrics import look
from tour import Tour, start_lines

pytestmark = pytest.mark.plain

# Each page that is run, and the log lines above `info` that it causes.
PAGES = {
    "README.md": [],
    "ops/docs/quickstart.md": [r"event=died child=shard-\d+ .*signal=9"],  # the page kills it
    "ops/docs/tenants.md": [],
    "ops/docs/backup.md": [],
    "ops/docs/tls.md": [r"event=reload_refused .*tls\.pem"],  # the page damages the certificate
}
ALERTS = ROOT / "ops/dist/alerts.yml"


@pytest.fixture
def tour(new_service):
    made = Tour(new_service(start=False))
    yield made
    made.close()


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_print_what_it_shows(tour, page):
    for pattern in PAGES[page]:
        tour.service.expect_log(pattern)
    tour.follow(page)


def test_run_prints_the_lines_of_the_readme(tour):
    printed = tour.serve("./ops/run")
    value = dict(re.findall(r"^(address|API key) +(\S+)$", printed, re.M))
    lines = [line.replace("$key", value["API key"]).replace("$address", value["address"]) for line in start_lines()]
    assert len(lines) == 3
    assert re.findall(r"^curl .*$", printed, re.M) == lines
    assert ". var/demo.env\n" in printed


def test_run_prints_lines_that_work_when_pasted(tour):
    for suffix in ("", "-2"):  # the second time, account ada exists
        printed = tour.serve("./ops/run")
        answers = tour.paste("\n".join(re.findall(r"^curl .*$", printed, re.M)) + "\n").splitlines()
        assert [answer[-4:] for answer in answers] == [" 201", " 202", " 200"]
        assert f'"id":"ada{suffix}"' in answers[2] and '"balance":25' in answers[2]


# Links between the documents

def anchors_of(page):
    """The anchors that GitHub derives from headings."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def missing_of(page, link):
    """Why the link is broken; None if it works."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return f"{page.relative_to(ROOT)}: no {name}"
    if anchor and anchor not in anchors_of(target):
        return f"{page.relative_to(ROOT)}: no heading for {link}"
    return None


FOLDERS = ("actors", "bench", "http", "ops", "schemas", "store", "tests")
DOCUMENTS = [ROOT / "README.md", *sorted(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_work(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    assert [missing for link in links if "://" not in link and (missing := missing_of(page, link))] == []


# Alerts

def test_alerts_use_existing_metrics(service):
    later = {"stampede_certificate_not_after_seconds", "stampede_wallet_credential_seconds_left",
             "stampede_wallet_credentials_resting"}  # with TLS; with a credential
    known = set(look(service).types) | later
    asked = set(re.findall(r"\bstampede_[a-z_]+\b", "\n".join(re.findall(r"^ +expr: (.*)$", ALERTS.read_text(), re.M))))
    assert asked
    assert {re.sub("_bucket$", "", name) for name in asked} - known == set()


def test_alerts_link_to_the_runbook():
    text = ALERTS.read_text()
    names, links = re.findall(r"^ +- alert: (\w+)$", text, re.M), re.findall(r"^ +runbook: (\S+)$", text, re.M)
    assert len(names) == len(set(names)) == len(links) > 0
    assert [missing for link in links if (missing := missing_of(ROOT / "README.md", link))] == []


def test_promtool_accepts_the_alerts():
    found = subprocess.run([ROOT / "ops/promtool"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"no promtool: {found.stderr}")
    checked = subprocess.run([found.stdout.strip(), "check", "rules", ALERTS], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
