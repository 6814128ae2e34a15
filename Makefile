# rsms-job. Two commands do all the set-up: make demo, make test.
SHELL := /bin/bash
VERSION ?= $(shell cat VERSION)
COMMIT  ?= $(shell git describe --always --dirty --abbrev=40 --exclude "*" 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

IMAGE_SETTINGS = VERSION='$(VERSION)' COMMIT='$(COMMIT)' LDFLAGS='$(LDFLAGS)' IMAGE='$(IMAGE)' BASE='$(BASE)' BUILD_FLAGS='$(BUILD_FLAGS)'

.PHONY: help build demo up down test lint bench sim fuzz report-look clean image image-windows image-wine

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

build: ## build bin/rsms-job
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/rsms-job ./job

demo: build ## build, then run the shipped example into ./rsms-demo
	bin/rsms-job demo rsms-demo

up: build ## start a local storage emulator with the examples in it
	scripts/up.sh

down: ## stop the emulator and remove what is in it
	scripts/down.sh

image: ## build the container image rsms-job:VERSION
	@$(IMAGE_SETTINGS) scripts/image.sh linux

image-windows: ## the same for Windows containers, with the engines of ENGINES=folder
	@$(IMAGE_SETTINGS) scripts/image.sh windows "$(ENGINES)"

image-wine: ## the same for Linux containers, with the Windows engines of ENGINES=folder
	@$(IMAGE_SETTINGS) scripts/image.sh wine "$(ENGINES)"

test: ## run every test, with the race detector where there is a C compiler
	scripts/test.sh

lint: ## gofmt, vet for Linux and Windows, staticcheck, Dockerfiles, shellcheck
	scripts/lint.sh

bench: ## speed and memory: ratios and cost per cell
	scripts/emulator.sh install
	go test -run '^$$' -bench . -benchmem ./internal/...
	scripts/bench.sh

sim: ## simulate the scale rule: what a burst of messages takes and costs
	go run ./scripts/sim

fuzz: ## fuzz every parser for 20 s
	scripts/fuzz.sh 20s

report-look: build ## pictures of the example's report in ./report-look: wide, narrow, on paper
	scripts/look.sh report-look

clean: down ## remove what was built, and the emulator
	rm -rf bin rsms-demo report-look .cache
