"""``hmactl verify --watch``: until it is interrupted."""

import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hmactl.launch.verify.server import Server


def watch_server(server: "Server", interval: float) -> None:
    """Show what the server does: one view that changes on a terminal, else a line each time."""
    from hmactl.launch.verify.text import harmless
    from hmactl.launch.verify.watch import Silence, watch
    from hmactl.launch.verify.watch_text import watch_line, watch_rows

    try:
        if not sys.stdout.isatty():
            for seen in watch(server, interval):
                click.echo(f"{time.strftime('%H:%M:%S')}  {harmless(watch_line(seen))}")
            return
        from rich.console import Group
        from rich.live import Live
        from rich.table import Table
        from rich.text import Text

        with Live(auto_refresh=False) as live:
            for seen in watch(server, interval):
                title = Text(f"{server.url}  {time.strftime('%H:%M:%S')}", style="bold")
                if isinstance(seen, Silence):
                    live.update(Group(title, Text(harmless(watch_line(seen)))), refresh=True)
                    continue
                table = Table.grid(padding=(0, 2))
                for name, value in watch_rows(seen):
                    table.add_row(f"  {name}", Text(value, justify="right"))
                note = Text("  started again" if seen.restarted else "")
                live.update(Group(title, table, note), refresh=True)
    except KeyboardInterrupt:
        return
