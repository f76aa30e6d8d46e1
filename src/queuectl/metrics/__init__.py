"""The numbers of a queue: for Prometheus (with the extra `web`), and summed up for people."""

from __future__ import annotations

from queuectl.metrics.exposition import CONTENT_TYPE, exposition

__all__ = ["CONTENT_TYPE", "exposition"]
