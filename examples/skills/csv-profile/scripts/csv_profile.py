#!/usr/bin/env python3
"""Profile one CSV file: its shape, each column's type and values, and what looks wrong.

Standard library only, Python 3.11 or later. The file is read once, row by row, and is never changed.

Exit codes: 0 a profile was printed, 1 the input cannot be profiled, 2 wrong use.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import stat
import sys
import tempfile
from collections import Counter
from datetime import UTC, date, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DELIMITERS = ",;\t|"
NULL_WORDS = frozenset({"NA", "N/A", "#N/A", "NULL", "null", "NaN", "nan", "None"})
BOOLEANS = frozenset({"true", "false", "yes", "no"})
SAMPLE_BYTES = 256 * 1024
FIELD_LIMIT = 16 * 1024 * 1024
LINE_BREAK_LIMIT = 100
"""A field with more line breaks than this was most likely opened by a stray quote."""
DUPLICATE_LIMIT = 2_000_000
"""Rows that are remembered, as hashes, to find duplicates."""
VALUE_LIMIT = 10_000
"""Distinct values remembered for each column."""
SHOWN = 80
"""Characters of one value in the output."""

INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,40}\.[0-9]{0,40}|\.[0-9]{1,40}|[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")
LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")
ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
ISO_DATETIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")
LOCAL_DATE = re.compile(r"([0-9]{1,2})[/.]([0-9]{1,2})[/.](?:[0-9]{4}|[0-9]{2})")
LOCAL_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]{1,3}(?:\.[0-9]{3})*,[0-9]+)")


class InputError(Exception):
    """The input cannot be profiled; the message says why and what to do."""


def classify(text: str) -> tuple[str, Any]:
    """Return the type of one value that is not missing, and a key that orders it."""
    if LEADING_ZERO.fullmatch(text):
        return "code", text
    if INTEGER.fullmatch(text):
        return "integer", int(text)
    if DECIMAL.fullmatch(text) and math.isfinite(number := float(text)):
        return "decimal", number
    if text.lower() in BOOLEANS:
        return "boolean", text.lower()
    try:
        if ISO_DATE.fullmatch(text):
            return "date", datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
        if ISO_DATETIME.fullmatch(text):
            moment = datetime.fromisoformat(text)
            return "datetime", moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        pass  # 2024-02-30 has the shape of a date and is not one
    return "text", text


class Column:
    """What is known of one column so far."""

    def __init__(self, index: int, name: str) -> None:
        self.index = index
        self.name = name
        self.present = self.missing = self.padded = self.long_integers = 0
        self.null_words: Counter[str] = Counter()
        self.types: Counter[str] = Counter()
        self.examples: dict[str, tuple[int, str]] = {}
        self.lowest: dict[str, tuple[Any, str]] = {}
        self.highest: dict[str, tuple[Any, str]] = {}
        self.total = 0.0
        self.shortest = self.longest = 0
        self.values: Counter[str] = Counter()
        self.values_full = False
        self.local_dates = self.local_numbers = 0
        self.day_first = self.month_first = False

    def add(self, raw: str, line: int) -> None:
        """Take in one field."""
        text = raw.strip()
        if not text or text in NULL_WORDS:
            self.missing += 1
            if text:
                self.null_words[text] += 1
            return
        self.padded += raw != text
        kind, key = classify(text)
        self.types[kind] += 1
        self.examples.setdefault(kind, (line, text))
        if kind not in self.lowest or key < self.lowest[kind][0]:
            self.lowest[kind] = (key, text)
        if kind not in self.highest or key > self.highest[kind][0]:
            self.highest[kind] = (key, text)
        if kind in ("integer", "decimal"):
            self.total += float(key)
            self.long_integers += kind == "integer" and len(text.lstrip("+-")) > 15
        elif kind == "text":
            self._local(text)
        self.shortest = min(self.shortest, len(text)) if self.present else len(text)
        self.longest = max(self.longest, len(text))
        self.present += 1
        if text in self.values or len(self.values) < VALUE_LIMIT:
            self.values[text] += 1
        else:
            self.values_full = True

    def _local(self, text: str) -> None:
        if match := LOCAL_DATE.fullmatch(text):
            self.local_dates += 1
            self.day_first |= int(match[1]) > 12
            self.month_first |= int(match[2]) > 12
        elif LOCAL_NUMBER.fullmatch(text):
            self.local_numbers += 1

    @property
    def type(self) -> str:
        """The narrowest type that holds every value."""
        kinds = set(self.types)
        if not kinds:
            return "empty"
        if len(kinds) == 1:
            return kinds.pop()
        if kinds == {"integer", "decimal"}:
            return "decimal"
        if kinds == {"date", "datetime"}:
            return "datetime"
        if kinds == {"integer", "code"}:
            return "code"
        return "text"

    def summary(self, top: int) -> dict[str, Any]:
        """Return the column as it is printed."""
        kind = self.type
        out: dict[str, Any] = {
            "index": self.index,
            "name": self.name,
            "type": kind,
            "present": self.present,
            "missing": self.missing,
            "distinct": len(self.values),
            "distinct_is_minimum": self.values_full,
        }
        if kind in ("integer", "decimal", "date", "datetime"):
            out["min"] = shown(min(self.lowest.values())[1])
            out["max"] = shown(max(self.highest.values())[1])
        if kind in ("integer", "decimal"):
            mean = self.total / self.present
            out["mean"] = round(mean, 6) if math.isfinite(mean) else None
        elif kind in ("text", "code"):
            out["shortest"], out["longest"] = self.shortest, self.longest
        out["top"] = [{"value": shown(value), "count": count} for value, count in self._most_common(top)]
        return out

    def _most_common(self, top: int) -> list[tuple[str, int]]:
        return sorted(self.values.items(), key=lambda item: (-item[1], item[0]))[:top]

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Yield code and message of what looks wrong here."""
        if not self.name.strip():
            yield "header-empty", "the column has no name"
        if self.null_words:
            words = ", ".join(f"{word!r} ({count})" for word, count in sorted(self.null_words.items()))
            yield "null-words", f"counted as missing: {words}"
        if self.padded:
            yield "padding", f"{self.padded} values have spaces around them"
        if not self.present:
            yield "all-missing", "no value at all"
            return
        if len(self.values) == 1 and self.present > 1 and not self.missing:
            yield "constant", f"every value is {shown(next(iter(self.values)))!r}"
        if "code" in self.types and self.type == "code":
            yield "leading-zeros", f"{self.types['code']} values begin with 0; read the column as text"
        if self.type == "text" and len(self.types) > 1:
            yield "mixed-types", self._mixed()
        if self.long_integers:
            yield "long-integers", f"{self.long_integers} integers have more than 15 digits; a float cannot hold them"
        if self.local_numbers:
            yield "local-numbers", f"{self.local_numbers} values are numbers written with a comma"
        if self.local_dates:
            yield "local-dates", f"{self.local_dates} values are dates, {self._date_order()}"

    def _mixed(self) -> str:
        parts = []
        for kind, count in self.types.most_common():
            line, text = self.examples[kind]
            parts.append(f"{count} {kind} (line {line}: {shown(text)!r})")
        return ", ".join(parts)

    def _date_order(self) -> str:
        if self.day_first and self.month_first:
            return "some day first and some month first"
        if self.day_first:
            return "day first"
        if self.month_first:
            return "month first"
        return "and nothing says whether the day or the month comes first"


