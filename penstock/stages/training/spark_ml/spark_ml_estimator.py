"""Any estimator or transformer of Spark ML: fitted by Spark on all rows, and scored by Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.scheduler import Scheduler, estimator_engine
from penstock.core.schemas import require
from penstock.dataset.beside import NUMBER, ColumnsBeside, RowsBeside
from penstock.dataset.dataset import Dataset
from penstock.dataset.relations.order import ROW_ORDER
from penstock.dataset.relations.relation import RowNumber
from penstock.dataset.steps import Step, check_numbered
from penstock.stages.base import Fitted, Tags, name_taken, with_fields
from penstock.stages.shapes import Fields, Shape, TableOf, Text
from penstock.stages.stored_values import jsonable
from penstock.stages.trainer import Trainer
from penstock.stages.training.spark_ml._described import ESTIMATOR, SparkMLDescribed, is_params, to_plain

_NUMBER, _VECTOR = pa.float64(), pa.list_(pa.float64())
_NUMBERS = ("predictionCol", "varianceCol", "leafCol", "linkPredictionCol")
"""Parameters that name columns of numbers; those of others have vectors, mostly."""


@dataclass(frozen=True)
class SparkMLEstimator(Trainer):
    """Fits any estimator of ``pyspark.ml`` or ``spark_rapids_ml`` by Spark, and scores by Spark.

    For what this library has no stage of its own for: ALS, LDA, Word2Vec, FPGrowth, survival regression; and pipelines
    and searches of Spark ML as they are. It needs a Spark engine to be fitted and to score, and a model with it is no
    model that scores anywhere: `predict` of rows, `to_onnx` and other engines refuse it.

    Parameters
    ----------
    estimator : Estimator, Transformer, class or functools.partial
        Not fitted. Spark ML makes its objects in a running session; before there is one, as where a pipeline of the
        command line is built, pass the class with its parameters: ``partial(ALS, rank=10, userCol="user")``, in whose
        parameters there may be others.

    Notes
    -----
    Columns are those that the parameters of Spark ML name: ``featuresCol``, ``userCol``, ... A list of floating numbers
    goes in as a vector of Spark ML, with NaN where an element is null, and vectors come out as lists of float64. What
    null means, and what is refused, is up to Spark ML.

    Only columns that Spark ML reads go to Spark; what it makes comes back beside each row, by row number. So rows stay
    as they are, in their order: a row without a result is an error, as where ALS has ``coldStartStrategy="drop"``.
    Scoring runs a job of Spark where `transform` is called, and keeps its result in the engine's staging directory; a
    DataFrame of Spark is scored as ``model.transform(engine.from_spark(frame))``.

    Learned is the model as Spark's own writer writes it: ``model`` (a table of ``path`` and ``content``), its
    ``model_class``, ``spark`` (the version) and ``outputs`` (a table without rows: the columns made, and their types).
    In it are a time and random names, so that its digest differs from fit to fit. Nothing in it is code, and a model
    that names classes of other packages than Spark ML's is refused before Spark sees it.

    Examples
    --------
    On a Spark engine::

        from functools import partial
        from pyspark.ml.recommendation import ALS

        ratings = ps.SparkEngine().read_parquet("ratings")
        stage = st.SparkMLEstimator(partial(ALS, userCol="user", itemCol="film", ratingCol="stars"))
        model = ps.Pipeline(stage).fit(ratings)
        model.transform(ratings).write_parquet("predicted")
        stage.fitted_model(ratings.engine, model.fitted[0]).recommendForAllUsers(5)
    """

    estimator: Any

    tags: ClassVar[Tags] = Tags(devices=frozenset())  # no partition is given to it

    def __post_init__(self) -> None:
        if isinstance(self.estimator, Mapping):
            object.__setattr__(self, "estimator", SparkMLDescribed(**self.estimator))
        elif not isinstance(self.estimator, SparkMLDescribed):
            check_scores(self.estimator)
            object.__setattr__(self, "estimator", describe(self.estimator))
        super().__post_init__()

    @property
    def title(self) -> str:
        return f"SparkMLEstimator of {self.estimator.short_name}"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {"estimator": jsonable(self.title, "estimator", self.estimator.to_json())}

    def trains(self, schema: pa.Schema) -> bool:
        """Return that it does: by Spark, see `learn_from`."""
        return True

    def bind(self, schema: pa.Schema) -> Self:
        """Find the columns, and check that those that are read are there, and those that are made are not."""
        bound = dataclasses.replace(self, estimator=resolved(self.estimator))
        require(schema, bound.training_columns(), stage=self.title)
        for name in bound.outputs():
            if name in schema.names:
                raise name_taken(self.title, name, "Set the parameter of Spark ML that names it.")
        return bound

    def inputs(self) -> tuple[str, ...]:
        return self.estimator.reads

    def training_columns(self) -> tuple[str, ...]:
        return (*self.inputs(), *self.estimator.learns_from)

    def outputs(self) -> tuple[str, ...]:
        return self.estimator.makes

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with what is made; of what types is known once it is fitted, see `learned_schema`."""
        made_by = self.estimator.made_by
        return with_fields(schema, {name: _NUMBER if made_by[name] in _NUMBERS else _VECTOR for name in self.outputs()})

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        return with_fields(schema, {field.name: field.type for field in fitted["outputs"].schema})

    def learn_from(self, dataset: Dataset, learned: Fitted) -> Fitted:
        """Fit by Spark on the rows of a dataset.

        Raises
        ------
        ConfigError
            The dataset is on another engine; or Spark ML does not take the columns or the parameters.
        ExecutionError
            A job of Spark failed.
        """
        engine = estimator_engine(dataset.engine, self.title)
        rows = dataset.select(*self.training_columns())
        return engine.fit_estimator(self.estimator.build, rows, self.outputs(), label=self.title)

    def step_on(self, dataset: Dataset, fitted: Fitted) -> Step:
        """Have Spark score all rows of a dataset now; return the step that adds what it made beside each.

        Raises
        ------
        ConfigError
            The dataset is on another engine, or its rows have no numbers; or Spark ML does not take the columns.
        ExecutionError
            A job of Spark failed.
        UntrustedArtifactError
            The model names classes that are not Spark ML's.
        """
        engine, schema = estimator_engine(dataset.engine, self.title), fitted["outputs"].schema
        check_numbered(dataset.steps, self.title, "Write the rows to Parquet and read them again.", stage=self.title)
        stored = {name: f"v{place}" for place, name in enumerate(schema.names)}
        rows = dataset.select(*self.inputs()).with_step(RowNumber())
        scored = engine.score_estimator(fitted, rows, {ROW_ORDER: NUMBER, **stored}, label=self.title)
        return ColumnsBeside(schema, RowsBeside.of(scored, self.title), self.title)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Refuse: Spark scores datasets.

        Raises
        ------
        ConfigError
            Always.
        """
        raise ConfigError(
            f"{self.title} scores datasets on a Spark engine, and no rows by themselves",
            hint="Call model.transform(dataset), with dataset = ps.SparkEngine().from_spark(frame), say; in a search,"
            " tune it by Spark ML's own CrossValidator.",
            stage=self.title,
        )

    def fitted_model(self, engine: Scheduler, fitted: Fitted) -> Any:
        """Return the fitted model as an object of Spark ML, for what it tells and does besides scoring.

        Parameters
        ----------
        engine : SparkEngine
        fitted : mapping
            What this stage learned: ``model.fitted[place]``.

        Raises
        ------
        ConfigError
            It is another engine.
        UntrustedArtifactError
            The model names classes that are not Spark ML's.
        """
        return estimator_engine(engine, self.title).load_estimator(fitted, label=self.title)

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        files = TableOf({"path": pa.types.is_string, "content": pa.types.is_binary}, least=1, unique=("path",))
        outputs = TableOf(dict.fromkeys(self.outputs(), lambda kind: True), rows=0)
        return Fields({"model": files, "model_class": Text(), "spark": Text(), "outputs": outputs})


_IN_TEXT = {"formula": "st.StringIndexer and st.VectorAssembler", "statement": "engine.sql"}
"""Parameters whose text names columns, or makes other rows, with what to take instead."""


def describe(estimator: Any) -> SparkMLDescribed:
    """Return what is known of an estimator or transformer, of the class of one, or of a `functools.partial` of a class.

    Raises
    ------
    ConfigError
        It is none of these, or is fitted, or has a parameter that is no plain value, or names columns in a text.
    """
    if isinstance(estimator, type | partial):
        return _of_class(estimator)
    if not is_params(estimator):
        raise _no_estimator(estimator)
    _check(estimator)
    params = {param.name: to_plain(value, _described) for param, value in estimator._paramMap.items()}
    return SparkMLDescribed(_name(type(estimator)), params, _columns_of(estimator), estimator.uid)


def _columns_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters that name columns, those too that are the default."""
    naming = [param for param in estimator.params if param.name.endswith(("Col", "Cols"))]
    columns = {param.name: estimator.getOrDefault(param) for param in naming if estimator.isDefined(param)}
    # Of several columns the parameter of one has a default still, which Spark ML refuses where it is set.
    return {name: value for name, value in columns.items() if f"{name}s" not in columns}


