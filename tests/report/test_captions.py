from flashcrowd.report.listings import explained
from flashcrowd.report.measures import Measure


def test_a_caption_names_each_column_that_it_describes() -> None:
    measures = [
        Measure("throughput", "Mbit/s", {}, "IP bytes on the sender's wire."),
        Measure("goodput", "Mbit/s", {}, "Bytes that reach the receiver."),
        Measure("runs", "", {}, ""),
        Measure("ping", "ms", {}, "Of the answered ones."),
        Measure("longest ping", "ms", {}, "Of the answered ones."),
    ]
    assert explained(measures) == (
        "Throughput: IP bytes on the sender's wire. Goodput: bytes that reach the receiver. "
        "Ping and longest ping: of the answered ones."
    )
    assert explained([]) == ""
