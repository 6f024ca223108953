"""Real programs in network namespaces, over the links of a plan, in real time.

One run is one process, the lab (`lab`): it makes a namespace for each host, moves their packets
through the plan's network, and starts the programs. Nothing here is asked but by the engine
`emulation` (`flashcrowd.engines.emulation`).
"""
