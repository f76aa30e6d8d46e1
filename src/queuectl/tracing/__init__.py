"""Spans for OpenTelemetry, from enqueue to the end of each attempt; imported only where somebody traces."""
