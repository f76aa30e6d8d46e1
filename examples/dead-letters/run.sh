# Jobs that keep failing end in the dead letter queue. Look what they have in common, mend the cause and run
# them again; throw away what nobody can help.
. "$(dirname "$0")/../setup.sh"

queuectl worker start --concurrency 4
for customer in 1 2 3; do
    queuectl enqueue --quiet --id "invoice-$customer" --tag invoice --max-retries 1 --backoff-base 0.1 \
        "test -e template || { echo 'no template' >&2; exit 3; }; echo $customer >> sent"
done
# Poison: an input that can never work. --no-retry-on says so at once, without wasting tries.
queuectl enqueue --quiet --id invoice-x --no-retry-on 65 "echo 'no such customer' >&2; exit 65"
queuectl wait --all || true

queuectl dlq list
queuectl explain invoice-x

touch template # the cause of the others
queuectl dlq retry --tag invoice --yes
queuectl wait --tag invoice
queuectl dlq purge invoice-x --yes
queuectl status
