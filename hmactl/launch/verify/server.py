"""Asking a running vLLM server over HTTP, with limits on time and size."""

import http.client
import json
import queue
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
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
    """``url`` is a base address of ``server_url``; ``timeout`` seconds are for each question.

    ``ca_file`` has the certificates to trust instead of the system's, ``headers`` go with every
    question. Raises ValueError for a key that no header can have, and a file without certificates.
    """

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 10.0
    ca_file: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Before anything that would quote it.
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ValueError("an API key is one line of ASCII characters")
        if self.ca_file is not None:
            _context(self.ca_file)

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, as its address says."""
        return urlsplit(self.url).hostname in _LOCAL

    def text(self, path: str) -> str:
        """The answer to GET ``path``. Raises NoAnswerError."""
        return self._ask(path, None).decode("utf-8", "replace")

    def json(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON answer to GET, or with a ``body`` to POST. Raises NoAnswerError."""
        answer = self._ask(path, body)
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise NoAnswerError(f"{path} answered with something that is not JSON") from None

    def post(self, path: str) -> bytes:
        """The answer to an empty POST. Raises NoAnswerError."""
        return self._ask(path, {})

    def events(self, path: str, body: dict[str, Any], timeout: float) -> Iterator[dict[str, Any]]:
        """The JSON events of a streamed answer, as they come. Raises NoAnswerError."""
        for line in self._pieces(path, body, timeout, lines=True):
            data = line.strip().removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or data == b"[DONE]":
                continue
            try:
                event = json.loads(data)
            except (ValueError, RecursionError):
                raise NoAnswerError(f"{path} streamed something that is not JSON") from None
            if not isinstance(event, dict) or "error" in event:
                said = self._words(data)
                raise NoAnswerError(f"{path} answered with an error: {said}")
            yield event

    def _ask(self, path: str, body: dict[str, Any] | None) -> bytes:
        return b"".join(self._pieces(path, body, self.timeout, lines=False))

    def _pieces(
        self, path: str, body: dict[str, Any] | None, timeout: float, *, lines: bool
    ) -> Iterator[bytes]:
        """The answer as it comes, in a thread of its own.

        A socket's timeout is for each byte, and looking a name up has none, so that nothing else
        bounds a server that answers a byte at a time.
        """
        deadline = time.monotonic() + timeout
        pieces: queue.SimpleQueue[bytes | NoAnswerError] = queue.SimpleQueue()
        given_up = threading.Event()

        def fetch() -> None:
            try:
                with self._open(path, body, timeout) as response:
                    while (piece := _read(response, path, lines=lines)) and not given_up.is_set():
                        pieces.put(piece)
            except NoAnswerError as error:
                pieces.put(error)
            finally:
                pieces.put(b"")

        threading.Thread(target=fetch, daemon=True).start()
        taken = 0
        try:
            while True:
                piece = pieces.get(timeout=max(0.0, deadline - time.monotonic()))
                if isinstance(piece, NoAnswerError):
                    raise piece
                if not piece:
                    return
                taken += len(piece)
                if taken > _MAX_ANSWER:
                    raise NoAnswerError(f"{path} answered with more than 16 MiB")
                yield piece
        except queue.Empty:
            raise NoAnswerError(f"{path} did not answer within {timeout:g} s") from None
        finally:
            given_up.set()

    def _open(self, path: str, body: dict[str, Any] | None, timeout: float) -> Any:
        headers = {"Accept": "*/*", "User-Agent": "hmactl", **self.headers}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers)  # noqa: S310 - see server_url
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if self.ca_file is not None:
            handlers.append(urllib.request.HTTPSHandler(context=_context(self.ca_file)))
        if self.is_local:
            handlers.append(urllib.request.ProxyHandler({}))
        try:
            return urllib.request.build_opener(*handlers).open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            said = self._said(error)
            raise NoAnswerError(
                f"{path} answered {error.code}{said and f': {said}'}", error.code
            ) from None
        except TimeoutError:
            raise NoAnswerError(f"{path} did not answer within {timeout:g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoAnswerError(f"{self.url} cannot be reached: {_reason(error)}") from None

    def _said(self, error: urllib.error.HTTPError) -> str:
        try:
            with error:
                return self._words(error.read(2000))
        except (OSError, http.client.HTTPException):
            return ""

    def _words(self, data: bytes) -> str:
        """The message in an error of vLLM's, or its first words; never the key."""
        text = data.decode("utf-8", "replace")
        try:
            found = json.loads(text)
            message = found.get("error", found)
            text = str(message.get("message", text) if isinstance(message, dict) else message)
        except (ValueError, AttributeError, RecursionError):
            pass
        if self.api_key:
            text = text.replace(self.api_key, "***")
        return " ".join(text.split())[:300]


def _context(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError):
        raise ValueError(f"{ca_file} has no certificates that can be read") from None


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({reason.verify_message}); see --ca-file"
    if isinstance(reason, ssl.SSLError):
        return f"TLS fails ({reason.reason or 'no TLS there'})"
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


def _read(response: IO[bytes], path: str, *, lines: bool) -> bytes:
    try:
        return response.readline(_MAX_ANSWER) if lines else response.read(_CHUNK)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswerError(
            f"the answer of {path} broke off: {str(error) or type(error).__name__}"
        ) from None
