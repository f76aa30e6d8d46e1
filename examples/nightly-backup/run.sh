# A backup every night at three, Berlin time. If the machine was off, one is made up for in the
# morning; if last night's is still running, tonight's is left out; what fails is tried again.
. "$(dirname "$0")/../setup.sh"

mkdir -p data backups
echo "precious" > data/notes.txt

queuectl schedule add backup "0 3 * * *" --tz Europe/Berlin --catch-up one --overlap skip \
    --max-retries 3 --timeout 2h --tag backup --cwd "$work" -- sh "$here/backup.sh" data backups
queuectl schedule show backup

# Nobody wants to wait until three: once now, by hand.
queuectl worker start
queuectl schedule trigger backup
queuectl wait --tag backup
queuectl logs "$(queuectl list --tag backup --json | sed -n 's/.*"id": "\([^"]*\)".*/\1/p' | head -n 1)"
