"""The parameters of gradient boosting that classifier, regressor and ranker share, by XGBoost's names."""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from statistics import fmean
from typing import Any, ClassVar, Self

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.locations import read_location
from penstock.spmd import Rank
from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import added_later, in_range
from penstock.stages.training._watched import check_stopping
from penstock.stages.training.trees._metrics import watched_by
from penstock.stages.training.trees._objectives import check_objective
from penstock.stages.training.trees._tree_features import TreeFeatures
from penstock.stages.training.trees._tree_model import TreeModel

_ALIASES = {
    "eta": "learning_rate", "min_split_loss": "gamma", "alpha": "reg_alpha", "lambda": "reg_lambda",
    "random_state": "seed",
}  # fmt: skip
_DECIDED = ("device", "nthread", "n_jobs", "num_class")


@dataclass(frozen=True)
class Boosted(TreeModel):
    """Trees that each correct those before.

    Besides columns of numbers, `features` may name both columns of one sparse vector, ``<name>_indices`` and
    ``<name>_values``, such as :class:`HashingTF` makes (see `penstock.frames.sparse`). XGBoost is then given a sparse
    matrix, on the host, with a column for each index that some row of the training data has, however long it is. What a
    vector leaves out is missing to it, as in any sparse matrix that it is given; predictions are those of a dense
    matrix with NaN there. Other indices are passed over. The model keeps the indices that its trees look at:
    ``indices``, a row for each feature of the booster after the numbers. Features of a vector are known by their index,
    and have no contributions.

    Parameters
    ----------
    num_boost_round : int
        Rounds of boosting, at most.
    early_stopping_rounds : int, optional
        Stop after so many rounds without a better metric on the validation data given to `fit`; the best is kept. Rows
        that say nothing of a model are an error before training: none, weights of 0, one class for ``auc`` and
        ``aucpr``, no group of different labels for a ranking, no event for ``survival:cox``; a metric that is NaN or
        infinite is one after the round that made it so.
    learning_rate, max_depth, min_child_weight, gamma, subsample, colsample_bytree, reg_alpha, reg_lambda, max_bin, \
    eval_metric : optional
        As XGBoost defines them; XGBoost decides where they are None.
    xgb_model : str, optional
        A booster to begin with, in whose place `num_boost_round` more rounds are added to it: the path or URL of a file
        that XGBoost, or a saved model of this library, has as UBJSON. It has to be of these features, of this objective
        and of as many classes, which are in ascending order; its ``base_score`` stays. See `PipelineModel.refit` for
        a model that goes on from what it has learned itself.
    objective : str, optional
        What is learned; see the stage for those that it knows and for its default.
    params : mapping, optional
        Any other parameter of XGBoost by its own name. A name or value that it cannot train with here is an error when
        the stage is made. ``monotone_constraints`` are signs (-1, 0, 1) in the order of `features`, or by name;
        ``interaction_constraints`` are groups of names or positions.
    """

    _: KW_ONLY
    num_boost_round: int = field(default=100, metadata=in_range(least=1, whole=True))
    early_stopping_rounds: int | None = field(default=None, metadata=in_range(least=1, whole=True))
    learning_rate: float | None = field(default=None, metadata=in_range(above=0))
    max_depth: int | None = field(default=None, metadata=in_range(least=0, whole=True))
    min_child_weight: float | None = field(default=None, metadata=in_range(least=0))
    gamma: float | None = field(default=None, metadata=in_range(least=0))
    subsample: float | None = field(default=None, metadata=in_range(above=0, most=1))
    colsample_bytree: float | None = field(default=None, metadata=in_range(above=0, most=1))
    reg_alpha: float | None = field(default=None, metadata=in_range(least=0))
    reg_lambda: float | None = field(default=None, metadata=in_range(least=0))
    max_bin: int | None = field(default=None, metadata=in_range(least=2, whole=True))
    xgb_model: str | None = field(default=None, metadata=added_later())
    objective: str | None = None
    eval_metric: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)

    _CORE: ClassVar[tuple[str, ...]] = (
        "learning_rate", "max_depth", "min_child_weight", "gamma", "subsample", "colsample_bytree", "reg_alpha",
        "reg_lambda", "max_bin", "objective", "eval_metric",
    )  # fmt: skip
    _OBJECTIVES: ClassVar[tuple[str, ...]]
    """Those that it knows, its own first."""
    takes_vectors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_objective(self.objective, self._OBJECTIVES, self.title)
        if self.xgb_model is not None:
            object.__setattr__(self, "xgb_model", read_location(self.xgb_model, f"xgb_model of {self.title}"))
        if self.xgb_model is not None and "base_score" in self.params:
            problem = f"params of {self.title} has base_score, and the booster of xgb_model has one that its trees suit"
            raise ConfigError(problem, hint="Leave it out of params.", stage=self.title)
        if self.params or self.eval_metric is not None:
            self._check_params()

    def _check_params(self) -> None:
        from penstock.stages.training.trees._boosting_parameters import check_names

        own = {name: name for name in (field.name for field in dataclasses.fields(self))} | _ALIASES
        for name in self.params:
            if name in own:
                problem = f"{name!r} in params is the parameter {own[name]!r} of {self.title} itself"
                raise ConfigError(problem, hint=f"Pass {own[name]}=... instead.", stage=self.title)
            if name in _DECIDED:
                problem = f"{name!r} in params is decided by the engine and the data"
                raise ConfigError(problem, hint="Leave it out.", stage=self.title)
        check_names(self.title, tuple(self.params))
        by_position(self.params, None, self.title)
        self._try_out({**self._given(), **self.params}, self._possible_objectives())

    def _try_out(self, parameters: Mapping[str, Any], objectives: Sequence[str]) -> None:
        """Raise ConfigError for values that XGBoost cannot learn with, whichever objective the labels ask for."""
        from penstock.stages.training.trees._boosting_parameters import check_values

        if self.params or self.eval_metric is not None:
            tried = {name: value for name, value in parameters.items() if name not in CONSTRAINTS}
            check_values(self.title, tried, objectives)

    def _possible_objectives(self) -> Sequence[str]:
        return (self._objective,)

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        by_position(bound.params, TreeFeatures.of(bound.inputs(), schema, self.title).numbers, self.title)
        return bound

    @property
    def rounds(self) -> int:
        return self.num_boost_round

    def without_validation(self, fitted: Sequence[Fitted]) -> Self:
        rounds = round(fmean(each["rounds"] for each in fitted)) - self._rounds_given
        return dataclasses.replace(self, early_stopping_rounds=None, num_boost_round=max(rounds, 1))

    @property
    def _rounds_given(self) -> int:
        """How many rounds the booster has that is given to begin with."""
        if self.xgb_model is None:
            return 0
        from penstock.stages.training.trees._boosting import load_booster
        from penstock.stages.training.trees._given_booster import read_given

        return int(load_booster(read_given(self.xgb_model, self.title)).num_boosted_rounds())

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        watched = watched_by(self._parameters(learned), self.label, self.weight, getattr(self, "group", None))
        check_stopping(rank, self.early_stopping_rounds, watched)
        return super().train(rank, learned)

    def notes(self, fitted: Fitted) -> list[str]:
        """Return besides that the metric watched was the same after every round, where early stopping went by it."""
        watched = [] if self.early_stopping_rounds is None else [*fitted["history"].items()][-1:]
        same = "of the validation rows is the same after every round, so that early stopping kept the first"
        return [
            *super().notes(fitted),
            *(f"{name} {same}" for name, values in watched if len({*values}) == 1 < len(values)),
        ]

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        learned = super().finish(results)
        if self.xgb_model is None:
            return learned
        from penstock.stages.training.trees._given_booster import check_given, read_given

        booster = read_given(self.xgb_model, self.title)
        check_given(booster, self.xgb_model, self.inputs(), self._parameters(learned), self.title)
        return {**learned, "booster": booster}

    def without_start(self) -> Self:
        return dataclasses.replace(self, xgb_model=None)

    def start_from(self, learned: Fitted, before: Fitted) -> Fitted:
        """Return what to add trees with to the booster of before; `num_boost_round` is how many rounds more."""
        return {**learned, **self._features(learned).widened(self._features(before), before["booster"])}

    def _parameters(self, learned: Fitted) -> dict[str, Any]:
        params = by_position(self.params, self._features(learned).numbers, self.title)
        common = {"tree_method": "hist", "seed": self.seed, "seed_per_iteration": True}
        return {**self._learns(learned), **common, **self._given(), **params}

    def _given(self) -> dict[str, Any]:
        """Return the parameters that are not left to XGBoost, without `params`."""
        core = {name: getattr(self, name) for name in self._CORE}
        return {name: value for name, value in core.items() if value is not None}

    @property
    def _objective(self) -> str:
        """The objective that is given, or the stage's own."""
        return self.objective or self._OBJECTIVES[0]

    def _learns(self, learned: Fitted) -> dict[str, Any]:
        """Return the objective, and what belongs to it."""
        return {"objective": self._objective}


