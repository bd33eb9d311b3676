"""Six tasks with documents, from the user's file to the finished one: skills with scripts, and packages of PyPI."""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from support.files import write_files
from support.sessions import SKILLS, new_session
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prowess.session import Trust

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("bwrap"),
    pytest.mark.skipif(sys.platform != "linux", reason="the tests of other sandboxes are in tests/sandbox"),
    pytest.mark.skipif(
        shutil.which("uv") is None and not shutil.which("uv", path=sys.prefix + "/bin"), reason="uv is not installed"
    ),
]


def pdf(*more: str, page: str = "") -> bytes:
    """Return a PDF with one page and further objects, which have the numbers from 4 on."""
    catalog = "/AcroForm << /Fields [4 0 R] >>" if more else ""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] {page} >>",
        *more,
    ]
    text, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n{content}\nendobj\n"
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{rows}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return f"{text}{table}startxref\n{len(text)}\n%%EOF\n".encode()


FIELD = "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /Rect [10 10 90 30] /P 3 0 R >>"


def prepare(project: Path) -> None:
    """Write the files of the user."""
    write_files(project, {"orders.csv": "item,price\ntea,30\nmilk,12\n"})
    (project / "a.pdf").write_bytes(pdf())
    (project / "b.pdf").write_bytes(pdf())
    (project / "form.pdf").write_bytes(pdf(FIELD, page="/Annots [4 0 R]"))
    with zipfile.ZipFile(project / "letter.docx", "w") as archive:
        archive.writestr("word/document.xml", "<w:document><w:t>Dear NAME,</w:t></w:document>")


def part(name: str, text: str) -> Callable[[Path], bool]:
    """Return a check: whether a part of a document contains a text."""
    return lambda path: text in zipfile.ZipFile(path).read(name).decode()


TASKS: dict[str, tuple[dict[str, str], list[dict[str, Any]], str, Callable[[Path], bool]]] = {
    "a spreadsheet is filled": (
        {
            "scripts/fill.py": "import csv, sys\nfrom openpyxl import Workbook\nbook = Workbook()\n"
            "for row in csv.reader(open(sys.argv[1])):\n    book.active.append(row)\n"
            "book.active['D1'] = sum(int(row[1].value) for row in list(book.active.rows)[1:])\nbook.save(sys.argv[2])\n"
        },
        [{"script": "scripts/fill.py", "args": ["orders.csv", "orders.xlsx"]}],
        "orders.xlsx",
        part("xl/worksheets/sheet1.xml", "<v>42</v>"),
    ),
    "PDFs are merged": (
        {
            "scripts/merge.py": "# /// script\n# dependencies = ['pypdf>=5']\n# ///\nimport sys\n"
            "from pypdf import PdfWriter\nwriter = PdfWriter()\nfor name in sys.argv[2:]:\n    writer.append(name)\n"
            "writer.write(sys.argv[1])\n"
        },
        [{"script": "scripts/merge.py", "args": ["both.pdf", "a.pdf", "b.pdf"]}],
        "both.pdf",
        lambda path: len(re.findall(rb"/Type /Page\b", path.read_bytes())) == 2,
    ),
    "a slide is made": (
        {
            "scripts/__init__.py": "",
            "scripts/slide.py": "import sys\nfrom pptx import Presentation\nshow = Presentation()\n"
            "slide = show.slides.add_slide(show.slide_layouts[0])\nslide.shapes.title.text = sys.argv[1]\n"
            "show.save('talk.pptx')\n",
            "requirements.txt": "python-pptx\n",
        },
        [{"module": "scripts.slide", "args": ["Tides"]}],
        "talk.pptx",
        part("ppt/slides/slide1.xml", "Tides"),
    ),
    "a document is unpacked, edited and packed": (
        {
            "scripts/unpack.py": "import sys, zipfile\nzipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])\n",
            "scripts/edit.py": "import sys\nfrom pathlib import Path\npath = Path(sys.argv[1], 'word/document.xml')\n"
            "path.write_text(path.read_text().replace(*sys.argv[2:]))\n",
            "scripts/pack.py": "import sys, zipfile\nfrom pathlib import Path\nfolder = Path(sys.argv[1])\n"
            "with zipfile.ZipFile(sys.argv[2], 'w') as archive:\n    for path in folder.rglob('*.xml'):\n"
            "        archive.write(path, path.relative_to(folder))\n",
        },
        [
            {"script": "scripts/unpack.py", "args": ["letter.docx", "letter"]},
            {"script": "scripts/edit.py", "args": ["letter", "NAME", "Ada"]},
            {"script": "scripts/pack.py", "args": ["letter", "done.docx"]},
        ],
        "done.docx",
        part("word/document.xml", "Dear Ada,"),
    ),
    "a form of a PDF is filled": (
        {
            "scripts/form.py": "import json, sys\nfrom pypdf import PdfReader, PdfWriter\n"
            "writer = PdfWriter(clone_from=PdfReader('form.pdf'))\n"
            "writer.update_page_form_field_values(writer.pages[0], json.load(sys.stdin))\nwriter.write('filled.pdf')\n"
        },
        [{"script": "scripts/form.py", "input": '{"name": "Ada"}'}],
        "filled.pdf",
        lambda path: b"(Ada)" in path.read_bytes(),
    ),
    "a GIF is drawn": (
        {
            "scripts/draw.py": "from PIL import Image\n"
            "frames = [Image.new('RGB', (8, 8), color) for color in ('red', 'green', 'blue')]\n"
            "frames[0].save('dots.gif', save_all=True, append_images=frames[1:], loop=0)\n"
        },
        [{"script": "scripts/draw.py"}],
        "dots.gif",
        lambda path: path.read_bytes()[:6] == b"GIF89a" and b"NETSCAPE2.0" in path.read_bytes(),
    ),
}


@pytest.mark.parametrize(("files", "calls", "name", "is_done"), TASKS.values(), ids=TASKS)
def test_a_task_with_documents_ends_with_its_file(
    project: Path,
    trust: Trust,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    calls: list[dict[str, Any]],
    name: str,
    is_done: Callable[[Path], bool],
) -> None:
    """The calls are those of a model; the application gets the file, and the folder of the user stays as it is."""
    monkeypatch.delenv("UV_OFFLINE")
    prepare(project)
    write_files(skill(project / SKILLS / "office").parent, files)
    before = sorted(path.name for path in project.iterdir())
    session = new_session(project, trust=trust)
    trust.allow(session.catalog.resolve("office"))
    tools = {tool.name: tool for tool in session.tools(scripts=True)}
    assert "Do it." in tools["activate_skill"].call(name="office")
    for call in calls:
        answer = tools["run_skill_script"].call(skill="office", **call)
        if "check the connection to the package index" in answer:
            pytest.skip("no package index can be reached")
        assert answer.startswith("exit code 0\n"), answer
    (made,) = (file for file in session.files() if file.name == name)
    with made.open() as file:
        (tmp_path / name).write_bytes(file.read())
    assert is_done(tmp_path / name)
    assert sorted(path.name for path in project.iterdir()) == before
