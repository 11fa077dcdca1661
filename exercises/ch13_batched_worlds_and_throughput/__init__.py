"""Chapter 13, batched worlds and throughput.

`exercise.py` has N worlds as one set of tensors, and they do not know yet how to begin
again. Fill the gap, then

    yieldrl check ch13
"""
