"""Makes the modules of tests/process importable: places, jobs, traced_run."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "process"))
