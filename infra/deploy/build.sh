#!/bin/sh
# Builds the functions for one architecture: target/lambda/<arch>/<function>.zip, and the template that refers to them.
# usage: infra/deploy/build.sh x86_64|arm64 FUNCTION...
set -eu
arch=$1
shift
packages=$(printf -- '--package belfry-%s ' "$@")

need() {
  echo "make build: $1" >&2
  exit 1
}

command -v cargo >/dev/null || need "cargo is missing: install it from https://rustup.rs"
case "$arch $(uname -s) $(uname -m)" in
  "x86_64 Linux x86_64")
    # shellcheck disable=SC2086
    cargo build --release --locked $packages
    built=target/release/%s
    ;;
  "x86_64 "* | "arm64 "*)
    case $arch in arm64) triple=aarch64-unknown-linux-gnu ;; *) triple=x86_64-unknown-linux-gnu ;; esac
    [ -d "$(rustc --print target-libdir --target $triple)" ] ||
      need "the Rust target is missing: rustup target add $triple"
    tools=$PWD/.tools/build
    [ -x "$tools/bin/cargo-lambda" ] || need "cargo-lambda is missing: make .tools/build/bin/cargo-lambda"
    # shellcheck disable=SC2086
    PATH=$tools/bin:$PATH cargo lambda build --release --locked --target $triple \
      --lambda-dir "target/lambda/$arch/built" $packages
    built=target/lambda/$arch/built/%s/bootstrap
    ;;
  *) need "ARCH must be x86_64 or arm64, not '$arch'" ;;
esac
python3 infra/deploy/pack.py "$arch" "$built" "$@"
