import pytest

pytest.importorskip("triton")

CHECK = """
import torch
from edgnn.nn.ops import adam_step
from edgnn.training._optimizer import FleetAdam

generator = torch.Generator().manual_seed(0)
normal = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
rates, decays = torch.tensor([1e-3, 0.1, 0.5], dtype=torch.float64), torch.tensor([0.0, 0.01, 0.3], dtype=torch.float64)
for kind in ("adam", "adamw"):
    for decay in (decays, 0 * decays):
        start = normal(3, 1500)
        plain, ours = (FleetAdam(start.clone(), rates, decay, kind) for _ in range(2))
        for step in range(6):
            gradient = normal(3, 1500)
            active = torch.tensor([True, step % 2 == 0, step != 3]) if step else None
            ours._step_on_device(gradient.clone(), active)
            plain.step(gradient, active)
        for name in ("parameters", "first", "second", "steps"):
            torch.testing.assert_close(getattr(ours, name), getattr(plain, name), rtol=1e-10, atol=1e-12)
print("equal")
"""


def test_kernel_takes_the_steps_of_the_cpu_in_the_interpreter(run_python):
    assert run_python(CHECK, TRITON_INTERPRET="1").strip() == "equal"
