#!/usr/bin/env bash
# Goes the way of a newcomer, unattended: clone, running service, React page whose reply grows. Prints
# the seconds of each step. Needs what the README names, and Chromium.
#
#   examples/react-chat/newcomer.sh [REPOSITORY]   a path or URL; this repository by default
#
# With LLM__BASE_URL, LLM__MODEL and, if needed, LLM__API_KEY the agent uses that language model, to which MESSAGE is sent,
# otherwise one for tests, which repeats words.
set -euo pipefail
set -m

repository=${1:-$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)}
folder=$(mktemp -d)
started=()
log=$folder/log
finish() {
  local status=$?
  [ $status = 0 ] || tail -n 20 "$log"
  # Each has a process group of its own, since npm does not pass signals on.
  { [ ${#started[@]} = 0 ] || kill -- "${started[@]/#/-}"; wait; } 2>/dev/null
  rm -rf "$folder"
  exit $status
}
trap finish EXIT

# Runs a step, and prints its name and the seconds that it has taken.
step() {
  local name=$1 begin=$EPOCHREALTIME
  shift
  "$@" >>"$log" 2>&1
  awk -v name="$name" -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { printf "%-40s %6.1f s\n", name, end - begin }'
}

# Waits for a line of a file, and prints it.
await() {
  local file=$1 pattern=$2
  for _ in $(seq 600); do
    grep -m1 -o "$pattern" "$file" 2>/dev/null && return
    sleep 0.1
  done
  echo "no $pattern in $file" >&2
  return 1
}

start_model() {
  [ -n "${LLM__BASE_URL:-}" ] && return
  node --input-type=module -e '
    const { startModel } = await import(process.argv[1]);
    console.log((await startModel()).url);' "$folder/clone/crates/api/tests/clients/model.mjs" >"$folder/model" &
  started+=($!)
  LLM__BASE_URL=$(await "$folder/model" 'http:.*')
  export LLM__BASE_URL LLM__MODEL=test
}

start_service() {
  start_model
  mkdir "$folder/service"
  (cd "$folder/service" && exec env SERVER__PORT=0 SERVER__ALLOWED_ORIGINS="http://localhost:$PORT" \
    "$CARGO_TARGET_DIR/debug/agent-service" >stdout 2>stderr) &
  started+=($!)
  SERVICE=$(await "$folder/service/stdout" 'http://[0-9.:]*')
  KEY=$(await "$folder/service/stderr" 'agk_[A-Za-z0-9_-]*')
  export SERVICE KEY
}

create_agent() {
  AGENT=$(curl -sSf -H "X-API-Key: $KEY" -H 'Content-Type: application/json' "$SERVICE/api/agents" \
    -d '{"name": "Ada", "config": {"engine": "llm"}}' | grep -o '"id":"[^"]*' | head -1 | cut -d'"' -f4)
  export AGENT
}

start_page() {
  npm start >"$folder/page" 2>&1 &
  started+=($!)
  URL=$(for _ in 1 2 3 4 5; do await "$folder/page" '^http://localhost:[0-9]*' && break; done)
}

export CARGO_TARGET_DIR=$folder/target
export PORT=${PORT:-5199}
step "clone" git clone -q "$repository" "$folder/clone"
cd "$folder/clone"
step "build of the service" cargo build --locked
step "start of the service" start_service
step "agent" create_agent
cd examples/react-chat
step "installation and start of the page" start_page
step "a reply that grows in the page" node newcomer.mjs "$URL"
awk -v seconds="$SECONDS" 'BEGIN { printf "%-40s %6d s\n", "in all", seconds }'
