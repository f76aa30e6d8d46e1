# train.sh RATE DEPTH: stands for a training that tells its score. Deep ones need more memory.
set -eu
if [ "$2" -ge 8 ] && [ ! -e more-memory ]; then
    echo "out of memory" >&2
    exit 1
fi
echo "$(expr 100 - "$2") rate=$1 depth=$2" >> results
