# Two commands on a fresh machine:  make run   make test
SHELL := /bin/bash
VENV ?= .venv
VENV_GPU ?= .venv-gpu
VENV_AIRFLOW ?= .venv-airflow
VENV_MLFLOW ?= .venv-mlflow
VENV_ROTEL ?= .venv-rotel
AIRFLOW := 3.1.8
ROWS ?= 200000
BIN := $(VENV)/bin
SAMPLE := data/samples/clicks
PIP := -m pip install --quiet --disable-pip-version-check --no-warn-script-location --use-pep517
SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
INSTALL := $(BIN)/python $(PIP)
# By a line of path: by an import hook, `import penstock` beside the checkout would find the checkout's folder first.
EDITABLE := --config-settings editable_mode=compat --editable

.PHONY: run etl test test-fast test-stand-in test-faults test-services test-exhaustive test-gpu test-airflow suite mutants check check-gpu dist docs site notebooks bench lock clean

run: $(VENV)/.cpu $(SAMPLE)/_SUCCESS ## fit, evaluate, save and score the clicks pipeline on this machine
	$(BIN)/penstock fit clicks --data $(SAMPLE) --out models/clicks --score out/scored --overwrite

etl: $(VENV)/.cpu data/samples/trips-csv/_SUCCESS data/samples/zones/_SUCCESS ## raw taxi trips to day folders and a forecast
	$(BIN)/penstock run trips_daily --date 2019-03-01

# A suite starts hundreds of processes: without bytecode each of them compiles what it imports.
test test-fast test-stand-in test-faults test-services test-exhaustive test-gpu check-gpu: export PYTHONDONTWRITEBYTECODE :=

# One process more than cores of a small machine: those of Spark, of Dask, and of servers and jobs wait now and then.
PYTEST = $(BIN)/python -m pytest --durations-to=.work/durations/$@.json -n $(or $(WORKERS),3) --dist loadgroup

test: $(VENV)/.dev ## what is deterministic, on local, Dask and Spark: no kill, no race, no server, no browser
	tools/java.sh $(BIN)/python tests
	$(PYTEST) -m "not (faults or services or stand_in)" $(ARGS)

test-fast: $(VENV)/.dev ## what an edit can break, on the local engine, in a few minutes; without Java
	$(PYTEST) -n $(or $(WORKERS),2) --fast $(ARGS)

test-stand-in: $(VENV)/.dev ## the path of a GPU, on stand-ins for cuDF, CuPy and cuML, without a GPU
	$(PYTEST) -m "stand_in and not (faults or services)" --engines local $(ARGS)

test-faults: $(VENV)/.dev ## kills, lost workers, stragglers, elastic trainings, ports, races, deadlines
	tools/java.sh $(BIN)/python tests
	$(PYTEST) -m "faults and not services" $(ARGS)

test-services: $(VENV)/.dev ## with PostgreSQL, MLflow, parts of Airflow, Rotel, Chromium, S3, Azure, notebooks, and clusters of their own
	tools/java.sh $(BIN)/python tests
	tools/chromium.sh
	tools/postgres.sh
	tools/mlflow.sh $(BIN)/uv $(VENV_MLFLOW)
	tools/rotel.sh $(BIN)/uv $(VENV_ROTEL)
	$(PYTEST) -m services $(ARGS)

