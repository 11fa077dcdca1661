"""yieldrl beside other libraries. Workloads and peers are entries in `workloads.yaml`;
a peer is a file in `sides/` too, which the Python of its own venv runs."""
