"""What the stages of the library should make of the tables of the suite, told without any code of the library.

The standard library's `statistics` computes in fractions and rounds once, so its means and deviations are the closed
forms themselves; boosted trees are held against XGBoost's own classes.
"""

from __future__ import annotations

import bisect
import datetime
import functools
import itertools
import math
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import list_oracles
import moment_oracles
import numpy as np
import pandas as pd
import scipy.optimize
import scipy.stats
import xgboost as xgb
from PIL import Image
from scipy.special import expit
from scipy.stats import norm
from sklearn import linear_model, metrics
from sklearn import naive_bayes as sk
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics.pairwise import haversine_distances
from sklearn.preprocessing import PolynomialFeatures, QuantileTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import murmurhash3_32

from penstock import stages as st
from penstock.stages.base import Stage
from penstock.stages.preprocessing.dates.date_difference import DateDifference
from penstock.stages.preprocessing.dates.date_parts import DateParts
from penstock.testing import Columns, Oracle, Refused

Values = Sequence[Any]


def _known(values: Values) -> list[Any]:
    return [value for value in values if value is not None]


def _each(function: Callable[[Any], Any], values: Values) -> list[Any]:
    """Return the function of every value that is not missing."""
    return [None if value is None else function(value) for value in values]


def _finite(name: str, values: Values) -> list[Any]:
    known = _known(values)
    if any(isinstance(value, float) and math.isinf(value) for value in known):
        raise Refused(name)
    return known


def _some(name: str, values: Values) -> list[Any]:
    known = _finite(name, values)
    if not known:
        raise Refused(name)
    return known


def _mean(name: str, values: Values) -> float:
    floats = [float(value) for value in values]
    if any(abs(value) > 1e150 for value in floats):
        raise Refused(name)  # the sum of squares, gathered with the mean, overflows
    return statistics.mean(floats)


def clip(stage: st.Clip, learned: Columns, given: Columns) -> Columns:
    low = -math.inf if stage.lower is None else stage.lower
    high = math.inf if stage.upper is None else stage.upper
    made = {out: _each(lambda value: min(max(value, low), high), given[name]) for name, out in stage.pairs()}
    return {"id": given["id"], **made}


def expect(stage: st.Expect, learned: Columns, given: Columns) -> Columns:
    rows = [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]
    kept = [_holds(stage.condition, row) for row in rows]
    if stage.action == "raise" and not all(kept):
        raise Refused(stage.inputs()[0])
    return {"id": [row for row, keep in zip(given["id"], kept, strict=True) if keep]}


def _holds(condition: str, row: dict[str, Any]) -> bool:
    """Evaluate the condition as Python; what a null leaves open is a TypeError there, and counts as not held."""
    try:
        return bool(eval(condition, {}, row))
    except TypeError:
        return False


_TYPICAL: dict[str, Callable[[str, list[Any]], Any]] = {
    "mean": _mean,
    "median": lambda name, known: float(statistics.median_low([float(value) for value in known])),
    "mode": lambda name, known: min(statistics.multimode(known), key=_order),
}


def _same(value: Any) -> Any:
    return value


