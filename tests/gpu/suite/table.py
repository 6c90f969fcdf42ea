"""The rows as a table on the terminal and as RESULTS.md; rows of several calls are put together."""

import json
import os
import pathlib
import textwrap


def load(path):
    path = pathlib.Path(path)
    return json.loads(path.read_text()) if path.exists() else {"machine": {}, "rows": {}}


def save(path, results):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    os.replace(part, path)


def put(rows, name, row):
    """A row of this call. What failed before and had no time now has still failed."""
    if row["state"] != "not run" or rows.get(name, {}).get("state") != "FAILED":
        rows[name] = row


def in_words(row):
    parts = [f"{name} {value}" for name, value in row["figures"].items()]
    return "; ".join(parts + row["notes"])


def counts(rows):
    states = [row["state"] for row in rows.values()]
    return ", ".join(f"{states.count(state)} {state}" for state in ("passed", "FAILED", "skipped", "not run")
                     if state in states)


def text(rows):
    lines = []
    for name, row in rows.items():
        lines.append(f"{row['state']:8} {name:26} {row['seconds']:6.1f} s  {in_words(row)}")
        lines += [textwrap.indent(textwrap.shorten(problem, 1500), "           ! ") for problem in row["problems"]]
    return "\n".join([*lines, counts(rows)])


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


def markdown(results):
    rows = results["rows"]
    lines = ["# What a real GPU showed" if "driver" in results["machine"] else "# What the simulated GPU showed",
             "", "Written by `tests/gpu/run`; `tests/gpu/README.md` says what each case does.", "",
             "| | |", "|---|---|"]
    lines += [f"| {cell(what)} | {cell(value)} |" for what, value in results["machine"].items()]
    lines += ["", f"{len(rows)} cases: {counts(rows)}.", "", "| case | | figures |", "|---|---|---|"]
    for name, row in rows.items():
        words = "; ".join(filter(None, [in_words(row), *(f"**{problem[:300]}**" for problem in row["problems"])]))
        lines.append(f"| {name} | {row['state']} | {cell(words)} |")
    return "\n".join(lines) + "\n"
