"""google-adk: `list_skills_in_dir`, the lighter of its two ways: front matter without resources."""

from google.adk.skills import list_skills_in_dir


def discover(folder: str) -> int:
    """List every skill below the folder."""
    return len(list_skills_in_dir(folder))
