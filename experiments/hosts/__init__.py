"""Experiments on many hosts (decision 54): hosts join, the command gives them orders, they work and tell what they saw."""

MOST_HOSTS = 512
