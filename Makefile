# rsms-job. Two commands do all the set-up: make demo, make test.
SHELL := /bin/bash
VERSION ?= $(shell cat VERSION)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

.PHONY: help build demo up down test lint bench fuzz clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

build: ## build bin/rsms-job
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/rsms-job ./job

demo: build ## build, then run the shipped example into ./rsms-demo
	bin/rsms-job demo rsms-demo

up: build ## start a local storage emulator with the examples in it
	scripts/up.sh

down: ## stop the emulator and remove what is in it
	scripts/down.sh

test: ## run every test, with the race detector where there is a C compiler
	scripts/test.sh

lint: ## gofmt, vet for Linux and Windows, staticcheck, shellcheck
	scripts/lint.sh

bench: ## speed and memory: ratios and cost per cell
	scripts/emulator.sh install
	go test -run '^$$' -bench . -benchmem ./internal/...
	scripts/bench.sh

fuzz: ## fuzz every parser for 20 s
	scripts/fuzz.sh 20s

clean: down ## remove what was built, and the emulator
	rm -rf bin rsms-demo .cache
