"""JAX: a jitted training step. Its CUDA libraries are opened by the plugin, RTLD_LOCAL."""
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp

if jax.default_backend() != "gpu":
    raise SystemExit(77)
# XLA times several algorithms at each compilation and may choose another in the next process. Its flags
# against that change from version to version, and one that it does not know ends the program: so all
# algorithms are made to agree to the digits that are printed.
jax.config.update("jax_default_matmul_precision", "highest")


def loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w[0]) @ w[1] - y) ** 2)


@jax.jit
def train(w, x, y):
    value, slopes = jax.value_and_grad(loss)(w, x, y)
    return value, [weight - 0.1 * slope for weight, slope in zip(w, slopes)]


keys = jax.random.split(jax.random.PRNGKey(0), 4)
w = [jax.random.normal(keys[0], (256, 512)) / 16, jax.random.normal(keys[1], (512, 64)) / 16]
x, y = jax.random.normal(keys[2], (512, 256)), jax.random.normal(keys[3], (512, 64))
# A step takes 150 us: so many pass while who watches switches on what it needs.
for step in range(8000):
    value, w = train(w, x, y)
    value.block_until_ready()
    if step == 20:
        time.sleep(float(os.environ.get("GPU_SETTLE_S", "0")))
print(f"{float(value):.3f}")
