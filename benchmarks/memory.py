"""Peak memory of a variant, measured in a process of its own.

The process imports everything and does the work once on a tiny graph, so that libraries, threads
and their buffers are there; then it loads the data. The resident memory at that point is the
baseline. It then builds the variant (dense features, weights, index structures) and does the work
once. *Growth* is the peak of resident memory during that, less the baseline. Where Linux allows
it the kernel's own peak counter is reset at the baseline; elsewhere the largest resident size so
far stands in, and the growth may be told too small.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.problem import Case, load_problem

STATUS = Path("/proc/self/status")
RESET_PEAK = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Peak:
    """Memory of one run.

    Attributes:
        growth_mb: Peak above the baseline, in 10^6 bytes.
        process_mb: Peak of the whole process, libraries and loading of the data included.
        method: How the peak was found.
        values: Number of feature values of the graph.
        seconds: Time per unit of work, if it was asked for.
    """

    growth_mb: float
    process_mb: float
    method: str
    values: int
    seconds: list[float]


def measure_peak(case: Case, variant: str, work: str, timed: int = 0) -> Peak:
    """Runs a variant in a process of its own.

    Args:
        case: What to run on.
        variant: The variant's name.
        work: ``step``, ``evaluate`` or ``epoch``.
        timed: How often to time the work afterwards.
    """
    order = json.dumps({"case": asdict(case), "variant": variant, "work": work, "timed": timed})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", order],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"Measuring the memory of {variant} on {case.dataset} ended with code "
            f"{done.returncode}: {done.stderr.strip()[-500:]}"
        )
    return Peak(**json.loads(done.stdout.splitlines()[-1]))


def probe(case: Case, variant: str, work: str, timed: int = 0) -> Peak:
    """The measurement itself; it tells about the process it runs in."""
    from benchmarks.variants import make_variant

    tiny = Case("tiny-valued", 8, case.heads if 8 % case.heads == 0 else 1, case.feature_dropout)
    make_variant(variant, load_problem(tiny.dataset), tiny).run(work, 2)
    problem = load_problem(case.dataset)
    loading = _read("VmHWM")
    reset = _reset_peak()
    baseline = _read("VmRSS") if reset else _largest()
    ready = make_variant(variant, problem, case)
    ready.run(work, 1)
    peak = _read("VmHWM") if reset else _largest()
    seconds = [ready.run(work, 1) for _ in range(timed)]
    return Peak(
        growth_mb=max(peak - baseline, 0.0),
        process_mb=max(peak, loading),
        method="kernel peak, reset at the baseline" if reset else "largest resident size",
        values=problem.graph.incidence.num_entries,
        seconds=seconds,
    )


def _reset_peak() -> bool:
    try:
        RESET_PEAK.write_text("5")
    except OSError:
        return False
    return STATUS.exists()


def _read(field: str) -> float:
    """A field of the process's status, in 10^6 bytes; 0 where there is none."""
    if not STATUS.exists():
        return 0.0
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def _largest() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    given["case"] = Case(**given["case"])
    print(json.dumps(asdict(probe(**given))))
