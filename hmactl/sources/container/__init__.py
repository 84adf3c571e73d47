"""What the ways of running a container have in common, and the ``docker run`` command."""
