"""Gymnasium's MuJoCo robots, v5, as N worlds in one object."""
