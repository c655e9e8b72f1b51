# Both commands of the README do all their own set-up; `make help` lists the rest.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

SHELL_FILES = $(shell git ls-files --cached --others --exclude-standard | xargs -r awk 'FNR == 1 && /^\#!.*(bash|\/sh)/ { print FILENAME } { nextfile }'; git ls-files --cached --others --exclude-standard 'scripts/*.sh' 'lab/*.sh' 'engine/*.sh')

.PHONY: help packages up down lab shell test lint lint-rules lint-format lint-types format lint-shell lint-go format-shell engine clean-cache check-patches faults

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

up: packages engine ## engine and lab up, Pulumi.lab.yaml deployed, the service's answer shown
	@lab/first-up

test: packages ## lint, types, unit tests, lab tests; installs what is missing
	@test/run

lab: ## the embedded lab's host alone
	@lab/lab up

shell: ## a shell on the lab's host
	@lab/lab shell

down: ## ends the lab; leaves no process, mount, namespace, bridge or firewall rule
	@lab/lab down

engine: packages ## the pinned Pulumi engine, installed or built
	@engine/install

lint: packages ## formatting, lint rules, types
	@$(MAKE) --jobs="$$(nproc)" --output-sync=target lint-rules lint-format lint-types lint-shell lint-go

lint-rules:
	@npx eslint .

lint-format:
	@npx prettier --check --log-level warn .

lint-types:
	@npx tsc --noEmit

format: packages format-shell ## formats everything
	@npx prettier --write --log-level warn .

lint-shell:
	@test/need shellcheck shfmt
	@shfmt -i 2 -ci -d $(sort $(SHELL_FILES))
	@shellcheck --shell=bash $(sort $(SHELL_FILES))

# The programs that stand in for plugins; a machine that never builds them has no Go.
lint-go:
	@command -v go >/dev/null || { echo "lint-go: skipped, no Go here"; exit 0; }; \
	unformatted="$$(gofmt -l engine)"; \
	[ -z "$$unformatted" ] || { echo "not formatted by gofmt: $$unformatted"; exit 1; }; \
	cd engine/stand-ins && GOTOOLCHAIN=local CGO_ENABLED=0 go vet ./...

format-shell:
	@test/need shfmt
	@shfmt -i 2 -ci -w $(sort $(SHELL_FILES))

packages:
	@scripts/install-packages

faults: packages engine ## makes faults happen to a deployed stack (about half an hour); writes docs/reliability.md
	@test/faults/run

check-patches: ## tries the patches of kernel recipes on SOURCE=ARCHIVE
	@scripts/check-patches "$(SOURCE)"

clean-cache: ## removes what was built outside the tree: engine, lab layers, packages
	@rm -rf "$${PROXMOX_GPU_STACK_CACHE:-$$HOME/.cache/proxmox-gpu-stack}"
