"""`queuectl doctor`: looks at the store, its workers and this machine, and changes nothing."""