def _order(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _without(missing: Any, columns: Columns) -> Columns:
    """Return the columns with None in place of a value that is missing."""
    return {name: [None if v == missing else v for v in values] for name, values in columns.items()}


def impute(stage: st.Imputer, learned: Columns, given: Columns) -> Columns:
    if stage.by is not None:
        return _impute_by_group(stage, learned, given)
    if stage.missing_value is not None:
        rows = given["id"]
        learned, given = (
            _without(stage.missing_value, {name: columns[name] for name in stage.inputs()})
            for columns in (learned, given)
        )
        given |= {"id": rows}
    fills = dict.fromkeys(stage.inputs(), stage.fill_value)
    if stage.strategy != "constant":
        known = {name: _finite(name, learned[name]) for name in stage.inputs()}
        fills = {name: _TYPICAL[stage.strategy](name, _some(name, values)) for name, values in known.items()}
    number = float if stage.strategy in ("mean", "median") else _same
    filled = {out: [fills[name] if v is None else number(v) for v in given[name]] for name, out in stage.pairs()}
    missing = {f"{name}_missing": [v is None for v in given[name]] for name in stage.inputs() if stage.add_indicator}
    return {"id": given["id"], **filled, **missing}


def _impute_by_group(stage: st.Imputer, learned: Columns, given: Columns) -> Columns:
    keys, later = (list(zip(*(columns[name] for name in stage.by), strict=True)) for columns in (learned, given))
    number = float if stage.strategy in ("mean", "median") else _same
    made = {}
    for name, out in stage.pairs():
        whole = _TYPICAL[stage.strategy](name, _some(name, learned[name]))
        groups: dict[Any, list[Any]] = {}
        for key, value in zip(keys, learned[name], strict=True):
            if value is not None and None not in key:
                groups.setdefault(key, []).append(value)
        fills = {key: _TYPICAL[stage.strategy](name, values) for key, values in groups.items()}
        rows = zip(later, given[name], strict=True)
        made[out] = [fills.get(key, whole) if value is None else number(value) for key, value in rows]
    missing = {f"{name}_missing": [v is None for v in given[name]] for name, _ in stage.pairs() if stage.add_indicator}
    return {"id": given["id"], **made, **missing}


def impute_end(stage: st.EndTailImputer, learned: Columns, given: Columns) -> Columns:
    fills = {name: _tail_end(stage, name, _some(name, learned[name])) for name in stage.inputs()}
    filled = {out: [fills[name] if v is None else float(v) for v in given[name]] for name, out in stage.pairs()}
    return {"id": given["id"], **filled}


def _tail_end(stage: st.EndTailImputer, name: str, values: Values) -> float:
    if stage.imputation_method == "max":
        return max(values) * stage.fold
    if stage.imputation_method == "gaussian":
        mean, spread = _mean(name, values), statistics.stdev(map(float, values)) if len(values) > 1 else 0.0
        ends = mean, mean
    else:
        ends = tuple(np.quantile(values, (0.25, 0.75), method="inverted_cdf").tolist())
        spread = ends[1] - ends[0]
    return ends[1] + stage.fold * spread if stage.tail == "right" else ends[0] - stage.fold * spread


def index(stage: st.StringIndexer, learned: Columns, given: Columns) -> Columns:
    pooled = [value for name in stage.inputs() for value in learned[name]]
    codes = {
        out: _codes(stage, pooled if stage.joint else learned[name], name, given[name]) for name, out in stage.pairs()
    }
    return {"id": given["id"], **codes}


def _codes(stage: st.StringIndexer, learned: Values, name: str, given: Values) -> list[int]:
    places = {value: place for place, value in enumerate(_in_order(stage, learned))}
    if stage.handle_invalid == "error" and set(_known(given)) - set(places):
        raise Refused(name)
    size, shared = len(places), stage.num_oov_buckets
    if stage.order == "append":  # null and unseen values come before, so that what is added after moves neither
        return [0 if value is None else places.get(value, -1) + 2 for value in given]
    return [size + shared if v is None else places.get(v, size + _bucket(_text(v), shared)) for v in given]


def _in_order(stage: st.StringIndexer, learned: Values) -> list[Any]:
    ordered, counts = _vocabulary(stage, learned), Counter(_known(learned))
    if stage.string_order_type.startswith("alphabet"):
        return sorted(ordered, key=_order, reverse=stage.string_order_type.endswith("Desc"))
    sign = -1 if stage.string_order_type.endswith("Desc") else 1
    return sorted(ordered, key=lambda value: (sign * counts[value], _order(value)))


def _vocabulary(stage: Any, learned: Values) -> list[Any]:
    counts = Counter(_known(learned))
    share = isinstance(stage.min_frequency, float)
    least = math.ceil(stage.min_frequency * len(learned)) if share else stage.min_frequency
    ordered = sorted((v for v in counts if counts[v] >= least), key=lambda value: (-counts[value], _order(value)))
    return ordered[: stage.max_categories]


def count(stage: st.CountEncoder, learned: Columns, given: Columns) -> Columns:
    counts = {name: Counter(learned[name]) for name in stage.inputs()}
    share = (lambda count: count / len(learned["id"])) if stage.normalize else _same
    made = {out: [share(counts[name][value]) for value in given[name]] for name, out in stage.pairs()}
    return {"id": given["id"], **made}


def target_means(stage: st.TargetEncoder, learned: Columns, given: Columns) -> Columns:
    label = learned[stage.label]
    made = {}
    for name, out in zip(stage.inputs(), stage.output_columns or (), strict=True):
        if stage.handle_invalid == "error" and set(_known(given[name])) - set(learned[name]):
            raise Refused(name)
        shares = {f"_{each}": [value == each for value in label] for each in stage.classes or ()}
        for suffix, target in (shares or {"": label}).items():
            made[out + suffix] = _means(learned[name], target, given[name], stage.smoothing)
    return {"id": given["id"], **made}


def _means(learned: Values, target: Values, given: Values, smoothing: float) -> list[float]:
    prior = statistics.fmean(target)
    found = {each: [y for c, y in zip(learned, target, strict=True) if c == each] for each in set(learned)}
    means = {each: (math.fsum(ys) + smoothing * prior) / (len(ys) + smoothing) for each, ys in found.items()}
    return [means.get(value, prior) for value in given]


def weights_of_evidence(stage: st.WeightOfEvidenceEncoder, learned: Columns, given: Columns) -> Columns:
    label, more = learned[stage.label], stage.regularization
    if len(set(label)) < 2:
        raise Refused(stage.label)
    made = {}
    for name, out in stage.pairs():
        counts = Counter(zip(learned[name], label, strict=True))
        totals = [label.count(0), label.count(1)]
        shares = {
            value: [(counts[value, each] + more) / (totals[each] + 2 * more) for each in (0, 1)]
            for value in set(learned[name])
        }
        weights = {value: math.log(one / zero) for value, (zero, one) in shares.items()}
        made[out] = [weights.get(value, 0.0) for value in given[name]]
    return {"id": given["id"], **made}


def labels(stage: st.IndexToString, learned: Columns, given: Columns) -> Columns:
    known = dict(enumerate(stage.labels))
    for name in stage.inputs():
        if stage.handle_invalid == "error" and set(_known(given[name])) - set(known):
            raise Refused(name)
    return {"id": given["id"], **{out: _each(known.get, given[name]) for name, out in stage.pairs()}}


def one_hot(stage: st.OneHotEncoder, learned: Columns, given: Columns) -> Columns:
    made = {}
    for place, name in enumerate(stage.inputs()):
        if stage.handle_invalid == "error" and len(set(_known(learned[name]))) > (stage.max_categories or math.inf):
            raise Refused(name)
        known = list(stage.categories[place]) if stage.categories else _vocabulary(stage, learned[name])
        if stage.handle_invalid == "error" and set(_known(given[name])) - set(known):
            raise Refused(name)
        columns = _hits(stage, known, given[name])
        made |= {f"{name}_{suffix}": hits for suffix, hits in columns[: len(columns) - (stage.drop == "last")]}
    return {"id": given["id"], **made}


def _hits(stage: st.OneHotEncoder, known: list[Any], given: Values) -> list[tuple[str, list[int | None]]]:
    null = None if stage.handle_invalid == "error" else 0
    suffixes = [str(each).lower() if isinstance(each, bool) else each for each in known]
    if stage.max_categories:
        suffixes, known = list(range(stage.max_categories)), [*known, *[object()] * stage.max_categories]
    pairs = list(zip(suffixes, known, strict=False))[stage.drop == "first" :]
    found = [(f"{suffix}", [null if v is None else int(v == value) for v in given]) for suffix, value in pairs]
    if stage.handle_invalid != "keep":
        return found
    others = [int(v is not None and v not in known) for v in given]
    return [*found, ("other", others), ("null", [int(v is None) for v in given])]


def log1p(stage: st.Log1p, learned: Columns, given: Columns) -> Columns:
    for name in stage.inputs():
        if any(value <= -1 for value in _known(given[name])):
            raise Refused(name)
    return {"id": given["id"], **{out: _each(math.log1p, given[name]) for name, out in stage.pairs()}}


def scale(stage: st.StandardScaler, learned: Columns, given: Columns) -> Columns:
    known = {name: [float(value) for value in _some(name, learned[name])] for name in stage.inputs()}
    made = {out: _scaled(stage, name, known[name], given[name]) for name, out in stage.pairs()}
    return {"id": given["id"], **made}


def _scaled(stage: st.StandardScaler, name: str, known: list[float], given: Values) -> list[Any]:
    centre = _mean(name, known) if stage.with_mean else _mean(name, known) * 0.0
    deviation = statistics.stdev(known) if len(known) > 1 else 0.0
    if not deviation:
        return _each(lambda value: 0.0, given)
    return _each(lambda value: (float(value) - centre) / deviation, given)


_PARTS = {"weekday": lambda at: at.isoweekday(), "ordinal_day": lambda at: at.timetuple().tm_yday}


def date_parts(stage: DateParts, learned: Columns, given: Columns) -> Columns:
    wanted = [(name, part) for name in stage.inputs() for part in stage.parts]
    made = {
        f"{name}_{part}": _each(_PARTS.get(part, lambda at, part=part: getattr(at, part)), given[name])
        for name, part in wanted
    }
    return {"id": given["id"], **made}


def date_difference(stage: DateDifference, learned: Columns, given: Columns) -> Columns:
    unit = datetime.timedelta(**{stage.unit: 1})
    pairs = zip(_each(_midnight, given[stage.start]), _each(_midnight, given[stage.end]), strict=True)
    passed = [None if start is None or end is None else (end - start) / unit for start, end in pairs]
    return {"id": given["id"], stage.outputs()[0]: passed}


def _midnight(at: datetime.date) -> datetime.datetime:
    return at if isinstance(at, datetime.datetime) else datetime.datetime.combine(at, datetime.time())


def _winners(stage: Any, probability: np.ndarray) -> np.ndarray:
    """Return the place of the winning class of each row, by MLlib's rule where there are thresholds."""
    if stage.thresholds is None:
        return probability.argmax(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = probability / np.array(stage.thresholds, dtype=float)
    return np.where(np.isnan(ratios), -np.inf, ratios).argmax(axis=1)


def classify(stage: st.XGBoostClassifier, learned: Columns, given: Columns) -> Columns:
    classes = sorted(set(learned[stage.label]))
    if len(classes) < 2:
        raise Refused(stage.label)
    model = xgb.XGBClassifier(n_estimators=stage.num_boost_round, max_depth=stage.max_depth, n_jobs=1)
    labels = [classes.index(value) for value in learned[stage.label]]
    model.fit(_matrix(stage, learned), labels, sample_weight=_weights(stage, learned))
    rows = _matrix(stage, given)
    probability = model.predict_proba(rows).astype(float)
    made = (
        model.predict(rows, output_margin=True).astype(float),
        probability[:, 1] if len(classes) == 2 else probability,
    )
    winners = [classes[place] for place in _winners(stage, probability)]
    shares = model.get_booster().predict(xgb.DMatrix(rows), pred_contribs=True)
    outputs = [*(each.tolist() for each in made), winners, shares.reshape(len(rows), -1).astype(float).tolist()]
    return {"id": given["id"], **dict(zip(stage.outputs(), outputs, strict=False))}


def regress(stage: st.XGBoostRegressor, learned: Columns, given: Columns) -> Columns:
    if "v_indices" in stage.inputs() and not any(learned["v_indices"]):
        raise Refused("v_indices")
    model = xgb.XGBRegressor(n_estimators=stage.num_boost_round, max_depth=stage.max_depth, n_jobs=1)
    model.fit(_matrix(stage, learned), learned[stage.label], sample_weight=_weights(stage, learned))
    return {"id": given["id"], stage.prediction: model.predict(_matrix(stage, given)).astype(float).tolist()}


def _tree(stage: Any, kind: Any, learned: Columns, label: Any) -> Any:
    """Return scikit-learn's tree, which every tree of a forest is that is grown on all rows and columns."""
    weight = np.array(_weights(stage, learned) or [1.0] * len(label))
    tree = kind(max_depth=stage.max_depth, min_weight_fraction_leaf=min(0.5, stage.min_child_weight / weight.sum()))
    return tree.fit(_matrix(stage, learned), label, sample_weight=weight)


def _single(values: np.ndarray) -> np.ndarray:
    """Return values as float32 holds them, which is what leaves are; equal ones then have no deviation at all."""
    return values.astype(np.float32).astype(float)


def classifying_forest(stage: st.RandomForestClassifier, learned: Columns, given: Columns) -> Columns:
    classes, label = np.unique(learned[stage.label], return_inverse=True)
    if len(classes) < 2:
        raise Refused(stage.label)
    trees = [_tree(stage, DecisionTreeClassifier, learned, label == place) for place in range(len(classes))]
    shares = _single(np.column_stack([tree.predict_proba(_matrix(stage, given))[:, 1] for tree in trees]))
    probability = shares / shares.sum(axis=1, keepdims=True)
    scores = (shares[:, 1], shares[:, 1]) if len(classes) == 2 else (shares, probability)
    made = [*(each.tolist() for each in scores), classes[_winners(stage, probability)].tolist()]
    return {"id": given["id"], **dict(zip(stage.outputs(), made, strict=True))}


def forest(stage: st.RandomForestRegressor, learned: Columns, given: Columns) -> Columns:
    tree = _tree(stage, DecisionTreeRegressor, learned, learned[stage.label])
    return {"id": given["id"], stage.prediction: _single(tree.predict(_matrix(stage, given))).tolist()}


def rank(stage: st.XGBoostRanker, learned: Columns, given: Columns) -> Columns:
    """Return what XGBoost's ranker makes of rows sorted by group."""
    _matrix(stage, learned)
    order = sorted(range(len(learned[stage.group])), key=lambda row: learned[stage.group][row])
    rows = {name: [values[row] for row in order] for name, values in learned.items()}
    options = {"n_estimators": stage.num_boost_round, "max_depth": stage.max_depth, **stage.params}
    model = xgb.XGBRanker(objective=stage.objective, n_jobs=1, **options)
    model.fit(_matrix(stage, rows), rows[stage.label], qid=np.unique(rows[stage.group], return_inverse=True)[1])
    return {"id": given["id"], stage.prediction: model.predict(_matrix(stage, given)).astype(float).tolist()}


def by_hand(stage: st.SklearnEstimator, learned: Columns, given: Columns) -> Columns:
    """Return what the estimator itself makes of the matrix; the boosted classifier of the examples takes nulls."""
    boosts = stage.label is not None
    read = _numbers if boosts else _known_matrix
    train, rows = read(stage, learned), read(stage, given)
    model = clone(stage.estimator)
    if not boosts:
        return {"id": given["id"], stage.outputs()[0]: model.fit(train).transform(rows).tolist()}
    if len(set(learned[stage.label])) < 2:
        raise Refused(stage.label)
    model.fit(train, learned[stage.label], sample_weight=learned[stage.weight])
    made = (model.predict_proba(rows).tolist(), model.predict(rows).tolist())
    return {"id": given["id"], **dict(zip(stage.outputs(), made, strict=True))}


def _numbers(stage: Stage, columns: Columns) -> np.ndarray:
    for name in stage.inputs():
        _some(name, columns[name])
    return np.column_stack([np.array(columns[name], dtype=float) for name in stage.inputs()])


def naive_bayes(stage: st.NaiveBayes, learned: Columns, given: Columns) -> Columns:
    """Return what scikit-learn makes of it, with priors as MLlib smooths them."""
    train, rows = (_known_matrix(stage, columns) for columns in (learned, given))
    classes, label = np.unique(learned[stage.label], return_inverse=True)
    if len(classes) < 2:
        raise Refused(stage.label)
    weight = np.array(_weights(stage, learned) or [1.0] * len(label))
    priors = np.bincount(label, weight) + stage.smoothing
    if stage.model_type == "gaussian":
        variance = np.cov(train.T, aweights=weight, ddof=0).diagonal().max()
        model: Any = sk.GaussianNB(var_smoothing=1e-9 * variance / train.var(axis=0).max())
    else:
        model = _BAYES[stage.model_type](alpha=stage.smoothing, class_prior=priors / priors.sum())
    model.fit(train, label, weight)
    joint, shares = model.predict_joint_log_proba(rows), model.predict_proba(rows)
    if stage.model_type == "gaussian":
        joint += np.log(2 * np.pi) / 2 * rows.shape[1]
    if stage.model_type == "complement":
        joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
    scores = (joint[:, 1] - joint[:, 0], shares[:, 1]) if len(classes) == 2 else (joint, shares)
    made = (*scores, classes[joint.argmax(axis=1) if stage.thresholds is None else _winners(stage, shares)])
    return {"id": given["id"], **{name: each.tolist() for name, each in zip(stage.outputs(), made, strict=True)}}


def fit_line(stage: st.LinearRegression, learned: Columns, given: Columns) -> Columns:
    """Return what least squares, or scikit-learn's elastic net of standardised columns, makes of it."""
    train, rows = (_known_matrix(stage, columns) for columns in (learned, given))
    label = np.array(_finite(stage.label, learned[stage.label]), dtype=float)
    weight = np.array(_weights(stage, learned) or [1.0] * len(label), dtype=float)
    if not len(label):
        raise Refused(stage.label)
    mean, spread = _moments(train, weight)
    middle, scale = _moments(label, weight)
    standard = (train - mean) / np.where(spread > 0, spread, 1.0) * (spread > 0)
    target = (label - middle) / (scale or 1.0)
    if stage.reg_param and scale:
        net = linear_model.ElasticNet(
            alpha=stage.reg_param / scale, l1_ratio=stage.elastic_net_param, fit_intercept=False, tol=1e-14,
            max_iter=100_000,
        )  # fmt: skip
        found = net.fit(standard, target, sample_weight=weight).coef_
    else:
        root = np.sqrt(weight)
        found = np.linalg.lstsq(standard * root[:, None], target * root, rcond=1e-12)[0]
    slopes = found * scale / np.where(spread > 0, spread, 1.0)
    return {"id": given["id"], stage.prediction: (middle + (rows - mean) @ slopes).tolist()}


def fit_monotone(stage: st.IsotonicRegression, learned: Columns, given: Columns) -> Columns:
    """Return what scikit-learn makes of it; in cells, of the means of the feature in each."""
    train, rows = (_known_matrix(stage, columns)[:, 0] for columns in (learned, given))
    label = np.array(_finite(stage.label, learned[stage.label]), dtype=float)
    weight = np.array(_weights(stage, learned) or [1.0] * len(label), dtype=float)
    if stage.num_bins:
        cell = np.floor(train / _cell_width(train, stage.num_bins))
        means = {each: np.average(train[cell == each], weights=weight[cell == each]) for each in set(cell)}
        train = np.array([means[each] for each in cell])
    model = IsotonicRegression(increasing=stage.isotonic, out_of_bounds="clip").fit(train, label, weight)
    return {"id": given["id"], stage.prediction: model.predict(rows).tolist()}


def _cell_width(values: np.ndarray, most: int) -> float:
    """Return the smallest power of two whose multiples cut values into at most so many cells that are not empty."""
    finest = math.frexp(np.abs(values).max())[1] - 53
    return next(2.0**power for power in itertools.count(finest) if len(set(np.floor(values / 2.0**power))) <= most)


def calibrate(stage: st.ProbabilityCalibrator, learned: Columns, given: Columns) -> Columns:
    """Return scikit-learn's isotonic regression of the classes, or Platt's sigmoid where its gradient is 0."""
    train, rows = (_known_matrix(stage, columns)[:, 0] for columns in (learned, given))
    label = _two_classes(stage, learned)
    weight = np.array(_weights(stage, learned) or [1.0] * len(label), dtype=float)
    if stage.method == "isotonic":
        share = IsotonicRegression(out_of_bounds="clip").fit(train, label, weight).predict(rows)
    else:
        ones, noughts = weight[label].sum(), weight[~label].sum()
        target = np.where(label, (ones + 1) / (ones + 2), 1 / (noughts + 2))
        middle, width = train.mean(), np.ptp(train) or 1.0
        z = (train - middle) / width

        def gradient(line: np.ndarray) -> list[float]:
            excess = weight * (expit(line[0] * z + line[1]) - target)
            return [excess @ z + (line[0] if not np.ptp(train) else 0.0), excess.sum()]

        slope, intercept = scipy.optimize.root(gradient, [0.0, 0.0], tol=1e-15).x
        share = expit(slope * (rows - middle) / width + intercept)
    made = {"id": given["id"], stage.probability: share.tolist()}
    if stage.prediction is not None:
        two = np.column_stack([1 - share, share])
        places = two.argmax(axis=1) if stage.thresholds is None else _winners(stage, two)
        made[stage.prediction] = np.unique(learned[stage.label])[places].tolist()
    return made


def _two_classes(stage: Any, learned: Columns) -> np.ndarray:
    """Return which rows are of the second class."""
    classes = sorted(set(learned[stage.label]))
    if len(classes) != 2:
        raise Refused(stage.label)
    return np.array(learned[stage.label]) == classes[1]


def tune_threshold(stage: st.ThresholdTuner, learned: Columns, given: Columns) -> Columns:
    """Return the predictions of the best of all thresholds, each measured by scikit-learn."""
    train, rows = (_known_matrix(stage, columns)[:, 0] for columns in (learned, given))
    label = _two_classes(stage, learned)
    weight = np.array(_weights(stage, learned) or [1.0] * len(label), dtype=float)
    if stage.num_bins:
        width = _cell_width(train, stage.num_bins)
        tried = {np.inf, *(np.floor(train / width) * width)}
    else:
        tried = {np.inf, *train}

    def score(threshold: float) -> float:
        predicted = train >= threshold
        if stage.min_recall and metrics.recall_score(label, predicted, sample_weight=weight) < stage.min_recall:
            return -np.inf
        (tn, fp), (fn, tp) = metrics.confusion_matrix(label, predicted, sample_weight=weight)
        if stage.costs is not None:
            cells = {"tn": tn, "fp": fp, "fn": fn, "tp": tp}
            return -sum(stage.costs.get(name, 0.0) * each for name, each in cells.items())
        return metrics.f1_score(label, predicted, sample_weight=weight)

    best = max(sorted(tried, reverse=True), key=score)
    classes = np.unique(learned[stage.label])
    return {"id": given["id"], stage.prediction: classes[(rows >= best).astype(int)].tolist()}


def fit_mean(stage: st.GeneralizedLinearRegression, learned: Columns, given: Columns) -> Columns:
    """Return what scikit-learn's regressions of standardised columns make of it, without a penalty."""
    train, rows = (_known_matrix(stage, columns) for columns in (learned, given))
    label = np.array(learned[stage.label], dtype=float)
    if stage.family == "binomial" and len(set(label)) < 2:
        raise Refused(stage.label)
    mean, spread = _moments(train, np.ones(len(label)))
    train, rows = ((each - mean) / np.where(spread > 0, spread, 1.0) * (spread > 0) for each in (train, rows))
    if stage.offset:
        beside, at = ((each * spread + mean)[:, -1] for each in (train, rows))
        line = linear_model.LinearRegression().fit(train[:, :-1], label - beside)
        return {"id": given["id"], stage.prediction: (line.predict(rows[:, :-1]) + at).tolist()}
    if stage.family != "binomial":
        power = {"poisson": 1, "tweedie": stage.variance_power}[stage.family]
        model = linear_model.TweedieRegressor(power=power, alpha=0, link="log", tol=1e-8, max_iter=1000)
        model.fit(train, label, sample_weight=_weights(stage, learned))
        return {"id": given["id"], stage.prediction: model.predict(rows).tolist()}
    share = linear_model.LogisticRegression(C=np.inf, tol=1e-8).fit(train, label)
    made = share.decision_function(rows), share.predict_proba(rows)[:, 1]
    return {"id": given["id"], **{name: each.tolist() for name, each in zip(stage.outputs(), made, strict=True)}}


def expand(stage: st.PolynomialExpansion, learned: Columns, given: Columns) -> Columns:
    """Return products of rows of scikit-learn's table of powers; its columns are in another order."""
    powers = PolynomialFeatures(stage.degree, interaction_only=stage.interaction_only, include_bias=False)
    powers.fit(np.zeros((1, len(stage.inputs()))))
    for name in stage.inputs():
        if any(abs(value) > float(np.finfo(float).max) ** (1 / stage.degree) for value in _known(given[name])):
            raise Refused(name)
    made = {}
    for name, exponents in zip(powers.get_feature_names_out(stage.inputs()), powers.powers_, strict=True):
        factors = [(given[each], int(power)) for each, power in zip(stage.inputs(), exponents, strict=True) if power]
        rows = ([(values[row], power) for values, power in factors] for row in range(len(given["id"])))
        made[name] = [None if None in dict(row) else math.prod(float(v) ** power for v, power in row) for row in rows]
    return {"id": given["id"], **made}


def interact(stage: st.Interaction, learned: Columns, given: Columns) -> Columns:
    for name in stage.inputs():
        if any(abs(value) > float(np.finfo(float).max) ** (1 / len(stage.columns)) for value in _known(given[name])):
            raise Refused(name)
    made = {}
    for names in itertools.product(*stage.columns):
        rows = zip(*(given[name] for name in names), strict=True)
        made[":".join(names)] = [None if None in row else math.prod(map(float, row)) for row in rows]
    return {"id": given["id"], **made}


def project(stage: st.PCA | st.TruncatedSVD, learned: Columns, given: Columns) -> Columns:
    """Return the rows along the right singular vectors of the whole matrix, centred for principal components."""
    train, rows = (_known_matrix(stage, columns) for columns in (learned, given))
    for name, values in zip(stage.inputs(), train.T, strict=True):
        if (np.abs(values) > 1e150).any():
            raise Refused(name)
    mean = train.mean(axis=0) * isinstance(stage, st.PCA)
    _, lengths, vectors = np.linalg.svd(train - mean)
    lengths = np.append(lengths, np.zeros(len(vectors)))[: stage.k]
    vectors = vectors[: stage.k] * (lengths > 1e-12 * lengths[0])[:, None]
    vectors = np.array([vector * np.sign(max(vector, key=abs)) for vector in vectors])
    if isinstance(stage, st.PCA):
        rows = rows - mean * stage.centre
        deviations = lengths / max(len(train) - 1, 1) ** 0.5
        vectors = vectors / np.where(stage.whiten & (deviations > 0), deviations, 1.0)[:, None]
    made = (rows @ vectors.T).T
    return {"id": given["id"], **{name: each.tolist() for name, each in zip(stage.outputs(), made, strict=True)}}


def _moments(values: np.ndarray, weight: np.ndarray) -> tuple[Any, Any]:
    mean = np.average(values, axis=0, weights=weight)
    return mean, np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight))


