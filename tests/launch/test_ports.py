"""Ports that are free and taken, with real sockets."""

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from installed import VERSIONS, connector_named

from hmactl.deployment.deployment import Deployment
from hmactl.engine.answer import Answer, LMCacheSettings
from hmactl.facts.facts import Facts
from hmactl.launch.ports import Port, engine_ports, lmcache_server_ports, why_not_free
from hmactl.sources.profile import read_profiles


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
        one.listen()
        yield one


@pytest.mark.parametrize("host", ["127.0.0.1", "", "localhost", "0.0.0.0"])
def test_a_port_that_is_taken(listener: socket.socket, host: str) -> None:
    port = listener.getsockname()[1]
    reason = why_not_free(Port(port, "vLLM", "`port`", host))
    assert reason is not None
    assert f"port {port} is taken by " in reason
    assert f"process {os.getpid()}" in reason
    listener.close()
    assert why_not_free(Port(port, "vLLM", "`port`", host)) is None


def test_connections_that_were_just_closed_are_no_reason(listener: socket.socket) -> None:
    address = listener.getsockname()
    with socket.create_connection(address) as client:
        accepted, _ = listener.accept()
        accepted.close()  # the side that closes first waits
        client.recv(1)
    listener.close()
    assert why_not_free(Port(address[1], "vLLM", "`port`", "127.0.0.1")) is None


@pytest.mark.parametrize(
    ("number", "host", "words"),
    [
        (99999, "", "is no port"),
        (8000, "192.0.2.1", "does not have the address"),
        (8000, "no such host.invalid", "is no address"),
    ],
)
def test_what_cannot_be_bound(number: int, host: str, words: str) -> None:
    assert words in (why_not_free(Port(number, "vLLM", "`port`", host)) or "")


def _deployment(text: str) -> Deployment:
    (document,) = read_profiles("p.yaml", text)
    assert document.deployment is not None
    return document.deployment


def _ports(text: str, connector: str, values: dict[str, Any]) -> list[tuple[int, str, bool]]:
    answer = Answer(
        error=None,
        versions=VERSIONS,
        connector=connector_named(connector),
        lmcache=LMCacheSettings(values=values, unknown={}),
    )
    facts = Facts(_deployment(text), answer, None, None, None)
    environment = {"VLLM_NIXL_SIDE_CHANNEL_PORT": "5601"}
    return [(port.number, port.setting, port.needed) for port in engine_ports(facts, environment)]


@pytest.mark.parametrize(
    ("text", "connector", "values", "expected"),
    [
        ("model: m", "X", {}, [(8000, "`port`", True)]),
        ("{model: m, vllm: {uds: /tmp/s}}", "X", {}, []),
        ("{model: m, vllm: {port: 0}}", "X", {}, []),
        # A node of several that has no API server.
        ("{model: m, vllm: {headless: true}}", "X", {}, []),
        ("{model: m, vllm: {config: vllm.yaml}}", "X", {}, []),
        ("{model: m, vllm: {config: a.yaml, port: 81}}", "X", {}, [(81, "`port`", True)]),
        (
            "{model: m, vllm: {port: 81}}",
            "LMCacheConnectorV1",
            {"internal_api_server_enabled": True, "internal_api_server_port_start": 6999},
            [
                (81, "`port`", True),
                (6999, "`internal_api_server_port_start`", False),
                (7000, "`internal_api_server_port_start`", False),
            ],
        ),
        (
            "{model: m, vllm: {port: 81}}",
            "LMCacheConnectorV1",
            {"enable_p2p": True, "p2p_init_ports": [8200, 8201], "p2p_lookup_ports": None},
            [(81, "`port`", True), (8200, "`p2p_init_ports`", False)],
        ),
        (
            "{model: m, vllm: {port: 81}}",
            "LMCacheConnectorV1",
            {"enable_p2p": False, "p2p_init_ports": [8200]},
            [(81, "`port`", True)],
        ),
        (
            "{model: m, vllm: {port: 81}}",
            "NixlConnector",
            {},
            [(81, "`port`", True), (5601, "`VLLM_NIXL_SIDE_CHANNEL_PORT`", False)],
        ),
    ],
)
def test_which_ports(
    text: str, connector: str, values: dict[str, Any], expected: list[tuple[int, str, bool]]
) -> None:
    assert _ports(text, connector, values) == expected


def test_the_ports_of_an_lmcache_server() -> None:
    written = _deployment("{model: m, lmcache_server: {port: 6555, host: 0.0.0.0}}")
    assert [(port.number, port.host) for port in lmcache_server_ports(written)] == [
        (6555, "0.0.0.0"),
        (8080, "127.0.0.1"),
    ]
    assert list(lmcache_server_ports(_deployment("model: m"))) == []
