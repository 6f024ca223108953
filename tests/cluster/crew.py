"""What tests ask the workers of a scheduler."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from distributed import Client


def answers(client: Client, function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """What workers answer, by their address."""
    return cast("dict[str, Any]", client.run(function, **options))


def processing(client: Client) -> Mapping[str, tuple[str, ...]]:
    """The tasks at each worker, by its address."""
    return cast("Mapping[str, tuple[str, ...]]", client.processing())


def under_way(client: Client) -> int:
    """How many tasks are at workers."""
    return sum(map(len, processing(client).values()))
