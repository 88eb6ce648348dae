"""What the stages that train PyTorch modules share; PyTorch itself is imported when they train or score."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, MissingExtraError, SchemaError, did_you_mean
from penstock.core.extras import how_to_install
from penstock.core.selectors import Columns, Selector, numeric, resolve
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Tags, normalise_columns
from penstock.stages.classes import classes_of
from penstock.stages.modules import CarriesModule, module_factory
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.shapes import Anything, Fields, Integer, ListOf, ModelFile, Shape
from penstock.stages.target import check_weights, refuse_overflow
from penstock.stages.trainer import Trainer
from penstock.stages.training.torch import _modules as modules  # noqa: F401, registers those that are ready to use
from penstock.statistics import Checks, Extremes, Statistic
from penstock.statistics.rules import Rule, rules_for

if TYPE_CHECKING:
    from penstock.stages.training.torch._data import ToRows

_MOST_CODES = 10**8
_LOSS_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "cross_entropy": ("label_smoothing",),
    "mse": (),
    "l1": (),
    "huber": ("delta",),
    "smooth_l1": ("beta",),
}


@dataclass(frozen=True)
class TorchLearner(CarriesModule, Trainer):
    """A learner whose model is a module.

    Parameters
    ----------
    label : str
        The column to learn; no null, NaN or infinity.
    module : str, default="mlp"
        A registered name: ``mlp``, ``tabular``, or one of your own, see `penstock.register_module`. The factory is
        called with keywords: ``inputs`` (how many features), ``outputs`` (how many classes, or 1), ``cardinalities``
        (how many codes each category has; only where there are categories), and `module_options`. What it makes is
        called with float32 of shape (rows, inputs), and int64 of shape (rows, categories) where there are categories;
        it returns (rows, outputs): margins of classes, or the number. It must take any number of rows, none included,
        use all its parameters, and treat a row without regard to the others if the numbers of ranks is not to matter.
    module_options : mapping, optional
        More keywords for the factory, as JSON values; see `mlp` and `tabular`.
    features : str, sequence of str, or Selector, optional
        Numeric columns, taken as float32; all but label, weight and categories, unless given. No null, no infinity.
        Standardise them in a stage before: networks learn badly from numbers of different sizes.
    categories : str, sequence of str, or Selector, optional
        Integer columns of codes from 0, as `StringIndexer` makes them. A module is given 0 for a code larger than any
        at fit, and otherwise the code plus 1.
    weight : str, optional
        Column of row weights, not negative, without null.
    loss_options : mapping, optional
        Of the loss: ``label_smoothing`` of cross_entropy, ``delta`` of huber, ``beta`` of smooth_l1.
    optimizer : {"adam", "adamw", "sgd"}, default="adam"
    learning_rate : float, default=0.001
    momentum : float, default=0.0
        Of ``sgd``.
    weight_decay : float, default=0.0
    schedule : {"cosine", "step", "one_cycle"}, optional
        How the learning rate changes: towards 0 along half a cosine; times `gamma` every `step_size` epochs; up and
        down again, `learning_rate` being the largest.
    step_size : int, default=10
    gamma : float, default=0.1
    epochs : int, default=10
        Passes over the rows, at most.
    batch_size : int, default=256
        Rows of a batch over all ranks together, so that an update is the same for any number of ranks.
    accumulate : int, default=1
        Batches whose gradients make one update: the update of a batch so many times as large, in less memory.
    clip_norm : float, optional
        The largest norm of the gradients of all parameters together; larger ones are scaled down.
    precision : {"float32", "bfloat16", "float16"}, default="float32"
        In which the module computes (autocast); weights and losses are float32 always.
    strategy : {"ddp", "fsdp", "pipeline"}, default="ddp"
        How several ranks train a module; one rank has all of it, whatever is said here. All learn the same.

        - ``ddp`` has all of it on each rank (`DistributedDataParallel`): the fastest where it fits, with the state of
          the optimiser, into the memory of one device.
        - ``fsdp`` has a shard of each parameter, and of the optimiser's state for it, on each rank (`fully_shard`), and
          sends the parameters of a layer to all each time it computes: for a module too large for one device. Layers
          are the module's children, which must be called as such.
        - ``pipeline`` has some consecutive layers on each rank (`Schedule1F1B`), and sends only what passes between
          them: for a module too large for one device, and a slow network. All rows are in the memory of every rank.
          The factory must return an ``nn.Sequential``, or a module with a method ``stages()``: modules that, called
          one after the other, do what it does, and pass on one float tensor of shape (rows, ...). No parameter may be
          in two of the parts, and there may be no batch normalisation.

        Each rank makes all of the module in the memory of its host first.
    microbatches : int, optional
        Of ``pipeline``: into how many pieces a batch is cut, the more of which are under way the less a rank waits: for
        ``(ranks - 1) / (microbatches + ranks - 1)`` of the time. At least the number of ranks; twice that unless given.
    early_stopping_rounds : int, optional
        Stop after so many epochs without a smaller loss on the validation data given to `fit`; the best is kept. No
        rows there, or weights of 0 alone, are an error before training.
    seed : int, default=0
        Of the first weights, the order of rows, and dropout.
    prediction : str
        Name of the column of predictions.
    """

    label: str
    _: KW_ONLY
    module: str = "mlp"
    module_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    features: Columns | None = None
    categories: Columns | None = None
    weight: str | None = None
    loss: str
    loss_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    optimizer: str = field(default="adam", metadata=one_of("adam", "adamw", "sgd"))
    learning_rate: float = field(default=1e-3, metadata=in_range(above=0))
    momentum: float = field(default=0.0, metadata=in_range(least=0, most=1))
    weight_decay: float = field(default=0.0, metadata=in_range(least=0))
    schedule: str | None = field(default=None, metadata=one_of("cosine", "step", "one_cycle"))
    step_size: int = field(default=10, metadata=in_range(least=1, whole=True))
    gamma: float = field(default=0.1, metadata=in_range(above=0))
    epochs: int = field(default=10, metadata=in_range(least=1, whole=True))
    batch_size: int = field(default=256, metadata=in_range(least=1, whole=True))
    accumulate: int = field(default=1, metadata=in_range(least=1, whole=True))
    clip_norm: float | None = field(default=None, metadata=in_range(above=0))
    precision: str = field(default="float32", metadata=one_of("float32", "bfloat16", "float16"))
    strategy: str = field(default="ddp", metadata=one_of("ddp", "fsdp", "pipeline"))
    microbatches: int | None = field(default=None, metadata=in_range(least=1, whole=True))
    early_stopping_rounds: int | None = field(default=None, metadata=in_range(least=1, whole=True))
    seed: int = field(default=0, metadata=in_range(whole=True))
    prediction: str = "prediction"

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "categories")
        for name in ("module_options", "loss_options"):
            self._normalise_options(name)
        self._check_loss()
        if self.momentum and self.optimizer != "sgd":
            raise ConfigError(
                f"momentum of {self.title} is {self.momentum}, but optimizer is {self.optimizer!r}",
                hint="Momentum is for optimizer='sgd'.", stage=self.title,
            )  # fmt: skip
        self._check_strategy()

    def _check_strategy(self) -> None:
        if self.microbatches is not None and self.strategy != "pipeline":
            raise ConfigError(
                f"microbatches of {self.title} is {self.microbatches}, but strategy is {self.strategy!r}",
                hint="Batches are cut for strategy='pipeline' alone.", stage=self.title,
            )  # fmt: skip
        if self.strategy == "pipeline" and self.precision == "float16":
            raise ConfigError(
                f"precision of {self.title} is 'float16', but strategy is 'pipeline', whose parts cannot share a scale",
                hint="Use precision='bfloat16', or strategy='fsdp'.", stage=self.title,
            )  # fmt: skip

    def _normalise_options(self, name: str) -> None:
        """Have options as JSON gives them back, so that stages that were stored are equal to those that were not."""
        try:
            object.__setattr__(self, name, json.loads(json.dumps(dict(getattr(self, name)), allow_nan=False)))
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"{name} of {self.title} is {getattr(self, name)!r}, expected JSON values: {error}", stage=self.title
            ) from error

    def _check_loss(self) -> None:
        allowed = _LOSS_OPTIONS[self.loss]
        for name in self.loss_options:
            if name not in allowed:
                raise ConfigError(
                    f"loss {self.loss!r} has no option {name!r}.{did_you_mean(name, allowed)}"
                    f" It has: {', '.join(allowed) or 'none'}",
                    stage=self.title,
                )

    def bind(self, schema: pa.Schema) -> Self:
        module_factory(self.module)
        categories = () if not self.categories else resolve(self.categories, schema, self.title)
        features = numeric() - [*self._aside().values(), *categories] if self.features is None else self.features
        names = tuple(features.resolve(schema)) if isinstance(features, Selector) else tuple(features)
        together = dataclasses.replace(self, features=(*names, *categories))
        Trainer.bind(together, schema)
        for name in categories:
            if not pa.types.is_integer(schema.field(name).type):
                raise SchemaError(
                    f"category {name!r} is {schema.field(name).type}, expected integers",
                    hint="Put a StringIndexer before this step.", column=name, stage=self.title,
                )  # fmt: skip
        return dataclasses.replace(self, features=names, categories=categories)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The numeric inputs; the stage is bound."""
        return self.features  # type: ignore[return-value]

    @property
    def category_names(self) -> tuple[str, ...]:
        """The inputs that are codes; the stage is bound."""
        return self.categories  # type: ignore[return-value]

    def inputs(self) -> tuple[str, ...]:
        return (*self.feature_names, *self.category_names)

    @property
    def rounds(self) -> int:
        return self.epochs

    def without_validation(self, fitted: Sequence[Fitted]) -> Self:
        epochs = round(fmean(each["best_epoch"] for each in fitted))
        return dataclasses.replace(self, early_stopping_rounds=None, epochs=epochs)

    def _rules(self) -> list[tuple[str, Rule]]:
        """Return what is checked over all rows before training, and again of validation data."""
        return [
            *rules_for((self.label, *self.inputs(), *self._weights), "null"),
            *rules_for((*self.feature_names, *self._weights), "infinite"),
            *rules_for((*self.category_names, *self._weights), "negative"),
            *self.target.rules(),
        ]

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what is wrong with values, and for the largest codes and weights."""
        ranged = (*self.category_names, *self._weights)
        extremes = {"extremes": Extremes(ranged)} if ranged else {}
        return {"checks": Checks(tuple(self._rules())), **extremes, **self.target.statistics()}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return how many codes each category has, one more for those not seen."""
        results["checks"].refuse(self._refused)
        if self.weight is not None:
            check_weights(self.weight, results["extremes"][self.weight].max)
        largest = [int(results["extremes"][name].max) for name in self.category_names]
        for name, code in zip(self.category_names, largest, strict=True):
            if code >= _MOST_CODES:
                raise DataValueError(
                    f"category {name!r} has codes up to {code}, expected less than {_MOST_CODES}",
                    hint="Codes count categories from 0: put a StringIndexer before this step.", column=name,
                )  # fmt: skip
        return {**self.target.learn(results), "cardinalities": [code + 2 for code in largest]}

    def start_from(self, learned: Fitted, before: Fitted) -> Fitted:
        """Return what to train the weights of before with; codes that it had not seen then stay unseen."""
        return {**learned, "cardinalities": before["cardinalities"], "weights": before["weights"]}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Fields:
        codes = ListOf(Integer(least=2, most=len(fitted["weights"].data)), len(self.category_names))
        shapes: dict[str, Shape] = {"weights": ModelFile("safetensors"), "cardinalities": codes, "epochs": Integer()}
        return Fields({**shapes, "best_epoch": Integer(), **self.target.shapes()}, {"history": Anything()})

    def _refused(self, name: str, rule: Rule, count: int) -> DataValueError:
        error = rule.error(name, count)
        if name in self.inputs():
            error.hint = "Put an Imputer or a StringIndexer before this step, or filter these rows."
        return error

    def to_rows(self, learned: Fitted) -> ToRows:
        """Return what turns frames into the rows to train on."""
        from penstock.stages.training.torch._data import ToRows

        categories = (self.category_names, tuple(learned["cardinalities"]))
        label = (self.label, classes_of(learned))
        return ToRows(self.feature_names, *categories, *label, self.weight, tuple(self._rules()))

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        _require_torch()
        from penstock.stages.training.torch._loop import fit

        return {**learned, **fit(self, rank, learned)}

    def scores(self, frame: nw.DataFrame, fitted: Fitted) -> tuple[Any, Any]:
        """Return what the module gives, float64 of shape (rows, outputs), and which rows have a null."""
        _require_torch()
        from penstock.stages.training.torch._build import outputs_of

        nulls = nw.any_horizontal(*(nw.col(name).is_null() for name in self.inputs()), ignore_nulls=False)
        missing = matrices.to_matrix(frame.select(nulls.alias("missing")), ("missing",))[:, 0] > 0
        outputs = outputs_of(self, frame, fitted)
        problem = "have features so large that the module's outputs overflow"
        refuse_overflow(np.isfinite(outputs).all(axis=1), missing, problem, self.inputs())
        return outputs, missing


def _require_torch() -> None:
    for name in ("torch", "safetensors"):
        if importlib.util.find_spec(name) is None:
            raise MissingExtraError(f"{name} is not installed", hint=how_to_install("torch"))
