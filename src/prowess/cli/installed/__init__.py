"""Install, update, verify, remove and publish skills."""
