"""The package that `wallet preview` writes has a secret of the pass, so its file is a new one that its owner alone may read."""
import os
import stat

import pytest
from harness import refusal
from phones import PASS_TYPE


@pytest.fixture
def service(service_of_wallets):
    return service_of_wallets


@pytest.fixture
def write(shop, apple, tmp_path):
    """Writes a package to a place; returns the place."""
    shop.service.cli("wallet", "apple", "put", shop.account, *apple.options(PASS_TYPE))
    shop.create("ada")

    def run(name):
        shop.service.cli("wallet", "preview", shop.account, "ada", "--out", tmp_path / name)
        return tmp_path / name

    return run


def is_written(file):
    state = file.lstat()
    return stat.S_ISREG(state.st_mode) and stat.S_IMODE(state.st_mode) == 0o600 and file.read_bytes()[:2] == b"PK"


def test_who_has_the_old_file_open_does_not_read_the_new_one(write, tmp_path):
    old = tmp_path / "ada.pkpass"
    old.write_text("old")
    old.chmod(0o666)
    with open(old, "rb") as opened:
        assert is_written(write("ada.pkpass"))
        assert opened.read() == b"old"


def test_another_name_of_the_old_file_keeps_it(write, tmp_path):
    (tmp_path / "kept").write_text("old")
    os.link(tmp_path / "kept", tmp_path / "ada.pkpass")
    assert is_written(write("ada.pkpass"))
    assert (tmp_path / "kept").read_text() == "old"


def a_link(place):
    (place.parent / "victim").write_text("kept")
    place.symlink_to("victim")


def a_link_to_nothing(place):
    place.symlink_to("victim")


def a_link_to_a_device(place):
    place.symlink_to("/dev/stdout")


@pytest.mark.parametrize("make", [a_link, a_link_to_nothing, a_link_to_a_device, os.mkfifo, os.mkdir])
def test_what_is_no_file_stays(write, tmp_path, make):
    place = tmp_path / "ada.pkpass"
    make(place)
    before = place.lstat()
    error = refusal(write, "ada.pkpass")
    assert (error.code, error.message) == ("EXISTS", f"{place} exists and is no file: name another place.")
    assert (place.lstat().st_ino, place.lstat().st_mode) == (before.st_ino, before.st_mode)
    victim = tmp_path / "victim"
    assert victim.read_text() == "kept" if make == a_link else not victim.exists()
