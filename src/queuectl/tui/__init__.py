"""The live full-screen view of a queue; needs the extra `tui`."""
