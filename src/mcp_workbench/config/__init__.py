"""The config: its models and keys, reading it, and its variables."""
