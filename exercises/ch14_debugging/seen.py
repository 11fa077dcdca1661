"""What `examine` gave of PPO and of the six versions, seeds 1 to 3.

`python -m yieldrl.exercises.ch14_debugging.diagnostics` measures the first of them.
"""

import csv
from pathlib import Path

from yieldrl.exercises.ch14_debugging.diagnostics import BUGS, Readings

_, *ROWS = csv.reader(Path(__file__).with_suffix(".csv").read_text().splitlines())
SEEN = {
    bug: [Readings(*map(float, row)) for name, *row in ROWS if name == bug]
    for bug in BUGS
}
"""Bug -> readings of three seeds, in the order of `Readings`."""
