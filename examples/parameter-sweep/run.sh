# Every combination of two parameters is a job. What failed is run again by the same command with
# --resume; what is done is left alone, however often you call it.
. "$(dirname "$0")/../setup.sh"

sweep() {
    queuectl map --resume sweep --jobs 4 --wait --max-retries 0 \
        "sh $here/train.sh {1} {2}" ::: 0.1 0.01 0.001 ::: 2 4 8
}

sweep || echo "some of them failed: $(queuectl list --tag map:sweep --state dead --quiet | wc -l)"
touch more-memory # the cause is mended
sweep
sort -n results | tail -n 1
