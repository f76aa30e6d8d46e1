"""The rules of the queue, pure: no I/O, no clock, no randomness of its own."""
