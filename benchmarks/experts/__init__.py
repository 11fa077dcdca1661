"""Scripted experts of robots' tasks, as wrappers of single environments."""
