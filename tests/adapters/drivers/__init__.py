"""Conversations in each framework, for the suite of claims of `prowess.testing`."""
