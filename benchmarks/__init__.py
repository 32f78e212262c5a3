"""Time and memory of GRAFENNE beside other ways to do the same; ratios, not seconds."""
