"""yieldrl beside other libraries. A workload is an entry in `workloads.yaml`, a peer
one in `workloads.py` and a file in `sides/`, which the Python of its own venv runs."""
