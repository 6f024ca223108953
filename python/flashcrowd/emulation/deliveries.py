"""What an emulated run did not deliver, a line for each workload, as the simulation has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashcrowd.emulation.call import Call
from flashcrowd.emulation.echo import Echo
from flashcrowd.emulation.flow import Flow
from flashcrowd.emulation.web import Web
from flashcrowd.undelivered import is_due, lost


def of_flows(flows: Sequence[Flow], now_s: float) -> Iterator[str]:
    """Of the flows of one transfer."""
    if not flows:
        return
    whose, total = f"transfer {flows[0].spec['name']}", len(flows)
    yield from lost(whose, total, "flows", (_standing(flow) for flow in flows if flow.is_lost))
    silent = sum(flow.is_silent(now_s) and not flow.is_lost for flow in flows)
    if silent:
        yield f"{whose}: no byte arrived of {silent} of {total} flows"


def _standing(flow: Flow) -> str:
    size = flow.spec["size_bytes"]
    of = "" if size is None else f" of {size}"
    return f"flow {flow.number} at {flow.ended_s:.1f} s after {flow.received}{of} bytes"


def of_web(web: Web, now_s: float) -> Iterator[str]:
    """Of the pages of one web workload."""
    pages = [
        (f"page {number} of user {user}", page)
        for user, one in enumerate(web.users)
        for number, page in enumerate(one.pages)
    ]
    whose = f"web {web.spec['name']}"
    gone = (f"{which} at {page.lost_s:.1f} s" for which, page in pages if page.lost_s is not None)
    said = list(lost(whose, len(pages), "pages", gone))
    due = any(is_due(page.start_s, now_s) for _, page in pages)
    if not said and due and all(page.first_byte_s is None for _, page in pages):
        said = [f"{whose}: no byte arrived of {len(pages)} pages"]
    yield from said


def of_echo(echo: Echo, now_s: float) -> Iterator[str]:
    """Of the requests of one ping."""
    echoes = echo.echoes
    if echoes and is_due(echoes[0][0], now_s) and all(rtt is None for _, rtt in echoes):
        yield f"ping {echo.spec['name']}: no answer arrived to {len(echoes)} requests"


def of_call(call: Call, names: Sequence[str], now_s: float) -> Iterator[str]:
    """Of the packets of one call, whose hosts `from` and `to` have these names."""
    if not is_due(call.spec["start_ns"] / 1e9, now_s):
        return
    for direction, sender in zip(call.directions, names, strict=True):
        sent = len(direction.delays)
        if sent and all(delay is None for delay in direction.delays):
            yield f"call {call.spec['name']}: no packet arrived of {sent} from {sender}"
