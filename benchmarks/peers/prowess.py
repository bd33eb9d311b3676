"""Prowess: the catalog of one host."""

from prowess import discover as find
from prowess.hosts import load_host


def prepare(host: str, _project: str, small: str) -> None:
    """Read a small project, because Prowess imports most of what it uses only then."""
    discover(host, small, "")


def discover(host: str, project: str, _small: str) -> int:
    """Count the skills that a host finds in a project it trusts; read each name, state and description."""
    trust = [argument.name for argument in load_host(host).arguments if argument.effect == "trusted"]
    skills = find(project, host, client_args=trust[:1]).skills
    return len([(skill.name, skill.state, skill.description) for skill in skills])
