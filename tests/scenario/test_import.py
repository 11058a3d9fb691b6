"""pass import: files of rows become passes, in the order of the file."""
import csv
import io
import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from imports import Running, bodies, ids_in_order, jsonl, run, write
from patience import PATIENCE

pytestmark = pytest.mark.plain  # tests the command line, which the sanitizer runs take from another build

ERRORS_SHOWN = 20


# Rows

def test_rows_become_passes_in_the_order_of_the_file(shop, tmp_path):
    rows = bodies(1500)
    got = run(shop, write(tmp_path / "a.jsonl", jsonl(rows)))
    assert got.counts == {"created": 1500, "failed": 0} and got.stderr == ""
    assert ids_in_order(shop) == [row["pass_id"] for row in rows]
    shown = shop.get("r7")
    assert (shown["status"], shown["visible"]) == ("issued", {"name": "Ada 7", "visits": 7, "points": 0})
    assert [entry["what"] for entry in shop.history("r7")] == ["created", "issued"]


def test_a_row_is_a_body_of_the_interface(shop, tmp_path):
    """A row is refused with the same code as the same body over HTTP."""
    wrong = ['{"pass_id":"x"', "[]", '"x"', '{"pass_id":"x","pass_id":"y","visible":{"name":"a"}}', "{}",
             '{"pass_id":5}', '{"pass_id":""}', '{"pass_id":"x","colour":1}', '{"pass_id":"x","visible":{"nme":"a"}}',
             '{"pass_id":"x","visible":{"name":"a","points":3}}', '{"pass_id":"x","visible":{"name":5}}',
             '{"pass_id":"x"}', '{"pass_id":"x","visible":{"name":"a"},"initial_platform":"palm"}',
             '{"pass_id":"x","visible":{"name":"a"},"appearance":{}}',
             '{"pass_id":"x","visible":{"name":"a"},"pass_template_id":"tpl_nonsense"}',
             '{"pass_id":"x","visible":{"name":"\\ud800"}}', '{"pass_id":"x","visible":{"name":"a"}} trailing']
    right = ['{"pass_id":"ok1","visible":{"name":"a","visits":1.50},"hidden":{"n":1e2,"deep":{"a":[1]}}}',
             '  {"pass_id":"ok2","visible":{"name":"a"},"initial_platform":"ios"}\r']
    wanted = []
    for body in wrong:
        answer = shop.client.post_raw("/v1/passes", body)
        wanted.append((answer.json["code"], answer.json.get("field")))
    lines = [right[0], *wrong, "", right[1]]
    got = run(shop, write(tmp_path / "a.jsonl", "\n".join(lines) + "\n"))
    assert got.counts == {"created": 2, "failed": len(wrong)}
    assert got.failed == ("\n".join(wrong) + "\n").encode(), "numbers and order as they are in the file"
    found = []
    for number, line in enumerate(got.errors.decode().splitlines(), 2):
        start, code, *rest = line.split(" ")
        assert (start, line.startswith(f"line {number}: ")) == ("line", True)
        field = line[line.rindex("(") + 1:-1] if line.endswith(")") else None
        found.append((rest[0], field))
    assert found == wanted
    platform = [line for line in got.errors.decode().splitlines() if "(initial_platform)" in line]
    assert len(platform) == 1 and "request" not in platform[0], "the message must blame a value, not the request"
    assert got.stderr == got.errors.decode()
    assert shop.get("ok1")["hidden"] == {"n": 100.0, "deep": {"a": [1]}}
    assert ids_in_order(shop) == ["ok1", "ok2"]
    # The file of failures can be corrected in place and imported again.
    fixed = write(Path(f"{got.path}.failed"), '{"pass_id":"fixed","visible":{"name":"a"}}\n')
    assert run(shop, fixed).counts == {"created": 1, "failed": 0}


