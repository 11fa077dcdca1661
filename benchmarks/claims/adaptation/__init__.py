"""Worlds whose parameters are hidden: a teacher, a student and PPO."""
