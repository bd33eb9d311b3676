# The tasks of this repository. Each sets up what it needs, from Python 3.11 and a package index: environments in .venv*,
# and system packages where that needs no password (tools/system_packages.sh says what it installs).
PYTHON ?= python3
# Tests start Prowess a thousand times: without compiled files each start would compile it again.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TABLES := src/prowess/hosts/_tables.py

FRAMEWORKS := .venv-frameworks
# Frameworks with an environment each, as they need other versions than the others, and of each other.
APART := agent-framework camel crewai google-adk haystack llama-index smolagents strands
ADAPTERS := adapter-frameworks $(APART:%=adapter-%)
INSTALLED := .clients
CONFORMANCE := .conformance
SKILLS_TOOL := .skills-tool
AGENT := .venv-agent
WHEELS := .venv-wheels
PEERS := .venv-peers
SEARCH := .venv-search
SYSTEM_PACKAGES = PYTHON='$(PYTHON)' sh tools/system_packages.sh

.PHONY: help demo test test-most test-packages test-programs quick adapters $(ADAPTERS) clients conformance published observe observe-usage lint mutations cures endurance shared long proofs faults size docs picture wheels frameworks bench search clean
help:            ## list these tasks
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

# With a name that is not there, make itself would say only "Error 127".
check-python = @command -v $(PYTHON) >/dev/null || { echo 'make: there is no $(PYTHON); install Python 3.11 or newer (Debian and Ubuntu: apt install python3 python3-venv), or name one with `make PYTHON=/path/to/python3.11`' >&2; exit 1; }; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: Prowess needs Python 3.11 or newer; name one with `make PYTHON=/path/to/python3.11`")'

# [OPTION]: a virtual environment in the directory of the target; one that could not be finished is removed.
define environment
	$(check-python)
	@test -x $(@D)/bin/$(if $(1),python,pip) || { $(SYSTEM_PACKAGES) venv && $(PYTHON) -m venv $(1) $(@D); } || { rm -rf $(@D); exit 1; }
	@echo "setting up $(@D) (once) ..."
endef

# DIRECTORY, GROUP[, OPTION]: install Prowess and a group in seconds, with uv. uv does not read the settings of pip: where only they
# name an index, pip does it.
with-uv = $(BIN)/uv pip install --quiet $(3) --python $(1)/bin/python --editable . --group $(2) || \
	    $(BIN)/python -m pip --python $(1)/bin/python install --quiet --disable-pip-version-check --editable . --group $(2)

