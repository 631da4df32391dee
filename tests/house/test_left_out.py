"""Figures of a session come from weights that its project had no part in."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from real import PROJECT, SESSION

from condense_cli import api
from condense_cli.extractive import likelihood
from condense_cli.extractive.likelihood import MODEL, Model
from condense_cli.extractive.survey import Survey
from condense_cli.tokens.counting import Counter


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    module = importlib.import_module("left_out")
    monkeypatch.setattr(module, "FILE", tmp_path / "folds.json")
    return module


def _model(weight: float) -> Model:
    return Model((weight,) * len(MODEL.facts), (weight,) * len(MODEL.lines))


def test_a_session_gets_the_weights_of_the_fold_that_leaves_its_project_out(left_out: ModuleType) -> None:
    folds = [left_out.Fold.of(["app", "entire"], _model(1.0)), left_out.Fold.of(["other"], _model(2.0))]
    left_out.write(folds)
    used = {}
    for name in ("x--app__1.jsonl", "entirecli-go.jsonl", "other-1.jsonl", "unknown.jsonl"):
        with left_out.without(Path(name)):
            used[name] = likelihood.MODEL
    assert used == {
        "x--app__1.jsonl": _model(1.0),
        "entirecli-go.jsonl": _model(1.0),
        "other-1.jsonl": _model(2.0),
        "unknown.jsonl": MODEL,
    }
    assert likelihood.MODEL is MODEL


# Where the survey kept weights of its own, all figures of projects left out would be too good.
def test_a_survey_works_with_them(left_out: ModuleType) -> None:
    messages = api.load(SESSION).messages
    with left_out.using(_model(-1.0)):
        assert max(Survey(messages, Counter()).weights) < 0.1
    assert max(Survey(messages, Counter()).weights) > 0.1


def test_the_usual_weights_come_back_after_an_error(left_out: ModuleType) -> None:
    with pytest.raises(KeyError), left_out.using(_model(1.0)):
        raise KeyError
    assert likelihood.MODEL is MODEL


# A feature that came or went has to be fitted in every fold.
def test_the_folds_have_the_features_of_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    module = importlib.import_module("left_out")
    folds = module.folds()
    assert len(folds) == 4
    assert len({project for fold in folds for project in fold.projects}) == sum(len(fold.projects) for fold in folds)
    for fold in folds:
        assert [*fold.facts] == [*module.OF_FACTS]
        assert [*fold.lines] == [*module.OF_LINES]
        assert fold.model != MODEL
