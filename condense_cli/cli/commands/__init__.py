"""The options and help pages of all commands, by the groups of `condense --help`."""
