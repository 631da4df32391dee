PYTHON ?= python3
BIN := .venv/bin
SAMPLE := sample_transcripts/bugfix-session.jsonl

.PHONY: demo test test-all clients integrations check fuzz package compiled interpreted mutants freeze format bench gates docs clean

demo: .venv/.run
	@echo "Condensing a sample, without writing anything: condense run $(SAMPLE) --dry-run"
	@$(BIN)/condense run $(SAMPLE) --dry-run

test: .venv/.dev
	$(BIN)/python -m pytest -n 2

test-all: .venv/.dev
	HYPOTHESIS_PROFILE=all $(BIN)/python -m pytest -n 2 -m 'not client and not integration'

# The tests of one file share a recorded session; those of different files do not meet.
clients: .venv/.dev
	@test -n "$(CONDENSE_CLIENTS)" || PYTHONPATH=tests $(BIN)/python -m client.install .pytest_cache/clients
	$(BIN)/python -m pytest -m client tests/client -n 2 --dist loadfile -vv

integrations: .venv/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[integrations]'
	$(BIN)/python tests/browser/chromium.py
	# Apart, as the browser's driver keeps an event loop running in its process.
	$(BIN)/python -m pytest -m integration -rs tests/browser
	$(BIN)/python -m pytest -m integration -rs $$(grep -rl --include='test_*.py' 'mark\.integration' tests | grep -v tests/browser)

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test-all

FUZZ_SECONDS ?= 20

fuzz: .venv/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	if $(BIN)/python -c 'import atheris' 2>/dev/null; then \
	    for target in readers words; do \
	        $(BIN)/python tests/fuzz/$$target.py -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 || exit 1; \
	    done; \
	else echo 'atheris has no wheel for this machine: the readers were not fuzzed'; fi

# In place, until `make interpreted`: `make compiled test` runs the tests so.
compiled: .venv/.dev
	$(BIN)/python compiling.py

interpreted:
	$(PYTHON) compiling.py --undo

# Each archive in an environment of its own, with nothing else in the path: no compiler, no checkout.
package: .venv/.dev
	rm -rf dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --outdir dist . > /dev/null
	for archive in dist/*.whl dist/*.tar.gz; do \
	    folder=$$(mktemp -d) && sample=$$PWD/$(SAMPLE) && \
	    $(PYTHON) -m venv $$folder/bare && \
	    (PATH=$$folder/bare/bin && pip install --quiet --disable-pip-version-check "$$PWD/$$archive" && cd $$folder && \
	        condense --version --verbose && condense run "$$sample" -o small.jsonl -q && condense diff "$$sample" small.jsonl --stat) && \
	    rm -rf $$folder || exit 1; \
	done

freeze: .venv/.dev
	cd tests && ../$(BIN)/python -m yesterday.freeze

mutants: .venv/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	nice -n 15 $(BIN)/python tests/mutants/run.py $(MODULES)

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/.dev
	$(BIN)/python docs/make_formats.py
	$(BIN)/python docs/make_options.py
	$(BIN)/python -m condense_cli.config.packaged.packing

bench: .venv/.dev
	$(BIN)/python benchmarks/speed.py --sizes 0.5 5 --rounds 1 --peers
	$(BIN)/python benchmarks/sessions.py

gates: .venv/.dev
	$(BIN)/python benchmarks/gates.py

.venv/.run: pyproject.toml $(wildcard hatch_build.py)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "This needs Python 3.11 or later: make PYTHON=python3.12")'
	@echo "Making a virtual environment in .venv …"
	@$(PYTHON) -m venv .venv
	@echo "Installing condense and the packages it needs (half a minute) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/.dev: pyproject.toml $(wildcard hatch_build.py) .venv/.run
	@echo "Installing what the tests and linters need …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .mutants dist build
