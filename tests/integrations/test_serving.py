"""A model behind HTTP answers what it predicts, and refuses what it refuses."""

import datetime as dt
import json
import math
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from eventually import until

import penstock as ps
from penstock import stages as st
from penstock.cli.serving import ServeRequest, serve
from penstock.core.errors import ConfigError, DataValueError, SchemaError

ROWS = [{"x": 1.0, "day": "2024-02-29", "city": "a"}, {"x": None, "day": None, "city": "never seen"}]


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Import FastAPI when a test runs."""
    global create_app, RowDecoder, encode_rows
    from penstock.integrations.serving import create_app
    from penstock.integrations.serving.json_rows import RowDecoder, encode_rows


@pytest.fixture(scope="module")
def model() -> ps.PipelineModel:
    days = [dt.date(2024, 1, day) for day in (1, 2, 3, 4)]
    table = pa.table({"x": [1.0, None, 3.0, 6.0], "day": days, "city": ["a", "b", "a", None], "y": [0, 1, 0, 1]})
    stages = (
        st.Imputer("x"),
        st.DateParts("day", parts=("month", "day")),
        st.StringIndexer("city", handle_invalid="keep"),
        st.LogisticRegression("y", features=["x", "city"]),
    )
    return ps.Pipeline(*stages).fit(ps.LocalEngine(device="cpu").from_arrow(table))


@contextmanager
def listening(app: Any, **options: Any):
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, **options))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def url(model):
    with listening(create_app(model, columns=["probability", "prediction", "day_month"], max_rows=50)) as url:
        yield url


def ask(url: str, body: Any = None) -> tuple[int, Any]:
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def predicted(model: ps.PipelineModel, rows: Any) -> Any:
    return model.predict(rows, columns=["probability", "prediction", "day_month"])


def test_a_row_is_answered_as_a_row_and_a_list_as_a_list(model, url):
    rows = [{**row, "day": row["day"] and dt.date.fromisoformat(row["day"])} for row in ROWS]
    assert json.loads(ask(f"{url}/predict", ROWS[0])[1]) == predicted(model, rows[0])
    assert json.loads(ask(f"{url}/predict", ROWS)[1]) == predicted(model, rows)
    assert ask(f"{url}/predict", [])[1] == b"[]"


def test_rows_are_scored_to_the_bit_as_those_of_a_file_of_json_lines(model, url, tmp_path):
    rows = [{"x": place / 7, "day": f"2024-03-{place + 1:02d}", "city": "ab"[place % 2]} for place in range(30)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    schema = pa.schema([field for field in model.schema if field.name != "y"])
    read = ps.LocalEngine(device="cpu").read_json_lines(tmp_path / "rows.jsonl", schema=schema)
    scored = model.transform(read).select("probability", "prediction", "day_month").to_arrow().to_pylist()
    assert json.loads(ask(f"{url}/predict", rows)[1]) == scored


def test_what_is_no_row_is_refused_with_its_column(url, subtests):
    for body, column, message in (
        (b"{", None, "the body is not JSON"),
        (b"[" * 100_000, None, "nested too deeply"),
        (b"3", None, "expected an object or a list of objects"),
        ([3], None, "expected an object or a list of objects"),
        ({"x": 1.0, "day": None}, "city", "the row lacks 1 column"),
        ({**ROWS[0], "day": "29.2.2024"}, "day", "expected date32"),
        ({**ROWS[0], "day": 3}, "day", "expected date32"),
        ({**ROWS[0], "x": "1"}, "x", "expected double"),
    ):
        with subtests.test(str(body)[:40]):
            status, answer = ask(f"{url}/predict", body)
            error = json.loads(answer)["error"]
            assert (status, error.get("column")) == (422, column)
            assert message in error["message"]


def test_too_many_rows_and_too_long_a_body_are_refused(model):
    with listening(create_app(model, max_rows=2, max_bytes=300)) as url:
        assert ask(f"{url}/predict", ROWS)[0] == 200
        assert ask(f"{url}/predict", [*ROWS, ROWS[0]])[0] == 413
        assert ask(f"{url}/predict", b" " * 301)[0] == 413


def test_what_is_taken_and_given_is_told(model, url):
    told = json.loads(ask(f"{url}/schema")[1])
    assert told["inputs"] == {"x": "double", "day": "date32[day]", "city": "string"}
    assert told["outputs"] == ["probability", "prediction", "day_month"]
    assert told["classes"] == {"probability": [0, 1]}
    assert json.loads(ask(f"{url}/health")[1]) == {"status": "ok", "digest": model.digest}


def test_requests_and_rows_are_counted(model):
    with listening(create_app(model)) as url:
        ask(f"{url}/predict", ROWS)
        ask(f"{url}/predict", {})
        lines = ask(f"{url}/metrics")[1].decode().splitlines()
    assert 'penstock_requests_total{status="200"} 1.0' in lines
    assert 'penstock_requests_total{status="422"} 1.0' in lines
    assert "penstock_rows_total 2.0" in lines
    assert "penstock_request_seconds_count 2.0" in lines


def test_what_was_not_expected_is_in_the_log_alone(caplog):
    def predict(rows: Any, columns: Any = None) -> Any:
        if rows:
            raise RuntimeError("hunter2")
        return []

    columns = {"schema": pa.schema([]), "output_columns": (), "steps": ()}
    broken: Any = SimpleNamespace(predict=predict, digest="sha256:0", **columns)
    with listening(create_app(broken)) as url:
        status, answer = ask(f"{url}/predict", {"x": 1})
    assert (status, json.loads(answer)["error"]["message"]) == (500, "see the log")
    assert b"hunter2" not in answer
    assert "hunter2" in caplog.text


def test_a_column_that_the_model_does_not_give_is_refused_before_the_first_request(model):
    with pytest.raises(SchemaError, match="no column 'probabilty'"):
        create_app(model, columns=["probabilty"])


def test_values_that_json_lacks_are_texts(subtests):
    for kind, text, value in (
        (pa.timestamp("us", "UTC"), "2024-02-29T12:00:00Z", dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)),
        (pa.timestamp("ms"), "2024-02-29 12:00", dt.datetime(2024, 2, 29, 12)),
        (pa.time64("us"), "12:30:00.000001", dt.time(12, 30, 0, 1)),
        (pa.decimal128(5, 2), "12.50", Decimal("12.50")),
        (pa.decimal128(5, 2), 12, Decimal(12)),
        (pa.binary(), "AP8=", b"\x00\xff"),
        (pa.int64(), 2**62, 2**62),
    ):
        with subtests.test(kind=kind, text=text):
            decode = RowDecoder(pa.schema({"v": kind}))
            assert decode(json.dumps({"v": text, "more": 1}).encode()) == {"v": value, "more": 1}
            assert decode(json.dumps({"v": None}).encode()) == {"v": None}


def test_a_number_with_a_fraction_is_no_decimal():
    with pytest.raises(DataValueError, match=r"the row has 12\.1 in column 'v', expected decimal128"):
        RowDecoder(pa.schema({"v": pa.decimal128(5, 2)}))(b'{"v": 12.1}')


JSON = [
    b"18446744073709551616", b"-9223372036854775809", b"123456789012345678901234567890", b"-0", b"-0.0", b"1e400",
    b"1E5", b"0.1", b"9007199254740993", b"9007199254740993.0", b"2.2250738585072011e-308", b"NaN", b"-Infinity",
    b'{"a":1,"a":2}', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\xed\xa0\x80"', b'"\xff"', b'"\x01"', b'"\\u0000"',
    b'"\\x"', b"\xef\xbb\xbf1", b"\xff\xfe1\x00", b"01", b"1.", b"[1,]", b"1" * 400, b"1" * 5_000,
    b"[" * 900 + b"]" * 900, b"[" * 2_000 + b"]" * 2_000, b"", b"nul", b"1 2",
]  # fmt: skip


def test_values_are_those_that_json_of_the_standard_library_reads(subtests):
    for value in JSON:
        body = b'{"v":' + value + b"}"
        with subtests.test(repr(value[:20])):
            try:
                expected = repr(json.loads(body))
            except (ValueError, RecursionError):
                with pytest.raises(DataValueError, match="the body is"):
                    RowDecoder(pa.schema([]))(body)
            else:
                assert repr(RowDecoder(pa.schema([]))(body)) == expected


TYPES = pa.schema(
    {"f": pa.float64(), "n": pa.int32(), "u": pa.uint64(), "s": pa.string(), "b": pa.bool_(), "d": pa.date32(),
     "l": pa.list_(pa.float64()), "y": pa.int64()}
)  # fmt: skip
PLAIN = '{"f":0.5,"n":3,"u":18446744073709551615,"s":"a","b":true,"d":"2024-02-29","l":[1.5,null],"y":1}'


@pytest.fixture(scope="module")
def typed() -> ps.PipelineModel:
    days = [dt.date(2024, 2, 29), None]
    columns = ([0.5, None], [1, 2], [1, 2], ["a", None], [True, None], days, [[1.0], None], [0, 1])
    table = pa.table([pa.array(each, field.type) for each, field in zip(columns, TYPES, strict=True)], schema=TYPES)
    return ps.Pipeline(st.Clip("f", lower=0)).fit(ps.LocalEngine(device="cpu").from_arrow(table))


def outcome(model: ps.PipelineModel, decode: Any, body: bytes) -> tuple[type, str]:
    try:
        return dict, repr(model.predict(decode(body), columns=TYPES.names[:-1]))
    except (DataValueError, SchemaError) as error:
        return type(error), str(error)


CHANGES = [
    ('"f":0.5', '"f":3'), ('"f":0.5', '"f":9007199254740993'), ('"f":0.5', '"f":1e400'), ('"f":0.5', '"f":NaN'),
    ('"f":0.5', '"f":"1"'), ('"f":0.5', '"f":true'), ('"f":0.5', '"f":1180591620717411303424'),
    ('"f":0.5', '"f":-0'), ('"n":3', '"n":3.0'), ('"n":3', '"n":3.5'), ('"n":3', '"n":true'),
    ('"n":3', '"n":2147483648'), ('"n":3', '"n":null'), ('"u":1', '"u":-1'), ('"s":"a"', '"s":3'),
    ('"s":"a"', '"s":"\\ud800"'), ('"s":"a"', '"s":"\u00e9\\u0000"'), ('"s":"a"', '"s":"z","s":"a"'),
    ('"s":"a"', '"s":3,"s":"a"'), ('"b":true', '"b":1'), ('"b":true', '"b":null'), ('"d":"2024-02-29"', '"d":null'),
    ('"d":"2024-02-29"', '"d":"29.2.2024"'), ('"d":"2024-02-29"', '"d":5'), ('[1.5,null]', '[1]'),
    ('[1.5,null]', '["a"]'), ('[1.5,null]', '{}'), ('"y":1', '"y":"no label"'), (',"y":1', ''),
    ('"y":1', '"y":1,"id":[{}]'), ('"f":0.5,', ''), ('"s":"a",', ''), ('"s":"a"', '"S":"a"'),
]  # fmt: skip


def test_many_rows_are_taken_and_refused_as_they_are_one_by_one(typed, subtests):
    together, apart = RowDecoder(TYPES, TYPES.names[:-1]), RowDecoder(TYPES)
    for before, after in CHANGES:
        with subtests.test(f"{before} {after}"):
            assert before in PLAIN
            rows = [PLAIN] * 10 + [PLAIN.replace(before, after)] + [PLAIN] * 2
            body = f"[{','.join(rows)}]".encode()
            assert outcome(typed, together, body) == outcome(typed, apart, body)


def test_many_plain_rows_are_one_table():
    decode = RowDecoder(TYPES, TYPES.names[:-1])
    assert decode(f"[{','.join([PLAIN] * 9)}]".encode()).schema == pa.schema(list(TYPES)[:-1])
    assert isinstance(decode(f"[{PLAIN}]".encode()), list)
    assert isinstance(decode(PLAIN.encode()), dict)


def test_rows_of_any_columns_are_read():
    for names in (['a"b', "c"], ["a\\b", "c"], [f"c{place}" for place in range(300)]):
        rows = [dict.fromkeys(names, 1)] * 10
        found = RowDecoder(pa.schema(dict.fromkeys(names, pa.int64())), names)(json.dumps(rows).encode())
        assert found == rows


def test_results_are_what_they_were_when_they_are_read_again():
    for value in (0.1, 1e16, 1e-7, 5e-324, -0.0, 2**70, 2**53 + 1, "\u00e9 null", True, None, [0.1, None]):
        for rows in ({"v": value}, [{"v": value}, {"v": None}]):
            assert repr(json.loads(encode_rows(rows))) == repr(rows)


def test_results_are_written_as_they_are_read():
    row = {"t": dt.datetime(2024, 2, 29, 12), "d": Decimal("1.50"), "b": b"\xff", "x": [0.1, None]}
    assert encode_rows(row) == b'{"t":"2024-02-29T12:00:00","d":"1.50","b":"/w==","x":[0.1,null]}'


def test_an_infinite_result_is_refused():
    for value in (math.inf, -math.inf, math.nan):
        with pytest.raises(DataValueError, match="infinite"):
            encode_rows([{"x": 1.0}, {"x": value}])


def test_a_port_that_is_taken_is_told(model, tmp_path):
    model.save(tmp_path / "model")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port} cannot be listened at"):
            serve(ServeRequest(model=str(tmp_path / "model"), port=port))


@pytest.mark.thorough
def test_the_command_answers_until_it_is_stopped_and_tells_what_it_did(model, tmp_path):
    model.save(tmp_path / "model")
    command = [sys.executable, "-m", "penstock", "serve", str(tmp_path / "model"), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split(" at ")[1].strip()
        assert ask(f"{url}/predict", ROWS)[0] == 200
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate()
    told = json.loads(out.splitlines()[-1])
    assert (process.returncode, told["requests"], told["rows"]) == (0, 1, 2)


def test_importing_the_command_line_leaves_fastapi_alone():
    code = "import sys, penstock.cli.commands, penstock.cli.serving; sys.exit('fastapi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "body",
    [b"[" + b"{}," * 999 + b"{}]", b'[{"x": [' + b"1," * 1999 + b"1]}]", b"[[" + b'"a":' * 1001],
    ids=["rows", "cells", "keys"],
)
def test_a_body_of_too_many_values_is_refused_before_any_of_them_is_made(model, body, monkeypatch):
    monkeypatch.setattr(RowDecoder, "__call__", lambda *_: pytest.fail("it was parsed"))
    with listening(create_app(model, max_values=1000)) as url:
        status, answer = ask(f"{url}/predict", body)
    assert (status, "keys and values, expected at most 1000" in json.loads(answer)["error"]["message"]) == (413, True)


@pytest.mark.thorough
def test_marks_inside_of_texts_are_no_values(model):
    text = r"\\\"[{:," * 400
    with listening(create_app(model, max_values=20)) as url:
        assert ask(f"{url}/predict", {"x": 1.0, "day": None, "city": text})[0] == 200


def send(url: str, head: str, body: bytes = b"") -> bytes:
    """Send a part of a request, and return what comes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=30) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + body)
        return b"".join(iter(lambda: connection.recv(4096), b""))


