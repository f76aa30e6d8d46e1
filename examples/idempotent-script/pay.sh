# pay.sh AMOUNT. The first attempt dies between the payment and its receipt.
set -eu
key="$QUEUECTL_JOB_ID"
if grep -q "^$key " ledger 2>/dev/null; then
    echo "attempt $QUEUECTL_ATTEMPT: paid already"
else
    echo "$key $1" >> ledger
fi
[ "$QUEUECTL_ATTEMPT" -gt 1 ] || kill -9 $$
echo "receipt for $1" > "receipt-$key"
