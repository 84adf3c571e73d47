"""``python -m hmactl``."""

from hmactl.cli import main

if __name__ == "__main__":
    main(prog_name="hmactl")
