"""What must hold of a folder that files are uploaded to, after a run with a fault."""

import pathlib

from targets import UNJOINED

TOLD = ("is not queued", "stay queued", "output.remote", "output.merged_remote", "upload", "output: ", "trace: ", "cut off")


def remote_options(place):
    """The folder `there`: without a run's name in the target a line says that runs would replace each other's files."""
    there = f"{place.path}/{{run_name}}/"
    return {"TRACEAGENT_RUN_NAME": "there", "TRACEAGENT_OUTPUT_REMOTE": there, "TRACEAGENT_OUTPUT_MERGED_REMOTE": there}


def missing_there(files):
    """Of the whole files here, those that are not there, or others."""
    here = {pathlib.Path(name).name: data for name, data in files.items()
            if name.startswith("out/") and name.count("/") == 1 and not pathlib.Path(name).name.startswith(".")}
    return sorted(name for name, data in here.items() if files.get(f"there/{name}") != data)


def upload_problems(ended, after_run, resumed, files, cell):
    """Under a final name there is a whole file (Traces says what is not); what is not queued is told of; what
    is queued arrives."""
    may_stay = cell.fails("unlink", "rename")
    strays = [name for name in files if name.startswith(("there/.", f"{UNJOINED}/"))]
    if strays and not may_stay:
        yield f"left there: {strays}"
    if resumed is not None and resumed.code not in (0, 1):
        yield f"`upload --resume` then ends with {resumed.code}: {resumed.err!r}"
    missing = missing_there(files)
    said = ended.problem_lines() if not cell.scenario.is_tool else ended.lines() + ended.out.splitlines()
    if cell.scenario.is_tool and ended.code != 0 and ended.lines():
        return  # who does it by hand is told that it is not done
    if missing and not any(words in line for line in said for words in TOLD):
        yield f"not there, and nobody says so: {missing}; there after the run: {after_run}"
