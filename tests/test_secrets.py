"""A secret through every option that can hold one, looked for everywhere that texts come out."""

import itertools
import logging
import pickle
import traceback
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from small_projects import pipeline_module

from penstock import LocalEngine, Pipeline
from penstock import stages as st
from penstock.cli.commands import main
from penstock.engines.dask.settings import DaskSettings
from penstock.errors import ConfigError, InputError, PenstockError
from penstock.io.sources import stores

SECRET = "Sw0rdf1sh"
URLS = [
    f"s3://me:{SECRET}@bucket/a.parquet",
    f"s3://me:{SECRET}/{SECRET}@{SECRET}@bucket/a.parquet",
    f"https://{SECRET}@host/a.parquet",
    f"https://host/a.parquet?X-Amz-Signature={SECRET}&{SECRET}#{SECRET}",
]
READERS = ["read_parquet", "read_csv", "read_json_lines", "read_files"]
PIPELINE = pipeline_module(
    'st.Imputer("x"), st.XGBoostRegressor("y", num_boost_round=parameters.rounds)',
    '[st.RegressionEvaluator(label="y")]',
    parameters='rounds: int = 2; api_token: str = ""',
)


class Refusing(MemoryFileSystem):
    """A store that says its secrets when it fails; what lies in ``late`` can be listed, and not be opened."""

    protocol = "refusing"
    cachable = False

    def __init__(self, **options: object) -> None:
        super().__init__()
        self.told = f"refused: {options}, {SECRET}"

    def info(self, path: str, **options: object) -> dict[str, object]:
        if "late" in path:
            return {"name": path, "size": 9, "type": "file"}
        raise self._refuse(path)

    def _open(self, path: str, *arguments: object, **options: object) -> None:
        raise self._refuse(path)

    def cat_file(self, path: str, *arguments: object, **options: object) -> bytes:
        raise self._refuse(path)

    def _refuse(self, path: str) -> Exception:
        error = PermissionError(13, self.told, path) if "forbidden" in path else RuntimeError(f"{path}: {self.told}")
        error.__cause__ = ValueError(self.told)
        return error


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that do not answer are asked again at once."""
    monkeypatch.setattr(stores, "_PAUSE", 0.0)


@pytest.fixture
def refusing() -> None:
    fsspec.register_implementation("refusing", Refusing, clobber=True)


def texts(error: BaseException) -> str:
    """Return all that Python or anyone else prints of an error, of its causes too, and of one from a worker."""
    again = pickle.loads(pickle.dumps(error))
    printed = "".join(traceback.format_exception(error))
    return f"{printed}\n{error}\n{error!r}\n{error.args}\n{vars(error).get('hint')}\n{again}\n{again!r}\n{again.args}"


@pytest.mark.usefixtures("refusing")
def test_no_reader_shows_the_secrets_of_its_storage_options_though_the_store_does(subtests):
    options = {"key": "me", "secret": SECRET, "client_kwargs": {"headers": {"Authorization": f"Token {SECRET}"}}}
    for reader, folder in itertools.product(READERS, ("forbidden", "broken", "late")):
        with subtests.test(reader, folder=folder):
            read = getattr(LocalEngine(device="cpu"), reader)
            with pytest.raises(InputError) as caught:
                read(f"refusing://{folder}/a.txt", storage_options=options).to_arrow()
            assert "refused" in texts(caught.value)
            assert SECRET not in texts(caught.value)


def test_no_reader_shows_the_password_of_a_path_though_the_store_does(subtests):
    for reader in READERS:
        with subtests.test(reader=reader):
            folder = f"memory://me:{SECRET}@nowhere/{reader}"
            with fsspec.open(f"{folder}/near.parquet", "wb") as file:
                file.write(b"\xff\x00nothing")
            for name, about in (("gone.parquet", "Near it"), ("near.parquet", "near.parquet")):
                if (reader, name) == ("read_files", "near.parquet"):
                    continue  # any bytes are a file
                with pytest.raises(PenstockError) as caught:
                    getattr(LocalEngine(device="cpu"), reader)(f"{folder}/{name}").to_arrow()
                assert about in texts(caught.value)
                assert SECRET not in texts(caught.value)


@pytest.mark.thorough
def test_no_target_of_an_output_is_shown_with_its_secret(subtests, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    data = LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0]}))
    for url, write in itertools.product(URLS, (data.write_parquet, Pipeline(st.Imputer("x")).fit(data).save)):
        with subtests.test(url, write=write.__name__):
            with pytest.raises(PenstockError) as caught:
                write(url)
            assert SECRET not in texts(caught.value)


def test_no_address_of_a_scheduler_is_shown_with_its_secret(monkeypatch):
    cluster = pytest.importorskip("penstock.engines.dask.session")

    def refuse(address: str, **options: object) -> None:
        raise OSError(f"Timed out trying to connect to {address}")

    monkeypatch.setattr(cluster.distributed, "Client", refuse)
    for address in (f"tcp://me:{SECRET}@10.0.0.1:1", f"tls://10.0.0.1:1?token={SECRET}"):
        with pytest.raises(ConfigError, match=r"no Dask scheduler answers at .*\*\*\*") as caught:
            DaskSettings(cluster=address).start(None)
        assert SECRET not in f"{caught.value} {caught.value!r}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "line.py").write_text(PIPELINE)
    x = np.arange(200.0)
    table = pa.table({"x": x, "y": 2 * x, "half": [f"s3://me:{SECRET}@b", "b"] * 100})
    with fsspec.open(f"memory://me:{SECRET}@store/data.parquet", "wb") as file:
        pq.write_table(table, file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


OPTIONS = [
    "PIPELINE", "--data", "--out", "--score", "--report", "--checkpoint-dir", "--engine", "--conf", "--set",
    "--pipelines", "--device", "--format", "--memory-budget", "--seed", "--slice", "CONF",
]  # fmt: skip


@pytest.mark.thorough
def test_no_option_of_the_command_line_is_printed_with_its_secret(project, subtests, capfd):
    for option, url in zip(OPTIONS, itertools.cycle(URLS), strict=False):
        given = {"--data": f"memory://me:{SECRET}@store/data.parquet", "--out": "model", "--device": "cpu", option: url}
        pipeline, conf = given.pop("PIPELINE", "line"), given.pop("CONF", None)
        if option == "--set":
            given["--set"] = f"rounds={url}"
        if conf is not None:
            Path("job.yaml").write_text(f"pipeline:\n  rounds: '{conf}'\n")
            given["--conf"] = "job.yaml"
        arguments = [part for name, value in given.items() for part in (name, value)]
        with subtests.test(option, url=url):
            code = main(["fit", pipeline, *arguments, "--overwrite", "--json", "--traceback"])
            out, err = capfd.readouterr()
            assert code in ((0, 2, 3, 4, 5) if option in ("--checkpoint-dir", "--report") else (2, 3, 5))
            assert SECRET not in out + err


@pytest.mark.thorough
def test_nothing_that_a_fit_prints_logs_or_writes_holds_a_secret(project, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    data = f"memory://me:{SECRET}@store/data.parquet"
    outputs = ["--out", "model", "--score", "scored", "--report", "report.html", "--slice", "half"]
    assert main(["fit", "line", "--data", data, *outputs, "--set", f"api_token={SECRET}", "--json"]) == 0
    assert main(["explain", "line", "--data", data, "--json"]) == 0
    out, err = capfd.readouterr()
    assert '"api_token": "***"' in out
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("penstock")]
    assert logged
    assert SECRET not in "".join([out, err, *logged])
    written = [path for name in ("model", "report.html") for path in [project / name, *(project / name).rglob("*")]]
    for path in [*written, *(project / "scored").glob("_*")]:
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    assert "memory://me:***@store/data.parquet" in (project / "report.html").read_text()


@pytest.mark.thorough
def test_nothing_that_an_etl_job_prints_holds_a_secret(project, capfd):
    Path("pipelines/copy.py").write_text("def run(inputs, parameters):\n    return {'rows': inputs['rows']}\n")
    data, common = f"rows=memory://me:{SECRET}@store/data.parquet", ["--device", "cpu", "--out", "rows=out"]
    assert main(["run", "copy", "--in", data, *common]) == 0
    assert main(["run", "copy", "--in", data, *common, "--overwrite", "--json"]) == 0
    assert main(["run", "copy", "--in", data.replace("data.", "no."), *common, "--from", "2024-01-01",
                 "--to", "2024-01-02", "--overwrite", "--json"]) == 3  # fmt: skip
    out, err = capfd.readouterr()
    assert "memory://me:***@store/data.parquet" in out
    assert "Go on with: penstock run copy --in" in err
    assert SECRET not in out + err
