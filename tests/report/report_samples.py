"""Evaluations in the shape that the evaluators give, with curves known in closed form."""

import math

import pyarrow as pa

from penstock.stages.evaluation.result import Evaluation

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted\" 'twice' & <b>bold</b>",
    "very long " * 60,
    "W" * 80,
    "right\u202eleft \u0000 \u6771\u4eac\u90fd\U0001f600",
    "",
    None,
    "   ",
)


def binary() -> Evaluation:
    """Return the curves of scores whose true positives are the fourth root of the false ones: the area is 0.8."""
    steps = [index / 200 for index in range(201)]
    hits = [step**0.25 for step in steps]
    found = [0.3 * hit + 0.7 * step for hit, step in zip(hits, steps, strict=True)]
    precision = [1.0, *(0.3 * hit / share for hit, share in zip(hits[1:], found[1:], strict=True))]
    thresholds = [1 - step for step in steps]
    tenths = [index / 10 for index in range(1, 11)]
    gain = [0.31, 0.52, 0.67, 0.78, 0.86, 0.92, 0.96, 0.98, 0.99, 1.0]
    tables = {
        "roc": pa.table({"falsePositiveRate": steps, "truePositiveRate": hits, "threshold": thresholds}),
        "pr": pa.table({"recall": hits, "precision": precision, "threshold": thresholds}),
        "calibration": calibration(),
        "gains": pa.table(
            {"fraction": tenths, "gain": gain, "lift": [g / f for g, f in zip(gain, tenths, strict=True)]}
        ),
    }
    values = {"areaUnderROC": 0.8, "areaUnderPR": 0.61234, "logLoss": 0.4321, "brierScore": 0.1432, "ksStatistic": None}
    return Evaluation(
        values,
        {"ksStatistic": "the metric was not asked for at a threshold"},
        tables=tables,
        bounds={"areaUnderPR": 0.0002},
        intervals={"areaUnderROC": (0.78, 0.82), "areaUnderPR": (0.58, 0.64)},
        slices={"country": slices(), "device": slices(("phone", "desktop", "tablet"))},
        larger_better={name: name not in ("logLoss", "brierScore") for name in values},
    )


def calibration() -> pa.Table:
    lower = [index / 10 for index in range(10)]
    predicted = [edge + 0.05 for edge in lower]
    observed = [p + 0.06 * math.sin(6 * p) for p in predicted]
    weight = [52000.0, 41000.0, 30000.0, 21000.0, 17000.0, 14000.0, 11000.0, 8000.0, 4000.0, 2000.0]
    upper = [edge + 0.1 for edge in lower]
    return pa.table({"lower": lower, "upper": upper, "weight": weight, "predicted": predicted, "observed": observed})


