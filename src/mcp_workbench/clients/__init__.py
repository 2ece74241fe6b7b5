"""What the workbench knows of other programs' config files: where they are, what they say, how to change them."""
