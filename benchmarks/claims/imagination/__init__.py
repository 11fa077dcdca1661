"""Algorithms that imagine, beside those that do not."""
