"""Fixtures. `service` is shared by all tests that only use it. A test that kills or configures processes makes its own
with `new_service`. After every test the log is checked: a line above `info` that was not announced fails the test.
"""
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from certificates import Authority  # noqa: E402
from deliveries import options  # noqa: E402
from drive import LOOPBACK  # noqa: E402
from harness import ROOT, Service, build_directory, serve_to_the_end  # noqa: E402
from images import Gallery  # noqa: E402
from names import Names  # noqa: E402
from origins import Origin  # noqa: E402
from receiver import Mute, Receiver  # noqa: E402
from shop import Shop  # noqa: E402
from wallets import Apple  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: says little beyond its neighbours; runs only with STAMPEDE_SLOW=1")
    # A shell starts background jobs with SIGINT ignored, and the programs under test would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "drawn(n): with STAMPEDE_DRAWN=1 one of n cases runs, drawn by STAMPEDE_SEED")
    config.addinivalue_line("markers", "alone: about a bound of milliseconds or seconds that no slow machine stretches")
    config.addinivalue_line("markers", "plain: about time, disks, or words; the sanitizers have nothing to say of it")
    is_prepared = "STAMPEDE_BUILT" in os.environ or "STAMPEDE_PROGRAM" in os.environ  # by ops/test, or for a control
    if not (is_prepared or hasattr(config, "workerinput") or config.option.collectonly):
        build_program()


def build_program():
    """An edited file would otherwise be tested as it was at the last build. Runs beside each other build one after the other."""
    build = build_directory()
    if not (build / "build.ninja").exists():
        pytest.exit(f"{build} is no build directory: meson setup {build}", returncode=1)
    with open(build / "build.ninja", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run(["ninja", "--quiet", "-C", build], stdout=sys.stderr, check=False)
    if done.returncode:
        pytest.exit("the program cannot be built", returncode=1)


# The files that take longest on an idle machine run first, longest first, so that no worker still runs one at the end.
LONGEST = [f"test_{name}.py" for name in (
    "wallet_google", "wallet_classes", "slow_disk", "wallet_pushes", "import_faults", "egress", "stalls", "wallet_offers",
    "moves", "damage", "cleanup", "mistakes", "starts", "strangers", "openapi", "processes", "wallet_meanwhile",
    "wallet_issuers", "issuance", "durability", "logging", "hostile_bodies", "reload", "backup", "master_key",
    "reload_options", "template_images", "status", "unread_answers", "two_shards", "deliveries", "crash_states")]


def turn_of(item):
    return LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST)


