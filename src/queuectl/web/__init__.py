"""The HTTP API and the dashboard, in one process of its own; needs the extra `web`."""
