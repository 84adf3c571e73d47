"""The whole account of a deployment's memory."""

from hmactl.account.gpu import gpu_section, kv_sections
from hmactl.account.host import disk_section, host_section, restart_section
from hmactl.account.line import Section
from hmactl.account.lmcache import server_section, worker_section
from hmactl.facts.facts import Facts


def account(facts: Facts, *, hma_on: bool) -> tuple[Section, ...]:
    """Every section about which something is known, for HMA as the verdict has it."""
    sections = (
        gpu_section(facts),
        *kv_sections(facts),
        worker_section(facts),
        server_section(facts, hma_on=hma_on),
        host_section(facts),
        disk_section(facts),
        restart_section(facts),
    )
    return tuple(section for section in sections if section is not None)