Names = Sequence[str] | None


def by_position(parameters: Mapping[str, Any], features: Names, stage: str) -> dict[str, Any]:
    """Return parameters with ``monotone_constraints`` and ``interaction_constraints`` by the position of features.

    Parameters
    ----------
    parameters : mapping
        Signs, by the name of a feature or in the order of features; groups of names or positions. Or as texts.
    features : sequence of str or None
        None where they are not known yet: then whatever needs no names is checked.
    stage : str

    Raises
    ------
    ConfigError
        A sign is none of -1, 0 and 1, there are not as many as features, or there is no such feature.

    Examples
    --------
    >>> by_position({"monotone_constraints": {"b": 1}}, ("a", "b"), "XGBoostRegressor")
    {'monotone_constraints': (0, 1)}
    >>> by_position({"interaction_constraints": [["a"], ["b", "c"]]}, ("a", "b", "c"), "XGBoostRegressor")
    {'interaction_constraints': '[[0], [1, 2]]'}
    """
    translated = {name: _translated(name, parameters[name], features, stage) for name in _READERS if name in parameters}
    return {**parameters, **translated}


def _translated(name: str, value: Any, features: Names, stage: str) -> Any:
    if value is None or (isinstance(value, str) and not value):
        return value
    read, expected = _READERS[name]
    try:
        return read(_parsed(value) if isinstance(value, str) else value, features)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{name} of {stage} is {value!r:.200}: {error}", hint=expected, stage=stage) from error


