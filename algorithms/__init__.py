"""The algorithms, one folder each; a variant holds what differs from its parent."""
