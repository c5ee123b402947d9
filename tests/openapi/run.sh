#!/usr/bin/env bash
# Tests the running API against its own OpenAPI document: schemathesis sends valid and invalid requests to every
# operation, and checks every answer. Usage: run.sh <belfry> <schemathesis> [options of schemathesis]
set -euo pipefail
belfry=$1 schemathesis=$2
shift 2
cd "$(dirname "$0")/../.."

greeting=$(mktemp)
"$belfry" dev --memory --port 0 --log error >"$greeting" &
dev=$!
trap 'kill "$dev" 2>/dev/null || true; wait "$dev" 2>/dev/null || true; rm -f "$greeting"' EXIT
for _ in $(seq 100); do
  grep -q '^Press Ctrl-C' "$greeting" && break
  sleep 0.1
done
url=$(awk '$1 == "API" { print $2 }' "$greeting")
[ -n "$url" ] || { echo "belfry dev did not start" >&2; exit 1; }

BELFRY_TOKEN=$(awk '$1 == "token" { print $2 }' "$greeting")
export BELFRY_TOKEN
access=()
[ -z "$BELFRY_TOKEN" ] || access=(--header "Authorization: Bearer $BELFRY_TOKEN")

"$schemathesis" --config-file tests/openapi/schemathesis.toml run "$url/openapi.json" "${access[@]}" "$@"
