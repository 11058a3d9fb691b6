"""Pictures of passes in wallets: the timer reduces an account's images once it has a wallet, those fetched earlier too, and they
go with the image. Nothing is reduced without a wallet. The tables of the stopped service are the witness."""
import json
import time

import pytest
from deliveries import options
from harness import wait_for
from images import Gallery, answer, await_status, body_with, png
from shop import Shop, new_id, template_file
from wallets import Apple

ICON, LOGO, BANNER = {1, 2, 3}, {1, 2, 3, 4, 5, 6}, {7, 8}
TYPE = ["Content-Type: image/png"]


class Pictures(Gallery):
    """Serves, besides, an image whose pixels are rubbish at /rubbish/NAME: chunks and checksums are right."""

    async def _do_rubbish(self, writer, rest):
        writer.write(answer(200, png(text="/".join(rest).encode(), pixels=b"rubbish"), TYPE))
        return True


@pytest.fixture(scope="module")
def passes(tmp_path_factory):
    return Apple(tmp_path_factory.mktemp("passes"))


@pytest.fixture
def gallery(chain):
    with Pictures(chain) as gallery:
        yield gallery


@pytest.fixture
def shop(new_service, authority):
    shop = Shop(new_service(shards=1, options=options(authority, "--test-clock")), ("balance",))
    yield shop
    shop.close()


def put_apple(shop, passes):
    shop.service.cli("wallet", "apple", "put", shop.account, *passes.options())


def rows(service, table):
    done = service.run("table", "dump", service.data / "shards/0", table, data=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    return [json.loads(line) for line in done.stdout.splitlines()]


def made(shop):
    """What has been made of each image, as sets of shapes, and the verdicts; of a service at rest."""
    for pause in (0.2, 1, 2, 4, 8, 16, 32):  # a service that runs shows no rows
        time.sleep(pause)
        assert shop.service.stop() == 0
        if not rows(shop.service, "shape_due"):
            break
        shop.service.start()
    shapes, verdicts = {}, {}
    for row in rows(shop.service, "image_shape"):
        image = row["key"]["sha256"]["hex"]
        if row["key"]["shape"]:
            shapes.setdefault(image, set()).add(row["key"]["shape"])
        else:
            verdicts[image] = row["value"]
    assert shop.service.run("verify").returncode == 0
    shop.service.start()
    return list(shapes.values()), list(verdicts.values())


def assert_gone(shop):
    for pause in (1, 2, 4, 8, 16, 32):
        time.sleep(pause)
        assert shop.service.stop() == 0
        left = rows(shop.service, "image_shape") + rows(shop.service, "image")
        shop.service.start()
        if not left:
            return
    raise AssertionError(left)


def issue(shop, **images):
    pass_id = new_id()
    assert shop.client.post("/v1/passes", body_with(pass_id=pass_id, **images)).status in (201, 202)
    await_status(shop, pass_id, "issued")
    return pass_id


def test_nothing_is_reduced_without_a_wallet(shop, gallery):
    issue(shop, logo=gallery.url("/image/a"))
    assert made(shop) == ([], [])


def test_images_are_reduced_by_what_they_are_for(shop, gallery, passes):
    put_apple(shop, passes)
    issue(shop, logo=gallery.url("/image/logo"), banner=gallery.url("/image/banner"))
    assert sorted(made(shop)[0], key=min) == [LOGO, BANNER]


def test_images_of_a_template_are_reduced(shop, gallery, passes):
    put_apple(shop, passes)
    file = template_file("balance", appearance={"logo": gallery.url("/image/t")})
    shop.put_template(file)
    wait_for(lambda: gallery.requests, 10, "the template's image to be fetched")
    assert made(shop)[0] == [LOGO]


def test_the_icon_of_a_template_is_fetched_whatever_became_of_its_other_images(shop, gallery, passes):
    put_apple(shop, passes)
    url = gallery.url
    file = template_file("balance", appearance={"logo": url("/status/404"), "banner": url("/status/410")},
                         wallet={"icon": url("/image/icon")})
    shop.put_template(file)
    wait_for(lambda: len(gallery.requests) >= 3, 20, "all three to be asked for")
    assert made(shop)[0] == [ICON]


def test_an_icon_goes_with_its_template(shop, gallery, passes):
    put_apple(shop, passes)
    file = template_file("none", wallet={"icon": gallery.url("/image/icon")})
    template = shop.put_template(file)
    wait_for(lambda: gallery.requests, 20, "the icon to be asked for")
    assert made(shop)[0] == [ICON]
    shop.put_template({**file, "pass_template_id": template})
    assert len(gallery.requests) == 1  # the same file again
    shop.service.cli("template", "delete", shop.account, template)
    shop.service.cli("clock", "advance", "2h")  # parts of an image are kept for an hour
    assert_gone(shop)


def test_images_fetched_earlier_are_reduced_when_a_wallet_is_switched_on(shop, gallery, passes):
    for number in range(33):  # more than a step looks at
        issue(shop, logo=gallery.url(f"/image/{number}"))
    assert made(shop) == ([], [])
    put_apple(shop, passes)
    assert made(shop)[0] == [LOGO] * 33


def test_images_fetched_while_the_wallet_was_off_are_reduced_when_it_is_on(shop, gallery, passes):
    put_apple(shop, passes)
    shop.set("--wallet", "off")
    issue(shop, logo=gallery.url("/image/a"))
    assert made(shop) == ([], [])
    shop.set("--wallet", "google")
    assert made(shop) == ([], [])
    shop.set("--wallet", "on")
    assert made(shop)[0] == [LOGO]


def test_the_operators_credential_reduces_the_images_of_all_accounts(shop, gallery, passes):
    other = Shop(shop.service, ("balance",))
    issue(shop, logo=gallery.url("/image/a"))
    issue(other, logo=gallery.url("/image/b"))
    other.set("--wallet", "off")
    other.close()
    shop.service.cli("wallet", "apple", "put", "--default", *passes.options())
    assert made(shop)[0] == [LOGO]


def test_a_damaged_image_is_tried_once(shop, gallery, passes):
    put_apple(shop, passes)
    issue(shop, logo=gallery.url("/rubbish/a"))
    shapes, verdicts = made(shop)
    assert shapes == []
    assert [verdict["fault"] for verdict in verdicts] == ["its pixels are damaged"]


def test_shapes_go_with_their_image(shop, gallery, passes):
    put_apple(shop, passes)
    pass_id = issue(shop, logo=gallery.url("/image/a"))
    assert made(shop)[0] == [LOGO]
    shop.service.cli("pass", "erase", shop.account, pass_id)
    shop.service.cli("clock", "advance", "2h")  # parts of an image are kept for an hour
    assert_gone(shop)


@pytest.mark.parametrize("role", ["timer", "shard"])
def test_shapes_are_made_when_a_process_dies(shop, gallery, passes, role):
    for number in range(10):
        issue(shop, logo=gallery.url(f"/image/{number}"))
    put_apple(shop, passes)
    shop.service.expect_log("level=warn")
    for _ in range(3):
        shop.service.kill_child(role)
    assert made(shop)[0] == [LOGO] * 10
