"""The commands for people: each module is one, imported only when it is run."""
