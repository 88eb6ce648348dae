"""libsvm (svmlight): text with a label and a sparse vector in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import ConfigError
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import unify
from penstock.frames import sparse
from penstock.io.formats.base import Format, ReadOptions
from penstock.io.fragments import Fragment
from penstock.io.sources.bad_records import check_limit
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.inference import Guess
from penstock.io.sources.quotes import RecordEnds
from penstock.io.sources.ranges import Range, read_head
from penstock.io.sources.scanning import ParseTask, open_files, scan_ranges
from penstock.io.sources.text import TextSource, shorten_text


@dataclass(frozen=True, kw_only=True)
class LibsvmOptions(ReadOptions):
    """What `Engine.read_libsvm` takes."""

    zero_based: bool = False
    num_features: int | None = None
    max_bad_records: int = 0

    def __post_init__(self) -> None:
        check_limit(self.max_bad_records)
        if self.num_features is not None and self.num_features < 1:
            raise ConfigError(f"num_features is {self.num_features!r}, expected 1 or more")


class Libsvm(Format[LibsvmOptions]):
    """Text with a label and a sparse vector in a line; see `Engine.read_libsvm`."""

    name = "libsvm"
    aliases = ("svmlight",)
    suffixes = tuple(kind + codec for kind in (".libsvm", ".svm", ".svmlight") for codec in ("", ".gz", ".zst"))
    options = LibsvmOptions

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: LibsvmOptions
    ) -> tuple[LibsvmSource, tuple[Fragment, ...]]:
        """Parse all lines once and return the source and its fragments.

        Raises
        ------
        CorruptFileError, BadRowsError, SchemaDriftError
        """
        source = LibsvmSource(pa.schema([]), storage, zero_based=options.zero_based, num_features=options.num_features)
        items = open_files(scheduler, source, files, options.fragment_bytes)
        columns = [(item.file.path, pa.schema([(name, TYPES[name]) for name in item.names])) for item in items]
        schema = unify(columns, missing="error", extra="error")
        scanned = scan_ranges(scheduler, ParseTask(source, None, options.max_bad_records), items)
        return source.planned(schema, scanned, options.fragment_bytes)


QID = "qid"
TYPES = {"label": pa.float64(), QID: pa.int64(), **sparse.fields(["features"])}


@dataclass(frozen=True)
class LibsvmSource(TextSource):
    """Pieces of libsvm files; see `Libsvm`."""

    zero_based: bool = False
    num_features: int | None = None

    filler = b" "
    repair = "Repair the line."
    form = "A line is: label index:value index:value ...; max_bad_records sets others aside."

    def read_header(self, file: InputFile) -> tuple[tuple[str, ...], int, RecordEnds | None]:
        """Return the columns of a file: with queries where its first line has one."""
        head, begin = read_head(self.storage, file, "a file of libsvm lines")
        return tuple(name for name in TYPES if name != QID or has_qid(head)), begin, None

    def _lines(self, names: Sequence[str]) -> Lines:
        return Lines(QID in names, self.zero_based, self.num_features)

    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types`, numbers nearest to their digits; ArrowInvalid for a line not of the form."""
        table = self._lines(names).parse(data)
        return table.select(list(types)).cast(pa.schema(list(types.items())))

    def try_scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> tuple[int, Mapping[str, Guess]]:
        """Return the rows of a range; all types are known."""
        return self.count_rows(data, item.names), {}

    def count_rows(self, data: bytes, names: Sequence[str]) -> int:
        """Return the number of lines that are rows; ArrowInvalid for one that is not of the form."""
        return int(self._lines(names).parse(data).num_rows)

    def find_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return what a line has that it should not."""
        try:
            self.count_rows(record, names)
        except pa.ArrowInvalid as error:
            return str(error)
        return None

    def describe_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return what a line has that it should not, with the line."""
        fault = self.find_fault(record, names)
        return None if fault is None else f" has {fault}: {shorten_text(record.decode().strip())}"

    def read_value(self, record: bytes, names: Sequence[str], column: str) -> tuple[str, str]:
        """Return a line: its values stand in no place of their own."""
        text = record.decode().strip()
        return shorten_text(text), text


_TEXT = pa.large_string()


