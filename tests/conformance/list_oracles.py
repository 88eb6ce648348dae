"""What the stages of texts and lists should make of the tables of the suite, told in plain Python."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from typing import Any

from sklearn.utils import murmurhash3_32

from penstock import stages as st
from penstock.testing import Columns, Refused


def _made(stage: Any, given: Columns, function: Any) -> Columns:
    """Return the function of every value, null for null."""
    columns = {out: [None if v is None else function(v) for v in given[name]] for name, out in stage.pairs()}
    return {"id": given["id"], **columns}


def tokenize(stage: st.Tokenizer, learned: Columns, given: Columns) -> Columns:
    return _made(stage, given, lambda text: _split(text.lower(), "[ \\t\\n\\x0b\\f\\r]"))


def _split(text: str, pattern: str) -> list[str]:
    words = re.split(pattern, text)
    while text and words and not words[-1]:
        words.pop()
    return words


def tokenize_by_pattern(stage: st.RegexTokenizer, learned: Columns, given: Columns) -> Columns:
    def words(text: str) -> list[str]:
        text = text.lower() if stage.to_lowercase else text
        found = re.split(stage.pattern, text, flags=re.A) if stage.gaps else re.findall(stage.pattern, text, re.A)
        return [word for word in found if word]

    return _made(stage, given, words)


def remove_stop_words(stage: st.StopWordsRemover, learned: Columns, given: Columns) -> Columns:
    stop = {word.lower() for word in stage.stop_words or ()}
    return _made(stage, given, lambda words: [word for word in words if word.lower() not in stop])


def join_neighbours(stage: st.NGram, learned: Columns, given: Columns) -> Columns:
    def grams(words: list[str]) -> list[str]:
        return [" ".join(each) for each in zip(*(words[place:] for place in range(stage.n)), strict=False)]

    return _made(stage, given, grams)


def measure(stage: st.TextLength, learned: Columns, given: Columns) -> Columns:
    made: Columns = {}
    for name in stage.inputs():
        words = [None if t is None else [w for w in re.split("[ \\t\\n\\x0b\\f\\r]", t) if w] for t in given[name]]
        made |= {
            f"{name}_characters": [None if text is None else len(text) for text in given[name]],
            f"{name}_words": [None if each is None else len(each) for each in words],
            f"{name}_mean_word_length": [len("".join(each)) / len(each) if each else None for each in words],
            f"{name}_digits": [None if t is None else sum("0" <= c <= "9" for c in t) for t in given[name]],
        }
    return {"id": given["id"], **made}


def hash_words(stage: st.HashingTF, learned: Columns, given: Columns) -> Columns:
    def place(word: str) -> int:
        return int(murmurhash3_32(word.encode(), seed=42)) % stage.num_features  # of a signed number, as Python has it

    return _vectors(stage, given, lambda words: Counter(place(word) for word in words))


def _vectors(stage: Any, given: Columns, function: Any) -> Columns:
    made: Columns = {"id": given["id"]}
    for name, out in stage.pairs():
        found = [None if v is None else sorted(function(v).items()) for v in given[name]]
        made[f"{out}_indices"] = [None if each is None else [index for index, _ in each] for each in found]
        made[f"{out}_values"] = [None if each is None else [float(value) for _, value in each] for each in found]
    return made


def count_words(stage: st.CountVectorizer, learned: Columns, given: Columns) -> Columns:
    (name,) = stage.inputs()
    lists = [words for words in learned[name] if words is not None]
    counts, holding = Counter(itertools.chain(*lists)), Counter(itertools.chain(*map(set, lists)))
    frequent = [word for word in counts if holding[word] >= stage.min_df]
    if not frequent and stage.vocabulary is None:
        raise Refused(name)
    ordered = sorted(frequent, key=lambda word: (-counts[word], word.encode()))[: stage.vocab_size]
    known = ordered if stage.vocabulary is None else list(stage.vocabulary)

    def count(words: list[str]) -> dict[int, int]:
        found = Counter(words)
        least = stage.min_tf if stage.min_tf >= 1 else stage.min_tf * len(words)
        return {known.index(word): n for word, n in found.items() if word in known and n >= least}

    return _vectors(stage, given, count)


def weigh(stage: st.IDF, learned: Columns, given: Columns) -> Columns:
    pairs = [pair for pair in zip(learned["v_indices"], learned["v_values"], strict=True) if pair[0] is not None]
    if not pairs:
        raise Refused("v_indices")
    held = Counter(i for indices, values in pairs for i, v in zip(indices, values, strict=True) if v > 0)

    def weight(index: int) -> float:
        return math.log((len(pairs) + 1) / (held[index] + 1)) if held[index] >= stage.min_doc_freq else 0.0

    made = [
        None if indices is None else [value * weight(index) for index, value in zip(indices, values, strict=True)]
        for indices, values in zip(given["v_indices"], given["v_values"], strict=True)
    ]
    return {"id": given["id"], "weighed_indices": given["v_indices"], "weighed_values": made}


def cut(stage: st.ListSlice, learned: Columns, given: Columns) -> Columns:
    return _made(stage, given, lambda elements: elements[stage.start : stage.end])


def fill_up(stage: st.ListPad, learned: Columns, given: Columns) -> Columns:
    return _made(stage, given, lambda elements: elements + [stage.value] * (stage.length - len(elements)))


def mark(stage: st.MultiHot, learned: Columns, given: Columns) -> Columns:
    made: Columns = {}
    for place, name in enumerate(stage.inputs()):
        lists = [elements for elements in learned[name] if elements is not None]
        counts = Counter(itertools.chain(*map(set, lists)))
        frequent = [value for value in counts if counts[value] >= stage.min_frequency * len(learned[name])]
        order = sorted(frequent, key=lambda v, n=counts: (-n[v], v.encode() if isinstance(v, str) else v))
        known = list(stage.categories[place]) if stage.categories else order[: stage.max_categories]
        names = known if stage.categories else range(stage.max_categories or 0)
        for number, suffix in enumerate(names):
            value = known[number] if number < len(known) else object()
            made[f"{name}_{suffix}"] = [int(value in (elements or [])) for elements in given[name]]
        if stage.handle_invalid == "keep":
            made[f"{name}_other"] = [int(not set(elements or []) <= set(known)) for elements in given[name]]
            made[f"{name}_null"] = [int(elements is None) for elements in given[name]]
    return {"id": given["id"], **made}
