"""Credentials for wallets: what is put is judged, sealed, shown without a secret, renewed, kept over restarts and removed; an
account's own come before the operator's."""
import json
import re
import signal
from datetime import datetime, timedelta, timezone

import pytest
from certificates import openssl
from harness import wait_for
from shop import Shop
from wallets import APPLE, EMAIL, GOOGLE, ISSUER, TEAM, google, is_missing, lines_of_key, put, put_google, refused, show

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def service(service_of_wallets):
    return service_of_wallets


def days_from_now(text):
    assert TIME.fullmatch(text)
    left = datetime.fromisoformat(text.replace("Z", "+00:00")) - datetime.now(timezone.utc)
    return round(left / timedelta(days=1))


# Apple

def test_a_certificate_is_put_and_shown(shop, apple):
    made = put(shop, *apple.options())
    assert set(made) == APPLE
    assert (made["pass_type_id"], made["team_id"], made["generation"]) == ("pass.example.shop", TEAM, 1)
    assert (made["state"], made["last_error"], made["warnings"]) == ("ok", None, [])
    assert [days_from_now(made[name]) for name in ("not_before", "not_after", "wwdr_not_after")] == [0, 300, 900]
    assert show(shop) == made
    assert is_missing(shop.service, "wallet", "google", "show", shop.account)


def test_a_renewal_and_another_pass_type(shop, apple):
    assert put(shop, *apple.options(days=100))["generation"] == 1
    renewed = put(shop, *apple.options(days=200))
    assert (renewed["generation"], days_from_now(renewed["not_after"])) == (2, 200)
    other = put(shop, *apple.options("pass.example.other"))
    assert (other["pass_type_id"], other["generation"]) == ("pass.example.other", 1)
    assert show(shop) == other
    again = put(shop, *apple.options(days=250))
    assert (again["pass_type_id"], again["generation"]) == ("pass.example.shop", 3)
    assert show(shop) == again


def test_a_removal_takes_every_pass_type_and_generation(shop, apple):
    for name in ("pass.example.shop", "pass.example.other", "pass.example.shop"):
        put(shop, *apple.options(name))
    assert shop.service.cli("wallet", "apple", "remove", shop.account) == {}
    assert is_missing(shop.service, "wallet", "apple", "show", shop.account)
    assert is_missing(shop.service, "wallet", "apple", "remove", shop.account)
    assert put(shop, *apple.options())["generation"] == 1


def test_kinds_of_keys(shop, apple):
    p8 = apple.p8()
    assert put(shop, *apple.options(key=apple.p8()))["state"] == "ok"
    assert put(shop, *apple.options(), "--p8", p8, "--p8-id", "ABC123DEFG")["generation"] == 2
    large = apple.key("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:4096")
    assert put(shop, *apple.options(key=large))["generation"] == 3


def test_certificates_in_der(shop, apple):
    cert, key = apple.make()
    for pem in (cert, apple.wwdr):
        openssl("x509", "-in", pem, "-outform", "DER", "-out", pem.with_suffix(".cer"))
    made = put(shop, "--cert", cert.with_suffix(".cer"), "--key", key, "--wwdr", apple.wwdr.with_suffix(".cer"))
    assert made["pass_type_id"] == "pass.example.shop"


def test_warnings(shop, apple):
    made = put(shop, *apple.options(marked=False))
    assert len(made["warnings"]) == 1 and "1.2.840.113635.100.6.1.16" in made["warnings"][0]
    assert show(shop) == made
    made = put(shop, *apple.options(wwdr=apple.authority("G6")))
    assert len(made["warnings"]) == 1 and "G4" in made["warnings"][0]
    assert put(shop, *apple.options(wwdr=apple.authority(None)))["warnings"] == []


def p12_of(apple, *how, password="a word"):
    """(file, file of the password)."""
    cert, key = apple.make()
    p12, word = apple.file("p12"), apple.file("txt")
    openssl("pkcs12", "-export", *how, "-in", cert, "-inkey", key, "-out", p12, "-passout", f"pass:{password}")
    word.write_text(password + "\n")
    return p12, word