def test_rows_of_a_csv_file_become_passes(shop, tmp_path):
    rows = [["a", "Ada, \"the\" first", "12.50", "TRUE", "1990-01-02", "line one\r\nline two", "ios"],
            ["b", "Çağrı", "", "false", "", "", ""], ["c", " spaces ", "-3e2", "", "", "007", "android"]]
    header = ["pass_id", "visible.name", "visible.visits", "visible.vip", "visible.birthday", "hidden.note",
              "initial_platform"]
    for end, mark in (("\n", b""), ("\r\n", b"\xef\xbb\xbf")):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator=end)
        writer.writerow(header)
        writer.writerows(rows)
        got = run(shop, write(tmp_path / "A.CSV", mark + text.getvalue().encode()))
        assert got.counts == {"created": 3, "failed": 0}, got.stderr
        shown = [shop.get(row[0]) for row in rows]
        assert [made["visible"] for made in shown] == [
            {"name": "Ada, \"the\" first", "visits": 12.5, "vip": True, "birthday": "1990-01-02", "points": 0},
            {"name": "Çağrı", "vip": False, "points": 0}, {"name": " spaces ", "visits": -300, "points": 0}]
        assert [made["hidden"] for made in shown] == [{"note": "line one\r\nline two"}, {}, {"note": "007"}]
        for row in rows:
            shop.delete(row[0])


def test_files_that_were_joined(shop, tmp_path):
    """A later header is no pass."""
    part = "pass_id,visible.name\nj{0},Ada\n"
    got = run(shop, write(tmp_path / "a.csv", part.format(1) + part.format(2) + "\ufeff" + part.format(3)))
    assert got.counts == {"created": 3, "failed": 2}
    assert got.errors.decode().count("INVALID_REQUEST The row repeats the header.") == 2
    assert ids_in_order(shop)[-3:] == ["j1", "j2", "j3"]


def test_names_of_files_in_messages(shop, tmp_path):
    for name in ("x" + "é" * 100 + ".csv", os.fsdecode(b"caf\xe9.csv")):
        done = subprocess.run([shop.service.program, "pass", "import", shop.account, tmp_path / name, "--data", shop.service.data],
                              capture_output=True, check=False)
        refusal = json.loads(done.stderr.decode("utf-8"))
        assert done.returncode == 1 and "cannot be opened: No such file" in refusal["message"], refusal


def test_arguments_of_an_import(shop, tmp_path):
    for words, says in (((write(tmp_path / "a.csv", "pass_id\n"), "--wait", "0s"), "--wait wants 1s or more"), (("",), "FILE is empty")):
        done = shop.service.run("pass", "import", shop.account, *words)
        assert done.returncode == 2 and done.stderr.splitlines()[-1] == f"stampede: {says}", done


def test_invalid_rows_of_a_csv_file(shop, tmp_path):
    header = b"\xef\xbb\xbfpass_id,visible.name,visible.visits,hidden.note\r\n"
    bad = [b"a,Ada,many,\r\n", b",Ada,1,\r\n", b"c,Ada,1\r\n", b"d,Ada,1,,\r\n", b"e,,1,\r\n", b"f,\"Ada\" x,1,\r\n",
           b"g,Ada,1,\"two\r\nlines \xff\"\r\n", b"h,5\" disk,1,\r\n"]
    good = [b"A,Ada,1,x\r\n", b"\r\n", b"B,\"Ada\r\n\",1,\"\"\r\n", b"C,Ada,,\r\n"]
    got = run(shop, write(tmp_path / "a.csv", header + good[0] + b"".join(bad) + b"".join(good[1:])))
    assert got.counts == {"created": 3, "failed": len(bad)}, got.stderr
    assert got.failed == header + b"".join(bad)
    assert ids_in_order(shop) == ["A", "B", "C"]
    lines = got.errors.decode().splitlines()
    assert [line.split(":")[0] for line in lines] == [f"line {n}" for n in (3, 4, 5, 6, 7, 8, 9, 11)]
    for line, want in zip(lines, ["PASS_TEMPLATE_DATA_INVALID", "INVALID_INPUT", "INVALID_REQUEST", "INVALID_REQUEST",
                                  "PASS_TEMPLATE_DATA_INVALID", "INVALID_REQUEST", "INVALID_REQUEST",
                                  "INVALID_REQUEST"], strict=True):
        assert line.split(": ")[1].startswith(want + " "), line
    assert lines[0].endswith("(visible.visits)") and lines[1].endswith("(pass_id)")
    assert "3 cells" in lines[2] and "4" in lines[2]


