"""`python -m mcp_workbench` is the `mcp-workbench` command."""

from mcp_workbench.cli import main

if __name__ == "__main__":
    main()