def test_a_p12_file_has_certificate_and_key(shop, apple):
    for how in ([], ["-legacy"]):
        p12, word = p12_of(apple, *how)
        made = put(shop, "--p12", p12, "--password-file", word, "--wwdr", apple.wwdr)
        assert made["pass_type_id"] == "pass.example.shop", how
    word.write_text("another word")
    for given, says in (((p12, word), "password"), ((word, word), "p12")):
        error = refused(shop.service, "wallet", "apple", "put", shop.account, "--p12", given[0], "--password-file", given[1],
                        "--wwdr", apple.wwdr)
        assert (error["code"], error["field"]) == ("INVALID_INPUT", "p12") and says in error["message"], error


# Refusals

def garbage(apple):
    file = apple.file("txt")
    file.write_text("garbage")
    return file


def encrypted(apple, key):
    file = apple.file("key")
    openssl("pkey", "-in", key, "-aes128", "-passout", "pass:word", "-out", file)
    return file


def weak(apple):
    return apple.key("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024")


# Each case: which options replace those of a good put, the field of the error, and a word of its message.
def replace(apple, **files):
    options = dict(zip(("cert", "key", "wwdr"), apple.options()[1::2]))
    options.update(files)
    return [word for name, file in options.items() for word in (f"--{name.replace('_', '-')}", file)]


