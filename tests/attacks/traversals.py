"""Names that lead somewhere else, if somebody takes them for a path."""

from __future__ import annotations

# Up, by every spelling that some decoder or file system has once taken for it.
_UP = [
    "../x", "../../x", "../../../../../../etc/passwd", "./../x", "a/../../x", "a/..", "..", ".", "./",
    "../", "/",
    "//", "/etc/passwd", "//etc/passwd", "/./etc/passwd", "/../etc/passwd", "~", "~/x", "~root/x", "~root",
    "..\\x", "..\\..\\x", "\\etc\\passwd", "C:\\x", "C:/x", "\\\\host\\share", "a\\..\\x", "..;/x", "..//x",
    "....//x", "..././x", ".../x", "%2e%2e/x", "%2e%2e%2fx", "..%2fx", "..%2Fx", "..%5cx",
    "%2fetc%2fpasswd",
    "%252e%252e%252fx", "..%252fx", "..%c0%afx", "%c0%ae%c0%ae/x", "..%ef%bc%8fx", "\uff0e\uff0e/x",
    "..\uff0fx", "\u2024\u2024/x", "..\u2215x", "..\u2044x", "..%00/x", "x\n../y", "\n/etc/passwd",
    "x\t../y",
    "file:///etc/passwd", "file:../x", "/proc/self/environ", "/proc/self/fd/0", "/dev/stdin", "/dev/tty",
    "-", "--help",
    "-rf", ".hidden", ".ssh/x", "CON/x", "a/b", "a/", "/a", "x" * 300 + "/../y", "|id", "$(id)/x",
    "`id`/x", "*",
    "?/x", "[a-z]/x", "{a,b}/x",
]  # fmt: skip

# Only where a name is not an argument of a process: there it ends at the NUL.
_WITH_NUL = ["../x\0", "x\0/../y", "\0", "/etc/passwd\0.log", "2c/300-2.log\0"]

PAYLOADS = _UP
STORED = [*_UP, *_WITH_NUL]
