"""Collecting on Ray."""
