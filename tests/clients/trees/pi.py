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
    """The trust of the project is not decided."""
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
    """The nearest decision counts; null decides nothing."""
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


# ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@tree("pi")
def pi_patterns_user(t: Tree) -> None:
    """The user's patterns switch off in the user's folders only, by name, path and glob."""
    four(t)
    settings(
        t, skills=["mine", "!user-pi", "!{user-agents,in-*}", "-skills/exact", "-by-name", "!skills/cat/**", "!**/one"]
    )
    t.args = ["-a"]
    for name in ("exact", "by-name", "cat/deep", "cat/deeper/deepest"):
        t.skill(t.U / name, name)
    for name in ("one", "two", "user-pi"):
        t.skill(t.home / AGENT / "mine" / name, f"mine-{name}", name=f"mine-{name}")


@tree("pi")
def pi_patterns_on_again(t: Tree) -> None:
    """`!`, then `+`, then `-`, in whatever order they are written; `+` and `-` are exact paths."""
    four(t)
    settings(t, skills=["-skills/c", "+skills/b", "+skills/c/SKILL.md", "+./skills/d", "+e", "!*", "+skills/user-p?"])
    for name in "abcde":
        t.skill(t.U / name, name)


@tree("pi")
def pi_patterns_project(t: Tree) -> None:
    """The project's patterns switch off in its folders; relative paths belong to `.pi`, and to each `.agents`."""
    four(t)
    t.cwd = t.repo / "sub"
    t.args = ["-a"]
    for base in (t.repo / ".agents", t.cwd / ".agents", t.cwd / ".pi"):
        for name in ("x", "y", "z"):
            key = f"{base.parent.name}-{base.name[1:]}-{name}"
            t.skill(base / "skills" / name, key, name=key)
    t.write(
        t.cwd / ".pi/settings.json", {"skills": ["!skills/x", "-skills/y", "!user-*", f"!{t.repo}/.agents/skills/z"]}
    )


@tree("pi")
def pi_patterns_select(t: Tree) -> None:
    """A glob without a sign selects in the folders that the setting lists, and in no others."""
    four(t)
    settings(t, skills=["mine", "*two*", "~/loose"])
    for name in ("one", "two", "two-more"):
        t.skill(t.home / AGENT / "mine" / name, name)
    t.skill(t.home / "loose", "two-loose", file="two.md")
    t.skill(t.home / "loose", "other-loose", file="other.md")


@tree("pi")
def pi_patterns_hide_a_winner(t: Tree) -> None:
    """A skill that is off hides no other of its name."""
    four(t)
    project_settings(t, skills=["!skills/first"])
    t.skill(t.P / "first", "first", name="same")
    t.skill(t.P / "second", "second", name="same")
    t.skill(t.U / "third", "third", name="same")


# ── packages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def package(t: Tree, folder: str, key: str, **manifest: object) -> None:
    """Write a package with two skills in its default folder, one in another, and one in its root."""
    for place, name in (("skills", "one"), ("skills/cat", "two"), ("extra", "three")):
        t.skill(t.root / folder / place / name, f"{key}-{name}")
    t.skill(t.root / folder / "skills", f"{key}-loose", file="loose.md")
    t.skill(t.root / folder, f"{key}-root")
    if manifest:
        t.write(t.root / folder / "package.json", {"name": key, "version": "1.2.3", **manifest})


@tree("pi")
def pi_packages_local(t: Tree) -> None:
    """Folders, as `pi install ./folder` and `pi install -l ./folder` list them: relative to the settings."""
    four(t)
    settings(t, packages=["../../user-package", "~/other", "absent"])
    project_settings(t, packages=["../project-package", "project-package"])
    package(t, "home/user-package", "u")
    package(t, "home/other", "o", pi={"skills": ["./extra"]})
    package(t, "repo/project-package", "p", description="no table of pi")
    package(t, "home/unlisted", "n")


@tree("pi")
def pi_packages_installed(t: Tree) -> None:
    """Packages of npm and git, where pi installs them; versions that do not fit are not installed."""
    four(t)
    git = ["git:github.com/a/b@v1", "https://gitlab.com/g/s/r.git", "git:git@example.org:c/d", "git:e/f", "github:g/h"]
    npm = ["npm:plain", "npm:@s/scoped@^1.0.0", "npm:wrong@2", "npm:tag@latest", "npm:bare", "npm:absent"]
    settings(t, packages=[*npm, *git])
    project_settings(t, packages=["npm:local@1.x", "https://github.com/x/y"])
    for name in ("plain", "@s/scoped", "wrong", "tag"):
        package(t, f"home/.pi/agent/npm/node_modules/{name}", name.replace("/", "-"), private=True)
    package(t, "home/.pi/agent/npm/node_modules/bare", "bare")
    for name in ("github.com/a/b", "gitlab.com/g/s/r", "example.org/c/d", "github.com/e/f", "github.com/g/h"):
        package(t, f"home/.pi/agent/git/{name}", name.replace("/", "-"))
    package(t, "repo/.pi/npm/node_modules/local", "local", private=True)
    package(t, "repo/.pi/git/github.com/x/y", "x-y")


