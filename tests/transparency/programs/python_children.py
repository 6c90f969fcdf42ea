# Python's ways of having children, with calls in all of them: fork, spawn, forkserver, pool, loader,
# subprocess, os_fork.
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

cudart = ctypes.CDLL("libcudart.so.13")


def call(count=5):
    cudart.cudaDeviceSynchronize()
    return sum(cudart.cudaMemsetAsync(None, 0, ctypes.c_size_t(4), None) for _ in range(count))


def by_context(name):
    context = multiprocessing.get_context(name)
    queue = context.SimpleQueue()
    children = [context.Process(target=put_call, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    found = [queue.get() for _ in children]
    for child in children:
        child.join()
    print(found, [child.exitcode for child in children])


def put_call(queue):
    queue.put(call())


def pool():
    with multiprocessing.get_context("fork").Pool(2) as workers:
        print(workers.map(call, [1, 2, 3]))


def load(number, ready, go_on):
    """A worker of a data loader: one dies of a signal, one by _exit, one throws, one goes on."""
    call()
    ready.put(number)
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 1:
        os._exit(7)
    if number == 2:
        sys.stderr = open(os.devnull, "w")
        raise RuntimeError("a bad sample")
    go_on.wait(20)


def loader():
    context = multiprocessing.get_context("fork")
    ready, go_on = context.SimpleQueue(), context.Event()
    workers = [context.Process(target=load, args=(i, ready, go_on), daemon=True) for i in range(4)]
    for worker in workers:
        worker.start()
    print(sorted(ready.get() for _ in workers), call())
    for worker in workers[:3]:
        worker.join()
    go_on.set()
    workers[3].join()
    print([worker.exitcode for worker in workers], call())


def run_subprocess():
    code = "import sys; print(sys.argv[1]); sys.exit(4)"
    done = subprocess.run([sys.executable, "-c", code, "in a child"], capture_output=True, text=True, timeout=20)
    print(done.returncode, done.stdout, done.stderr, call())
    late = subprocess.Popen(["/bin/sleep", "30"])
    late.terminate()
    print(late.wait(20), call())


def os_fork():
    results = []
    thread = threading.Thread(target=lambda: results.append(call(50)))
    thread.start()
    child = os.fork()
    if child == 0:
        os._exit(call() % 251)
    thread.join()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), results)


if __name__ == "__main__":
    print(call())
    word = sys.argv[1]
    if word in ("fork", "spawn", "forkserver"):
        by_context(word)
    else:
        {"pool": pool, "loader": loader, "subprocess": run_subprocess, "os_fork": os_fork}[word]()
    print(call(), threading.active_count())
    time.sleep(0.2)  # a thread that Python has joined may not be gone yet
    ctypes.CDLL("libstate.so").say_state(b"end")
