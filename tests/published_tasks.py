"""Do six tasks with Anthropic's document skills, from the user's file to the finished one, by a scripted model.

`python tests/published_tasks.py FOLDER` takes the folder `skills` of a clone of `github.com/anthropics/skills`, whose
document skills may not be copied into this repository. Their scripts run in the sandbox, with their packages from the
package index. `tests/session/test_document_tasks.py` does six such tasks with skills of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from prowess import discover
from prowess.session import Scripts, Session, Trust
from support.skills import skill

Call = Callable[..., str]

FILES = """# /// script
# dependencies = ["openpyxl", "python-pptx", "python-docx", "reportlab"]
# ///
from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from reportlab.pdfgen.canvas import Canvas

book = Workbook()
book.active.append(["tea", 12])
book.save("orders.xlsx")
show = Presentation()
show.slides.add_slide(show.slide_layouts[0]).shapes.title.text = "Moon"
show.save("deck.pptx")
letter = Document()
letter.add_paragraph("Dear Ada,")
letter.save("letter.docx")
for name in ("doc1.pdf", "doc2.pdf", "doc3.pdf"):
    page = Canvas(name)
    page.drawString(100, 100, name)
    page.save()
form = Canvas("form.pdf")
form.acroForm.textfield(name="name", x=100, y=100, width=200, height=20)
form.showPage()
form.save()
"""
"""Makes the files of the user."""


def code_of(file: Path, first: str) -> str:
    """Return the code in the text of a skill that begins with a line: a model writes it to a file."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", file.read_text("utf-8"), re.DOTALL)
    return next(block for block in blocks if block.startswith(first))


def replace(path: Path, old: str, new: str) -> None:
    """Edit a file, as a model does with a tool of its agent."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1, f"{path} has {text.count(old)} times {old}"
    path.write_text(text.replace(old, new), "utf-8")


def part(path: Path, name: str) -> str:
    """Return a part of a document."""
    with zipfile.ZipFile(path) as archive:
        return archive.read(name).decode()


def fill_spreadsheet(work: Path, call: Call) -> bool:
    """Change a number in a spreadsheet."""
    call("xlsx", "scripts/office/unpack.py", "orders.xlsx", "orders")
    replace(work / "orders/xl/worksheets/sheet1.xml", "<v>12</v>", "<v>42</v>")
    call("xlsx", "scripts/office/pack.py", "orders", "filled.xlsx", "--original", "orders.xlsx")
    return "<v>42</v>" in part(work / "filled.xlsx", "xl/worksheets/sheet1.xml")


def merge_pdfs(work: Path, call: Call) -> bool:
    """Merge three PDFs with the code of the skill's text."""
    call("written", "scripts/merge.py")
    return len(re.findall(rb"/Type /Page\b", (work / "merged.pdf").read_bytes())) == 3


def make_slide(work: Path, call: Call) -> bool:
    """Add a slide to a presentation, and give it a title."""
    call("pptx", "scripts/office/unpack.py", "deck.pptx", "deck")
    answer = call("pptx", "scripts/add_slide.py", "deck", "slide1.xml")
    found = re.search(r"<p:sldId [^>]*/>", answer)
    assert found, answer
    replace(work / "deck/ppt/presentation.xml", "</p:sldIdLst>", f"{found[0]}</p:sldIdLst>")
    replace(work / "deck/ppt/slides/slide2.xml", "Moon", "Tides")
    call("pptx", "scripts/clean.py", "deck")
    call("pptx", "scripts/office/pack.py", "deck", "talk.pptx", "--original", "deck.pptx")
    return "Tides" in part(work / "talk.pptx", "ppt/slides/slide2.xml")


def comment_on_letter(work: Path, call: Call) -> bool:
    """Add a comment to a document."""
    call("docx", "scripts/office/unpack.py", "letter.docx", "letter")
    call("docx", "scripts/comment.py", "letter", "0", "Ada who?", "--author", "Bo")
    call("docx", "scripts/office/pack.py", "letter", "commented.docx", "--original", "letter.docx")
    return "Ada who?" in part(work / "commented.docx", "word/comments.xml")


def fill_form(work: Path, call: Call) -> bool:
    """Fill a form of a PDF."""
    call("pdf", "scripts/extract_form_field_info.py", "form.pdf", "fields.json")
    (field,) = json.loads((work / "fields.json").read_text("utf-8"))
    value = {**field, "description": "The name", "value": "Ada"}
    (work / "values.json").write_text(json.dumps([value]), "utf-8")
    call("pdf", "scripts/fill_fillable_fields.py", "form.pdf", "values.json", "filled.pdf")
    return b"(Ada)" in (work / "filled.pdf").read_bytes()


def draw_gif(work: Path, call: Call) -> bool:
    """Draw an animation with the code of the skill's text, which imports modules of the skill."""
    call("slack-gif-creator", "scripts/draw.py")
    return (work / "output.gif").read_bytes()[:6] == b"GIF89a"


TASKS = (fill_spreadsheet, merge_pdfs, make_slide, comment_on_letter, fill_form, draw_gif)


def prepare(skills: Path, top: Path) -> tuple[Path, Call]:
    """Copy the skills, trust them, make the files of the user, and return their folder and what runs a script."""
    project, work = top / "project", top / "work"
    work.mkdir()
    folder = project / ".agents/skills"
    for name in ("xlsx", "pptx", "docx", "pdf", "slack-gif-creator"):
        shutil.copytree(skills / name, folder / name)
    written = skill(folder / "written").parent / "scripts"
    written.mkdir()
    (written / "files.py").write_text(FILES)
    (written / "merge.py").write_text(code_of(skills / "pdf/SKILL.md", "from pypdf import PdfWriter"))
    (folder / "slack-gif-creator/scripts").mkdir()
    code = code_of(skills / "slack-gif-creator/SKILL.md", "from core.gif_builder")
    (folder / "slack-gif-creator/scripts/draw.py").write_text(code)
    catalog = discover(project, home=top / "home", cache=False)
    trust = Trust(str(top / "config/trust.json"))
    for entry in catalog.skills:
        trust.allow(entry)
    tools = {tool.name: tool for tool in Session(catalog, trust=trust).tools(scripts=Scripts(cwd=work))}

    def call(name: str, script: str, *args: str) -> str:
        answer = tools["run_skill_script"].call(skill=name, script=script, args=[*args])
        if not answer.startswith("exit code 0\n"):
            raise RuntimeError(f"{script} of {name}: {answer}")
        return answer

    call("written", "scripts/files.py")
    return work, call


def main() -> int:
    """Do all tasks, and print what came of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("skills", type=Path, help="the folder `skills` of a clone of Anthropic's repository")
    done = 0
    with tempfile.TemporaryDirectory() as top:
        work, call = prepare(parser.parse_args().skills, Path(top))
        for task in TASKS:
            try:
                problem = "" if task(work, call) else "the file is not what it should be"
            except (RuntimeError, AssertionError, OSError, ValueError, KeyError) as error:
                problem = str(error)
            done += not problem
            print(f"{'FAIL' if problem else 'ok  '} {task.__doc__}{f' {problem}' if problem else ''}", flush=True)
    return int(done < len(TASKS))


if __name__ == "__main__":
    sys.exit(main())
