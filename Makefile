.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
CARGO ?= cargo
FUNCTIONS := tick launcher recovery api
PORT ?= 7600
DATA ?= .belfry
SEEDS ?= 2000
FROM ?= 1
MINUTES ?= 2
RATE ?= 50

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

.PHONY: dev
dev: ## Run the whole system on this machine (PORT=7600 DATA=.belfry)
	$(CARGO) build --workspace --bins --locked
	@exec target/debug/belfry dev --port $(PORT) --data $(DATA)

.PHONY: test
test: lint ## Check everything: lint, then every test
	$(CARGO) build --workspace --bins --locked
	$(CARGO) test --workspace --locked

.PHONY: sim
sim: ## Live simulated lives and judge them (SEEDS=2000 FROM=1), or tell one (SEED=1234)
	@$(CARGO) test --quiet --locked --package belfry-tests --test sim -- $(if $(SEED),--seed $(SEED) $(if $(MUTATION),--mutation $(MUTATION)),--seeds $(SEEDS) --from $(FROM))

.PHONY: soak
soak: ## Hold a rate of fires in real time with faults on, and judge it (MINUTES=2 RATE=50)
	@$(CARGO) run --quiet --locked --package belfry-tests --example soak -- --minutes $(MINUTES) --rate $(RATE)

.PHONY: lint
lint: ## Check format and lints, warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

.PHONY: fmt
fmt: ## Format the code
	$(CARGO) fmt --all

.PHONY: build
build: ## Build the functions as Lambda wants them, in target/lambda
	$(CARGO) build --release --locked $(FUNCTIONS:%=--package belfry-%)
	@for function in $(FUNCTIONS); do \
	  mkdir -p target/lambda/$$function && \
	  cp target/release/$$function target/lambda/$$function/bootstrap && \
	  ls -l target/lambda/$$function/bootstrap; \
	done

.PHONY: bench
bench: ## Measure the functions' size and cold start, and the speed of cron
	$(CARGO) build --release --locked $(FUNCTIONS:%=--package belfry-%)
	$(CARGO) bench --locked --package belfry-tick --bench functions
	$(CARGO) run --release --locked --package belfry-cron --example speed
