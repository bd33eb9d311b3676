"""Agent Skills: every skill on a machine, what each agent would make of it, and why."""

__version__ = "0.1.0"
