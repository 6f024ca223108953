"""The plan: what an engine needs to run, and nothing else.

Nothing is imported here: the processes that play a plan read its types and parts, and start without
the scenario, which `lower` needs.
"""
