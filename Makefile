# "make demo" shows what the project does, "make test" checks it, "make help" lists all targets.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= python3
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)  # some tests wait for browsers and for other processes

# Tests start hundreds of processes, which should not compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test peers quick lint viewer page docs submissions conformance league blender dist bench portable batch-torture coverage pictures fuzz slow clean tests-of

help:            ## list the targets
	@awk -F ':.*## *' '/^[a-z-]+:.*## / { \
		count = split($$2, words, " "); line = sprintf("%-14s", $$1); \
		for (at = 1; at <= count; at++) { \
			if (length(line) + length(words[at]) > 98) { print line; line = sprintf("%-14s", "") } \
			line = line " " words[at] } \
		print line }' $(MAKEFILE_LIST)

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
	$(BIN)/python tools/build_page.py --if-possible

viewer:  ## build the page of "keyframer view" (Node 20.19 or newer, or one from PyPI)
	$(PYTHON) tools/build_viewer.py

page: $(BIN)/.run  ## build the page that runs the library in a browser: build/page, for any web server (PARTS: a folder with its parts)
	$(BIN)/python tools/build_page.py $(if $(PARTS),--parts $(PARTS))

docs: $(BIN)/.test  ## the site: build/docs; warnings are errors
	$(BIN)/python -m sphinx -b html -q -W docs build/docs

submissions: $(BIN)/.test  ## our formats for the registries of others (PRONOM, file, Kaitai, shared-mime-info), with a letter for each: build/submissions
	$(BIN)/python -m tools.make_submissions

conformance: $(BIN)/.test  ## small files for other importers, with expected values: build/conformance.zip
	$(BIN)/python -m tools.make_conformance

$(BIN)/.league: $(BIN)/.test
	PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV) '.[test,league]'
	@touch $@

league: $(BIN)/.league  ## what ten other programs make of these files (a quarter of an hour): build/league.md
	sh tools/install_test_tools.sh
	sh tools/install_node_tools.sh
	PYTHON=$(PYTHON) sh tools/install_blender.sh
	$(BIN)/python -m tools.make_league

blender: $(BIN)/.test  ## the Blender extension: a wheel and a zip in build, validated by Blender's command line
	PYTHON=$(PYTHON) sh tools/install_blender.sh
	$(BIN)/python tools/build_blender.py --validate

dist: $(BIN)/.test  ## everything of a release in dist: wheel, source archive, a .pyz for each Python, Blender extension, SBOM; built twice and compared
	$(BIN)/python tools/build_dist.py

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

QUICK := wire maths curves scene posing reference_curves golden conformance editing inspecting formats/hale3d
QUICK += formats/midtown exchange/reading test_api.py test_files.py test_issues.py
QUICK += cli $(addprefix batch/test_,naming.py parity.py resumable_run.py run.py shards.py)
NOT_QUICK := corpus hostile salvage embedded edited_files without_pillow text_form random_tracks  # words in names of files
NOT_QUICK += moving bad_inputs desktop
quick: $(BIN)/.test  ## after each change: lint the changed files, then run the tests that find most mistakes (about a minute on two quiet cores)
	@changed=$$(git diff --name-only --diff-filter=d HEAD -- '*.py'); [ -z "$$changed" ] || { $(BIN)/ruff check $$changed && $(BIN)/ruff format --check $$changed; }
	$(BIN)/python -m pytest -n auto -q $(addprefix tests/,$(QUICK)) $(NOT_QUICK:%='--ignore-glob=*%*')

tests-of: $(BIN)/.test  ## the tests of one module: make tests-of FILE=src/keyframer/wire/cursor.py
	$(BIN)/python -m pytest -n auto -q $$($(BIN)/python tools/tests_of.py $(FILE))

slow: $(BIN)/.test  ## all tests, also those marked slow: hostile files up to 16 MiB, a fault at every step of writing; figures go to docs/reliability.md by hand
	KEYFRAMER_SLOW=1 $(BIN)/python -m pytest -n auto --dist worksteal -q
	$(BIN)/python -m tests.hostile.measure
	$(BIN)/python -m tests.hostile.expense

portable: $(BIN)/.test  ## the tests of writing, batches and commands without fork, hard links, file locks and limits of memory
	PYTHONPATH=tests/portable $(BIN)/python -m pytest -n auto -q tests/test_files.py tests/batch tests/cli --ignore=tests/batch/test_cluster.py --ignore=tests/batch/test_storage.py  # Dask and moto need file locks

batch-torture: $(BIN)/.test  ## 100 rounds of kill -9 and resume over 1,000 files (half an hour)
	$(BIN)/python tools/batch_torture.py --rounds 100 --files 1000

coverage: $(BIN)/.test  ## coverage of wire and formats: at least 97 % of statements, of branches, and of both together
	$(BIN)/python -m pytest -n auto -q tests/wire tests/formats tests/conformance tests/golden tests/hostile tests/crashers tests/checking tests/editing tests/cli --cov=keyframer.wire --cov=keyframer.formats --cov-branch \
		--cov-report=term-missing:skip-covered --cov-report=json:build/coverage.json
	$(BIN)/python tools/coverage_gate.py build/coverage.json 97

pictures: $(BIN)/.test  ## pictures of the documentation: those of the commands, and that of three.js in Chromium
	sh tools/install_node_tools.sh
	$(BIN)/python tools/make_pictures.py
	$(BIN)/python tools/make_gltf_pictures.py

clean:           ## remove the virtual environments, build and the caches
	rm -rf $(VENV) .venv-blender .venv-blender-5.2 build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
