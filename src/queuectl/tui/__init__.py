"""The live full-screen view of a queue; needs the extra `tui`.

The store is read by a thread of its own (`reader`), which makes pictures of plain, harmless text; what is on
the screen (`top`, `board`, `table`, `lines`, `asking`) knows nothing else. The terminal is left to textual.
"""
