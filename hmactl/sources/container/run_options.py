"""The options of ``docker run``, ``podman run`` and ``nerdctl run``: which of them take a value."""

SWITCHES = frozenset(
    {
        *("detach", "disable-content-trust", "init", "interactive", "no-healthcheck"),
        *("oom-kill-disable", "privileged", "publish-all", "quiet", "read-only", "rm"),
        *("sig-proxy", "tty", "use-api-socket", "help"),
        # Podman's and nerdctl's
        *("env-host", "http-proxy", "no-hosts", "no-hostname", "passwd", "read-only-tmpfs"),
        *("replace", "rmi", "rootfs", "tls-verify", "unsetenv-all", "debug"),
    }
)

VALUED = frozenset(
    {
        *("add-host", "annotation", "attach", "blkio-weight", "blkio-weight-device", "cap-add"),
        *("cap-drop", "cgroup-parent", "cgroupns", "cidfile", "cpu-count", "cpu-percent"),
        *("cpu-period", "cpu-quota", "cpu-rt-period", "cpu-rt-runtime", "cpu-shares", "cpus"),
        *("cpuset-cpus", "cpuset-mems", "detach-keys", "device", "device-cgroup-rule"),
        *("device-read-bps", "device-read-iops", "device-write-bps", "device-write-iops", "dns"),
        *("dns-opt", "dns-option", "dns-search", "domainname", "entrypoint", "env", "env-file"),
        *("expose", "gpus", "group-add", "health-cmd", "health-interval", "health-retries"),
        *("health-start-interval", "health-start-period", "health-timeout", "hostname"),
        *("io-maxbandwidth", "io-maxiops", "ip", "ip6", "ipc", "isolation", "kernel-memory"),
        *("label", "label-file", "link", "link-local-ip", "log-driver", "log-opt"),
        *("mac-address", "memory", "memory-reservation", "memory-swap", "memory-swappiness"),
        *("mount", "name", "net", "net-alias", "network", "network-alias", "oom-score-adj", "pid"),
        *("pids-limit", "platform", "publish", "pull", "restart", "runtime", "security-opt"),
        *("shm-size", "stop-signal", "stop-timeout", "storage-opt", "sysctl", "tmpfs", "ulimit"),
        *("user", "userns", "uts", "volume", "volume-driver", "volumes-from", "workdir"),
        # Podman's and nerdctl's
        *("arch", "authfile", "cgroup-conf", "cgroups", "chrootdirs", "conmon-pidfile", "creds"),
        *("decryption-key", "env-merge", "gidmap", "group-entry", "health-on-failure"),
        *("hooks-dir", "hostuser", "image-volume", "init-ctr", "init-path", "namespace", "os"),
        *("passwd-entry", "personality", "pidfile", "pod", "pod-id-file", "preserve-fd"),
        *("preserve-fds", "rdt-class", "requires", "retry", "retry-delay", "sdnotify"),
        *("seccomp-policy", "secret", "shm-size-systemd", "snapshotter", "subgidname"),
        *("subuidname", "systemd", "timeout", "tz", "uidmap", "umask", "unsetenv", "variant"),
    }
)

SHORT = {
    "a": "attach",
    "c": "cpu-shares",
    "d": "detach",
    "e": "env",
    "h": "hostname",
    "i": "interactive",
    "l": "label",
    "m": "memory",
    "p": "publish",
    "P": "publish-all",
    "q": "quiet",
    "t": "tty",
    "u": "user",
    "v": "volume",
    "w": "workdir",
}
