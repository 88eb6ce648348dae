"""How much each parameter matters."""

from __future__ import annotations

from penstock.report.axes import FONT, WIDTH
from penstock.report.figures import Figure
from penstock.report.scales import Scale
from penstock.report.svg import box, drawing, line, words
from penstock.report.text import measure, shorten, show_label, show_share
from penstock.report.trials.trial_rows import TrialRows

_LINE, _THICK, _LABEL_EMS, _MOST = 30.0, 14.0, 13.0, 10


def importances(trials: TrialRows) -> Figure:
    """Return a bar for each parameter: its share of the variance of the metric."""
    title = "Importance of parameters"
    shares = sorted(trials.importances.items(), key=lambda pair: -pair[1])[:_MOST]
    names = [shorten(trials.names.get(address, show_label(address)), _LABEL_EMS) for address, _ in shares]
    left = 14 + FONT * max(map(measure, names))
    scale = Scale(0.0, max(shares[0][1], 1e-9), left, WIDTH - 14 - FONT * measure("100.0%"))
    body = []
    for place, ((address, share), name) in enumerate(zip(shares, names, strict=True)):
        middle = 8 + _LINE * (place + 0.5)
        tip = f"{show_label(address, 60)}: {show_share(share)}"
        body += [
            words((left - 12, middle + 4), name, "label", "end"),
            box((left, middle - _THICK / 2), (scale(share) - left, _THICK), "bar first", tip),
            words((scale(share) + 6, middle + 4), show_share(share), "value"),
        ]
    height = 16 + _LINE * len(shares)
    caption = f"Share of the variance of {trials.metric_name} that a parameter explains by itself: functional ANOVA."
    foot = line((left, 4), (left, height - 4), "base")
    return Figure(title, caption, drawing((WIDTH, height), title, caption, [*body, foot]))