def test_typical_faults_of_spreadsheets_are_reported(shop, tmp_path):
    header, caf = "pass_id,visible.name\n", "a,Café\n".encode("latin-1")
    got = run(shop, write(tmp_path / "a.csv", header.encode() + b",\n" + caf + b",\n\"\",\"\"\nb,\"Ada\nc,Ada\n"))
    assert got.counts == {"created": 0, "failed": 2}, "rows of empty cells are skipped"
    latin, quote = got.errors.decode().splitlines()
    assert latin.startswith("line 3: INVALID_REQUEST ") and "not UTF-8" in latin
    assert quote.startswith("line 6: INVALID_REQUEST ") and "from line 6 to line 7" in quote
    got = run(shop, write(tmp_path / "b.jsonl", '{"pass_id":"é"}\n'.encode("latin-1") + b'{"pass_id":"a"}\r{"pass_id":"b"}\r'))
    latin, returns = got.errors.decode().splitlines()
    assert "not UTF-8" in latin and "(CR)" in returns
    for quoted in ('"pass_id";"visible.name"\n"a";"Ada"\n', '"pass_id"\t"visible.name"\n"a"\t"Ada"\n'):
        message = run(shop, write(tmp_path / "d.csv", quoted)).refusal["message"]
        assert message == "The header, in line 1: Cells are separated by commas, not by semicolons or tabs."
    assert "(CR)" in run(shop, write(tmp_path / "c.csv", "pass_id,visible.name\ra,Ada\rb,Bob\r")).refusal["message"]


def test_an_unclosed_quote_fails_only_the_rows_it_includes(shop, tmp_path):
    text = "pass_id,visible.name\na,Ada\nb,\"Ada\nc,Ada\nd,\"Ada\"\ne,Ada\nf,\"Ada"
    got = run(shop, write(tmp_path / "a.csv", text))
    assert got.counts == {"created": 2, "failed": 2}, got.stderr
    assert got.failed.decode() == "pass_id,visible.name\nb,\"Ada\nc,Ada\nd,\"Ada\"\nf,\"Ada\n"
    assert ids_in_order(shop) == ["a", "e"]


@pytest.mark.parametrize("header, says", [
    ("pass_id,visible.name,visible.nme", "visible.nme"), ("pass_id,visible.name,colour", "colour"),
    ("pass_id,visible.name,visible.points", "visible.points"), ("visible.name", "pass_id"),
    ("pass_id,visible.name,visible.name", "visible.name"), ("pass_id,hidden.a,hidden.a", "hidden.a"),
    ("pass_id,hidden.", "hidden."), ("pass_id;visible.name", "pass_id;visible.name"), ("", "empty"),
    ("PASS_ID,visible.name", "PASS_ID"), ("pass_id,\"visible.name", "quote")])
def test_an_invalid_header_refuses_the_file(till, tmp_path, header, says):
    got = run(till, write(tmp_path / "a.csv", header + "\nx,y,z\n" if header else ""))
    assert got.refusal["code"] == "INVALID_INPUT" and says in got.refusal["message"]
    assert (got.failed, got.errors) == (None, None)