def not_drawn(items):
    """Cases that this seed does not draw. A test with a single selected case always runs it."""
    cases = {}
    if not os.environ.get("STAMPEDE_DRAWN"):
        return
    for item in items:
        if item.get_closest_marker("drawn"):
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    for name, all_of_them in cases.items():
        share = -(-len(all_of_them) // all_of_them[0].get_closest_marker("drawn").args[0])
        drawn = random.Random(os.environ.get("STAMPEDE_SEED", "0") + name).sample(range(len(all_of_them)), share)
        yield from (item for number, item in enumerate(all_of_them) if number not in drawn)


def pytest_collection_modifyitems(items):
    items.sort(key=turn_of)
    if os.environ.get("STAMPEDE_SLOW"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: set STAMPEDE_SLOW=1"))
    for item in not_drawn(items):
        item.add_marker(pytest.mark.skip(reason="not drawn by this STAMPEDE_SEED"))


@pytest.fixture(scope="session")
def shared_service():
    yield from serve_to_the_end()


@pytest.fixture
def service(shared_service):
    yield shared_service
    assert shared_service.unexpected_lines() == []


@pytest.fixture(scope="module")
def origin_of_two():
    """A stopped service's data directory of two shards, which tests copy."""
    made = Origin(shards=2, runs=1)
    yield made
    made.close()


@pytest.fixture
def new_service():
    """Makes services for one test: new_service(shards=1, options=[...]). They are stopped when it ends."""
    services = []

    def make(start=True, **options):
        services.append(Service(**options))
        return services[-1].start() if start else services[-1]

    yield make
    unexpected = []
    for service in services:
        unexpected += service.close()
    assert unexpected == []


@pytest.fixture
def own(new_service):
    """A shop on its own service with one shard and one http thread."""
    shop = Shop(new_service(shards=1), ("balance",))
    yield shop
    shop.close()


@pytest.fixture
def clocked(new_service):
    """Like `own`, with a clock that the test can move."""
    shop = Shop(new_service(shards=1, options=["--test-clock"]), ("balance",))
    yield shop
    shop.close()


@pytest.fixture(scope="module")
def module_services():
    """Like new_service, with services that live as long as the module."""
    services = []

    def make(**options):
        services.append(Service(**options).start())
        return services[-1]

    yield make
    unexpected = []
    for service in services:
        unexpected += service.close()
    assert unexpected == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """(certificate, key) for 127.0.0.1, as files."""
    place = tmp_path_factory.mktemp("tls")
    cert, key = place / "cert.pem", place / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True,
                   capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def module_service(module_services):
    return module_services()


@pytest.fixture
def service_of_wallets(module_service):
    """Like `service`, for tests that put credentials: a service never forgets that there were some, and the shared one is to
    have no paths of wallets."""
    yield module_service
    assert module_service.unexpected_lines() == []


@pytest.fixture(scope="module")
def apple(tmp_path_factory):
    """Makes certificates as Apple does."""
    return Apple(tmp_path_factory.mktemp("apple"))


@pytest.fixture
def new_shop(service):
    """Makes accounts on the shared service: new_shop("balance", "none")."""
    shops = []

    def make(*templates, **options):
        shops.append(Shop(service, templates, **options))
        return shops[-1]

    yield make
    for shop in shops:
        shop.close()


@pytest.fixture
def shop(new_shop):
    return new_shop("balance")


@pytest.fixture(scope="module")
def module_shop(shared_service):
    """One account with a template of each type, shared by a module's table tests; a new account for each row would be
    slow."""
    shop = Shop(shared_service, ("balance", "stamps", "none"), functions=("--webhooks", "--rewards"))
    yield shop
    shop.close()


@pytest.fixture
def till(module_shop, service):
    """module_shop, with the log checked after each test."""
    assert service is module_shop.service
    return module_shop


# Endpoints of webhooks and images

@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def chain(authority):
    return authority.leaf()


@pytest.fixture
def receiver(chain):
    with Receiver(chain) as receiver:
        yield receiver


@pytest.fixture
def gallery(chain):
    with Gallery(chain) as gallery:
        yield gallery


@pytest.fixture(scope="module")
def ticking(module_services, authority):
    """Calls endpoints on this host, and has a clock that the tests can move."""
    return module_services(shards=1, options=options(authority, "--test-clock"))


@pytest.fixture(scope="module")
def issuing(module_services, authority):
    """Fetches images from a gallery."""
    return module_services(options=options(authority))


@pytest.fixture(scope="session")
def verify():
    """Runs the public Standard Webhooks verifier on deliveries {secret, headers, body}. Each result is "ok" or the
    error."""
    found = subprocess.run([ROOT / "ops" / "standardwebhooks"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"no verifier: {found.stderr}")
    env = {**os.environ, "NODE_PATH": found.stdout.strip() + "/node_modules"}

    def verdicts(deliveries):
        run = subprocess.run(["node", ROOT / "tests/scenario/verify_webhook.js"], env=env, capture_output=True, text=True,
                             input="".join(json.dumps(one) + "\n" for one in deliveries), check=True)
        return run.stdout.splitlines()

    return verdicts


@pytest.fixture
def trusting(authority):
    return ["--ca", authority.root, *LOOPBACK]


@pytest.fixture
def names():
    names = Names()
    yield names
    names.close()


@pytest.fixture
def mute():
    mute = Mute()
    yield mute
    mute.close()


@pytest.fixture
def bare(new_service, tmp_path):
    """(start, folder): start() runs a service on a host without root certificates; `folder` stands in for
    /etc/ssl/certs."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("mount namespaces are not available")
    folder = tmp_path / "etc-ssl-certs"
    folder.mkdir()

    def start(*options):
        service = new_service(start=False, options=options)
        service.start(command=["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/ssl/certs && exec "$@"', folder,
                               *service.command()])
        return service

    yield start, folder
