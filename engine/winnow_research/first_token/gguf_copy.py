"""GGUF files made from others: metadata copied, layers left out or put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from gguf import GGUFReader, GGUFValueType, GGUFWriter

_WRITTEN_BY_ITSELF = ("GGUF.", "general.architecture")

Change = Callable[[str, Any], Any]
"""Takes the name of a value and the value; returns what to write in its place."""


def layers_of(source: Path, layers: range, into: Path) -> None:
    """Write some layers of a model without its output matrix; the first of them come with the embedding.

    All metadata stay, `block_count` too. Winnow's drafter runs on a model's first layers alone.
    """
    reader = GGUFReader(source)
    wanted = [tensor for tensor in reader.tensors if _belongs(tensor.name, layers)]
    _write(reader, wanted, into)


def joined(sources: Iterable[Path], into: Path) -> None:
    """Write the tensors of several files, which `layers_of` took from one, into one file."""
    readers = [GGUFReader(source) for source in sources]
    _write(readers[0], [tensor for reader in readers for tensor in reader.tensors], into)


def copy_values(reader: GGUFReader, writer: GGUFWriter, prefix: str = "", change: Change = lambda _, it: it) -> None:
    """Copy the metadata whose names begin with `prefix`."""
    for name, field in reader.fields.items():
        if name.startswith(prefix) and not name.startswith(_WRITTEN_BY_ITSELF):
            inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(name, change(name, field.contents()), field.types[0], inner)


def _belongs(name: str, layers: range) -> bool:
    if name.startswith("blk."):
        return int(name.split(".")[1]) in layers
    return 0 in layers and name != "output.weight"


def _write(values: GGUFReader, tensors: Iterable[Any], into: Path) -> None:
    writer = GGUFWriter(into, next(_strings(values, "general.architecture")))
    copy_values(values, writer)
    for tensor in tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    write_all(writer)


def write_all(writer: GGUFWriter) -> None:
    """Write header, metadata and tensors, and close the file."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _strings(reader: GGUFReader, name: str) -> Iterator[str]:
    field = reader.get_field(name)
    if field is not None:
        yield field.contents()
