"""The list of workloads: one file each. A new one is added here."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator

from flashcrowd.scenario.call import Call
from flashcrowd.scenario.download import Download
from flashcrowd.scenario.flows import Ping, Transfer
from flashcrowd.scenario.origin import Origin
from flashcrowd.scenario.swarm import Swarm
from flashcrowd.scenario.web import Web

Workload = Annotated[
    Swarm | Transfer | Ping | Web | Call | Origin | Download, Discriminator("kind")
]
"""What happens on a network. All but swarms and origins go on between two hosts, and are a
`flows.Flow`."""
