"""Trees for pi: trust, folders and patterns of its settings, packages."""

from __future__ import annotations

from clients._trees import Tree, tree

AGENT = ".pi/agent"


def four(t: Tree) -> None:
    """Write a skill in each folder of pi; nothing says that the project is trusted."""
    t.args = []
    t.git()
    t.skill(t.P / "in-pi", "in-pi")
    t.skill(t.repo / ".agents/skills/in-agents", "in-agents")
    t.skill(t.U / "user-pi", "user-pi")
    t.skill(t.home / ".agents/skills/user-agents", "user-agents")


def settings(t: Tree, **values: object) -> None:
    """Write the user's settings."""
    t.write(t.home / AGENT / "settings.json", values)


def project_settings(t: Tree, **values: object) -> None:
    """Write the project's settings, and trust it."""
    t.args = ["--approve"]
    t.write(t.repo / ".pi/settings.json", values)


# ── trust ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@tree("pi")
def pi_untrusted(t: Tree) -> None:
    """Nobody has said that the project is trusted."""
    four(t)


@tree("pi")
def pi_not_approved(t: Tree) -> None:
    """The last of two arguments counts, and an argument beats what is saved."""
    four(t)
    t.args = ["--approve", "--no-approve"]
    t.write(t.home / AGENT / "trust.json", {str(t.repo): True})


@tree("pi")
def pi_trusted_parent(t: Tree) -> None:
    """A folder above the project is trusted, as "Trust parent folder" saves it."""
    four(t)
    t.write(t.home / AGENT / "trust.json", {str(t.root): True})


@tree("pi")
def pi_distrusted_below(t: Tree) -> None:
    """The nearest decision counts; null is none."""
    four(t)
    t.cwd = t.repo / "a/b"
    t.skill(t.cwd / ".pi/skills/deep", "deep")
    t.write(t.home / AGENT / "trust.json", {str(t.root): True, str(t.repo / "a"): False, str(t.cwd): None})


@tree("pi")
def pi_trusted_by_default(t: Tree) -> None:
    """The user's settings say `always`; what the project's say does not count."""
    four(t)
    settings(t, defaultProjectTrust="always")
    t.write(t.repo / ".pi/settings.json", {"defaultProjectTrust": "never"})


@tree("pi")
def pi_default_of_the_project(t: Tree) -> None:
    """A project cannot trust itself."""
    four(t)
    t.write(t.repo / ".pi/settings.json", {"defaultProjectTrust": "always", "skills": ["../mine"]})
    t.skill(t.repo / "mine/own", "own")


@tree("pi")
def pi_trust_file_broken(t: Tree) -> None:
    """It cannot be read, and pi refuses to start."""
    four(t)
    t.write(t.home / AGENT / "trust.json", "{")


@tree("pi")
def pi_trust_file_bad_value(t: Tree) -> None:
    """One value of another type voids the whole file, and pi refuses to start."""
    four(t)
    t.write(t.home / AGENT / "trust.json", {str(t.repo): True, "/elsewhere": "yes"})


@tree("pi")
def pi_untrusted_link(t: Tree) -> None:
    """A skill of the user that the project links to stays the user's."""
    four(t)
    t.link(t.P / "aa", t.U / "user-pi")


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@tree("pi")
def pi_settings_folders(t: Tree) -> None:
    """Folders of both settings: with `~`, absolute, relative to the settings file, a file, with blanks, a URL."""
    four(t)
    listed = ["~/tilde", "mine", "../above", "./mine/../dotted", str(t.root / "far"), "  ~/blank ", "~/loose/one.md"]
    settings(t, skills=[*listed, "repo", "$HOME/variable", f"file://{t.root}/url", "~/loose/two.txt", "~/nothing"])
    project_settings(t, skills=["mine", "../here", "./here"])
    for name in ("tilde", "blank", "variable", "repo"):
        t.skill(t.home / name / f"in-{name}", f"in-{name}")
    t.skill(t.home / AGENT / "mine/a/b/c/deep", "deep")
    t.skill(t.home / AGENT / "mine/.hidden/hidden", "hidden")
    t.skill(t.home / AGENT / "mine/node_modules/module", "module")
    t.skill(t.home / AGENT / "mine", "mine-loose", file="loose.md")
    t.skill(t.home / AGENT / "mine/sub", "sub-loose", file="loose.md")
    t.skill(t.home / AGENT / "dotted", "itself")
    t.skill(t.home / AGENT / "dotted/inner", "below-itself")
    t.skill(t.home / ".pi/above/up", "up")
    t.skill(t.root / "far/away", "away")
    t.skill(t.root / "url/by-url", "by-url")
    t.skill(t.home / "loose", "one", file="one.md")
    t.skill(t.home / "loose", "two", file="two.txt")
    t.skill(t.repo / ".pi/mine/p-mine", "p-mine")
    t.skill(t.repo / "here/p-here", "p-here")
    t.skill(t.repo / ".pi/here/p-not-here", "p-not-here")


