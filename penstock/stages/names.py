"""What the stages of a pipeline are called from outside: by names that the user gives, or by their classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from penstock.core.errors import ConfigError
from penstock.stages.base import Stage

_NAME = re.compile(r"\w[\w-]*")


def split_names(items: Sequence[Any]) -> tuple[tuple[Stage, ...], tuple[str | None, ...]]:
    """Return the stages among stages and pairs of a name and a stage, and the name of each; None where none is given.

    Raises
    ------
    ConfigError
        One is neither a stage nor a pair; a name has other characters than letters, digits, ``_`` and ``-``.
    """
    pairs = [_pair(item) for item in items]
    # A stage that is called as its class is one without a name.
    names = (None if name == type(stage).__name__ else name for name, stage in pairs)
    return tuple(stage for _, stage in pairs), tuple(names)


def stage_names(stages: Sequence[Stage], given: Sequence[str | None]) -> tuple[str, ...]:
    """Return how each stage is addressed: by the name given, or by its class, numbered where it occurs again.

    Raises
    ------
    ConfigError
        Two would have one name, or one is named as the class of another.

    Examples
    --------
    >>> from penstock import stages as st
    >>> stage_names([st.Log1p("x"), st.Clip("x", lower=0), st.Log1p("y"), st.Log1p("z")], ["log", None, None, None])
    ('log', 'Clip', 'Log1p-1', 'Log1p-2')
    """
    classes = [type(stage).__name__ for stage in stages]
    for place, name in enumerate(given):
        if name in classes[:place] + classes[place + 1 :]:
            raise ConfigError(
                f"a {classes[place]} is named {name!r}, the class of another stage", hint="Name it otherwise."
            )
    of_class = Counter(kind for kind, name in zip(classes, given, strict=True) if name is None)
    seen: Counter[str] = Counter()
    names: list[str] = []
    for kind, name in zip(classes, given, strict=True):
        seen[kind] += name is None
        names.append(name or (kind if of_class[kind] == 1 else f"{kind}-{seen[kind]}"))
    again = next((name for name, count in Counter(names).items() if count > 1), None)
    if again is not None:
        raise ConfigError(f"two stages are named {again!r}", hint="Give each stage a name of its own.")
    return tuple(names)


def _pair(item: Any) -> tuple[str | None, Stage]:
    if isinstance(item, Stage):
        return None, item
    if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Stage)):
        raise ConfigError(
            f"a pipeline is made of stages, found {item!r}",
            hint="Pass stages one by one, or pairs: Pipeline(Imputer(...), ('scale', StandardScaler(...))).",
        )
    name, stage = item
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ConfigError(
            f"a {type(stage).__name__} is named {name!r}, expected letters, digits, '_' and '-', not '-' first",
            hint="A dot stands between the name of a stage and its parameter.",
            stage=stage.title,
        )
    return name, stage