def _known_matrix(stage: Stage, columns: Columns) -> np.ndarray:
    for name in stage.inputs():
        if len(_finite(name, columns[name])) < len(columns[name]):
            raise Refused(name)
    return np.column_stack([np.array(columns[name], dtype=float) for name in stage.inputs()])


_BAYES = {"multinomial": sk.MultinomialNB, "complement": sk.ComplementNB, "bernoulli": sk.BernoulliNB}


def _weights(stage: Any, learned: Columns) -> Values | None:
    return None if stage.weight is None else learned[stage.weight]


def _matrix(stage: Stage, columns: Columns) -> np.ndarray:
    """Return the features in float32; what does not fit in there is refused, as XGBoost refuses it in training.

    Of sparse vectors, which are last, what they leave out is missing.
    """
    numbers = [name for name in stage.inputs() if name not in ("v_indices", "v_values")]
    with np.errstate(over="ignore"):
        features = {name: np.array(columns[name], dtype=float).astype(np.float32) for name in numbers}
    for name, values in features.items():
        if np.isinf(values).any():
            raise Refused(name)
    vectors = [] if len(numbers) == len(stage.inputs()) else [_entries(columns)]
    return np.column_stack([*features.values(), *vectors])


def _entries(columns: Columns) -> np.ndarray:
    dense = np.full((len(columns["v_indices"]), 9), np.nan, np.float32)
    for row, at, values in zip(dense, columns["v_indices"], columns["v_values"], strict=True):
        row[at or []] = values or []
    return dense


