.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
CARGO ?= cargo
FUNCTIONS := tick launcher recovery api
PORT ?= 7600
DATA ?= .belfry
PRETTIER := node tests/browser/node_modules/prettier/bin/prettier.cjs --log-level warn \
  --config tests/browser/prettier.json shared/engine/console 'tests/browser/*.mjs'
SCHEMATHESIS := .tools/schemathesis/bin/st
EXAMPLES ?= 25
SEEDS ?= 2000
FROM ?= 1
MINUTES ?= 2
RATE ?= 50
BENCH := target/bench/release/belfry-bench

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

.PHONY: dev
dev: ## Run the whole system on this machine (PORT=7600 DATA=.belfry)
	$(CARGO) build --workspace --bins --locked
	@exec target/debug/belfry dev --port $(PORT) --data $(DATA)

.PHONY: test
test: lint ## Check everything: lint, every test, the API against its document, the console in a browser
	$(CARGO) build --workspace --bins --locked
	$(CARGO) test --workspace --locked
	@$(MAKE) --no-print-directory api-test
	@$(MAKE) --no-print-directory browser-test

.PHONY: browser-test
browser-test: ## Try the console in a headless Chromium, as a user does
	$(CARGO) build --workspace --bins --locked
	. tests/browser/tools.sh && $(PRETTIER) --check && node tests/browser/main.mjs

.PHONY: screenshots
screenshots: ## Take the pictures of docs/img
	$(CARGO) build --workspace --bins --locked
	FONTS=1 && . tests/browser/tools.sh && node tests/browser/screenshots.mjs docs/img

.PHONY: api-test
api-test: $(SCHEMATHESIS) ## Hold the running API against its OpenAPI document
	$(CARGO) build --workspace --bins --locked
	tests/openapi/run.sh target/debug/belfry $(SCHEMATHESIS) --max-examples $(EXAMPLES) --seed 1

# Made anew when the pinned versions change.
$(SCHEMATHESIS): tests/openapi/requirements.txt
	@python3 -m venv --clear .tools/schemathesis || \
	  { echo "make: python3 with venv and ensurepip is needed (Debian: apt-get install python3-venv)" >&2; exit 1; }
	.tools/schemathesis/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: sim
sim: ## Live simulated lives and judge them (SEEDS=2000 FROM=1), or tell one (SEED=1234)
	@$(CARGO) test --quiet --locked --package belfry-tests --test sim -- $(if $(SEED),--seed $(SEED) $(if $(MUTATION),--mutation $(MUTATION)),--seeds $(SEEDS) --from $(FROM))

.PHONY: soak
soak: ## Hold a rate of fires in real time with faults on, and judge it (MINUTES=2 RATE=50)
	@$(CARGO) run --quiet --locked --package belfry-tests --example soak -- --minutes $(MINUTES) --rate $(RATE)

.PHONY: lint
lint: ## Check format and lints, warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path tests/bench/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

.PHONY: fmt
fmt: ## Format the code
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path tests/bench/Cargo.toml
	. tests/browser/tools.sh && $(PRETTIER) --write

.PHONY: api-docs
api-docs: ## Write the reference in docs/api.md anew, from the code
	$(CARGO) run --locked --package belfry-engine --example reference

.PHONY: build
build: ## Build the functions as Lambda wants them, in target/lambda
	$(CARGO) build --release --locked $(FUNCTIONS:%=--package belfry-%)
	@for function in $(FUNCTIONS); do \
	  mkdir -p target/lambda/$$function && \
	  cp target/release/$$function target/lambda/$$function/bootstrap && \
	  ls -l target/lambda/$$function/bootstrap; \
	done

.PHONY: bench
bench: $(BENCH) ## Measure everything: fires, drift, cron, memory, cold start (NAMES="cron fires", QUICK=1)
	$(CARGO) build --release --locked $(FUNCTIONS:%=--package belfry-%)
	@$(BENCH) all $(if $(QUICK),--quick) $(if $(KEEP),--keep) $(NAMES)

.PHONY: bench-peers
bench-peers: $(BENCH) ## Measure ours beside BullMQ, APScheduler and tokio-cron-scheduler (NAMES="ours bullmq", QUICK=1)
	@. tests/bench/peers/install.sh && $(BENCH) peers $(if $(QUICK),--quick) $(if $(KEEP),--keep) $(NAMES)

# Cargo knows what is to be built anew.
.PHONY: $(BENCH)
$(BENCH):
	$(CARGO) build --release --manifest-path tests/bench/Cargo.toml --target-dir target/bench
