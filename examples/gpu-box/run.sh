# A machine with two GPUs and room for four commands at a time. A job that needs a GPU waits for a free
# one and is told which it has; one that needs none runs beside them. A big one takes both.
. "$(dirname "$0")/../setup.sh"

queuectl worker start --concurrency 4 --provides gpu=2

for run in 1 2 3 4; do
    queuectl enqueue --quiet --id "train-$run" --needs gpu=1 -- sh "$here/train.sh"
done
queuectl enqueue --quiet --id train-big --needs gpu=2 -- sh "$here/train.sh"
queuectl enqueue --quiet --id prepare "echo no GPU needed > prepare.log"

queuectl wait --all
cat ./*.log
