# Pages of a site that wants no more than ten requests a second. The queue keeps to that over all workers
# and machines. A page for which the server says "later" (429) is tried again when the server said.
. "$(dirname "$0")/../setup.sh"
python=${PYTHON:-python3}

"$python" "$here/site.py" port requests &
site=$!
trap 'kill "$site"; queuectl worker stop --now >/dev/null 2>&1; [ $# -gt 0 ] || rm -rf "$work"' EXIT
until [ -s port ]; do sleep 0.05; done

queuectl queue set web --rate 10/s --burst 1 --max-retries 5
queuectl worker start --queue web --concurrency 8
seq 1 8 | queuectl map --name pages --queue web --wait "$python $here/fetch.py http://127.0.0.1:$(cat port)/{} > page-{}"
grep -h title page-*
