"""The command line: a module per command, heavy imports inside the commands."""
