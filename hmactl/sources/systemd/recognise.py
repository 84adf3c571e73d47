"""Whether a text is a unit of systemd or Podman."""

_SECTIONS = ("Service", "Container")


def looks_like_systemd(text: str) -> bool:
    """Whether a text has the sections of a unit, and a command or a container in one."""
    if not any(f"[{section}]" in text for section in _SECTIONS):
        return False
    from hmactl.sources.systemd.unit import begins_with_section, read_unit

    if not begins_with_section(text):
        return False
    settings = read_unit("", text)
    return any(s.section in _SECTIONS and s.key in {"ExecStart", "Image"} for s in settings)