HEAD = "POST /predict HTTP/1.1\nHost: x\nContent-Length: {}\n\n"


def test_a_body_that_is_declared_too_long_is_not_waited_for(model):
    with listening(create_app(model)) as url:
        assert send(url, HEAD.format(10**12)).startswith(b"HTTP/1.1 413")
        assert send(url, HEAD.format("9" * 300)).startswith(b"HTTP/1.1 4")


@pytest.mark.faults
def test_a_request_that_does_not_come_is_closed_whatever_part_of_it_has_come(model, monkeypatch, subtests):
    from penstock.integrations.serving import app, patience

    monkeypatch.setattr(app, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(patience, "HEAD_SECONDS", 0.3)
    with listening(create_app(model), http=patience.PatientProtocol) as url:
        assert ask(f"{url}/predict", ROWS)[0] == 200
        for part, answer in (("", b""), ("POST /pre", b""), (HEAD[:40], b""), (HEAD.format(100), b"HTTP/1.1 408")):
            with subtests.test(part):
                assert send(url, part)[:12] == answer


def test_clients_that_hang_up_are_no_fault_of_the_server(model, caplog):
    app = create_app(model)
    with listening(app) as url:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as connection:
            connection.sendall(HEAD.format(100).replace("\n", "\r\n").encode() + b"{")
        until(lambda: app.state.meters.requests)
        assert ask(f"{url}/predict", b'{"x":' + b"[" * 990 + b"]" * 990 + b"}")[0] == 422
        lines = ask(f"{url}/metrics")[1].decode()
    assert 'penstock_requests_total{status="499"} 1.0' in lines
    assert 'status="5' not in lines
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.services
def test_requests_under_way_at_the_signal_to_stop_are_answered(model, tmp_path):
    model.save(tmp_path / "model")
    command = [sys.executable, "-m", "penstock", "serve", str(tmp_path / "model"), "--port", "0"]
    body = json.dumps(ROWS).encode()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split(" at ")[1].strip()
        port = int(url.rpartition(":")[2])
        under_way = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
        for connection in under_way:
            connection.sendall(HEAD.format(len(body)).replace("\n", "\r\n").encode() + body[:-1])
        ask(f"{url}/health")
        process.send_signal(signal.SIGTERM)
        until(lambda: not is_listening(port))
        answers = []
        for connection in under_way:
            with connection:
                connection.sendall(body[-1:])
                answers.append(connection.recv(12))
        process.communicate()
    assert (answers, process.returncode) == ([b"HTTP/1.1 200"] * 4, 0)


def is_listening(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
