"""Prints what each library says of CUPTI's version, 130100 for 13.1: a line each. usage: ask_cupti.py LIBRARY..."""
import ctypes
import sys

for path in sys.argv[1:]:
    version = ctypes.c_uint32()
    ctypes.CDLL(path).cuptiGetVersion(ctypes.byref(version))
    print(version.value)
