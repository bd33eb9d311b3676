"""Show, explain, check and write the skills that agents find."""
