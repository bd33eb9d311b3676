# The tasks of this repository. Every verb sets up what it needs in .venv, from nothing but Python 3.11 and an index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

FRAMEWORKS := .venv-frameworks
CAMEL := .venv-camel
CLIENTS := .clients
AGENT := .venv-agent

.PHONY: help demo test adapters clients lint mutations endurance docs bench clean
help:            ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: Prowess needs Python 3.11 or newer; name one with `make PYTHON=/path/to/python3.11`")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

demo: $(AGENT)/.ready  ## see the skills of examples/ and of this machine, and run a role without a key
	@$(AGENT)/bin/python examples/demo.py

# What a user would install, and nothing of what tests need.
$(AGENT)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: Prowess needs Python 3.11 or newer; name one with `make PYTHON=/path/to/python3.11`")'
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo "setting up $(@D) (once) ..."
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[agent]'
	@touch $@

test: lint       ## all checks and tests, as CI runs them
	$(BIN)/python -m pytest -q -n auto --dist worksteal --ignore tests/adapters --ignore tests/real
	@$(MAKE) --no-print-directory adapters

adapters: $(FRAMEWORKS)/.ready $(CAMEL)/.ready  ## the tests of the adapters, each with its real framework
	$(FRAMEWORKS)/bin/python -m pytest -q -n auto --dist worksteal tests/adapters --ignore tests/adapters/test_camel.py
	$(CAMEL)/bin/python -m pytest -q -n auto --dist worksteal tests/adapters/test_camel.py

# CAMEL needs another version of MCP's package than the other frameworks.
$(FRAMEWORKS)/.ready: group := frameworks
$(CAMEL)/.ready: group := camel
$(FRAMEWORKS)/.ready $(CAMEL)/.ready: pyproject.toml
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo "setting up $(@D) (once) ..."
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group $(group)
	@touch $@

clients: $(READY) $(CLIENTS)/.ready  ## real clients in isolated homes, their model on the loopback address (from npm, 900 MB)
	$(BIN)/python -m pytest -q tests/real

# No script of a package is run but the one that puts Claude Code's program in its place.
$(CLIENTS)/.ready: tests/real/package.json tests/real/package-lock.json
	@command -v npm >/dev/null || { echo 'make: the clients come from npm, which is not here; install Node.js 22 or newer' >&2; exit 1; }
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@echo "setting up $(CLIENTS) (once) ..."
	@npm ci --prefix $(@D) --ignore-scripts --include=optional --no-audit --no-fund --loglevel=error
	@node $(@D)/node_modules/@anthropic-ai/claude-code/install.cjs
	@touch $@

lint: $(READY)   ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

mutations: $(READY)  ## change folders of skills ten thousand times: no cached answer may be stale (some two minutes)
	$(BIN)/python tests/mutations.py

endurance: $(READY)  ## two thousand kills while skills are mounted, five hundred commands that leave processes behind (minutes)
	$(BIN)/python tests/endurance.py
	PROWESS_SANDBOX_RUNS=500 $(BIN)/python -m pytest -q -s tests/sandbox -k "leaves_behind or gigabyte or costs or bomb"

docs: $(READY)   ## write what is made: _hosts.py, and the parts of docs/ that come from the code
	$(BIN)/python docs/hosts_module.py
	$(BIN)/python docs/generate.py

bench: $(READY)  ## measure Prowess and its peers; writes docs/benchmarks.md
	$(BIN)/python benchmarks/run.py

clean:           ## forget everything that was set up
	rm -rf $(VENV) $(FRAMEWORKS) $(CAMEL) $(AGENT) $(CLIENTS) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
