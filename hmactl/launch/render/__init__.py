"""A checked deployment in the words of other launchers, one module for each."""
