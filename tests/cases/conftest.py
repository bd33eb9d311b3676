"""Make each case of a document in this folder a test."""

from support.case_documents import pytest_collect_file

__all__ = ["pytest_collect_file"]
