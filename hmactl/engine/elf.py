"""Just enough of ELF to ask a shared object what it needs and offers, without loading it.

Loading is what must be avoided: it costs seconds, runs initialisers and may end the process.
Standard library only and Python 3.10: the probe loads this file into the target interpreter.
"""

import mmap
import struct
from collections.abc import Iterator
from os import PathLike

_DT_NEEDED, _DT_STRTAB, _DT_SYMTAB, _DT_RPATH, _DT_RUNPATH = 1, 5, 6, 15, 29
_DT_GNU_HASH = 0x6FFFFEF5
_PT_LOAD, _PT_DYNAMIC = 1, 2
_SYMBOL_SIZE = 24
_GLOBAL = 1


class UnreadableError(ValueError):
    """Not a 64-bit little-endian ELF shared object, or a damaged one."""


class SharedObject:
    """One shared object on disk. Every method raises UnreadableError where the file is damaged."""

    def __init__(self, path: "str | PathLike[str]") -> None:
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - pathlib would be one more import
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise UnreadableError(f"{path}: {error}") from error
        if self._data[:6] != b"\x7fELF\x02\x01":
            raise UnreadableError(f"{path}: not 64-bit little-endian ELF")
        self._segments: list[tuple[int, int, int]] = []
        self._dynamic: list[tuple[int, int]] = []
        self._read_headers()
        self._tables = dict(self._dynamic)

    def needed(self) -> list[str]:
        """The names of the shared objects that it links to (DT_NEEDED)."""
        return [self._string(value) for tag, value in self._dynamic if tag == _DT_NEEDED]

    def search_path(self) -> list[str]:
        """The directories it has built in (RPATH, RUNPATH), with ``$ORIGIN`` as written."""
        paths = [self._string(v) for tag, v in self._dynamic if tag in (_DT_RPATH, _DT_RUNPATH)]
        return [directory for path in paths for directory in path.split(":") if directory]

    def undefined(self) -> Iterator[str]:
        """The symbols it cannot load without. Weak ones are not among them."""
        if _DT_GNU_HASH not in self._tables:
            return
        # The GNU hash table covers the defined symbols only, and starts after the undefined ones.
        first_defined = self._unpack("<I", self._offset(self._tables[_DT_GNU_HASH]) + 4)[0]
        for index in range(1, first_defined):
            name, info, section = self._symbol(index)
            if section == 0 and info >> 4 == _GLOBAL:
                yield self._string(name)

    def exports(self, symbol: str) -> bool:
        """Whether it defines that symbol for others."""
        if _DT_GNU_HASH not in self._tables:
            return False
        wanted = symbol.encode()
        hashed = 5381
        for byte in wanted:
            hashed = (hashed * 33 + byte) & 0xFFFFFFFF
        table = self._offset(self._tables[_DT_GNU_HASH])
        buckets, first, bloom, _ = self._unpack("<4I", table)
        bucket_array = table + 16 + bloom * 8
        chains = bucket_array + buckets * 4
        if buckets == 0:
            return False
        index = self._unpack("<I", bucket_array + hashed % buckets * 4)[0]
        while index >= first:
            entry = self._unpack("<I", chains + (index - first) * 4)[0]
            if entry | 1 == hashed | 1 and self._bytes(self._symbol(index)[0]) == wanted:
                return True
            if entry & 1:
                break
            index += 1
        return False

    def _read_headers(self) -> None:
        headers = self._unpack("<Q", 32)[0]
        size, count = self._unpack("<2H", 54)
        dynamic = (0, 0)
        for at in range(headers, headers + size * count, size or 1):
            kind, _, offset, address, _, length = self._unpack("<2I4Q", at)
            if kind == _PT_LOAD:
                self._segments.append((address, length, offset))
            elif kind == _PT_DYNAMIC:
                dynamic = (offset, length)
        for at in range(dynamic[0], sum(dynamic), 16):
            tag, value = self._unpack("<2Q", at)
            if tag == 0:
                break
            self._dynamic.append((tag, value))

    def _unpack(self, form: str, at: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(form, self._data, at)
        except (struct.error, OverflowError) as error:
            raise UnreadableError(str(error)) from error

    def _offset(self, address: int) -> int:
        for start, length, offset in self._segments:
            if start <= address < start + length:
                return address - start + offset
        raise UnreadableError(f"no segment holds address {address:#x}")

    def _symbol(self, index: int) -> tuple[int, int, int]:
        table = self._offset(self._tables.get(_DT_SYMTAB, -1))
        name, info, _, section = self._unpack("<IBBH", table + index * _SYMBOL_SIZE)
        return name, info, section

    def _bytes(self, at: int) -> bytes:
        start = self._offset(self._tables.get(_DT_STRTAB, -1)) + at
        end = self._data.find(b"\0", start) if start < len(self._data) else -1
        if end < 0:
            raise UnreadableError("a string without an end")
        return self._data[start:end]

    def _string(self, at: int) -> str:
        return self._bytes(at).decode(errors="replace")
