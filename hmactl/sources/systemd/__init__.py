"""Units of systemd, and Podman's for containers."""
