"""The command line: one JSON value and exit status 0; a refusal and 1; help and 2."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import Service, refusal
from shop import new_id, template_file
from test_passes import TIME

ACCOUNT = {"account_id", "name", "rewards", "webhooks", "suspended", "double_scan_window_seconds", "rate_limit",
           "wallet", "created_at"}


def test_an_account_is_created_shown_and_listed(service):
    made = service.cli("account", "create", "--name", "Café \"Ünï\" 日本")
    assert set(made) == {"account_id", "api_key"}
    assert made["account_id"].startswith("acc_") and len(made["account_id"]) == 20
    assert made["api_key"].startswith("sk_" + made["account_id"][4:] + "_")
    shown = service.cli("account", "show", made["account_id"])
    assert set(shown) == ACCOUNT and TIME.match(shown["created_at"])
    assert {**shown, "created_at": ""} == {
        "account_id": made["account_id"], "name": "Café \"Ünï\" 日本", "rewards": False, "webhooks": False,
        "suspended": False, "double_scan_window_seconds": 10, "rate_limit": 0, "wallet": "on", "created_at": ""}
    others = [service.cli("account", "create", "--name", "x")["account_id"] for _ in range(4)]
    listed = service.cli("account", "list")
    assert shown in listed
    found = [account["account_id"] for account in listed]
    assert set(others) <= set(found) and len(set(found)) == len(found)


def test_settings_of_an_account(service):
    made = service.cli("account", "create", "--name", "x", "--rewards", "--webhooks")["account_id"]
    shown = service.cli("account", "show", made)
    assert (shown["rewards"], shown["webhooks"]) == (True, True)
    for options, key, value in [
            (["--rewards", "off"], "rewards", False), (["--rewards", "on"], "rewards", True),
            (["--webhooks", "off"], "webhooks", False), (["--suspended", "on"], "suspended", True),
            (["--suspended", "off"], "suspended", False), (["--rate-limit", "250"], "rate_limit", 250),
            (["--rate-limit", "0"], "rate_limit", 0),
            (["--wallet", "off"], "wallet", "off"), (["--wallet", "apple"], "wallet", "apple"),
            (["--wallet", "google"], "wallet", "google"), (["--wallet", "on"], "wallet", "on"),
            (["--double-scan-window", "30s"], "double_scan_window_seconds", 30),
            (["--double-scan-window", "2h"], "double_scan_window_seconds", 7200),
            (["--double-scan-window", "0s"], "double_scan_window_seconds", 0),
            (["--double-scan-window", "30s"], "double_scan_window_seconds", 30),
            (["--double-scan-window", "0"], "double_scan_window_seconds", 0)]:
        service.cli("account", "set", made, *options)
        shown[key] = value
        assert service.cli("account", "show", made) == shown


def test_an_account_is_renamed(own):
    """Only the name changes, also while the account is suspended. An acknowledged name survives a kill."""
    shown = own.set("--suspended", "on", "--rate-limit", "7")
    other = own.service.cli("account", "create", "--name", "Other")["account_id"]
    for name in ("Eck-Café 日本", "x" * 200, "x" * 200):
        assert own.service.cli("account", "rename", own.account, name) == {**shown, "name": name}
    own.service.expect_log("level=(warn|fatal)")
    own.service.kill_child("shard")
    assert own.service.cli("account", "show", own.account) == {**shown, "name": "x" * 200}
    assert own.service.cli("account", "show", other)["name"] == "Other"
    assert own.service.cli("verify")["ok"] is True


def test_refusals_name_a_code(service):
    for arguments in (["account", "show", "acc_aaaaaaaaaaaaaaaa"], ["key", "list", "acc_aaaaaaaaaaaaaaaa"],
                      ["account", "set", "acc_aaaaaaaaaaaaaaaa", "--rewards", "on"],
                      ["account", "rename", "acc_aaaaaaaaaaaaaaaa", "x"],
                      ["key", "create", "acc_aaaaaaaaaaaaaaaa"], ["account", "show", "nonsense"],
                      ["template", "list", "acc_aaaaaaaaaaaaaaaa"], ["pass", "history", "acc_aaaaaaaaaaaaaaaa", "x"]):
        assert refusal(service.cli, *arguments).code == "RESOURCE_NOT_FOUND", arguments


def test_refusals_name_the_field(service):
    made = service.cli("account", "create", "--name", "x")["account_id"]
    for arguments, field, says in (
            (["account", "create", "--name", ""], "name", "must not be empty"),
            (["account", "create", "--name", "x" * 201], "name", "at most 200 bytes"),
            (["account", "create", "--name", "a\nb"], "name", "without control characters"),
            (["account", "rename", made, "a\nb"], "name", "without control characters"),
            (["account", "rename", made, "a\x7f"], "name", "without control characters"),
            (["account", "rename", made, ""], "name", "must not be empty"),
            (["account", "rename", made, "x" * 201], "name", "at most 200 bytes"),
            (["account", "set", made, "--rate-limit", "99999999999"], "rate_limit", "--rate-limit"),
            (["account", "set", made, "--rate-limit", "1000001"], "rate_limit", "--rate-limit"),
            (["account", "set", made, "--double-scan-window", "366d"], "double_scan_window_seconds",
             "--double-scan-window")):
        error = refusal(service.cli, *arguments)
        assert (error.code, error.field) == ("INVALID_INPUT", field), arguments
        assert says in error.message, arguments
    assert service.cli("account", "set", made, "--rate-limit", "1000000")["rate_limit"] == 1000000
    assert refusal(service.cli, "account", "show", "acc_aaaaaaaaaaaaaaaa").field == "account_id"


@pytest.mark.parametrize("bad", ["\udcff", "a\udcc3", "\udced\udca0\udc80"])
def test_arguments_that_are_not_utf8(service, shop, bad):
    """A shell passes any bytes. They are refused, and must not reach a list, a message or a shard's memory."""
    pass_id = shop.create()["id"]
    accounts = service.cli("account", "list")
    for arguments, field in (
            (["account", "create", "--name", bad], "name"),
            (["account", "rename", shop.account, bad], "name"),
            (["audience", "put", shop.account, "--name", bad, "--pass", pass_id], "name"),
            (["audience", "put", shop.account, "--name", "x", "--pass", pass_id, "--pass", bad], "pass_id"),
            (["notification", "schedule", shop.account, "--pass", pass_id, "--message", bad, "--at", "2026-01-01T00:00:00Z"],
             "message"),
            (["card", "link", shop.account, "--pass", pass_id, "--code", bad], "code"),
            (["reader", "put", shop.account, "--id", "x", "--name", bad], "name")):
        error = refusal(service.cli, *arguments)
        assert (error.code, error.field) == ("INVALID_INPUT", field), arguments
    assert service.cli("account", "list") == accounts
    assert shop.client.get("/v1/notifications").json == []


