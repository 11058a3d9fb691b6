"""Messages of refused commands: one plain sentence that names the value, and the field at fault. A row has the words of
a command (ACC, PASS and FILE are filled in), its code, its field, and words that the message must contain."""
import json
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from certificates import Authority, openssl
from harness import refusal, wait_for
from shop import Shop, template_file

SENTENCE = re.compile(r"[A-Z`-][^\n]{10,500}\.")
NOWHERE, NOBODY = "acc_aaaaaaaaaaaaaaaa", "01900000-0000-7000-8000-000000000000"
AT = ["--message", "m", "--at", "2027-01-01T00:00:00Z"]
MISSING, INPUT, CONFLICT = "RESOURCE_NOT_FOUND", "INVALID_INPUT", "RESOURCE_CONFLICT"


@pytest.fixture(scope="module")
def shop(shared_service):
    shop = Shop(shared_service, ("balance", "none"), functions=("--rewards", "--webhooks"))
    yield shop
    shop.close()


@pytest.fixture(scope="module")
def a_pass(shop):
    return shop.create()["id"]


def refused(shop, *words):
    error = refusal(shop.service.cli, *words)
    assert SENTENCE.fullmatch(error.message), error
    return error


def says(error, code, field, words):
    assert (error.code, error.field) == (code, field), error
    for word in words:
        assert word in error.message, (word, error.message)


# Things that do not exist

UNKNOWN = [
    (["account", "show", NOWHERE], "account_id", f"no account `{NOWHERE}`"),
    (["account", "set", NOWHERE, "--rewards", "on"], "account_id", f"no account `{NOWHERE}`"),
    (["key", "list", NOWHERE], "account_id", f"no account `{NOWHERE}`"),
    (["account", "show", "cafe"], "account_id", "no account `cafe`", "acc_ and 16"),
    (["pass", "history", "acc_CAFE", "x"], "account_id", "no account `acc_CAFE`", "acc_ and 16"),
    (["key", "revoke", "ACC", "key_1"], "key_id", "no API key", "`key_1`"),
    (["key", "revoke", "ACC", NOBODY], "key_id", f"`{NOBODY}`"),
    (["rule", "delete", "ACC", NOBODY], "rule_id", f"no activation rule `{NOBODY}`"),
    (["rule", "delete", "ACC", "ten"], "rule_id", "no activation rule `ten`"),
    (["pass", "event", "ACC", "nobody", "installed"], "pass_id", "no pass `nobody` in this account"),
    (["pass", "history", "ACC", "nobody"], "pass_id", "no pass `nobody` in this account"),
    (["pass", "export", "ACC", "nobody"], "pass_id", "no pass `nobody` in this account"),
    (["pass", "erase", "ACC", "nobody"], "pass_id", "no pass `nobody` in this account"),
    (["pass", "history", "ACC", ""], "pass_id", "its id is empty"),
    (["card", "link", "ACC", "--pass", "nobody", "--code", "c"], "pass_id", "no pass `nobody`"),
    (["card", "list", "ACC", "--pass", "nobody"], "pass_id", "no pass `nobody` in this account"),
    (["card", "list", "ACC", "--pass", ""], "pass_id", "its id is empty"),
    (["card", "unlink", "ACC", NOBODY], "card_id", f"no card `{NOBODY}`"),
    (["scan", "delete", "ACC", "x"], "scan_id", "no scan `x`"),
    (["delivery", "list", "ACC", "--subscription", NOBODY], None),
    (["audience", "put", "ACC", "--name", "n", "--pass", "nobody"], "pass_id", "no pass `nobody`"),
    (["audience", "put", "ACC", "--name", "n", "--pass", "PASS", "nobody"], "pass_id", "no pass `nobody`"),
    (["audience", "put", "ACC", "--name", "n", "--pass", "PASS", "--id", NOBODY], "audience_id", f"no audience `{NOBODY}`"),
    (["notification", "schedule", "ACC", "--pass", "nobody", *AT], "pass_id", "no pass `nobody`"),
    (["notification", "schedule", "ACC", "--audience", "all", *AT], "audience_id", "no audience `all`"),
]


@pytest.mark.parametrize("row", UNKNOWN, ids=lambda row: " ".join(row[0][:2]) if row else "")
def test_unknown_ids_are_named(shop, service, a_pass, row):
    words, field, *says_what = row
    words = [{"ACC": shop.account, "PASS": a_pass}.get(word, word) for word in words]
    if field is None:
        assert shop.service.cli(*words) == []
        return
    says(refused(shop, *words), MISSING, field, says_what)