# git does not have it. Every environment asks for it, so that each task sees the host files of today.
$(TABLES): tools/host_tables.py src/prowess/hosts/_schema.py $(wildcard src/prowess/hosts/*.toml)
	$(check-python)
	@$(PYTHON) tools/host_tables.py

$(READY): pyproject.toml | $(TABLES)
	$(environment)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' "$$(sed -n 's/^  "\(uv==[0-9.]*\)".*/\1/p' pyproject.toml)"
	@$(call with-uv,$(@D),dev,--compile-bytecode)
	@touch $@

demo: $(AGENT)/.ready  ## show the skills of examples/ and of this machine, and run a role without a key
	@$(SYSTEM_PACKAGES) bwrap
	@$(AGENT)/bin/python examples/demo.py

# What a user would install, and nothing of what tests need.
$(AGENT)/.ready: pyproject.toml | $(TABLES)
	$(environment)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[agent,report]'
	@touch $@

# Two jobs at a time: lint beside what comes from a network, then the adapters beside the other tests, as all of them often wait.
test: export PROWESS_SKIPPED := $(CURDIR)/$(VENV)/.skipped
test: $(READY)   ## run all checks and tests, as CI does; the last line names skipped tests
	@rm -f "$(PROWESS_SKIPPED)"
	@$(MAKE) --no-print-directory --jobs 2 test-programs lint
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-most $(ADAPTERS)
	@$(BIN)/python tests/support/programs.py "$(PROWESS_SKIPPED)"

# The `+` lets make print at once what this prints, and not at the end; but make would run it in a dry run, too.
test-most: $(READY)
	$(if $(findstring n,$(firstword -$(MAKEFLAGS))),,+)@$(call pytest-apart,-n auto --dist worksteal,--ignore tests/adapters --ignore tests/real)

# Hypothesis tries an eighth of its examples here. The adapters are only imported, `make adapters` tests them.
quick: $(READY) test-packages lint  ## lint and run the tests that find nine faults of ten (about a minute on two cores)
	@export PROWESS_HYPOTHESIS=quick; $(call pytest-apart,-n auto --dist worksteal -m "not slow",--ignore tests/adapters --ignore tests/real --ignore tests/support --ignore tests/test_benchmarks.py)

test-packages:
	$(check-python)
	@$(SYSTEM_PACKAGES) bwrap git openssl postgres zsh fish

# Several lines, because some systems lack such a package, and then nothing else would be installed either.
# The tests of MCP need a suite from npm. Without it they are skipped.
test-programs: test-packages
	@$(SYSTEM_PACKAGES) chromium libatomic
	@$(SYSTEM_PACKAGES) docker-registry skopeo
	@$(SYSTEM_PACKAGES) socat
	@$(MAKE) --no-print-directory $(CONFORMANCE)/.ready || echo 'make: the official conformance suite of MCP is missing, so its tests are skipped' >&2

# Two at a time: they often wait, for example for a lease or a time limit. The small ones have one process, as it costs more
# than it saves to load a framework in three; but the tests of CrewAI wait for minutes.
adapters:  ## test the adapters, each with its real framework
	@$(SYSTEM_PACKAGES) bwrap git openssl postgres socat
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target $(ADAPTERS)

# OPTIONS, TESTS. A folder for the files of these tests alone, in memory if there is room, is removed at the end. The tests that
# start a make must not share the jobs of this one.
pytest-apart = unset MAKEFLAGS MAKELEVEL; folder=$$($(<D)/bin/python tests/support/temporary.py) && trap 'rm -rf "$$folder"' EXIT && \
	    trap 'exit 1' HUP INT TERM && mkdir "$$folder/tmp" && \
	    TMPDIR="$$folder/tmp" $(<D)/bin/python -m pytest -q $(1) --basetemp "$$folder/t" $(2)

OTHER_ADAPTERS = $(foreach name,$(subst -,_,$(APART)),--ignore-glob '*/test_$(name)*.py')

# Some tests of test_role_files.py need the package of MCP too.
adapter-frameworks: $(FRAMEWORKS)/.ready
	$(call pytest-apart,-n auto --dist worksteal,tests/adapters tests/agent/test_role_files.py $(OTHER_ADAPTERS))

$(APART:%=adapter-%): module = $(subst -,_,$*)
$(APART:%=adapter-%): adapter-%: .venv-%/.ready
	@$(SYSTEM_PACKAGES) bwrap
	$(call pytest-apart,-n $(if $(filter crewai,$*),4,0),$(wildcard tests/adapters/test_$(module)*.py) tests/adapters/test_contract.py tests/adapters/test_docs_as_installed.py)

# pip would take most of the time.
.venv-%/.ready: pyproject.toml | $(READY)
	$(call environment,--without-pip)
	@$(call with-uv,$(@D),$*)
	@touch $@

clients: $(READY) $(INSTALLED)/.ready  ## test real clients in isolated homes with a fake model (from npm, 2 GB)
	@$(SYSTEM_PACKAGES) bwrap socat
	$(BIN)/python -m pytest -q tests/real

conformance: $(READY) $(CONFORMANCE)/.ready .venv-fastmcp/.ready  ## run the official conformance suite of MCP, its TypeScript SDK and FastMCP with ours (from npm, 250 MB)
	PYTHONPATH=tests $(BIN)/python tests/support/mcp_conformance.py

# SKILLS=FOLDER is the folder `skills` of a clone of github.com/anthropics/skills, whose licence forbids a copy here.
published: $(READY)  ## run each script of Anthropic's skills, and do six tasks with their document skills (SKILLS=FOLDER; packages from PyPI)
	@test -d '$(SKILLS)' || { echo 'make: name the folder of the skills, with `make published SKILLS=FOLDER`' >&2; exit 1; }
	PYTHONPATH=tests $(BIN)/python tests/published_scripts.py '$(SKILLS)'
	PYTHONPATH=tests $(BIN)/python tests/published_tasks.py '$(SKILLS)'

# With a Node of its own, because the suite needs version 22.
$(CONFORMANCE)/.ready: tests/mcp/conformance/package.json tests/mcp/conformance/package-lock.json
	@command -v npm >/dev/null || { echo 'make: the conformance suite comes from npm, which is missing; install Node.js' >&2; exit 1; }
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@echo "setting up $(CONFORMANCE) (once) ..."
	@npm install --prefix $(@D) --no-audit --no-fund --loglevel=error
	@touch $@

# CHECK=1 compares with what is recorded, CLIENTS="codex pi" asks only these, TREES=DIR about other trees, JSON=1 is for programs.
observe: $(READY) $(if $(PROWESS_CLIENTS),,$(INSTALLED)/.ready)  ## ask real clients which skills they see, and record it (docs/observing.md; from npm, 2 GB)
	@$(BIN)/python tests/clients/observe.py $(if $(CHECK),--check) $(if $(TREES),--trees '$(TREES)') $(if $(JSON),--json) $(CLIENTS:%=--client %)

observe-usage: $(READY) $(if $(PROWESS_CLIENTS),,$(INSTALLED)/.ready)  ## have conversations with real clients, record their sessions, and compare what Prowess reads of them (docs/observing.md; from npm, 2 GB)
	@$(BIN)/python tests/clients/observe.py --usage $(if $(CHECK),--check) $(if $(JSON),--json) $(CLIENTS:%=--client %)

# No script of a package is run but the one that puts Claude Code's program in its place.
# Mistral Vibe needs Python 3.12; without one the other clients are asked.
# Not `npm ci`: it stops if a registry lacks a package for another system.
$(INSTALLED)/.ready: tests/clients/package.json tests/clients/package-lock.json tests/clients/requirements.txt
	@command -v npm >/dev/null || { echo 'make: the clients come from npm, which is not here; install Node.js 22 or newer' >&2; exit 1; }
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@echo "setting up $(INSTALLED) (once) ..."
	@npm install --prefix $(@D) --ignore-scripts --include=optional --no-audit --no-fund --loglevel=error
	@node $(@D)/node_modules/@anthropic-ai/claude-code/install.cjs
	@for python in $(PYTHON) python3.14 python3.13 python3.12 $(wildcard $(HOME)/.pyenv/versions/3.1[2-9]*/bin/python3); do \
	    $$python -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || continue; \
	    $$python -m venv $(@D)/python && exec $(@D)/python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement $(@D)/requirements.txt; \
	done; echo 'make: Mistral Vibe is not installed: it needs Python 3.12' >&2
	@touch $@

size:            ## count the lines of code of each room and of the tests, beside the limits of the house
	@$(PYTHON) tools/size.py

lint: $(READY)   ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

mutations: $(READY)  ## change folders of skills ten thousand times, no cached result may be stale; damage skills for a minute (three minutes)
	$(BIN)/python tests/mutations.py
	PROWESS_FUZZ_INPUTS=20000 $(BIN)/python -m pytest -q tests/test_fuzz.py

cures: $(READY)  ## follow every cure that is printed in four hundred random worlds of skills (minutes)
	$(BIN)/python tests/cured_worlds.py

endurance: $(READY) $(FRAMEWORKS)/.ready  ## kill two thousand processes during mounts; run five hundred commands that leave processes behind; have 100 conversations beside 100 slow clients and 100 in a database while processes are killed (minutes)
	$(BIN)/python tests/endurance.py
	PROWESS_SANDBOX_RUNS=500 $(BIN)/python -m pytest -q -s tests/sandbox -k "leaves_behind or gigabyte or bomb"
	PROWESS_SLOW_CLIENTS=100 $(BIN)/python -m pytest -q -s tests/agent/server -k beside_slow_clients
	PROWESS_SLOW_CLIENTS=100 $(FRAMEWORKS)/bin/python -m pytest -q -s tests/adapters/test_serve_slow_clients.py
	@$(SYSTEM_PACKAGES) postgres
	PYTHONPATH=tests $(FRAMEWORKS)/bin/python tests/durability.py
	PYTHONPATH=tests $(FRAMEWORKS)/bin/python tests/durability.py --conversations 20 --turns 5 --interval 2 --within 60
	PYTHONPATH=tests $(FRAMEWORKS)/bin/python tests/durability.py --conversations 20 --turns 5 --interval 2 --within 60 --sqlite

shared: $(READY) $(SKILLS_TOOL)/.ready .venv-apm/.ready  ## kill five hundred processes while they change the skills and the lock of a project; share locks with the tool `skills` and import that of APM; unpack damaged archives (from npm and PyPI, 120 MB; two minutes)
	$(BIN)/python tests/interruptions.py
	PROWESS_FUZZ_RUNS=3000 $(BIN)/python -m pytest -q tests/install/test_archive.py -k damaged_archives
	$(BIN)/python tests/skills_tool.py
	$(BIN)/python tests/apm_tool.py

# With a Node of its own, because the tool needs version 22.20.
$(SKILLS_TOOL)/.ready: tests/install/skills_tool/package.json tests/install/skills_tool/package-lock.json
	@command -v npm >/dev/null || { echo 'make: the tool `skills` comes from npm, which is missing; install Node.js' >&2; exit 1; }
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@echo "setting up $(SKILLS_TOOL) (once) ..."
	@npm install --prefix $(@D) --no-audit --no-fund --loglevel=error
	@touch $@

long: $(READY) $(FRAMEWORKS)/.ready  ## run the tests that have a short form in `make test` in their long form, with random examples (ten minutes)
	PROWESS_PROOFS=1 PROWESS_HYPOTHESIS=long $(BIN)/python -m pytest -q -n auto --dist worksteal -m "proof or hypothesis" --ignore tests/adapters --ignore tests/real
	PROWESS_PROOFS=1 $(FRAMEWORKS)/bin/python -m pytest -q -n auto --dist worksteal -m proof tests/adapters $(OTHER_ADAPTERS)

# Each has a short form in `make test`.
proofs: mutations cures endurance shared long conformance clients  ## all that takes long: random worlds, killed processes, other tools, official suites, real clients (half an hour)

# COUNT=200 SEED=1 JOBS=2 ROOMS="skill mount" AT=COMMIT; at another commit the same seed gives a share to compare with.
faults: .venv-faults/.ready  ## plant random faults in a copy of the source, and say which share of them the tests find
	.venv-faults/bin/python tests/faults.py $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS)) $(if $(ROOMS),--rooms $(ROOMS)) $(if $(AT),--at $(AT)) --json faults.json

