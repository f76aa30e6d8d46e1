"""What the kernel's table of mounts says about a path, and which file systems are remote.

Reading the table, and what follows from the answer, is left to others.
"""

from __future__ import annotations

import os

# Locks or shared memory of these are not to be trusted between machines, often not even on one.
# Those that run in user space have "fuse." before the name.
_NETWORK = frozenset(
    {
        "9p",
        "acfs",
        "afs",
        "beegfs",
        "ceph",
        "ceph-fuse",
        "cifs",
        "coda",
        "curlftpfs",
        "davfs",
        "davfs2",
        "gcsfuse",
        "glusterfs",
        "goofys",
        "gpfs",
        "juicefs",
        "lustre",
        "mfs",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "pvfs2",
        "rclone",
        "s3fs",
        "smb2",
        "smb3",
        "smbfs",
        "smbnetfs",
        "sshfs",
        "vboxsf",
        "vmhgfs",
        "vmhgfs-fuse",
    }
)

_ESCAPES = ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\"))


def type_of(path: str, mountinfo: bytes) -> str | None:
    """The file system type of an absolute path without links, from /proc/PID/mountinfo."""
    wanted = _as_directory(os.fsencode(path))
    longest, kind = -1, None
    for line in mountinfo.split(b"\n"):
        fields = line.split(b" ")
        if len(fields) < 10:
            continue
        point = _as_directory(_unescape(fields[4]))
        # "as long" and not "longer": the later of two mounts on one point hides the earlier.
        if wanted.startswith(point) and len(point) >= longest:
            longest = len(point)
            kind = os.fsdecode(fields[fields.index(b"-", 6) + 1])
    return kind


def is_network_type(kind: str | None) -> bool:
    """Whether a file system of that type lives on another machine."""
    return kind is not None and kind.removeprefix("fuse.") in _NETWORK


def _as_directory(path: bytes) -> bytes:
    return path.rstrip(b"/") + b"/"


def _unescape(text: bytes) -> bytes:
    for escaped, character in _ESCAPES:
        text = text.replace(escaped, character)
    return text
