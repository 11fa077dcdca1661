"""Steps per second of worlds against the number of environments, beside others'."""
