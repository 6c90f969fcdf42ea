"""Real CUPTI's records against the agent's table of offsets."""

import re

from suite.case import Skip, case

# With the driver's calls recorded too.
NESTED = {"driver": "driver's calls", "nested": "of them in a runtime call", "sharing": "with its correlation",
          "of_runtime": "kernels with a runtime call's correlation", "of_driver": "with a driver call's"}


@case("CUPTI's records at the agent's offsets: grid, sizes, times, correlations", quick=True)
def cupti_offsets(bench):
    folder = bench.machine.library("libcupti.so.1*")
    if folder is None or (bench.simulated and folder.parent.name != "sim"):
        raise Skip("libcupti.so is not here")
    library = sorted(folder.glob("libcupti.so.1*"))[-1]
    done = bench.run([bench.compiler.program("cupti_records"), library], bench.cuda_variables())
    wrong = [line for line in done.out.splitlines() if line.startswith("WRONG")]
    bench.row.check(done.code == 0, f"{done}")
    bench.row.add_problems(wrong)
    for word, value in re.findall(r"(kernels|copies|sets|calls|fields|wrong) (\d+)", done.out):
        bench.row.figure(word, int(value))
    for word, value in re.findall(r"(driver|nested|sharing|of_runtime|of_driver) (\d+)", done.out):
        bench.row.figure(NESTED[word], int(value))
    bench.row.figure("library", library.name)
