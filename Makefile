.DEFAULT_GOAL := help
CARGO ?= cargo

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

.PHONY: test
test: lint ## Check everything: lint, then every test
	$(CARGO) test --workspace --locked

.PHONY: lint
lint: ## rustfmt and clippy, warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

.PHONY: fmt
fmt: ## Format the code
	$(CARGO) fmt --all