def test_a_file_that_names_an_unknown_id(shop, service, tmp_path):
    path = tmp_path / "file.json"
    template, other = shop.templates["balance"][:-1] + "9", Shop(service, ("none",))
    rule = {"name": "r", "event": "pass.created", "actions": [{"type": "add_balance", "amount": 1}]}
    for noun, file, code, field, word in [
        ("template", {**template_file("none"), "pass_template_id": template}, "PASS_TEMPLATE_NOT_FOUND", "pass_template_id",
         f"no pass template `{template}`"),
        ("template", {**template_file("none"), "pass_template_id": other.templates["none"]}, "UNAUTHORIZED", "pass_template_id",
         "another account"),
        ("rule", {**rule, "id": NOBODY}, MISSING, "id", f"no activation rule `{NOBODY}`"),
        ("rule", {**rule, "conditions": {"template_id": template}}, "PASS_TEMPLATE_NOT_FOUND", "conditions.template_id",
         f"no pass template `{template}`"),
    ]:
        path.write_text(json.dumps(file))
        says(refused(shop, noun, "put", shop.account, path), code, field, [word])
    other.close()


# Values

def test_an_unknown_condition_or_member(shop, service, tmp_path):
    path = tmp_path / "rule.json"
    good = {"name": "r", "event": "scan.created", "actions": [{"type": "add_balance", "amount": 1}]}
    for change, field, *words in [
        ({"conditions": {"hour": 9}}, "conditions.hour", "no such condition", "known are min_balance, every_n_scans, template_id"),
        ({"conditions": {"every_n_scan": 9}}, "conditions.every_n_scan", "perhaps `every_n_scans` is meant"),
        ({"nmae": "x"}, "nmae", "no such member", "perhaps `name` is meant"),
        ({"active": "yes"}, "active", "`active` must be true or false"), ({"event": "scan"}, "event", "one of pass.created, "),
        ({"conditions": {"once_per_pass": 1}}, "conditions.once_per_pass", "`conditions.once_per_pass` must be true or false"),
        ({"actions": [{"type": "add"}]}, "actions[0].type", "`actions[0].type` must be one of assign_reward, add_balance, send"),
        ({"actions": [{"type": "add_balance", "points": 1}]}, "actions[0].points", "no such member", "known are type, amount"),
    ]:
        path.write_text(json.dumps({**good, **change}))
        says(refused(shop, "rule", "put", shop.account, path), INPUT, field, words)
    for change, field, word in [({"colour": "red"}, "colour", "known are pass_template_id, name"), ({"qr": "yes"}, "qr", "`qr` must be true"),
                                ({"appearance": {"title": 5}}, "appearance.title", "`appearance.title` must be a string that"),
                                ({"fields": [{"key": "a", "label": "A", "type": "string"}]}, "fields[0].type", "one of text, number")]:
        path.write_text(json.dumps({**template_file("none"), **change}))
        says(refused(shop, "template", "put", shop.account, path), INPUT, field, [word])


def test_an_invalid_time(shop, service, a_pass):
    example = "an RFC 3339 date-time such as 2026-11-26T10:00:00Z"
    rows = {"tomorrow": example, "2027-01-01": example, "1767225600": example, "": example,
            "2027-01-01T00:00:00": "a time zone: Z, or an offset such as -06:00", "2027-02-29T00:00:00Z": "a day that exists",
            "2027-01-01T24:00:00Z": "from 00:00:00 to 23:59:59"}
    for time, words in rows.items():
        error = refused(shop, "notification", "schedule", shop.account, "--pass", a_pass, "--message", "m", "--at", time)
        says(error, INPUT, "at", ["--at", words])


def test_an_event_that_the_pass_cannot_have(shop, service):
    pass_id = shop.create()["id"]
    event = ("pass", "event", shop.account, pass_id)
    for word, words in [("uninstalled", ["is issued", "needs one that is active"]),
                        ("unblocked", ["is issued", "needs one that is"])]:
        says(refused(shop, *event, word), CONFLICT, None, words)
    shop.event(pass_id, "installed")
    says(refused(shop, *event, "installed"), CONFLICT, None, ["is active", "issued or"])
    shop.event(pass_id, "uninstalled")
    says(refused(shop, *event, "unblocked"), CONFLICT, None, ["is not blocked"])
    shop.event(pass_id, "installed")
    service.cli(*event, "uninstalled", "--block-reinstall")
    says(refused(shop, *event, "installed"), CONFLICT, None, ["is blocked", "unblocked"])
    shop.event(pass_id, "deactivated")
    says(refused(shop, *event, "deactivated"), CONFLICT, None, ["is deactivated", "creating or", "or active"])


# Files

def test_files_that_cannot_be_read(shop, service, tmp_path):
    large, folder = tmp_path / "large.json", tmp_path / "folder.json"
    large.write_bytes(b" " * ((4 << 20) + 1))
    folder.mkdir()
    for path, *words in [(tmp_path / "none.json", "none.json cannot be opened", "No such file"),
                         (folder, "folder.json cannot be read", "directory"), (large, "large.json is larger than 4194304 bytes")]:
        for noun in ("template", "rule"):
            says(refused(shop, noun, "put", shop.account, path), "INVALID_REQUEST", None, words)


