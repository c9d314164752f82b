# The commands of Talkdown. Each sets up what it needs.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV=$(VENV) $(BIN)/uv
OURS := contracts chassis services/ingestor services/retriever services/agent services/voice-gateway services/web deploy/embedded
FOLDER ?= handbook

.PHONY: help setup setup-dev up test check bench lock contracts format clean

help: ## Show the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

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

setup-dev: $(VENV)/.ready-dev

$(VENV)/.ready-dev: $(VENV)/.ready requirements-dev.lock
	$(UV) pip install --quiet --require-hashes --no-deps -r requirements-dev.lock
	@touch $@

up: setup ## Run the product on handbook/ (or FOLDER=...), page on http://localhost:3000
	$(BIN)/talkdown up $(FOLDER)

COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
NO_EMIT := $(addprefix --no-emit-package ,talkdown talkdown-contracts talkdown-chassis talkdown-ingestor talkdown-retriever talkdown-agent talkdown-voice-gateway talkdown-web)

lock: $(VENV)/uv ## Resolve the dependencies anew into the lock files
	$(COMPILE) $(NO_EMIT) pyproject.toml --group build -o requirements.lock
	$(COMPILE) -c requirements.lock --group dev -o requirements-dev.lock

contracts: setup-dev ## Generate schemas, AsyncAPI and OpenAPI from the models
	$(BIN)/python contracts/generate.py
