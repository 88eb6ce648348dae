"""A model behind HTTP answers what it predicts, and refuses what it refuses."""

from __future__ import annotations

import datetime as dt
import json
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

import penstock as ps
from penstock import stages as st
from penstock.cli.serving import ServeRequest, serve
from penstock.core.errors import ConfigError, DataValueError, SchemaError
from penstock.integrations.serving import create_app
from penstock.integrations.serving.json_rows import RowDecoder, encode_rows

ROWS = [{"x": 1.0, "day": "2024-02-29", "city": "a"}, {"x": None, "day": None, "city": "never seen"}]


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
def listening(app: Any):
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
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


@pytest.mark.parametrize(
    ("body", "column", "message"),
    [
        (b"{", None, "the body is not JSON"),
        (b"[" * 100_000, None, "nested too deeply"),
        (b"3", None, "expected an object or a list of objects"),
        ([3], None, "expected an object or a list of objects"),
        ({"x": 1.0, "day": None}, "city", "the row lacks 1 column"),
        ({**ROWS[0], "day": "29.2.2024"}, "day", "expected date32"),
        ({**ROWS[0], "day": 3}, "day", "expected date32"),
        ({**ROWS[0], "x": "1"}, "x", "expected double"),
    ],
)
def test_what_is_no_row_is_refused_with_its_column(url, body, column, message):
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

    broken: Any = SimpleNamespace(predict=predict, schema=pa.schema([]), digest="sha256:0")
    with listening(create_app(broken)) as url:
        status, answer = ask(f"{url}/predict", {"x": 1})
    assert (status, json.loads(answer)["error"]["message"]) == (500, "see the log")
    assert b"hunter2" not in answer
    assert "hunter2" in caplog.text


def test_a_column_that_the_model_does_not_give_is_refused_before_the_first_request(model):
    with pytest.raises(SchemaError, match="no column 'probabilty'"):
        create_app(model, columns=["probabilty"])


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.timestamp("us", "UTC"), "2024-02-29T12:00:00Z", dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)),
        (pa.timestamp("ms"), "2024-02-29 12:00", dt.datetime(2024, 2, 29, 12)),
        (pa.time64("us"), "12:30:00.000001", dt.time(12, 30, 0, 1)),
        (pa.decimal128(5, 2), "12.50", Decimal("12.50")),
        (pa.decimal128(5, 2), 12, Decimal(12)),
        (pa.binary(), "AP8=", b"\x00\xff"),
        (pa.int64(), 2**62, 2**62),
    ],
)
def test_values_that_json_lacks_are_texts(kind, text, value):
    decode = RowDecoder(pa.schema({"v": kind}))
    assert decode(json.dumps({"v": text, "more": 1}).encode()) == {"v": value, "more": 1}
    assert decode(json.dumps({"v": None}).encode()) == {"v": None}


def test_a_number_with_a_fraction_is_no_decimal():
    with pytest.raises(DataValueError, match=r"the row has 12\.1 in column 'v', expected decimal128"):
        RowDecoder(pa.schema({"v": pa.decimal128(5, 2)}))(b'{"v": 12.1}')


def test_results_are_written_as_they_are_read():
    row = {"t": dt.datetime(2024, 2, 29, 12), "d": Decimal("1.50"), "b": b"\xff", "x": [0.1, None]}
    assert encode_rows(row) == b'{"t":"2024-02-29T12:00:00","d":"1.50","b":"/w==","x":[0.1,null]}'


def test_an_infinite_result_is_refused():
    with pytest.raises(DataValueError, match="infinite"):
        encode_rows({"x": float("inf")})


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
        out, _ = process.communicate(timeout=30)
    told = json.loads(out.splitlines()[-1])
    assert (process.returncode, told["requests"], told["rows"]) == (0, 1, 2)


def test_importing_the_command_line_leaves_fastapi_alone():
    code = "import sys, penstock.cli.commands, penstock.cli.serving; sys.exit('fastapi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
