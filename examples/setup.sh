# Sourced by each example: a queue and a directory of its own, and nothing left behind.
# With a directory as argument ("sh run.sh DIR") everything stays there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -gt 0 ]; then
    work=$(cd "$1" && pwd)
    trap 'queuectl worker stop --now >/dev/null 2>&1' EXIT
else
    work=$(mktemp -d)
    trap 'queuectl worker stop --now >/dev/null 2>&1; rm -rf "$work"' EXIT
fi
trap 'exit 130' INT TERM
unset QUEUECTL_DB
export QUEUECTL_HOME="$work/home"
cd "$work"
