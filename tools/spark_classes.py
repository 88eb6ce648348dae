"""Archive of Spark's classes, for a quick start of the JVMs of tests.

Until its first query a JVM of Spark reads, checks and links classes for seven seconds of CPU. At its end it can write
them into an archive, and later ones map it into memory:
https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html. A JVM of another version, or with other jars,
starts as it would without.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler

import penstock as ps
from penstock.engines.spark import SparkEngine
from penstock.engines.spark.java import find_java

ARCHIVE = Path(__file__).parents[1] / ".work" / "spark-classes.jsa"


def main() -> None:
    """Write the archive, unless it is newer than Spark and Java."""
    made_from = [path for path in (Path(pyspark.__file__), find_java() / "release") if path.exists()]
    if not ARCHIVE.exists() or ARCHIVE.stat().st_mtime < max(path.stat().st_mtime for path in made_from):
        ARCHIVE.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=ARCHIVE.parent) as folder:
            written = Path(folder) / ARCHIVE.name
            load_classes(written)
            if written.exists():  # not by a Java that has no archive of its own classes, on which this one builds
                written.replace(ARCHIVE)


def load_classes(archive: Path) -> None:
    """Run typical queries in a JVM, and wait until it has written `archive` and ended."""
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit={archive} -Xlog:disable"
    conf = {"spark.master": "local[2,2]", "spark.driver.extraJavaOptions": options}
    with SparkEngine(conf=conf, device="cpu") as engine:
        process = engine.session.sparkContext._gateway.proc
        data = engine.from_arrow(pa.table({"x": [0.0, 1.0, 2.0, 3.0], "k": ["a", "b", "a", "c"], "y": [0, 1, 0, 1]}))
        ps.Pipeline(ps.stages.StandardScaler(["x"])).fit(data).transform(data).to_arrow()
        other = engine.from_arrow(pa.table({"k": ["a", "b"], "z": [1, 2]}))
        data.join(other, on="k").group_by("k").agg(x="sum").sort("k").write_parquet(archive.parent / "out")
        frame = VectorAssembler(inputCols=["x"], outputCol="features").transform(data.to_spark())
        LogisticRegression(labelCol="y", maxIter=2).fit(frame).transform(frame).collect()
    process.stdin.close()
    process.wait(timeout=300)


if __name__ == "__main__":
    main()