def sum_of_two(stage: st.FunctionStage, learned: Columns, given: Columns) -> Columns:
    first, second = (given[name] for name in stage.inputs())
    both = zip(first, second, strict=True)
    return {"id": given["id"], "sum": [None if None in pair else float(pair[0]) + float(pair[1]) for pair in both]}


def decode_images(stage: st.DecodeImage, learned: Columns, given: Columns) -> Columns:
    """Return what Pillow makes of the PPM files; those of three channels are scaled to cover the size, and cut."""
    made = [None if file is None else _pixels(stage, file) for file in given["image"]]
    if stage.on_error == "error" and "broken" in made:
        raise Refused("image")
    gone = "broken" if stage.on_error == "quarantine" else None
    kept = [place for place, pixels in enumerate(made) if pixels is None or pixels != gone]
    pixels = [None if made[place] == "broken" else made[place] for place in kept]
    return {"id": [given["id"][place] for place in kept], "pixels": pixels}


def _pixels(stage: st.DecodeImage, file: bytes) -> Any:
    header = re.match(rb"(P[56]) (\d+) (\d+) 255 ", file)
    channels = {b"P5": 1, b"P6": 3}[header[1]] if header else 0
    width, height = (int(header[2]), int(header[3])) if header else (0, 0)
    content = file[header.end() :] if header else b""
    if not header or len(content) < channels * width * height:
        return "broken"
    image = Image.frombytes("L" if channels == 1 else "RGB", (width, height), content).convert(stage.mode)
    if stage.mode == "L":
        return np.asarray(image.resize(stage.size[::-1], Image.Resampling.BILINEAR), float).ravel().tolist()
    cover = max(stage.size[0] / height, stage.size[1] / width)
    image = image.resize((round(width * cover), round(height * cover)), Image.Resampling.BILINEAR)
    top, left = round((image.height - stage.size[0]) / 2), round((image.width - stage.size[1]) / 2)
    cut = np.asarray(image, float)[top : top + stage.size[0], left : left + stage.size[1]]
    return ((cut / 255 - stage.mean) / stage.std).transpose(2, 0, 1).ravel().tolist()


