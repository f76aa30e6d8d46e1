"""Settings: what there is to set, and where each value comes from."""
