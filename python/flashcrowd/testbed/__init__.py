"""Studies on the nodes of a testbed, which EnOSlib reserves and reaches.

`deploy.py` gives each node a share of a study's runs and puts together what comes back; `agent.py`
is what runs on a node; `nodes.py` says what a testbed must be able to do. EnOSlib has an
environment of its own: `driver.py` is the one file that imports it, in a process of that
environment.
"""