@pytest.mark.parametrize("arguments", [
    [], ["frobnicate"], ["account"], ["account", "frobnicate"], ["account", "create"], ["account", "show"],
    ["account", "create", "--name", "x", "--colour", "red"], ["account", "create", "--name"],
    ["account", "set", "acc_aaaaaaaaaaaaaaaa", "--rewards", "maybe"],
    ["account", "set", "acc_aaaaaaaaaaaaaaaa", "--double-scan-window", "soon"],
    ["account", "set", "acc_aaaaaaaaaaaaaaaa", "--rate-limit", "-1"],
    ["account", "show", "acc_aaaaaaaaaaaaaaaa", "extra"], ["key", "revoke", "acc_aaaaaaaaaaaaaaaa"],
    ["pass", "event", "acc_aaaaaaaaaaaaaaaa", "x"], ["pass", "event", "acc_aaaaaaaaaaaaaaaa", "x", "eaten"],
    ["issuer", "stop"], ["issuer"], ["serve", "--colour", "red"], ["serve", "--shards", "0"],
    ["serve", "--shards", "many"], ["serve", "--listen", "nowhere"],
])
def test_wrong_usage(service, arguments):
    done = service.run(*arguments, data=arguments[:1] != [])
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "stampede" in done.stderr


ACC = "acc_aaaaaaaaaaaaaaaa"


