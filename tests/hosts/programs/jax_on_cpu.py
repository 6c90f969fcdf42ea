import ctypes, os, sys, subprocess
if os.environ.get("HOST_CUDART"):
    lib = ctypes.CDLL(os.environ["HOST_CUDART"]); print("cudart", lib.cudaDeviceSynchronize())
import jax, jax.numpy as jnp, numpy as np
print(jax.__version__, jax.devices())
f = jax.jit(lambda x, y: jnp.tanh(x @ y).sum())
x = jnp.arange(256 * 256, dtype=jnp.float32).reshape(256, 256) / 65536
print(float(f(x, x)))
g = jax.jit(jax.grad(lambda w: (jnp.sin(x @ w) ** 2).mean()))
w = jnp.eye(256)
for _ in range(10): w = w - 0.1 * g(w)
print(float(w.sum()), float(jax.random.normal(jax.random.key(0), (10,)).sum()))
p = jax.pmap(lambda v: jax.lax.psum(v, "i"), axis_name="i")
print(p(jnp.arange(8.0).reshape(4, 2)))
import multiprocessing
def child(q): q.put(float(np.sum(np.arange(10))))
if __name__ == "__main__":
    ctx = multiprocessing.get_context("spawn"); q = ctx.SimpleQueue(); pr = ctx.Process(target=child, args=(q,)); pr.start(); print(q.get()); pr.join(); print(pr.exitcode)
    print(subprocess.run([sys.executable, "-c", "import jax; print(jax.device_count())"], capture_output=True, text=True).stdout)
    sys.exit(3)