suite: ## seconds of the last runs by area beside tests/budget.toml, and the slowest tests
	$(BIN)/python tools/suite.py .work/durations/*.json

test-exhaustive: $(VENV)/.dev ## products of engines, tables and parameters that the suite leaves out as they change nothing
	tools/java.sh $(BIN)/python
	$(BIN)/python -m pytest -n $(or $(WORKERS),3) --dist loadgroup tests/conformance/exhaustive.py tests/conformance/exhaustive_gpu.py $(ARGS)
	$(BIN)/python -m pytest -n $(or $(WORKERS),3) --dist loadgroup --products -m "pairwise or each_value or one_cluster or exhaustive" $(ARGS)

test-gpu: $(VENV_GPU)/.gpu ## the suite with partitions on a GPU, which it needs; 8 GB of packages, in an environment of their own
	tools/java.sh $(VENV_GPU)/bin/python
	tools/chromium.sh
	$(VENV_GPU)/bin/python -m pytest --device gpu $(ARGS)

test-airflow: $(VENV)/.cpu $(VENV_AIRFLOW)/.airflow ## dags/trips.py in Airflow, in an environment of its own: backfills, tries, two promotions at once
	PENSTOCK_PYTHON=$(abspath $(BIN))/python $(VENV_AIRFLOW)/bin/python tests/airflow_runs.py $(ARGS)

mutants: $(VENV)/.dev ## faults drawn by a seed into the library, those of tests/mutants.txt: each has to fail a test; half an hour
	$(INSTALL) 'cosmic-ray>=8.4,<9' 'pytest-cov>=7,<8'
	COVERAGE_FILE=.work/mutants.coverage $(PYTEST) --engines local -m "not (slow or faults or services)" --cov=penstock --cov-context=test --cov-report=
	$(BIN)/python tools/mutants.py $(or $(VERB),run)

check: $(VENV)/.dev ## style, types, layers, layout, documentation examples and tables, lock files, the newest versions allowed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q --doctest-modules penstock --ignore=penstock/integrations/airflow/operator.py
	$(BIN)/python tools/stage_table.py --check
	$(BIN)/python tools/error_table.py --check
	$(BIN)/python tools/coming_from.py --check
	$(BIN)/python tools/package_graph.py --check
	$(BIN)/python tools/house.py --check
	$(BIN)/python tools/suite.py --check
	$(BIN)/python tools/notebooks.py --check
	$(SITE) --quiet
	tools/lock.sh --check $(BIN)/uv
	tools/newest.sh $(BIN)/uv $(VENV)

check-gpu: $(VENV_GPU)/.gpu ## names and parameters of RAPIDS as tests have them, and the stages on their stand-in for it; without a GPU
	$(VENV_GPU)/bin/python tools/cudf_spec.py --check
	$(VENV_GPU)/bin/python tools/cuml_table.py --check
	$(VENV_GPU)/bin/python -m pytest --engines local tests/test_cudf_stand_in.py tests/test_frames_gpu_contract.py tests/test_gpu_expressions.py tests/test_gpu_vectors.py tests/test_noticing_device.py tests/conformance/exhaustive_gpu.py tests/stages/training/test_cuml.py tests/stages/training/test_cuml_several.py $(ARGS)

dist: $(VENV)/.dev ## the sdist and the wheel, tried in a new environment outside the checkout by a new project
	rm -rf dist
	$(BIN)/uv build --quiet --out-dir dist
	tools/try_wheel.sh dist/*.whl

docs: $(VENV)/.dev ## write docs/stages.md, errors.md, coming-from/, and the drawing of docs/architecture.md from the code
	$(BIN)/python tools/stage_table.py
	$(BIN)/python tools/error_table.py
	$(BIN)/python tools/coming_from.py
	$(BIN)/python tools/package_graph.py

site: $(VENV)/.dev ## the documentation as a site: site/index.html; with SERVE=1, served on loopback and built again as pages change
	$(if $(SERVE),$(SITE:build=serve),$(SITE))

notebooks: $(VENV)/.notebook ## the notebooks in JupyterLab, in a browser, with Dask and Spark set up too
	tools/java.sh $(BIN)/python
	$(BIN)/python -m jupyterlab notebooks

bench: $(VENV)/.dev ## side by side with MLlib, Polars, Dask and XGBoost's own integrations; ROWS=4000000 for the full size
	tools/java.sh $(BIN)/python
	$(BIN)/python benchmarks/clicks.py --rows $(ROWS) --json benchmarks/results/latest.json
	$(BIN)/python benchmarks/evaluation.py --rows $(ROWS) --json benchmarks/results/latest-evaluation.json
	$(BIN)/python benchmarks/training.py --rows $(ROWS) --json benchmarks/results/latest-training.json
	$(BIN)/python benchmarks/preprocessing.py --rows $(ROWS) --json benchmarks/results/latest-preprocessing.json
	$(BIN)/python benchmarks/search.py --rows 100000 --settings 4 --folds 2 --json benchmarks/results/latest-search.json

lock: $(VENV)/.dev ## resolve the lock files again
	tools/lock.sh --write $(BIN)/uv

$(VENV)/bin/python:
	tools/venv.sh $(VENV)

$(VENV)/.cpu: setup.cfg requirements/cpu.lock | $(VENV)/bin/python
	$(INSTALL) --constraint requirements/cpu.lock $(EDITABLE) '.[cpu]'
	touch $@

$(VENV)/.dev: setup.cfg requirements/cpu.lock | $(VENV)/bin/python
	$(INSTALL) --constraint requirements/cpu.lock $(EDITABLE) '.[cpu,dask,spark,connect,torch,sklearn,onnx,images,optuna,s3,gcs,azure,avro,delta,iceberg,sql,serve,mlflow,opentelemetry,openlineage,dev]'
	touch $@ $(VENV)/.cpu

$(VENV)/.notebook: setup.cfg requirements/cpu.lock | $(VENV)/bin/python
	$(INSTALL) --constraint requirements/cpu.lock $(EDITABLE) '.[cpu,dask,spark,sql,optuna,notebook]'
	touch $@ $(VENV)/.cpu

$(VENV_GPU)/bin/python:
	PYTHON="$${PYTHON:-python3.12}" tools/venv.sh $(VENV_GPU)

$(VENV_GPU)/.gpu: setup.cfg requirements/gpu.lock | $(VENV_GPU)/bin/python
	$(VENV_GPU)/bin/python $(PIP) --constraint requirements/gpu.lock $(EDITABLE) '.[gpu,dask,spark,connect,torch,sklearn,onnx,images,optuna,s3,gcs,azure,avro,delta,iceberg,sql,serve,mlflow,opentelemetry,openlineage,dev]'
	touch $@

$(SAMPLE)/_SUCCESS: data/clicks.py data/_write.py | $(VENV)/.cpu
	$(BIN)/python data/clicks.py --rows $(ROWS) --out $(SAMPLE) --overwrite

data/samples/trips-csv/_SUCCESS: data/trips.py data/_write.py | $(VENV)/.cpu
	$(BIN)/python data/trips.py --rows $(ROWS) --out $(@D) --format csv --overwrite

data/samples/zones/_SUCCESS: data/zones.py data/trips.py data/_write.py | $(VENV)/.cpu
	$(BIN)/python data/zones.py --out $(@D) --overwrite

# Its own constraints, where they can be had; beside them Penstock is only imported: jobs run in $(VENV).
$(VENV_AIRFLOW)/.airflow: setup.cfg
	tools/venv.sh $(VENV_AIRFLOW)
	curl -sfLo $(VENV_AIRFLOW)/constraints.txt https://raw.githubusercontent.com/apache/airflow/constraints-$(AIRFLOW)/constraints-$$($(VENV_AIRFLOW)/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt || : > $(VENV_AIRFLOW)/constraints.txt
	$(VENV_AIRFLOW)/bin/python $(PIP) --constraint $(VENV_AIRFLOW)/constraints.txt 'apache-airflow==$(AIRFLOW)'
	$(VENV_AIRFLOW)/bin/python $(PIP) --no-deps $(EDITABLE) .
	touch $@

clean: ## remove everything that was made here
	rm -rf $(VENV) $(VENV)-newest $(VENV_GPU) $(VENV_AIRFLOW) $(VENV_MLFLOW) $(VENV_ROTEL) data/samples models out dist site .pytest_cache .mypy_cache .ruff_cache build *.egg-info
