# A pipeline in one file (pipeline.jsonl): build, then tests and lint beside each other, then deploy only
# if all of them succeeded, and a clean-up in any case. All of it is stored, or nothing.
. "$(dirname "$0")/../setup.sh"

queuectl enqueue --file "$here/pipeline.jsonl"
queuectl graph build

queuectl worker start --concurrency 3
queuectl wait --all || true

# One test fails, so nothing is deployed. Mend it and run it again: what waited for it goes on.
queuectl explain deploy
touch mended
queuectl retry test-slow
queuectl wait deploy
cat trace
