//! TCP as pure state machines, and congestion controllers.
