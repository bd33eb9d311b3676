"""The real clients, in isolated homes: `make clients`."""
