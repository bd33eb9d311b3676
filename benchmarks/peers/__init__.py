"""Skills folder -> number of skills, as each peer reads them: one script a peer, see `inside.py` and `peers.toml`."""
