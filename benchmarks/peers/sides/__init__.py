"""One side a file: a training in one library, run by the Python that has the library.

`python -m sides.sb3 TASK` trains once and prints one line of JSON (`contract.py`).
Nothing here but `ours.py` imports yieldrl: a peer's environment has neither it nor the
runner.
"""