def shown(text: str) -> str:
    """Return a value fit for output: one line, no control characters, not endless."""
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: SHOWN + 1])
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def open_input(name: str) -> IO[bytes]:
    """Open a path, or standard input for `-`, so that it can be read twice."""
    if name == "-":
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        while chunk := sys.stdin.buffer.read(1 << 20):
            copy.write(chunk)
        copy.seek(0)
        return copy
    path = Path(name)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{name} is a folder, not a CSV file")
        if not stat.S_ISREG(mode):
            raise InputError(f"{name} is not a regular file; to read a stream, pass - and pipe it in")
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None


def find_encoding(sample: bytes) -> str:
    """Return the encoding that the first bytes suggest; refuse files that are not text."""
    if not sample.strip(b"\xef\xbb\xbf\r\n\t "):
        raise InputError("the file is empty")
    if sample.startswith(b"PK\x03\x04"):
        raise InputError("this is a zip archive, perhaps an .xlsx workbook; export the sheet as CSV first")
    if sample.startswith(b"\x1f\x8b"):
        raise InputError("this is gzip data; unpack it and pipe it in: gzip -dc FILE | csv_profile.py -")
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in sample:
        raise InputError("there are NUL bytes in the file; it is binary, or UTF-16 (then pass --encoding utf-16-le)")
    return "utf-8-sig"


