# Python's ends: return, exit, os_exit, raise, interrupt, abort, in_thread, faulthandler.
import atexit
import ctypes
import faulthandler
import os
import signal
import sys
import threading
import _thread

cudart = ctypes.CDLL("libcudart.so.13")


def call(count=5):
    cudart.cudaDeviceSynchronize()
    return sum(cudart.cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None) for _ in range(count))


atexit.register(lambda: print("at exit", call(), flush=True))
print(call(), flush=True)
ctypes.CDLL("libstate.so").say_state(b"before the end")
word = sys.argv[1]
if word == "exit":
    sys.exit(9)
elif word == "os_exit":
    os._exit(10)
elif word == "raise":
    raise SystemError("not caught")
elif word == "interrupt":
    signal.raise_signal(signal.SIGINT)
elif word == "abort":
    os.abort()
elif word == "in_thread":
    thread = threading.Thread(target=lambda: (call(), _thread.interrupt_main()))
    try:
        thread.start()
        thread.join()
        signal.pause()
    except KeyboardInterrupt:
        print("interrupted", call())
elif word == "faulthandler":
    faulthandler.enable(file=open(os.devnull, "w"))
    ctypes.string_at(8)
