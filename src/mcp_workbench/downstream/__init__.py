"""One server: its connection across restarts, and the calls and questions under way."""
