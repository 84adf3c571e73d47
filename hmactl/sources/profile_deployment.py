"""A valid profile as a deployment whose settings know where they stand."""

from collections.abc import Iterator
from dataclasses import dataclass

from hmactl.deployment.command import serve_environment
from hmactl.deployment.deployment import Connector, Deployment, LMCacheServer, Target
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.setting import DEFAULT, Json, Origin, Setting
from hmactl.sources.node import Route
from hmactl.sources.option_name import option_name
from hmactl.sources.profile_model import ConnectorModel, ProfileModel
from hmactl.sources.profile_problems import Problems


def make_deployment(problems: Problems, profile: ProfileModel, default_name: str) -> Deployment:
    """The deployment that a profile means.

    Variables whose text is not what the file shows become warnings (PRO005).
    """
    deployment = _Reading(problems).deployment(profile, default_name)
    _warn_of_changed_text(problems, deployment)
    return deployment


@dataclass(frozen=True, slots=True)
class _Reading:
    problems: Problems

    def deployment(self, profile: ProfileModel, default_name: str) -> Deployment:
        connector = profile.connector
        return Deployment(
            source=self.problems.source,
            name=profile.name or default_name,
            model=Setting("model", profile.model, self._origin(("model",))),
            vllm=self._settings("vllm", profile.vllm, options=True),
            connector=None if connector is None else self._connector(("connector",), connector),
            hma=HmaPolicy(profile.hma),
            hma_origin=self._origin(("hma",)),
            lmcache=self._settings("lmcache", profile.lmcache),
            lmcache_server=self._server(profile),
            env=self._settings("env", profile.env),
            target=self._target(profile),
        )

    def _origin(self, route: Route) -> Origin:
        """Where a key stands; a setting that is not used has its default."""
        root = self.problems.root
        if root.at(route) is None or route in self.problems.dropped:
            return DEFAULT
        return self.problems.origin(root.key_position(route))

    def _settings(
        self, section: str, values: dict[str, Json], *, options: bool = False
    ) -> tuple[Setting, ...]:
        return tuple(
            Setting(option_name(key) if options else key, value, self._origin((section, key)))
            for key, value in values.items()
        )

    def _connector(self, route: Route, connector: str | ConnectorModel) -> Connector:
        if isinstance(connector, str):
            value = self.problems.origin(self.problems.root.value_position(route))
            return Connector(connector, self._origin(route), places=((connector, value),))
        return Connector(
            name=connector.name,
            origin=self._origin((*route, "name")),
            role=connector.role,
            module_path=connector.module_path,
            extra_config=connector.extra_config,
            options=connector.options,
            children=tuple(
                self._connector((*route, "children", index), child)
                for index, child in enumerate(connector.children)
            ),
            places=tuple(self._places(route, connector)),
        )

    def _places(self, route: Route, connector: ConnectorModel) -> Iterator[tuple[str, Origin]]:
        root = self.problems.root
        yield connector.name, self.problems.origin(root.value_position((*route, "name")))
        keys = {"extra_config": connector.extra_config, "options": connector.options}
        for section, written in keys.items():
            for key in written:
                yield key, self._origin((*route, section, key))

    def _server(self, profile: ProfileModel) -> LMCacheServer | None:
        server = profile.lmcache_server
        if server is None:
            return None
        options = self._settings("lmcache_server", server.options, options=True)
        return LMCacheServer(self._origin(("lmcache_server",)), server.start, options)

    def _target(self, profile: ProfileModel) -> Target:
        target = profile.target
        return Target(
            gpu=target.gpu,
            gpu_origin=self._origin(("target", "gpu")),
            gpus=target.gpus,
            host_memory=target.host_memory,
            memory_limit=target.memory_limit,
            shm=target.shm,
            disk=target.disk,
            memlock=target.memlock,
            kv_cache_memory=target.kv_cache_memory,
            vllm=target.vllm,
            lmcache=target.lmcache,
            lmcache_server_version=target.lmcache_server_version,
        )


def _warn_of_changed_text(problems: Problems, deployment: Deployment) -> None:
    """A variable is text; YAML may have made something else of what was written."""
    texts = serve_environment(deployment)
    for setting in deployment.env:
        route = ("env", setting.name)
        node = problems.root.at(route)
        text = texts[setting.name]
        if node is None or isinstance(setting.value, str):
            continue
        kind = "boolean" if isinstance(setting.value, bool) else "number"
        if kind == "boolean" or text != node.written:
            problems.warn_at_value(
                "PRO005",
                route,
                f"`{setting.name}: {node.written}` is a {kind} in YAML, and the variable gets the "
                f"text `{text}`",
                consequence="a program that expects another spelling does not understand it",
                fix=f'quote the text that is meant: `{setting.name}: "{node.written}"`',
            )
