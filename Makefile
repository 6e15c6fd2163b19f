# Two commands do everything: "make demo" and "make test". "make help" lists the rest.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: help demo test lint test-only viewer bench batch-torture coverage pictures fuzz slow clean

help:            ## what there is
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s:

$(BIN)/.run: pyproject.toml tools/make_venv.sh
	PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV) .
	@touch $@

$(BIN)/.test: $(BIN)/.run
	PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV) '.[test]'
	@touch $@

demo: $(BIN)/.run  ## the main job on the bundled example
	@sh tools/demo.sh $(BIN)

test: $(BIN)/.test  ## install what the tests need, lint, run everything
	sh tools/install_test_tools.sh
	sh tools/install_node_tools.sh
	$(BIN)/python tools/build_viewer.py --if-possible
	$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -n auto -q

viewer:  ## build the page of "keyframer view" (Node 20.19 or newer, or one from PyPI)
	$(PYTHON) tools/build_viewer.py

lint: $(BIN)/.test  ## style, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(BIN)/.bench: $(BIN)/.test
	PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV) '.[test,bench]'
	@touch $@

bench: $(BIN)/.bench  ## all benchmarks (minutes); figures go to benchmarks/RESULTS.md by hand
	sh tools/install_test_tools.sh
	@for file in benchmarks/bench_*.py; do name=$$(basename $$file .py); echo "== $$name"; $(BIN)/python -m benchmarks.$$name; done

$(BIN)/.fuzz: $(BIN)/.test
	PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV) '.[test,fuzz]'
	@touch $@

SECONDS ?= 60
fuzz: $(BIN)/.fuzz  ## fuzz all readers for SECONDS (60); findings become numbered files in tests/crashers
	$(BIN)/python tools/fuzz.py $(SECONDS)

slow: $(BIN)/.test  ## hostile files up to 16 MiB, every byte of every sample; figures go to docs/reliability.md by hand
	KEYFRAMER_SLOW=1 $(BIN)/python -m pytest -q tests/hostile
	$(BIN)/python -m tests.hostile.measure

batch-torture: $(BIN)/.test  ## 100 rounds of kill -9 and resume over 1,000 files (half an hour)
	$(BIN)/python tools/batch_torture.py --rounds 100 --files 1000

coverage: $(BIN)/.test  ## coverage of wire and formats: 97 % at least of statements, of branches, and of both
	$(BIN)/python -m pytest -n auto -q tests/wire tests/formats tests/conformance tests/golden tests/hostile tests/crashers tests/checking tests/operating tests/cli --cov=keyframer.wire --cov=keyframer.formats --cov-branch \
		--cov-report=term-missing:skip-covered --cov-report=json:build/coverage.json
	$(BIN)/python tools/coverage_gate.py build/coverage.json 97

pictures: $(BIN)/.test  ## the pictures of the documentation, made by the commands (and by three.js in Chromium)
	sh tools/install_node_tools.sh
	$(BIN)/python tools/make_pictures.py
	$(BIN)/python tools/make_gltf_pictures.py

clean:           ## remove what make made
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