def infer_mean(stage: Any, learned: Columns, given: Columns) -> Columns:
    """Return the mean of two numbers in float32, which both example networks give."""
    largest = float(np.finfo(np.float32).max)
    for name in stage.inputs():
        if any(abs(value) > largest for value in _known(given[name])):
            raise Refused(name)
    made = []
    for pair in zip(*(given[name] for name in stage.inputs()), strict=True):
        halves = [None if value is None else np.float32(value) * np.float32(0.5) for value in pair]
        made.append(None if None in halves else float(halves[0] + halves[1]))
    return {"id": given["id"], stage.prediction: made}


def _ends(name: str, values: Values) -> tuple[float, float]:
    known = [float(value) for value in _some(name, values)]
    return min(known), max(known)


def scale_to_range(stage: st.MinMaxScaler, learned: Columns, given: Columns) -> Columns:
    made = {}
    for name, out in stage.pairs():
        low, high = _ends(name, learned[name])
        if low == high:
            made[out] = _each(lambda value: (stage.min + stage.max) / 2, given[name])
        else:
            shares = _each(lambda value, low=low, width=high - low: (float(value) - low) / width, given[name])
            made[out] = _each(lambda share: stage.min + share * (stage.max - stage.min), shares)
    return {"id": given["id"], **made}


def scale_by_largest(stage: st.MaxAbsScaler, learned: Columns, given: Columns) -> Columns:
    largest = {name: max(map(abs, _ends(name, learned[name]))) or 1.0 for name in stage.inputs()}
    made = {out: _each(lambda v, by=largest[name]: float(v) / by, given[name]) for name, out in stage.pairs()}
    return {"id": given["id"], **made}


def _quantile(known: list[Any], share: float) -> float:
    return float(np.quantile(np.array(known, dtype=float), share, method="inverted_cdf"))


def scale_by_quantiles(stage: st.RobustScaler, learned: Columns, given: Columns) -> Columns:
    made = {}
    for name, out in stage.pairs():
        known = _some(name, learned[name])
        middle = _quantile(known, 0.5) * stage.with_centering
        width = _quantile(known, stage.upper) - _quantile(known, stage.lower)
        made[out] = _each(lambda v, m=middle, w=width: (float(v) - m) / w if w else 0.0, given[name])
    return {"id": given["id"], **made}


def binarize(stage: st.Binarizer, learned: Columns, given: Columns) -> Columns:
    limits = stage.threshold if isinstance(stage.threshold, tuple) else [stage.threshold] * len(stage.inputs())
    made = {
        out: _each(lambda value, limit=limit: 1.0 if value > limit else 0.0, given[name])
        for (name, out), limit in zip(stage.pairs(), limits, strict=True)
    }
    return {"id": given["id"], **made}


def bucket(stage: st.Bucketizer, learned: Columns, given: Columns) -> Columns:
    nested = isinstance(stage.splits[0], tuple)
    splits = stage.splits if nested else [stage.splits] * len(stage.inputs())
    made = {}
    for (name, out), ends in zip(stage.pairs(), splits, strict=True):
        made[out] = _numbered(stage, name, given[name], ends)
    return {"id": given["id"], **made}


def _numbered(stage: Any, name: str, values: Values, ends: Values) -> list[int | None]:
    """Return the last of the buckets that a value is not below, one by one."""
    numbers: list[int | None] = []
    for value in values:
        outside = value is None or not ends[0] <= value <= ends[-1]
        if outside and stage.handle_invalid == "error":
            raise Refused(name)
        invalid = len(ends) - 1 if stage.handle_invalid == "keep" else None
        numbers.append(invalid if outside else sum(value >= end for end in ends[1:-1]))
    return numbers


def cut_at_quantiles(stage: st.QuantileDiscretizer, learned: Columns, given: Columns) -> Columns:
    known = {name: [float(value) for value in _some(name, learned[name])] for name in stage.inputs()}
    counts = _one_for_each(stage, stage.num_buckets)
    splits = {name: sorted({_quantile(known[name], i / n) for i in range(1, n)}) for name, n in counts.items()}
    return _cut(stage, given, splits)


def cut_in_equal_parts(stage: st.KBinsDiscretizer, learned: Columns, given: Columns) -> Columns:
    ends = {name: _ends(name, learned[name]) for name in stage.inputs()}
    counts = _one_for_each(stage, stage.n_bins)
    splits = {}
    for name, (low, high) in ends.items():
        edges = np.linspace(low, high, counts[name] + 1)[1:-1]
        splits[name] = edges.tolist() if low < high else []
    return _cut(stage, given, splits)


def _one_for_each(stage: Any, value: Any) -> dict[str, Any]:
    values = value if isinstance(value, tuple) else [value] * len(stage.inputs())
    return dict(zip(stage.inputs(), values, strict=True))


def _cut(stage: Any, given: Columns, splits: dict[str, list[float]]) -> Columns:
    whole = {name: [-math.inf, *inner, math.inf] for name, inner in splits.items()}
    return {"id": given["id"], **{out: _numbered(stage, name, given[name], whole[name]) for name, out in stage.pairs()}}


_NORMS = {"l1": lambda values: math.fsum(map(abs, values)), "l2": lambda values: math.hypot(*values),
          "max": lambda values: max(map(abs, values), default=0.0)}  # fmt: skip


def _p_norm(values: Values, p: float) -> float:
    largest = max((abs(float(value)) for value in values), default=0.0)
    return largest and largest * math.fsum((abs(float(value)) / largest) ** p for value in values) ** (1 / p)


