"""Weights of the features of facts and of lines. Written by benchmarks/train_extraction.py; do not edit.

Fitted on 2026-11-25 to 76 sessions. Measured on projects that were left out:

- target 62% (61.1% of the tokens left): fact recall 0.997, edit recall 0.986; worst 0.970 (erk), 0.944 (sample)
- target 47% (46.6% of the tokens left): fact recall 0.985, edit recall 0.951; worst 0.926 (entiresem), 0.735
  (entiresem)
- target 30% (30.1% of the tokens left): fact recall 0.902, edit recall 0.834; worst 0.689 (entiresem), 0.594
  (entiresem)
- min_worth 0.14 (74.6% of the tokens left): fact recall 0.998, edit recall 0.991; worst 0.981 (entiresem), 0.914
  (entireskills)
- min_worth 0.18 (73.4% of the tokens left): fact recall 0.996, edit recall 0.989; worst 0.975 (ohmyposh), 0.914
  (entireskills)
- min_worth 0.22 (72.2% of the tokens left): fact recall 0.994, edit recall 0.988; worst 0.963 (ohmyposh), 0.914
  (entireskills)
- means over 87 cuts of 15 projects, of which 11 ask for lines, and of the worst project, with preset balanced
"""

from __future__ import annotations

from typing import Final

FACTS: Final = {
    "one": 3.901,
    "written": -0.548,
    "times written": 0.6519,
    "said": 0.1036,
    "an argument": 0.9057,
    "in an edit": -0.9414,
    "requested": 1.024,
    "in the newest request": -1.436,
    "in an error": 0.2502,
    "shown": 0.6597,
    "beside a written one": 0.4364,
    "age": -0.3692,
    "age if written": 0.1336,
    "age of the first mention": 0.01928,
    "mentions": -0.04137,
    "facts beside": -0.1906,
    "length": -0.08666,
    "path": 0.1449,
    "number": -0.5469,
    "name": 0.1584,
    "file name": -0.07575,
    "hash": 0.9129,
    "conversation": -0.323,
}
LINES: Final = {
    "one": 3.947,
    "read in part": -0.3721,
    "created": 0.1799,
    "written by an edit": -2.038,
    "shown after an edit": -3.236,
    "edited": 0.5343,
    "age of the edit": -0.06493,
    "age": -0.4739,
    "age of a part read": 0.03835,
    "age if created": 0.006813,
    "age if written by an edit": 0.2431,
    "age if shown after an edit": 0.4561,
    "age of the file": -0.06387,
    "reads": -0.336,
    "lines": -0.1119,
    "files after": 0.115,
    "edits of all files": 0.1946,
    "conversation": -0.2165,
    "length": -0.07755,
    "indentation": 0.1078,
    "definition": 0.3935,
    "comment": 0.3621,
    "import": 0.6399,
    "likeliest fact": -0.5181,
    "sum of facts": 0.1913,
    "written": 0.2909,
    "in the newest request": 0.4906,
    "written nearby": 0.611,
    "likeliest nearby": 1.836,
    "likely around": -2.553,
}
OVERSTATED: Final = 3.62
"""So many facts are expected to be needed for each that is: what is needed soon counts more."""
