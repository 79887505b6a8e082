#!/usr/bin/env bash
set -euo pipefail

source ./common.sh
. ./colours.sh

readonly RETRIES=3

# Prints to standard error.
log() {
  printf '%s\n' "$*" >&2
}

function retry {
  local left="$RETRIES"
  until "$@"; do
    left=$((left - 1))
    ((left > 0)) || return 1
  done
}

retry make all
log "done"
