# Flows over drop-tail links in ns-2: `ns flows.tcl CASE TRACE`. CASE is a Tcl file that calls the procedures below.

Trace set show_tcphdr_ 1
set ns [new Simulator]
$ns trace-all [open [lindex $argv 1] w]

# The node of this number.
proc node {number} {
    global ns nodes
    if {![info exists nodes($number)]} { set nodes($number) [$ns node] }
    return $nodes($number)
}

# One direction of a link: bits per second, seconds, packets (the one in transmission included).
proc link {from to rate delay queue} {
    global ns
    $ns simplex-link [node $from] [node $to] $rate $delay DropTail
    $ns queue-limit [node $from] [node $to] $queue
}

# Options of an agent, by name.
proc options {agent list} {
    foreach {name value} $list { $agent set $name $value }
}

# A flow of FullTcp at both ends: `bytes` from `start` on, or as many as go if they are -1.
proc full {number kind from to start bytes settings} {
    global ns
    set sender [new Agent/TCP/$kind]
    set receiver [new Agent/TCP/$kind]
    foreach {agent place} [list $sender $from $receiver $to] {
        $ns attach-agent [node $place] $agent
        $agent set fid_ $number
        options $agent $settings
    }
    $ns connect $sender $receiver
    $receiver listen
    $ns at $start "$sender sendmsg $bytes NONE"
}

# A flow of a one-way agent and its sink: `packets` from `start` on, or as many as go if they are -1.
proc oneway {number kind sink from to start packets settings} {
    global ns
    set sender [new Agent/TCP/$kind]
    set receiver [new Agent/TCPSink/$sink]
    $ns attach-agent [node $from] $sender
    $ns attach-agent [node $to] $receiver
    $sender set fid_ $number
    options $sender $settings
    $ns connect $sender $receiver
    $ns at $start "$sender [expr {$packets < 0 ? {send -1} : "advanceby $packets"}]"
}

# The run ends after so many seconds.
proc end {seconds} {
    global ns
    $ns at $seconds "\$ns flush-trace; exit 0"
}

source [lindex $argv 0]
$ns run
