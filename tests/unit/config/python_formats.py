#!/usr/bin/env python3
"""Writes python_formats.txt: what Python's format() gives for many specifications.

usage: python_formats.py > python_formats.txt
Each line: i|r|s TAB value TAB specification TAB result, or ! where Python refuses.
"""
import random

RANDOM = random.Random(20261120)
ALIGNS = ["", "", "", "<", ">", "^", "=", "*<", "_>", "x^", "0=", "\u20ac>", "0<"]
SIGNS = ["", "", "", "+", "-", " "]
WIDTHS = ["", "", "1", "4", "7", "12", "20"]
GROUPS = ["", "", "", ",", "_"]
PRECISIONS = ["", "", "", ".0", ".1", ".2", ".5"]
INTEGERS = [0, 1, -1, 5, 42, -1234, 1234567, 255, -255, 2**63 - 1, -(2**63), 10**12]
REALS = [0.0, 1.0, 1.5, 0.1, 12.345678, 3661.25, 99.995, 1e-5, 0.0001234, 123456789.0, 1e16,
         9999999999999998.0, 2.5, 1234567.891, 0.5, 1e22, 100.0]
TEXTS = ["run", "a", "my-run_01", "gr\u00fc\u00df", "resnet50"]
TYPES = {"i": ["", "", "d", "x", "X", "o", "b", "f", "e", "%", "s", "E"],
         "r": ["", "f", "f", "e", "g", "G", "%", "F", "E", "d", "s", "x"],
         "s": ["", "s", "s", "d", "f"]}


def specification(kind):
    flags = RANDOM.choice(["", "", "", "#"]) if kind == "i" else ""
    zero = RANDOM.choice(["", "", "0"])
    # Zero before text differs between Python versions: not in the table; '#' before e, f and g has rows of its own.
    kind_of_type = RANDOM.choice(TYPES[kind])
    if flags and kind_of_type in ("f", "e", "%", "E"):
        flags = ""
    if kind == "s":
        zero = ""
    return (RANDOM.choice(ALIGNS) + RANDOM.choice(SIGNS if kind != "s" else [""]) + flags + zero
            + RANDOM.choice(WIDTHS) + RANDOM.choice(GROUPS if kind != "s" else [""])
            + RANDOM.choice(PRECISIONS) + kind_of_type)


def rows(next_row, count):
    """Each of them once; next_row() tells the next kind, value and specification."""
    seen = set()
    while len(seen) < count:
        kind, value, spec = row = next_row()
        if row in seen:
            continue
        seen.add(row)
        try:
            result = format(value, spec)
        except ValueError:
            result = "!"
        print(kind, repr(value) if kind == "r" else value, spec, result, sep="\t")


def always_with_point():
    spec = (RANDOM.choice(ALIGNS) + RANDOM.choice(SIGNS) + "#" + RANDOM.choice(["", "", "0"])
            + RANDOM.choice(WIDTHS) + RANDOM.choice(GROUPS) + RANDOM.choice(PRECISIONS)
            + RANDOM.choice(["", "f", "e", "g", "G", "%", "F", "E"]))
    return "r", RANDOM.choice(REALS), spec


def main():
    for kind, values in (("i", INTEGERS), ("r", REALS), ("s", TEXTS)):
        rows(lambda: (kind, RANDOM.choice(values), specification(kind)), 700)
    rows(always_with_point, 500)


main()