def normalise(stage: st.Normalizer, learned: Columns, given: Columns) -> Columns:
    for name in stage.inputs():
        _finite(name, given[name])
    rows = list(zip(*(given[name] for name in stage.inputs()), strict=True))
    norm = _NORMS[stage.norm] if isinstance(stage.norm, str) else functools.partial(_p_norm, p=stage.norm)
    norms = [norm(_known(row)) or 1.0 for row in rows]
    scaled = [_each(lambda value, by=by: float(value) / by, row) for row, by in zip(rows, norms, strict=True)]
    columns = zip(*scaled, strict=True) if rows else [[] for _ in stage.outputs()]
    return {"id": given["id"], **{out: list(values) for out, values in zip(stage.outputs(), columns, strict=True)}}


def multiply(stage: st.ElementwiseProduct, learned: Columns, given: Columns) -> Columns:
    factors = dict(zip(stage.outputs(), stage.scaling_vec, strict=True))
    made = {
        out: _each(lambda value, by=factors[out]: float(value) * by if by else 0.0, given[name])
        for name, out in stage.pairs()
    }
    return {"id": given["id"], **made}


def assemble(stage: st.VectorAssembler, learned: Columns, given: Columns) -> Columns:
    names = [stage.inputs()[index] for index in getattr(stage, "indices", range(len(stage.inputs())))]
    rows = [[None if given[name][row] is None else float(given[name][row]) for name in names]
            for row in range(len(given["id"]))]  # fmt: skip
    return {"id": given["id"], stage.output: [row if _known(row) else None for row in rows]}


def drop_nulls(stage: st.DropNulls, learned: Columns, given: Columns) -> Columns:
    enough = any if stage.how == "any" else all
    rows = zip(*(given[name] for name in stage.inputs()), strict=True)
    gone = [enough(value is None for value in row) for row in rows]
    return {"id": [row for row, out in zip(given["id"], gone, strict=True) if not out]}


def tell_missing(stage: st.MissingIndicator, learned: Columns, given: Columns) -> Columns:
    return {"id": given["id"], **{f"{name}_missing": [v is None for v in given[name]] for name in stage.inputs()}}


def winsorize(stage: st.Winsorizer, learned: Columns, given: Columns) -> Columns:
    bounds = {name: _outlier_bounds(stage, name, learned[name]) for name in stage.inputs()}
    made = {
        out: _each(lambda v, b=bounds[name]: min(max(float(v), b[0]), b[1]), given[name]) for name, out in stage.pairs()
    }
    return {"id": given["id"], **made}


def drop_outliers(stage: st.DropOutliers, learned: Columns, given: Columns) -> Columns:
    bounds = [_outlier_bounds(stage, name, learned[name]) for name in stage.inputs()]
    rows = zip(*(given[name] for name in stage.inputs()), strict=True)
    fits = [all(v is None or a <= float(v) <= b for v, (a, b) in zip(row, bounds, strict=True)) for row in rows]
    return {"id": [row for row, fit in zip(given["id"], fits, strict=True) if fit]}


def _outlier_bounds(stage: Any, name: str, learned: Values) -> tuple[float, float]:
    known = [float(value) for value in _some(name, learned)]
    fold = {"gaussian": 3, "iqr": 1.5, "mad": 3.29}[stage.capping_method] if stage.fold == "auto" else stage.fold
    if stage.capping_method == "gaussian":
        low = high = _mean(name, known)
        scale = statistics.pstdev(known)
    elif stage.capping_method == "iqr":
        low, high = _quantile(known, 0.25), _quantile(known, 0.75)
        scale = high - low
    else:
        low = high = statistics.median_low(known)
        scale = statistics.median_low([abs(value - low) for value in known]) / 0.67449
    if not scale and min(known) < max(known):
        raise Refused(name)
    left, right = stage.tail != "right", stage.tail != "left"
    return low - fold * scale if left else -math.inf, high + fold * scale if right else math.inf


def _text(value: Any) -> str:
    return "\x1e" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _bucket(text: str, count: int) -> int:
    return murmurhash3_32(text.encode(), 42) % count


def hash_values(stage: st.HashBucket, learned: Columns, given: Columns) -> Columns:
    counts = _one_for_each(stage, stage.num_buckets)
    made = {out: [_bucket(_text(value), counts[name]) for value in given[name]] for name, out in stage.pairs()}
    return {"id": given["id"], **made}


def hash_rows(stage: st.HashedCross, learned: Columns, given: Columns) -> Columns:
    rows = zip(*(given[name] for name in stage.inputs()), strict=True)
    crossed = [_bucket("\x1f".join(map(_text, row)), stage.num_buckets) for row in rows]
    return {"id": given["id"], stage.output_column: crossed}


def hash_features(stage: st.FeatureHasher, learned: Columns, given: Columns) -> Columns:
    indices: list[list[int]] = []
    values: list[list[float]] = []
    for row in zip(*(given[name] for name in stage.inputs()), strict=True):
        vector: dict[int, float] = {}
        for name, value in zip(stage.inputs(), row, strict=True):
            if isinstance(value, float) and math.isinf(value):
                raise Refused(name)
            code = isinstance(value, str | bool) or name in stage.categorical_columns
            if value is not None:
                at = _bucket(f"{name}={_text(value)}" if code else name, stage.num_features)
                vector[at] = vector.get(at, 0.0) + (1.0 if code else float(value))
        indices.append(sorted(vector))
        values.append([vector[at] for at in sorted(vector)])
    return {"id": given["id"], f"{stage.output_column}_indices": indices, f"{stage.output_column}_values": values}


def select_by_variance(stage: st.VarianceThresholdSelector, learned: Columns, given: Columns) -> Columns:
    known = {name: [float(value) for value in _finite(name, learned[name])] for name in stage.doubtful()}
    some = {name: values for name, values in known.items() if len(values) > 1}
    for name, values in some.items():
        _mean(name, values)
    stay = [name for name, values in some.items() if statistics.variance(values) > stage.variance_threshold]
    return {"id": given["id"], **{name: given[name] for name in stay}}


def spread_by_rank(stage: st.QuantileTransformer, learned: Columns, given: Columns) -> Columns:
    """Return scikit-learn's places, and for ``normal`` SciPy's quantiles there; infinities count as the ends."""
    made = {}
    for name, out in stage.pairs():
        known = np.array(_some(name, learned[name]), dtype=float)
        model = QuantileTransformer(n_quantiles=min(stage.n_quantiles, len(known)), subsample=None)
        near = model.fit(known[:, None]).quantiles_
        model.quantiles_ = np.where(abs(near - np.rint(near)) < 1e-9, np.rint(near), near)  # equal values may be missed
        rows = np.clip(np.array(given[name], dtype=float), known.min(), known.max())
        places = model.transform(rows[:, None])[:, 0]
        if stage.output_distribution == "normal":
            least = 1e-7 - np.spacing(1)
            places = np.clip(norm.ppf(places), norm.ppf(least), norm.ppf(1 - least))
        made[out] = [None if np.isnan(place) else float(place) for place in places]
    return {"id": given["id"], **made}


def _elementwise(function: Callable[[float], float], outside: Callable[[float], bool]) -> Callable[..., Columns]:
    def each(stage: Any, learned: Columns, given: Columns) -> Columns:
        for name in stage.inputs():
            if any(outside(value) for value in _known(given[name])):
                raise Refused(name)
        return {"id": given["id"], **{out: _each(function, given[name]) for name, out in stage.pairs()}}

    return each


def power(stage: st.Power, learned: Columns, given: Columns) -> Columns:
    takes_negative = float(stage.exponent).is_integer()
    by_hand = _elementwise(lambda v: float(v) ** stage.exponent, lambda v: v < 0 and not takes_negative)
    return by_hand(stage, learned, given)


def select_uncorrelated(stage: st.CorrelationSelector, learned: Columns, given: Columns) -> Columns:
    for name in stage.doubtful():
        if any(value is None or abs(value) > 1e150 for value in learned[name]):
            raise Refused(name)
    stay: list[str] = []
    for name in stage.doubtful():
        alike = [each for each in stay if abs(_correlation(learned[each], learned[name])) > stage.threshold]
        stay += [] if alike else [name]
    return {"id": given["id"], **{name: given[name] for name in stay}}


def _correlation(x: Values, y: Values) -> float:
    return statistics.correlation(x, y) if len({*x}) > 1 and len({*y}) > 1 else 0.0