def test_a_refusal_names_the_option_that_was_typed(shop, service, tmp_path):
    (tmp_path / "key.json").write_text("x")
    file, gone = tmp_path / "key.json", tmp_path / "gone"
    for words, field, text in [
        (["wallet", "google", "put", shop.account, "--service-account", file, "--issuer", "1"], "service_account", ["`--service-account`"]),
        (["wallet", "google", "put", shop.account, "--service-account", gone, "--issuer", "1"], "service_account",
         ["of `--service-account`", "No such file"]),
        (["delivery", "list", shop.account, "--subscription", "x"], "subscription_id", ["`--subscription` must be"]),
    ]:
        says(refused(shop, *words), INPUT, field, text)


def test_imports_of_files_of_another_format(shop, service, tmp_path):
    for name, words in [("members.xlsx", ["spreadsheet", "CSV UTF-8"]), ("members.XLS", ["spreadsheet"]),
                        ("members.ods", ["spreadsheet"]), ("members.txt", [".jsonl or .csv"]), ("members", [".jsonl or .csv"])]:
        path = tmp_path / name
        path.write_bytes(b"PK\x03\x04")
        says(refused(shop, "pass", "import", shop.account, path), INPUT, None, words)
    path = tmp_path / "a.jsonl"
    path.write_text("{}")
    unknown = shop.templates["balance"][:-1] + "9"
    says(refused(shop, "pass", "import", shop.account, path, "--template", unknown), "PASS_TEMPLATE_NOT_FOUND", "pass_template_id",
         [f"no pass template `{unknown}`"])


# The service

def run(service, *words, data=None, env=None):
    done = service.run(*words, *([] if data is None else ["--data", data]), data=False, env=env)
    error = json.loads(done.stderr) if done.returncode == 1 else None
    assert error is None or SENTENCE.fullmatch(error["message"]), error
    return done, error


def test_a_directory_that_is_not_a_data_directory(service, tmp_path):
    (tmp_path / "file").write_text("x")
    unset = {**service.environment(), "STAMPEDE_DATA": ""}
    for place, env, code, *words in [
        (tmp_path / "gone", None, "NOT_RUNNING", f"no data directory `{tmp_path}/gone`"),
        (tmp_path, None, "NOT_RUNNING", f"`{tmp_path}` is not the data directory", "identity"),
        (tmp_path / "file", None, "IO", "cannot be opened", "Not a directory"),
        ("", None, "NOT_RUNNING", "name of the data directory is empty", "$STAMPEDE_DATA"),
        (None, unset, "NOT_RUNNING", "name of the data directory is empty"),
    ]:
        for command in (["account", "list"], ["status"], ["reload"], ["backup", tmp_path / "b"]):
            done, error = run(service, *command, data=place, env=env)
            assert done.returncode == 1 and error["code"] == code, done
            assert all(word in error["message"] for word in words), error
    done, error = run(service, "verify", data=tmp_path / "gone")
    assert error["code"] == "NOT_FOUND" and f"no data directory `{tmp_path}/gone`" in error["message"]
    for command in ("verify", "adopt"):
        _, error = run(service, command, data=tmp_path / "file")
        assert error["code"] == "IO", error
    done, _ = run(service, "account", "list", env={key: value for key, value in service.environment().items()
                                                   if key != "STAMPEDE_DATA"})
    assert done.returncode == 2 and "No data directory is named" in done.stderr


