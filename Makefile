# "make demo" shows what the project does, "make test" checks it, "make help" lists all targets.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= python3
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)  # some tests wait for browsers and for other processes

# Tests start hundreds of processes, which should not compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test peers quick lint viewer blender bench batch-torture coverage pictures fuzz slow clean

help:            ## list the targets
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s:

$(BIN)/.run: pyproject.toml tools/make_venv.sh
	PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV) .
	@touch $@

$(BIN)/.test: $(BIN)/.run
	PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV) '.[test]'
	@touch $@

demo: $(BIN)/.run  ## the main commands on the bundled example
	@sh tools/demo.sh $(BIN)

test: $(BIN)/.test  ## install what the tests need, lint, run all tests that are not marked slow
	$(MAKE) --no-print-directory -j2 --output-sync=target peers lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

peers: $(BIN)/.test  ## the programs that tests use besides Python packages: browser, assimp, node, Blender; the built viewer
	sh tools/install_test_tools.sh
	sh tools/install_node_tools.sh
	PYTHON=$(PYTHON) sh tools/install_blender.sh
	$(BIN)/python tools/build_viewer.py --if-possible

viewer:  ## build the page of "keyframer view" (Node 20.19 or newer, or one from PyPI)
	$(PYTHON) tools/build_viewer.py

blender: $(BIN)/.test  ## the Blender extension: a wheel and a zip in build, validated by Blender's command line
	PYTHON=$(PYTHON) sh tools/install_blender.sh
	$(BIN)/python tools/build_blender.py --validate

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

SECONDS ?= 60
SEED ?= 0
fuzz: $(BIN)/.test  ## fuzz everything for SECONDS (60) from SEED (0); ledger and numbered findings in build/fuzz
	nice -n 19 $(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)

QUICK := wire maths curves scene posing reference_curves golden crashers conformance operating inspecting textures rendering
QUICK += formats/hale3d formats/midtown exchange/reading docs/test_structure.py test_api.py test_files.py test_issues.py
quick: $(BIN)/.test  ## after each change: lint the changed files, then run the tests that find most mistakes (under 90 seconds)
	@changed=$$(git diff --name-only --diff-filter=d HEAD -- '*.py'); [ -z "$$changed" ] || { $(BIN)/ruff check $$changed && $(BIN)/ruff format --check $$changed; }
	$(BIN)/python -m pytest -n auto -q $(addprefix tests/,$(QUICK)) --ignore-glob='*corpus*'

slow: $(BIN)/.test  ## all tests, also those marked slow: hostile files up to 16 MiB, a fault at every step of writing; figures go to docs/reliability.md by hand
	KEYFRAMER_SLOW=1 $(BIN)/python -m pytest -n auto --dist worksteal -q
	$(BIN)/python -m tests.hostile.measure
	$(BIN)/python -m tests.hostile.expense

batch-torture: $(BIN)/.test  ## 100 rounds of kill -9 and resume over 1,000 files (half an hour)
	$(BIN)/python tools/batch_torture.py --rounds 100 --files 1000

coverage: $(BIN)/.test  ## coverage of wire and formats: at least 97 % of statements, of branches, and of both together
	$(BIN)/python -m pytest -n auto -q tests/wire tests/formats tests/conformance tests/golden tests/hostile tests/crashers tests/checking tests/operating tests/cli --cov=keyframer.wire --cov=keyframer.formats --cov-branch \
		--cov-report=term-missing:skip-covered --cov-report=json:build/coverage.json
	$(BIN)/python tools/coverage_gate.py build/coverage.json 97

pictures: $(BIN)/.test  ## pictures of the documentation: those of the commands, and that of three.js in Chromium
	sh tools/install_node_tools.sh
	$(BIN)/python tools/make_pictures.py
	$(BIN)/python tools/make_gltf_pictures.py

clean:           ## remove the virtual environments, build and the caches
	rm -rf $(VENV) .venv-blender .venv-blender-5.2 build .pytest_cache .mypy_cache .ruff_cache .hypothesis