def find_delimiter(sample: str) -> str:
    """Return the delimiter under which most rows have the same number of fields, more than one."""
    lines = sample.splitlines(keepends=True)
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        widths = Counter(len(row) for row in csv.reader(lines[:200], delimiter=delimiter) if row)
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        score = (count / widths.total(), width) if width > 1 else (0.0, 0)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def bad_line(source: IO[bytes]) -> str:
    """Say which line is the first that is not UTF-8, and which byte of it."""
    source.seek(0)
    for number, line in enumerate(source, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            return f"line {number} (byte 0x{line[error.start]:02x} at column {error.start + 1})"
    return "the text"


def names_of(first: list[str], has_header: bool) -> list[str]:
    """Return one name for each column."""
    return [name.strip() for name in first] if has_header else [f"column_{i}" for i in range(1, len(first) + 1)]


def profile(source: IO[bytes], options: argparse.Namespace) -> dict[str, Any]:
    """Read the whole input and return its profile.

    Raises:
        InputError: it is not text, not in the encoding, or has a field that is too large.
    """
    sample = source.read(SAMPLE_BYTES)
    encoding = options.encoding or find_encoding(sample)
    if not sample:
        raise InputError("the file is empty")
    delimiter = options.delimiter
    if not delimiter:
        text = sample.decode(encoding, "replace")
        # The last line of a sample is cut somewhere; it says nothing about the width of a row.
        delimiter = find_delimiter(text if len(sample) < SAMPLE_BYTES else text.rpartition("\n")[0] or text)
    source.seek(0)
    lines = TextIOWrapper(source, encoding, newline="")
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        result = take_in(rows, options)
    except UnicodeError as error:
        hint = "" if options.encoding else "; a file from Excel on Windows is often --encoding cp1252"
        where = bad_line(source) if encoding.lower().startswith("utf-8") else "the text"
        raise InputError(f"{where} is not {encoding.removesuffix('-sig')}{hint}") from error
    except csv.Error as error:
        raise InputError(f"line {rows.line_num}: {error}; look for a quote that is never closed") from None
    finally:
        lines.detach()  # the caller closes the input
    return {"encoding": encoding, "delimiter": delimiter, **result}


def take_in(rows: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Read all rows into columns."""
    first = next((row for row in rows if row), None)
    if first is None:
        raise InputError("there is no row in the file")
    columns = [Column(i, name) for i, name in enumerate(names_of(first, not options.no_header), 1)]
    warnings: list[dict[str, Any]] = []
    seen: set[int] = set()
    count = blank = duplicates = ragged = 0
    ragged_at: list[str] = []
    stray_quote, truncated = 0, False
    line, pending = rows.line_num + 1, [first] if options.no_header else []
    if pending:
        line = 1
    while (row := pending.pop() if pending else next(rows, None)) is not None:
        if options.max_rows and count >= options.max_rows:
            truncated = True
            break
        start, line = line, rows.line_num + 1
        if not row:
            blank += 1
            continue
        count += 1
        if len(row) != len(columns):
            ragged += 1
            if len(ragged_at) < 5:
                ragged_at.append(f"line {start} has {len(row)}")
        if line - start > LINE_BREAK_LIMIT and not stray_quote:
            stray_quote = start
        if len(seen) < DUPLICATE_LIMIT:
            key = hash(tuple(row))
            duplicates += key in seen
            seen.add(key)
        for column, value in zip(columns, row, strict=False):
            column.add(value, start)
        for column in columns[len(row) :]:
            column.missing += 1

    def warn(code: str, message: str, column: str | None = None) -> None:
        warnings.append({"code": code, "column": column, "message": message})

    if ragged:
        more = ", ..." if ragged > len(ragged_at) else ""
        warn("ragged-rows", f"{ragged} rows do not have {len(columns)} fields: {', '.join(ragged_at)}{more}")
    if stray_quote:
        warn(
            "stray-quote",
            f"the row at line {stray_quote} has over {LINE_BREAK_LIMIT} line breaks; is a quote not closed?",
        )
    if blank:
        warn("blank-lines", f"{blank} lines are blank and were skipped")
    if duplicates:
        warn("duplicate-rows", f"{duplicates} rows repeat an earlier row")
    if not count:
        warn("no-rows", "there is a header and nothing below it")
    if not options.no_header:
        for name, times in Counter(column.name for column in columns).items():
            if times > 1 and name:
                warn("header-repeated", f"{times} columns have this name", shown(name))
        numbers = [c.name for c in columns if c.name and classify(c.name)[0] not in ("text", "boolean")]
        if numbers:
            names = ", ".join(repr(shown(name)) for name in numbers[:5])
            warn("header-is-data", f"the header holds values ({names}); if the file has no header, pass --no-header")
    if len(columns) == 1:
        warn("one-column", "there is one column; if that is wrong, pass --delimiter")
    for column in columns:
        for code, message in column.warnings() if count else ():
            warn(code, message, shown(column.name) or f"#{column.index}")
    return {
        "rows": count,
        "truncated": truncated,
        "columns": [{**c.summary(options.top), "name": shown(c.name)} for c in columns],
        "warnings": warnings,
    }


def as_table(result: dict[str, Any]) -> str:
    """Return the profile as text for a reader."""
    delimiter = {"\t": "tab"}.get(result["delimiter"], result["delimiter"])
    rows = f"{result['rows']:,} rows" + (" (stopped there)" if result["truncated"] else "")
    lines = [f"{rows}, {len(result['columns'])} columns, delimiter {delimiter}, {result['encoding']}", ""]
    table = [("#", "name", "type", "missing", "distinct", "min", "max", "mean", "most frequent")]
    for c in result["columns"]:
        top = ", ".join(f"{cut(item['value'], 16)} ({item['count']})" for item in c["top"][:3])
        size = [f"{c[key]} chars" if key in c else "" for key in ("shortest", "longest")]
        mean = f"{c['mean']:g}" if c.get("mean") is not None else ""
        distinct = f"{c['distinct']}{'+' if c['distinct_is_minimum'] else ''}"
        low, high = cut(c.get("min", size[0]), 20), cut(c.get("max", size[1]), 20)
        table.append(
            (str(c["index"]), cut(c["name"], 24), c["type"], str(c["missing"]), distinct, low, high, mean, top)
        )
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    if result["warnings"]:
        lines += ["", "warnings:"]
        for w in result["warnings"]:
            lines.append(f"  {w['code']}" + (f" [{w['column']}]" if w["column"] else "") + f": {w['message']}")
    return "\n".join(lines)


def cut(text: str, width: int) -> str:
    """Shorten a text to a width."""
    return text if len(text) <= width else text[: width - 1] + "…"


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line; wrong use ends the process with code 2."""
    parser = argparse.ArgumentParser(prog="csv_profile.py", description="Profile one CSV file.", allow_abbrev=False)
    parser.add_argument("file", help="the CSV file, or - for standard input")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    parser.add_argument("--delimiter", help="one character, or `tab`; default: found from the first rows")
    parser.add_argument("--encoding", help="default: UTF-8, or UTF-16 with a byte order mark")
    parser.add_argument("--no-header", action="store_true", help="the first row is data")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="most frequent values a column (default: 5)")
    parser.add_argument("--max-rows", type=int, default=0, metavar="N", help="stop after N rows (default: read all)")
    options = parser.parse_args(argv)
    options.delimiter = {"tab": "\t", "\\t": "\t"}.get(options.delimiter, options.delimiter)
    if options.delimiter is not None and (len(options.delimiter) != 1 or options.delimiter in '\r\n"\0 '):
        parser.error("--delimiter takes one character that is no quote, space or line break; write `tab` for a tab")
    if options.top < 0 or options.max_rows < 0:
        parser.error("--top and --max-rows take a number that is not negative")
    if options.encoding:
        try:
            "a,b".encode(options.encoding)
        except (LookupError, UnicodeError, ValueError):
            parser.error(f"--encoding: Python knows no text encoding called {options.encoding!r}")
    return options


def main(argv: list[str] | None = None) -> int:
    """Print a profile; return the exit code."""
    options = arguments(argv)
    csv.field_size_limit(FIELD_LIMIT)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        with open_input(options.file) as source:
            result = {"file": options.file, **profile(source, options)}
        print(json.dumps(result, ensure_ascii=False, indent=2) if options.format == "json" else as_table(result))
        sys.stdout.flush()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has gone; nothing is left to say
            return 0
        print(f"error: cannot read {options.file}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
