"""One side a file: a training in one library, run by the Python that has the library,
which prints a line of JSON (`contract.py`). Only `ours.py` can import yieldrl."""
