"""yieldrl beside other libraries, each in a virtual environment of its own.

A workload is an entry in `workloads.yaml`, a peer one in `venvs.py` and a file in
`sides/`, which that peer's Python runs.
"""

from .measuring import Options, benchmark
from .tables import brief, shown
from .venvs import FOLDER, PEERS
from .workloads import WORKLOADS

__all__ = ["FOLDER", "PEERS", "WORKLOADS", "Options", "benchmark", "brief", "shown"]
