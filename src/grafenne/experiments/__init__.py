"""The paper's tables, run again: what a cell is, how it is run, and how settings are chosen.

``registry`` names the experiments, ``catalogue`` lists their cells, ``problem`` makes the data of
a seed, ``fit`` runs a cell, ``search`` chooses settings, ``store`` keeps results, and ``runner``
brings them together.
"""
