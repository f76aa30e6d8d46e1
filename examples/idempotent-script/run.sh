# Jobs run at least once: one whose machine dies is run again. A script that must not do its work twice
# marks what is done under QUEUECTL_JOB_ID, which is the same in every attempt. See pay.sh.
. "$(dirname "$0")/../setup.sh"

queuectl enqueue --quiet --id pay-4711 --max-retries 3 --backoff-base 0.1 -- sh "$here/pay.sh" 100
queuectl worker start
queuectl wait pay-4711
queuectl logs pay-4711
queuectl show pay-4711
echo "payments made: $(wc -l < ledger)"
