"""The queue for coding agents: tools over the Model Context Protocol, on stdin and stdout."""
