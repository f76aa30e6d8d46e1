# backup.sh FROM TO: an archive named after the job, so that a second attempt replaces the first one's
# half. Written beside its name and then moved: what has the name is whole. The newest 7 are kept.
set -eu
archive="$2/${QUEUECTL_JOB_ID:-by-hand}.tar.gz"
tar -czf "$archive.part" -C "$1" .
mv "$archive.part" "$archive"
echo "saved $1 as $archive"
ls -t "$2"/*.tar.gz | tail -n +8 | while read -r old; do rm -- "$old"; done