@pytest.mark.parametrize("arguments, says", [
    (["frobnicate"], "unknown command frobnicate"),
    (["acount", "list"], "unknown command acount, did you mean account?"),
    (["reward", "--help"], "unknown command reward"),
    (["help", "reward"], "unknown command reward"),
    (["account"], "account wants one more word: create, set, rename, show, list"),
    (["account", "crate"], "unknown command account crate, did you mean account create?"),
    (["account", "crate", "--help"], "unknown command account crate"),
    (["--bogus"], "unknown option --bogus"),
    (["account", "create", "--name", "X", "--bogus"], "unknown option --bogus"),
    (["account", "create", "--name", "X", "--bogus=1"], "unknown option --bogus"),
    (["account", "create", "--nmae", "X"], "unknown option --nmae, did you mean --name?"),
    (["account", "create"], "--name is missing"),
    (["account", "create", "--name"], "--name wants a value"),
    (["account", "show"], "ACCOUNT is missing"),
    (["account", "show", ""], "ACCOUNT is empty"),
    (["backup", ""], "TO_DIR is empty"),
    (["notification", "schedule", ACC, "--pass", "a", "--audience", "b", "--message", "x", "--at", "2026-11-27T00:00:00Z"],
     "give --pass or --audience, not both"),
    (["key", "revoke", ACC], "KEY_ID is missing"),
    (["key", "revoke", "", "k"], "ACCOUNT is empty"),
    (["account", "show", ACC, "extra"], "unexpected argument extra"),
    (["account", "set", ACC, "--rewards", "maybe"], "--rewards: maybe is not one of on|off"),
    (["account", "set", ACC, "--rate-limit", "-1"], "--rate-limit wants a whole number"),
    (["account", "set", ACC, "--double-scan-window", "soon"], "--double-scan-window wants a length of time"),
    (["clock", "advance", "soon"], "DURATION wants a length of time"),
    (["clock", "advance", "100000d"], "DURATION wants a length of time such as 30s, 5m, 2h or 1d, at most 36525d"),
    (["pass", "event", ACC, "x", "eaten"], "eaten is not one of installed|"),
    (["notification", "schedule", ACC, "--message", "x", "--at", "y"], "--pass or --audience is missing"),
    (["status", "--jsn"], "unknown option --jsn, did you mean --json?"),
    (["serve", "--shrads", "3"], "unknown option --shrads, did you mean --shards?"),
    (["serve", "--settings-fd", "3"], "an option of its children's is given"),
    (["serve", "--listen", "nowhere"], "--listen: wants HOST:PORT with a port up to 65535, not nowhere"),
    (["serve", "--listen", "127.0.0.1:99999"], "--listen: wants HOST:PORT with a port up to 65535, not 127.0.0.1:99999"),
])
def test_wrong_usage_names_the_fault(service, arguments, says):
    """The message comes after the help, where it is visible."""
    done = service.run(*arguments, data=arguments[0][0] != "-")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("usage:")
    assert done.stderr.splitlines()[-1].startswith("stampede: " + says), done.stderr.splitlines()[-1]


def test_output_does_not_act_on_a_terminal(shop):
    """Values of others are printed as JSON that no terminal obeys: a result, one that comes page by page, a failure."""
    hostile, escaped = "a\x7f\u009b\u202e\u2069\u200fé", "a\\u007f\\u009b\\u202e\\u2069\\u200fé"
    shop.create("ada", hidden={"note": hostile})
    exported = shop.service.run("pass", "export", shop.account, "ada").stdout
    assert escaped in exported and json.loads(exported)["pass"]["hidden"]["note"] == hostile
    wrong = json.dumps({**template_file(), f"x{hostile}": 1}, ensure_ascii=False)
    refused = shop.service.run("template", "put", shop.account, "-", stdin=wrong)
    assert refused.returncode == 1 and "\\u009b\\u202e\\u2069\\u200fé" in refused.stderr
    assert json.loads(refused.stderr)["field"] == f"x{hostile}"


def test_the_clock_has_a_greatest_advance(new_service):
    service = new_service(shards=1, options=["--test-clock"])
    service.cli("clock", "advance", "500d")
    error = refusal(service.cli, "clock", "advance", "36525d")
    assert (error.code, error.message) == (
        "INVALID_INPUT", f"The clock cannot be moved that far: 36000d, or {36000 * 86400}s, is the most.")
    service.cli("clock", "advance", "36000d")


def commands_of(text):
    """The commands that a help text explains: (words, the lines below)."""
    found = re.findall(r"^  stampede ([a-z]+(?: [a-z]+)*)((?: .*)?\n(?:(?:      .*)?\n)*)", text, re.M)
    return [(words.split(), rest) for words, rest in found if words not in ("serve", "help")]


def test_every_command_is_explained_with_an_example(service):
    everything = service.run("help", data=False).stdout
    commands = commands_of(everything)
    assert len(commands) > 25
    for words, _ in commands:
        for asked in ([*words, "--help"], ["help", *words], [*words, "-h"]):
            done = service.run(*asked, data=False)
            assert (done.returncode, done.stderr) == (0, ""), done
            assert f"example: stampede {' '.join(words)}" in done.stdout
        noun = service.run(words[0], "--help", data=False)
        assert noun.returncode == 0 and done.stdout.splitlines()[1] in noun.stdout


def test_the_whole_help_is_in_groups(service):
    headings = re.findall(r"^([A-Z][A-Za-z, ]+):$", service.run("help", data=False).stdout, re.M)
    assert len(headings) >= 5, headings


def test_help_says_what_may_change_while_the_service_runs(service):
    lines = service.run("serve", "--help", data=False).stdout.splitlines()
    for option, may in (("--tls-cert", True), ("--cors-origin", True), ("--max-body", True), ("--log-level", True), ("--egress-ca", True),
                        ("--listen", False), ("--shards", False), ("--data", False), ("--no-deliveries", False)):
        line = next(line for line in lines if line.split()[:2] in (["*", option], [option]) or f" {option} " in line)
        assert line.startswith("    * ") == may, line
    assert any("stampede reload" in line for line in lines)