def _parsed(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise ValueError("a text of neither numbers nor names") from error


def _signs(value: Any, features: Names) -> tuple[int, ...]:
    signs = value if isinstance(value, Mapping) else (value,) if isinstance(value, int) else tuple(value)
    wrong = [sign for sign in (signs.values() if isinstance(signs, Mapping) else signs) if sign not in (-1, 0, 1)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no sign")
    if isinstance(signs, Mapping):
        for name in signs if features is not None else ():
            _position(name, features)
        return tuple(int(signs.get(name, 0)) for name in features or ())
    if features is not None and len(signs) != len(features):
        raise ValueError(f"{len(signs)} signs for {len(features)} feature(s)")
    return tuple(map(int, signs))


def _groups(value: Any, features: Names) -> str:
    wrong = [group for group in value if isinstance(group, str)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no group")
    return json.dumps([[_position(member, features) for member in group] for group in value])


def _position(member: Any, features: Names) -> int:
    if not isinstance(member, str | int):
        raise ValueError(f"{member!r} is neither a name nor a position")
    if features is None:
        return 0
    if member not in (features if isinstance(member, str) else range(len(features))):
        raise ValueError(f"{member!r} is not among the features {', '.join(map(repr, features[:10]))}")
    return features.index(member) if isinstance(member, str) else member


_READERS: Mapping[str, tuple[Callable[[Any, Names], Any], str]] = {
    "monotone_constraints": (_signs, "Pass a sign (-1, 0 or 1) for each feature, or those of some by name: {'x': 1}."),
    "interaction_constraints": (_groups, "Pass groups of features, by name or position: [['x', 'y'], ['z']]."),
}
CONSTRAINTS = frozenset(_READERS)
