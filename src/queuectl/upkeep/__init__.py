"""Housekeeping by the workers themselves: rescue, retention."""