def test_version_as_an_option(service):
    assert service.run("--version", data=False).stdout == service.run("version", data=False).stdout


def test_help_and_version(service):
    for arguments in (["help"], ["--help"], ["account", "--help"], ["key", "--help"], ["template", "--help"],
                      ["pass", "--help"], ["issuer", "--help"], ["status", "--help"], ["serve", "--help"]):
        done = service.run(*arguments, data=False)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert arguments[0].strip("-") in done.stdout
    done = service.run("version", data=False)
    assert done.returncode == 0 and "0.1.0" in done.stdout


@pytest.mark.parametrize("words", [
    "help", "--help", "help account", "help pass import", "account --help", "account create --help", "wallet apple --help",
    "serve --help", "version", "--version", "openapi", "status --json", "account list"])
def test_an_answer_that_cannot_be_written_is_a_failure(service, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([service.program, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=60, env={**service.environment(), "STAMPEDE_DATA": str(service.data)})
    error = json.loads(done.stderr)
    assert (done.returncode, error["code"]) == (1, "IO") and "cannot be written to standard output" in error["message"], done


def test_the_data_directory_may_come_from_the_environment(service):
    env = {**os.environ, "STAMPEDE_DATA": str(service.data)}
    done = service.run("status", data=False, env=env)
    assert done.returncode == 0 and json.loads(done.stdout)["processes"]
    env.pop("STAMPEDE_DATA")
    for arguments in (["status"], ["verify"], ["account", "show", "foo"], ["template", "list", "foo"], ["account", "list"]):
        done = service.run(*arguments, data=False, env=env)
        assert (done.returncode, done.stdout) == (2, "") and "No data directory is named" in done.stderr


def test_an_options_value_does_not_ask_for_help(service):
    account = service.cli("account", "create", "--name", "--help")
    assert service.cli("account", "show", account["account_id"])["name"] == "--help"
    for words in (["-h"], ["--rewards", "--help"], ["--name", "x", "--help"]):
        assert service.run("account", "create", *words).stdout.startswith("usage:")


def test_without_a_running_service(tmp_path, new_service):
    service = new_service(start=False)
    for data in (tmp_path, tmp_path / "missing"):
        service.data = data
        done = service.run("account", "list")
        assert (done.returncode, done.stdout) == (1, ""), done
        assert set(json.loads(done.stderr)) == {"code", "message"}
    assert list(tmp_path.iterdir()) == [], "a command creates no directory"


def test_after_a_stop_commands_report_that_no_service_runs(new_service):
    service = new_service(shards=1)
    assert service.stop() == 0
    done = service.run("account", "list", seconds=10)
    assert done.returncode == 1 and json.loads(done.stderr)["code"]


def test_status(service, shop):
    shop.create()
    status = service.status()
    for process in status["processes"]:
        assert {"role", "index", "pid", "state", "epoch"} <= set(process), process
        assert Path(f"/proc/{process['pid']}").exists()
    roles = [(process["role"], process["index"]) for process in status["processes"]]
    assert {("shard", 0), ("shard", 1), ("timer", 0), ("http", 0)} <= set(roles)
    assert len(set(roles)) == len(roles)
    shards = status["shards"]
    assert [shard["index"] for shard in shards] == [0, 1]
    for shard in shards:
        assert {"accounts", "passes", "journal_seq", "due_deliveries", "oldest_due_seconds"} <= set(shard), shard
    before = sum(shard["passes"] for shard in shards), sum(shard["journal_seq"] for shard in shards)
    shop.create()
    after = service.status()["shards"]
    assert sum(shard["passes"] for shard in after) == before[0] + 1
    assert sum(shard["journal_seq"] for shard in after) > before[1]
    assert sum(shard["accounts"] for shard in after) == len(service.cli("account", "list"))


def files_below(path):
    return [file for file in Path(path).rglob("*") if file.is_file()]


def test_no_file_has_a_secret_in_clear(new_service):
    service: Service = new_service(shards=1)
    made = service.cli("account", "create", "--name", "x")
    second = service.cli("key", "create", made["account_id"])["api_key"]
    with service.client(second) as client:
        assert client.get("/v1/passes").status == 200
        client.get("/v1/passes/" + new_id(), key=second[:-1])
    assert service.stop() == 0
    secrets = [key.split("_")[2].encode() for key in (made["api_key"], second)]
    files = files_below(service.home)
    assert len(files) > 3
    for file in files:
        content = file.read_bytes()
        assert not any(secret in content for secret in secrets), file
    keys = [file for file in files if file.name == "master.key"]
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in keys)
