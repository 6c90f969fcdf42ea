"""Lets these scripts find the process tests' own modules."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "process"))
