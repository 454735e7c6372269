# Every target is one call of dev; run `make help`.
PYTHON ?= python3
DEV = $(PYTHON) -m dev

.PHONY: help demo pictures test simulate failover conformance soak soak-mcp lint format dev odoo i18n bench bench-mcp bench-chat bench-answers bench-meaning bench-peer bench-demo bench-grounding bench-records bench-browser bench-injection bench-gateway bench-runs bench-leads bench-fleet bench-assistants bench-audit bench-money package deployment compatibility clean
.DEFAULT_GOAL := help

help:  ## Show this help
	@awk -F ':  ## ' '/^[a-z0-9-]+:  ## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo:  ## Start Odoo, PostgreSQL, MCP servers and a small LLM with demo data; Ctrl-C ends all of it
	@$(DEV) demo

test:  ## Run all tests: ONLY=core|odoo|apps|e2e|conformance for one runner, ARGS='-k name' for pytest, BESIDE=crm,hr for odoo, ALL=1 for all cases
	@WOOW_TEST_ALL=$(ALL) $(DEV) test $(if $(ONLY),--only $(ONLY)) $(if $(BESIDE),--beside $(BESIDE)) -- $(ARGS)

simulate:  ## Run simulated worlds: SEEDS=0-10000, SEEDS=7 tells one of them, MUTANTS=300 breaks a rule at a time
	@$(DEV) simulate $(if $(MUTANTS),$(MUTANTS) --mutants,$(or $(SEEDS),0-1000))

failover:  ## Kill a primary PostgreSQL under load, again and again: TIMES=100
	@$(DEV) test --only e2e -- -k test_failover --failovers=$(or $(TIMES),100) --timeout=7200
	@cat .dev/reports/failovers.txt

conformance:  ## Run the official suite of MCP against the engine and /mcp
	@$(DEV) test --only conformance

soak:  ## Use the whole product while everything around it breaks, and look for leaks: MINUTES=5
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.soak $(or $(MINUTES),5)

soak-mcp:  ## The same for the MCP engine alone: MINUTES=2
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.mcp.soak $(or $(MINUTES),2)

lint:  ## Run ruff, pyright, pylint-odoo, eslint and prettier over all files
	@$(DEV) lint

format:  ## Let ruff, eslint and prettier fix what they can
	@$(DEV) format

dev:  ## Get Odoo 19, the Python and Node environments; start nothing
	@$(DEV) setup

odoo:  ## Run odoo-bin on the development database: make odoo ARGS='-i woow_paas_platform --stop-after-init'
	@$(DEV) odoo -- $(ARGS)

i18n:  ## Bring the catalogues in i18n/ up to date, and list what lacks a translation
	@$(DEV) i18n

bench:  ## Measure a turn beside an idle server and the bare library: ARGS=streams for one part
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.turn $(ARGS)

bench-mcp:  ## Measure the MCP engine beside a bare session of the SDK
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.mcp

bench-chat:  ## Measure the chat in a real Chromium: a thousand messages, five thousand tokens
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.chat

bench-answers:  ## Measure how tools are found and what they cost: ARGS=folder of LiveMCPBench's tools and tasks
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.answers $(ARGS)

bench-meaning:  ## Measure how tools are found by words, by meaning and by both: ARGS=the same folder
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.answering.meaning $(ARGS)

bench-peer:  ## Let a model do tasks here and by LangGraph's agent: ARGS='folder --tasks 20'
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.answering.peer $(ARGS)

bench-demo:  ## Ask the demo's embedded model first questions drawn by seed: ARGS='building zh_TW time 50' for some of them
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.demo $(ARGS)

bench-grounding:  ## Count right answers that the grounding check bothers, and invented values that it misses: ARGS='published -v'
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.grounding $(ARGS)

bench-records:  ## Ask drawn questions about Odoo's records, beside mcp-server-odoo: ARGS='ours published zh_TW write 40' for some
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.records $(ARGS)

bench-browser:  ## Ask drawn questions about Odoo's records in a browser: ARGS='building 3' for three of each kind
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.records.browser $(ARGS)

bench-injection:  ## Let a model obey injected text of AgentDojo's suites, under each setting: ARGS='all v1.2.2 trust=full' for some
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.injection $(ARGS)

bench-gateway:  ## Measure calls of an MCP client through Odoo, beside the same calls inside and without it: ARGS=300 for their number
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.gateway $(ARGS)

bench-runs:  ## Measure questions of people beside runs of server actions, and without: ARGS=60 for seconds of each
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.runs $(ARGS)

bench-leads:  ## Count how often the demo's model follows the demo's rule for new leads: ARGS=10 for their number
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.demo.leads $(ARGS)

bench-assistants:  ## Count how many of their tests the demo's assistants pass, and a worse version: ARGS='sales -v' for one
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.assistants $(ARGS)

bench-audit:  ## Count commits of 16 clients with and without the audit log: ARGS=10 for seconds of each
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.audit $(ARGS)

bench-money:  ## Measure what costs of requests cost: ledger, pages of a year, turns: ARGS=pages for one part
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.money $(ARGS)

bench-fleet:  ## Measure 200 tenants on one PostgreSQL behind PgBouncer: ARGS=claims for one part
	@$(DEV) setup
	@.dev/venv/bin/python -m benchmarks.fleet $(ARGS)

pictures:  ## Take the pictures of README and docs again from a real browser
	@$(DEV) pictures

package:  ## Make the archive that an app store, OCA or an addons path takes, in .dev/dist
	@$(DEV) package

deployment:  ## Follow docs/deployment.md: its configuration, units, containers' commands and a real nginx
	@$(DEV) setup
	@.dev/venv/bin/python -m dev.checks.try_deployment

compatibility:  ## Install, test and use the addon in other people's Odoos: ONLY=debian-12 for one of them
	@$(DEV) compatibility $(ONLY)

clean:  ## Remove .dev of this checkout (the shared cache stays)
	@$(DEV) clean
