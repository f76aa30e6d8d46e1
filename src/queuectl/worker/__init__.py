"""What runs commands: the supervisor, the worker process, and everything inside it."""
