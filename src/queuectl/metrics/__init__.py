"""The numbers of a queue for Prometheus; needs the extra `web`."""

from __future__ import annotations

from queuectl.metrics.exposition import CONTENT_TYPE, exposition

__all__ = ["CONTENT_TYPE", "exposition"]
