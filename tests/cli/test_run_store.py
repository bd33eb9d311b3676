"""The options of `prowess run` for stored conversations, before a model is needed."""

from __future__ import annotations

import pytest

from prowess.cli import main


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            ["--conversation", "c", "--serve"], "`--conversation` and `--serve` exclude each other", id="serve"
        ),
        pytest.param(["--conversation", "c", "--dry-run"], "`--conversation` and `--dry-run` exclude", id="dry-run"),
        pytest.param(["--conversation", "c", "-p", "x"], "`--conversation` needs a store", id="no-store"),
        pytest.param(
            ["--store", "sqlite:///x", "-p", "x"], "`--store` needs `--serve` or `--conversation`", id="alone"
        ),
        pytest.param(["--serve", "--store-keep", "0"], "invalid number of days: 0", id="zero"),
        pytest.param(["--serve", "--store-keep", "nan"], "invalid number of days: nan", id="nan"),
    ],
)
def test_options_that_do_not_fit_together_are_wrong_use(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PROWESS_STORE", raising=False)
    assert main(["run", "role.yaml", *options]) == 2
    assert message in capsys.readouterr().err
