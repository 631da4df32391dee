"""Weights of the features of facts and of lines. Written by benchmarks/train_extraction.py; do not edit.

Fitted on 2026-11-23 to 76 sessions. Measured on projects that were left out:

- target 62% (61.1% of the tokens left): fact recall 0.992, edit recall 0.981; worst 0.954 (ohmyposh), 0.926 (sample)
- target 47% (46.7% of the tokens left): fact recall 0.966, edit recall 0.908; worst 0.886 (ohmyposh), 0.721
  (entiresem)
- target 30% (30.1% of the tokens left): fact recall 0.886, edit recall 0.766; worst 0.690 (entireskills), 0.326
  (packmind)
- min_worth 0.14 (72.1% of the tokens left): fact recall 0.995, edit recall 0.984; worst 0.971 (ohmyposh), 0.914
  (entireskills)
- min_worth 0.2 (69.7% of the tokens left): fact recall 0.990, edit recall 0.980; worst 0.950 (ohmyposh), 0.901
  (entiresem)
- means over 87 cuts of 15 projects, of which 11 ask for lines, and of the worst project, with preset balanced
"""

from __future__ import annotations

from typing import Final

FACTS: Final = {
    "one": 1.082,
    "written": -0.5521,
    "times written": 0.7595,
    "said": 0.2441,
    "an argument": 0.4231,
    "in an edit": -0.623,
    "requested": 0.745,
    "in the newest request": -1.244,
    "in an error": 0.003152,
    "shown": 0.853,
    "beside a written one": 0.4392,
    "age": -0.3304,
    "age if written": 0.1444,
    "age of the first mention": -0.03014,
    "mentions": -0.0858,
    "facts beside": -0.2405,
    "length": -0.09986,
    "path": 0.1325,
    "number": -0.3525,
    "name": 0.03905,
    "file name": 0.01216,
    "hash": 0.4763,
    "conversation": -0.2072,
}
LINES: Final = {
    "one": 0.2134,
    "read in part": 0.1492,
    "created": 0.5374,
    "written by an edit": -0.6973,
    "shown after an edit": -0.7333,
    "edited": 0.01003,
    "age of the edit": -0.01039,
    "age": -0.3047,
    "age of a part read": 0.00146,
    "age if created": -0.03181,
    "age if written by an edit": 0.07848,
    "age if shown after an edit": 0.205,
    "age of the file": -0.1448,
    "reads": -0.4425,
    "lines": -0.08337,
    "files after": 0.152,
    "edits of all files": 0.1647,
    "conversation": -0.0938,
    "length": -0.1286,
    "indentation": 0.1054,
    "definition": 0.4914,
    "comment": 0.2459,
    "import": 0.5696,
    "likeliest fact": -0.5136,
    "sum of facts": 0.3999,
    "written": 0.2302,
    "in the newest request": 0.216,
    "written nearby": 0.6767,
    "likeliest nearby": 1.395,
    "likely around": -0.5565,
}
KEPT: Final = {
    0.14: (99.5, 97.1, 15, 98.4, 91.4, 11, 87),
    0.2: (99.0, 95.0, 15, 98.0, 90.1, 11, 87),
}
"""By `min_worth` percent of facts, of the worst project, number of projects; the same of edits; cuts."""