def test_additions_of_spreadsheets_are_ignored(shop, tmp_path):
    table = "\ufeffpass_id,visible.name,,\r\na,Ada,,\r\nb,Bob\r\nc,Eve,,x\r\n,,,\r\n\r\n\r\n"
    got = run(shop, write(tmp_path / "a.csv", table))
    assert got.counts == {"created": 2, "failed": 1}, got.stderr
    assert got.errors.decode().startswith("line 4: INVALID_REQUEST Cell 4 of the row is not empty"), got.errors
    assert run(shop, write(tmp_path / "b.jsonl", "\ufeff" + jsonl(bodies(2)) + "\r\n\n")).counts["created"] == 2


@pytest.mark.parametrize("name, content, says", [
    ("a.csv", "pass_id\tvisible.name\na\tAda\n".encode("utf-16"), "UTF-16"),
    ("a.csv", "pass_id,visible.name\na,Ada\n".encode("utf-16-le"), "UTF-16"),
    ("a.csv", "pass_id\n".encode("utf-32"), "UTF-32"),
    ("a.jsonl", b"\0\0\xfe\xff" + '{"pass_id":"a"}\n'.encode("utf-32-be"), "UTF-32"),
    ("a.csv", b"PK\3\4and more", ".xlsx"), ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls"),
    ("a.csv", b"\x1f\x8b\x08\0", "gzip"), ("a.jsonl", b'[{"pass_id":"a"}]', "one JSON array"),
    ("a.jsonl", '{"pass_id":"a"}\n'.encode("utf-16"), "UTF-16")])
def test_a_file_of_another_format_is_refused(till, tmp_path, name, content, says):
    got = run(till, write(tmp_path / name, content))
    assert got.refusal["code"] == "INVALID_INPUT" and says in got.refusal["message"]
    assert (got.failed, got.errors) == (None, None)


def test_the_error_of_a_row_names_its_fault(shop, tmp_path):
    rows = ['{"pass_id":"a",}', "[]", '{"pass_id":"a","visble":{}}', '{"pass_id":"a","visible":{"nme":"x"}}', "{'pass_id':'a'}"]
    lines = run(shop, write(tmp_path / "a.jsonl", "\n".join(rows))).errors.decode().splitlines()
    words = ["The row is not JSON: a comma", "The row is an empty array", "`visible` is meant", "`name` is meant", "double quotes"]
    for line, word in zip(lines, words, strict=True):
        assert word in line, line


def test_reasons_do_not_act_on_a_terminal(shop, tmp_path):
    """The file determines the names of fields in them."""
    got = run(shop, write(tmp_path / "a.jsonl", '{"visible":{},"a\u009b\u202e":1}\n'))
    assert rb"a\u009b\u202e" in got.errors and got.errors.decode() in got.stderr


def test_the_template_of_imported_passes(new_shop, tmp_path):
    shop, other = new_shop("balance", "none"), new_shop("balance")
    template = shop.templates["none"]
    path = write(tmp_path / "a.jsonl", jsonl([
        {"pass_id": "default", "visible": {"name": "a"}}, {"pass_id": "null", "visible": {"name": "a"},
                                                            "pass_template_id": None},
        {"pass_id": "own", "visible": {"name": "a"}, "pass_template_id": shop.templates["balance"]}]))
    assert run(shop, path, "--template", template).counts == {"created": 3, "failed": 0}
    assert [shop.get(name)["loyalty_type"] for name in ("default", "null", "own")] == ["none", "none", "balance"]
    assert run(shop, write(path, jsonl(bodies(1)))).counts["created"] == 1
    assert shop.get("r0")["loyalty_type"] == "balance", "the account's first"
    fields = [{"key": "n", "label": "N", "type": "text"}]
    template = shop.put_template({"name": "T", "loyalty_type": "none", "fields": fields})
    table = write(tmp_path / "a.csv", "pass_id,visible.n\nt,x\n")
    assert run(shop, table).refusal["message"].count("visible.n") == 1
    assert run(shop, table, "--template", template).counts == {"created": 1, "failed": 0}
    for unknown, code in ((other.templates["balance"], "UNAUTHORIZED"), (template[:-1] + "9", "PASS_TEMPLATE_NOT_FOUND"),
                          ("x", "PASS_TEMPLATE_NOT_FOUND"), ("", "PASS_TEMPLATE_NOT_FOUND")):
        assert run(shop, table, "--template", unknown).refusal["code"] == code
    assert run(new_shop(), path).refusal["code"] == "PASS_TEMPLATE_NOT_FOUND", "an account without templates"