docs: $(READY)   ## write the generated pages of docs/
	$(BIN)/python docs/generate.py

picture: $(READY)  ## take the picture of a report that the README shows, after a change of the page
	@$(SYSTEM_PACKAGES) chromium libatomic
	$(BIN)/python docs/report_picture.py

# It builds as a release would, from files that are not installed here.
wheels: $(WHEELS)/.ready  ## build the wheel and the sdist, check them, and try them with each Python 3.11 to 3.14 that is here
	$(WHEELS)/bin/python tools/wheels.py

$(WHEELS)/.ready: pyproject.toml
	$(environment)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --group wheels
	@touch $@

# ONLY="langchain strands" tries these pages alone.
frameworks: $(READY)  ## run the lines of each adapter's page with the wheel, each in an empty environment (two minutes)
	$(BIN)/python tools/frameworks.py $(ONLY)

# ONLY=hosts,commands measures these parts alone.
bench: $(READY)  ## measure Prowess and other readers of skills; write docs/benchmarks.md (20 minutes)
	$(BIN)/python benchmarks/run.py $(if $(ONLY),--only $(ONLY))

# PUBLISHED=DIR and NVIDIA=DIR are the clones that benchmarks/search/README.md names; without them, their tables stay.
search: $(SEARCH)/.ready  ## measure which skill each labelled message finds, beside other engines; write docs/search.md
	$(SEARCH)/bin/python benchmarks/search/run.py
	$(if $(PUBLISHED),$(SEARCH)/bin/python benchmarks/search/run.py --published $(PUBLISHED))
	$(if $(NVIDIA),$(SEARCH)/bin/python benchmarks/search/run.py --nvidia $(NVIDIA))

$(SEARCH)/.ready: pyproject.toml | $(TABLES)
	$(environment)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group search
	@touch $@

clean:           ## remove everything that was set up
	rm -rf $(VENV) $(FRAMEWORKS) $(APART:%=.venv-%) $(AGENT) $(WHEELS) $(SEARCH) $(PEERS) $(INSTALLED) $(CONFORMANCE) $(SKILLS_TOOL) .venv-fastmcp .venv-apm .venv-faults demo .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
