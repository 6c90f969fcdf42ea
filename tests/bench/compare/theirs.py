"""Runs another project's merger from its wheel, without what it needs for other things.

usage: theirs.py composer OUTPUT FILE...
       theirs.py composer_source    (where its trace handler is, and nothing of it is run)
       theirs.py smdebug OUTPUT FOLDER START_US END_US   |   theirs.py smdebug OUTPUT FOLDER FIRST_STEP LAST_STEP step
Modules that are not installed are stood in for by objects that do nothing; the mergers use none of
them on local files.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import shutil
import sys
import types
from unittest import mock

HEAVY = {"boto3", "botocore", "s3transfer", "aiobotocore", "pandas", "numpy", "bokeh", "torch", "tensorflow", "mxnet",
         "google", "requests", "psutil", "pyinstrument", "packaging", "scipy", "IPython", "matplotlib"}


class StandIn(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        # Classes are derived from and exceptions caught; anything else is only named.
        return type(name, (Exception,), {}) if name[:1].isupper() else mock.MagicMock()


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in HEAVY else None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


class NoRows:
    """pandas' frame of a job without system metrics, for any selection of its rows."""
    start_time = 0

    def __init__(self, *_):
        pass

    def same(self, *_, **__):
        return self

    __getitem__ = __add__ = __lt__ = __eq__ = sort_values = same
    __hash__ = None

    def __setitem__(self, key, value):
        pass

    def __len__(self):
        return 0

    def iterrows(self):
        return iter(())

    def get_profiler_data_by_time(self, *_, **__):
        return [self]


def composer_module(name):
    """By its file: its package wants torch."""
    return next(path for path in (pathlib.Path(folder, "composer/profiler", name) for folder in sys.path) if path.exists())


def composer_source():
    print(composer_module("json_trace_handler.py"))


def composer(output, *files):
    spec = importlib.util.spec_from_file_location("json_trace_merger", composer_module("json_trace_merger.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.merge_traces(output, *files)


def smdebug(output, folder, start, end, unit="time"):
    sys.meta_path.append(StandInFinder())
    from smdebug.profiler.analysis.utils import merge_timelines

    # Without this filter their merge_timeline() fails on a variable that it never sets.
    merge_timelines.PandasFrame = NoRows

    scratch = pathlib.Path(output).with_suffix(".folder")
    merged = merge_timelines.MergedTimeline(folder, output_directory=str(scratch))
    written = merged.merge_timeline(int(start), int(end), unit)
    shutil.move(written, output)
    shutil.rmtree(scratch, ignore_errors=True)


{"composer": composer, "composer_source": composer_source, "smdebug": smdebug}[sys.argv[1]](*sys.argv[2:])
