.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
CARGO ?= cargo
FUNCTIONS := tick launcher recovery api resource
PORT ?= 7600
DATA ?= .belfry
PRETTIER := node tests/browser/node_modules/prettier/bin/prettier.cjs --log-level warn \
  --config tests/browser/prettier.json shared/console/web 'tests/browser/*.mjs'
SCHEMATHESIS := .tools/schemathesis/bin/st
SAM := .tools/deploy/bin/sam
# What the contract caught of the planted faults.
PLANTED := target/tmp/planted.json
CARGO_LAMBDA := .tools/build/bin/cargo-lambda
MINISTACK := .tools/rehearsal/bin/ministack
THIS_ARCH := $(if $(filter aarch64 arm64,$(shell uname -m)),arm64,x86_64)
NO_VENV := make: python3 with venv and ensurepip is needed (Debian: apt-get install python3-venv)
STACK ?= belfry
JWT_AUDIENCE ?= belfry
TABLES ?= keep
REGION ?= $(or $(AWS_REGION),$(AWS_DEFAULT_REGION))
IN_REGION = SAM_CLI_TELEMETRY=0 $(if $(REGION),AWS_DEFAULT_REGION='$(REGION)')
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
	@test -x target/debug/belfry \
	  || echo "building belfry: about three minutes on two cores the first time, seconds after that"
	$(CARGO) build --package belfry-local --bin belfry --locked
	@exec target/debug/belfry dev --port $(PORT) --data $(DATA)

.PHONY: test
test: lint ## Check everything: lint, every test, the template, the API against its document, the console in a browser, a deployment
	$(CARGO) build --workspace --bins --locked
	$(CARGO) test --workspace --locked
	@$(MAKE) --no-print-directory deploy-lint
	@$(MAKE) --no-print-directory api-test
	@$(MAKE) --no-print-directory browser-test
	@$(MAKE) --no-print-directory rehearsal

.PHONY: check
check: lint ## Check the work of every day: format, lints, unit tests, stories
	$(CARGO) test --workspace --lib --test stories --locked

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
	@python3 -m venv --clear .tools/schemathesis || { echo "$(NO_VENV)" >&2; exit 1; }
	.tools/schemathesis/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: sim
sim: ## Live simulated lives and judge them (SEEDS=2000 FROM=1), or tell one (SEED=1234)
	@$(CARGO) test --quiet --locked --package belfry-tests --test sim -- $(if $(SEED),--seed $(SEED) $(if $(MUTATION),--mutation $(MUTATION)),--seeds $(SEEDS) --from $(FROM))

.PHONY: soak
soak: ## Hold a rate of fires in real time with faults on, and judge it (MINUTES=2 RATE=50)
	@$(CARGO) run --quiet --locked --profile test --package belfry-tests --example soak -- --minutes $(MINUTES) --rate $(RATE)

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
build: $(if $(filter-out x86_64,$(or $(ARCH),arm64)),$(CARGO_LAMBDA)) ## Build the functions and their zips in target/lambda (ARCH=x86_64 or arm64; both)
	@for arch in $(or $(ARCH),x86_64 arm64); do infra/deploy/build.sh $$arch $(FUNCTIONS) || exit 1; done

.PHONY: deploy
deploy: $(SAM) ## Deploy to AWS (JWT_ISSUER=https://... STACK=belfry REGION= ARCH=arm64 BUCKET= PARAMETERS='Name=value ...')
	@$(IN_REGION) STACK='$(STACK)' ARCH='$(or $(ARCH),arm64)' BUCKET='$(BUCKET)' PARAMETERS='$(PARAMETERS)' \
	  JWT_ISSUER='$(JWT_ISSUER)' JWT_AUDIENCE='$(JWT_AUDIENCE)' infra/deploy/deploy.sh

.PHONY: destroy
destroy: $(SAM) ## Delete a deployment (STACK=belfry REGION=); its tables stay, unless TABLES=delete
	@$(IN_REGION) .tools/deploy/bin/python infra/deploy/account.py
	@$(IN_REGION) .tools/deploy/bin/python infra/deploy/destroy.py '$(STACK)' '$(TABLES)'

.PHONY: deploy-lint
deploy-lint: $(SAM) ## Lint the deploy template, and faults planted in copies of it
	@test -f $(PLANTED) || $(CARGO) test --workspace --locked --test deploy
	@SAM_CLI_TELEMETRY=0 .tools/deploy/bin/python tests/deploy/lint.py $(PLANTED)

.PHONY: template
template: $(SAM) ## Write plain CloudFormation to target/cloudformation.json, for who has no SAM
	@mkdir -p target
	@.tools/deploy/bin/python infra/deploy/expand.py infra/template.yaml target/cloudformation.json
	@echo target/cloudformation.json

$(SAM): infra/deploy/requirements.txt
	@python3 -m venv --clear .tools/deploy || { echo "$(NO_VENV)" >&2; exit 1; }
	.tools/deploy/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(CARGO_LAMBDA): infra/deploy/build-requirements.txt
	@python3 -m venv --clear .tools/build || { echo "$(NO_VENV)" >&2; exit 1; }
	.tools/build/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: rehearsal
rehearsal: $(MINISTACK) $(SAM) ## Deploy the functions on an emulator of AWS, use them, break them, delete them
	@$(MAKE) --no-print-directory build ARCH=$(THIS_ARCH)
	.tools/rehearsal/bin/python -B tests/rehearsal/main.py

$(MINISTACK): tests/rehearsal/requirements.txt
	@python3 -m venv --clear .tools/rehearsal || { echo "$(NO_VENV)" >&2; exit 1; }
	.tools/rehearsal/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

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
	$(CARGO) build --release --locked --manifest-path tests/bench/Cargo.toml --target-dir target/bench
