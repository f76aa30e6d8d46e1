# Five thousand commands out of a list: one line each, stored in one go, run eight at a time. Whatever
# crashes meanwhile, each of them is done in the end.
. "$(dirname "$0")/../setup.sh"

mkdir out
seq 1 5000 | sed 's|.*|echo & > out/&|' > commands.txt

queuectl enqueue --lines --file commands.txt --tag batch
queuectl worker start --count 2 --concurrency 4
queuectl wait --tag batch
echo "$(ls out | wc -l) files"
queuectl status
