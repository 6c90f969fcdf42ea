#!/usr/bin/env python3
"""Lets every call that the agent and the tool make of libc fail, place by place and error by error; in
each cell of the table the job is the same as without the agent, what is wrong is said, and the files
that are there are whole.

usage: matrix_test.py BUILD_FOLDER DEPS_FOLDER [--all | --brief | --count] [--memory] [--only FUNCTION] [--every N]
                      [--by-function] [--beneath N] [--call-sites] [SCENARIO ...]
  --all      each call of each place, not only the first, the second and all of them; in each scenario,
             not only in the first that has the place
  --brief    the first and all calls of each place, not the second
  --count    how many cells that would be
  --memory   malloc and its like alone: 30 of its calls; with --all each
  --only     functions that match, as in --only '^(open|mmap)$'
  --every    each N-th cell alone (for an even N each N+1-th), as in --memory --all --every 21
  --by-function  a row for each function, and which functions no scenario calls
  --beneath N    and places that only a fault leads to: there a second call fails behind the first, to N such faults
  --call-sites   which call instructions of the library and the tools no run has reached"""

import collections
import concurrent.futures
import os
import re
import resource
import sys
import time

import context  # noqa: F401
import outcome
import started_job
from call_sites import show_unreached
from cell import MEMORY, cells_at
from fault_job import FAULTS, Place, Traces
from fault_places import OBJECT_SHIFT, Names, read_places
from function_table import show_functions
from places import ARGUMENTS, BUILD, LIBRARY, need
from scenarios import JOB, LAUNCHER, MPIRUN, OPTIONS_FILE, RUN, TOOL, UPLOADER, scenarios
from uploads import upload_problems

WORKERS = 4  # they mostly sleep


def is_wanted(place, options, only):
    # libcurl 7.88 signs without a look whether libcrypto has memory.
    if place.offset >> OBJECT_SHIFT and place.function.name.startswith("EVP_"):
        return False
    is_memory = place.function.name in MEMORY
    return is_memory == ("--memory" in options) and re.search(only, place.function.name)


def undisturbed(scenario):
    """What a run without faults is like, and the places that it calls from."""
    with Place() as place:
        bare = None if scenario.is_tool else scenario.run_bare(place)
        bare_files = place.files()
    with Place() as place:
        ended = scenario.run(place)
        if scenario.keeps and not place.end_keepers(outcome.KEEPER_PATIENCE_S):
            print(f"FAILED: {scenario.name} without faults: what it started did not end")
            sys.exit(1)
        places = read_places(place.table)
        expected = outcome.Expected(bare, bare_files, place.files(), {each.key() for each in places})
        left = [] if scenario.before == [] or scenario.leaves_rings else place.left_in_memory()
    wanted = (0, 1) if scenario.is_tool else (bare.code,)
    is_traced = scenario.is_tool or expected.counts
    if ended.code not in wanted or (ended.problem_lines() and scenario.name == "job") or left or not is_traced:
        print(f"FAILED: {scenario.name} without faults: {ended.code} {ended.out} {ended.err} {left}")
        sys.exit(1)
    lower_by_other_runs(scenario, expected)
    return expected, places


def lower_by_other_runs(scenario, expected):
    """Where it is chance what stays: on a busy machine one run kept twice what the cells keep, and so did three while the
    machine was busier than it was later on."""
    for _ in range(2 if scenario.may_keep else 0):
        lower_by_another_run(scenario, expected)


def lower_by_another_run(scenario, expected):
    with Place() as place:
        scenario.run(place)
        if not scenario.keeps or place.end_keepers(outcome.KEEPER_PATIENCE_S):
            expected.lower(place.files())


def recover(place):
    return place.run([TOOL, "recover", "--all"], preload=(), TRACEAGENT_RING_FOLDER=place.rings)


def run_cell(cell, expected):
    scenario = cell.scenario
    with Place() as place:
        ended = scenario.run(place, cell.rule())
        if place.table.exists():
            seen = read_places(place.table)
            cell.was_reached = any(each.hits for each in seen if each.is_at(cell.place))
            cell.found = [each for each in seen if each.key() not in expected.called]
        else:
            cell.problems.append("its count of calls is gone")
        if scenario.keeps and not place.end_keepers(outcome.KEEPER_PATIENCE_S):
            cell.problems.append("what it started did not end")
        cell.problems += [f"a killed run's ring is not what it was: {name}" for name in place.changed_older()]
        gone = place.take_older()
        left, recovered, left_then = place.left_in_memory(), None, []
        if left:
            recovered = recover(place)
            left_then = place.left_in_memory()
        traces = Traces(place.files())
        if scenario.uploads:
            there = sorted(name for name in traces.contents if name.startswith("there/"))
            resumed = scenario.upload_the_rest(place)
        files = place.files()
    cell.lines = [re.sub(r"/\S*traceagent-faults-[^/ ]*", "", line) for line in ended.problem_lines()]
    if ended.code == "hangs" or ended.wall_s > outcome.PATIENCE_S:
        cell.problems.append(f"took {ended.wall_s:.0f} s")
    if scenario.is_tool:
        cell.problems += outcome.tool_problems(ended, cell)
        cell.problems += outcome.tool_file_problems(scenario, ended, traces, files, left, cell)
        cell.problems += outcome.merged_problems(expected, ended, files, cell)
    elif scenario.starts and started_job.is_refused(expected, ended):
        cell.problems += started_job.refusal_problems(ended, files, [OPTIONS_FILE, LAUNCHER], left,
                                                      outcome.is_voiceless(cell))
    else:
        cell.problems += outcome.job_problems(expected, ended, files, cell)
        cell.problems += outcome.line_problems(ended, cell)
        cell.problems += outcome.trace_problems(expected, ended, traces, cell)
        cell.problems += outcome.counter_problems(expected, ended, traces, cell)
        cell.problems += outcome.left_problems(ended, cell, left, recovered, left_then)
        cell.problems += outcome.older_problems(ended, gone)
        if scenario.starts:
            cell.problems += started_job.name_problems(expected, files)
    if scenario.uploads:
        cell.problems += upload_problems(ended, there, resumed, files, cell)
    return cell


