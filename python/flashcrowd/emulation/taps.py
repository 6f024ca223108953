"""The records of the emulator's taps: tables `captures` and `packets`, files of a run's folder.

A capture has hundreds of bytes for each packet: too many for messages, by which other tables
travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flashcrowd import _core

if TYPE_CHECKING:
    import pyarrow as pa

_FOLDER = "seen"


def keep(
    folder: Path, captures: _core.Table, packets: _core.Table, flows: Mapping[int, tuple[str, int]]
) -> None:
    """Write what was seen; of nothing there is no file.

    Args:
        folder: of the run.
        captures: the table.
        packets: the same, with the port of the flow's listening end in place of its name.
        flows: the transfer and the number of the flow at each port.
    """
    if not len(captures) and not len(packets):
        return
    import pyarrow as pa

    (folder / _FOLDER).mkdir(parents=True)
    named = _named(pa.table(packets), flows)
    for name, table in (("captures", pa.table(captures)), ("packets", named)):
        if table.num_rows:
            with pa.ipc.new_file(folder / _FOLDER / f"{name}.arrow", table.schema) as file:
                file.write_table(table)


def kept(folder: Path) -> dict[str, pa.Table]:
    """The tables in a run's folder, by name."""
    found = sorted((folder / _FOLDER).glob("*.arrow"))
    if not found:
        return {}
    import pyarrow as pa

    tables = {}
    for path in found:
        with pa.OSFile(str(path)) as file:
            tables[path.stem] = pa.ipc.open_file(file).read_all()
    return tables


def _named(table: pa.Table, flows: Mapping[int, tuple[str, int]]) -> pa.Table:
    """Rows of flows alone, with their names."""
    import numpy as np
    import pyarrow as pa

    port = table["port"].to_numpy()
    known = np.isin(port, [*flows])
    named = [flows[it] for it in port[known].tolist()]
    transfers = pa.array([transfer for transfer, _ in named], pa.string())
    numbers = pa.array([number for _, number in named], pa.int64())
    rest = table.filter(pa.array(known)).drop_columns(["port"])
    names = ["transfer", "flow", *rest.column_names]
    return pa.table([transfers, numbers, *rest.columns], names=names)
