"""Shared low-level parts that know nothing of skills."""
