"""One side a file: a training in one library, run by the Python that has the library.

`python -m sides.sb3 TASK` trains once and prints one line of JSON (`contract.py`). The
runner puts the folder above this one on the path, so a file may be called like the
library that it imports. Nothing here but `ours.py` imports yieldrl, and nothing
imports the runner: a peer's environment has neither.
"""