def test_a_directory_that_may_not_be_read_or_is_damaged(service, tmp_path):
    for text, code, word in [("", "DAMAGED", "damaged"), ("stampede 1\n", "DAMAGED", "damaged")]:
        (tmp_path / "identity").write_text(text)
        _, error = run(service, "account", "list", data=tmp_path)
        assert error["code"] == code and word in error["message"] and str(tmp_path) in error["message"], error


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be another user for a moment")
def test_a_directory_of_another_user(service):
    """Its parent may be entered, and the directory itself is its owner's alone."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        data = Path(home) / "data"
        data.mkdir(mode=0o700)
        os.chmod(home, 0o755)
        stranger = ["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all"]
        if subprocess.run([*stranger, service.program, "version"], capture_output=True, check=False).returncode:
            pytest.skip("no other user can run the program here")
        for command in (["verify"], ["status"], ["account", "list"], ["adopt"]):
            done = subprocess.run([*stranger, service.program, *command, "--data", data], capture_output=True, text=True, check=False,
                                  timeout=60, env=service.environment())
            error = json.loads(done.stderr)
            assert (done.returncode, error["code"]) == (1, "IO"), error
            assert command == ["adopt"] or "Permission denied" in error["message"], error


def test_a_service_that_is_stopped_silent_or_killed(new_service):
    service = new_service(shards=1)
    os.kill(service.process.pid, signal.SIGSTOP)
    try:
        for command, code in ((["account", "list"], "NOT_RUNNING"), (["status"], "NOT_RUNNING"), (["verify"], "LOCKED")):
            _, error = run(service, *command, data=service.data)
            assert error["code"] == code and f"process {service.process.pid}," in error["message"], error
            assert "does not answer" in error["message"]
    finally:
        os.kill(service.process.pid, signal.SIGCONT)
    wait_for(service.is_ready, 5, "readiness")
    assert service.stop() == 0
    _, error = run(service, "account", "list", data=service.data)
    assert error["code"] == "NOT_RUNNING" and f"No service runs on the data directory `{service.data}`" in error["message"]
    service.start()
    service.kill_everything()
    _, error = run(service, "account", "list", data=service.data)
    assert error["code"] == "NOT_RUNNING" and "No service runs" in error["message"], "a socket that no process listens on means no service"


def test_readyz_names_what_is_missing(new_service):
    service = new_service(shards=2)
    with service.admin() as admin:
        wait_for(service.is_ready, 5, "readiness")
        assert admin.get("/readyz").json == {"status": "ready"}
        for role, index, want in [("shard", 1, ["shard 1 does not answer"]),
                                  ("timer", 0, ["shard 0 does not hear the timer", "shard 1 does not hear the timer"])]:
            pid = service.signal(role, index, signal.SIGSTOP)
            try:
                wait_for(lambda want=want: (answer := admin.get("/readyz")).status == 503 and answer.json
                         == {"status": "unavailable", "missing": want}, 5, "/readyz to name what is missing")
            finally:
                os.kill(pid, signal.SIGCONT)
            wait_for(service.is_ready, 5, "readiness")


# Missing words

@pytest.mark.parametrize("words, end", [
    ([""], "the first word of the command is empty"),
    (["pass", ""], "pass wants one more word, and that one is empty: "),
    (["pass", "history", "ada"], "PASS_ID is missing, or ACCOUNT is: ada is no account's id"),
    (["key", "revoke", NOBODY], "KEY_ID is missing, or ACCOUNT is: " + NOBODY),
    (["pass", "history", "", "ada"], "ACCOUNT is empty"),
    (["serve", "--max-body", "16M"], "--max-body: wants a whole number, 0 or more, without a unit"),
    (["serve", "--max-body", "-1"], "--max-body: wants a whole number, 0 or more"),
    (["serve", "--shards", "0"], "--shards: wants a whole number from 1 to"),
])
def test_empty_arguments(service, words, end):
    done = service.run(*words)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("stampede: " + end), done.stderr[-200:]


# Certificates

def test_an_unusable_certificate_is_refused(new_service, tmp_path):
    authority = Authority(tmp_path / "ca")
    first, second = authority.own("first"), authority.own("second")
    secret, cut, der, wide, empty = (tmp_path / name for name in ("secret.key", "cut.pem", "der.pem", "wide.pem", "empty.pem"))
    openssl("pkey", "-in", first[1], "-aes128", "-passout", "pass:x", "-out", secret)
    openssl("x509", "-in", first[0], "-outform", "DER", "-out", der)
    cut.write_text("\n".join(first[0].read_text().splitlines()[:-2]))
    wide.write_text(first[0].read_text(), "utf-16")
    empty.write_text("")
    config = tmp_path / "conf"
    config.write_text(f"tls-cert = {first[0]}\ntls-key = {first[1]}\n")
    service = new_service(shards=1, options=["--config", config])
    service.expect_log("event=reload_refused ")
    for cert, key, option, *words in [
        (first[0], second[1], "--tls-key", second[1], "does not belong to the certificate of --tls-cert", "key values mismatch"),
        (first[1], first[1], "--tls-cert", first[1], "holds no PEM certificate", "no start line"),
        (first[0], first[0], "--tls-key", first[0], "holds no PEM private key"),
        (der, first[1], "--tls-cert", der, "is binary", "convert it to PEM"),
        (wide, first[1], "--tls-cert", wide, "is UTF-16 text"),
        (cut, first[1], "--tls-cert", cut, "cut off"), (first[0], secret, "--tls-key", secret, "is encrypted", "without a passphrase"),
        (empty, first[1], "--tls-cert", empty, "is empty"), (tmp_path / "gone", first[1], "--tls-cert", "No such file"),
    ]:
        config.write_text(f"tls-cert = {cert}\ntls-key = {key}\n")
        _, error = run(service, "reload", data=service.data)
        assert error["message"].startswith(option) and all(str(word) in error["message"] for word in words), error