def test_the_same_id_twice(shop, tmp_path):
    rows = bodies(300)
    twice = [row for row in rows for _ in range(2)] + rows[:5]
    got = run(shop, write(tmp_path / "a.jsonl", jsonl(twice)))
    assert got.counts == {"created": 300, "failed": 305}
    assert got.failed.decode() == jsonl(rows + rows[:5])
    assert all("RESOURCE_CONFLICT" in line for line in got.errors.decode().splitlines())
    assert ids_in_order(shop) == [row["pass_id"] for row in rows]
    shown = got.stderr.splitlines()
    assert len(shown) == ERRORS_SHOWN + 1 and "285 more" in shown[-1] and ".errors" in shown[-1]
    again = run(shop, write(got.path, jsonl(bodies(1, "new"))))
    assert again.counts == {"created": 1, "failed": 0}, "the failures of an earlier run are deleted"


def test_a_row_that_is_too_long(shop, tmp_path):
    long = b'{"pass_id":"x","hidden":{"a":"' + b"a" * (17 << 20) + b'"}}\n'
    fits = b'{"pass_id":"f","visible":{"name":"a"},"hidden":{"a":"' + b"a" * (900 << 10) + b'"}}\n'
    stored = b'{"pass_id":"s","visible":{"name":"a"},"hidden":{"a":"' + b"a" * (1200 << 10) + b'"}}\n'
    small = jsonl(bodies(2)).encode()
    got = run(shop, write(tmp_path / "a.jsonl", small[:small.index(b"\n") + 1] + long + fits + stored + long[:-1]))
    assert got.counts == {"created": 2, "failed": 3}, got.stderr
    assert got.failed == long + stored + long
    assert [line.split(" ")[2] for line in got.errors.decode().splitlines()] == ["PAYLOAD_TOO_LARGE"] * 3
    table = b"pass_id,visible.name\na,Ada\nb,\"" + (b"x" * 999 + b"\n") * 18000 + b"\"\nc,Ada\n"
    got = run(shop, write(tmp_path / "a.csv", table))
    assert got.counts == {"created": 2, "failed": 1} and ids_in_order(shop)[-2:] == ["a", "c"], got.counts
    assert got.failed == table[:table.index(b"a,")] + table[table.index(b"b,"):table.index(b"c,")]


# Refusals

def test_refused_before_anything_happens(shop, tmp_path):
    good = write(tmp_path / "a.jsonl", jsonl(bodies(1)))
    fifo = tmp_path / "f.jsonl"
    os.mkfifo(fifo)
    (tmp_path / "d.jsonl").mkdir()
    for path, says in ((tmp_path / "none.jsonl", "No such file"), (tmp_path / "d.jsonl", "directory"), (fifo, "regular"),
                       (write(tmp_path / "a.txt", ""), ".jsonl or .csv"), (tmp_path / "a", ".jsonl or .csv")):
        assert says in run(shop, path).refusal["message"], path
    blocked = Path(f"{good}.failed")
    blocked.mkdir()
    assert "a.jsonl.failed" in run(shop, good).refusal["message"]
    blocked.rmdir()
    blocked = Path(f"{good}.errors")
    blocked.mkdir()
    assert "a.jsonl.errors" in run(shop, good).refusal["message"]
    assert not Path(f"{good}.failed").exists()
    blocked.rmdir()
    account, shop.account = shop.account, "acc_aaaaaaaaaaaaaaaa"
    assert run(shop, good).refusal["code"] == "RESOURCE_NOT_FOUND"
    shop.account = account
    shop.set("--suspended", "on")
    assert run(shop, good).refusal["code"] == "ACCOUNT_SUSPENDED"
    shop.set("--suspended", "off")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "a.txt", "d.jsonl", "f.jsonl"]
    assert shop.list()[1] == 0
    assert run(shop, good).counts == {"created": 1, "failed": 0}


