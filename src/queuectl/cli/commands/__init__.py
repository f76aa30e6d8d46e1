"""One file a command: its parser and what it does."""