@tree("pi")
def pi_settings_collide(t: Tree) -> None:
    """The same names in the folders of both settings, of the project and the user."""
    four(t)
    settings(t, skills=["~/u"])
    project_settings(t, skills=["../p"])
    for name in ("in-pi", "in-agents", "user-pi", "user-agents", "both"):
        t.skill(t.home / "u" / name, f"u:{name}", name=name)
        if name != "user-pi":
            t.skill(t.repo / "p" / name, f"p:{name}", name=name)


@tree("pi")
def pi_settings_unreadable(t: Tree) -> None:
    """A comment makes the file unreadable: it counts as empty."""
    four(t)
    settings(t)
    t.write(
        t.home / AGENT / "settings.json", '{\n  // mine\n  "skills": ["~/u"],\n  "defaultProjectTrust": "always"\n}\n'
    )
    t.skill(t.home / "u/x", "x")


@tree("pi")
def pi_settings_bytes(t: Tree) -> None:
    """A byte order mark and a byte that is not UTF-8 do no harm."""
    four(t)
    text = b'\xef\xbb\xbf{"skills": ["~/u"], "theme": "\xff", "defaultProjectTrust": "always"}'
    (t.home / AGENT).mkdir(parents=True, exist_ok=True)
    (t.home / AGENT / "settings.json").write_bytes(text)
    t.skill(t.home / "u/x", "x")


@tree("pi")
def pi_settings_wrong_type(t: Tree) -> None:
    """A text where a list is expected: pi refuses to start."""
    four(t)
    settings(t, skills="u")
    t.skill(t.home / AGENT / "u/x", "x")


@tree("pi")
def pi_settings_wrong_item(t: Tree) -> None:
    """A number in the list of the project: pi refuses to start, but only if it reads the file."""
    four(t)
    project_settings(t, skills=["../p", 1])
    t.skill(t.repo / "p/x", "x")


@tree("pi")
def pi_settings_wrong_item_unread(t: Tree) -> None:
    """The same in a project that is not trusted."""
    pi_settings_wrong_item(t)
    t.args = []


@tree("pi")
def pi_arguments(t: Tree) -> None:
    """`--skill` names folders and files, for which all others win."""
    four(t)
    t.args = ["--skill", "../more", "--approve", "--skill", "~/x/one.md", "--skill", "nothing"]
    t.skill(t.root / "more/extra", "extra")
    t.skill(t.root / "more/dup", "dup", name="user-agents")
    t.skill(t.root / "more", "more-loose", file="loose.md")
    t.skill(t.home / "x", "one", file="one.md")
    t.skill(t.home / "x", "two", file="two.md")


@tree("pi")
def pi_no_skills(t: Tree) -> None:
    """`--no-skills` leaves only what `--skill` names."""
    four(t)
    settings(t, skills=["~/u"])
    t.skill(t.home / "u/x", "x")
    t.args = ["-ns", "-a", "--skill", str(t.home / ".agents/skills")]


@tree("pi")
def pi_loose_files(t: Tree) -> None:
    """Markdown files beside skills: below `.agents/skills`, at the top of pi's own folders."""
    four(t)
    t.args = ["-a"]
    for place, folder in (("p", t.P), ("a", t.repo / ".agents/skills"), ("u", t.U), ("g", t.home / ".agents/skills")):
        t.skill(folder, f"{place}-top", file="top.md")
        t.skill(folder / "sub", f"{place}-sub", file="sub.md")
        t.skill(folder / "sub/deeper", f"{place}-deeper", file="deeper.md")
        t.skill(folder / "with", f"{place}-with")
        t.skill(folder / "with", f"{place}-beside", file="beside.md")
        t.skill(folder / "plain", f"{place}-text", file="text.md", raw="# A text\n")
        t.skill(
            folder / "sub",
            f"{place}-nameless",
            file="nameless.md",
            raw=f"---\ndescription: d [[{place}-nameless]]\n---\n",
        )
        t.skill(folder / "zz", f"{place}-zz", name=f"{place}-order")
        t.skill(folder, f"{place}-zzz", file="zz.md", name=f"{place}-order")
        t.skill(folder, f"{place}-aaa", file="aaa.md", name=f"{place}-order")


@tree("pi")
def pi_agent_folder_moved(t: Tree) -> None:
    """PI_CODING_AGENT_DIR moves settings, trust and skills of the user."""
    four(t)
    t.env = {"PI_CODING_AGENT_DIR": str(t.home / "elsewhere")}
    t.write(t.home / "elsewhere/trust.json", {str(t.repo): True})
    t.write(t.home / "elsewhere/settings.json", {"skills": ["mine"]})
    t.skill(t.home / "elsewhere/skills/moved", "moved")
    t.skill(t.home / "elsewhere/mine/x", "x")
