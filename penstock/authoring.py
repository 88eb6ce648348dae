"""The surface for stages, statistics, trainers, evaluators, engines and formats of one's own.

What is here keeps its name and meaning from version to version; other modules of the library may change. The pages
``docs/own-*.md`` use nothing else but this, `penstock`, `penstock.stages`, `penstock.statistics`, `penstock.frames`,
`penstock.errors`, `penstock.selectors` and `penstock.testing`.
"""

from penstock.core.progress import Progress
from penstock.core.schemas import require
from penstock.core.selectors import Columns
from penstock.core.selectors import resolve as resolve
from penstock.dataset.task_errors import translate_errors
from penstock.engines.base import Engine, TreeReduction
from penstock.engines.settings import EngineSettings
from penstock.io.formats import Format
from penstock.io.fragments import Piece
from penstock.io.sinks.part_writer import PartWriter
from penstock.spmd import Rank, SpmdOptions, run_alone
from penstock.stages.base import ColumnStage, Fitted, Stage, Tags, check_number, normalise_columns
from penstock.stages.classes import Classes
from penstock.stages.evaluation.base import Evaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.preprocessing.categories.vocabulary import codes, values_of
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.shapes import Fields, Number, by_column
from penstock.stages.target import NumberTarget, Target
from penstock.stages.trainer import Trainer
from penstock.statistics.base import ColumnStatistic, State, Statistic
from penstock.statistics.distinct.partitionable import Partitionable

__all__ = [
    "Classes",
    "ColumnStage",
    "ColumnStatistic",
    "Columns",
    "Engine",
    "EngineSettings",
    "Evaluation",
    "Evaluator",
    "FeatureSelector",
    "Fields",
    "Fitted",
    "Format",
    "Number",
    "NumberTarget",
    "PartWriter",
    "Partitionable",
    "Piece",
    "Progress",
    "Rank",
    "SpmdOptions",
    "Stage",
    "State",
    "Statistic",
    "Tags",
    "Target",
    "Trainer",
    "TreeReduction",
    "by_column",
    "check_number",
    "codes",
    "normalise_columns",
    "require",
    "run_alone",
    "translate_errors",
    "values_of",
]
