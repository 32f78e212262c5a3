"""What the rows of a table are called and which of them may be compared."""

from __future__ import annotations

from dataclasses import dataclass

TITLES = {
    "sage": "GraphSAGE",
    "gat": "GAT",
    "gin": "GIN",
    "gcn": "GCN",
    "mlp": "MLP",
    "gcnmf": "GCNMF",
    "pagnn": "PaGNN",
    "pagnn-2": "PaGNN 2",
    "fate": "FATE",
    "traditional": "Traditional",
    "grafenne": "GRAFENNE",
    "grafenne-gat": "GRAFENNE (GAT)",
    "grafenne-gin": "GRAFENNE (GIN)",
    "grafenne-gcn": "GRAFENNE (GCN)",
    "nm": "NM",
    "fp": "FP",
    "pcfi": "PCFI",
    "places": "Places",
}
GROUPS = ("plain", "labels", "leaked")
GROUP_TITLES = {"labels": "With labels as features", "leaked": "Leaked: features saw test edges"}


@dataclass(frozen=True)
class RowKey:
    """A row of a table.

    Attributes:
        method: Name of the method.
        variant: What else tells it apart.
        leaked: Whether its features saw test edges.
    """

    method: str
    variant: str = ""
    leaked: bool = False

    @property
    def ours(self) -> bool:
        """Whether it is a GRAFENNE, alone or behind an imputation."""
        return "grafenne" in self.method

    @property
    def group(self) -> str:
        """Rows are compared within their group only, and those of ``leaked`` never."""
        if self.leaked:
            return "leaked"
        return "labels" if self.method.endswith("+labels") else "plain"

    @property
    def title(self) -> str:
        """A name for people."""
        named = " + ".join(TITLES.get(part, part) for part in self.method.split("+"))
        return named + (f" ({self.variant})" if self.variant else "")
