"""A run of the matrix by function, as in RESULTS.md, and the functions that none of its scenarios calls."""

import collections

from fault_table import functions


def show_functions(cells, called, memory):
    """called: the names of the functions that the undisturbed runs called."""
    of_function = collections.defaultdict(list)
    for cell in cells:
        of_function[cell.place.function.name].append(cell)
    print("| call | places | errors | cells | bad | not reached |\n|---|---|---|---|---|---|")
    for name in sorted(of_function):
        row = of_function[name]
        places = {(cell.place.offset, cell.scenario.object) for cell in row}
        bad, unreached = (sum(map(bool, found)) for found in
                          ((cell.problems for cell in row), (not cell.was_reached for cell in row)))
        print(f"| `{name}` | {len(places)} | {' '.join(sorted({cell.action for cell in row}))} | {len(row)} | {bad} | "
              f"{unreached} |")
    can_fail = {function.name for function in functions() if function.actions} - set(memory)
    print(f"Of {len(can_fail)} functions that can fail, these are not called: " +
          ", ".join(f"`{name}`" for name in sorted(can_fail - called)))
