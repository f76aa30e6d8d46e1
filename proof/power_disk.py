"""A disk whose power can be cut: an ext4 image on a loop device, shut down without flushing anything.

To be used in a mount namespace of one's own: nothing of it is seen outside, or left behind.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import uuid
from pathlib import Path

from queuectl.testing import wait_until

_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
_NO_LOG_FLUSH = 2  # what the journal has not written yet is gone, as it is when the power fails
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_SIZE = "1G"  # with holes: it takes what is written, and all stores of a run are kept on it


class Disk:
    """`cut` is the power failure; `restore` mounts it again, which replays the journal."""

    def __init__(self, root: Path) -> None:
        self.place = root / "disk"
        self.place.mkdir()
        self._boot_id = root / "boot_id"
        self._boot()
        _run("mount", "--bind", str(self._boot_id), _BOOT_ID)
        self._image = root / "image"
        _run("truncate", "-s", _SIZE, str(self._image))
        _run("mkfs.ext4", "-q", "-F", str(self._image))
        self._mount()

    def _boot(self) -> None:
        """After a power failure it is another boot, and the processes of the last one are gone."""
        self._boot_id.write_text(f"{uuid.uuid4()}\n")

    def _mount(self) -> None:
        # The loop device goes with the mount, and that with our namespace, even if we are killed.
        _run("mount", "-o", "loop", str(self._image), str(self.place))
        found = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        self._device = next(words[0] for words in found if words[1] == str(self.place))

    def cut(self) -> None:
        fd = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(fd)

    def restore(self) -> None:
        """After all processes that used it have ended."""
        self.close()
        self._boot()
        self._mount()

    def close(self) -> None:
        wait_until(lambda: _try("umount", str(self.place)), timeout=30, what="the disk to be free")
        # Two devices on one image, of which one is about to go, would ruin it.
        busy = Path("/proc/fs/ext4", os.path.basename(self._device))
        wait_until(lambda: not busy.exists(), timeout=30, what="the file system to be gone")


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


def _try(*words: str) -> bool:
    return subprocess.run(words, check=False, capture_output=True).returncode == 0
