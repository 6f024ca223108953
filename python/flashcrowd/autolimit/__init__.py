"""An upload controller for a client that people run: `flashcrowd autolimit`.

`session` is what decides, without clocks and sockets; `loop` gives it time, probes and the client's
answers; the file of each client says how it is asked. What the user had is restored at the end
(`restore`, `memory`).
"""
