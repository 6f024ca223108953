"""Runs on more than one machine: pools of runs whose workers are other processes.

`executor.py` reads what `--on` says and gives the pool; `groups.py` decides which runs go together;
`task.py` and `identity.py` are what a worker carries out. Scheduler, workers and queues are those
of Dask and dask-jobqueue, which only these modules import, when they are asked for.
"""
