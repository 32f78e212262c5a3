"""What the server that commands are forked from has imported."""

from __future__ import annotations

import grafenne.cli.main
import grafenne.continual
import grafenne.estimators.persistence
import grafenne.experiments.preload
import torture.faults_process

__all__ = ["grafenne", "torture"]