def run_again_if_bad(cell, expected):
    """On a busy machine what is awaited may come too late: only what happens twice is the fault's
    doing. But a job that was harmed once was harmed."""
    run_cell(cell, expected)
    if cell.problems and not any(problem.startswith("the job's") for problem in cell.problems):
        cell.problems, cell.lines = [], []
        lower_by_other_runs(cell.scenario, expected)
        run_cell(cell, expected)
    return cell


def cells_of(scenario, places, known, options, only):
    for place in places:
        key = (scenario.object, place.function.name, place.offset)
        if options & {"--memory", "--all", "--count"}:
            key += (scenario.name,)
        if key in known or not is_wanted(place, options, only):
            continue
        known.add(key)
        yield from cells_at(scenario, place, options)


def cells_beneath(cells, known, options, only):
    """What is done after a fault calls from places of its own: these fail next, behind the first fault that led there."""
    for cell in cells:
        for place in cell.found if cell.was_reached else []:
            key = (cell.scenario.object, place.function.name, place.offset)
            if key in known or not is_wanted(place, options, only):
                continue
            known.add(key)
            yield from cells_at(cell.scenario, place, options, cell)


def show(cells, names):
    """The table: a row for each function, place and error; cells that agree share one."""
    rows = collections.defaultdict(list)
    for cell in cells:
        where = names[cell.scenario.object].of(cell.place.offset)
        what = re.sub(r"\d{3,}", "N", cell.outcome())
        rows[cell.scenario.name, cell.place.function.name, where, cell.action, what].append(
            f"{cell.call}{'+' if cell.lasts else ''}")
    for (scenario, function, where, action, what), calls in rows.items():
        print(f"{scenario:13} {function:20} {where:48} {action:11} call {' '.join(calls):8} {what[:200]}")


def run_cells(pool, cells, expected):
    return list(pool.map(lambda cell: run_again_if_bad(cell, expected[cell.scenario.name]), cells))


def run_beneath(pool, done, depth, expected, known, options, only):
    """Wave by wave: behind each fault the next one."""
    wave = done
    for level in range(1, depth + 1):
        wave = run_cells(pool, list(cells_beneath(wave, known, options, only)), expected)
        print(f"behind {level} {'fault' if level == 1 else 'faults'}: {outcome_of(wave)}")
        yield from wave


def outcome_of(cells):
    places = {cell.key() for cell in cells}
    bad, unreached = sum(bool(cell.problems) for cell in cells), sum(not cell.was_reached for cell in cells)
    return f"{len(cells)} cells of {len(places)} places, {bad} bad, {unreached} not reached"


def take_number(words, option, otherwise):
    return int(words.pop(words.index(option) + 1)) if option in words else otherwise


def main():
    for path in (LIBRARY, FAULTS, JOB, TOOL, RUN, MPIRUN, UPLOADER):
        need(path, path.name)
    words = list(ARGUMENTS)
    only = words.pop(words.index("--only") + 1) if "--only" in words else ""
    # Odd: a place's first call and all of them alternate, and an even part would have the first alone.
    every, depth = take_number(words, "--every", 1) | 1, take_number(words, "--beneath", 0)
    options = {word for word in words if word.startswith("--")}
    pattern = "|".join(f"^{word}$" for word in words if not word.startswith("--"))
    # Fewer open files than allowed, as most users have.
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, most_files), most_files))
    known, called, reached, expected = set(), set(), collections.defaultdict(set), {}
    done, began = [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for scenario in scenarios(pattern):
            expected[scenario.name], places = undisturbed(scenario)
            called |= {place.function.name for place in places}
            reached[scenario.object] |= {place.key() for place in places}
            cells = list(cells_of(scenario, places, known, options, only))[::every]
            if "--count" in options:
                print(f"{scenario.name}: {len(cells)} cells")
                continue
            done += run_cells(pool, cells, expected)
        first = list(done)
        done += run_beneath(pool, first, depth, expected, known, options, only)
    if "--count" in options:
        return 0
    if "--by-function" in options:
        show_functions(done, called, MEMORY)
    else:
        show(done, {path: Names(path) for path in (LIBRARY, TOOL, RUN, MPIRUN, UPLOADER)})
    for cell in done:
        reached[cell.scenario.object] |= {place.key() for place in cell.found}
    for path in reached if "--call-sites" in options else []:
        show_unreached(path, reached[path])
    bad = [cell for cell in done if cell.problems]
    for cell in bad:
        print(f"FAILED: {cell.scenario.name}: FAULTS={cell.rule()}: {'; '.join(cell.problems)}")
    # Threads that wait differ from run to run: some places are not come to. Rules that never strike would prove nothing.
    unreached = sum(not cell.was_reached for cell in first)
    proves_too_little = unreached > len(first) / 4
    if proves_too_little:
        print(f"FAILED: {unreached} of {len(first)} cells were not reached")
    cpu = sum(os.times()[:4])
    print(f"{outcome_of(done)}; {cpu:.0f} s of a processor in {time.monotonic() - began:.0f} s")
    return 1 if bad or not done or proves_too_little else 0


sys.exit(main())