@dataclass(frozen=True)
class Lines:
    r"""How the lines of a file are written.

    Parameters
    ----------
    has_qid : bool
        Whether ``qid:number`` follows each label; no line has it otherwise.
    zero_based : bool
        Whether the first feature has the index 0, not 1.
    num_features : int, optional
        How many there are; an index beyond it is refused.

    Examples
    --------
    >>> Lines().parse(b"1 2:0.5 3:1 # a comment\n-1\n").to_pydict()
    {'label': [1.0, -1.0], 'features_indices': [[1, 2], []], 'features_values': [[0.5, 1.0], []]}
    """

    has_qid: bool = False
    zero_based: bool = False
    num_features: int | None = None

    def parse(self, data: bytes) -> pa.Table:
        """Return a row for each line that holds more than a comment, the indices from 0.

        Raises
        ------
        pyarrow.ArrowInvalid
            A line is not of this form; says what the first such line has, in few words.
        """
        fields = _split(data)
        lengths = pc.list_value_length(fields).to_numpy(zero_copy_only=False)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        tokens = fields.flatten()
        label = _numbers(tokens.take(pa.array(starts[:-1])), "a label that is no number")
        others = np.ones(len(tokens), dtype=bool)
        others[starts[:-1]] = False
        names, values = _pairs(tokens.filter(pa.array(others)))
        counts = lengths - 1
        columns: dict[str, pa.Array] = {"label": label}
        if self.has_qid:
            columns["qid"], names, values, counts = _take_qid(names, values, counts)
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        indices = self._indices(names, offsets.to_numpy())
        numbers = _numbers(values, "a value that is no number")
        if pc.any(pc.is_nan(numbers)).as_py():
            raise pa.ArrowInvalid("a value that is NaN")
        columns["features_indices"] = pa.ListArray.from_arrays(offsets, indices)
        columns["features_values"] = pa.ListArray.from_arrays(offsets, numbers)
        return pa.table(columns)

    def _indices(self, texts: pa.Array, offsets: np.ndarray) -> pa.Array:
        """Return indices from 0, which ascend in each line."""
        indices = _whole(texts, "an index that is no whole number") - (0 if self.zero_based else 1)
        if np.any(indices < 0):
            raise pa.ArrowInvalid("the index 0, but the first one is 1 unless zero_based=True")
        if np.any(indices >= (2**31 - 1 if self.num_features is None else self.num_features)):
            raise pa.ArrowInvalid(f"an index beyond the {self.num_features or 2**31 - 1} features")
        first = np.zeros(len(indices) + 1, dtype=bool)
        first[offsets] = True
        if np.any((np.diff(indices) <= 0) & ~first[1:-1]):
            raise pa.ArrowInvalid("indices that do not ascend")
        return pa.array(indices.astype(np.int32))


def _split(data: bytes) -> pa.ListArray:
    """Return the fields of each line that has any, without comments."""
    text = pa.array([data], pa.large_binary()).cast(_TEXT)
    lines = pc.split_pattern(text, "\n").flatten()
    if b"#" in data:
        lines = pc.replace_substring_regex(lines, "#.*", "")
    lines = pc.ascii_trim_whitespace(lines)
    return pc.ascii_split_whitespace(lines.filter(pc.not_equal(lines, "")))


def _pairs(tokens: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return what stands before and after the colon of each token."""
    if not pc.all(pc.match_substring_regex(tokens, "^[^:]+:[^:]+$"), min_count=0).as_py():
        raise pa.ArrowInvalid("a feature that is not index:value")
    parts = pc.split_pattern(tokens, ":").flatten()
    even = np.arange(0, len(parts), 2)
    return parts.take(pa.array(even)), parts.take(pa.array(even + 1))


def _take_qid(names: pa.Array, values: pa.Array, counts: np.ndarray) -> tuple[pa.Array, pa.Array, pa.Array, np.ndarray]:
    """Return the query of each line, and the pairs that are left, with how many of them each line has."""
    first = np.zeros(len(names) + 1, dtype=bool)
    starts = np.cumsum(counts) - counts
    first[starts] = True
    if np.any(counts == 0) or not pc.all(pc.equal(names.take(pa.array(starts)), "qid"), min_count=0).as_py():
        raise pa.ArrowInvalid("no qid, which the first line of the file has")
    qid = pa.array(_whole(values.take(pa.array(starts)), "a qid that is no whole number"))
    rest = pa.array(~first[:-1])
    return qid, names.filter(rest), values.filter(rest), counts - 1


def _numbers(texts: pa.Array, problem: str) -> pa.Array:
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        raise pa.ArrowInvalid(problem) from None


def _whole(texts: pa.Array, problem: str) -> np.ndarray:
    if not pc.all(pc.match_substring_regex(texts, "^[0-9]{1,18}$"), min_count=0).as_py():
        raise pa.ArrowInvalid(problem)
    return texts.cast(pa.int64()).to_numpy(zero_copy_only=False)


def has_qid(head: bytes) -> bool:
    """Return whether the first line of a text that is not empty or a comment says of which query it is."""
    for line in head.splitlines():
        fields = line.partition(b"#")[0].split()
        if fields:
            return len(fields) > 1 and fields[1].startswith(b"qid:")
    return False