@tree("pi")
def pi_packages_manifest(t: Tree) -> None:
    """What the table `pi` of a manifest lists replaces the default folder."""
    four(t)
    lists: dict[str, object] = {
        "empty": {},
        "none": {"skills": []},
        "text": {"skills": "extra"},
        "mixed": {"skills": ["skills", 1]},
        "other": {"extensions": []},
        "two": {"skills": ["./skills", "extra"]},
        "glob": {"skills": ["./skills/*"]},
        "deep": {"skills": ["**/SKILL.md"]},
        "minus": {"skills": ["skills", "extra", "!**/one", "-extra/three"]},
        "file": {"skills": ["extra/three/SKILL.md", "skills/loose.md"]},
        "outside": {"skills": ["../shared"]},
        "whole": {"skills": ["."]},
    }
    settings(t, packages=[f"~/{name}" for name in lists])
    for name, table in lists.items():
        package(t, f"home/{name}", name, pi=table)
    t.skill(t.home / "shared/away", "away")


@tree("pi")
def pi_packages_filters(t: Tree) -> None:
    """An entry that is a table has patterns for its skills; an empty list selects nothing."""
    four(t)
    filters: dict[str, dict[str, object]] = {
        "all": {},
        "none": {"skills": []},
        "path": {"skills": ["skills/one"]},
        "name": {"skills": ["two"]},
        "minus": {"skills": ["!one"]},
        "exact": {"skills": ["-skills/one", "+skills/cat/two"]},
        "star": {"skills": ["skills/*"]},
        "nothing": {"skills": ["absent"]},
        "quiet": {"autoload": False},
        "chosen": {"autoload": False, "skills": ["*", "!one", "+skills/one"]},
    }
    settings(t, packages=[{"source": f"~/{name}", **table} for name, table in filters.items()])
    for name in filters:
        package(t, f"home/{name}", name)


@tree("pi")
def pi_packages_collide(t: Tree) -> None:
    """A package loses to all others; the project's come first, then the order of the list."""
    four(t)
    settings(t, packages=["~/second", "~/third"])
    project_settings(t, packages=["../first"])
    for folder, key in ((t.repo / "first", "first"), (t.home / "second", "second"), (t.home / "third", "third")):
        for name in ("in-pi", "user-agents", "shared", *(["late"] if key != "first" else [])):
            t.skill(folder / "skills" / name, f"{key}:{name}", name=name)
    t.args = [*t.args, "--skill", str(t.home / "third/skills")]


@tree("pi")
def pi_packages_in_both(t: Tree) -> None:
    """The same package in both settings: the project's entry counts, or changes the user's."""
    four(t)
    settings(t, packages=["~/a", "npm:b", "~/c"])
    entry = {"source": str(t.home / "a"), "skills": ["skills/one"]}
    delta = {"source": str(t.home / "c"), "autoload": False, "skills": ["-skills/one"]}
    project_settings(t, packages=[entry, "npm:b@1.2.3", delta])
    for name in ("a", "c"):
        package(t, f"home/{name}", name)
    package(t, "home/.pi/agent/npm/node_modules/b", "b", private=True)


@tree("pi")
def pi_packages_untrusted(t: Tree) -> None:
    """Packages of a project that is not trusted are not read."""
    pi_packages_local(t)
    t.args = []


@tree("pi")
def pi_packages_nothing_in_it(t: Tree) -> None:
    """A folder with nothing that pi knows keeps it from starting."""
    four(t)
    settings(t, packages=["~/nothing"])
    t.skill(t.home / "nothing/inner", "inner")


@tree("pi")
def pi_packages_wrong_type(t: Tree) -> None:
    """A number among the packages: pi refuses to start."""
    four(t)
    settings(t, packages=["~/a", 7])
    package(t, "home/a", "a")


def tools_tree(name: str, about: str, *args: str) -> None:
    """Make a tree in which pi is started with arguments about tools; its settings leave the model only `edit`."""

    def fill(t: Tree) -> None:
        four(t)
        t.args = ["--approve", *args]
        settings(t, defaultTools=["edit"])

    fill.__name__, fill.__doc__ = f"pi_tools_{name}", about
    tree("pi")(fill)


tools_tree("default", "Without a tool to read files, the model gets no catalog.")
tools_tree("named", "An argument beats the settings; `bash` can read files too.", "--tools", "grep, bash")
tools_tree("excluded", "What is excluded is taken away from what is named.", "-t", "read,bash", "-xt", "read,bash")
tools_tree("none", "`--tools` counts more than `--no-tools`.", "--no-tools", "--tools", "read")
tools_tree("no_builtin", "Without pi's own tools there is no catalog.", "-nbt")
