"""Run agents, roles, servers and tests with skills."""
