"""Names that no column can have are refused by every way in, with the name."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import CorruptFileError, SchemaError


@pytest.mark.parametrize("way_in", ["memory", "parquet", "csv", "json_lines"])
def test_a_name_that_no_column_can_have_is_refused_by_every_way_in(local, tmp_path, subtests, way_in):
    for name in ("", "*", "^a$", "^.*$", "a\0", "__row__", "__fold__"):
        table, path = pa.table([[1, 2], [3, 4]], ["a", name]), tmp_path / "a"
        pq.write_table(table, path)
        with path.open("w") if way_in in ("csv", "json_lines") else path.open("r+b") as file:
            if way_in == "csv":
                csv.writer(file).writerows([table.column_names, [1, 3], [2, 4]])
            elif way_in == "json_lines":
                file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
        with subtests.test(name=name):
            with pytest.raises((SchemaError, CorruptFileError)) as caught:
                local.from_arrow(table) if way_in == "memory" else local.read(way_in, path)
            assert "\0" in name or caught.type is SchemaError  # a text with NUL is no text
