"""Scenarios: what a person says about one situation.

Every table of a study file is a class here, and every key an attribute with the same name, so that
a scenario can be written in Python as well. Quantities are texts with units, or objects of
`flashcrowd.base.units`.
"""

from flashcrowd.scenario.arrivals import FlashCrowd, Poisson, Rates, Times
from flashcrowd.scenario.call import Call
from flashcrowd.scenario.distribution import (
    LossDistribution,
    RttDistribution,
    SessionDistribution,
)
from flashcrowd.scenario.download import Download
from flashcrowd.scenario.flows import Ping, Transfer
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.impairments import Bernoulli, Bursts, GilbertElliott, Jitter
from flashcrowd.scenario.line import LINES, Delay, Line
from flashcrowd.scenario.measures import Measures, Stop
from flashcrowd.scenario.network import Devices, Direction, Group, Link, Network, Path
from flashcrowd.scenario.origin import Clients, Files, HardDisk, NetworkVolume, Origin, Ssd
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.scenario.stack import Stack
from flashcrowd.scenario.swarm import (
    After,
    AfterShare,
    AllDone,
    AtOnce,
    Never,
    Population,
    Swarm,
)
from flashcrowd.scenario.timeline import Change, Halt
from flashcrowd.scenario.trace import Trace
from flashcrowd.scenario.web import ExponentialReading, PageSize, ParetoReading, Web

__all__ = [
    "LINES",
    "After",
    "AfterShare",
    "AllDone",
    "AtOnce",
    "Bernoulli",
    "Bursts",
    "Call",
    "Change",
    "Clients",
    "Delay",
    "Devices",
    "Direction",
    "Download",
    "ExponentialReading",
    "Files",
    "FlashCrowd",
    "Framing",
    "GilbertElliott",
    "Group",
    "Halt",
    "HardDisk",
    "Jitter",
    "Line",
    "Link",
    "LossDistribution",
    "Measures",
    "Network",
    "NetworkVolume",
    "Never",
    "Origin",
    "PageSize",
    "ParetoReading",
    "Path",
    "Ping",
    "Poisson",
    "Population",
    "Profile",
    "Queue",
    "Rates",
    "RttDistribution",
    "Scenario",
    "SessionDistribution",
    "Ssd",
    "Stack",
    "Stop",
    "Swarm",
    "Times",
    "Trace",
    "Transfer",
    "Web",
]