def resolved(described: SparkMLDescribed) -> SparkMLDescribed:
    """Return a description with its columns: itself where they are known, else with those of a new estimator.

    The same one for the same class and parameters: where the default has the estimator's random name in it, the column
    has the name of the class there.
    """
    if described.columns is not None:
        return described
    inner = replace(described, params={name: _resolved(value) for name, value in described.params.items()})
    made = inner.build()
    _check(made)
    columns = {
        name: value.replace(made.uid, described.short_name) if isinstance(value, str) else value
        for name, value in _columns_of(made).items()
    }
    return replace(inner, columns=columns)


def _resolved(value: Any) -> Any:
    """Return a parameter with the estimators in it resolved."""
    if isinstance(value, list | tuple):
        return [_resolved(each) for each in value]
    if isinstance(value, Mapping) and ESTIMATOR in value:
        return {ESTIMATOR: resolved(SparkMLDescribed(**value[ESTIMATOR])).to_json()}
    return value


def _described(estimator: Any) -> dict[str, Any]:
    return describe(estimator).to_json()


def _of_class(maker: type | partial[Any]) -> SparkMLDescribed:
    kind, values, given = (maker.func, maker.args, maker.keywords) if isinstance(maker, partial) else (maker, (), {})
    if not isinstance(kind, type) or values:
        raise ConfigError(f"estimator is {maker!r:.200}, expected a class and its parameters, by name")
    return SparkMLDescribed(_name(kind), {name: to_plain(value, _described) for name, value in given.items()})


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def check_scores(estimator: Any) -> None:
    """Raise ConfigError for what neither learns nor transforms: an evaluator, say."""
    kind = estimator.func if isinstance(estimator, partial) else estimator
    if not isinstance(kind, SparkMLDescribed) and not any(hasattr(kind, name) for name in ("fit", "transform")):
        raise _no_estimator(estimator)


def _no_estimator(value: Any) -> ConfigError:
    return ConfigError(
        f"estimator is {value!r:.200}, expected an Estimator or Transformer of Spark ML",
        hint='Pass ALS(userCol="user"), or partial(ALS, userCol="user") where no session of Spark runs yet.',
    )


def _check(estimator: Any) -> None:
    """Raise ConfigError for what is fitted, and for what names columns in a text."""
    if any(kind.__name__ == "Model" for kind in type(estimator).__mro__):
        raise ConfigError(f"{estimator!r:.200} is fitted", hint="Pass the estimator that it was fitted by.")
    for name in _IN_TEXT:
        if estimator.hasParam(name):
            problem = f"{type(estimator).__name__} names columns in the text of {name!r}, and which is not known"
            raise ConfigError(problem, hint=f"Take {_IN_TEXT[name]} in its place.")
