"""Tasks of LIBERO: what a script does, and what is learned from it."""
