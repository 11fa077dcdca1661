"""One script for each figure that a page shows; `../figure.py` is what they share."""
