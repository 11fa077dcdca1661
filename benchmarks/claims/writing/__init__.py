"""Policies that write."""
