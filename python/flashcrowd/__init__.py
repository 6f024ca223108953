"""flashcrowd: how long will a file take to reach many people, and what would make it faster?

A packet-level simulator of file distribution. `run` takes a study (a TOML file or a
`flashcrowd.study.Study`) and gives `Results`; `open` reads a results folder again.
"""
