"""Toolboxes by name: opening them, finding a tool in them, calling it."""
