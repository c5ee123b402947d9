# Installs the peers into .tools/peers. The bench skips those that cannot be installed, with a
# message. Sourced from the top of the repository.
peers=.tools/peers
mkdir -p "$peers"
if command -v npm >/dev/null; then
  cp tests/bench/peers/package.json tests/bench/peers/bullmq.mjs "$peers/"
  [ -d "$peers/node_modules/bullmq" ] ||
    (cd "$peers" && npm install --silent --no-audit --no-fund) ||
    echo "bench-peers: bullmq cannot be installed"
fi
if command -v python3 >/dev/null && [ ! -x "$peers/python/bin/python" ]; then
  { python3 -m venv "$peers/python" && "$peers/python/bin/pip" install --quiet \
    --disable-pip-version-check --requirement tests/bench/peers/requirements.txt; } ||
    echo "bench-peers: apscheduler cannot be installed"
fi
for program in redis-server postgres; do
  command -v $program >/dev/null || ls /usr/lib/postgresql/*/bin/$program >/dev/null 2>&1 ||
    { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
      package=$([ $program = postgres ] && echo postgresql || echo $program) &&
      { apt-get install --quiet --yes "$package" || { apt-get update --quiet && apt-get install --quiet --yes "$package"; }; } >/dev/null 2>&1; } ||
    echo "bench-peers: $program cannot be installed"
done
