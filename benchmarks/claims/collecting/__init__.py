"""Collectors that work in the background."""