REFUSALS = {
    "certificate": (lambda a: replace(a, cert=garbage(a)), "cert", "certificate"),
    "key": (lambda a: replace(a, key=garbage(a)), "key", "key"),
    "wwdr": (lambda a: replace(a, wwdr=garbage(a)), "wwdr", "WWDR"),
    "missing file": (lambda a: replace(a, cert=a.place / "none"), "cert", "No such file"),
    "encrypted key": (lambda a: replace(a, key=encrypted(a, a.key())), "key", "encrypted"),
    "another key": (lambda a: replace(a, key=a.key()), "key", "key"),
    "no pass type": (lambda a: a.options("com.example"), "cert", "pass."),
    "no UID": (lambda a: a.options(None, marked=False), "cert", "UID"),
    "no team": (lambda a: a.options(team=None), "cert", "OU"),
    "short team": (lambda a: a.options(team="ABC"), "cert", "OU"),
    "another issuer": (lambda a: replace(a, wwdr=a.authority("G4")), "wwdr", "WWDR"),
    "expired": (lambda a: a.options(days=-1), "cert", "expired"),
    "expired wwdr": (lambda a: a.options(wwdr=a.authority("G4", days=-1)), "wwdr", "expired"),
    "weak": (lambda a: a.options(key=weak(a)), "cert", "2048"),
    "p8": (lambda a: replace(a, p8=a.key(), p8_id="ABC123DEFG"), "p8", "p8"),
    "p8 unreadable": (lambda a: replace(a, p8=garbage(a), p8_id="ABC123DEFG"), "p8", "p8"),
    "p8 id": (lambda a: replace(a, p8=a.p8(), p8_id="A B"), "p8_id", "p8"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_refused(shop, apple, case):
    make, field, word = REFUSALS[case]
    before = put(shop, *apple.options())
    error = refused(shop.service, "wallet", "apple", "put", shop.account, *make(apple))
    assert (error["code"], error["field"]) == ("INVALID_INPUT", field), error
    assert word in error["message"], error
    assert show(shop) == before


def test_the_first_reason_in_order(shop, apple):
    def says(*options):
        return refused(shop.service, "wallet", "apple", "put", shop.account, *options)["message"]

    bad = weak(apple)
    expired = apple.make("com.example", days=-1, key=bad, team="A")[0]
    other = apple.authority("G4")
    assert "does not belong" in says("--cert", expired, "--key", apple.key(), "--wwdr", other)
    assert "UID" in says("--cert", expired, "--key", bad, "--wwdr", other)
    expired = apple.make(days=-1, key=bad, team="A")[0]
    assert "OU" in says("--cert", expired, "--key", bad, "--wwdr", other)
    expired = apple.make(days=-1, key=bad)[0]
    assert "did not issue" in says("--cert", expired, "--key", bad, "--wwdr", other)
    assert "expired" in says("--cert", expired, "--key", bad, "--wwdr", apple.wwdr)


@pytest.mark.parametrize("options", [
    [], ["--cert", "a"], ["--cert", "a", "--key", "b"], ["--cert", "a", "--wwdr", "c"],
    ["--cert", "a", "--key", "b", "--wwdr", "c", "--p8", "d"], ["--cert", "a", "--key", "b", "--wwdr", "c", "--p8-id", "D"],
    ["--p12", "a", "--wwdr", "c"], ["--p12", "a", "--password-file", "b"],
    ["--p12", "a", "--password-file", "b", "--key", "k", "--wwdr", "c"],
    ["--cert", "a", "--p12", "p", "--key", "b", "--wwdr", "c"], ["--default", "--cert", "a", "--key", "b", "--wwdr", "c"]])
def test_wrong_grammar(shop, options):
    done = shop.service.run("wallet", "apple", "put", shop.account, *options)
    assert (done.returncode, done.stdout) == (2, "") and "usage:" in done.stderr


def test_an_account_that_there_is_not(service, apple):
    for account in ("acc_bbbbbbbbbbbbbbbb", "acc_aaaaaaaaaaaaaaaa", "nonsense"):
        for words in (("apple", "show", account), ("google", "remove", account), ("show", account), ("resume", account),
                      ("apple", "put", account, *apple.options())):
            error = refused(service, "wallet", *words)
            assert (error["code"], error["field"]) == ("RESOURCE_NOT_FOUND", "account_id"), words


# Google

def test_a_service_account(shop, apple):
    made = put_google(shop, google(apple.place, apple.key()))
    assert set(made) == GOOGLE
    assert made == {"issuer_id": ISSUER, "client_email": EMAIL, "generation": 1, "state": "ok", "last_error": None}
    assert show(shop, "google") == made
    assert put_google(shop, google(apple.place, apple.key()))["generation"] == 2
    assert put_google(shop, google(apple.place, apple.key()), "7")["generation"] == 1
    assert show(shop, "google")["issuer_id"] == "7"
    assert shop.service.cli("wallet", "google", "remove", shop.account) == {}
    assert is_missing(shop.service, "wallet", "google", "show", shop.account)


def test_service_accounts_that_are_refused(shop, apple):
    key = apple.key()
    for changes, issuer, field, word in (
            ({"type": "authorized_user"}, ISSUER, "service_account", "type"),
            ({"client_email": None}, ISSUER, "service_account", "client_email"),
            ({"private_key": "x"}, ISSUER, "service_account", "private_key"),
            ({"private_key": apple.p8().read_text()}, ISSUER, "service_account", "private_key"),
            ({"private_key": weak(apple).read_text()}, ISSUER, "service_account", "2048"),
            ({"token_uri": "https://example.com/token"}, ISSUER, "service_account", "token_uri"),
            ({"token_uri": "http://oauth2.googleapis.com/token"}, ISSUER, "service_account", "token_uri"),
            ({}, "", "issuer", "issuer"), ({}, "12x", "issuer", "digits"), ({}, "1" * 21, "issuer", "20")):
        file = google(apple.place, key, "bad.json", **changes)
        error = refused(shop.service, "wallet", "google", "put", shop.account, "--service-account", file, "--issuer", issuer)
        assert (error["code"], error["field"]) == ("INVALID_INPUT", field) and word in error["message"], error
    error = refused(shop.service, "wallet", "google", "put", shop.account, "--service-account", garbage(apple), "--issuer", "1")
    assert (error["code"], error["field"]) == ("INVALID_INPUT", "service_account")
    assert is_missing(shop.service, "wallet", "google", "show", shop.account)


# Whose

def test_an_accounts_own_come_before_the_default(new_service, apple):
    service = new_service(shards=2)
    shops = [Shop(service) for _ in range(4)]  # on both shards

    def serves(shop):
        return (service.cli("wallet", "show", shop.account)["apple"] or {}).get("pass_type_id")

    assert [serves(shop) for shop in shops] == [None] * 4
    assert is_missing(service, "wallet", "apple", "show", "--default")
    default = service.cli("wallet", "apple", "put", "--default", *apple.options("pass.example.default"))
    assert service.cli("wallet", "apple", "show", "--default") == default
    assert [serves(shop) for shop in shops] == ["pass.example.default"] * 4
    assert is_missing(service, "wallet", "apple", "show", shops[0].account)
    put(shops[0], *apple.options("pass.example.own"))
    assert [serves(shop) for shop in shops] == ["pass.example.own", *["pass.example.default"] * 3]
    service.cli("wallet", "apple", "remove", shops[0].account)
    assert serves(shops[0]) == "pass.example.default"
    assert service.cli("wallet", "apple", "put", "--default", *apple.options("pass.example.default"))["generation"] == 2
    assert service.cli("verify")["ok"] is True
    assert service.cli("wallet", "apple", "remove", "--default") == {}
    assert is_missing(service, "wallet", "apple", "remove", "--default")
    assert [serves(shop) for shop in shops] == [None] * 4
    for shop in shops:
        shop.close()


def test_the_default_is_completed_by_repeating_it(new_service, apple):
    """One shard is down while the default is put: the command says so, and repeated it leaves the same on each shard."""
    service = new_service(shards=2)
    options = apple.options("pass.example.default")
    service.cli("wallet", "apple", "put", "--default", *options)
    service.expect_log("level=(warn|fatal)")
    service.signal("shard", 1, signal.SIGSTOP)
    try:
        error = refused(service, "wallet", "apple", "put", "--default", *apple.options("pass.example.other"))
    finally:
        service.signal("shard", 1, signal.SIGCONT)
    wait_for(service.is_ready, 20, "both shards")
    assert error["code"] in ("SHARD_UNAVAILABLE", "OVERLOADED", "OUTCOME_UNKNOWN"), error
    repeated = service.cli("wallet", "apple", "put", "--default", *apple.options("pass.example.other"))
    assert service.cli("wallet", "apple", "show", "--default") == repeated


def test_accounts_do_not_see_each_other(new_shop, apple):
    one, two = new_shop(), new_shop()
    put(one, *apple.options("pass.example.one"))
    assert is_missing(one.service, "wallet", "apple", "show", two.account)
    assert is_missing(one.service, "wallet", "apple", "remove", two.account)
    put(two, *apple.options("pass.example.one"))
    assert show(two)["generation"] == 1
    two.service.cli("wallet", "apple", "remove", two.account)
    assert show(one)["pass_type_id"] == "pass.example.one"


def test_wallet_show(shop, apple):
    def shown():
        """Without what Google, which nobody plays here, has not answered."""
        made = shop.service.cli("wallet", "show", shop.account)
        return {**made, "last_error": None, "google": made["google"] and {**made["google"], "last_error": None}}

    empty = {"wallet": "on", "apple": None, "google": None, "installed": {"apple": 0, "google": 0}, "devices": 0,
             "waiting": {"pushes": 0, "updates": 0}, "last_error": None}
    assert shown() == empty
    made = {"apple": put(shop, *apple.options()), "google": put_google(shop, google(apple.place, apple.key()))}
    shop.set("--wallet", "google")
    assert shown() == {**empty, **made, "wallet": "google"}
    assert shop.service.cli("wallet", "resume", shop.account) == {}
    assert shown() == {**empty, **made, "wallet": "google"}


# Kept, and secret

def test_they_survive_a_kill_a_restart_and_a_backup(own, apple, new_service, tmp_path):
    service = own.service
    made = put(own, *apple.options())
    default = service.cli("wallet", "google", "put", "--default", "--service-account", google(apple.place, apple.key()),
                          "--issuer", ISSUER)
    service.expect_log("level=(warn|fatal)")
    service.kill_child("shard")
    assert show(own) == made
    service.restart()
    assert show(own) == made
    service.cli("backup", tmp_path / "backup")
    again = new_service(start=False, shards=1)
    again.cli("restore", "--from", tmp_path / "backup")
    again.start()
    assert again.cli("wallet", "apple", "show", own.account) == made
    shown = again.cli("wallet", "google", "show", "--default")
    assert {**shown, "last_error": None} == default, "its classes cannot be written, since Google is not there"
    assert again.cli("verify")["ok"] is True


def test_no_answer_log_dump_or_file_has_a_key(own, apple):
    service, p8 = own.service, apple.p8()
    cert, key = apple.make()
    account_key = apple.key()
    printed = [service.run(*arguments) for arguments in (
        ("wallet", "apple", "put", own.account, "--cert", cert, "--key", key, "--wwdr", apple.wwdr, "--p8", p8, "--p8-id", "ABC123DEFG"),
        ("wallet", "google", "put", own.account, "--service-account", google(apple.place, account_key), "--issuer", ISSUER),
        ("wallet", "apple", "show", own.account), ("wallet", "google", "show", own.account), ("wallet", "show", own.account),
        ("status", "--json"), ("account", "show", own.account))]
    with service.admin() as admin:
        metrics = admin.get("/metrics").body.decode()
    assert service.stop() == 0
    place = service.data / "shards/0"
    printed += [service.run(*arguments, data=False) for arguments in (
        ("table", "dump", place, "wallet_credential"), ("journal", "dump", place))]
    assert [line for line in printed[-1].stdout.splitlines() if "damaged" in line] == []
    assert [done for done in printed if done.returncode] == []
    texts = [done.stdout + done.stderr for done in printed] + [metrics, "\n".join(service.log_lines())]
    secrets = [line for file in (key, p8, account_key) for line in lines_of_key(file) if len(line) > 40]
    assert len(secrets) > 40
    assert not any(line in text for line in secrets for text in texts)
    files = [file.read_bytes() for file in service.data.rglob("*") if file.is_file() and file.name != "master.key"]
    private = [bytes_of_key(key)[-64:], bytes_of_key(account_key)[-64:], bytes_of_key(p8)[36:68]]  # the rest is public
    assert not any(part in content for part in private for content in files)
    assert any(b"pass.example.shop" in content for content in files)
    rows = [json.loads(line) for line in printed[-2].stdout.splitlines()]
    assert [row["key"]["kind"] for row in rows] == [1, 1, 2, 2]
    [apple_row] = [row["value"] for row in rows if row["value"].get("name") == "pass.example.shop"]
    assert apple_row["keys"]["hidden_bytes"] > 1000 and apple_row["owner"] == TEAM


def bytes_of_key(key):
    der = key.with_suffix(".der")
    openssl("pkcs8", "-topk8", "-nocrypt", "-in", key, "-outform", "DER", "-out", der)
    return der.read_bytes()


def test_an_account_without_wallets_has_the_page_as_before(apple, new_shop):
    shop = new_shop("balance")
    link = shop.create()["download_url"]
    page = shop.client.get(link[link.index("/p/"):])
    put(shop, *apple.options())
    shop.set("--wallet", "off")
    again = shop.client.get(link[link.index("/p/"):])
    assert (page.status, page.body) == (again.status, again.body)


def test_a_put_marks_every_shard_and_a_refused_one_none(new_service, apple):
    service = new_service(shards=2)
    account = service.cli("account", "create", "--name", "x")["account_id"]

    def marks():
        assert service.stop() == 0
        done = [service.run("table", "dump", service.data / f"shards/{shard}", "meta", data=False) for shard in (0, 1)]
        rows = [[json.loads(line) for line in one.stdout.splitlines()] for one in done]
        service.start()
        return [[row["value"]["kinds"] for row in of if row["key"]["name"] == "wallets"] for of in rows]

    refused(service, "wallet", "apple", "put", account, *apple.options(days=-1))
    assert marks() == [[], []]
    service.cli("wallet", "apple", "put", account, *apple.options())
    assert marks() == [["apple"], ["apple"]]
    service.cli("wallet", "google", "put", account, "--service-account", google(apple.place, apple.key()), "--issuer", "1")
    service.cli("wallet", "apple", "remove", account)
    assert marks() == [["on"], ["on"]]


def test_words_of_the_commands(service):
    for words, says in ((("wallet",), "apple put"), (("wallet", "apple"), "wallet apple wants one more word: put, show, remove"),
                        (("wallet", "apple", "puts"), "unknown command"), (("wallet", "apple_put"), "unknown command")):
        done = service.run(*words)
        assert done.returncode == 2 and says in done.stderr, words
    for words in (("help", "wallet", "apple", "put"), ("wallet", "apple", "put", "--help"), ("help", "wallet"),
                  ("help", "wallet", "apple"), ("wallet", "apple", "-h")):
        done = service.run(*words, data=False)
        assert done.returncode == 0 and "stampede wallet apple put (ACCOUNT | --default)" in done.stdout, words
        assert ("wallet apple show" in done.stdout) == ("put" not in words), words
        assert ("wallet google" in done.stdout) == ("apple" not in words), words
