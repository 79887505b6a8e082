# What contributors type. The scripts in .ci do the work, for people, hooks and CI alike.

export PATH := $(CURDIR)/.venv/bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup check test vscode bench picture house release ci

help:  ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup:  ## install Winnow and its tools into .venv, build llama.cpp, fetch the models of the tests
	bash .ci/install
	bash .ci/models

check:  ## every static check: ruff, mypy, import-linter, the limits of house.toml
	bash .ci/check

test:  ## the tests; make test ARGS="tests/unit -k languages" runs some
	pytest $(or $(ARGS),-n 3)

vscode:  ## build and check the VS Code extension; make test then also runs its tests in a real VS Code
	bash .ci/vscode

bench:  ## measure; make bench ARGS="relevance --task usage", without ARGS the list of benchmarks
	winnow bench $(or $(ARGS),--help)

picture:  ## record the terminal session of the README; needs `pip install pyte` and Debian's fonts-dejavu-core
	python .ci/record-terminal docs/images/terminal.webp --rows 26 \
	  'winnow ask "How is the language of a file found?" -w engine/winnow_engine/index' \
	  'winnow ask "What does read_workspace return if nothing has changed?" -w engine/winnow_engine/index'

house:  ## count lines, import cycles, function lengths, duplicates; ARGS=--check holds them to house.toml
	python .ci/house $(ARGS)

release:  ## build all that is published: make release ARGS=OUT makes the folder OUT
	python .ci/release $(ARGS)

ci:  ## all that CI runs, from installing on
	bash .ci/run