def test_empty_files(shop, tmp_path):
    for name, content in (("a.jsonl", ""), ("a.jsonl", "\n\r\n  \n"), ("a.jsonl", b"\xef\xbb\xbf"),
                          ("a.csv", "pass_id,visible.name"), ("a.csv", "\npass_id\r\n\r\n")):
        assert run(shop, write(tmp_path / name, content)).counts == {"created": 0, "failed": 0}, (name, content)


def test_failed_rows_are_not_written_through_a_symlink(shop, tmp_path):
    path = write(tmp_path / "a.jsonl", "wrong\n")
    Path(f"{path}.failed").symlink_to(path)
    assert run(shop, path).counts == {"created": 0, "failed": 1}
    assert (path.read_bytes(), Path(f"{path}.failed").is_symlink()) == (b"wrong\n", False)


@pytest.mark.parametrize("arguments", [[], ["a.jsonl", "b.jsonl"], ["a.jsonl", "--colour", "red"],
                                       ["a.jsonl", "--template"], ["a.jsonl", "--wait", "long"],
                                       ["a.jsonl", "--wait", "0s"]])
def test_wrong_usage(shop, arguments):
    done = shop.service.run("pass", "import", shop.account, *arguments)
    assert (done.returncode, done.stdout) == (2, "") and "import" in done.stderr


def test_an_import_without_a_service(new_service, tmp_path):
    service = new_service(start=False)
    done = service.run("pass", "import", "acc_aaaaaaaaaaaaaaaa", write(tmp_path / "a.jsonl", jsonl(bodies(1))))
    assert json.loads(done.stderr)["code"] == "NOT_RUNNING"


# During an import

def test_two_imports_of_one_file_at_once(service, shop, tmp_path):
    path = write(tmp_path / "a.jsonl", jsonl(bodies(30000)))
    running = Running(shop, path)
    running.wait_created(1)
    assert "under way" in run(shop, path).refusal["message"]
    assert running.end().counts == {"created": 30000, "failed": 0}


def test_progress_is_shown_on_a_terminal(shop, tmp_path):
    path = write(tmp_path / "a.jsonl", jsonl(bodies(20000)) + "wrong\n")
    ours, theirs = pty.openpty()
    running = Running(shop, path, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:
        pass  # a terminal reports its end this way
    os.close(ours)
    assert json.loads(running.process.communicate(timeout=20 * PATIENCE)[0]) == {"created": 20000, "failed": 1}
    assert b"\rimport [#" in seen and b" %" in seen
    assert seen.split(b"\033[K")[-1].startswith(b"line 20001: INVALID_REQUEST ")


def test_a_file_is_not_loaded_into_memory(shop, tmp_path):
    path = write(tmp_path / "a.jsonl", b"{" + b"x" * 500_000 + b"\n" + b"")
    with open(path, "ab") as file:
        for _ in range(300):
            file.write(b'{"pass_id":5,"hidden":{"a":"' + b"y" * 500_000 + b'"}}\n')
    running, peak_kb = Running(shop, path), 0
    while running.process.poll() is None:
        peak = [line for line in Path(f"/proc/{running.process.pid}/status").read_text().splitlines() if "VmHWM" in line]
        peak_kb = max([peak_kb, *(int(line.split()[1]) for line in peak)])
    assert running.end().counts == {"created": 0, "failed": 301}
    if "asan" not in str(shop.service.build):
        assert 0 < peak_kb < 64 << 10, f"{peak_kb} KB for a file of {path.stat().st_size >> 10} KB"
    path.unlink()
    Path(f"{path}.failed").unlink()