def slices(names: tuple[str | None, ...] = ("NL", "DE", "FR", "BE", None, "UK")) -> pa.Table:
    places = range(len(names))
    areas = [None if place == 4 else 0.83 - 0.04 * ((place * 3) % len(names)) for place in places]
    rows, losses = [48000 // (place + 1) for place in places], [0.41 + 0.02 * place for place in places]
    return pa.table({"value": list(names), "rows": rows, "areaUnderROC": areas, "logLoss": losses})


def regression() -> Evaluation:
    lower = [float(index * 50) for index in range(20)]
    edges = [-300.0 + 20 * index for index in range(31)]
    residuals = {"lower": lower, "upper": [edge + 50 for edge in lower], "weight": [1000.0 - 0.8 * x for x in lower]}
    residuals |= {"mean": [10 * math.sin(edge / 150) for edge in lower], "std": [20 + edge / 20 for edge in lower]}
    weights = [round(2000 * math.exp(-(((edge + 10) / 90) ** 2))) for edge in edges[:-1]]
    quantiles = {0.01: -180.5, 0.05: -110.0, 0.25: -40, 0.5: 0.5, 0.75: 42, 0.95: 112, 0.99: 1204.75}
    tables = {
        "residuals": pa.table(residuals),
        "residualHistogram": pa.table({"lower": edges[:-1], "upper": edges[1:], "weight": weights}),
        "residualQuantiles": pa.table({"quantile": list(quantiles), "value": list(map(float, quantiles.values()))}),
    }
    values = {"rmse": 64.2519, "mse": 4128.31, "r2": 0.91234, "mae": 48.1, "var": 12345678.9}
    return Evaluation(values, tables=tables, larger_better=dict.fromkeys(values, False) | {"r2": True, "var": True})


def multiclass(labels: tuple[object, ...] = ("cat", "dog", "horse", "newt")) -> Evaluation:
    places = range(len(labels))
    cells = [
        (i, j, max(900.0 - 40 * i, 5.0) if i == j else float((i * 7 + j * 3) % 60)) for i in places for j in places
    ]
    kept = [(labels[i], labels[j], weight) for i, j, weight in cells if weight]
    matrix = dict(zip(("label", "prediction", "weight"), map(list, zip(*kept, strict=True)), strict=True))
    by_label = {
        "label": list(labels),
        "weight": [1000.0 - 40 * place for place in places],
        "precision": [None if place == 2 else 0.95 - 0.03 * place for place in places],
        "recall": [0.9 - 0.02 * place for place in places],
        "falsePositiveRate": [0.01 * place for place in places],
        "fMeasure": [0.92 - 0.025 * place for place in places],
    }
    tables = {"confusionMatrix": pa.table(matrix), "byLabel": pa.table(by_label)}
    names = ("f1", "accuracy", "weightedPrecision", "weightedRecall", "hammingLoss", "logLoss", "kappa")
    values = {name: 0.9 - 0.07 * index for index, name in enumerate(names)}
    return Evaluation(values, tables=tables, larger_better={name: not name.endswith("Loss") for name in names})


def clustering() -> Evaluation:
    table = pa.table(
        {"prediction": [0, 1, 2, 3], "weight": [41000.0, 18500.0, 900.0, 12.0], "silhouette": [0.71, 0.44, -0.12, 0.2]}
    )
    return Evaluation({"silhouette": 0.5123}, tables={"clusters": table}, larger_better={"silhouette": True})


def ranking() -> Evaluation:
    k = list(range(1, 11))
    found = {"precision": [0.62 / each**0.4 for each in k], "recall": [1 - 0.88**each for each in k]}
    table = pa.table({"k": k, **found, "ndcg": [0.62 - 0.02 * math.log(each) for each in k]})
    values = {"meanAveragePrecision": 0.4321, "precisionAtK": 0.2468, "ndcgAtK": 0.57}
    return Evaluation(values, tables={"atK": table}, larger_better=dict.fromkeys(values, True))


def multilabel() -> Evaluation:
    scores = {"precision": [0.9, 0.5, 0.1], "recall": [0.2, 0.4, 0.6], "f1Measure": [0.3, 0.45, 0.17]}
    table = pa.table({"label": [0.0, 1.0, 2.0], "weight": [9.0, 5.0, 1.0], **scores})
    return Evaluation({"subsetAccuracy": 0.28571}, tables={"byLabel": table}, larger_better={"subsetAccuracy": True})


def everything() -> Evaluation:
    parts = {
        "clicks": binary(),
        "price": regression(),
        "animal": multiclass(),
        "topic": multiclass(tuple(f"topic {index:02}" for index in range(30))),
        "tags": multilabel(),
        "groups": clustering(),
        "search": ranking(),
    }
    return Evaluation.joined(part.named(name) for name, part in parts.items())


def hostile() -> Evaluation:
    """Return labels, metrics, reasons and tables that would break a page that trusted them."""
    nan, inf = math.nan, math.inf
    bad = multiclass(HOSTILE)
    sliced = slices(HOSTILE[:5])
    tables = {
        **bad.tables,
        "roc": pa.table(
            {"falsePositiveRate": [nan, 0.0, None], "truePositiveRate": [0.1, inf, 0.3], "threshold": [1, 2, 3]}
        ),
        "pr": pa.table({"recall": pa.array([], pa.float64()), "precision": pa.array([], pa.float64())}),
        "calibration": pa.table({"lower": [0.1]}),
        "residuals": pa.table({name: [1e308, -1e308] for name in ("lower", "upper", "weight", "mean", "std")}),
        "residualHistogram": pa.table({"lower": [1.0], "upper": [1.0], "weight": [1.0]}),
        "atK": pa.table({"k": [1], "precision": [0.5], "recall": [nan], "ndcg": [0.1]}),
        "<img src=x onerror=alert(2)>": pa.table({"<b>": ["</style><script>alert(3)</script>"], "empty": [None]}),
    }
    values = {**bad, "<i>metric</i>": nan, "infinite": inf, "tiny": 1e-12, "huge": -1.5e22, "none": None}
    reasons = {"none": "because </td></table><script>alert(4)</script>"}
    return Evaluation(values, reasons, tables=tables, slices={HOSTILE[0]: sliced, "a.b": sliced})
