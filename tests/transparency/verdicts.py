"""What runs with the agent are compared by, and the table of it."""
import re
from collections import Counter

import states

# No end of the program's own (keeper.run, runs.Ended).
NO_END = ("hangs", "no result")
NO_LONGER = "no difference any more"


def lines_apart(key, wanted, found):
    lost, new = ([*(Counter(one) - Counter(other)).elements()] for one, other in ((wanted, found), (found, wanted)))
    return f"{key}: lost {lost[:4]}, new {new[:4]}" if lost or new else f"{key}: in another order"


def difference(bare, traced):
    for key, wanted in bare.items():
        found = traced[key]
        if found == wanted:
            continue
        if key == "files" and found.keys() == wanted.keys():
            name = next(name for name in wanted if found[name] != wanted[name])
            if found[name][0] == wanted[name][0]:
                return lines_apart(name, wanted[name][1], found[name][1])
        if isinstance(wanted, list):
            return lines_apart(key, wanted, found)
        return f"{key}: {found!r}, without the agent {wanted!r}"
    return ""


def lines_of(shown):
    """All of it, one line for each thing that can differ."""
    lines = []
    for key, value in shown.items():
        if key == "files":
            lines += [f"file {name}: {line}" for name, (mode, content) in value.items() for line in (mode, *content)]
        else:
            lines += [f"{key}: {line}" for line in (value if isinstance(value, list) else [value])]
    return lines


def beside(differs, bare, found):
    """What is not as the row says: all that it names must be there, and what is left must be equal."""
    kept, missing = [], []
    for patterns, shown in ((differs.lost, bare), (differs.new, found)):
        seen = set()
        kept.append(states.without_allowed(lines_of(shown), [(pattern, pattern) for pattern in patterns], seen))
        missing += [pattern for pattern in patterns if pattern not in seen]
    if missing:
        return f"not as the row says: {missing}: {difference(bare, found)}"
    return "" if kept[0] == kept[1] else lines_apart("beside what the row says", *kept)


def wrong_difference(case, bare, ended, used):
    if ended.code in NO_END:
        return f"{ended.code}: {ended.err}"
    wanted, found = bare.shown(case), ended.shown(case, used)
    wrong, differs = difference(wanted, found), case.differs.get(ended.place.state)
    if differs is None:
        return wrong
    return beside(differs, wanted, found) if wrong else NO_LONGER


def verdict(case, bare, ended, used):
    """What is wrong with a run; "" where nothing is. used: gets the reasons of what was allowed."""
    wrong = wrong_difference(case, bare, ended, used)
    if not wrong:
        why = states.unproved(case, ended.place.state, ended.said, ended.all_lines(), ended.place.left_of_agent())
        wrong = f"{why}: {ended.said}" if why else ""
    if not wrong and any(line.startswith(("traceagent: bad value", "traceagent: unknown")) for line in ended.said):
        wrong = f"its options were not what the row says: {ended.said}"
    if not wrong and ended.reports:
        wrong = f"reports of a sanitizer: {ended.reports}"
    if not wrong and any("left out" in line for line in ended.said):
        wrong = f"the agent lost what it had recorded: {ended.said}"
    return wrong


def wrong_alone(case, bare):
    if bare.code in (*NO_END, 77, 126, 127):
        return f"{bare.code} {bare.err}"
    for pattern in case.says:
        if not any(re.fullmatch(pattern, line) for line in bare.all_lines()):
            return f"it does not say {pattern!r}: {bare.out[:4]}"
    says_state = any(line.startswith("state ") for line in bare.all_lines())
    return "" if says_state or case.speechless else "it does not say its state (say_state)"


def cell(case, state, wrong):
    if wrong:
        return "NO LONGER" if wrong == NO_LONGER else "DIFFERS"
    return "explained" if state in case.differs else "same"


def compare(wanted, ended):
    """Prints the problems; the rows of the table, the lines at its foot, and how many are bad."""
    rows, reasons, used, bad = [], [], set(), 0
    for case in wanted:
        bare, cells = ended[case.name, "absent"], []
        for state in states.WITH_AGENT:
            if (case.name, state) not in ended:
                cells.append("-")
                continue
            wrong = verdict(case, bare, ended[case.name, state], used)
            cells.append(cell(case, state, wrong))
            if cells[-1] not in ("same", "explained"):
                bad += 1
                print(f"{case.name}, agent {state}: {wrong}", flush=True)
        if wrong := wrong_alone(case, bare):
            bad += 1
            print(f"{case.name} alone: {wrong}")
        rows.append((case.name, f"{bare.code}", *cells))
        reasons += explained(case)
    return rows, foot(reasons, used), bad


def explained(case):
    """A line for each thing of a row that is not simply the same, and why."""
    by_reason = {}
    for state, differs in case.differs.items():
        by_reason.setdefault(differs.reason, []).append(state)
    lines = [f"{case.name}, {', '.join(of)}: {reason}" for reason, of in by_reason.items()]
    if missing := [state for state in states.WITH_AGENT if state not in case.states]:
        lines.append(f"{case.name}, {', '.join(missing)}: not run, the row is of what the active agent is asked for")
    lines += [f"{case.name}: {reason}" for reason in dict.fromkeys((case.unseen, case.speechless)) if reason]
    return lines + [f"{case.name}, {', '.join(case.unwatched)}: not compared"] if case.unwatched else lines


def foot(reasons, used):
    return [f"  {line}" for line in [*reasons, *(f"allowed with the agent: {reason}" for reason in sorted(used))]]


def table(rows, reasons):
    heads = ("program", "absent", *states.WITH_AGENT)
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in [heads, *rows]]
    return "\n".join([*lines, *reasons]) + "\n"
