"""Asking a running vLLM server over HTTP, with limits on time and size."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit, urlunsplit

_MAX_ANSWER = 16 << 20
_CHUNK = 1 << 16
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class NoAnswerError(Exception):
    """The server could not be asked; the text says why. ``status`` is an HTTP one, if it came."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An API key must not follow a redirect to another host."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


def server_url(text: str) -> str:
    """The base address in ``http[s]://HOST[:PORT][/PREFIX]``, without what may follow it.

    Raises ValueError where it is none.
    """
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an address is http://HOST:PORT or https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address has no user or password in it; see --api-key")
    _ = parts.port  # raises ValueError where it is no port
    path = parts.path.rstrip("/").removesuffix("/v1")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


@dataclass(frozen=True, slots=True)
class Server:
    """``url`` is a base address of ``server_url``; ``timeout`` seconds are for each question."""

    url: str
    api_key: str | None = None
    timeout: float = 10.0

    def text(self, path: str) -> str:
        """The answer to GET ``path``. Raises NoAnswerError."""
        return self._ask(path, None, self.timeout).decode("utf-8", "replace")

    def json(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON answer to GET, or with a ``body`` to POST. Raises NoAnswerError."""
        answer = self._ask(path, body, self.timeout)
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise NoAnswerError(f"{path} answered with something that is not JSON") from None

    def post(self, path: str) -> bytes:
        """The answer to an empty POST. Raises NoAnswerError."""
        return self._ask(path, {}, self.timeout)

    def events(self, path: str, body: dict[str, Any], timeout: float) -> Iterator[dict[str, Any]]:
        """The JSON events of a streamed answer, as they come. Raises NoAnswerError."""
        deadline = time.monotonic() + timeout
        with self._open(path, body, timeout) as response:
            taken = 0
            while line := _read_line(response, path):
                taken += len(line)
                if taken > _MAX_ANSWER or time.monotonic() > deadline:
                    raise NoAnswerError(f"{path} did not end within {timeout:g} s and 16 MiB")
                data = line.strip().removeprefix(b"data:").strip()
                if not line.startswith(b"data:") or data == b"[DONE]":
                    continue
                try:
                    event = json.loads(data)
                except (ValueError, RecursionError):
                    raise NoAnswerError(f"{path} streamed something that is not JSON") from None
                if not isinstance(event, dict) or "error" in event:
                    raise NoAnswerError(f"{path} answered with an error: {_words(data)}")
                yield event

    def _ask(self, path: str, body: dict[str, Any] | None, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        answer = bytearray()
        with self._open(path, body, timeout) as response:
            while chunk := _read(response, path):
                answer += chunk
                if len(answer) > _MAX_ANSWER:
                    raise NoAnswerError(f"{path} answered with more than 16 MiB")
                if time.monotonic() > deadline:
                    raise NoAnswerError(f"{path} did not end within {timeout:g} s")
        return bytes(answer)

    def _open(self, path: str, body: dict[str, Any] | None, timeout: float) -> Any:
        headers = {"Accept": "*/*", "User-Agent": "hmactl"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers)  # noqa: S310 - see server_url
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if urlsplit(self.url).hostname in _LOCAL:
            handlers.append(urllib.request.ProxyHandler({}))
        try:
            return urllib.request.build_opener(*handlers).open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            with error:
                said = _words(error.read(2000))
            raise NoAnswerError(
                f"{path} answered {error.code}{said and f': {said}'}", error.code
            ) from None
        except TimeoutError:
            raise NoAnswerError(f"{path} gave no answer within {timeout:g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise NoAnswerError(f"{self.url} cannot be reached: {text}") from None


def _read(response: IO[bytes], path: str) -> bytes:
    try:
        return response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _broken(path, error) from None


def _read_line(response: IO[bytes], path: str) -> bytes:
    try:
        return response.readline(_MAX_ANSWER)
    except (OSError, http.client.HTTPException) as error:
        raise _broken(path, error) from None


def _broken(path: str, error: Exception) -> NoAnswerError:
    return NoAnswerError(f"the answer of {path} broke off: {str(error) or type(error).__name__}")


def _words(data: bytes) -> str:
    """The message in an error of vLLM's, or its first words."""
    text = data.decode("utf-8", "replace")
    try:
        found = json.loads(text)
        message = found.get("error", found)
        text = str(message.get("message", text) if isinstance(message, dict) else message)
    except (ValueError, AttributeError, RecursionError):
        pass
    return " ".join(text.split())[:300]