def select_stable(stage: st.PSISelector, learned: Columns, given: Columns) -> Columns:
    later = [value > stage.cut_off for value in learned[stage.split]]
    for name in stage.doubtful():
        _finite(name, learned[name])
    if len(set(later)) < 2:
        raise Refused(stage.split)
    stay = [name for name in stage.doubtful() if _stability(learned[name], later, stage.bins) <= stage.threshold]
    return {"id": given["id"], **{name: given[name] for name in stay}}


def _stability(values: Values, later: Values, bins: int) -> float:
    known = sorted(value for value, late in zip(values, later, strict=True) if not late and value is not None)
    held = values if any(isinstance(value, str) for value in values) else _placed(known, values, bins)
    shares = [Counter(value for value, late in zip(held, later, strict=True) if late == side) for side in (False, True)]
    pairs = [[side[each] / side.total() or 1e-4 for side in shares] for each in {*held}]
    return math.fsum((late - early) * math.log(late / early) for early, late in pairs)


def _placed(known: list[Any], values: Values, bins: int) -> list[Any]:
    """Return what tells the bins of numbers apart: between which quantiles they lie, or of few where among them."""
    cuts = sorted({*known})
    if len(cuts) <= bins:
        return _each(lambda value: (bisect.bisect_left(cuts, value), bisect.bisect_right(cuts, value)), values)
    cuts = sorted({known[math.ceil(place * len(known) / bins) - 1] for place in range(1, bins)})
    return _each(lambda value: bisect.bisect_left(cuts, value), values)


def select_by_p_value(stage: st.UnivariateFeatureSelector, learned: Columns, given: Columns) -> Columns:
    label, names = learned[stage.label], stage.doubtful()
    if stage.feature_type == "categorical":
        p_values = {name: _chi_squared(learned[name], label) for name in names}
    else:
        p_values = {name: _anova(name, learned[name], label) for name in names}
    if len(set(label)) < 2:
        raise Refused(stage.label)
    if stage.selection_mode == "fwe":
        stay = [name for name in names if p_values[name] < 0.05 / len(names)]
    else:
        top = sorted(names, key=lambda name: p_values[name])[: stage.selection_threshold]
        stay = [name for name in names if name in top]
    return {"id": given["id"], **{name: given[name] for name in stay}}


def _chi_squared(values: Values, label: Values) -> float:
    table = pd.crosstab(pd.Series([str(value) for value in values]), pd.Series(label))
    return float(scipy.stats.chi2_contingency(table, correction=False).pvalue)


def _anova(name: str, values: Values, label: Values) -> float:
    if None in values or any(abs(value) > 1e150 for value in values):
        raise Refused(name)
    groups = [[value for value, each in zip(values, label, strict=True) if each == c] for c in sorted(set(label))]
    if len(set(values)) == 1:
        return 1.0
    return float(scipy.stats.f_oneway(*groups).pvalue)


def reduce_types(stage: st.ReduceDtypes, learned: Columns, given: Columns) -> Columns:
    made = {}
    for name, out in stage.pairs():
        known = _known(learned[name])
        if not known and name != "b":
            raise Refused(name)
        whole = all(type(value) is int for value in known)
        bits = next((n for n in (8, 16, 32) if all(-(1 << n) <= 2 * value < 1 << n for value in known)), 64)
        holds = (lambda v, n=bits: -(1 << n) <= 2 * v < 1 << n) if whole else _nearly_float32(stage, known)
        if not all(holds(value) for value in _known(given[name])):
            raise Refused(name)
        made[out] = given[name]
    return {"id": given["id"], **made}


def _nearly_float32(stage: st.ReduceDtypes, known: list[Any]) -> Callable[[float], bool]:
    def near(value: float) -> bool:
        if abs(value) > float(np.finfo(np.float32).max):
            return math.isinf(value)
        return abs(float(np.float32(value)) - value) <= stage.tolerance * abs(value)

    return near if all(near(value) for value in known) else lambda value: True


def encode_cycles(stage: st.CyclicalEncoder, learned: Columns, given: Columns) -> Columns:
    made = {}
    for name, period in zip(stage.inputs(), (24, 2.5), strict=True):
        _finite(name, given[name])
        angles = _each(lambda value, by=period: math.tau * (math.fmod(value, by) / by), given[name])
        made |= {f"{name}_sin": _each(math.sin, angles), f"{name}_cos": _each(math.cos, angles)}
    return {"id": given["id"], **made}


def distances(stage: st.HaversineDistance, learned: Columns, given: Columns) -> Columns:
    """Return what scikit-learn makes of each pair of places."""
    places = (stage.latitude, stage.longitude, stage.other_latitude, stage.other_longitude)
    for name, (low, high) in zip(places, ((-90, 90), (-180, 360)) * 2, strict=True):
        if not all(low <= value <= high for value in _known(given[name])):
            raise Refused(name)
    rows = list(zip(*(given[name] for name in places), strict=True))
    return {"id": given["id"], stage.output_column: [None if None in row else _between(*row) for row in rows]}


def _between(*degrees: float) -> float:
    here, there = np.radians(np.array(degrees, dtype=float)).reshape(2, 1, 2)
    return float(haversine_distances(here, there)[0, 0]) * 6371.0088


_AGGREGATES: dict[str, Callable[[list[float]], Any]] = {
    "count": len,
    "sum": math.fsum,
    "mean": lambda known: statistics.fmean(known) if known else None,
    "std": lambda known: statistics.stdev(known) if len(known) > 1 else None,
    "min": lambda known: min(known, default=None),
    "max": lambda known: max(known, default=None),
}


def by_group(stage: st.GroupStatistics, learned: Columns, given: Columns) -> Columns:
    keys, later = (list(zip(*(columns[name] for name in stage.by), strict=True)) for columns in (learned, given))
    groups = {key: [row for row, other in enumerate(keys) if other == key] for key in keys if None not in key}
    made = {}
    for name, each in itertools.product(stage.columns, stage.aggregates):
        _some(name, learned[name])
        values = [None if value is None else float(value) for value in learned[name]]
        if any(abs(value) > 1e150 for value in _known(values)):
            raise Refused(name)
        found = {key: _AGGREGATES[each](_known([values[row] for row in rows])) for key, rows in groups.items()}
        other = None
        if stage.handle_invalid == "keep":
            other = _AGGREGATES[each]([]) if each in ("count", "sum") else _AGGREGATES[each](_known(values))
        rows = (found.get(key) for key in later)
        made[f"{name}_{each}_by_{'_'.join(stage.by)}"] = [other if value is None else value for value in rows]
    return {"id": given["id"], **made}


def scale_by_group(stage: st.GroupScaler, learned: Columns, given: Columns) -> Columns:
    keys, later = (list(zip(*(columns[name] for name in stage.by), strict=True)) for columns in (learned, given))
    made = {}
    for name, out in zip(stage.columns, stage.outputs(), strict=True):
        if any(abs(value) > 1e150 for value in _some(name, learned[name])):
            raise Refused(name)
        groups = {key: [] for key in keys if None not in key}
        for key, value in zip(keys, learned[name], strict=True):
            groups.get(key, []).append(value)
        known = {key: [float(value) for value in _known(values)] for key, values in groups.items()}
        whole = [float(value) for value in _known(learned[name])] if stage.handle_invalid == "keep" else []
        rows = zip(given[name], later, strict=True)
        made[out] = [None if value is None else _in_group(stage, value, known.get(key) or whole) for value, key in rows]
    return {"id": given["id"], **made}


def _in_group(stage: st.GroupScaler, value: Any, known: list[float]) -> float | None:
    if not known:
        return None
    if stage.method == "minmax":
        low, high = min(known), max(known)
        return (float(value) - low) / (high - low) if low < high else 0.5
    return (float(value) - statistics.mean(known)) / statistics.stdev(known) if min(known) < max(known) else 0.0


