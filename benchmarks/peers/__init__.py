"""Skills folder -> number of skills, as each peer reads them: one script a peer, see `measure_reader.py`."""
