"""The suites by name, and the module whose ``run(settings)`` each one is."""

from __future__ import annotations

SUITES: dict[str, str] = {
    "bad-input": "torture.bad_input",
    "fuzz": "torture.bad_input_fuzz",
    "kills": "torture.kills",
    "disk": "torture.faults_disk",
    "writers": "torture.faults_writers",
    "numbers": "torture.numbers",
    "numbers-random": "torture.numbers_random",
    "load": "torture.load",
    "updates": "torture.load_updates",
    "reproducibility": "torture.reproducibility",
}