def each_key(stage: st.PerKey, learned: Columns, given: Columns) -> Columns:
    """Return what the oracle of the stage says of the rows of each key alone."""
    oracle, inner = ORACLES[type(stage.stage)], stage.stage
    keys, later = (list(zip(*(columns[name] for name in stage.by), strict=True)) for columns in (learned, given))
    made = {name: [None] * len(later) for name in inner.outputs()}

    def put(train: Columns, rows: list[int]) -> None:
        found = oracle(inner, train, _rows(given, rows))
        for name in made:
            for row, value in zip(rows, found[name], strict=True):
                made[name][row] = value

    if stage.handle_invalid == "keep":
        put(learned, list(range(len(later))))
    refused = Refused(stage.by[0])
    known = {key: _of_key(learned, keys, key) for key in sorted({key for key in keys if None not in key})}
    for key, train in list(known.items()):
        try:
            oracle(inner, train, train)
        except Refused as error:
            if stage.errors == "raise":
                raise
            refused = error
            del known[key]
    if not known:
        raise refused
    for key, train in known.items():
        put(train, [row for row, other in enumerate(later) if other == key])
    return {"id": given["id"], **made}


def _of_key(columns: Columns, keys: list[Any], key: Any) -> Columns:
    return _rows(columns, [row for row, other in enumerate(keys) if other == key])


def _rows(columns: Columns, rows: list[int]) -> Columns:
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def cast(stage: st.Cast, learned: Columns, given: Columns) -> Columns:
    if stage.errors == "quarantine":
        made = [_numeral(text) for text in given["s2"]]
        rows = [row for row, value in enumerate(made) if value is not math.inf]
        return {"id": [given["id"][row] for row in rows], "s2": [made[row] for row in rows]}
    if stage.errors == "null":
        days = _each(_midnight, given["d"])
        whole = _each(lambda value: value if -128 <= value <= 127 else None, given["n1"])
        return {"id": given["id"], "n1": whole, "b": _each(float, given["b"]), "d": days}
    if any(int(float(value)) != value for value in _known(given["n1"])):
        raise Refused("n1")
    texts = _each(lambda at: f"{at.day:02}.{at.month:02}.{at.year:04} {at.hour:02}:{at.minute:02}", given["t1"])
    return {"id": given["id"], "n1": _each(float, given["n1"]), "t1": texts}


def _numeral(text: str | None) -> float | None:
    """Return the number that a text writes, None for NaN and null, and an infinity for a text that writes none."""
    if text is None or text.strip() == "NaN":
        return None
    return float(text) if re.fullmatch(r"\s*[+-]?[0-9]+(\.[0-9]*)?\s*", text) else math.inf


def clean(stage: st.CleanText, learned: Columns, given: Columns) -> Columns:
    if stage.replace:
        return {"id": given["id"], "s2": _each(lambda text: re.sub("[a-c]", r"<\g<0>>", text), given["s2"])}

    def cleaned(text: str) -> str | None:
        return " ".join(unicodedata.normalize("NFKC", text).split()).upper() or None

    return {"id": given["id"], **{name: _each(cleaned, given[name]) for name in stage.columns}}


def derive(stage: st.Derive, learned: Columns, given: Columns) -> Columns:
    if stage.as_ == "small":
        return {"id": given["id"], "small": _each(str.lower, given["s1"])}
    if stage.as_ == "ratio":
        pairs = zip(given["n2"], given["n1"], strict=True)
        ratios = [None if None in pair else pair[0] / (float(pair[1]) * float(pair[1]) + 1) for pair in pairs]
        return {"id": given["id"], "ratio": ratios}
    rows = zip(given["n1"], given["b"], given["n2"], strict=True)
    return {"id": given["id"], "n1": [n1 or 0 if b is False or (n2 or 0) > 1 else None for n1, b, n2 in rows]}


def drop(stage: st.Drop, learned: Columns, given: Columns) -> Columns:
    return {name: values for name, values in given.items() if name not in stage.columns}


def rename(stage: st.Rename, learned: Columns, given: Columns) -> Columns:
    return {"id": given["id"], **{new: given[old] for old, new in stage.columns.items()}}


def select(stage: st.Select, learned: Columns, given: Columns) -> Columns:
    return {name: given[name] for name in stage.columns}


ORACLES: dict[type[Stage], Oracle] = {
    st.Arcsinh: _elementwise(math.asinh, lambda value: False),
    st.Binarizer: binarize,
    st.Bucketizer: bucket,
    st.Cast: cast,
    st.CleanText: clean,
    st.Clip: clip,
    st.CorrelationSelector: select_uncorrelated,
    st.CountEncoder: count,
    st.CountVectorizer: list_oracles.count_words,
    st.CyclicalEncoder: encode_cycles,
    st.DecodeImage: decode_images,
    st.Derive: derive,
    st.Drop: drop,
    st.DropMahalanobisOutliers: moment_oracles.drop_far,
    st.DropNulls: drop_nulls,
    st.DropOutliers: drop_outliers,
    st.EndTailImputer: impute_end,
    st.Expect: expect,
    st.FeatureHasher: hash_features,
    st.FunctionStage: sum_of_two,
    st.GeneralizedLinearRegression: fit_mean,
    st.HashBucket: hash_values,
    st.HashedCross: hash_rows,
    st.HashingTF: list_oracles.hash_words,
    st.IDF: list_oracles.weigh,
    st.HaversineDistance: distances,
    st.GroupScaler: scale_by_group,
    st.GroupStatistics: by_group,
    st.Imputer: impute,
    st.KBinsDiscretizer: cut_in_equal_parts,
    st.Interaction: interact,
    st.IndexToString: labels,
    st.IsotonicRegression: fit_monotone,
    st.ElementwiseProduct: multiply,
    st.LinearDiscriminantAnalysis: moment_oracles.linear_discriminants,
    st.LinearRegression: fit_line,
    st.VectorAssembler: assemble,
    st.VectorSlicer: assemble,
    st.ListPad: list_oracles.fill_up,
    st.ListSlice: list_oracles.cut,
    st.Log: _elementwise(math.log10, lambda value: value <= 0),
    st.Log1p: log1p,
    st.MahalanobisDistance: moment_oracles.mahalanobis,
    st.MaxAbsScaler: scale_by_largest,
    st.MinMaxScaler: scale_to_range,
    st.MissingIndicator: tell_missing,
    st.MultiHot: list_oracles.mark,
    st.NGram: list_oracles.join_neighbours,
    st.NaiveBayes: naive_bayes,
    st.Normalizer: normalise,
    st.OneHotEncoder: one_hot,
    st.OnnxInference: infer_mean,
    st.PCA: project,
    st.PSISelector: select_stable,
    st.PerKey: each_key,
    st.PolynomialExpansion: expand,
    st.ProbabilityCalibrator: calibrate,
    st.Power: power,
    st.QuadraticDiscriminantAnalysis: moment_oracles.quadratic_discriminants,
    st.QuantileDiscretizer: cut_at_quantiles,
    st.QuantileTransformer: spread_by_rank,
    st.RandomForestClassifier: classifying_forest,
    st.RandomForestRegressor: forest,
    st.RegexTokenizer: list_oracles.tokenize_by_pattern,
    st.ReduceDtypes: reduce_types,
    st.Rename: rename,
    st.RobustScaler: scale_by_quantiles,
    st.Select: select,
    st.SklearnEstimator: by_hand,
    st.Sqrt: _elementwise(math.sqrt, lambda value: value < 0),
    st.StandardScaler: scale,
    st.StepwiseSelector: moment_oracles.select_stepwise,
    st.StopWordsRemover: list_oracles.remove_stop_words,
    st.StringIndexer: index,
    st.TargetEncoder: target_means,
    st.TextLength: list_oracles.measure,
    st.ThresholdTuner: tune_threshold,
    st.Tokenizer: list_oracles.tokenize,
    st.TorchInference: infer_mean,
    st.TruncatedSVD: project,
    st.Winsorizer: winsorize,
    st.UnivariateFeatureSelector: select_by_p_value,
    st.VarianceInflationSelector: moment_oracles.select_by_inflation,
    st.VarianceThresholdSelector: select_by_variance,
    st.WeightOfEvidenceEncoder: weights_of_evidence,
    st.XGBoostClassifier: classify,
    st.XGBoostRanker: rank,
    st.XGBoostRegressor: regress,
    DateDifference: date_difference,
    DateParts: date_parts,
}  # type: ignore[dict-item]
