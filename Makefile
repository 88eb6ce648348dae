# Two commands on a fresh machine:  make run   make test
SHELL := /bin/bash
VENV ?= .venv
VENV_GPU ?= .venv-gpu
ROWS ?= 200000
WORKERS ?= 2
BIN := $(VENV)/bin
SAMPLE := data/samples/clicks
PIP := -m pip install --quiet --disable-pip-version-check --no-warn-script-location --use-pep517
INSTALL := $(BIN)/python $(PIP)
# By a line of path: by an import hook, `import penstock` beside the checkout would find the checkout's folder first.
EDITABLE := --config-settings editable_mode=compat --editable

.PHONY: run test test-fast test-exhaustive test-gpu check docs bench lock clean

run: $(VENV)/.cpu $(SAMPLE)/_SUCCESS ## fit, evaluate, save and score the clicks pipeline on this machine
	$(BIN)/penstock fit clicks --data $(SAMPLE) --out models/clicks --score out/scored --overwrite

# A suite starts hundreds of processes: without bytecode each of them compiles what it imports.
test test-fast test-exhaustive test-gpu: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.dev ## the whole suite on local, Dask and Spark
	tools/java.sh $(BIN)/python
	tools/chromium.sh
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

test-fast: $(VENV)/.dev ## what is telling, on the local engine, in a few minutes; without Java or a browser
	$(BIN)/python -m pytest --fast -n $(WORKERS) --dist loadgroup $(ARGS)

test-exhaustive: $(VENV)/.dev ## products of engines, tables and parameters that the suite leaves out as they change nothing
	tools/java.sh $(BIN)/python
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup tests/conformance/exhaustive.py tests/conformance/exhaustive_gpu.py $(ARGS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --products -m pairwise $(ARGS)

test-gpu: $(VENV_GPU)/.gpu ## the suite with partitions on a GPU, which it needs; 5 GB of packages, in an environment of their own
	tools/java.sh $(VENV_GPU)/bin/python
	tools/chromium.sh
	$(VENV_GPU)/bin/python -m pytest --device gpu $(ARGS)

check: $(VENV)/.dev ## style, types, layers, layout, documentation examples and tables, lock files, the newest versions allowed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q --doctest-modules penstock
	$(BIN)/python tools/stage_table.py --check
	$(BIN)/python tools/package_graph.py --check
	$(BIN)/python tools/house.py --check
	tools/lock.sh --check $(BIN)/uv
	tools/newest.sh $(BIN)/uv $(VENV)

docs: $(VENV)/.dev ## write docs/stages.md from the stages, and the drawing of docs/architecture.md from the imports
	$(BIN)/python tools/stage_table.py
	$(BIN)/python tools/package_graph.py

bench: $(VENV)/.dev ## side by side with MLlib, Polars, Dask and XGBoost's own integrations; ROWS=4000000 for the full size
	tools/java.sh $(BIN)/python
	$(BIN)/python benchmarks/clicks.py --rows $(ROWS) --json benchmarks/results/latest.json
	$(BIN)/python benchmarks/evaluation.py --rows $(ROWS) --json benchmarks/results/latest-evaluation.json
	$(BIN)/python benchmarks/training.py --rows $(ROWS) --json benchmarks/results/latest-training.json
	$(BIN)/python benchmarks/preprocessing.py --rows $(ROWS) --json benchmarks/results/latest-preprocessing.json

lock: $(VENV)/.dev ## resolve the lock files again
	tools/lock.sh --write $(BIN)/uv

$(VENV)/bin/python:
	tools/venv.sh $(VENV)

$(VENV)/.cpu: setup.cfg requirements/cpu.lock | $(VENV)/bin/python
	$(INSTALL) --constraint requirements/cpu.lock $(EDITABLE) '.[cpu]'
	touch $@

$(VENV)/.dev: setup.cfg requirements/cpu.lock | $(VENV)/bin/python
	$(INSTALL) --constraint requirements/cpu.lock $(EDITABLE) '.[cpu,dask,spark,torch,sklearn,onnx,images,dev]'
	touch $@ $(VENV)/.cpu

$(VENV_GPU)/bin/python:
	PYTHON="$${PYTHON:-python3.12}" tools/venv.sh $(VENV_GPU)

$(VENV_GPU)/.gpu: setup.cfg requirements/gpu.lock | $(VENV_GPU)/bin/python
	$(VENV_GPU)/bin/python $(PIP) --constraint requirements/gpu.lock $(EDITABLE) '.[gpu,dask,spark,torch,sklearn,onnx,images,dev]'
	touch $@

$(SAMPLE)/_SUCCESS: data/clicks.py data/_write.py | $(VENV)/.cpu
	$(BIN)/python data/clicks.py --rows $(ROWS) --out $(SAMPLE) --overwrite

clean: ## remove everything that was made here
	rm -rf $(VENV) $(VENV)-newest $(VENV_GPU) data/samples models out .pytest_cache .mypy_cache .ruff_cache build *.egg-info
